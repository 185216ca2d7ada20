"""Parsing, checks and text of principals, operations and resources, for all statements about ACLs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from console.language.arguments import named, plain_name
from console.language.errors import CommandError, did_you_mean
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import joined
from console.language.tokenizer import Span, Word
from console.model import codes
from console.model.acl import LITERAL, PREFIXED
from console.model.codes import AclOperation, AclResourceType, Code, PatternType
from console.present.text import clean

ACL_CLUSTER = codes.ACL_TYPES["cluster"]
ACL_TYPES = {word: type_ for word, type_ in codes.ACL_TYPES.items() if type_ != ACL_CLUSTER}
"""Word of the language -> the type of an ACL's resource; without the cluster, which has no name."""

OPERATIONS = tuple(name for name in AclOperation.NAMES.values() if name != "ANY")


def operations_of(type_: AclResourceType) -> tuple[str, ...]:
    """Return the operations that an ACL on a type of resource can have."""
    from console.model.authorizer import OPERATIONS_OF

    return ("ALL", *(operation.name for operation in OPERATIONS_OF[type_]))


def acl_target(reader: Reader, *, existing: bool) -> tuple[AclResourceType, str | None, PatternType]:
    """Read the target of an ACL: ``cluster``, or a type, a name and a pattern type. Raises ParseError.

    Args:
        existing: whether the ACL may be one that exists already: then the name may be empty, which old brokers
            accepted, and types and pattern types may be numbers that only newer releases know.

    Returns:
        The type, the name (None for the cluster), and the pattern type.
    """
    # An existing ACL may have a code of a newer release, and must be revocable; no new ACL can have one.
    newer = newer_code(reader, AclResourceType) if existing else None
    kind = _acl_type(reader) if newer is None else newer.name.lower()
    if kind == "cluster":
        return ACL_CLUSTER, None, _pattern_type(reader, existing=existing)
    expected = Expected(What.ACL_NAME, f"the NAME of a {kind}, or *", detail=kind)
    name = named(reader, expected, may_be_empty=True) if existing else plain_name(reader, expected, "ACLs").text
    return ACL_TYPES[kind] if newer is None else newer, name, _pattern_type(reader, existing=existing)


def _pattern_type(reader: Reader, *, existing: bool) -> PatternType:
    newer = newer_code(reader, PatternType) if existing else None
    if newer is not None:
        return newer
    return PREFIXED if reader.take_keyword("prefixed") is not None else LITERAL


_Code = TypeVar("_Code", bound=Code)


def newer_code(reader: Reader, of: type[_Code]) -> _Code | None:
    """Read the code of a value that only newer releases of Kafka know, written as ``unknown(9)``. If the next word
    has another form, return None and leave the word unread.
    """
    word = reader.word
    if word is None or not word.bare or not word.text.lower().startswith("unknown("):
        return None
    try:
        found = of.parse(word.text)
    except ValueError:
        return None
    # Consume the word without `take`: completion must not propose a code without a name.
    reader.mark(word, Role.KEYWORD)
    reader.index += 1
    return found


def acl_resource(reader: Reader) -> tuple[AclResourceType, str | None]:
    """Read the resource in a question about ACLs: ``cluster``, or a type and a name. The name is None for the cluster.
    Raises ParseError.
    """
    kind = _acl_type(reader)
    if kind == "cluster":
        return ACL_CLUSTER, None
    place = reader.word
    name = plain_name(reader, Expected(What.ACL_NAME, f"the NAME of one {kind}", detail=f"one {kind}"), "ACLs")
    if place is not None and place.is_bare("*"):
        reader.fail(f"* is no {kind}", place, "name one: what holds for one need not hold for another")
    return ACL_TYPES[kind], name.text


def _acl_type(reader: Reader) -> str:
    return reader.need_keyword("cluster", *ACL_TYPES, label="cluster or TYPE NAME")


def principal(reader: Reader, *, existing: bool) -> str:
    """Read a principal. Raises ParseError.

    Args:
        existing: whether the ACL may be one that exists already: then the principal may lack a type, which old brokers
            accepted.
    """
    expected = Expected(What.PRINCIPAL, "a principal such as User:alice")
    word = reader.take(expected)
    kind, colon, _ = word.text.partition(":")
    # Accept any text for an existing ACL: old brokers did not check principals.
    if not existing and (not kind or not colon):
        hint = f"did you mean 'User:{word.text}'?" if word.text.isidentifier() else ""
        reader.fail(f"{reader.shown(word)} is not a principal (TYPE:NAME)", word, hint)
    return word.text


def operations(reader: Reader, *, existing: bool) -> tuple[tuple[AclOperation, ...], Word]:
    """Read one word with operations, separated by commas. Raises ParseError.

    Args:
        existing: whether to accept operations that only newer releases know, as ``UNKNOWN(17)``.

    Returns:
        Each operation once, and the word.
    """
    word = reader.take(Expected(What.OPERATIONS, "operations such as READ,WRITE"), role=None)
    found: list[AclOperation] = []
    for name in word.text.split(","):
        try:
            operation = AclOperation.parse(name)
        except ValueError:
            operation = AclOperation(1)
        # Only filters have ANY, never an ACL.
        if operation.name not in OPERATIONS and (operation.known or not existing):
            _unknown_operation(reader, word, name)
        if operation not in found:
            found.append(operation)
    reader.mark(word, Role.VALUE)
    return tuple(found), word


def _unknown_operation(reader: Reader, word: Word, name: str) -> None:
    if not name.strip():
        reader.fail("an operation is missing beside a comma", word, "no spaces around commas: READ,WRITE")
    hint = did_you_mean(name.upper(), OPERATIONS) or f"one of {', '.join(OPERATIONS)}"
    reader.fail(f"unknown operation '{clean(name, 40)}'", word, hint)


def require_checked(type_: AclResourceType, operations: Iterable[AclOperation], span: Span) -> None:
    """Raise CommandError if brokers never check one of the operations on this type of resource. span: the place of the
    operations in the script.
    """
    legal = operations_of(type_)
    for operation in operations:
        if operation.name not in legal:
            what = type_.name.lower().replace("_", "-")
            message = f"Kafka never checks {operation.name} on a {what}"
            raise CommandError(message, f"one of {', '.join(legal)}", span)


def operations_text(operations: Iterable[AclOperation]) -> str:
    """Return operations as one word of the language, separated by commas."""
    return ",".join(operation.name for operation in operations)


def resource_text(type_: AclResourceType, name: str | None, written: Callable[[str], str] = quote) -> str:
    """Return the resource of an ACL as text.

    Args:
        name: the name; None for the cluster.
        written: a function that quotes the name.
    """
    if type_ == ACL_CLUSTER:
        return "cluster"
    return joined(type_.name.lower().replace("_", "-"), written(name or ""))
