"""YAML with places: plain data of texts, lists and mappings, and the line of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from console.files.errors import FileProblem

Path = tuple[str | int, ...]
"""The way to a value: keys and indexes."""
_NULLS = ("", "~", "null", "Null", "NULL")
MERGE = "tag:yaml.org,2002:merge"


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
    """Raises FileProblem for what is no YAML, for a key that stands twice, and for anchors, tags and merges."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise FileProblem(source, line, f"this is no YAML: {error.problem or error}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise FileProblem(source, 1, f"this is no YAML: {error}") from None
    lines: dict[Path, int] = {}
    data = None if node is None else _plain(node, (), lines, source)
    return Document(source, data, lines)


def _plain(node: yaml.Node, path: Path, lines: dict[Path, int], source: str) -> Any:
    line = lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return None if not node.style and node.value in _NULLS else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, number), lines, source) for number, item in enumerate(node.value)]
    assert isinstance(node, yaml.MappingNode)
    result: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            raise FileProblem(source, line, "a key is a plain text")
        if key.value in result:
            raise FileProblem(source, line, f"{key.value!r} stands here a second time")
        result[key.value] = _plain(value, (*path, key.value), lines, source)
        lines[(*path, key.value)] = line
    return result
