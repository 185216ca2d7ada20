"""Topics: reading, creating and deleting them, adding partitions (KIP-4, KIP-195, KIP-599), and waiting for their
leaders.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from kio.schema.errors import ErrorCode
from msgspec import Struct

from console.admin import delivery
from console.admin import link as admin_link
from console.admin.errors import (
    Disconnected,
    RequestTimedOut,
    Unreachable,
    check,
    error_name,
    failure,
    names_no_broker,
)
from console.admin.gc_pause import gc_paused
from console.model import changes
from console.model.cluster import Partition, Topic, TopicListing
from console.model.failure import Failure
from console.model.identity import uuid_text
from console.model.secret import Secret
from console.wire.fields import Fields

IDS_AT_ONCE = 1_000
"""Number of topics in one Metadata request by id; their ids take 17 kB."""

_FIRST_POLL = 0.02
_LONGEST_POLL = 0.5


async def describe_topics(
    link: admin_link.Link,
    names: Sequence[str] | None = None,
    *,
    to: admin_link.Route = admin_link.ANY,
    within: float | None = None,
) -> TopicListing:
    """Return all topics, or the named ones, each with its partitions or its failure. Never creates a topic. Raises
    AdminError.

    Args:
        names: the names of the topics; None for all.
        to: the destination; each broker answers from its own copy of the metadata.
        within: the timeout in seconds; None for the settings' `request_timeout`.
    """
    if names is None:
        return await _listed(link, None, to, within)

    from console.admin.halving import Halving, parted

    async def ask(some: Sequence[str]) -> Mapping[str, Topic | Failure]:
        listing = await _listed(link, some, to, within)
        return {**listing.topics, **listing.failures}

    return TopicListing(*parted(await Halving().read(tuple(dict.fromkeys(names)), ask) if names else {}))


async def _listed(
    link: admin_link.Link, names: Sequence[str] | None, to: admin_link.Route, within: float | None
) -> TopicListing:
    """Return the topics of one Metadata request. The arguments are those of `describe_topics`."""

    named = None if names is None else [{"name": name, "topic_id": None} for name in dict.fromkeys(names)]
    with gc_paused():
        asked = admin_link.metadata(named)
        raw = await link.call_raw("metadata", asked, to=to, timeout=within, prepare=_import_decoder)
        from console.wire.metadata_decoder import decode_topics

        size = len(raw.body)
        topics = await admin_link.aside(size, lambda: decode_topics(raw.version, raw.body, error_name))
        if topics is not None:
            return TopicListing(topics, {})
        response = await admin_link.aside(size, lambda: admin_link.decode(raw))
        check(response)
        if not response.brokers:
            raise names_no_broker("metadata")
        return topic_listing(response)


def _import_decoder(_api: str, _version: int) -> None:
    import console.wire.metadata_decoder  # noqa: F401


async def topics_by_id(link: admin_link.Link, topic_ids: Iterable[UUID]) -> dict[UUID, Topic]:
    """Return topic id -> topic (KIP-516). A topic that was deleted, or can't be described, is missing. Raises
    AdminError.
    """
    found: dict[UUID, Topic] = {}
    ids = sorted(topic_ids, key=lambda each: each.bytes)
    for start in range(0, len(ids), IDS_AT_ONCE):
        some = [{"topic_id": topic_id, "name": None} for topic_id in ids[start : start + IDS_AT_ONCE]]
        response = await link.call("metadata", admin_link.metadata(some))
        listed = topic_listing(response).topics
        names = {each.topic_id: each.name for each in response.topics if each.name}
        found |= {topic_id: listed[name] for topic_id, name in names.items() if name in listed}
    return found


def topic_listing(response: Any) -> TopicListing:
    """Convert a Metadata response of any version to topics; a topic with an error and without partitions becomes a
    failure. Equal partitions and replica lists share one object.
    """
    topics: dict[str, Topic] = {}
    failures: dict[str, Failure] = {}
    shared: dict[Any, Any] = {}
    once = shared.setdefault
    for topic in response.topics:
        if topic.error_code and not topic.partitions:
            id_ = uuid_text(topic.topic_id) if getattr(topic, "topic_id", None) is not None else ""
            failures[topic.name or id_] = failure(topic.error_code)
            continue
        partitions = []
        for p in topic.partitions:
            replicas = once(p.replica_nodes, p.replica_nodes)
            isr = once(p.isr_nodes, p.isr_nodes)
            partition = Partition(
                p.partition_index,
                p.leader_id,
                replicas,
                isr,
                getattr(p, "offline_replicas", ()),
                getattr(p, "leader_epoch", -1),
                error_name(p.error_code) if p.error_code else "",
            )
            partitions.append(once(partition, partition))
        if len(partitions) > 1:
            partitions.sort()
        topic_id = getattr(topic, "topic_id", None)
        all_ = tuple(partitions)
        topics[topic.name] = Topic(
            topic.name, once(all_, all_), topic.is_internal, uuid_text(topic_id) if topic_id else None
        )
    return TopicListing(topics, failures)


class LeaderWait(Struct, frozen=True):
    """The result of waiting for partitions' leaders."""

    ready: frozenset[str]
    """The topics whose partitions all have a leader."""
    missing: Mapping[str, int]
    """Topic -> the number of its partitions without a leader."""


