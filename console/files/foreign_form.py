"""What the readers of other tools' files share: the record of a form, and the conversion of its values to Kafka's.

A form is recognized by its content. kac does not change properties of a cluster that the form can't express. If a file
has a property that clusters do not have, kac ignores it with a note; everything else that kac does not know is a
problem with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from console.files.read import Read
from console.model.acl import CLUSTER_NAME, Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.numbers import is_natural
from console.model.yaml_places import Document, FileProblem, Node, Plain
from console.plan.amounts import Unit, has_unit, unit_of

Found = TypeVar("Found")
_OTHER_NUMBER = re.compile(
    r"\A[+-]?(0[0-9_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(:[0-9_]+)+|"
    r"([0-9_]+(\.[0-9_]+)?|\.[0-9_]+)[eE][+-]?[0-9]+)"
)
"""Matches numbers that YAML parsers interpret differently: octal, hexadecimal, binary, sexagesimal, and with an
exponent.
"""


class DocumentForm(NamedTuple):
    """A form of other tools' files in YAML or JSON, with the functions that recognize and read it."""

    name: str
    """The name of the form in messages."""
    owns: Callable[[Any], bool]
    """A function from a document's data to whether it is in this form."""
    take: Callable[[Document, Read], Iterator[FileProblem]]
    """A function that adds the wanted state of a document to a `Read`, and yields the problems of the document."""


class TextForm(NamedTuple):
    """A form of other tools' files that consist of lines, with the functions that recognize and read it."""

    name: str
    """The name of the form in messages."""
    owns: Callable[[str], bool]
    """A function from the beginning of a text, without leading blanks, to whether the text is in this form."""
    take: Callable[[str, str, Read], Iterator[FileProblem]]
    """A function that adds the wanted state in a text to a `Read`, and yields the problems of the text. The second
    argument is the name of the file.
    """


_ABOUT = {
    "topic": ("topics",),
    "user": ("acls", "quotas"),
    "principal": ("acls", "quotas"),
    "acl": ("acls",),
    "accesscontrol": ("acls",),
    "authorization": ("acls",),
    "rolebinding": ("acls",),
    "quota": ("quotas",),
    "broker": ("configs",),
    "group": ("configs",),
    "connector": ("connectors",),
    "schema": ("schemas",),
}
"""Word in the name of a kind of document -> the kinds of entities (`wanted.KINDS`) that such documents describe."""


def kinds_about(kind: str) -> tuple[str, ...]:
    """Return the kinds of entities (`wanted.KINDS`) that a document describes, by the name that any tool gives the
    document's kind: ``KafkaTopicList``, ``AccessControlList``. Empty for an unknown name.
    """
    name = kind.lower()
    return tuple(dict.fromkeys(each for word, kinds in _ABOUT.items() if word in name for each in kinds))


def fields(text: str, before: str, separators: Sequence[str], after: str) -> tuple[str, ...] | None:
    """Return the parts of a line between `before`, each of `separators`, and `after`; None if the line has another
    form.

    The first part may contain a separator: the rightmost occurrence of each separator is used.
    """
    if len(text) < len(before) + len(after) or not text.startswith(before) or not text.endswith(after):
        return None
    rest, found = text[len(before) : len(text) - len(after)], list[str]()
    for separator in reversed(separators):
        rest, there, part = rest.rpartition(separator)
        if not there:
            return None
        found.append(part)
    return rest, *reversed(found)


def given(node: Node) -> dict[str, Node]:
    """Return the values of a mapping that are not null, by key. So a key whose children are all commented out counts as
    missing.

    Raises:
        FileProblem: the node is not a mapping.
    """
    return {key: each for key, each in node.named().items() if not each.is_null}


def tried(problems: list[FileProblem], read: Callable[[Node], Found], node: Node | None) -> Found | None:
    """Return the result of `read` for a node; None if the node is missing, or if `read` raised a FileProblem, which is
    then in `problems`.
    """
    if node is None:
        return None
    try:
        return read(node)
    except FileProblem as problem:
        problems.append(problem)
        return None


def shown(node: Node) -> str:
    """Return the text of a name or a value.

    Raises:
        FileProblem: it is not a text, is empty, or has a control character.
    """
    text = node.text()
    if not text:
        node.fail("the text is empty", "write it, or take its key out")
    if not text.isprintable():
        node.fail("the text has a character that does not show itself", "write it without control characters")
    return text


def count(least: int, most: int) -> Callable[[Node], int]:
    """Return a function that reads an integer from `least` to `most`, and raises FileProblem for anything else."""

    def read(node: Node) -> int:
        text = node.text()
        if not is_natural(text) or not least <= int(text) <= most:
            node.fail(f"{text[:40]!r} is no whole number of {least} to {most:,}")
        return int(text)

    return read


def config_value(node: Node) -> str:
    """Return a config's value in the form that Kafka expects: the digits of a number, ``true`` or ``false``, the items
    of a list separated by commas.

    Raises:
        FileProblem: the node has no value, is a mapping, or has a control character; or it is a number that YAML
            parsers interpret differently, such as 010 or 0x1F, or a number with a unit, which Kafka does not accept.
    """
    if isinstance(node.data, list):
        return ",".join(map(config_value, node.items()))
    if node.is_null:
        node.fail("it has no value", 'leave the key out to inherit, or write "" for the empty value')
    if isinstance(node.data, Plain) and _OTHER_NUMBER.fullmatch(node.data):
        node.fail(f"YAML may take {node.data[:40]} for another number", "write decimal digits, or put it in quotes")
    text = node.text()
    if has_unit(text.strip()) and (unit := unit_of(str(node.path[-1]))) is not Unit.NONE:
        node.fail(f"{text[:40]!r} has a unit, and Kafka reads none", f"write digits, in {unit.plural}")
    if text and not text.isprintable():
        node.fail("the value has a character that does not show itself", "write it without control characters")
    return text


class AclWords(NamedTuple):
    """An ACL in the words that a form uses."""

    type: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


def acl_of(words: AclWords) -> Acl:
    """Return the ACL that these words describe. Words may be in any case, with or without underscores:
    ``ClusterAction``.

    Raises:
        ValueError: a type, pattern, operation or permission is unknown, or the name of the cluster is wrong. The
            message is for the operator.
    """
    type_ = AclResourceType.parse(_joined(words.type, AclResourceType))
    if type_ == AclResourceType.parse("CLUSTER") and words.name != CLUSTER_NAME:
        raise ValueError(f"the cluster is called {CLUSTER_NAME}, not {words.name[:80]!r}")
    return Acl(
        type_,
        words.name,
        PatternType.parse(words.pattern),
        words.principal,
        words.host,
        AclOperation.parse(_joined(words.operation, AclOperation)),
        Permission.parse(words.permission),
    )


def _joined(word: str, codes: type[AclResourceType] | type[AclOperation]) -> str:
    plain = word.upper().replace("_", "")
    return next((name for name in codes.NAMES.values() if name.replace("_", "") == plain), word)
