"""The state in a JSON file, written as a whole soon after each change."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from console.embedded import tables as embedded_tables
from console.embedded.groups import Committed, Group, GroupState, Member
from console.embedded.newer_groups import NewerGroup
from console.embedded.partition_log import PartitionLog
from console.embedded.producers import Transaction
from console.embedded.record_batch import Batch, read_batch
from console.embedded.state import ClusterState
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission, ResourceType
from console.model.config import ConfigResource
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.safe_files import PRIVATE, write_whole


class TableCodec(NamedTuple):
    """How one table's keys and values are written and read."""

    key: Callable[[Any], Any]
    value: Callable[[Any], Any]
    read_key: Callable[[Any], Any]
    read_value: Callable[[Any, Any], Any]


def _same(thing: Any) -> Any:
    return thing


def _value_alone(_key: Any, value: Any) -> Any:
    return value


def _limits(_key: Any, value: dict[str, Any]) -> dict[str, float]:
    # Infinity and NaN are written as text.
    return {name: float(limit) for name, limit in value.items()}


def _topic(topic: embedded_tables.Topic) -> Any:
    return [str(topic.id), topic.internal, topic.partitions]


def _read_topic(name: str, value: Any) -> embedded_tables.Topic:
    topic_id, internal, partitions = value
    return embedded_tables.Topic(
        name, UUID(topic_id), tuple(_read_partition(fields) for fields in partitions), internal
    )


def _read_partition(fields: Any) -> embedded_tables.Partition:
    replicas, isr, leader, leader_epoch, partition_epoch, adding, removing = fields
    return embedded_tables.Partition(
        tuple(replicas), tuple(isr), leader, leader_epoch, partition_epoch, tuple(adding), tuple(removing)
    )


def _acl(fields: Any) -> Acl:
    resource, name, pattern, principal, host, operation, permission = fields
    return Acl(
        AclResourceType(resource),
        name,
        PatternType(pattern),
        principal,
        host,
        AclOperation(operation),
        Permission(permission),
    )


def _credential(credential: embedded_tables.ScramCredential) -> Any:
    secrets = (credential.salt, credential.stored_key, credential.server_key)
    return [credential.iterations, *(b64encode(secret).decode() for secret in secrets)]


def _read_credential(_key: Any, value: Any) -> embedded_tables.ScramCredential:
    iterations, *encoded = value
    salt, stored_key, server_key = (b64decode(part) for part in encoded)
    return embedded_tables.ScramCredential(salt, iterations, stored_key, server_key)


CODECS: Mapping[str, TableCodec] = {
    "topics": TableCodec(_same, _topic, _same, _read_topic),
    "configs": TableCodec(
        lambda key: [int(key.type), key.name],
        dict,
        lambda key: ConfigResource(ResourceType(key[0]), key[1]),
        _value_alone,
    ),
    "quotas": TableCodec(
        lambda entity: [list(part) for part in entity.parts],
        dict,
        lambda key: QuotaEntity(each for part in key for each in part),
        _limits,
    ),
    "acls": TableCodec(list, str, _acl, lambda _key, value: UUID(value)),
    "scram": TableCodec(list, _credential, lambda key: embedded_tables.ScramKey(*key), _read_credential),
    "features": TableCodec(_same, _same, _same, _value_alone),
}
"""Codecs by table. Brokers and the controller are not stored."""


KEPT_BYTES = 64 * 1024
"""Most bytes of records of one partition."""
KEPT_TOTAL = 4 * 2**20
"""Most bytes of records of all partitions."""


