"""What the forms of other tools' files share: the record of one, and its values as Kafka has them.

A form is recognized by its content. What it can't say of a cluster is left alone; what it says and no cluster has is
noted by name; all else that is not understood is a problem with its line.
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
"""What readers of YAML take for a number of other digits: octal, hexadecimal, binary, sexagesimal, with an exponent."""


class DocumentForm(NamedTuple):
    """A form of YAML or JSON.

    name: for messages. owns: whether a document's data is in this form. take: adds what it wants, and yields what is
    wrong with it.
    """

    name: str
    owns: Callable[[Any], bool]
    take: Callable[[Document, Read], Iterator[FileProblem]]


class TextForm(NamedTuple):
    """A form of lines.

    name: for messages. owns: whether a text that begins like this, without space before it, is in this form. take: adds
    what the text of a file (its name is the second argument) wants, and yields what is wrong with it.
    """

    name: str
    owns: Callable[[str], bool]
    take: Callable[[str, str, Read], Iterator[FileProblem]]


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
}
"""By a word in the name of a kind of document, the kinds of a wanted state that it is about."""


def kinds_about(kind: str) -> tuple[str, ...]:
    """Return the kinds of a wanted state (`wanted.KINDS`) that a document is about, by the name of its kind, in the
    words of any tool: ``KafkaTopicList``, ``AccessControlList``.
    """
    name = kind.lower()
    return tuple(dict.fromkeys(each for word, kinds in _ABOUT.items() if word in name for each in kinds))


def fields(text: str, before: str, separators: Sequence[str], after: str) -> tuple[str, ...] | None:
    """Return what stands between a beginning, separators and an end, of a line in which the first of several parts may
    have any text; None if the line is not made so. The rightmost separators count, so it takes one pass.
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
    """Return the values of a mapping that has any: a key with all below it commented out is as one that is missing.

    Raises:
        FileProblem: it is no mapping.
    """
    return {key: each for key, each in node.named().items() if not each.is_null}


def tried(problems: list[FileProblem], read: Callable[[Node], Found], node: Node | None) -> Found | None:
    """Return what a function reads of a value; None where there is none, or after its FileProblem was added to
    `problems`.
    """
    if node is None:
        return None
    try:
        return read(node)
    except FileProblem as problem:
        problems.append(problem)
        return None


def shown(node: Node) -> str:
    """Return a text of a name or a value, all of whose characters show.

    Raises:
        FileProblem: it is no text, is empty, or has a control character.
    """
    text = node.text()
    if not text:
        node.fail("the text is empty", "write it, or take its key out")
    if not text.isprintable():
        node.fail("the text has a character that does not show itself", "write it without control characters")
    return text


def count(least: int, most: int) -> Callable[[Node], int]:
    """Return a function that reads a whole number of `least` to `most`, or raises FileProblem."""

    def read(node: Node) -> int:
        text = node.text()
        if not is_natural(text) or not least <= int(text) <= most:
            node.fail(f"{text[:40]!r} is no whole number of {least} to {most:,}")
        return int(text)

    return read


def config_value(node: Node) -> str:
    """Return a config's value as Kafka's text: of a number its digits, ``true`` or ``false``, of a list its items with
    commas.

    Raises:
        FileProblem: it has no value, is a mapping, has a control character, is a number whose digits YAML takes for
            another one, such as 010 or 0x1F, or has a unit, which Kafka knows none of.
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
    """A binding in the words of a form."""

    type: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


def acl_of(words: AclWords) -> Acl:
    """Return the binding. A word may be in any case, with or without its underscores: ``ClusterAction``.

    Raises:
        ValueError: Kafka has no such type, pattern, operation or permission. The message is for the operator.
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
