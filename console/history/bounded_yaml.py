"""YAML of bounded size, depth and number of values, from files that nobody vouches for.

An alias makes a value of many out of few bytes: 441 of them expand to 10**9 values. Our own files have no use for
anchors, so `events` refuses them; `expanded` is for the files of other tools, which may have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

MOST_CHARS = 128 << 20
MOST_DEPTH = 40
MOST_VALUES = 5_000_000
"""Values in a file: an export of 100,000 topics with eight overrides each has about two million."""
MOST_EXPANDED = 100_000
"""Values of a file of another tool, with every alias in its place."""


class UnsafeYaml(ValueError):
    """What the file has too much of, or has no use for. line: from 1."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def events(text: str | bytes, *, anchors: bool = False) -> Iterator[yaml.Event]:
    """The events of a file's one document. anchors: whether it may have them, and tags.

    Raises:
        UnsafeYaml: too many characters, too deep, too many values; anchors, aliases or tags; a second document.
        yaml.YAMLError: it is no YAML.
    """
    import yaml

    if len(text) > MOST_CHARS:
        raise UnsafeYaml(f"it has more than {MOST_CHARS >> 20} Mi characters", 1)
    depth = values = documents = 0
    # The C parser where there is one; either goes through nested values without recursion.
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.NodeEvent):
            line = line_of(event)
            values += 1
            if values > MOST_VALUES:
                raise UnsafeYaml(f"it has more than {MOST_VALUES:,} values", line)
            if not anchors and (isinstance(event, yaml.AliasEvent) or event.anchor is not None):
                raise UnsafeYaml("anchors and aliases (& and *) are not read here: write the value out", line)
            if not anchors and getattr(event, "tag", None) is not None:
                raise UnsafeYaml("tags (! and !!) are not read here: leave it out", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                raise UnsafeYaml(f"values stand more than {MOST_DEPTH} deep in one another", line_of(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise UnsafeYaml("a second document begins here: one file is one document", line_of(event))
        yield event


def line_of(event: yaml.Event) -> int:
    """Where an event stands, from 1."""
    return 1 if event.start_mark is None else event.start_mark.line + 1


def expanded(node: yaml.Node) -> int:
    """How many values a node has with every alias in its place. Raises UnsafeYaml where they are too many, or where it
    holds itself."""
    import yaml

    known: dict[int, int] = {}
    within: set[int] = set()

    def size(one: yaml.Node) -> int:
        # Nested no deeper than MOST_DEPTH, aliases aside, and these lead to what was seen before.
        if id(one) in known:
            return known[id(one)]
        if id(one) in within:
            raise UnsafeYaml("a value holds itself", one.start_mark.line + 1)
        within.add(id(one))
        if isinstance(one, yaml.MappingNode):
            total = 1 + sum(size(key) + size(value) for key, value in one.value)
        elif isinstance(one, yaml.SequenceNode):
            total = 1 + sum(map(size, one.value))
        else:
            total = 1
        within.discard(id(one))
        if total > MOST_EXPANDED:
            raise UnsafeYaml(f"with its aliases it has more than {MOST_EXPANDED:,} values", one.start_mark.line + 1)
        known[id(one)] = total
        return total

    return size(node)
