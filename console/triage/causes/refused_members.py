"""Reasons for which brokers refuse clients that want to join a group: limits of sessions, and a protocol that the other
members do not have. No API names clients that were refused, so each reason is only possible. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from console.model.cluster import Group
from console.model.codes import DEFAULT_CONFIG
from console.model.config import broker_resource
from console.model.snapshot import Snapshot
from console.plan.limit_risks import LEAST_SESSION, LONGEST_SESSION, contradictions
from console.triage import cause
from console.triage.group_beginnings import CLASSIC

POLICY = "group.consumer.migration.policy"
CONSUMER = "consumer"
_ALLOWED = {CLASSIC: ("bidirectional", "upgrade"), CONSUMER: ("bidirectional", "downgrade")}
"""Type of a group -> the values of `POLICY` with which a client with the other protocol may join its members."""
_OTHER = {CLASSIC: CONSUMER, CONSUMER: CLASSIC}

ADMIT = cause.Next(
    "if its consumers ask for a session.timeout.ms that the brokers refuse (INVALID_SESSION_TIMEOUT in their logs), "
    "give them one within the limits"
)


def with_refusals(claim: cause.Claim, group: Group, snapshot: Snapshot) -> cause.Claim:
    """Return a claim about a group that lost members, with the reasons for which brokers may refuse them: the steps
    against these come first.
    """
    limits = limits_of_sessions(snapshot) if group.type == CLASSIC else ()
    other = _of_other_protocol(group, snapshot)
    if not limits and other is None:
        return claim
    steps = cause.given(other[1] if other is not None else None, ADMIT if limits else None)
    facts = cause.given(other[0] if other is not None else None, *limits)
    return replace(claim, evidence=(*claim.evidence, *facts), next=(*steps, *claim.next))


def limits_of_sessions(snapshot: Snapshot) -> tuple[cause.Evidence, ...]:
    """Return, as evidence, the limits of brokers that keep usual consumers from joining a classic group."""
    return tuple(cause.Evidence(each, "DescribeConfigs") for each in dict.fromkeys(_limits(snapshot)))


def _limits(snapshot: Snapshot) -> Iterator[str]:
    for broker in snapshot.cluster.brokers:
        configs = snapshot.configs.get(broker_resource(broker.id))
        if configs is not None:
            yield from (each.text for each in contradictions(configs, (LEAST_SESSION, LONGEST_SESSION)))


def _of_other_protocol(group: Group, snapshot: Snapshot) -> tuple[cause.Evidence, cause.Next] | None:
    """Return the evidence that a client with the other group.protocol can't join the members of a group, and the step;
    None if it can, if the group has no members, or if no operator set the policy.
    """
    configs = snapshot.configs.get(broker_resource(group.coordinator))
    entry = configs.get(POLICY) if configs is not None else None
    if group.type not in _ALLOWED or not group.members or entry is None or entry.source == DEFAULT_CONFIG:
        return None
    policy, other = (entry.value or "").lower(), _OTHER[group.type]
    if policy in _ALLOWED[group.type]:
        return None
    fact = cause.Evidence(
        f"{POLICY} is {policy}: a client with group.protocol={other} can't join while the group has {group.type} "
        "members",
        "DescribeConfigs, ListGroups",
    )
    step = cause.Next(
        f"look at group.protocol of the clients that left: if it is {other} now (GROUP_ID_NOT_FOUND or "
        f"INCONSISTENT_GROUP_PROTOCOL in their logs), set it back to {group.type}, or stop all members first, as an "
        "empty group takes either protocol; or set the policy to bidirectional in the brokers' files and restart them"
    )
    return fact, step
