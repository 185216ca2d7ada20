"""A YAML file as nodes with their lines, so that what is wrong in it can be pointed at."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from console.model.numbers import decimal_number

from ..bounded_yaml import UnsafeYaml, events

if TYPE_CHECKING:
    import yaml

_NULL = "tag:yaml.org,2002:null"
_FLOAT = "tag:yaml.org,2002:float"
_INT = "tag:yaml.org,2002:int"
_BOOL = "tag:yaml.org,2002:bool"


class FileError(Exception):
    """A file that says something that it can't mean; the text has the file, the line, and what to do."""


@dataclass(frozen=True)
class Node:
    """A place in a file and what stands there."""

    file: str
    yaml: yaml.Node

    def fail(self, what: str) -> NoReturn:
        """Raises FileError for this place."""
        raise FileError(f"{self.file}, line {self.yaml.start_mark.line + 1}: {what}")

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Node]:
        """What stands under each name of a mapping. Raises FileError for other names, one twice, and one missing."""
        found = self.named()
        known = {*required, *optional}
        for name, value in found.items():
            if name not in known:
                value.fail(f"{name} is not known here: one of {', '.join(sorted(known))}")
        missing = [name for name in required if name not in found]
        if missing:
            self.fail(f"{', '.join(missing)} is missing: add it")
        return found

    def named(self) -> dict[str, Node]:
        """The same, whatever the names. Raises FileError for one that is there twice."""
        import yaml

        if not isinstance(self.yaml, yaml.MappingNode):
            self.fail("here have to be `name: value` lines")
        found: dict[str, Node] = {}
        for key, value in self.yaml.value:
            name = Node(self.file, key).text()
            if name in found:
                Node(self.file, key).fail(f"{name} stands here twice: keep one")
            found[name] = Node(self.file, value)
        return found

    def items(self) -> Iterator[Node]:
        """The nodes of a list."""
        import yaml

        if not isinstance(self.yaml, yaml.SequenceNode):
            self.fail("here has to be a list: lines that begin with -")
        for each in self.yaml.value:
            yield Node(self.file, each)

    def text(self) -> str:
        """A scalar as Kafka writes it: `true`, `2`, `producer`."""
        import yaml

        if not isinstance(self.yaml, yaml.ScalarNode) or self.yaml.tag == _NULL:
            self.fail("here has to be a text or a number")
        if self.yaml.tag == _BOOL:
            return str(self.boolean()).lower()
        return str(self.yaml.value).replace("_", "") if self.yaml.tag == _INT else str(self.yaml.value)

    def texts(self) -> tuple[str, ...]:
        """One text, or a list of them; not empty."""
        import yaml

        found = (
            (self.text(),) if isinstance(self.yaml, yaml.ScalarNode) else tuple(each.text() for each in self.items())
        )
        if not found:
            self.fail("this list is empty: name one at least")
        return found

    def is_null(self) -> bool:
        """Whether nothing stands here, or `~`."""
        return self.yaml.tag == _NULL

    def number(self) -> float:
        """A number."""
        if self.yaml.tag not in (_INT, _FLOAT):
            self.fail(
                f"{self.yaml.value!r} is no number" if isinstance(self.yaml.value, str) else "here has to be a number"
            )
        try:
            return decimal_number(self.text())
        except ValueError:
            self.fail(f"{self.yaml.value} is no decimal number")

    def boolean(self) -> bool:
        """`true` or `false`."""
        if self.yaml.tag != _BOOL:
            self.fail("here has to be true or false")
        return str(self.yaml.value).lower() in ("true", "yes", "on")

    def choice(self, of: Collection[str]) -> str:
        """One of some words."""
        if (found := self.text()) not in of:
            self.fail(f"{found} is none of {', '.join(of)}")
        return found

    def pattern(self) -> str:
        """A regular expression."""
        try:
            re.compile(found := self.text())
        except re.error as error:
            self.fail(f"this is no regular expression: {error}")
        return found


def rules_of(text: str, file: str, under: str) -> Iterator[Node]:
    """The list that stands under a name, of a file that begins with `version: 1`. Raises FileError."""
    try:
        import yaml
    except ImportError as error:
        raise FileError(f"{file} can't be read without PyYAML: pip install pyyaml") from error
    try:
        for _ in events(text):
            pass
        root = yaml.compose(text, yaml.SafeLoader)
    except UnsafeYaml as error:
        raise FileError(f"{file}, line {error.line}: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        what = getattr(error, "problem", None) or "a character that may not be there"
        raise FileError(f"{file}{where}: this is no YAML: {what}") from error
    if root is None:
        return
    fields = Node(file, root).fields(("version", under))
    if fields["version"].text() != "1":
        fields["version"].fail("this version is not known: write version: 1, or use a newer kac")
    if not fields[under].is_null():
        yield from fields[under].items()
