"""Requests about topics, short to write; results as plain tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields

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
    return (name, partitions, replication, assignments, configs)


async def create(
    client: RawClient, *topics: Any, version: int = 7, dry: bool = False, wait: int = WAIT, errors: bool = True
) -> Any:
    """Errors in the answer's order, or the whole answer."""
    answer = await client.ask(
        "create_topics", version, with_fields(topics=topics, timeout=wait / 1000, validate_only=dry)
    )
    return [error_of(result) for result in answer.topics] if errors else answer


async def delete(client: RawClient, *wanted: str | UUID, version: int = 6, wait: int = WAIT) -> dict[Any, Error]:
    """The error of each, by its name, or by its id where it has no name in the answer."""
    states = [(None, each) if isinstance(each, UUID) else (each, None) for each in wanted]
    named = {"topic_names": wanted} if version < 6 else {"topics": states}
    answer = await client.ask("delete_topics", version, with_fields(timeout=wait / 1000, **named))
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
    topics = [(name, count, given and [(brokers,) for brokers in given]) for name, count, given in wanted]
    answer = await client.ask(
        "create_partitions", version, with_fields(topics=topics, timeout=wait / 1000, validate_only=dry)
    )
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
    answer = await client.ask(
        "alter_partition_reassignments",
        version,
        with_fields(timeout=wait / 1000, allow_replication_factor_change=any_replication, topics=[*topics.items()]),
    )
    if answer.error_code:
        return [error_of(answer)]
    return [error_of(part) for each in answer.responses for part in each.partitions]


async def moving(client: RawClient, wanted: Mapping[str, Sequence[int]] | None = None) -> dict[tuple[str, int], Any]:
    """(topic, partition) -> replicas, those added, those removed."""
    topics = None if wanted is None else [*wanted.items()]
    answer = await client.ask("list_partition_reassignments", 0, with_fields(timeout=WAIT / 1000, topics=topics))
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
    wanted = None if places is None else [*topics.items()]
    answer = await client.ask(
        "elect_leaders", version, with_fields(election_type=kind, topic_partitions=wanted, timeout=wait / 1000)
    )
    return getattr(answer, "error_code", 0), {
        each.topic: [(part.partition_id, part.error_code, part.error_message) for part in each.partition_result]
        for each in answer.replica_election_results
    }


def error_of(result: Any) -> Error:
    """Code and message; None for a version without messages."""
    return result.error_code, getattr(result, "error_message", None)
