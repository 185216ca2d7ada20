"""Groups and records as JSON, and back: what each broker keeps by itself, beside the metadata log.

Of a partition's records the newest are kept, and how far its offsets went; of a group its offsets, and a scenario's
stand-ins. A real member joins again by itself.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from math import inf
from typing import Any

from console.embedded.groups.group import Committed, Group, State
from console.embedded.groups.member import Member
from console.embedded.records.batch import Batch, read_batch
from console.embedded.records.log import PartitionLog
from console.embedded.state.cluster_state import ClusterState

KEPT_BYTES = 64 * 1024
"""Of one partition."""
KEPT_TOTAL = 4 * 2**20
"""Of all partitions together."""


def encode_unlogged(state: ClusterState) -> dict[str, Any]:
    """Groups and logs, to be written beside the tables."""
    left = KEPT_TOTAL
    logs = []
    for (topic, partition), log in sorted(state.logs.items()):
        if topic not in state.topics:
            continue
        kept = _newest(log.batches, min(KEPT_BYTES, left))
        data = b"".join(batch.data for batch in kept)
        left -= len(data)
        start, older_bytes = log.start, log.older_bytes
        if older_bytes:  # what is not kept is like what a scenario says is on disk
            older_bytes += log.size - len(data)
        elif len(kept) < len(log.batches):
            start = kept[0].base_offset if kept else log.end
        logs.append([topic, partition, start, log.end, older_bytes, b64encode(data).decode()])
    return {"groups": [_group(group) for group in state.groups.values()], "logs": logs}


def restore_unlogged(state: ClusterState, content: dict[str, Any]) -> None:
    """Put back what `encode_unlogged` gave. Raises KeyError, TypeError or ValueError where it is not that."""
    state.groups.clear()
    state.logs.clear()
    for fields in content.get("groups", ()):
        group = _read_group(fields)
        state.groups[group.id] = group
    for topic, partition, start, end, older_bytes, encoded in content.get("logs", ()):
        state.logs[topic, partition] = _read_log(start, end, older_bytes, b64decode(encoded))


def _newest(batches: tuple[Batch, ...], most: int) -> list[Batch]:
    kept: list[Batch] = []
    for batch in reversed(batches):
        most -= len(batch.data)
        if most < 0:
            break
        kept.append(batch)
    return kept[::-1]


def _read_log(start: int, end: int, older_bytes: int, data: bytes) -> PartitionLog:
    log = PartitionLog(start, older_bytes)
    at = 0
    while at < len(data):
        batch = read_batch(data, at)
        log.keep(batch)
        at += len(batch.data)
    log.end = max(log.end, end)
    return log


def _group(group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "initial_delay": group.initial_delay,
        "looks_at_instances": group.looks_at_instances,
        "generation": group.generation,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "offsets": [
            [*key, committed.offset, committed.leader_epoch, committed.metadata, committed.at]
            for key, committed in group.offsets.items()
        ],
        "members": [_member(member) for member in group.members.values() if member.stands_in],
    }


def _read_group(fields: dict[str, Any]) -> Group:
    members = [_read_member(member) for member in fields["members"]]
    here = bool(members)
    return Group(
        fields["id"],
        fields["initial_delay"],
        fields["looks_at_instances"],
        State.STABLE if here else State.EMPTY,
        fields["generation"],
        fields["protocol_type"],
        fields["protocol"] if here else None,
        fields["leader"] if here else None,
        {member.id: member for member in members},
        {
            (topic, partition): Committed(offset, leader_epoch, metadata, at)
            for topic, partition, offset, leader_epoch, metadata, at in fields["offsets"]
        },
        written=True,
    )


def _member(member: Member) -> list[Any]:
    protocols = [[name, b64encode(metadata).decode()] for name, metadata in member.protocols]
    assignment = b64encode(member.assignment).decode()
    return [member.id, member.instance_id, member.client_id, member.client_host, protocols, assignment]


def _read_member(fields: list[Any]) -> Member:
    member_id, instance_id, client_id, host, protocols, assignment = fields
    return Member(
        member_id,
        instance_id,
        client_id,
        host,
        inf,
        inf,
        tuple((name, b64decode(metadata)) for name, metadata in protocols),
        assignment=b64decode(assignment),
    )
