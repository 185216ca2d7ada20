"""Parses YAML files into plain data with line numbers, limited in size, depth and number of values.

It reads wanted states (console.files), policies and baselines (console.lake) and the lake's sources. Aliases can expand
a few bytes to very many values: 441 bytes to 10**9. kac's own files do not need anchors, so `events` refuses them;
`expanded` is for the files of other tools, which may have them.

Also runs on Spark's executors: Python 3.10; PyYAML is imported when a file is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from console.model.numbers import decimal_number

if TYPE_CHECKING:
    import yaml

MOST_CHARS = 128 << 20
MOST_DEPTH = 40
MOST_VALUES = 5_000_000
"""Maximum number of values in a file: an export of 100,000 topics with eight overrides each has about two million."""
MOST_EXPANDED = 100_000
"""Maximum number of values in another tool's file, with all aliases expanded."""
SECOND_DOCUMENT = "a second document begins here: one file is one document"
MERGE = "<<"
Path = tuple[str | int, ...]
"""The path of a value: the keys and indexes that lead to the value from the root."""
_NULLS = ("", "~", "null", "Null", "NULL")
_FLOAT = "tag:yaml.org,2002:float"
_INT = "tag:yaml.org,2002:int"
_BOOL = "tag:yaml.org,2002:bool"
_TRUE = ("true", "yes", "on")


# -- problems --------------------------------------------------------------------------------------------------------


class FileProblem(ValueError):
    """An error in a file, as one line: ``FILE:LINE: message; hint``. line: its number, counted from 1; None for an
    error of the whole file.
    """

    def __init__(self, source: str, line: int | None, message: str, hint: str = "") -> None:
        self.source, self.line, self.message, self.hint = source, line, message, hint
        place = f"{source}:{line}" if line else source
        super().__init__(f"{place}: {message}" + (f"; {hint}" if hint else ""))


