"""On which line of a TOML file a key stands; tomllib does not tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

KeyPath = tuple[str, ...]


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """Path of every table and key -> its line, from 1. The text is TOML that tomllib takes."""
    lines = text.split("\n")
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    at = 0
    while at < len(lines):
        statement, size = _statement(lines, at)
        paths = list(_paths(statement))
        if lines[at].lstrip().startswith("["):
            table = paths[-1] if paths else ()
            paths = [path for path in paths if path]
        else:
            paths = [table + path for path in paths]
        for path in paths:
            found.setdefault(path, at + 1)
        at += size
    return found


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """The line of a key, or of the nearest table around it; None for the file as a whole."""
    for size in range(len(path), 0, -1):
        if path[:size] in lines:
            return lines[path[:size]]
    return None


def _statement(lines: list[str], start: int) -> tuple[Mapping[str, Any], int]:
    """The value of the statement that starts at a line, and how many lines it takes: the fewest that are TOML."""
    import tomllib

    for size in range(1, len(lines) - start + 1):
        try:
            return tomllib.loads("\n".join(lines[start : start + size])), size
        except tomllib.TOMLDecodeError:
            continue
    return {}, 1


def _paths(value: Any) -> Iterator[KeyPath]:
    """All paths of a tree of tables, each before those below it."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (key,)
            for path in _paths(inner):
                yield (key, *path)
