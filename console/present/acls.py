"""Rows of the ACL table, by principal or by resource."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from console.model.acl import Acl
from console.model.codes import AclResourceType, PatternType, Permission
from console.plan.edits import AddAcl, RemoveAcl
from console.plan.plan import Plan
from console.present.sanitize import clean
from console.present.spans import Cell

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


def acl_rows(acls: Iterable[Acl], plan: Plan, by: By) -> list[AclRow]:
    """The cluster's bindings and those staged to be added, in groups by principal or by resource."""
    staged: dict[Acl, str] = {}
    for item in plan.staged:
        if isinstance(item.edit, AddAcl):
            staged[item.edit.acl] = "+"
        elif isinstance(item.edit, RemoveAcl):
            staged[item.edit.acl] = "-"
    there = {*acls, *staged} if staged else acls
    order = _BY_PRINCIPAL if by == "principal" else _BY_RESOURCE
    rows: list[AclRow] = []
    group: object = None
    for acl in sorted(there, key=order):
        mine = acl.principal if by == "principal" else acl[:3]
        rows.append(AclRow(acl, staged.get(acl, ""), mine != group))
        group = mine
    return rows


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
