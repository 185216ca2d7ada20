"""The effects of one ACL: what it allows or denies, the ACLs that override or duplicate it, and the effects of removing
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from console.model import authorizer
from console.model.acl import Acl
from console.model.snapshot import Snapshot, host_ranges
from console.plan.acl_effects import acl_effects, any_name, operations_text
from console.plan.edits import RemoveAcl
from console.plan.staged import Draft, Staged
from console.present import names
from console.present.names import plural
from console.present.text import clean

SHOWN = 5
"""Maximum number of ACLs of one kind that a line names; of further ones it gives the number."""


class AclExplained(NamedTuple):
    """The effects of an ACL (the explained ACL) together with the other ACLs."""

    acl: Acl
    overridden: tuple[Acl, ...]
    """If the explained ACL is an ALLOW: the DENY ACLs that override it completely. If it is a DENY: the ALLOW ACLs
    that it overrides completely.
    """
    in_part: tuple[Acl, ...]
    """The ACLs that override the explained ACL, or that it overrides, but only for a part of the requests."""
    same: tuple[Acl, ...]
    """Other ACLs with the same permission whose effect includes that of the explained ACL."""
    gone: tuple[str, ...]
    """Lines on the effects of removing the explained ACL."""


def explain_acl(acl: Acl, snapshot: Snapshot) -> AclExplained:
    """Return the effects that an ACL has together with the ACLs of the snapshot; the ACL itself need not exist yet."""
    there = snapshot.acls if acl in snapshot.acls else (*snapshot.acls, acl)
    ranges = host_ranges(snapshot)
    index = authorizer.AclIndex(there, ranges=ranges)
    others = [each for each in _near(acl, index) if each != acl and _meet(acl, each, ranges)]
    against = [each for each in others if each.permission != acl.permission]
    denies = acl.permission == authorizer.DENY
    whole = [
        each
        for each in against
        if (
            authorizer.within_whole(each, acl, ranges=ranges)
            if denies
            else authorizer.within_whole(acl, each, ranges=ranges)
        )
    ]
    same = [
        each
        for each in others
        if each.permission == acl.permission and authorizer.within_whole(acl, each, ranges=ranges)
    ]
    removal = Draft(
        [Staged(RemoveAcl(acl), acl)],
        Snapshot(
            acls=there,
            topics=snapshot.topics,
            groups=snapshot.groups,
            versions=snapshot.versions,
            read_at=snapshot.read_at,
        ),
    )
    return AclExplained(
        acl,
        tuple(whole),
        tuple(each for each in against if each not in whole),
        tuple(same),
        acl_effects(RemoveAcl(acl), removal),
    )


def explained_lines(explained: AclExplained) -> Iterator[tuple[str, str]]:
    """Yield the lines of the explanation, each as a label and a text."""
    acl = explained.acl
    denies = acl.permission == authorizer.DENY
    operations = operations_text(acl, authorizer.granted(acl))
    who = "everyone" if acl.principal == authorizer.EVERYBODY else clean(acl.principal)
    yield ("denies" if denies else "grants"), f"{operations} {'to ' if not denies else 'for '}{who}{_place(acl)}"
    yield from _listed("overrides" if denies else "overridden by", explained.overridden)
    yield from _listed("overrides in part" if denies else "in part by", explained.in_part)
    if denies and not (explained.overridden or explained.in_part):
        yield "overrides", "no ACL: what it denies, none allows"
    yield from _listed("so does", explained.same)
    yield from (("without it", line) for line in explained.gone or ("nothing changes",))
    yield "unless", "super users are concerned, to whom no ACL applies; brokers do not say who they are"


def _place(acl: Acl) -> str:
    if acl.host == authorizer.WILDCARD:
        return ", from anywhere"
    if not authorizer.is_compared(acl.host, ranges=True):
        return f", from {clean(acl.host)}: no broker writes an address like that, so it never matches"
    return f", from {clean(acl.host)}"


def _listed(label: str, acls: Iterable[Acl]) -> Iterator[tuple[str, str]]:
    all_ = [*acls]
    yield from ((label, names.acl(each)) for each in all_[:SHOWN])
    if len(all_) > SHOWN:
        yield label, plural(len(all_) - SHOWN, "more ACL")


def _near(acl: Acl, index: authorizer.AclIndex) -> Iterator[Acl]:
    """Yield the ACLs on resources that this ACL also matches."""
    patterns: list[authorizer.Pattern] = [*index.patterns_on(acl.resource_type, any_name(acl))]
    if acl.pattern_type == authorizer.PREFIXED or acl.resource_name == authorizer.WILDCARD:
        patterns += [each for each in index.patterns() if authorizer.is_within(each, acl) and each not in patterns]
    for pattern in patterns:
        there = index.principals_at(pattern)
        who = there if acl.principal == authorizer.EVERYBODY else {acl.principal, authorizer.EVERYBODY} & there.keys()
        for principal in sorted(who):
            yield from there[principal]


def _meet(acl: Acl, other: Acl, ranges: bool) -> bool:
    """Return whether a request exists that both ACLs match; their resources and principals are known to overlap.
    ranges: whether brokers accept address ranges as hosts of ACLs.
    """
    hosts = authorizer.host_within(acl.host, other.host, ranges=ranges) or authorizer.host_within(
        other.host, acl.host, ranges=ranges
    )
    return hosts and not set(authorizer.granted(acl)).isdisjoint(authorizer.granted(other))
