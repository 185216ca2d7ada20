"""What is legal but wrong. Each has a name, by which an operator accepts it before it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from console.model.cluster import Topic
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource
from console.model.numbers import long_number
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.model.update_mode import UpdateMode, update_mode
from console.plan.edits import CreateTopic, SetConfig, SetQuota, Slot
from console.plan.staged import Staged

ISR_ABOVE_REPLICATION = "isr-above-replication"
UNCLEAN_ELECTION = "unclean-election"
RETENTION_ZERO = "retention-zero"
THROTTLES_EVERYONE = "throttles-everyone"
NEEDS_RESTART = "needs-restart"
NAMES = (ISR_ABOVE_REPLICATION, UNCLEAN_ELECTION, RETENTION_ZERO, THROTTLES_EVERYONE, NEEDS_RESTART)

_RETENTION = {
    TOPIC: ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"),
    BROKER: ("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes"),
}
_ISR = "min.insync.replicas"
_UNCLEAN = "unclean.leader.election.enable"


class Risk(NamedTuple):
    """A warning about one edit. name: one of NAMES; text: what will happen, in a line."""

    slot: Slot
    name: str
    text: str


def risks(staged: Iterable[Staged], snapshot: Snapshot) -> tuple[Risk, ...]:
    """The warnings of these edits, in their order."""
    return tuple(risk for each in staged for risk in _risks(each, snapshot))


def unaccepted(found: Iterable[Risk], accepted: Iterable[str]) -> tuple[Risk, ...]:
    """Those whose names were not accepted."""
    names = frozenset(accepted)
    return tuple(risk for risk in found if risk.name not in names)


def _risks(staged: Staged, snapshot: Snapshot) -> Iterator[Risk]:
    match staged.edit:
        case SetConfig(resource=resource, key=key, value=str(value)):
            for name, text in _of_config(resource, key, value, snapshot):
                yield Risk(staged.edit.slot, name, text)
        case CreateTopic(topic):
            replication = len(topic.assignments[0]) if topic.assignments else topic.replication
            for name, text in _of_new_topic(topic.configs, replication):
                yield Risk(staged.edit.slot, name, text)
        case SetQuota(entity=entity, key=key, value=value):
            if _throttles_everyone(entity, key, value, staged):
                yield Risk(staged.edit.slot, THROTTLES_EVERYONE, _everyone(entity))


def _of_config(resource: ConfigResource, key: str, value: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    if resource.type == BROKER and update_mode(resource.type, key) is UpdateMode.RESTART:
        yield NEEDS_RESTART, "brokers read it from their file, when they start; as a dynamic config most refuse it"
    if key == _UNCLEAN and value.lower() == "true":
        yield UNCLEAN_ELECTION, "a replica that is behind may lead, and what it has not got is lost"
    if key in _RETENTION.get(resource.type, ()) and value == "0":
        yield RETENTION_ZERO, "all records that are there are deleted within minutes, but for what is being written"
    if key == _ISR and (wanted := long_number(value)) is not None:
        yield from _isr(resource, wanted, snapshot)


def _isr(resource: ConfigResource, wanted: int, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    if resource.type == TOPIC:
        topic = snapshot.topics.get(resource.name)
        text = _isr_text(wanted, _replication(topic)) if topic is not None else ""
        if text:
            yield ISR_ABOVE_REPLICATION, text
    elif resource.is_cluster_default:
        fewer = sum(bool(_isr_text(wanted, _replication(topic))) for topic in snapshot.topics.values())
        if fewer:
            yield (
                ISR_ABOVE_REPLICATION,
                f"up to {fewer:,} topics have no more replicas than that, where they inherit it",
            )


def _of_new_topic(configs: Mapping[str, object], replication: int) -> Iterator[tuple[str, str]]:
    wanted = long_number(str(configs.get(_ISR, "")))
    if wanted is not None and (text := _isr_text(wanted, replication)):
        yield ISR_ABOVE_REPLICATION, text
    if str(configs.get(_UNCLEAN, "")).lower() == "true":
        yield UNCLEAN_ELECTION, "a replica that is behind may lead, and what it has not got is lost"
    if any(configs.get(key) == "0" for key in _RETENTION[TOPIC]):
        yield RETENTION_ZERO, "all records that are there are deleted within minutes, but for what is being written"


def _replication(topic: Topic) -> int:
    """How many replicas the first partition has, 0 where that is not known."""
    return len(topic.partitions[0].replicas) if topic.partitions else 0


def _isr_text(wanted: int, replication: int) -> str:
    """Why so many in sync are too many; ``""`` where they are not. One of one is what every topic begins with."""
    if wanted > replication == 1:
        return "it has 1 replica; brokers of 2.8 let nobody write with acks=all then, newer ones take it for 1"
    if wanted > replication > 1:
        return (
            f"it has {replication} replicas; nobody can write with acks=all while one of them is down, and with "
            "brokers of 2.8 not at all"
        )
    if wanted == replication > 1:
        return f"it has {replication} replicas; nobody can write with acks=all while one of them is down"
    return ""


def _throttles_everyone(entity: QuotaEntity, key: str, value: float, staged: Staged) -> bool:
    """A limit of a default that is new, or lower than the one before."""
    if any(part.name is not None for part in entity) or key == "controller_mutation_rate":
        return False
    return not isinstance(staged.was, float | int) or value < staged.was


def _everyone(entity: QuotaEntity) -> str:
    kinds = {"user": "user", "client-id": "client", "ip": "address"}
    who = " and ".join(kinds.get(part.type, part.type) for part in entity)
    return f"it holds for every {who} that has no limit of its own"
