"""YAML with places: plain data of texts, lists and mappings, and the line of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from console.files.errors import FileProblem
from console.history.bounded_yaml import UnsafeYaml, events, line_of

Path = tuple[str | int, ...]
"""The way to a value: keys and indexes."""
_NULLS = ("", "~", "null", "Null", "NULL")
MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content. data: texts are as they stand in the file, whatever type YAML has for them; a null is None.
    lines: path -> line, from 1."""

    source: str
    data: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest that holds it."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str, source: str) -> Document:
    """Raises FileProblem for what is no YAML, for a key that stands twice, for anchors, aliases, tags and merges, and
    for more than `console.history.bounded_yaml` takes."""
    lines: dict[Path, int] = {}
    try:
        data = _plain(events(text), lines, source)
    except UnsafeYaml as problem:
        raise FileProblem(source, problem.line, str(problem)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise FileProblem(source, line, f"this is no YAML: {error.problem or error}") from None
    except yaml.YAMLError as error:
        raise FileProblem(source, 1, f"this is no YAML: {error}") from None
    return Document(source, data, lines)


@dataclass(slots=True)
class _Open:
    """A collection that is being read. key: of the mapping's value that comes next, None before a key."""

    path: Path
    data: dict[str, Any] | list[Any]
    key: str | None = None


def _plain(found: Iterator[yaml.Event], lines: dict[Path, int], source: str) -> Any:
    top: list[Any] = []
    stack = [_Open((), top)]
    for event in found:
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        inner, line = stack[-1], line_of(event)
        if isinstance(inner.data, dict) and inner.key is None:
            inner.key = _key(event, inner, lines, source, line)
            continue
        value: Any = None
        if isinstance(event, yaml.ScalarEvent):
            value = None if not event.style and event.value in _NULLS else event.value
        else:
            value = {} if isinstance(event, yaml.MappingStartEvent) else []
        path = inner.path
        if isinstance(inner.data, dict):
            assert inner.key is not None
            path = (*path, inner.key)
            inner.data[inner.key] = value
            inner.key = None
        else:
            path = (*path, len(inner.data)) if len(stack) > 1 else ()
            inner.data.append(value)
            lines[path] = line
        if not isinstance(event, yaml.ScalarEvent):
            stack.append(_Open(path, value))
    return top[0] if top else None


def _key(event: yaml.NodeEvent, inner: _Open, lines: dict[Path, int], source: str, line: int) -> str:
    """A mapping's key, and its line, which is its value's."""
    if not isinstance(event, yaml.ScalarEvent) or (not event.style and event.value == MERGE):
        raise FileProblem(source, line, "a key is a plain text")
    key: str = event.value
    if key in inner.data:
        raise FileProblem(source, line, f"{key!r} stands here a second time")
    lines[(*inner.path, key)] = line
    return key
