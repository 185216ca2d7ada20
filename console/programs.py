"""Programs that the operator's configuration names, run for what they write: tokens, secrets of a password manager."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

LONGEST = 1 << 20
"""Bytes. A secret is not longer, and some programs never end writing."""
LONGEST_REASON = 200


class ProgramFailed(Exception):
    """A program without a usable output. The text says why, with the program's name; it has no output of its own but
    the last line of its standard error. hangs: whether it did not end in time."""

    def __init__(self, text: str, *, hangs: bool = False) -> None:
        super().__init__(text)
        self.hangs = hangs


def name_of(command: str) -> str:
    """Return the program's name without its folder, which is all that may be shown of a command."""
    return Path(shlex.split(command)[0]).name


def output_of(command: str, limit: float, *, terminal: bool = False) -> bytes:
    """Run a command, and return what it writes to its standard output. Blocks.

    There is no shell; words are split as a shell does.

    Args:
        limit: seconds until it has to end.
        terminal: whether it may read from our standard input, as one that asks for a password does.

    Raises:
        ProgramFailed: it can't be run, fails, does not end in time, or writes more than LONGEST.
        ValueError: the command is empty or has an open quote.
    """
    words = shlex.split(command)
    if not words:
        raise ValueError("it names no command")
    name = name_of(command)
    try:
        done = subprocess.run(  # noqa: S603 the operator's own configuration
            words, stdin=None if terminal else subprocess.DEVNULL, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"{name} does not end: nothing within {limit:g} s", hangs=True) from None
    except OSError as error:
        raise ProgramFailed(f"{name} can't be run: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        why = "".join(character for character in "".join(lines) if character.isprintable())[:LONGEST_REASON]
        raise ProgramFailed(f"{name} ended with {done.returncode}" + (f": {why}" if why else ""))
    if len(done.stdout) > LONGEST:
        raise ProgramFailed(f"{name} wrote more than {LONGEST >> 20} MiB")
    return done.stdout
