"""Functions from which scenarios are built: topics, records, groups, quotas, ACLs, users, and changes by simulated
clients.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import islice
from math import inf
from random import Random
from typing import Any
from uuid import UUID, uuid5
from zlib import crc32

from msgspec import Struct

from console.embedded.context import Cluster
from console.embedded.group_coordinator import CONSUMERS, subscription
from console.embedded.groups import Committed, Group, GroupState, Member
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import NO_PRODUCER, read_batch
from console.embedded.replicas import joined_isr, left_isr, new_topic, striped
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.state import ClusterState
from console.embedded.tables import ScramKey
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.config import topic_resource
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.wire.assignments import assignment_bytes

MIB = 1_048_576.0
HOUR = 3_600_000
DAY = 24 * HOUR
SCENARIO_IDS = UUID("6b616363-6c75-5374-8572-746f70696373")


class Scenario(Struct, frozen=True):
    """The initial content of a cluster, and the activity of simulated clients."""

    seed: Callable[[Cluster], None]
    """Fills the state of a new cluster."""
    sources: Callable[[ClusterState], None] | None = None
    """Sets the sources of tables whose values are computed when they are needed; None if all content is stored."""
    live: Callable[[Cluster], Coroutine[None, None, None]] | None = None
    """Simulates other clients while the cluster runs, until cancelled; None if there are none."""


def topic_id(name: str) -> UUID:
    """Return the id of a scenario's topic, which is the same in each run."""
    return uuid5(SCENARIO_IDS, name)


def add_topic(
    state: ClusterState, name: str, partitions: int, replication: int = 3, configs: Mapping[str, str] | None = None
) -> None:
    """Add a topic with overrides. It gets at most as many replicas as there are live brokers."""
    alive = state.alive()
    # Start each topic at another broker, so that leaders are spread.
    assignments = striped(alive, partitions, min(replication, len(alive)), len(state.topics))
    state.put_topic(new_topic(name, assignments, alive, topic_id=topic_id(name)))
    if configs:
        state.alter_config(topic_resource(name), configs)


def quota(state: ClusterState, parts: Mapping[str, str | None], **values: float) -> None:
    """Set quotas of an entity.

    Args:
        parts: type of a component -> its name; None for the default.
        values: quota key -> value.
    """
    state.alter_quota(QuotaEntity.of(parts), values)


def allow(state: ClusterState, principal: str, operation: str, type_: str, name: str, pattern: str = "LITERAL") -> None:
    """Add an ACL that allows an operation from all hosts."""
    state.add_acl(
        Acl(
            AclResourceType.parse(type_),
            name,
            PatternType.parse(pattern),
            principal,
            "*",
            AclOperation.parse(operation),
            Permission.parse("ALLOW"),
        )
    )


def scram_user(state: ClusterState, user: str, password: str, *mechanisms: ScramHash) -> None:
    """Add SCRAM credentials of a user for these mechanisms; for all mechanisms if none are given."""
    for mechanism in mechanisms or tuple(ScramHash):
        # Use the same salt in every run, so that a scenario's cluster gives equal responses; its passwords protect
        # nothing.
        salt = uuid5(SCENARIO_IDS, f"{user} {mechanism.label}").bytes
        state.put("scram", ScramKey(user, mechanism), credential_of(password, mechanism, salt=salt))


def leave_isr(state: ClusterState, name: str, broker: int) -> None:
    """Remove a broker from the ISR of each partition of a topic, unless it is the last in it."""
    topic = state.topics[name]
    alive = frozenset(state.alive())
    state.put_topic(
        replace(
            topic,
            partitions=tuple(
                left_isr(partition, broker, alive) if len(partition.isr) > 1 else partition
                for partition in topic.partitions
            ),
        )
    )


def join_isr(state: ClusterState, name: str, broker: int) -> None:
    """Put a broker back into the ISR of those partitions of a topic that have a replica on the broker."""
    topic = state.topics[name]
    state.put_topic(replace(topic, partitions=tuple(joined_isr(partition, broker) for partition in topic.partitions)))


_RECORD_BYTES = 400
"""Average size of a record in bytes, for sizes of logs."""
_READABLE = 3
"""Number of records in a partition that can be read: the newest ones."""
_LEAST, _MOST = 10_000, 4_000_000
_EVERY = 250
"""Milliseconds between the timestamps of two successive records."""
_POISON = b"\x00\x00\x00\x01\x9f\x02\x1cshipment-\xe2\x04"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def batch_of(values: Sequence[bytes | None], moment: int, key: bytes | Sequence[bytes], offset: int = 0) -> bytes:
    """Encode a record batch.

    Args:
        values: the value of each record; None for a tombstone.
        moment: the timestamp of the last record, milliseconds since 1970.
        key: the key of all records, or one key for each.
        offset: the offset of the first record.
    """
    from kio.records.schema import NewRecordBatch, Record
    from kio.records.writers import write_new_batch

    # kio declares its own types for numbers; `Any` makes plain numbers pass the type check.
    record: Any = Record
    batch: Any = NewRecordBatch
    first = moment - _EVERY * (len(values) - 1)
    keys = [key] * len(values) if isinstance(key, bytes) else key
    buffer = BytesIO()
    write_new_batch(
        buffer,
        batch(
            producer_id=NO_PRODUCER,
            producer_epoch=NO_PRODUCER,
            base_sequence=NO_PRODUCER,
            attributes=0,
            records=tuple(
                record(
                    attributes=0,
                    timestamp=_EPOCH + timedelta(milliseconds=first + _EVERY * place),
                    offset=offset + place,
                    key=one,
                    value=value,
                    headers=(),
                )
                for place, (one, value) in enumerate(zip(keys, values, strict=True))
            ),
        ),
    )
    return buffer.getvalue()


