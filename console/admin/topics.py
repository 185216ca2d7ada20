"""Topics and their partitions, what is being moved, and waiting until every partition has a leader."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from uuid import UUID

from console.admin.bulk import collector_off
from console.admin.error_codes import error_name, failure
from console.admin.errors import BrokerError, Disconnected, RequestTimedOut, Unreachable
from console.admin.link import Link
from console.admin.retry import delays
from console.admin.routing import CONTROLLER
from console.model.cluster import Partition, Reassignment, Topic, TopicListing
from console.model.failure import Failure

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_FIRST_LOOK = 0.02
_LONGEST_LOOK = 0.5


async def describe_topics(link: Link, names: Sequence[str] | None = None) -> TopicListing:
    """All topics, or those named, each with its partitions or why it could not be read. Never creates one.

    Raises AdminError.
    """

    def ask(kio: ModuleType) -> Any:
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

    if names is not None and not names:
        return TopicListing({})
    with collector_off():
        response = await link.call("metadata", ask)
        code = getattr(response, "error_code", 0)
        if code:
            raise BrokerError(failure(code))
        return topic_listing(response)


def topic_listing(response: Any) -> TopicListing:
    """From a Metadata response of any version. Equal partitions and replica lists are one object."""
    topics: dict[str, Topic] = {}
    failures: dict[str, Failure] = {}
    shared: dict[Any, Any] = {}
    once = shared.setdefault
    for topic in response.topics:
        if topic.error_code and not topic.partitions:
            failures[topic.name or topic_id_text(topic.topic_id)] = failure(topic.error_code)
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
            topic.name, once(all_, all_), topic.is_internal, topic_id_text(topic_id) if topic_id else None
        )
    return TopicListing(topics, failures)


def topic_id_text(topic_id: UUID) -> str:
    """A topic id as Kafka's own tools write it (org.apache.kafka.common.Uuid): 22 characters of URL-safe base 64."""
    return urlsafe_b64encode(topic_id.bytes)[:22].decode()


async def list_reassignments(link: Link) -> tuple[Reassignment, ...]:
    """The partitions that are being moved (KIP-455). Raises AdminError, Unsupported before Kafka 2.4."""
    await link.require("list_partition_reassignments", 0, "2.4", CONTROLLER)

    def ask(kio: ModuleType) -> Any:
        return kio.ListPartitionReassignmentsRequest(topics=None)

    response = await link.call("list_partition_reassignments", ask, to=CONTROLLER)
    if response.error_code:
        raise BrokerError(failure(response.error_code, response.error_message))
    return reassignments(response)


def reassignments(response: Any) -> tuple[Reassignment, ...]:
    """From a ListPartitionReassignments response, sorted by topic and partition."""
    found = (
        Reassignment(topic.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in response.topics
        for p in topic.partitions
    )
    return tuple(sorted(found, key=lambda move: (move.topic, move.partition)))


@dataclass(frozen=True, slots=True)
class LeaderWait:
    """How a wait for leaders ended. missing: topic -> how many of its partitions have no leader yet."""

    ready: frozenset[str]
    missing: Mapping[str, int]


async def wait_for_leaders(
    link: Link,
    names: Mapping[str, int | None],
    timeout: float,  # noqa: ASYNC109
    on_progress: Progress | None = None,
) -> LeaderWait:
    """Waits until each of these topics has all its partitions, each with a leader.

    names: topic -> how many partitions it has to have, None where the broker chose. timeout: seconds for all.
    on_progress: called with (partitions that have a leader, partitions in all) whenever that changes.
    A read that fails in between is tried again until the time is up.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    waits = delays(_FIRST_LOOK, _LONGEST_LOOK)
    led: dict[str, tuple[int, int]] = {name: (0, expected or 1) for name, expected in names.items()}
    told = (-1, -1)
    while True:
        missing = {name: total - done for name, (done, total) in led.items() if done < total}
        try:
            listing = await describe_topics(link, list(missing))
        except (Unreachable, Disconnected, RequestTimedOut):
            pass
        else:
            led |= {name: leaders(topic, names[name]) for name, topic in listing.topics.items() if name in missing}
        progress = sum(done for done, _ in led.values()), sum(total for _, total in led.values())
        if on_progress is not None and progress != told:
            on_progress(*progress)
            told = progress
        missing = {name: total - done for name, (done, total) in led.items() if done < total}
        if not missing or loop.time() > deadline:
            return LeaderWait(frozenset(names) - missing.keys(), missing)
        await asyncio.sleep(next(waits))


def leaders(topic: Topic, expected: int | None) -> tuple[int, int]:
    """How many partitions have a leader, and how many there have to be."""
    led = sum(1 for partition in topic.partitions if partition.leader >= 0)
    return led, max(expected or 1, len(topic.partitions))