async def wait_for_leaders(
    link: admin_link.Link,
    names: Mapping[str, int | None],
    timeout: float,  # noqa: ASYNC109
    on_progress: delivery.Progress | None = None,
) -> LeaderWait:
    """Wait until each of these topics has all its partitions, and each partition a leader. Return the topics that are
    complete, and for the others the number of partitions without a leader when the time was over. Failed reads are
    repeated.

    Args:
        names: topic -> its expected number of partitions; None if the broker chose it.
        timeout: the maximum seconds in total.
        on_progress: function called at each change, with the number of partitions that have a leader and of all
            partitions; None to call nothing.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    waits = admin_link.delays(_FIRST_POLL, _LONGEST_POLL)
    led: dict[str, tuple[int, int]] = {name: (0, expected or 1) for name, expected in names.items()}
    reported = (-1, -1)
    while True:
        missing = {name: total - done for name, (done, total) in led.items() if done < total}
        try:
            listing = await describe_topics(link, list(missing))
        except (Unreachable, Disconnected, RequestTimedOut):
            pass
        else:
            led |= {name: leaders(topic, names[name]) for name, topic in listing.topics.items() if name in missing}
        progress = sum(done for done, _ in led.values()), sum(total for _, total in led.values())
        if on_progress is not None and progress != reported:
            on_progress(*progress)
            reported = progress
        missing = {name: total - done for name, (done, total) in led.items() if done < total}
        if not missing or loop.time() > deadline:
            return LeaderWait(frozenset(names) - missing.keys(), missing)
        await asyncio.sleep(next(waits))


def leaders(topic: Topic, expected: int | None) -> tuple[int, int]:
    """Return the number of partitions with a leader, and the number of partitions that should have one.

    Args:
        expected: the topic's number of partitions; None if the broker chose it, so that all listed partitions should
            have a leader, and there should be at least one.
    """
    led = sum(1 for partition in topic.partitions if partition.leader >= 0)
    return led, max(expected or 1, len(topic.partitions))


# Creating, deleting and growing topics (CreateTopics, DeleteTopics and CreatePartitions).

_DEFAULT_THROTTLE = 1.0
_GONE = "UNKNOWN_TOPIC_OR_PARTITION"


R = TypeVar("R", bound=changes.CreateTopics | changes.DeleteTopics | changes.CreatePartitions)


class _OfTopics(delivery.Sender[R, changes.TopicTarget]):
    """The base class of changes to topics. Topics that brokers refused because of a controller_mutation_rate quota were
    not applied (KIP-599), so they are sent again within the request's own timeout.
    """

    def __init__(self, link: admin_link.Link, request: R, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self._throttle = 0.0
        self._topic_ids: dict[str, str] = {}

    @property
    def within(self) -> float:
        """The timeout in the request, in seconds."""
        limit_ms: int = self.request.timeout_ms
        return limit_ms / 1000

    async def deliver(self, targets: Sequence[changes.TopicTarget]) -> dict[changes.TopicTarget, changes.Outcome]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.within
        outcomes: dict[changes.TopicTarget, changes.Outcome] = {}
        left = list(targets)
        while left:
            outcomes |= await super().deliver(left)
            left = [target for target in left if _is_throttled(outcomes[target])]
            wait = self._throttle or _DEFAULT_THROTTLE
            if loop.time() + wait > deadline:
                break
            if left:
                await asyncio.sleep(wait)
        return outcomes

    def answers(
        self, response: Any, _targets: Sequence[changes.TopicTarget]
    ) -> dict[changes.TopicTarget, delivery.Answer]:
        self._throttle = response.throttle_time.total_seconds()
        results = next(
            getattr(response, field) for field in ("topics", "results", "responses") if hasattr(response, field)
        )
        for result in results:
            if not result.error_code and (topic_id := getattr(result, "topic_id", None)):  # in answers since KIP-516
                self._topic_ids[result.name] = uuid_text(topic_id)
        return {
            changes.TopicTarget(result.name): (result.error_code, getattr(result, "error_message", None))
            for result in results
        }

    async def with_leaders(
        self, outcomes: dict[changes.TopicTarget, changes.Outcome], counts: Mapping[str, int | None]
    ) -> dict[changes.TopicTarget, changes.Outcome]:
        """Wait until all partitions of the applied topics have a leader. Return the outcomes; an applied one has a
        failure if partitions still have no leader when the time is over.

        Args:
            counts: topic -> its expected number of partitions; None if the broker chose it.
        """
        applied = _names(target for target, outcome in outcomes.items() if outcome.status is changes.Status.APPLIED)
        if self.validate_only or not applied:
            return outcomes
        wanted = {name: counts[name] for name in applied}
        waited = await wait_for_leaders(self.link, wanted, self.within, self.on_progress)
        late = {changes.TopicTarget(name): _leaderless(missing) for name, missing in waited.missing.items()}
        return outcomes | {
            target: changes.Outcome(target, changes.Status.APPLIED, failure) for target, failure in late.items()
        }


class _Creation(_OfTopics[changes.CreateTopics]):
    has_check = True

    def __init__(self, link: admin_link.Link, request: changes.CreateTopics, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self._topics = {topic.name: topic for topic in request.topics}
        values = (value for topic in request.topics for value in topic.configs.values())
        self.secrets = [value for value in values if isinstance(value, Secret)]

    def targets(self) -> Iterable[changes.TopicTarget]:
        return map(changes.TopicTarget, self._topics)

    async def refused(self) -> dict[changes.TopicTarget, changes.Outcome]:
        return delivery.refuse_duplicates([changes.TopicTarget(topic.name) for topic in self.request.topics])

    async def deliver(self, targets: Sequence[changes.TopicTarget]) -> dict[changes.TopicTarget, changes.Outcome]:
        wanted = {name: _wanted_partitions(topic) for name, topic in self._topics.items()}
        outcomes = await self.with_leaders(await super().deliver(targets), wanted)
        if self.validate_only:
            return outcomes
        return {
            target: replace(each, topic_id=self._topic_ids.get(target.name))
            if each.status is changes.Status.APPLIED
            else each
            for target, each in outcomes.items()
        }

    def fields(self, targets: Sequence[changes.TopicTarget]) -> Fields:
        return {
            "topics": [_creatable(self._topics[name]) for name in _names(targets)],
            "timeout": timedelta(milliseconds=self.request.timeout_ms),
            "validate_only": self.validate_only,
        }

    async def describe_again(self, targets: Sequence[changes.TopicTarget]) -> dict[changes.TopicTarget, changes.Status]:
        listing = await describe_topics(self.link, _names(targets))
        for name, topic in listing.topics.items():
            if topic.topic_id is not None:
                self._topic_ids.setdefault(name, topic.topic_id)
        return {target: created(self._topics[target.name], listing) for target in targets}


class _Deletion(_OfTopics[changes.DeleteTopics]):
    def targets(self) -> Iterable[changes.TopicTarget]:
        return map(changes.TopicTarget, self.request.names)

    async def refused(self) -> dict[changes.TopicTarget, changes.Outcome]:
        return delivery.refuse_duplicates(self.targets())

    def fields(self, targets: Sequence[changes.TopicTarget]) -> Fields:
        return {
            "topics": [{"name": name, "topic_id": None} for name in _names(targets)],
            "topic_names": tuple(_names(targets)),  # replaces `topics` in older versions
            "timeout": timedelta(milliseconds=self.request.timeout_ms),
        }

    async def describe_again(self, targets: Sequence[changes.TopicTarget]) -> dict[changes.TopicTarget, changes.Status]:
        listing = await describe_topics(self.link, _names(targets))
        return {target: deleted(target.name, listing) for target in targets}


class _Growth(_OfTopics[changes.CreatePartitions]):
    has_check = True

    def targets(self) -> Iterable[changes.TopicTarget]:
        return map(changes.TopicTarget, self.request.counts)

    async def deliver(self, targets: Sequence[changes.TopicTarget]) -> dict[changes.TopicTarget, changes.Outcome]:
        return await self.with_leaders(await super().deliver(targets), self.request.counts)

    def fields(self, targets: Sequence[changes.TopicTarget]) -> Fields:
        counts = self.request.counts
        return {
            "topics": [{"name": name, "count": counts[name], "assignments": None} for name in _names(targets)],
            "timeout": timedelta(milliseconds=self.request.timeout_ms),
            "validate_only": self.validate_only,
        }

    async def describe_again(self, targets: Sequence[changes.TopicTarget]) -> dict[changes.TopicTarget, changes.Status]:
        topics = (await describe_topics(self.link, _names(targets))).topics
        return {target: grown(self.request.counts[target.name], topics.get(target.name)) for target in targets}


SENDERS: delivery.Senders = {
    changes.CreateTopics: _Creation,
    changes.DeleteTopics: _Deletion,
    changes.CreatePartitions: _Growth,
}


def _names(targets: Iterable[changes.TopicTarget]) -> list[str]:
    return [target.name for target in targets]


def created(wanted: changes.NewTopic, listing: TopicListing) -> changes.Status:
    """Return APPLIED if the topic exists as requested. Return NOT_APPLIED if it does not exist, or if it has other
    numbers of partitions or replicas, which means that it existed before the request. Return UNKNOWN if it could
    not be described.
    """
    topic = listing.topics.get(wanted.name)
    if topic is None:
        return changes.Status.NOT_APPLIED if _is_gone(wanted.name, listing) else changes.Status.UNKNOWN
    partitions = _wanted_partitions(wanted)
    if partitions is not None and len(topic.partitions) != partitions:
        return changes.Status.NOT_APPLIED
    if wanted.replication > 0 and topic.replication != wanted.replication:
        return changes.Status.NOT_APPLIED
    return changes.Status.APPLIED


def deleted(name: str, listing: TopicListing) -> changes.Status:
    """Return APPLIED if the topic does not exist, NOT_APPLIED if it exists, UNKNOWN if it could not be described."""
    if name in listing.topics:
        return changes.Status.NOT_APPLIED
    return changes.Status.APPLIED if _is_gone(name, listing) else changes.Status.UNKNOWN


def grown(count: int, topic: Topic | None) -> changes.Status:
    """Return APPLIED if the topic has exactly the new number of partitions, NOT_APPLIED if it has fewer. Return UNKNOWN
    if it has more, since another client has added partitions, or if it could not be described (None).
    """
    if topic is None or len(topic.partitions) > count:
        return changes.Status.UNKNOWN
    return delivery.applied_if(len(topic.partitions) == count)


def _is_gone(name: str, listing: TopicListing) -> bool:
    failure = listing.failures.get(name)
    return failure is not None and failure.name == _GONE


def _wanted_partitions(topic: changes.NewTopic) -> int | None:
    """Return the number of partitions that a new topic shall have; None if the broker chooses it."""
    return len(topic.assignments) or (topic.partitions if topic.partitions > 0 else None)


def _creatable(topic: changes.NewTopic) -> Fields:
    return {
        "name": topic.name,
        "num_partitions": -1 if topic.assignments else topic.partitions,
        "replication_factor": -1 if topic.assignments else topic.replication,
        "assignments": [
            {"partition_index": number, "broker_ids": brokers} for number, brokers in enumerate(topic.assignments)
        ],
        "configs": [
            {"name": key, "value": value.reveal() if isinstance(value, Secret) else value}
            for key, value in topic.configs.items()
        ],
    }


def _is_throttled(outcome: changes.Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.name == error_name(ErrorCode.throttling_quota_exceeded)


def _leaderless(missing: int) -> Failure:
    return Failure(
        "LEADER_NOT_AVAILABLE",
        f"done, but {missing} of its partitions {'has' if missing == 1 else 'have'} no leader yet",
        "Look at the topic's partitions; if it lasts, look for brokers that are down.",
    )