def encode_unlogged(state: ClusterState) -> dict[str, Any]:
    """Encode groups, logs, transactions and the directories of replicas, which are not in the tables.

    Of a log the newest records and its offsets are stored; of a group its offsets and the members without a client. A
    real member joins again by itself.
    """
    left = KEPT_TOTAL
    logs = []
    for (topic, partition), log in sorted(state.logs.items()):
        # The topic was deleted while records were appended.
        if topic not in state.topics:
            continue
        # The newest records, as consumers read at the end; what is left out looks as if retention had deleted it.
        kept = _newest(log.batches, min(KEPT_BYTES, left))
        data = b"".join(batch.data for batch in kept)
        left -= len(data)
        start, older_bytes = log.start, log.older_bytes
        if older_bytes:  # records that are not stored count as older_bytes
            older_bytes += log.size - len(data)
        elif len(kept) < len(log.batches):
            start = kept[0].base_offset if kept else log.end
        logs.append([topic, partition, start, log.end, older_bytes, b64encode(data).decode()])
    return {
        "groups": [_group(group) for group in state.groups.values()],
        "logs": logs,
        "transactions": [_transaction(each) for each in state.transactions.values()],
        "replica_dirs": [[str(id_), *rest, path] for (id_, *rest), path in state.replica_dirs.items()],
        "dir_copies": [[str(id_), *rest, *copy] for (id_, *rest), copy in state.dir_copies.items()],
    }


def restore_unlogged(state: ClusterState, content: dict[str, Any]) -> None:
    """Restore what `encode_unlogged` returned. Raises KeyError, TypeError or ValueError for another form."""
    state.groups.clear()
    state.logs.clear()
    state.transactions = {id_: _read_transaction(id_, *values) for id_, *values in content.get("transactions", ())}
    for fields in content.get("groups", ()):
        group = _read_group(fields)
        state.groups[group.id] = group
    state.replica_dirs = {
        (UUID(id_), number, broker): path for id_, number, broker, path in content.get("replica_dirs", ())
    }
    state.dir_copies = {
        (UUID(id_), number, broker): (path, began, seconds)
        for id_, number, broker, path, began, seconds in content.get("dir_copies", ())
    }
    for topic, partition, start, end, older_bytes, encoded in content.get("logs", ()):
        state.logs[topic, partition] = _read_log(start, end, older_bytes, b64decode(encoded))


def _transaction(each: Transaction) -> list[Any]:
    places = [list(place) for place in sorted(each.partitions)]
    return [each.id, each.producer_id, each.epoch, each.timeout_ms, each.state, each.started, places]


def _read_transaction(
    id_: str, producer_id: int, epoch: int, timeout_ms: int, state: str, started: int, places: list[tuple[str, int]]
) -> Transaction:
    partitions = {(topic, number) for topic, number in places}
    return Transaction(id_, producer_id, epoch, timeout_ms, state, started, partitions)


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
        "generation": group.generation,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "offsets": [
            [*key, committed.offset, committed.leader_epoch, committed.metadata, committed.at]
            for key, committed in group.offsets.items()
        ],
        "members": [_member(member) for member in group.members.values() if member.stands_in],
        "newer": None if group.newer is None else msgspec.to_builtins(group.newer),
    }


def _read_group(fields: dict[str, Any]) -> Group:
    members = [_read_member(member) for member in fields["members"]]
    here = bool(members)
    return Group(
        fields["id"],
        fields["initial_delay"],
        GroupState.STABLE if here else GroupState.EMPTY,
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
        newer=_read_newer(fields.get("newer")),
    )


def _read_newer(fields: Any) -> NewerGroup | None:
    """Parse a group of a newer protocol. Raises ValueError for another form."""
    try:
        return msgspec.convert(fields, NewerGroup | None)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


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


FORMAT = "kac cluster state 1"


class StateFileError(Exception):
    """The state file can't be read or written, or is not one. The text says which file, why, and what to do."""


