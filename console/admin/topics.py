"""Topics: described, created, deleted and grown (KIP-4, KIP-195, KIP-599), and the wait for their leaders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode
from msgspec import Struct

from console.admin.delivery import Answer, DescribeAgain, deliver, refuse_duplicates
from console.admin.errors import (
    BrokerError,
    Disconnected,
    RequestTimedOut,
    Unreachable,
    error_name,
    failure,
    names_no_broker,
)
from console.admin.gc_pause import gc_paused
from console.admin.link import ANY, CONTROLLER, Link, Route, aside, decode, delays
from console.model.changes import CreatePartitions, CreateTopics, DeleteTopics, NewTopic, Outcome, Status, TopicTarget
from console.model.cluster import Partition, Topic, TopicListing
from console.model.failure import Failure
from console.model.identity import uuid_text
from console.model.secret import Secret

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

IDS_AT_ONCE = 1_000
"""Topics of one Metadata request that names them by id; so many ids take 17 kB."""

_FIRST_POLL = 0.02
_LONGEST_POLL = 0.5


async def describe_topics(
    link: Link, names: Sequence[str] | None = None, *, to: Route = ANY, within: float | None = None
) -> TopicListing:
    """Return all topics, or those named, each with its partitions or its failure. Never creates a topic.

    to: who is asked: brokers answer with what they know. within: seconds. Raises AdminError.
    """
    if names is None:
        return await _listed(link, None, to, within)

    from console.admin.halving import Halving

    async def ask(some: Sequence[str]) -> Mapping[str, Topic | Failure]:
        listing = await _listed(link, some, to, within)
        return {**listing.topics, **listing.failures}

    found = await Halving().read(tuple(dict.fromkeys(names)), ask) if names else {}
    return TopicListing(
        {name: each for name, each in found.items() if isinstance(each, Topic)},
        {name: each for name, each in found.items() if isinstance(each, Failure)},
    )


async def _listed(link: Link, names: Sequence[str] | None, to: Route, within: float | None) -> TopicListing:
    """Read one answer."""

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        def named(name: str) -> Any:
            return for_version(kio.MetadataRequestTopic, name=name, topic_id=None)

        return for_version(
            kio.MetadataRequest,
            topics=None if names is None else tuple(map(named, dict.fromkeys(names))),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )

    with gc_paused():
        raw = await link.call_raw("metadata", build, to=to, timeout=within, prepare=_import_decoder)
        from console.wire.metadata_decoder import decode_topics

        size = len(raw.body)
        topics = await aside(size, lambda: decode_topics(raw.version, raw.body, error_name))
        if topics is not None:
            return TopicListing(topics, {})
        response = await aside(size, lambda: decode(raw))
        code = getattr(response, "error_code", 0)
        if code:
            raise BrokerError(failure(code))
        if not response.brokers:
            raise names_no_broker("metadata")
        return topic_listing(response)


def _import_decoder(_api: str, _version: int) -> None:
    import console.wire.metadata_decoder  # noqa: F401


async def topics_by_id(link: Link, topic_ids: Iterable[UUID]) -> dict[UUID, Topic]:
    """Return topic id -> topic (KIP-516). A deleted one is missing. Raises AdminError."""
    found: dict[UUID, Topic] = {}
    ids = sorted(topic_ids, key=lambda each: each.bytes)
    for start in range(0, len(ids), IDS_AT_ONCE):

        def build(kio: ModuleType, some: Sequence[UUID] = ids[start : start + IDS_AT_ONCE]) -> Any:
            from console.wire.schemas import for_version

            return for_version(
                kio.MetadataRequest,
                topics=tuple(kio.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in some),
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False,
                include_topic_authorized_operations=False,
            )

        response = await link.call("metadata", build)
        listed = topic_listing(response).topics
        names = {each.topic_id: each.name for each in response.topics if each.name}
        found |= {topic_id: listed[name] for topic_id, name in names.items() if name in listed}
    return found


def topic_listing(response: Any) -> TopicListing:
    """Return the topics of a Metadata response, any version. Equal partitions and replica lists are one object."""
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
    """The result of a wait for leaders. missing: topic -> the number of its partitions without a leader."""

    ready: frozenset[str]
    missing: Mapping[str, int]


async def wait_for_leaders(
    link: Link,
    names: Mapping[str, int | None],
    timeout: float,  # noqa: ASYNC109
    on_progress: Progress | None = None,
) -> LeaderWait:
    """Wait until each of these topics has all its partitions, each with a leader.

    names: topic -> its number of partitions, None if the broker chose it. timeout: seconds for all.
    on_progress: called with (partitions with a leader, all partitions) whenever that changes.
    A failed read is retried until the time is up.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    waits = delays(_FIRST_POLL, _LONGEST_POLL)
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
    """Return the number of partitions with a leader, and the number of partitions to wait for."""
    led = sum(1 for partition in topic.partitions if partition.leader >= 0)
    return led, max(expected or 1, len(topic.partitions))


# CreateTopics, DeleteTopics and CreatePartitions.

ANSWER_SECONDS = 5.0
"""Seconds that an answer may take beyond the broker's own limit."""

