"""Who may write to a silent topic by its ACLs, and to what these tie a producer: no API shows clients that brokers
refuse. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from console.model import authorizer
from console.model.acl import LITERAL, Acl
from console.model.codes import AclResourceType
from console.model.numbers import first_few
from console.triage import cause
from console.triage.remembered import remembered

FEW = 3
"""Maximum number of principals that are named: of more, no one knows which one wrote."""
_TOPIC, _TRANSACTIONAL = AclResourceType.parse("TOPIC"), AclResourceType.parse("TRANSACTIONAL_ID")
_WRITES = frozenset({"WRITE", "ALL"})
_EVERYBODY = "User:*"


class Writer(NamedTuple):
    """A principal that may write to a topic."""

    principal: str
    ids: Sequence[str] = ()
    """The transactional ids that it may use, if ACLs name each of them; empty if none does, or if one has a prefix."""
    hosts: Sequence[str] = ()
    """The hosts from which it may write; empty for any host."""

    def said(self) -> str:
        """Return its name and its limits, as text."""
        as_ids = f" (in transactions only as {' or '.join(self.ids)})" if self.ids else ""
        return f"{self.principal}{as_ids}{f' from {first_few(self.hosts, FEW)} only' if self.hosts else ''}"


def writers(acls: Sequence[Acl], topic: str) -> Sequence[Writer]:
    """Return the principals that may write to a topic by ACLs, sorted by name; empty without ACLs, and if everybody or
    more than `FEW` may.
    """
    mine = _writing(acls)
    keys = (authorizer.Pattern(_TOPIC, LITERAL, topic), *authorizer.covering(_TOPIC, topic))
    allowed: dict[str, list[Acl]] = {}
    for key in keys:
        for acl in mine.on_topics.get(key, ()):
            allowed.setdefault(acl.principal, []).append(acl)
    if len(allowed) > FEW or _EVERYBODY in allowed:
        return ()
    everyone = _EVERYBODY in mine.of_ids
    return [
        Writer(who, () if everyone else _ids(mine.of_ids.get(who, ())), _hosts(some))
        for who, some in sorted(allowed.items())
    ]


class _Writing(NamedTuple):
    """The ACLs that allow writes, by what they are looked up with: a cluster may have 100,000 ACLs."""

    on_topics: Mapping[authorizer.Pattern, Sequence[Acl]]
    of_ids: Mapping[str, Sequence[Acl]]
    """Principal -> its ACLs on transactional ids."""


@remembered
def _writing(acls: Sequence[Acl]) -> _Writing:
    on_topics: dict[authorizer.Pattern, list[Acl]] = {}
    of_ids: dict[str, list[Acl]] = {}
    for each in acls:
        if each.permission != authorizer.ALLOW or each.operation.name not in _WRITES:
            continue
        if each.resource_type == _TOPIC:
            on_topics.setdefault(authorizer.pattern_of(each), []).append(each)
        elif each.resource_type == _TRANSACTIONAL:
            of_ids.setdefault(each.principal, []).append(each)
    return _Writing(on_topics, of_ids)


def _ids(mine: Sequence[Acl]) -> Sequence[str]:
    if any(each.pattern_type != LITERAL or each.resource_name == authorizer.WILDCARD for each in mine):
        return ()
    names = sorted({each.resource_name for each in mine})
    return names if len(names) <= FEW else ()


def _hosts(acls: Iterable[Acl]) -> Sequence[str]:
    hosts = {each.host for each in acls}
    return () if authorizer.WILDCARD in hosts else sorted(hosts)


def told(some: Sequence[Writer], topic: str) -> tuple[tuple[cause.Evidence, ...], tuple[cause.Next, ...]]:
    """Return the evidence about who may write to a silent topic, and the step; both empty without writers.

    Args:
        some: the result of `writers`.
        topic: the name of the topic.
    """
    if not some:
        return (), ()
    names = first_few([each.said() for each in some], FEW)
    fact = cause.Evidence(f"by ACLs only these may write to {topic}, beside super users: {names}", "DescribeAcls")
    ids = [each for each in some if each.ids]
    if not ids:
        return (fact,), ()
    first = ids[0]
    step = cause.Next(
        f"ask whether the producer of {first.principal} has another transactional.id than "
        f"{' or '.join(first.ids)} since then, such as {first.ids[0]}-0: brokers refuse it "
        "(TRANSACTIONAL_ID_AUTHORIZATION_FAILED in its log). If so, give it that right too, or a prefixed ACL"
    )
    return (fact,), (step,)
