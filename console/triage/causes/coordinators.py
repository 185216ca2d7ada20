"""Causes in coordinators' topics: without a leader, or missing and impossible to create."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from console.model.codes import AclResourceType, Permission
from console.model.config import ConfigSet, broker_resource
from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.numbers import long_number, plural
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage import cause, symptoms
from console.triage.folding import FEW
from console.triage.observations import Observations, earliest
from console.triage.restarts import restarting


def _coordinators(observations: Observations) -> Iterator[cause.Claim]:
    """Yield the claims that a single broker's absence does not explain: groups and transactions are stuck, also those
    of other brokers.
    """
    by_topic: dict[str, list[symptoms.Symptom]] = {}
    for symptom in observations.of(symptoms.COORDINATOR_LEADERLESS):
        if symptom.subject.topic is not None:
            by_topic.setdefault(symptom.subject.topic, []).append(symptom)
    yield from _not_made(observations)
    for topic, some in by_topic.items():
        if len(some) <= FEW:
            yield from (_coordinator(observations, [symptom], symptom.subject) for symptom in some)
        else:
            yield _coordinator(observations, some, symptoms.Subject(topic=topic))


class _StateTopic(NamedTuple):
    """A topic that brokers create on first use. factor: the broker's key of its replication factor; title: the clients
    that can't work without it.
    """

    topic: str
    factor: str
    title: str
    is_needed: Callable[[Snapshot], bool]


def _may_begin_transactions(snapshot: Snapshot) -> bool:
    """Return whether an ACL allows a transactional id: no API lists the clients that wait for a coordinator."""
    return any(acl.resource_type == _TRANSACTIONAL_ID and acl.permission == _ALLOW for acl in snapshot.acls)


_TRANSACTIONAL_ID, _ALLOW = AclResourceType.parse("TRANSACTIONAL_ID"), Permission.parse("ALLOW")
_STATE_TOPICS = (
    _StateTopic(OFFSETS, "offsets.topic.replication.factor", "no group can work", lambda _snapshot: True),
    _StateTopic(
        SHARES,
        "share.coordinator.state.topic.replication.factor",
        "no share group can read",
        lambda snapshot: any(group.type == "share" for group in snapshot.groups.values()),
    ),
    _StateTopic(
        TRANSACTIONS,
        "transaction.state.log.replication.factor",
        "no transaction can begin, and ACLs let some",
        _may_begin_transactions,
    ),
)


def _not_made(observations: Observations) -> Iterator[cause.Claim]:
    """Yield missing topics of coordinators that can't be created: brokers create them with the configured replication
    factor, or not at all.
    """
    poll = observations.last
    snapshot = poll.snapshot
    if not {Part.TOPICS, Part.LOG_DIRS, Part.CONFIGS} <= snapshot.read_at.keys():
        return
    alive = {each.id for each in snapshot.cluster.brokers if not each.fenced} - poll.refusing
    for each in _STATE_TOPICS:
        if each.topic in snapshot.topics or not alive or not each.is_needed(snapshot) or _is_held(snapshot, each.topic):
            continue
        values = [_whole(snapshot.configs.get(broker_resource(broker)), each.factor) for broker in sorted(alive)]
        # The first broker that receives a request creates it, by its own value: a hidden value may be low enough.
        factor = min((0 if value is None else value for value in values), default=0)
        # Brokers that restart can take replicas again once they are back.
        if factor <= len(alive.union(restarting(observations))):
            continue
        yield cause.Claim(
            cause="coordinator-unavailable",
            subject=symptoms.Subject(topic=each.topic),
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"{each.topic} can't be made: {each.title}",
            evidence=(
                cause.Evidence(
                    f"{each.factor} is {factor}, and {plural(len(alive), 'broker')} can take replicas",
                    "DescribeConfigs",
                ),
                cause.Evidence("no broker holds a replica of it", "Metadata, DescribeLogDirs"),
            ),
            next=(
                cause.Next(
                    f"start {plural(factor - len(alive), 'more broker')}, or set {each.factor} in the brokers' files"
                ),
            ),
        )


def _is_held(snapshot: Snapshot, topic: str) -> bool:
    """Return whether a broker has, or may have, replicas of a topic: Metadata omits topics that the client may not
    describe, and log directories do not.
    """
    answered = [log_dir for dirs in snapshot.log_dirs.values() for log_dir in dirs if log_dir.failure is None]
    return not answered or any(topic in log_dir.sizes for log_dir in answered)


def _whole(configs: ConfigSet | None, key: str) -> int | None:
    entry = configs.get(key) if configs is not None else None
    return long_number(entry.value) if entry is not None else None


def _coordinator(observations: Observations, some: list[symptoms.Symptom], subject: symptoms.Subject) -> cause.Claim:
    place = f"{subject.topic}/{subject.partition}" if subject.partition is not None else subject.topic
    what = f"{place} has no leader" if len(some) == 1 else f"{len(some)} partitions of {place} have no leader"
    replicas = sorted({broker for symptom in some for broker in symptom.brokers})
    return cause.Claim(
        cause="coordinator-unavailable",
        subject=subject,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title=f"{what}: its groups can't commit",
        since=earliest(map(observations.since, some)),
        evidence=(cause.Evidence(f"{what}; replicas on {', '.join(map(str, replicas))}", "Metadata"),),
        predicted=(
            *cause.predict_each(
                (each.subject for each in some),
                symptoms.COORDINATOR_LEADERLESS,
                symptoms.UNDER_REPLICATED,
                symptoms.UNDER_MIN_ISR,
            ),
            *cause.predict(symptoms.REBALANCING),
        ),
        next=(cause.Next("bring back a replica of it"),),
    )


CAUSES = (
    cause.CauseRule(
        "coordinator-unavailable",
        _coordinators,
        reads="Metadata, DescribeConfigs, DescribeLogDirs",
        takes="certain: a coordinators' topic has no leader, or can't be made",
    ),
)
