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
    ids: Mapping[str, Collection[authorizer.Pattern]]
    """Principal -> the patterns of the transactional ids that ACLs let it use."""


def writers(acls: Collection[Acl], topic: str) -> tuple[Writer, ...]:
    """Return the principals that ACLs let write to a topic, sorted; empty if there are more than a few, or if every
    user may write there.
    """
    index = _index(acls)
    names = {each for pattern in authorizer.patterns_on(_TOPIC, topic) for each in index.topics.get(pattern, ())}
    if len(names) > MOST or authorizer.EVERYBODY in names:
        return ()
    return tuple(Writer(each, _single_ids(each, index)) for each in sorted(names))


def _single_ids(principal: str, index: _Index) -> tuple[str, ...]:
    patterns = [*index.ids.get(principal, ()), *index.ids.get(authorizer.EVERYBODY, ())]
    if any(each.pattern_type != LITERAL or each.name == authorizer.WILDCARD for each in patterns):
        return ()
    return tuple(sorted({each.name for each in patterns}))


@remembered
def _index(acls: Collection[Acl]) -> _Index:
    topics: dict[authorizer.Pattern, set[str]] = {}
    ids: dict[str, set[authorizer.Pattern]] = {}
    for acl in acls:
        if acl.permission != authorizer.ALLOW or not authorizer.grants(acl, _WRITE):
            continue
        if acl.resource_type == _TOPIC:
            topics.setdefault(authorizer.pattern_of(acl), set()).add(acl.principal)
        elif acl.resource_type == _ID:
            ids.setdefault(acl.principal, set()).add(authorizer.pattern_of(acl))
    return _Index(topics, ids)
