"""The entities whose configs a symptom depends on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.model.cluster import partition_in
from console.model.codes import GROUP
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.snapshot import Snapshot
from console.triage.symptoms import Symptom


def configs_of(symptoms: Iterable[Symptom], snapshot: Snapshot) -> tuple[ConfigResource, ...]:
    """Return the entities whose configs may cause symptoms: topics, groups with the topics that they read, the brokers
    that a symptom points to or that have a replica, and the cluster default. Each once, in the order of the symptoms.
    """
    return tuple(dict.fromkeys(each for symptom in symptoms for each in _of(symptom, snapshot)))


def _of(symptom: Symptom, snapshot: Snapshot) -> Iterator[ConfigResource]:
    subject = symptom.subject
    yield CLUSTER_DEFAULT
    if subject.group is not None:
        yield ConfigResource(GROUP, subject.group)
    topics = {subject.topic} if subject.topic is not None else set()
    if subject.topic is None and (lag := snapshot.lags.get(subject.group or "")) is not None:
        topics = {each.topic for each in lag.partitions}
    yield from map(topic_resource, sorted(topics & snapshot.topics.keys()))
    partition = partition_in(
        snapshot.topics.get(subject.topic or ""), subject.partition if subject.partition is not None else -1
    )
    brokers = {*symptom.brokers, *(partition.replicas if partition is not None else ())}
    alive = {each.id for each in snapshot.cluster.brokers if not each.fenced}
    yield from map(broker_resource, sorted(brokers & alive))
