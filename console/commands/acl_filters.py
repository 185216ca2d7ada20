"""Kafka's own filters of ACLs in `list acls`: ANY for any code, MATCH for the patterns that take in a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from console.commands.errors import CommandError, did_you_mean
from console.commands.statements import FieldFilter, List
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, Code, PatternType, Permission

_CODES: Mapping[str, type[Code]] = MappingProxyType(
    {
        "resource_type": AclResourceType,
        "pattern_type": PatternType,
        "operation": AclOperation,
        "permission": Permission,
    }
)
_LITERAL, _PREFIXED = 3, 4


def without_acl_filters(statement: List) -> tuple[List, Callable[[Acl], bool] | None]:
    """The statement without ANY and MATCH, and what they ask of a binding; None if nothing.

    MATCH finds what affects the resource_name of the statement (AclBindingFilter, KIP-290): the literal name, the
    literal ``*`` and each prefix of it. Raises CommandError for a word that is no code of the column, and for MATCH
    with a pattern for a name.
    """
    kept = tuple(field for field in statement.fields if not _is(field, "ANY"))
    for field in kept:
        _require_code(field)
    if not any(_is(field, "MATCH") for field in kept):
        return List(statement.kind, statement.globs, kept, span=statement.span), None
    names = [field for field in kept if _column(field) == "resource_name"]
    for field in names:
        if field.operator != "=" or field.pattern is None or _plain(field.pattern) is None:
            hint = "write resource_name=NAME, or leave pattern_type=MATCH out"
            raise CommandError("pattern_type=MATCH compares with one name, not with a pattern", hint, field.span)
    wanted = [_plain(field.pattern or "") or "" for field in names]
    left = tuple(field for field in kept if not _is(field, "MATCH") and _column(field) != "resource_name")
    return List(statement.kind, statement.globs, left, span=statement.span), lambda acl: _affects(acl, wanted)


def _affects(acl: Acl, names: list[str]) -> bool:
    if acl.pattern_type == _PREFIXED:
        return all(name.startswith(acl.resource_name) for name in names)
    return acl.pattern_type == _LITERAL and all(acl.resource_name in (name, "*") for name in names)


def _column(field: FieldFilter) -> str:
    return field.key.replace("-", "_")


def _is(field: FieldFilter, word: str) -> bool:
    return field.operator == "=" and _column(field) in _CODES and (field.pattern or "").upper() == word


def _require_code(field: FieldFilter) -> None:
    codes = _CODES.get(_column(field))
    pattern = (field.pattern or "").upper()
    if codes is None or any(char in pattern for char in "*?["):
        return
    # MATCH is a filter of patterns alone, and not being ANY or MATCH says nothing.
    known = [name for name in codes.NAMES.values() if field.operator == "=" or name not in ("ANY", "MATCH")]
    if pattern not in known and not pattern.startswith("UNKNOWN("):
        hint = did_you_mean(pattern, known) or f"there are {', '.join(known)}"
        raise CommandError(f"'{field.pattern}' is no {_column(field).replace('_', ' ')} of ACLs", hint, field.span)


def _plain(pattern: str) -> str | None:
    """The name that a pattern stands for, None for one with wildcards; quoted ones stand for themselves."""
    text = pattern
    for char in "*?[":
        text = text.replace(f"[{char}]", "\0" + char)
    if any(char in "*?[" and text[place - 1 : place] != "\0" for place, char in enumerate(text)):
        return None
    return text.replace("\0", "")
