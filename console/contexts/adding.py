"""Adding a context at the end of kac's own file; the existing text is unchanged. The file may contain a password, so it
is readable only by its owner.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping

from console.contexts.context import BrokenContext, ContextError, Surroundings
from console.contexts.jaas import quoted
from console.contexts.own_file import own_path, own_text
from console.safe_files import PRIVATE, read_text, write_whole
from widgets.cells import clean

_LARGEST = 1 << 20


def with_context(text: str, name: str, entries: Mapping[str, str | bool]) -> str:
    """Return the text of a configuration file with a new table for a context at its end."""
    lines = [f"[contexts.{_toml(name)}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in entries.items())]
    before = f"{text.rstrip()}\n\n" if text.strip() else ""
    return before + "\n".join(lines) + "\n"


def _toml(value: str | bool) -> str:
    """Return the notation of a value in TOML; a text becomes a basic string. Raises ContextError for a text with
    control characters.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not value.isprintable():
        raise ContextError(f"{clean(value, 80)}: it has control characters")
    return quoted(value)


def add_context(name: str, entries: Mapping[str, str | bool], surroundings: Surroundings) -> None:
    """Append a context to kac's own file; create the file if it is missing.

    Args:
        entries: the keys of the context, kac's and Java's, with their values.

    Raises:
        ContextError: the name is in use, the new text can't be used, or the entries have a password and other users may
            read the file.
        OSError: the file can't be read or written.
    """
    path = own_path(surroundings)
    before = read_text(path, _LARGEST) if path.exists() else ""
    known = own_text(before, path, surroundings).found.items
    if any(each.name == name for each in known):
        raise ContextError(f"{path}: there is a context {name} already; change it there")
    after = with_context(before, name, entries)
    for each in own_text(after, path, surroundings).found.items:
        if each.name == name and isinstance(each, BrokenContext):
            raise ContextError(each.problem)
    if before and "sasl.jaas.config" in entries and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ContextError(f"{path}: others may read it, and a password would stand in it: chmod 600 {path}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, after, PRIVATE)
