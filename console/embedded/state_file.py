"""The file in which an embedded cluster keeps its state, as JSON. It is written again shortly after each change."""

from __future__ import annotations

import asyncio
import logging
from math import inf
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from console.embedded import tables as embedded_tables
from console.embedded.connect.state import ConnectState
from console.embedded.groups import Committed, Group, GroupState, Member, Protocols
from console.embedded.newer_groups import NewerGroup
from console.embedded.partition_log import PartitionLog
from console.embedded.producers import Place, Transaction
from console.embedded.record_batch import Batch, read_batch
from console.embedded.state import ClusterState, DirPlace
from console.model.acl import Acl
from console.model.built_types import built
from console.model.codes import Code
from console.model.config import ConfigResource
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.safe_files import PRIVATE, write_whole

K = TypeVar("K")
V = TypeVar("V")


class _Table(msgspec.Struct, Generic[K, V]):
    """The stored form of a table: the entries that were set, and the keys of the table's source that were removed."""

    own: list[tuple[K, V]]
    gone: list[K]


class _Tables(msgspec.Struct):
    """The stored tables: all but those of the brokers and of the active controller."""

    topics: _Table[str, embedded_tables.Topic]
    configs: _Table[ConfigResource, dict[str, str]]
    quotas: _Table[QuotaEntity, dict[str, float]]
    acls: _Table[Acl, UUID]
    scram: _Table[embedded_tables.ScramKey, embedded_tables.ScramCredential]
    features: _Table[str, int]


CODECS = _Tables.__struct_fields__
"""The names of the stored tables."""


class _Member(msgspec.Struct):
    """The stored form of a group member without a client. Members with clients are not stored, since they join
    again.
    """

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocols: Protocols
    assignment: bytes


class _Group(msgspec.Struct):
    """The stored form of a group, with its committed offsets and members."""

    id: str
    initial_delay: float
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    newer: NewerGroup | None
    offsets: list[tuple[Place, Committed]]
    members: list[_Member]
    unstable: list[tuple[int, list[tuple[Place, Committed]]]] = []


class _Log(msgspec.Struct):
    """The stored form of a log: its newest records, and its offsets."""

    place: Place
    start: int
    end: int
    older_bytes: int
    records: bytes


class _State(msgspec.Struct):
    """The content of a state file: the tables, groups, logs, transactions, directories of replicas, and Connect."""

    groups: list[_Group]
    logs: list[_Log]
    transactions: list[Transaction]
    replica_dirs: list[tuple[DirPlace, str]]
    dir_copies: list[tuple[DirPlace, tuple[str, float, float]]]
    format: str
    scenario: str | None
    cluster_id: str
    offset: int
    tables: _Tables
    connect: ConnectState | None = None


KEPT_BYTES = 64 * 1024
"""Maximum size in bytes of the stored records of one partition."""
KEPT_TOTAL = 4 * 2**20
"""Maximum size in bytes of the stored records of all partitions together."""


def _unlogged(state: ClusterState) -> dict[str, Any]:
    left = KEPT_TOTAL
    logs = []
    for place, log in sorted(state.logs.items()):
        # Skip a topic that was deleted while records were appended.
        if place[0] not in state.topics:
            continue
        # Store the newest records, which consumers at the end read; older ones look as if retention had deleted them.
        kept = _newest(log.batches, min(KEPT_BYTES, left))
        data = b"".join(batch.data for batch in kept)
        left -= len(data)
        start, older_bytes = log.start, log.older_bytes
        if older_bytes:  # records that are not stored count as older_bytes
            older_bytes += log.size - len(data)
        elif len(kept) < len(log.batches):
            start = kept[0].base_offset if kept else log.end
        logs.append(_Log(place, start, log.end, older_bytes, data))
    return {
        "groups": [_group(group) for group in state.groups.values()],
        "logs": logs,
        "transactions": list(state.transactions.values()),
        "replica_dirs": list(state.replica_dirs.items()),
        "dir_copies": list(state.dir_copies.items()),
        "connect": state.connect,
    }


def _restore_unlogged(state: ClusterState, content: _State) -> None:
    state.groups.clear()
    state.logs.clear()
    state.transactions = {each.id: each for each in content.transactions}
    state.groups.update({each.id: _read_group(each) for each in content.groups})
    state.replica_dirs, state.dir_copies = dict(content.replica_dirs), dict(content.dir_copies)
    state.connect = content.connect
    for each in content.logs:
        state.logs[each.place] = _read_log(each)


def _newest(batches: tuple[Batch, ...], most: int) -> list[Batch]:
    kept: list[Batch] = []
    for batch in reversed(batches):
        most -= len(batch.data)
        if most < 0:
            break
        kept.append(batch)
    return kept[::-1]


def _read_log(kept: _Log) -> PartitionLog:
    log = PartitionLog(kept.start, kept.older_bytes)
    at = 0
    while at < len(kept.records):
        batch = read_batch(kept.records, at)
        log.keep(batch)
        at += len(batch.data)
    log.end = max(log.end, kept.end)
    return log


