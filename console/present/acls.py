"""Rows of the ACL table, by principal or by resource."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import chain, repeat
from operator import itemgetter, ne
from typing import Any, Literal, NamedTuple

from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.plan.edits import AddAcl, RemoveAcl
from console.plan.plan import Plan
from console.present.text import Cell, clean

By = Literal["principal", "resource"]
TOPIC_TYPE = AclResourceType(2)
LITERAL = PatternType(3)
PREFIXED = PatternType(4)
DENY = Permission(2)


class AclRow(NamedTuple):
    """A binding, what is staged for it (``+``, ``-`` or ``""``), and whether it begins a group of its order."""

    acl: Acl
    staged: str
    first: bool


def _order(*fields: str) -> itemgetter[Any]:
    return itemgetter(*map(Acl._fields.index, fields))


_LAST = ("permission", "operation", "host")
_BY_PRINCIPAL = _order("principal", "resource_type", "resource_name", "pattern_type", *_LAST)
_BY_RESOURCE = _order("resource_type", "resource_name", "pattern_type", "principal", *_LAST)
_GROUP = {"principal": _order("principal"), "resource": _order("resource_type", "resource_name", "pattern_type")}


def acl_rows(acls: Iterable[Acl], plan: Plan, by: By) -> list[AclRow]:
    """The cluster's bindings and those staged to be added, in groups by principal or by resource."""
    staged: dict[Acl, str] = {}
    for item in plan.staged:
        if isinstance(item.edit, AddAcl):
            staged[item.edit.acl] = "+"
        elif isinstance(item.edit, RemoveAcl):
            staged[item.edit.acl] = "-"
    there = {*acls, *staged} if staged else acls
    ordered = sorted(there, key=_BY_PRINCIPAL if by == "principal" else _BY_RESOURCE)
    groups = [*map(_GROUP[by], ordered)]
    begins = map(ne, groups, chain((None,), groups))
    marks = map(staged.get, ordered, repeat("")) if staged else repeat("")
    return [*map(AclRow, ordered, marks, begins)]


def search_text(binding: Acl) -> str:
    """What a filter looks at: as the grammar writes it, made quickly, since there may be 100,000."""
    type_, name, pattern, principal, host, operation, permission = binding
    verb, where = _verb(permission, operation), _where(type_, pattern)
    return f"{verb[0]} {principal} {verb[1]} on {where[0]} {name}{where[1]}{'' if host == '*' else f' from {host}'}"


@cache
def _verb(permission: Permission, operation: AclOperation) -> tuple[str, str]:
    return permission.name.lower(), operation.name


@cache
def _where(type_: AclResourceType, pattern: PatternType) -> tuple[str, str]:
    return type_.name.lower().replace("_", "-"), "" if pattern == LITERAL else f" {pattern.name.lower()}"


def touches_topic(acl: Acl, topic: str) -> bool:
    """Whether a binding is about a topic: by its name, a prefix of it, or all topics."""
    if acl.resource_type != TOPIC_TYPE:
        return False
    if acl.pattern_type == PREFIXED:
        return topic.startswith(acl.resource_name)
    return acl.resource_name in (topic, "*")


def resource_text(acl: Acl) -> str:
    """``topic orders``, ``topic pay*`` for a prefix, ``cluster``."""
    word = acl.resource_type.name.lower().replace("_", "-")
    if word == "cluster":
        return word
    name = clean(acl.resource_name)
    return f"{word} {name}…" if acl.pattern_type == PREFIXED else f"{word} {name}"


def acl_cells(row: AclRow, by: By) -> list[Cell]:
    """Letter, then principal and resource in the order asked for, pattern, permission, operation, host.

    The words that a row shares with the one above are muted.
    """
    acl = row.acl
    group = "" if row.first else "muted"
    pattern = acl.pattern_type.name.lower()
    permission: Cell = ("deny", "danger") if acl.permission == DENY else acl.permission.name.lower()
    letter: Cell = (row.staged, "danger" if row.staged == "-" else "pending") if row.staged else ""
    rest: list[Cell] = [pattern, permission, acl.operation.name, clean(acl.host)]
    principal, where = clean(acl.principal), resource_text(acl)
    if by == "principal":
        return [letter, (principal, group), where, *rest]
    return [letter, (where, group), principal, *rest]
