"""Who may write to a silent topic by its ACLs, and to what these tie a producer: no API shows clients that brokers
refuse. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        as_ids = f" as transactional id {' or '.join(self.ids)} and no other" if self.ids else ""
        return f"{self.principal}{as_ids}{f' from {first_few(self.hosts, FEW)} only' if self.hosts else ''}"


def writers(acls: Sequence[Acl], topic: str) -> Sequence[Writer]:
    """Return the principals that may write to a topic by ACLs, sorted by name; empty without ACLs, and if everybody or
    more than `FEW` may.
    """
    mine = _writing(acls)
    on_topic = (each for each in mine if each.resource_type == _TOPIC)
    allowed: dict[str, list[Acl]] = {}
    for acl in on_topic:
        if authorizer.covers(authorizer.pattern_of(acl), _TOPIC, topic):
            allowed.setdefault(acl.principal, []).append(acl)
    if len(allowed) > FEW or _EVERYBODY in allowed:
        return ()
    everyone = any(each.principal == _EVERYBODY for each in mine if each.resource_type == _TRANSACTIONAL)
    return [Writer(who, () if everyone else _ids(mine, who), _hosts(some)) for who, some in sorted(allowed.items())]


@remembered
def _writing(acls: Sequence[Acl]) -> Sequence[Acl]:
    """Return the ACLs that allow writes, to topics or with transactional ids."""
    allowed = (each for each in acls if each.resource_type in (_TOPIC, _TRANSACTIONAL))
    return [each for each in allowed if each.permission == authorizer.ALLOW and each.operation.name in _WRITES]


def _ids(acls: Sequence[Acl], principal: str) -> Sequence[str]:
    mine = [each for each in acls if each.principal == principal and each.resource_type == _TRANSACTIONAL]
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
    fact = cause.Evidence(f"by ACLs at most these may write to {topic}: {names}", "DescribeAcls")
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
