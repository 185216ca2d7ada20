"""Reasons for which brokers refuse clients that want to join a group: limits of sessions, and a protocol that the other
members do not have. No API names clients that were refused, so each reason is only possible. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from console.model.cluster import Broker, Group
from console.model.codes import DEFAULT_CONFIG
from console.model.config import ConfigResource, ConfigSet, broker_resource
from console.model.snapshot import Snapshot
from console.plan.limit_risks import LEAST_SESSION, LONGEST_SESSION, contradictions
from console.triage import cause
from console.triage.group_beginnings import CLASSIC
from console.triage.remembered import remembered

POLICY = "group.consumer.migration.policy"
_ALLOWED = ("bidirectional", "upgrade")
"""The values of `POLICY` with which a client with group.protocol=consumer may join the members of a classic group.
Brokers admit classic clients to a consumer group with every value: for these, it only decides whether the group becomes
a classic one later.
"""

ADMIT = cause.Next(
    "if its consumers ask for a session.timeout.ms that the brokers refuse (INVALID_SESSION_TIMEOUT in their logs), "
    "give them one within the limits"
)


def with_refusals(claim: cause.Claim, group: Group, snapshot: Snapshot) -> cause.Claim:
    """Return a claim about a group that lost members, with the reasons for which brokers may refuse them. The step
    against a policy comes first; the one against limits last, as these may have stood since the members joined.
    """
    limits = limits_of_sessions(snapshot) if group.type == CLASSIC else ()
    other = _of_other_protocol(group, snapshot)
    if not limits and other is None:
        return claim
    facts = cause.given(other[0] if other is not None else None, *limits)
    steps = cause.given(other[1] if other is not None else None, *claim.next, ADMIT if limits else None)
    return replace(claim, evidence=(*claim.evidence, *facts), next=steps)


def limits_of_sessions(snapshot: Snapshot) -> Sequence[cause.Evidence]:
    """Return, as evidence, the limits of brokers that keep usual consumers from joining a classic group."""
    return _limits(snapshot.cluster.brokers, snapshot.configs)


@remembered
def _limits(brokers: Sequence[Broker], configs: Mapping[ConfigResource, ConfigSet]) -> Sequence[cause.Evidence]:
    known = (configs.get(broker_resource(each.id)) for each in brokers)
    keys = LEAST_SESSION, LONGEST_SESSION
    texts = (each.text for mine in known if mine is not None for each in contradictions(mine, keys))
    return tuple(cause.Evidence(each, "DescribeConfigs") for each in dict.fromkeys(texts))


def _of_other_protocol(group: Group, snapshot: Snapshot) -> tuple[cause.Evidence, cause.Next] | None:
    """Return the evidence that a client with group.protocol=consumer can't join the members of a classic group, and the
    step; None if it can, if the group has no members, or if no operator set the policy.
    """
    configs = snapshot.configs.get(broker_resource(group.coordinator))
    entry = configs.get(POLICY) if configs is not None else None
    if group.type != CLASSIC or not group.members or entry is None or entry.source == DEFAULT_CONFIG:
        return None
    policy = (entry.value or "").lower()
    if policy in _ALLOWED:
        return None
    fact = cause.Evidence(
        f"{POLICY} is {policy}: a client with group.protocol=consumer can't join while the group has classic members",
        "DescribeConfigs, ListGroups",
    )
    step = cause.Next(
        "look at group.protocol of the clients that left: if it is consumer now (GROUP_ID_NOT_FOUND in their logs), "
        "set it back to classic, or stop all members first, as an empty group takes either protocol; or set the policy "
        "to bidirectional in the brokers' files and restart them"
    )
    return fact, step
