"""The log file: what the screen does not show, for the one who asks why. Never holds a value that was sent."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path

MAX_BYTES = 2_000_000
KEPT = 3


def state_directory(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/kac`, or `~/.local/state/kac`: log, history and journal live there."""
    base = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".local" / "state")
    return Path(base) / "kac"


def open_log(environ: Mapping[str, str]) -> str | None:
    """Log to `kac.log` (0600, rotated) in the state directory; the reason where that is not possible.

    aiokafka's own logger stays at WARNING: at DEBUG it would write whole requests.
    """
    directory = state_directory(environ)
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for name in ("aiokafka", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / "kac.log"
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        handler = RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    except OSError as error:
        # Without a handler, logging would print to the screen.
        root.addHandler(logging.NullHandler())
        return f"no log file: {error.strerror} ({directory})"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    return None