_BY_STATE_FROM = 6
_DEFAULT_THROTTLE = 1.0
_GONE = "UNKNOWN_TOPIC_OR_PARTITION"


async def create_topics(
    link: Link, request: CreateTopics, *, validate_only: bool, on_progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Return one outcome for each topic, once all of its partitions have a leader. Raises AdminError if nothing was
    sent.

    APPLIED with a failure: some leaders were still missing when the request's time was up.
    """
    topics = {topic.name: topic for topic in request.topics}

    def build(kio: ModuleType, names: Sequence[str]) -> Any:
        return kio.CreateTopicsRequest(
            topics=tuple(_creatable(kio, topics[name]) for name in names),
            timeout=timedelta(milliseconds=request.timeout_ms),
            validate_only=validate_only,
        )

    seen: dict[str, str | None] = {}

    async def describe_again(targets: Sequence[TopicTarget]) -> Mapping[TopicTarget, Status]:
        listing = await describe_topics(link, _names(targets))
        seen.update((name, topic.topic_id) for name, topic in listing.topics.items())
        return {target: created(topics[target.name], listing) for target in targets}

    secrets = [value for topic in request.topics for value in topic.configs.values() if isinstance(value, Secret)]
    call = _ThrottledCall(link, "create_topics", build, request.timeout_ms, validate_only, secrets)
    outcomes = refuse_duplicates([TopicTarget(topic.name) for topic in request.topics])
    left = [target for target in map(TopicTarget, topics) if target not in outcomes]
    outcomes |= await call.deliver(left, describe_again)
    if not validate_only:
        wanted = {name: _wanted_partitions(topic) for name, topic in topics.items()}
        outcomes |= await _with_leaders(link, outcomes, wanted, request.timeout_ms, on_progress)
        made = {**seen, **call.topic_ids}
        outcomes |= {
            target: replace(outcome, topic_id=made.get(target.name))
            for target, outcome in outcomes.items()
            if outcome.status is Status.APPLIED
        }
    return tuple(outcomes[target] for target in map(TopicTarget, topics))


async def delete_topics(link: Link, request: DeleteTopics, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each topic; a check is UNCHECKED. Raises AdminError if nothing was sent."""
    targets = [TopicTarget(name) for name in request.names]
    outcomes = refuse_duplicates(targets)
    sound = [target for target in targets if target not in outcomes]
    if validate_only:
        outcomes |= {target: Outcome(target, Status.UNCHECKED) for target in sound}
        return tuple(outcomes[target] for target in dict.fromkeys(targets))

    def build(kio: ModuleType, names: Sequence[str]) -> Any:
        timeout = timedelta(milliseconds=request.timeout_ms)
        if kio.DeleteTopicsRequest.__version__ >= _BY_STATE_FROM:
            states = tuple(kio.DeleteTopicState(name=name, topic_id=None) for name in names)
            return kio.DeleteTopicsRequest(topics=states, timeout=timeout)
        return kio.DeleteTopicsRequest(topic_names=tuple(names), timeout=timeout)

    async def describe_again(targets: Sequence[TopicTarget]) -> Mapping[TopicTarget, Status]:
        listing = await describe_topics(link, _names(targets))
        return {target: deleted(target.name, listing) for target in targets}

    outcomes |= await _ThrottledCall(link, "delete_topics", build, request.timeout_ms, validate_only).deliver(
        sound, describe_again
    )
    return tuple(outcomes[target] for target in dict.fromkeys(targets))


async def create_partitions(
    link: Link, request: CreatePartitions, *, validate_only: bool, on_progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Return one outcome for each topic, once all of its partitions have a leader. Raises AdminError if nothing was
    sent.

    APPLIED with a failure: some leaders were still missing when the request's time was up.
    """

    def build(kio: ModuleType, names: Sequence[str]) -> Any:
        return kio.CreatePartitionsRequest(
            topics=tuple(
                kio.CreatePartitionsTopic(name=name, count=request.counts[name], assignments=None) for name in names
            ),
            timeout=timedelta(milliseconds=request.timeout_ms),
            validate_only=validate_only,
        )

    async def describe_again(targets: Sequence[TopicTarget]) -> Mapping[TopicTarget, Status]:
        listing = await describe_topics(link, _names(targets))
        return {target: grown(request.counts[target.name], listing.topics.get(target.name)) for target in targets}

    call = _ThrottledCall(link, "create_partitions", build, request.timeout_ms, validate_only)
    targets = [TopicTarget(name) for name in request.counts]
    outcomes = await call.deliver(targets, describe_again)
    if not validate_only:
        outcomes |= await _with_leaders(link, outcomes, request.counts, request.timeout_ms, on_progress)
    return tuple(outcomes[target] for target in targets)


def _names(targets: Iterable[TopicTarget]) -> list[str]:
    return [target.name for target in targets]


def created(wanted: NewTopic, listing: TopicListing) -> Status:
    """Return whether the topic exists as requested. One with other partitions or replicas existed before."""
    topic = listing.topics.get(wanted.name)
    if topic is None:
        return Status.NOT_APPLIED if _is_gone(wanted.name, listing) else Status.UNKNOWN
    partitions = _wanted_partitions(wanted)
    if partitions is not None and len(topic.partitions) != partitions:
        return Status.NOT_APPLIED
    if wanted.replication > 0 and topic.replication != wanted.replication:
        return Status.NOT_APPLIED
    return Status.APPLIED


def deleted(name: str, listing: TopicListing) -> Status:
    """Return whether the topic is gone."""
    if name in listing.topics:
        return Status.NOT_APPLIED
    return Status.APPLIED if _is_gone(name, listing) else Status.UNKNOWN


def grown(count: int, topic: Topic | None) -> Status:
    """Return whether the topic has the new count. More partitions: another client has grown it since, so UNKNOWN."""
    if topic is None or len(topic.partitions) > count:
        return Status.UNKNOWN
    return Status.APPLIED if len(topic.partitions) == count else Status.NOT_APPLIED


def _is_gone(name: str, listing: TopicListing) -> bool:
    failure = listing.failures.get(name)
    return failure is not None and failure.name == _GONE


def _wanted_partitions(topic: NewTopic) -> int | None:
    """Return the number of partitions of a new topic, None if the broker chooses it."""
    return len(topic.assignments) or (topic.partitions if topic.partitions > 0 else None)


def _creatable(kio: ModuleType, topic: NewTopic) -> Any:
    return kio.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if topic.assignments else topic.partitions,
        replication_factor=-1 if topic.assignments else topic.replication,
        assignments=tuple(
            kio.CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
            for number, brokers in enumerate(topic.assignments)
        ),
        configs=tuple(
            kio.CreatableTopicConfig(name=key, value=value.reveal() if isinstance(value, Secret) else value)
            for key, value in topic.configs.items()
        ),
    )


class _ThrottledCall:
    """One of the three calls. Topics refused by a controller_mutation_rate quota were not applied (KIP-599): they are
    sent again within the request's own time. topic_ids: of the answers (KIP-516)."""

    def __init__(
        self,
        link: Link,
        api: str,
        build: Callable[[ModuleType, Sequence[str]], Any],
        timeout_ms: int,
        check: bool,
        secrets: Sequence[Secret] = (),
    ) -> None:
        self._link = link
        self._api = api
        self._build = build
        self._seconds = timeout_ms / 1000
        self._check = check
        self._secrets = secrets
        self._throttle = 0.0
        self.topic_ids: dict[str, str] = {}

    async def deliver(
        self, targets: Sequence[TopicTarget], describe_again: DescribeAgain[TopicTarget]
    ) -> dict[TopicTarget, Outcome]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        outcomes: dict[TopicTarget, Outcome] = {}
        left = list(targets)
        while left:
            outcomes |= await deliver(
                self._link.settings, left, self._send, describe_again, validate_only=self._check, secrets=self._secrets
            )
            left = [target for target in left if _is_throttled(outcomes[target])]
            wait = self._throttle or _DEFAULT_THROTTLE
            if loop.time() + wait > deadline:
                break
            if left:
                await asyncio.sleep(wait)
        return outcomes

    async def _send(self, targets: Sequence[TopicTarget]) -> Mapping[TopicTarget, Answer]:
        response = await self._link.call(
            self._api,
            lambda kio: self._build(kio, _names(targets)),
            to=CONTROLLER,
            timeout=max(self._link.settings.request_timeout, self._seconds + ANSWER_SECONDS),
            change=not self._check,
        )
        self._throttle = response.throttle_time.total_seconds()
        results = next(
            getattr(response, field) for field in ("topics", "results", "responses") if hasattr(response, field)
        )
        for result in results:
            if not result.error_code and (topic_id := getattr(result, "topic_id", None)):
                self.topic_ids[result.name] = uuid_text(topic_id)
        return {
            TopicTarget(result.name): (result.error_code, getattr(result, "error_message", None)) for result in results
        }


def _is_throttled(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.name == error_name(ErrorCode.throttling_quota_exceeded)


async def _with_leaders(
    link: Link,
    outcomes: Mapping[TopicTarget, Outcome],
    counts: Mapping[str, int | None],
    timeout_ms: int,
    on_progress: Progress | None,
) -> dict[TopicTarget, Outcome]:
    """Return the applied outcomes, with a failure if partitions have no leader when the time is up."""
    done = _names(target for target, outcome in outcomes.items() if outcome.status is Status.APPLIED)
    applied = {name: counts[name] for name in done}
    if not applied:
        return {}
    waited = await wait_for_leaders(link, applied, timeout_ms / 1000, on_progress)
    late = {TopicTarget(name): _leaderless(missing) for name, missing in waited.missing.items()}
    return {target: Outcome(target, Status.APPLIED, failure) for target, failure in late.items()}


def _leaderless(missing: int) -> Failure:
    return Failure(
        "LEADER_NOT_AVAILABLE",
        f"done, but {missing} of its partitions {'has' if missing == 1 else 'have'} no leader yet",
        "Look at the topic's partitions; if it lasts, look for brokers that are down.",
    )
