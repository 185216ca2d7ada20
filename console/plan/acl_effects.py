"""The principals that lose or gain access by changes of ACLs: their operations on existing resources, evaluated with
all remaining ACLs and the rest of the plan. Pure.

A resource pattern is evaluated once for all names that no other ACL of the principal covers; each other name is
evaluated separately. So a change of `*` is fast even with 40,000 topics and 100,000 ACLs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from console.model import authorizer
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType
from console.model.numbers import first_few, plural
from console.model.parts import Part
from console.model.snapshot import host_ranges
from console.plan.edits import AclEdit, AddAcl, RemoveAcl
from console.plan.staged import Draft

NAMED = 3
"""Maximum number of principals, resources and addresses that a line names; further ones are counted."""
MOST_JUDGED = 200
"""Maximum number of principals with their own ACLs, and of addresses, that are evaluated separately."""
MOST_NARROWER = 2_000
"""Maximum number of resources that are evaluated separately because another ACL matches them with a narrower pattern
than the edited one, for all principals and edits of a plan together.
"""
FEWEST = 20
"""Minimum number of such resources (see `MOST_NARROWER`) that are evaluated for each principal and edit, even if all
together then exceed `MOST_NARROWER`.
"""
_TOPIC, _GROUP = AclResourceType.parse("TOPIC"), AclResourceType.parse("GROUP")
_LAST = "\U0010ffff"
"""The greatest character. A prefix followed by it is a name that no other ACL covers, and that sorts after all names
with the prefix.
"""


class Move(NamedTuple):
    """Operations that a principal loses or gains by a plan."""

    operations: tuple[AclOperation, ...]
    names: tuple[str, ...]
    """The existing resources on which the principal loses or gains the operations."""
    others: bool
    """Whether the principal also loses or gains the operations on all other names that the ACL's pattern matches."""
    hosts: tuple[str, ...]
    """The addresses to which the change is limited; empty for all addresses."""
    but: tuple[str, ...]
    """The addresses that are excepted from the change."""


class Change(NamedTuple):
    """The ACLs of a cluster before and after a plan."""

    before: authorizer.AclIndex
    after: authorizer.AclIndex
    existing: Mapping[AclResourceType, Sequence[str]]
    """Type of resource -> the sorted names of the existing resources; types that were not read are missing."""
    limit: int = MOST_NARROWER
    """The maximum number of resources that are evaluated separately for each edit."""


class Moves(NamedTuple):
    """The operations that a principal loses or gains, and the number of resources that were not evaluated."""

    moves: list[Move]
    unjudged: int
    """The number of resources with narrower ACLs that were not evaluated, because they exceed the limit."""


def acl_effects(edit: AclEdit, draft: Draft) -> tuple[str, ...]:
    """Return lines on the access that principals lose or gain by an edit of the plan; empty if ACLs were not read."""
    if not draft.read(Part.ACLS):
        return ()
    return tuple(_lines(edit, draft.once("acl change", lambda: change_by(draft))))


