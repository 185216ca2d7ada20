"""Operations and running moves as results. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from types import MappingProxyType

from console.answers.results import Column, Row, Table
from console.model.journal_lines import Origin
from console.model.numbers import Data, commas
from console.model.snapshot import ReadFailure, ReplicaPlace, Snapshot, TopicPartition, dir_copies
from console.operations.operation import Operation, copied_bytes
from console.plan.amounts import byte_count, duration
from console.plan.kinds.moves import destination, moves_in, original
from console.present.columns import clock

_OPERATIONS = tuple(map(Column, ("Operation", "Goal", "State", "Throttle", "Steps", "Copied", "Left", "Begun")))
_MOVES = tuple(map(Column, ("Topic", "Partition", "From", "To", "Copied", "Left", "Operation")))
UNKNOWN_OWNER = "not of this host's journal"
_NO_OWNERS: Mapping[ReplicaPlace, int] = MappingProxyType({})


def operations_table(some: Sequence[Operation], holder: Origin | None) -> Table:
    """Return operations with their progress. holder: the process that works on the open one."""
    return Table(
        "operations",
        _OPERATIONS,
        tuple(_row(each, holder) for each in some),
        "operations",
        "no operation is in the journal of this host",
        tuple(_notes(some, holder)),
    )


def _row(operation: Operation, holder: Origin | None) -> Row:
    far = operation.progress
    copied, left = (far.copied, far.left) if far is not None and operation.ended is None else (0, 0)
    cells = (
        str(operation.number),
        str(operation.goal),
        operation.state.value,
        throttle_text(operation.throttle),
        str(len(operation.steps)),
        byte_count(copied if operation.ended is None else operation.bytes),
        byte_count(left) if operation.ended is None else "",
        clock(operation.at),
    )
    data: dict[str, Data] = {
        "operation": operation.number,
        "goal": str(operation.goal),
        "state": operation.state.value,
        "throttle": operation.throttle,
        "steps": len(operation.steps),
        "partitions": len(operation.moves()),
        "replicas": len(operation.dir_moves()),
        "copied": copied,
        "left": left,
        "begun": operation.at.isoformat(),
        "ended": operation.ended.isoformat() if operation.ended is not None else None,
        "cancelling": operation.cancelling,
        "waits": list(far.waits) if far is not None and operation.ended is None else [],
        "holder": {"host": holder.host, "pid": holder.pid} if holder is not None and operation.ended is None else None,
    }
    return Row(cells, data)


def throttle_text(throttle: int | None) -> str:
    """Return ``50 MB/s``, or ``none``."""
    return f"{byte_count(throttle)}/s" if throttle is not None else "none"


def _notes(some: Sequence[Operation], holder: Origin | None) -> Iterator[str]:
    for operation in some:
        if operation.ended is not None:
            continue
        if operation.progress is not None:
            for line in operation.progress.waits:
                yield f"! {operation.number} waits: {line}"
        if holder is not None:
            yield f"{operation.number}: process {holder.pid} on {holder.host} works on it"
        else:
            yield f"! {operation.number}: no process works on it; kac moves --continue does"


def running_moves_table(
    snapshot: Snapshot, owners: Mapping[TopicPartition, int], problems: tuple[ReadFailure, ...] = ()
) -> Table:
    """Return all reassignments under way. owners: the operations of those that this host's journal knows."""
    rows = []
    for place, move in sorted(moves_in(snapshot).items()):
        copied, left = copied_bytes(snapshot, [place])
        owner = owners.get(place)
        before, after = commas(original(move)), commas(destination(move))
        cells = (
            move.topic,
            str(move.partition),
            before,
            after,
            byte_count(copied),
            byte_count(left),
            str(owner) if owner is not None else UNKNOWN_OWNER,
        )
        data: dict[str, Data] = {
            "topic": move.topic,
            "partition": move.partition,
            "from": list(original(move)),
            "to": list(destination(move)),
            "copied": copied,
            "left": left,
            "operation": owner,
        }
        rows.append(Row(cells, data))
    return Table("moves", _MOVES, tuple(rows), "moving now", "no partition moves", problems=problems)


_COPIES = tuple(map(Column, ("Topic", "Partition", "Broker", "From", "To", "Copied", "Of", "Behind", "Operation")))


def dir_copies_table(
    snapshot: Snapshot, owners: Mapping[ReplicaPlace, int] = _NO_OWNERS, problems: tuple[ReadFailure, ...] = ()
) -> Table:
    """Return the replicas that brokers copy from one log directory into another; "behind" counts the records that a
    copy lacks. owners: the operations of those that this host's journal knows.
    """
    rows = []
    for (topic, number, broker), copy in dir_copies(snapshot.log_dirs).items():
        owner = owners.get((topic, number, broker))
        cells = (
            topic,
            str(number),
            str(broker),
            copy.before,
            copy.after,
            byte_count(copy.copied),
            byte_count(copy.size),
            str(copy.behind),
            str(owner) if owner is not None else UNKNOWN_OWNER,
        )
        data: dict[str, Data] = {
            "topic": topic,
            "partition": number,
            "broker": broker,
            "from": copy.before,
            "to": copy.after,
            "copied": copy.copied,
            "of": copy.size,
            "behind": copy.behind,
            "operation": owner,
        }
        rows.append(Row(cells, data))
    title = "copied between directories of a broker"
    empty = "no replica is copied between directories of a broker"
    return Table("dir_copies", _COPIES, tuple(rows), title, empty, problems=problems)


def time_left(left: int, rate: float) -> str:
    """Return how long the rest takes at a rate in bytes per second, as text; ``""`` where nothing is copied."""
    return f"{duration(ceil(left / rate) * 1000)} left" if rate > 0 and left else ""
