"""Shows a text in the operator's own editor, to read, search and copy from: as a private file, deleted afterwards."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from console import programs
from console.safe_files import create_whole

if TYPE_CHECKING:
    from textual.app import App

READ_ONLY = {"vi": "-R", "vim": "-R", "nvim": "-R", "view": "-R", "nano": "-v"}
"""Name of an editor -> its option for opening a file read-only."""
FALLBACK = "vi"


def read_in_editor(app: App[Any], name: str, text: str) -> str:
    """Show a text in ``$VISUAL`` or ``$EDITOR``, which gets the terminal. Blocks until the editor exits.

    Args:
        name: the name of the file, from whose suffix the editor derives the syntax.
        text: the text to show; changes to it are discarded.

    Returns:
        The message for the operator: the reason why no editor was started, or that the file is deleted.
    """
    try:
        words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or FALLBACK)
        kind = Path(words[0]).name
        program = programs.of_user([*words, *([READ_ONLY[kind]] if kind in READ_ONLY else [])])
    except (OSError, ValueError, IndexError) as error:
        why = getattr(error, "strerror", None) or str(error) or "it names no program"
        return f"no editor: {why}; set EDITOR to the name of one"
    with TemporaryDirectory(prefix="kac-record-") as folder:
        path = Path(folder, name)
        try:
            create_whole(path, text.encode(), 0o400)
            with app.suspend():
                programs.with_terminal(program._replace(words=(*program.words, str(path))))
        except SuspendNotSupported:
            return "an editor needs a terminal, and there is none here"
        except OSError as error:
            return f"{kind} can't be run: {error.strerror or error}"
    return "the file of the editor is gone: y copies the value"