def encode_state(state: ClusterState, scenario: str | None) -> bytes:
    """Encode the whole state as JSON. Of a table with a source only its changes."""
    tables = {}
    for name, codec in CODECS.items():
        table = state.tables.named(name)
        tables[name] = {
            "own": [[codec.key(key), codec.value(value)] for key, value in table.own.items()],
            "gone": [codec.key(key) for key in table.gone],
        }
    content = {
        "format": FORMAT,
        "scenario": scenario,
        "cluster_id": state.cluster_id,
        "offset": state.log.end,
        "tables": tables,
        **encode_unlogged(state),
    }
    # Names with lone surrogates must survive a restart, too.
    return json_text(content, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def write_state(path: Path, content: bytes) -> None:
    """Replace the file's content at once. Only its owner may read it, because it holds credentials.

    Raises StateFileError; then the file is unchanged.
    """
    try:
        write_whole(path, content, PRIVATE)
    except OSError as error:
        raise StateFileError(f"can't write the state to {path}: {error.strerror or error}") from error


def read_state(path: Path, scenario: str | None) -> dict[str, Any] | None:
    """Read the content that `write_state` wrote; None without a file. Raises StateFileError."""
    try:
        content = json_of(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateFileError(f"can't read the state in {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise StateFileError(
            f"{path} is not a state file of a cluster; move it away to start with a new one"
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StateFileError(
            f"{path} is not a state file that this version can read; move it away to start with a new one"
        )
    was = content["scenario"]
    if was != scenario:
        raise StateFileError(f"{path} belongs to scenario {was}; use --scenario {was}, or another file")
    return content


def restore_state(state: ClusterState, content: dict[str, Any], path: Path) -> None:
    """Fill a state that has only its sources from a file's content. Raises StateFileError."""
    try:
        state.cluster_id = content["cluster_id"]
        for name, codec in CODECS.items():
            table = state.tables.named(name)
            for key in list(table.own):
                table.remove(key)
            for key in content["tables"][name]["gone"]:
                table.remove(codec.read_key(key))
            for encoded, value in content["tables"][name]["own"]:
                key = codec.read_key(encoded)
                table.put(key, codec.read_value(key, value))
        restore_unlogged(state, content)
        # Offsets go on where they were, so that no broker seems to know more than the controller. Last, as the tables
        # are filled without the log.
        state.log = embedded_tables.ChangeLog(content["offset"])
    except (KeyError, TypeError, ValueError) as error:
        raise StateFileError(
            f"the state in {path} is damaged ({error}); move it away to start with a new one"
        ) from error


log = logging.getLogger("console.embedded")

PAUSE = 0.2
"""Seconds in which changes are collected before a write."""
LONG_PAUSE = 2.0
"""The same for records and groups, which change all the time."""


class StateKeeper:
    """Keeps a state in a file. A write that fails is logged, and repeated with the next change."""

    def __init__(self, state: ClusterState, path: Path, scenario: str | None) -> None:
        self._state = state
        self._path = path
        self._scenario = scenario
        self._changed = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        self._unsubscribe = state.subscribe(self._noticed)
        self._untouched = state.touched.add(self._touched)

    def _noticed(self, change: embedded_tables.Change) -> None:
        if change.table in CODECS:
            self._changed.set()

    def _touched(self) -> None:
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(LONG_PAUSE, self._due)

    def _due(self) -> None:
        self._later = None
        self._changed.set()

    async def run(self) -> None:
        """Write after changes, until it is cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE)
            # Before the state is encoded: a change during the write is written by the next one.
            self._changed.clear()
            # Encoded in the loop, where nothing changes meanwhile; only the file is written in a thread.
            content = encode_state(self._state, self._scenario)
            try:
                await asyncio.to_thread(write_state, self._path, content)
            except StateFileError as error:
                log.error("%s", error)

    def write(self) -> None:
        """Write now. Raises StateFileError."""
        write_state(self._path, encode_state(self._state, self._scenario))

    def close(self) -> None:
        """Write once more, and stop. Raises StateFileError."""
        self._unsubscribe()
        self._untouched()
        if self._later is not None:
            self._later.cancel()
        self.write()