def _group(group: Group) -> _Group:
    return _Group(
        group.id,
        group.initial_delay,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader,
        group.newer,
        list(group.offsets.items()),
        [
            _Member(*(getattr(member, name) for name in _Member.__struct_fields__))
            for member in group.members.values()
            if member.stands_in
        ],
        [(producer, list(offsets.items())) for producer, offsets in group.unstable.items()],
    )


def _read_group(kept: _Group) -> Group:
    here = bool(kept.members)
    members = (
        Member(
            each.id,
            each.instance_id,
            each.client_id,
            each.client_host,
            inf,
            inf,
            each.protocols,
            assignment=each.assignment,
        )
        for each in kept.members
    )
    return Group(
        kept.id,
        kept.initial_delay,
        GroupState.STABLE if here else GroupState.EMPTY,
        kept.generation,
        kept.protocol_type,
        kept.protocol if here else None,
        kept.leader if here else None,
        {member.id: member for member in members},
        dict(kept.offsets),
        {producer: dict(offsets) for producer, offsets in kept.unstable},
        written=True,
        newer=kept.newer,
    )


FORMAT = "kac cluster state 2"


class StateFileError(Exception):
    """The state file can't be read or written, or is invalid. The exception's text has the file, the reason and a
    remedy.
    """


def encode_state(state: ClusterState, scenario: str | None) -> bytes:
    """Encode the state as JSON. If a table has a source, only the differences from the source are stored. scenario:
    the name of the cluster's scenario, None without one.
    """
    tables = {name: state.tables.named(name) for name in CODECS}
    content = _State(
        **_unlogged(state),
        format=FORMAT,
        scenario=scenario,
        cluster_id=state.cluster_id,
        offset=state.log.end,
        tables=_Tables(**{name: _Table(list(table.own.items()), list(table.gone)) for name, table in tables.items()}),
    )
    plain = msgspec.to_builtins(content, enc_hook=lambda value: int(value) if isinstance(value, Code) else list(value))
    # Use `surrogatepass`, as names with lone surrogates must also survive a restart.
    return json_text(plain, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def write_state(path: Path, content: bytes) -> None:
    """Replace the file atomically, so that it has the old or the new content. Only its owner may read it, because it
    has credentials.

    Raises StateFileError if that fails; the file is then unchanged.
    """
    try:
        write_whole(path, content, PRIVATE)
    except OSError as error:
        raise StateFileError(f"can't write the state to {path}: {error.strerror or error}") from error


def read_state(path: Path, scenario: str | None) -> dict[str, Any] | None:
    """Return the content that `write_state` has written; None if the file does not exist. Raises StateFileError, also
    if the content is of another scenario.
    """
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
    """Load the content of a state file into the state of a new cluster, in which only the sources of the tables are
    set. Raises StateFileError if the content is invalid. path: the file, for errors.
    """
    try:
        # Decode with strict=False: an infinite limit or NaN is stored as text.
        kept = msgspec.convert(content, built(_State), strict=False, dec_hook=lambda type_, value: type_(value))
        state.cluster_id = kept.cluster_id
        for name in CODECS:
            table, stored = state.tables.named(name), getattr(kept.tables, name)
            for key in (*table.own, *stored.gone):
                table.remove(key)
            for key, value in stored.own:
                table.put(key, value)
        _restore_unlogged(state, kept)
    except (msgspec.ValidationError, ValueError) as error:
        raise StateFileError(
            f"the state in {path} is damaged ({error}); move it away to start with a new one"
        ) from error
    # Continue the offsets of the last run, so that no broker seems to be ahead of the controller. Do this last, as the
    # tables are filled without the log.
    state.log = embedded_tables.ChangeLog(kept.offset)


log = logging.getLogger("console.embedded")

PAUSE = 0.2
"""Seconds from a change to the write of the file, so that one write has several changes."""
LONG_PAUSE = 2.0
"""Seconds from a change of records or groups, which change all the time, to the write of the file."""


class StateKeeper:
    """The writer of a state file. If a write fails, this is logged, and the next change leads to another write."""

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
        """Write the file after changes, until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE)
            # Clear the event before the state is encoded, so that a change during this write causes the next one.
            self._changed.clear()
            # Encode on the event loop, where no change happens meanwhile; only write the file in a thread.
            content = encode_state(self._state, self._scenario)
            try:
                await asyncio.to_thread(write_state, self._path, content)
            except StateFileError as error:
                log.error("%s", error)

    def write(self) -> None:
        """Write the file now. Raises StateFileError."""
        write_state(self._path, encode_state(self._state, self._scenario))

    def close(self) -> None:
        """Write the file a last time, and stop observing changes. Raises StateFileError."""
        self._unsubscribe()
        self._untouched()
        if self._later is not None:
            self._later.cancel()
        self.write()