def seed_records(cluster: Cluster, topic: str) -> None:
    """Create a log for each partition of a topic. Only the newest records can be read; older ones only count in sizes
    and offsets.
    """
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    for partition in range(len(state.topics[topic].partitions)):
        end = _LEAST + crc32(f"{topic}-{partition}".encode()) % (_MOST - _LEAST)
        start = end // 3
        # Older records only count as bytes: millions of records would take minutes and gigabytes.
        log = PartitionLog(start, (end - start) * _RECORD_BYTES)
        values = [_value(topic, number) for number in range(end - _READABLE, end)]
        log.keep(read_batch(batch_of(values, now, f"{partition}".encode(), end - _READABLE), 0))
        state.logs[topic, partition] = log


_IN_A_BATCH, _BATCHES = 50, 8
_ERRORS = ("payment timed out", "card declined", "address unknown", "out of stock")


def seed_failures(cluster: Cluster, topic: str) -> None:
    """Fill each partition of a topic with failed orders. All of these records can be read, so that a search finds
    them.
    """
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    count = len(state.topics[topic].partitions)
    for partition in range(count):
        log = PartitionLog(_LEAST)
        for batch in range(_BATCHES):
            offset = _LEAST + batch * _IN_A_BATCH
            numbers = [(offset + place) * count + partition for place in range(_IN_A_BATCH)]
            moment = now - (_BATCHES - 1 - batch) * _IN_A_BATCH * _EVERY
            keys = [f"order-{number}".encode() for number in numbers]
            log.keep(read_batch(batch_of([*map(_failure, numbers)], moment, keys, offset), 0))
        state.logs[topic, partition] = log


def _failure(number: int) -> bytes:
    order = {"id": f"order-{number}", "total": number % 9_000 / 100, "items": number % 7 + 1}
    error = _ERRORS[number * 7 % 11 % len(_ERRORS)]
    return json_text({"order": order, "state": "failed", "error": error, "attempt": number % 3 + 1}).encode()


def seed_poison(cluster: Cluster, topic: str, partition: int) -> int:
    """Replace the oldest readable record of a partition by bytes that are not JSON, as a producer with another
    serializer would write. Return its offset.
    """
    log, now = cluster.state.logs[topic, partition], int(cluster.clock.time() * 1000)
    first = log.end - _READABLE
    values = [_POISON, *(_value(topic, number) for number in range(first + 1, log.end))]
    spoiled = PartitionLog(log.start, log.older_bytes)
    spoiled.keep(read_batch(batch_of(values, now, f"{partition}".encode(), first), 0))
    cluster.state.logs[topic, partition] = spoiled
    return first


def _value(topic: str, number: int) -> bytes:
    return json_text({"id": number, "kind": topic.rpartition(".")[2], "amount": number % 10_000 / 100}).encode()


def add_group(cluster: Cluster, name: str, topics: Sequence[str], clients: Sequence[str], lag: int) -> None:
    """Add a group of consumers that divide the partitions of these topics among them, as the range assignor does.

    Args:
        clients: the client ids of the members; without any, the group has no members.
        lag: the approximate lag in each partition, as a number of offsets.
    """
    state = cluster.state
    group = Group(name, generation=len(clients), protocol_type=CONSUMERS, written=True)
    shares = shares_of(state, topics, len(clients))
    for place, client in enumerate(clients):
        member = stand_in(name, client, place, topics, shares[place])
        group.members[member.id] = member
        group.leader = group.leader or member.id
    if clients:
        group.state, group.protocol = GroupState.STABLE, "range"
    now = cluster.clock.time()
    for topic in topics:
        for partition in range(len(state.topics[topic].partitions)):
            log = state.logs[topic, partition]
            behind = lag * (80 + crc32(f"{name}-{topic}-{partition}".encode()) % 41) // 100
            group.offsets[topic, partition] = Committed(max(log.end - behind, log.start), at=now)
    state.groups[name] = group


