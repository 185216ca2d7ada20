"""The log file: details that the screen does not show. kac writes no value of a request into it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from console.safe_files import open_private
from console.terminal import indented

_STATE = "$XDG_STATE_HOME" if os.environ.get("XDG_STATE_HOME") else "~/.local/state"
INTERNAL = f"something went wrong in kac itself: {_STATE}/kac/kac.log has it; please report it"
log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000
KEPT = 3
LONGEST_RECORD = 64 << 10
"""Maximum characters of a record, including its traceback."""


def state_directory(environ: Mapping[str, str]) -> Path:
    """Return `$XDG_STATE_HOME/kac`, or `~/.local/state/kac`: the folder of the log, the history and the journal."""
    base = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".local" / "state")
    return Path(base) / "kac"


class WithoutSecrets(logging.Formatter):
    """Formats records without secrets, which a broker's message or a traceback may repeat from a command."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as lines, without secrets, of at most 65,536 characters (`LONGEST_RECORD`)."""
        from console.sensitive import without_secrets

        return without_secrets(indented(super().format(record)[:LONGEST_RECORD]), "…")


class PrivateLog(logging.Handler):
    """A rotated log, opened for its first record. Its files have mode 0600; a link of another user is not followed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    @cached_property
    def _rotated(self) -> logging.Handler:
        from io import TextIOWrapper
        from logging.handlers import RotatingFileHandler

        class Private(RotatingFileHandler):
            """A rotating log whose files have mode 0600."""

            def _open(self) -> TextIOWrapper:
                descriptor = open_private(Path(self.baseFilename), os.O_APPEND | os.O_WRONLY)
                return open(descriptor, "a", encoding=self.encoding)  # noqa: PTH123 - a descriptor, not a Path

            def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - a name of logging's
                """Ignore a write error, as on a full disk: logging would print a traceback over the screen."""

        handler = Private(self._path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
        handler.setFormatter(self.formatter)
        return handler

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; the first one opens the file."""
        self._rotated.emit(record)

    def close(self) -> None:
        """Close the file, if a record opened it."""
        if "_rotated" in vars(self):
            self._rotated.close()
        super().close()


def keep_from_stderr() -> None:
    """Log the exceptions that Python can't raise because a thread or a destructor caused them. Python would print them
    over the screen, and their texts are untrusted.
    """

    def in_thread(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_type is not SystemExit:
            told = (failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
            log.error("in a thread", exc_info=told)

    def in_destructor(failed: sys.UnraisableHookArgs) -> None:
        if failed.exc_value is not None:
            log.error("could not be raised", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback))

    threading.excepthook, sys.unraisablehook = in_thread, in_destructor


def open_log(environ: Mapping[str, str]) -> str | None:
    """Log to `kac.log` (0600, rotated) in the state directory. Return None, or the reason as text if the log can't be
    opened.

    aiokafka's own logger stays at WARNING: at DEBUG it would write whole requests.
    """
    keep_from_stderr()
    directory = state_directory(environ)
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for name in ("aiokafka", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        path = directory / "kac.log"
        os.close(open_private(path, os.O_APPEND | os.O_WRONLY))
        handler = PrivateLog(path)
        for number in range(1, KEPT + 1):
            if (rotated := directory / f"kac.log.{number}").exists():
                os.close(open_private(rotated, os.O_RDONLY))
    except OSError as error:
        # Without a handler, logging would print to the screen.
        root.addHandler(logging.NullHandler())
        return f"no log file: {error.strerror} ({directory})"
    handler.setFormatter(WithoutSecrets("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    return None
