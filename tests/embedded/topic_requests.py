"""Requests about topics, short to write; results as plain tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

from console.wire.fields import for_version
from tests.embedded.raw_client import RawClient

Assignments = Sequence[tuple[int, Sequence[int]]]
Error = tuple[int, str | None]

WAIT = 5000
"""Milliseconds."""


def topic(
    name: str,
    partitions: int = -1,
    replication: int = -1,
    assignments: Assignments = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> Any:
    """A topic of CreateTopics."""
    return lambda kio: kio.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication,
        assignments=tuple(
            kio.CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(brokers))
            for number, brokers in assignments
        ),
        configs=tuple(kio.CreatableTopicConfig(name=key, value=value) for key, value in configs),
    )


async def create(
    client: RawClient, *topics: Any, version: int = 7, dry: bool = False, wait: int = WAIT, errors: bool = True
) -> Any:
    """Errors in the answer's order, or the whole answer."""

    def build(kio: ModuleType) -> Any:
        return kio.CreateTopicsRequest(
            topics=tuple(make(kio) for make in topics), timeout=timedelta(milliseconds=wait), validate_only=dry
        )

    answer = await client.ask("create_topics", version, build)
    return [error_of(result) for result in answer.topics] if errors else answer


async def delete(client: RawClient, *wanted: str | UUID, version: int = 6, wait: int = WAIT) -> dict[Any, Error]:
    """The error of each, by its name, or by its id where it has no name in the answer."""

    def build(kio: ModuleType) -> Any:
        timeout = timedelta(milliseconds=wait)
        if version < 6:
            return kio.DeleteTopicsRequest(topic_names=tuple(wanted), timeout=timeout)
        states = tuple(
            kio.DeleteTopicState(name=None, topic_id=each)
            if isinstance(each, UUID)
            else kio.DeleteTopicState(name=each, topic_id=None)
            for each in wanted
        )
        return kio.DeleteTopicsRequest(topics=states, timeout=timeout)

    answer = await client.ask("delete_topics", version, build)
    results = {result.name or result.topic_id: error_of(result) for result in answer.responses}
    assert len(results) == len(answer.responses)
    return results


async def grow(
    client: RawClient,
    *wanted: tuple[str, int, Sequence[Sequence[int]] | None],
    version: int = 3,
    dry: bool = False,
    wait: int = WAIT,
) -> list[Error]:
    """CreatePartitions of (topic, count, assignments)."""

    def build(kio: ModuleType) -> Any:
        return kio.CreatePartitionsRequest(
            topics=tuple(
                kio.CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=None
                    if given is None
                    else tuple(kio.CreatePartitionsAssignment(broker_ids=tuple(brokers)) for brokers in given),
                )
                for name, count, given in wanted
            ),
            timeout=timedelta(milliseconds=wait),
            validate_only=dry,
        )

    answer = await client.ask("create_partitions", version, build)
    return [error_of(result) for result in answer.results]


async def move(
    client: RawClient,
    *moves: tuple[str, int, Sequence[int] | None],
    version: int = 1,
    wait: int = WAIT,
    any_replication: bool = True,
) -> list[Error]:
    """AlterPartitionReassignments; the errors of the partitions, or the one of the whole request."""
    topics: dict[str, list[tuple[int, Sequence[int] | None]]] = {}
    for name, number, target in moves:
        topics.setdefault(name, []).append((number, target))

    def build(kio: ModuleType) -> Any:
        return for_version(
            kio.AlterPartitionReassignmentsRequest,
            timeout=timedelta(milliseconds=wait),
            allow_replication_factor_change=any_replication,
            topics=tuple(
                kio.ReassignableTopic(
                    name=name,
                    partitions=tuple(
                        kio.ReassignablePartition(
                            partition_index=number, replicas=None if target is None else tuple(target)
                        )
                        for number, target in parts
                    ),
                )
                for name, parts in topics.items()
            ),
        )

    answer = await client.ask("alter_partition_reassignments", version, build)
    if answer.error_code:
        return [error_of(answer)]
    return [error_of(part) for each in answer.responses for part in each.partitions]


async def moving(client: RawClient, wanted: Mapping[str, Sequence[int]] | None = None) -> dict[tuple[str, int], Any]:
    """(topic, partition) -> replicas, those added, those removed."""

    def build(kio: ModuleType) -> Any:
        topics = None
        if wanted is not None:
            topics = tuple(
                kio.ListPartitionReassignmentsTopics(name=name, partition_indexes=tuple(numbers))
                for name, numbers in wanted.items()
            )
        return kio.ListPartitionReassignmentsRequest(timeout=timedelta(milliseconds=WAIT), topics=topics)

    answer = await client.ask("list_partition_reassignments", 0, build)
    assert answer.error_code == 0
    return {
        (each.name, part.partition_index): (part.replicas, part.adding_replicas, part.removing_replicas)
        for each in answer.topics
        for part in each.partitions
    }


async def elect(
    client: RawClient, kind: int, places: Sequence[tuple[str, int]] | None, version: int = 2, wait: int = WAIT
) -> tuple[int, dict[str, list[tuple[int, int, str | None]]]]:
    """The error of the whole request, and (partition, error, message) by topic."""
    topics: dict[str, list[int]] = {}
    for name, number in places or ():
        topics.setdefault(name, []).append(number)

    def build(kio: ModuleType) -> Any:
        return for_version(
            kio.ElectLeadersRequest,
            election_type=kind,
            topic_partitions=None
            if places is None
            else tuple(kio.TopicPartitions(topic=name, partitions=tuple(parts)) for name, parts in topics.items()),
            timeout=timedelta(milliseconds=wait),
        )

    answer = await client.ask("elect_leaders", version, build)
    return getattr(answer, "error_code", 0), {
        each.topic: [(part.partition_id, part.error_code, part.error_message) for part in each.partition_result]
        for each in answer.replica_election_results
    }


def error_of(result: Any) -> Error:
    """Code and message; None for a version without messages."""
    return result.error_code, getattr(result, "error_message", None)