class FileProblems(Exception):
    """All errors, in the order of the files. problems: the errors, one line each."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class UnsafeYaml(ValueError):
    """Raised for a file that exceeds a limit, or has YAML constructs that kac does not accept. line: the number of the
    line with the problem, from 1.
    """

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def unknown_key(key: str, legal: Collection[str]) -> tuple[str, str]:
    """Return the message and the hint for a key that is not legal. legal: the legal keys."""
    near = get_close_matches(key, legal, n=1)
    return f"unknown key {key!r}", f"did you mean {near[0]}?" if near else f"known here: {', '.join(legal)}"


# -- limits for a file -----------------------------------------------------------------------------------------------


def events(text: str | bytes, *, anchors: bool = False, several: bool = False) -> Iterator[yaml.Event]:
    """Yield PyYAML's events for a file with one document.

    Args:
        anchors: whether anchors, aliases and tags are accepted.
        several: whether further documents are accepted; the limits apply to all of them together.

    Raises:
        UnsafeYaml: the file has too many characters, values or levels; or it has anchors, aliases, tags or a second
            document, and they are not accepted.
        yaml.YAMLError: the text is not YAML.
    """
    import yaml

    if len(text) > MOST_CHARS:
        raise UnsafeYaml(f"it has more than {MOST_CHARS >> 20} Mi characters", 1)
    depth = values = documents = 0
    # Use the C parser if it is available; both parsers handle nesting without recursion.
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.NodeEvent):
            line = _line_of(event)
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
                raise UnsafeYaml(f"values are nested more than {MOST_DEPTH} deep", _line_of(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 and not several:
                raise UnsafeYaml(SECOND_DOCUMENT, _line_of(event))
        yield event


def _line_of(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def expanded(node: yaml.Node) -> int:
    """Return the number of values that a node has after every alias is replaced by its value.

    Raises:
        UnsafeYaml: the node has too many values, or a value contains itself.
    """
    import yaml

    known: dict[int, int] = {}
    within: set[int] = set()

    def size(one: yaml.Node) -> int:
        # The recursion is limited: nesting without aliases is at most MOST_DEPTH, and aliases lead to nodes that were
        # counted before.
        if id(one) in known:
            return known[id(one)]
        if id(one) in within:
            raise UnsafeYaml("a value contains itself", one.start_mark.line + 1)
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


# -- reading ---------------------------------------------------------------------------------------------------------


class Plain(str):
    """A scalar without quotes, which YAML may interpret as a number or a boolean."""

    __slots__ = ()


@dataclass(frozen=True)
class Document:
    """A document of a YAML file, with the line of each value."""

    source: str
    data: Any
    """The data as mappings, lists and texts. A scalar has the text that it has in the file, whatever its YAML type (as
    `Plain` if unquoted); a null is None.
    """
    lines: dict[Path, int] = field(default_factory=dict)
    """Path -> the line of the value, counted from 1."""
    begins: int = 1
    """The number of the document's first line."""

    def line(self, path: Path) -> int:
        """Return the line of the value at a path; if it is unknown, the line of the nearest value that contains it."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)

    @property
    def root(self) -> Node:
        """The value of the whole document."""
        return Node(self, (), self.data)


def read_yaml(text: str, source: str) -> Document:
    """Parse a file that has one document.

    Args:
        source: the name of the file, for messages.

    Raises:
        FileProblem: the text is not YAML; it has a duplicate key, anchors, aliases, tags or merges; it exceeds a limit
            of `events`; or PyYAML is missing.
    """
    found = _read(text, source, several=False)
    return found[0] if found else Document(source, None)


def read_documents(text: str, source: str) -> tuple[Document, ...]:
    """Parse a file with any number of documents, as other tools write them, within the limits of `read_yaml`.

    Raises:
        FileProblem: as for `read_yaml`.
    """
    return _read(text, source, several=True)


def _read(text: str, source: str, *, several: bool) -> tuple[Document, ...]:
    try:
        import yaml
    except ImportError as error:
        raise FileProblem(source, None, "it can't be read without PyYAML", "pip install pyyaml") from error
    try:
        return tuple(_documents(events(text, several=several), source))
    except UnsafeYaml as problem:
        raise FileProblem(source, problem.line, str(problem)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise FileProblem(source, line, f"invalid YAML: {error.problem or error}") from None
    except yaml.YAMLError as error:
        raise FileProblem(source, 1, f"invalid YAML: {error}") from None


@dataclass(slots=True)
class _Open:
    """A mapping or list that the parser has begun and not ended."""

    path: Path
    data: dict[str, Any] | list[Any]
    key: str | None = None
    """The key whose value is parsed next, in a mapping; None if a key is expected, and in a list."""


def _documents(events: Iterator[yaml.Event], source: str) -> Iterator[Document]:
    import yaml

    top: list[Any] = []
    lines: dict[Path, int] = {}
    stack: list[_Open] = []
    begins = 1
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            top, lines, begins = [], {}, _line_of(event)
            stack = [_Open((), top)]
        elif isinstance(event, yaml.DocumentEndEvent):
            yield Document(source, top[0] if top else None, lines, begins)
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        # Add a value to its collection when the value begins: nesting then needs no recursion.
        inner, line = stack[-1], _line_of(event)
        if isinstance(inner.data, dict) and inner.key is None:
            inner.key = _key(event, inner, lines, source, line)
            continue
        value: Any = None
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else None if event.value in _NULLS else Plain(event.value)
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


def _key(event: yaml.NodeEvent, inner: _Open, lines: dict[Path, int], source: str, line: int) -> str:
    """Return the key that an event contains, and record its line as the line of its value. Raises FileProblem for a
    duplicate key, a merge key, and a key that is not a scalar.
    """
    import yaml

    if not isinstance(event, yaml.ScalarEvent) or (not event.style and event.value == MERGE):
        raise FileProblem(source, line, "a key must be a text")
    key: str = event.value
    if key in inner.data:
        raise FileProblem(source, line, f"duplicate key {key!r}", "keep one of the two")
    lines[(*inner.path, key)] = line
    return key


# -- values with their places ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A value in a document, with methods that return it as a certain type. If the value has another type, they raise
    FileProblem with the value's line.
    """

    document: Document
    path: Path
    data: Any

    def problem(self, message: str, hint: str = "") -> FileProblem:
        """Return an error with the file and line of this value."""
        return FileProblem(self.document.source, self.document.line(self.path), message, hint)

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Raise the error that `problem` returns."""
        raise self.problem(message, hint)

    def named(self) -> dict[str, Node]:
        """Return key -> value of a mapping."""
        if not isinstance(self.data, dict):
            self.fail(f"{self._name} must be a mapping", "write lines of `name: value`")
        return {key: Node(self.document, (*self.path, key), value) for key, value in self.data.items()}

    def unknown(self, legal: Collection[str]) -> list[FileProblem]:
        """Return an error for each key of the mapping that is not in `legal`."""
        return [value.problem(*unknown_key(key, legal)) for key, value in self.named().items() if key not in legal]

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Node]:
        """Return key -> value of a mapping.

        Raises:
            FileProblem: a required key is missing, or a key is neither required nor optional.
        """
        found = self.named()
        for problem in self.unknown((*required, *optional)):
            raise problem
        if missing := [name for name in required if name not in found]:
            self.fail(f"{', '.join(missing)} is missing", "add it")
        return found

    def items(self) -> list[Node]:
        """Return the values of a list."""
        if not isinstance(self.data, list):
            self.fail(f"{self._name} must be a list", "its lines begin with -")
        return [Node(self.document, (*self.path, place), value) for place, value in enumerate(self.data)]

    @property
    def is_null(self) -> bool:
        """Whether the value is null: empty, or ``~``."""
        return self.data is None

    def text(self) -> str:
        """Return a scalar as the text that it has in the file: `true`, `2`, `producer`."""
        if not isinstance(self.data, str):
            self.fail(f"{self._name} must be a text or a number")
        tag = self._tag()
        if tag == _BOOL:
            return str(self.boolean()).lower()
        return self.data.replace("_", "") if tag == _INT else str(self.data)

    def texts(self) -> tuple[str, ...]:
        """Return the texts of a list; a single text as a tuple of one. An empty list raises FileProblem."""
        found = (self.text(),) if isinstance(self.data, str) else tuple(each.text() for each in self.items())
        if not found:
            self.fail("the list is empty", "write one value at least")
        return found

    def number(self) -> float:
        """Return a number. A quoted one raises FileProblem."""
        if self._tag() not in (_INT, _FLOAT):
            self.fail(f"{self.data!r} is not a number" if isinstance(self.data, str) else "a number is missing here")
        try:
            return decimal_number(self.text())
        except ValueError:
            self.fail(f"{self.data} is not a decimal number")

    def boolean(self) -> bool:
        """Return a boolean. A quoted one raises FileProblem."""
        if self._tag() != _BOOL:
            self.fail(f"{self._name} must be true or false")
        return str(self.data).lower() in _TRUE

    def choice(self, of: Collection[str]) -> str:
        """Return a text that is one of the given words; another text raises FileProblem."""
        if (found := self.text()) not in of:
            self.fail(f"{found} is not one of {', '.join(of)}")
        return found

    def pattern(self) -> str:
        """Return a text that is a valid regular expression; another text raises FileProblem."""
        try:
            re.compile(found := self.text())
        except re.error as error:
            self.fail(f"invalid regular expression: {error}")
        return found

    @property
    def _name(self) -> str:
        if not self.path:
            return "the file"
        last = self.path[-1]
        return last if isinstance(last, str) else "this entry"

    def _tag(self) -> str:
        """Return the YAML tag that an unquoted scalar resolves to; ``""`` for any other value."""
        if not isinstance(self.data, Plain):
            return ""
        import yaml

        resolver = yaml.resolver.Resolver()
        tag: str = resolver.resolve(yaml.ScalarNode, str(self.data), (True, False))  # type: ignore[no-untyped-call]
        return tag
