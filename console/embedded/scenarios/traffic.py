"""Records and groups of a scenario: logs that seem to have gone on for long, readers that keep up and one that lags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from math import inf
from typing import TYPE_CHECKING, Any
from uuid import uuid5
from zlib import crc32

from console.embedded.groups.group import Committed, Group, State
from console.embedded.groups.member import Member
from console.embedded.groups.subscriptions import CONSUMERS, assignment, subscription
from console.embedded.records.batch import NO_PRODUCER, read_batch
from console.embedded.records.log import PartitionLog
from console.embedded.scenarios.filling import IDS
from console.model.numbers import json_text

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster
    from console.embedded.state.cluster_state import ClusterState

_RECORD_BYTES = 400
"""What a record takes on the average of such a cluster."""
_READABLE = 3
"""Records of a partition that can really be read: its newest."""
_LEAST, _MOST = 10_000, 4_000_000
_EVERY = 250
"""Milliseconds between records."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def batch_of(values: Sequence[bytes], moment: int, key: bytes, offset: int = 0) -> bytes:
    """A batch. moment: milliseconds since 1970, of its last record; offset: of its first one."""
    from kio.records.schema import NewRecordBatch, Record
    from kio.records.writers import write_new_batch

    # kio's types are narrower than Python's numbers, and made from them alone.
    record: Any = Record
    batch: Any = NewRecordBatch
    first = moment - _EVERY * (len(values) - 1)
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
                    key=key,
                    value=value,
                    headers=(),
                )
                for place, value in enumerate(values)
            ),
        ),
    )
    return buffer.getvalue()


def lay_records(cluster: EmbeddedCluster, topic: str) -> None:
    """Give every partition of a topic a past, of which the last records can be read."""
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    for partition in range(len(state.topics[topic].partitions)):
        end = _LEAST + crc32(f"{topic}-{partition}".encode()) % (_MOST - _LEAST)
        start = end // 3
        log = PartitionLog(start, (end - start) * _RECORD_BYTES)
        values = [_value(topic, number) for number in range(end - _READABLE, end)]
        log.keep(read_batch(batch_of(values, now, f"{partition}".encode(), end - _READABLE), 0))
        state.logs[topic, partition] = log


def _value(topic: str, number: int) -> bytes:
    return json_text({"id": number, "kind": topic.rpartition(".")[2], "amount": number % 10_000 / 100}).encode()


def read_by(
    cluster: EmbeddedCluster, name: str, topics: Sequence[str], clients: Sequence[str], lag: int, *, turn: int = 0
) -> None:
    """A group of consumers that share these topics' partitions, as the range assignor does; without clients it is
    empty. lag: records of each partition that it has not read yet, more or less."""
    state = cluster.state
    group = Group(name, generation=turn or len(clients), protocol_type=CONSUMERS, written=True)
    shares = _shares(state, topics, len(clients))
    for place, client in enumerate(clients):
        member = _stand_in(name, client, place, topics, shares[place])
        group.members[member.id] = member
        group.leader = group.leader or member.id
    if clients:
        group.state, group.protocol = State.STABLE, "range"
    now = cluster.clock.time()
    for topic in topics:
        for partition in range(len(state.topics[topic].partitions)):
            log = state.logs[topic, partition]
            behind = lag * (80 + crc32(f"{name}-{topic}-{partition}".encode()) % 41) // 100
            group.offsets[topic, partition] = Committed(max(log.end - behind, log.start), at=now)
    state.groups[name] = group


def _shares(state: ClusterState, topics: Sequence[str], members: int) -> list[dict[str, tuple[int, ...]]]:
    """Each member's partitions (RangeAssignor)."""
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


def _stand_in(
    group: str, client: str, place: int, topics: Sequence[str], share: Mapping[str, tuple[int, ...]]
) -> Member:
    """A member that is there until a real one joins."""
    return Member(
        f"{client}-{uuid5(IDS, f'{group} {client}')}",
        None,
        client,
        f"/10.0.3.{10 + place}",
        inf,
        inf,
        (("range", subscription(tuple(topics))),),
        assignment=assignment(share),
    )


def move_on(cluster: EmbeddedCluster, group: str, topic: str, partition: int, records: int) -> None:
    """A scenario's group reads some more records of a partition, no further than there are."""
    found, log = cluster.state.groups.get(group), cluster.state.logs.get((topic, partition))
    if found is None or log is None:
        return
    was = found.offsets.get((topic, partition), Committed(log.start))
    found.offsets[topic, partition] = Committed(min(was.offset + records, log.end), at=cluster.clock.time())
    cluster.state.touch()