def change_by(draft: Draft) -> Change:
    """Return the cluster's ACLs before and after the edits of a draft."""
    snapshot = draft.snapshot
    edits = [each.edit for each in draft.staged]
    added = [edit.acl for edit in edits if isinstance(edit, AddAcl)]
    removed = [edit.acl for edit in edits if isinstance(edit, RemoveAcl)]
    before = authorizer.AclIndex(snapshot.acls, ranges=host_ranges(snapshot))
    existing: dict[AclResourceType, Sequence[str]] = {}
    if draft.read(Part.TOPICS):
        existing[_TOPIC] = sorted(snapshot.topics)
    if draft.read(Part.GROUPS):
        existing[_GROUP] = sorted(snapshot.groups)
    # The edits share one limit, so the time for a plan hardly grows with their number.
    return Change(before, before.changed(removed, added), existing, MOST_NARROWER // max(1, len(added) + len(removed)))


def _lines(edit: AclEdit, change: Change) -> Iterator[str]:
    acl, before, after = edit.acl, change.before, change.after
    takes = isinstance(edit, RemoveAcl) == (acl.permission == authorizer.ALLOW)
    if takes:
        yield from _moves(acl, before, after, change, "loses", "lose")
    elif isinstance(edit, RemoveAcl):
        yield from _moves(acl, after, before, change, "gains", "gain")
    else:
        yield from _overridden(acl, after)
    if isinstance(edit, RemoveAcl):
        name = any_name(acl)
        if not any(after.patterns_on(acl.resource_type, name)):
            yield (
                f"no ACL is left on {_where(acl)}{' without one of their own' if authorizer.is_pattern(acl) else ''}: "
                "closed to all but super users, or open to everyone where the brokers have "
                "allow.everyone.if.no.acl.found=true"
            )


def _overridden(acl: Acl, after: authorizer.AclIndex) -> Iterator[str]:
    """Yield a line if a deny overrides an allow for the allow's principal, host and resources."""
    host = None if acl.host == authorizer.WILDCARD else acl.host
    request = authorizer.Request(acl.principal, host, acl.operation, acl.resource_type, any_name(acl))
    denied = next((each for each in after.matching(request) if each.permission == authorizer.DENY), None)
    if denied is not None:
        yield f"it changes nothing for {acl.principal}: deny {denied.principal} {denied.operation.name} overrides it"


def _moves(
    acl: Acl, held: authorizer.AclIndex, left: authorizer.AclIndex, change: Change, one: str, many: str
) -> Iterator[str]:
    """Yield lines on the operations that the ACLs of `held` allow and those of `left` do not. Principals with the same
    change share a line. If not all principals (`MOST_JUDGED`) or resources were evaluated, further lines have the
    numbers of the others.

    Args:
        one, many: the verb of the lines, for one principal and for several, such as ``loses`` and ``lose``.
    """
    # A change for everyone may have no effect on principals with their own ACLs: evaluate these separately.
    own = sorted({*_with_own(acl, held), *_with_own(acl, left)}) if acl.principal == authorizer.EVERYBODY else []
    limit = max(FEWEST, change.limit // (len(own[:MOST_JUDGED]) + 1))
    names = _names(acl, change.existing)
    moved, unjudged = moves(acl, acl.principal, held, left, names, limit)
    apart: dict[tuple[Move, ...], list[str]] = {}
    for principal in own[:MOST_JUDGED]:
        found, more = moves(acl, principal, held, left, names, limit)
        unjudged = max(unjudged, more)
        # A principal with the same result as everyone needs no line of its own.
        if found != moved:
            apart.setdefault(tuple(found), []).append(principal)
    who = ("everyone else" if apart else "everyone") if acl.principal == authorizer.EVERYBODY else acl.principal
    for move in moved:
        yield f"{who} {one} {_text(acl, move, names, change)}"
    for others, all_ in apart.items():
        for move in others:
            yield f"{_list(all_)} {one if len(all_) == 1 else many} {_text(acl, move, names, change)}"
        if not others:
            yield f"nothing changes for {_list(all_)}: other ACLs decide"
    if len(own) > MOST_JUDGED:
        yield f"not looked at there: {plural(len(own) - MOST_JUDGED, 'more principal')} with ACLs of their own"
    if unjudged:
        yield f"{unjudged:,} more {_word(acl, unjudged)} with narrower ACLs were not looked at"


def moves(
    acl: Acl,
    principal: str,
    held: authorizer.AclIndex,
    left: authorizer.AclIndex,
    names: Sequence[str],
    limit: int = MOST_NARROWER,
) -> Moves:
    """Return what a principal may do by the ACLs of `held` but not by those of `left`, among the operations and
    resources of `acl`.

    Args:
        names: the existing resources that the ACL matches.
        limit: the maximum number of resources with narrower ACLs to evaluate; the rest is counted in `Moves.unjudged`.
    """
    type_ = acl.resource_type
    narrower = _narrower(acl, principal, held, left, names)
    special, unjudged = narrower[:limit], set(narrower[limit:])
    another = any_name(acl)
    found: dict[tuple[tuple[str, ...], bool, tuple[str, ...], tuple[str, ...]], list[AclOperation]] = {}
    for operation in authorizer.granted(acl):
        by_hosts: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        request = authorizer.Request(principal, None, operation, type_, another)
        for_others = _hosts_moved(acl, request, held, left)
        for name in special:
            hosts = _hosts_moved(acl, request._replace(resource_name=name), held, left)
            if hosts is not None:
                by_hosts.setdefault(hosts, []).append(name)
        if for_others is not None:
            apart = {*special, *unjudged}
            by_hosts.setdefault(for_others, []).extend(name for name in names if name not in apart)
        for hosts, moved in by_hosts.items():
            key = tuple(sorted(moved)), hosts == for_others and authorizer.is_pattern(acl), *hosts
            found.setdefault(key, []).append(operation)
    return Moves([Move(tuple(operations), *key) for key, operations in found.items()], len(unjudged))


def _hosts_moved(
    acl: Acl, request: authorizer.Request, held: authorizer.AclIndex, left: authorizer.AclIndex
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the addresses from which `held` allows a request and `left` does not; None if there is no such address.

    Returns:
        (addresses, exceptions). Empty addresses mean all addresses except the exceptions.
    """

    def moves_from(host: str | None) -> bool:
        at = request._replace(host=host)
        return bool(held.allows(at)) and not left.allows(at)

    _, _, _, type_, name = request
    named = {each.host for index in (held, left) for each in index.of(request.principal, type_, name)}
    if acl.host != authorizer.WILDCARD:
        # An address that brokers never compare with a client's address has no effect.
        if not authorizer.is_compared(acl.host, ranges=held.ranges):
            return None
        return ((acl.host,), ()) if moves_from(authorizer.address_in(acl.host, named)) else None
    hosts = sorted(
        host for host in named if host != authorizer.WILDCARD and authorizer.is_compared(host, ranges=held.ranges)
    )[:MOST_JUDGED]
    if moves_from(None):
        return (), tuple(
            host for host in hosts if left.allows(request._replace(host=authorizer.address_in(host, named)))
        )
    only = tuple(host for host in hosts if moves_from(authorizer.address_in(host, named)))
    return (only, ()) if only else None


def any_name(acl: Acl) -> str:
    """Return a resource name by which the effect of an ACL is evaluated: for a literal ACL the name in it; for a
    prefix or ``*`` a name that this ACL matches, but no ACL with a narrower pattern.
    """
    if not authorizer.is_pattern(acl):
        return acl.resource_name
    return (acl.resource_name if acl.pattern_type == authorizer.PREFIXED else "") + _LAST


def _names(acl: Acl, existing: Mapping[AclResourceType, Sequence[str]]) -> Sequence[str]:
    """Return the names of existing resources that the ACL matches; for a literal ACL the resource that it names,
    existing or not.
    """
    if not authorizer.is_pattern(acl):
        return (acl.resource_name,)
    names = existing.get(acl.resource_type, ())
    if acl.pattern_type != authorizer.PREFIXED:
        return [name for name in names if authorizer.covers(authorizer.pattern_of(acl), acl.resource_type, name)]
    prefix = acl.resource_name
    return names[bisect_left(names, prefix) : bisect_left(names, prefix + _LAST)]


def _narrower(
    acl: Acl, principal: str, held: authorizer.AclIndex, left: authorizer.AclIndex, names: Sequence[str]
) -> list[str]:
    """Return those of `names` that another ACL of the principal or of ``User:*`` matches with a narrower pattern than
    `acl`; empty if `acl` names a single resource.
    """
    if not authorizer.is_pattern(acl):
        return []
    who = {principal, authorizer.EVERYBODY}
    own = {pattern for index in (held, left) for each in who for pattern in index.patterns_of(each)}
    inner = [each for each in own if each != authorizer.pattern_of(acl) and authorizer.is_within(each, acl)]
    prefixes = tuple(each.name for each in inner if each.pattern_type == authorizer.PREFIXED)
    literals = {each.name for each in inner if each.pattern_type != authorizer.PREFIXED}
    if not inner:
        return []
    return [name for name in names if name in literals or (prefixes and name.startswith(prefixes))]


def _with_own(acl: Acl, index: authorizer.AclIndex) -> Iterator[str]:
    """Yield the principals that have ACLs of their own on resources that the ACL matches; a principal may occur several
    times.
    """
    there = [*index.patterns_on(acl.resource_type, any_name(acl))]
    if authorizer.is_pattern(acl):
        there += [each for each in index.patterns() if authorizer.is_within(each, acl)]
    for pattern in there:
        yield from (who for who in index.principals_at(pattern) if who != authorizer.EVERYBODY)


# -- effects as text ---------------------------------------------------------------------------------------------------


def _text(acl: Acl, move: Move, names: Sequence[str], change: Change) -> str:
    operations = operations_text(acl, move.operations)
    hosts = f" from {_list(move.hosts)}" if move.hosts else ""
    but = f", except from {_list(move.but)}" if move.but else ""
    return f"{operations} on {_resources(acl, move, names, change)}{hosts}{but}"


def operations_text(acl: Acl, operations: Sequence[AclOperation]) -> str:
    """Return operations as text: ``READ, DESCRIBE``; ``all operations`` if they are all that the ACL's type of resource
    has.
    """
    every = len(operations) > 1 and len(operations) == len(authorizer.OPERATIONS_OF.get(acl.resource_type, ()))
    return "all operations" if every else ", ".join(operation.name for operation in operations)


def _resources(acl: Acl, move: Move, names: Sequence[str], change: Change) -> str:
    if not authorizer.is_pattern(acl) or acl.resource_type not in change.existing:
        return _where(acl)
    count = len(move.names)
    if not move.others:
        return f"{count:,} {_word(acl, count)}, {_list(move.names)}"
    if not names:
        return f"{_where(acl)}: none exists now"
    if not count:
        return (
            f"{_where(acl)} and do not exist yet" if acl.pattern_type == authorizer.PREFIXED else f"new {_word(acl, 2)}"
        )
    of = f"{count:,} of {len(names):,}" if count < len(names) else f"{count:,}"
    return f"{_where(acl)}: {of} now, {_list(move.names)}"


def _where(acl: Acl) -> str:
    """Return the resources of an ACL as text: ``topic orders``, ``topics that begin with pay``, ``all topics``."""
    if acl.pattern_type == authorizer.PREFIXED:
        return f"{_word(acl, 2)} that begin with {acl.resource_name}"
    if acl.resource_name == authorizer.WILDCARD:
        return f"all {_word(acl, 2)}"
    word = _word(acl, 1)
    return f"the {word}" if word == "cluster" else f"{word} {acl.resource_name}"


def _word(acl: Acl, count: int) -> str:
    word = acl.resource_type.name.lower().replace("_", "-")
    return word if count == 1 else f"{word}s"


def _list(items: Iterable[str]) -> str:
    return first_few([*items], NAMED)
