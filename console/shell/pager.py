"""Output that is longer than the terminal goes through a pager."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from console.terminal import harmless, put

MARGIN = 2
"""Lines that the prompt and the bar below it take."""


def pager(environ: Mapping[str, str]) -> list[str] | None:
    """The command to page with: $PAGER, else less or more; None on a dumb terminal, or where there is none."""
    if environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return None
    named = environ.get("PAGER")
    if named is not None:
        try:
            words = shlex.split(named)
        except ValueError:
            words = []
        return words if words and shutil.which(words[0]) else None
    if shutil.which("less"):
        return ["less", "-FRX"]
    return ["more"] if shutil.which("more") else None


def show(text: str, environ: Mapping[str, str] = os.environ) -> None:
    """Print it; through the pager where it has more lines than the terminal."""
    command = pager(environ) if sys.stdout.isatty() else None
    if command is not None and text.count("\n") > shutil.get_terminal_size().lines - MARGIN:
        try:
            subprocess.run(  # noqa: S603 - the operator's own pager
                command, input=harmless(text), encoding=sys.stdout.encoding, errors=sys.stdout.errors, check=False
            )
        except OSError:
            pass
        else:
            return
    put(text)