def shares_of(state: ClusterState, topics: Sequence[str], members: int) -> list[dict[str, tuple[int, ...]]]:
    """Return topic -> partition numbers for each of `members` members, as RangeAssignor assigns them."""
    shares: list[dict[str, tuple[int, ...]]] = [{} for _ in range(members)]
    for topic in topics if members else ():
        each, more = divmod(len(state.topics[topic].partitions), members)
        begin = 0
        for place, share in enumerate(shares):
            end = begin + each + (place < more)
            if end > begin:
                share[topic] = tuple(range(begin, end))
            begin = end
    return shares


def stand_in(
    group: str, client: str, place: int, topics: Sequence[str], share: Mapping[str, tuple[int, ...]]
) -> Member:
    """Return a member without a client, which leaves the group when a real client joins.

    Args:
        place: the number of the member.
        share: topic -> the partitions assigned to it.
    """
    return Member(
        f"{client}-{uuid5(SCENARIO_IDS, f'{group} {client}')}",
        None,
        client,
        f"/10.0.3.{10 + place}",
        inf,
        inf,
        (("range", subscription(tuple(topics))),),
        assignment=assignment_bytes(share),
    )


def commit_later_offset(cluster: Cluster, group: str, topic: str, records: int) -> None:
    """Raise a group's committed offset in the first partition of a topic by `records`, at most to the end of the
    log. Do nothing if the group or the log does not exist.
    """
    found, log = cluster.state.groups.get(group), cluster.state.logs.get((topic, 0))
    if found is None or log is None:
        return
    was = found.offsets.get((topic, 0), Committed(log.start))
    found.offsets[topic, 0] = Committed(min(was.offset + records, log.end), at=cluster.clock.time())
    cluster.state.touch()


TRAFFIC_EVERY = 1.0
"""Seconds between two writes to a topic; each write goes to the next partition."""
_MOST_RECORDS = 60
_IN_MEMORY = 2**16
"""Maximum bytes of a partition's records that stay readable, since a demo may run for days."""


async def write_as_producers(cluster: Cluster, topics: Sequence[str]) -> None:
    """Write to topics, each at its own rate, and commit the offsets of the groups that keep up with them, until
    cancelled.
    """
    turn = 0
    while True:
        await cluster.clock.sleep(TRAFFIC_EVERY)
        for name in topics:
            topic = cluster.state.topics.get(name)
            if topic is not None:
                _write_some(cluster, name, turn % len(topic.partitions))
        cluster.state.touch()
        turn += 1


def _write_some(cluster: Cluster, name: str, partition: int) -> None:
    state, place = cluster.state, (name, partition)
    found, log = state.topics[name].partitions[partition], state.logs.get(place)
    # Do not write after an open transaction: those records belong to the scenario.
    if log is None or found.leader not in state.alive() or log.stable < log.end:
        return
    count = 1 + crc32(name.encode()) % _MOST_RECORDS
    values = [_value(name, number) for number in range(log.end, log.end + count)]
    now = int(cluster.clock.time() * 1000)
    log.append(read_batch(batch_of(values, now, f"{partition}".encode()), 0), found.leader_epoch)
    log.evict(_IN_MEMORY)
    for group in state.groups.values():
        if group.members and (was := group.offsets.get(place)) is not None:
            group.offsets[place] = Committed(min(was.offset + count, log.end), at=now / 1000)


PERIOD = 4.0
"""Seconds between two changes by simulated clients."""
BATCH = "batch.import-"
_KEPT_BATCHES = 3


async def change_as_others(cluster: Cluster) -> None:
    """Make a small change every `PERIOD` (4) seconds, as another client would, until cancelled."""
    random = Random(4)  # noqa: S311 - the same in every run
    turn = 0
    while True:
        await cluster.clock.sleep(PERIOD)
        CHANGES[turn % len(CHANGES)](cluster.state, random, turn)
        turn += 1


def _retention(state: ClusterState, random: Random, _turn: int) -> None:
    name = _some_topic(state, random)
    state.alter_config(topic_resource(name), {"retention.ms": str(random.choice((HOUR, DAY, 2 * DAY, 7 * DAY)))})


def _limit(state: ClusterState, random: Random, _turn: int) -> None:
    quota(state, {"client-id": "nightly-report"}, consumer_byte_rate=random.choice((1, 2, 5)) * MIB)


def _batch(state: ClusterState, _random: Random, turn: int) -> None:
    batches = sorted(name for name in state.tables.topics.own if name.startswith(BATCH))
    for name in batches[: max(len(batches) - _KEPT_BATCHES + 1, 0)]:
        state.remove_topic(name)
    add_topic(state, f"{BATCH}{turn:06}", 3, 2)


def _right(state: ClusterState, _random: Random, turn: int) -> None:
    allow(state, f"User:contractor-{turn % 5}", "READ", "TOPIC", "logistics.", "PREFIXED")


def _some_topic(state: ClusterState, random: Random) -> str:
    table = state.tables.topics
    if table.source is not None:
        place = random.randrange(len(table.source))
        return next(islice(table.source, place, None))
    return random.choice([name for name, topic in table.own.items() if not topic.internal])


CHANGES: tuple[Callable[[ClusterState, Random, int], None], ...] = (_retention, _limit, _batch, _right)
