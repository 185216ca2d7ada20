"""Finds who may write to a topic by ACLs, and with which transactional ids. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from console.model import authorizer
from console.model.acl import LITERAL, Acl
from console.model.codes import AclOperation, AclResourceType
from console.triage.remembered import remembered

_TOPIC, _ID = AclResourceType.parse("TOPIC"), AclResourceType.parse("TRANSACTIONAL_ID")
_WRITE = AclOperation.parse("WRITE")
MOST = 3
"""Maximum number of writers that are named."""


class Writer(NamedTuple):
    """A principal that ACLs let write to a topic."""

    principal: str
    ids: tuple[str, ...]
    """The only transactional ids that ACLs let it use; empty if ACLs let it use none, or more than single ids."""


class _Index(NamedTuple):
    topics: Mapping[authorizer.Pattern, Collection[str]]
    """Pattern of topics -> the principals that ACLs let write there."""
    denied: Mapping[authorizer.Pattern, Collection[str]]
    """Pattern of topics -> the principals that ACLs deny to write there, from some host or all."""
    known: Collection[str]
    """The principals with an ACL on topics."""
    ids: Mapping[str, Collection[authorizer.Pattern]]
    """Principal -> the patterns of the transactional ids that ACLs let it use."""


def writers(acls: Collection[Acl], topic: str) -> tuple[Writer, ...]:
    """Return the principals that ACLs let write to a topic, sorted; empty if there are more than a few, if every user
    may write there, or if an ACL denies some or all users to.
    """
    index = _index(acls)
    names = _at(index.topics, topic)
    if len(names) > MOST or authorizer.EVERYBODY in names or _at(index.denied, topic):
        return ()
    return tuple(Writer(each, _single_ids(each, index)) for each in sorted(names))


def may_write(acls: Collection[Acl], principal: str, topic: str) -> bool:
    """Return whether a principal may write to a topic, as far as ACLs tell; True for one without ACLs on topics, which
    may be a super user.
    """
    index = _index(acls)
    if principal not in index.known:
        return True
    mine = {principal, authorizer.EVERYBODY}
    return not mine.isdisjoint(_at(index.topics, topic)) and mine.isdisjoint(_at(index.denied, topic))


def _at(patterns: Mapping[authorizer.Pattern, Collection[str]], topic: str) -> set[str]:
    return {each for pattern in authorizer.patterns_on(_TOPIC, topic) for each in patterns.get(pattern, ())}


def _single_ids(principal: str, index: _Index) -> tuple[str, ...]:
    patterns = [*index.ids.get(principal, ()), *index.ids.get(authorizer.EVERYBODY, ())]
    if any(each.pattern_type != LITERAL or each.name == authorizer.WILDCARD for each in patterns):
        return ()
    return tuple(sorted({each.name for each in patterns}))


@remembered
def _index(acls: Collection[Acl]) -> _Index:
    topics: dict[authorizer.Pattern, set[str]] = {}
    denied: dict[authorizer.Pattern, set[str]] = {}
    known: set[str] = set()
    ids: dict[str, set[authorizer.Pattern]] = {}
    for acl in acls:
        if acl.resource_type == _TOPIC:
            known.add(acl.principal)
        elif acl.resource_type != _ID:
            continue
        if not authorizer.grants(acl, _WRITE):
            continue
        if acl.resource_type == _TOPIC:
            found = topics if acl.permission == authorizer.ALLOW else denied
            found.setdefault(authorizer.pattern_of(acl), set()).add(acl.principal)
        elif acl.permission == authorizer.ALLOW:
            ids.setdefault(acl.principal, set()).add(authorizer.pattern_of(acl))
    return _Index(topics, denied, known, ids)
