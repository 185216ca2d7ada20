"""The command history: the commands of earlier sessions, each in a line of a file, without their secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from console.log_file import state_directory
from console.safe_files import PRIVATE, open_private, read_regular, write_whole

KEPT = 500
"""Maximum number of commands in the file."""
LONGEST = 2_000
"""Maximum length of a command in characters; a longer one is not kept."""


LARGEST = 64 << 20
"""Maximum size of the file in bytes."""


class CommandHistory:
    """A file with a command in each line, mode 0600, which is shortened when it is full. Errors of the file are
    ignored: it then keeps or returns less.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[str]:
        """Return the last `KEPT` commands in the file, the oldest first, without secrets; empty if the file can't be
        read.
        """
        try:
            lines = read_regular(self._path, LARGEST).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            return []
        from console.language.secret_values import redact

        # An older version may have kept values that now count as secrets.
        return [redact(line) for line in lines if line.strip()][-KEPT:]

    def add(self, text: str) -> None:
        """Append a command to the file, without its secrets. Do nothing for a command that is empty, longer than
        `LONGEST` or not printable, and if the file can't be written.
        """
        from console.language.secret_values import redact

        # Redact before writing: the file must never hold a secret, not even for a moment.
        text = redact(text)
        if not text.strip() or len(text) > LONGEST or not text.isprintable():
            return
        try:
            # Shorten the file before appending: if it can't be replaced, a full file must not grow.
            self._cut(self.read())
            with os.fdopen(open_private(self._path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError:
            return

    def _cut(self, commands: Sequence[str]) -> None:
        """Replace the file, atomically, by one with the last half of these commands."""
        if len(commands) < KEPT:
            return
        write_whole(self._path, "".join(f"{command}\n" for command in commands[-KEPT // 2 :]), PRIVATE)


def command_history(environ: Mapping[str, str]) -> CommandHistory:
    """Return the command history of this user, in the state directory."""
    return CommandHistory(state_directory(environ) / "commands")
