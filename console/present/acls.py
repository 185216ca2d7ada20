"""ACLs: their rows and columns, by principal or by resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain, repeat
from operator import itemgetter, ne
from typing import Any, Literal, NamedTuple

from console.model.acl import LITERAL, PREFIXED, Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.plan.plan import Plan
from console.present import columns
from console.present.text import clean

By = Literal["principal", "resource"]
TOPIC_TYPE = AclResourceType(2)
DENY = Permission(2)


class AclRow(NamedTuple):
    """An ACL; its staged edit (``+`` to be added, ``-`` to be removed, ``""`` for no edit); and whether it is the
    first row of its principal, or of its resource if the rows are ordered by resource.
    """

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
    """Return the rows of the cluster's ACLs and of the ACLs that the plan adds.

    Args:
        acls: the ACLs of the cluster, in any order.
        plan: the plan, whose edits mark rows: ``+`` to be added, ``-`` to be removed.
        by: whether the rows are ordered by principal or by resource; the first row of each is marked.
    """
    staged = _staged(plan) if plan.staged else {}
    # Use a set, so that a staged ACL that exists already has one row; without edits, don't copy 100,000 ACLs.
    there = {*acls, *staged} if staged else acls
    ordered = sorted(there, key=_BY_PRINCIPAL if by == "principal" else _BY_RESOURCE)
    groups = [*map(_GROUP[by], ordered)]
    begins = map(ne, groups, chain((None,), groups))
    marks = map(staged.get, ordered, repeat("")) if staged else repeat("")
    return [*map(AclRow, ordered, marks, begins)]


def _staged(plan: Plan) -> dict[Acl, str]:
    # Import the kinds of edits late, only once an edit is staged.
    from console.plan.kinds.registry import kind_of

    marks = {"add": "+", "remove": "-"}
    edits = [item.edit for item in plan.staged]
    return {target: marks[kind_of(edit).verb] for edit in edits if isinstance(target := edit.target, Acl)}


def search_text(binding: Acl) -> str:
    """Return the text that a filter searches: the ACL in the syntax of commands.

    Built without `names.acl`, because there may be 100,000 ACLs.
    """
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
    """Return whether an ACL applies to a topic: by its name, a prefix of it, or ``*``."""
    if acl.resource_type != TOPIC_TYPE:
        return False
    if acl.pattern_type == PREFIXED:
        return topic.startswith(acl.resource_name)
    return acl.resource_name in (topic, "*")


def resource_text(acl: Acl) -> str:
    """Return the resource of an ACL as ``topic orders``, ``topic pay…`` for a prefix, ``cluster``."""
    word = acl.resource_type.name.lower().replace("_", "-")
    if word == "cluster":
        return word
    name = clean(acl.resource_name)
    return f"{word} {name}…" if acl.pattern_type == PREFIXED else f"{word} {name}"


_STAGED: columns.Column[AclRow] = columns.letter_column(
    "staged", lambda row: (row.staged, "danger" if row.staged == "-" else "pending") if row.staged else "", width=2
)
_REST: tuple[columns.Column[AclRow], ...] = (
    columns.Column("resource_type", columns.LISTED, lambda row: row.acl.resource_type.name, "word", title="Resource"),
    columns.Column("resource_name", columns.LISTED, lambda row: row.acl.resource_name, title="Name"),
    columns.Column(
        "pattern_type",
        get=lambda row: row.acl.pattern_type.name,
        type="word",
        cell=lambda row: row.acl.pattern_type.name.lower(),
        text=lambda row: row.acl.pattern_type.name,
        layout=columns.on_screen(8, "Pattern", priority=40),
    ),
    columns.Column(
        "permission",
        get=lambda row: row.acl.permission.name,
        type="word",
        title="Permission",
        cell=lambda row: ("deny", "danger") if row.acl.permission == DENY else row.acl.permission.name.lower(),
        text=lambda row: row.acl.permission.name,
        layout=columns.on_screen(5, "Perm", priority=90),
    ),
    columns.Column(
        "operation", get=lambda row: row.acl.operation.name, type="word", layout=columns.on_screen((9, 18), priority=85)
    ),
    columns.Column("host", get=lambda row: row.acl.host, layout=columns.on_screen((4, 18), priority=50)),
)


def _columns(by: By) -> columns.Columns[AclRow]:
    """Return the columns for an order of the rows. A text that a row shares with the row above is muted."""

    def grouped(what: By, row: AclRow) -> str:
        return "muted" if by == what and not row.first else ""

    principal: columns.Column[AclRow] = columns.Column(
        "principal",
        get=lambda row: row.acl.principal,
        cell=lambda row: (clean(row.acl.principal), grouped("principal", row)),
        layout=columns.on_screen((14, 44), flex=1, priority=95),
    )
    resource: columns.Column[AclRow] = columns.Column(
        "resource",
        columns.SCREEN,
        cell=lambda row: (resource_text(row.acl), grouped("resource", row)),
        layout=columns.on_screen((14, 60), flex=1, priority=95),
    )
    # Put the column by which the rows are ordered first, so that equal texts are below each other.
    first = (principal, resource) if by == "principal" else (resource, principal)
    return columns.Columns(_STAGED, *first, *_REST, orders={"data": _DATA_ORDER})


_DATA_ORDER = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")
ACLS: Mapping[By, columns.Columns[AclRow]] = {"principal": _columns("principal"), "resource": _columns("resource")}
"""The order of the rows (by principal or by resource) -> the columns."""
