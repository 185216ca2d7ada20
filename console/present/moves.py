"""Moves of partitions as they go on, and the operations that they belong to: rows, cells, and all about one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from console.model.config import broker_resource
from console.model.numbers import commas, long_number
from console.model.snapshot import Snapshot, TopicPartition, dir_copies
from console.operations.operation import Operation
from console.plan.amounts import byte_count, byte_rate
from console.plan.kinds.leaders import preferred_elections
from console.plan.kinds.moves import destination, moves_in, original
from console.plan.stale_throttles import LOG_DIRS_RATE, RATES
from console.present.columns import SCREEN, Column, Columns, clock, highest_first, time_text
from console.present.names import NOTHING
from console.present.text import Cell, Line, clean
from console.triage.moves import STALLS, Copy
from widgets.row_source import Column as ScreenColumn

Replica = tuple[str, int, int]


class MoveRow(NamedTuple):
    """A partition that moves, a replica that moves into another directory of its broker, or an open operation.

    copies: by the broker that gets a replica, of those whose size is known; of an operation those of all its moves.
    dead: brokers that get a replica and are not alive. limits: brokers that copy, with their throttle in bytes/s.
    operation: of the move, or the row itself. worker: who works on the operation, ``""`` for no process. within: the
    broker of a replica that stays on it, and its directories before and after.
    """

    place: TopicPartition | None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    copies: tuple[tuple[int, Copy], ...] = ()
    dead: tuple[int, ...] = ()
    limits: tuple[tuple[int, int], ...] = ()
    operation: Operation | None = None
    worker: str = ""
    within: tuple[int, str, str] | None = None

    @property
    def still(self) -> tuple[int, ...]:
        """Brokers that get no byte though some are missing."""
        return tuple(broker for broker, copy in self.copies if copy.rests >= STALLS)

    @property
    def stuck(self) -> bool:
        """Whether it does not go on."""
        if self.place is None:
            return self.operation is not None and self.operation.is_held_up
        return bool(self.dead or self.still)

    @property
    def name(self) -> str:
        """``orders/3``, ``orders/3 on 2`` of a replica that stays on its broker, or ``operation 7``."""
        if self.place is not None:
            on = f" on {self.within[0]}" if self.within is not None else ""
            return f"{clean(self.place[0])}/{self.place[1]}{on}"
        return f"operation {self.operation.number}" if self.operation is not None else ""

    def rate(self) -> float | None:
        """Return the bytes per second of all copies together; None if unknown."""
        known = [copy.rate for _, copy in self.copies if copy.rate is not None]
        return sum(known) if known else None

    def left(self) -> float | None:
        """Return the seconds until the last copy is complete; None if unknown."""
        known = [copy.left for _, copy in self.copies]
        return max((each for each in known if each is not None), default=None) if None not in known else None


def move_rows(
    snapshot: Snapshot,
    copies: Mapping[Replica, Copy],
    within: Mapping[Replica, Copy],
    operations: Sequence[Operation],
    worker: str,
) -> list[MoveRow]:
    """Return the rows of moves and of the operations that they belong to.

    Args:
        snapshot: has the moves, the configs of throttles and the log directories.
        copies: the replicas that are copied to another broker, as they were measured.
        within: the replicas that are copied between directories of a broker.
        operations: those that are not over.
        worker: the process that works on them, ``""`` for none.

    Returns:
        The operations, then the moves that are stuck, then the others.
    """
    alive = {broker.id for broker in snapshot.cluster.brokers if not broker.fenced}
    owners = {place: each for each in operations for place in each.running(snapshot)}
    rows = []
    for place, move in moves_in(snapshot).items():
        held = tuple((b, copies[*place, b]) for b in move.adding if (*place, b) in copies)
        limits = tuple((b, rate) for b in move.adding if (rate := _throttle(snapshot, b, RATES[1])) is not None)
        dead = tuple(broker for broker in move.adding if broker not in alive)
        rows.append(MoveRow(place, original(move), destination(move), held, dead, limits, owners.get(place), worker))
    rows += _rows_within(snapshot, within, operations, worker)
    rows.sort(key=lambda row: (not row.stuck, row.place, row.within or ()))
    heads = []
    for each in operations:
        held = tuple(copy for row in rows if row.operation is each for copy in row.copies)
        heads.append(MoveRow(None, copies=held, operation=each, worker=worker))
    return [*heads, *rows]


def _rows_within(
    snapshot: Snapshot, within: Mapping[Replica, Copy], operations: Sequence[Operation], worker: str
) -> Iterator[MoveRow]:
    owners = {place: each for each in operations for place in each.copying(snapshot)}
    for place, copy in dir_copies(snapshot.log_dirs).items():
        topic, number, broker = place
        held = ((broker, within[place]),) if place in within else ()
        rate = _throttle(snapshot, broker, LOG_DIRS_RATE)
        limits = ((broker, rate),) if rate is not None else ()
        yield MoveRow(
            (topic, number),
            copies=held,
            limits=limits,
            operation=owners.get(place),
            worker=worker,
            within=(broker, copy.before, copy.after),
        )


def _throttle(snapshot: Snapshot, broker: int, key: str) -> int | None:
    configs = snapshot.configs.get(broker_resource(broker))
    entry = configs.get(key) if configs is not None else None
    rate = long_number(entry.value) if entry is not None else None
    return rate if rate is not None and rate < 2**63 - 1 else None


# -- cells -------------------------------------------------------------------------------------------------------------


def _name_cell(row: MoveRow) -> Cell:
    return (f"! {row.name}", "failed") if row.stuck else f"  {row.name}"


def _from_cell(row: MoveRow) -> Cell:
    return clean(row.within[1], 60) if row.within is not None else commas(row.before)


def _to_cell(row: MoveRow) -> Cell:
    if row.within is not None:
        return clean(row.within[2], 60)
    return commas(row.after) if row.place is not None else clean(str(row.operation.goal if row.operation else ""), 60)


def _copied_cell(row: MoveRow) -> Cell:
    if not row.copies:
        return (NOTHING, "muted")
    return _of(sum(copy.size for _, copy in row.copies), sum(copy.whole for _, copy in row.copies))


def _of(copied: int, whole: int) -> str:
    have, unit = _short(min(copied, whole)).split(" ")
    all_, unit_of_all = _short(whole).split(" ")
    return f"{have} of {all_} {unit}" if unit == unit_of_all else f"{have} {unit} of {all_} {unit_of_all}"


def _short(count: int) -> str:
    return byte_count(count).removeprefix("≈ ")


def _rate_cell(row: MoveRow) -> Cell:
    rate = row.rate()
    return (NOTHING, "muted") if rate is None else byte_rate(max(0, round(rate))).removeprefix("≈ ")


def _left_cell(row: MoveRow) -> Cell:
    if row.place is None:
        state = row.operation.state.value if row.operation is not None else ""
        return (state, "failed") if row.stuck else time_text(row.left()) or state
    if row.dead:
        return ("broker down", "failed")
    if row.still:
        return (f"stuck {time_text(max(copy.rests for _, copy in row.copies))}", "failed")
    return time_text(row.left())


MOVES: Columns[MoveRow] = Columns(
    Column(
        "place",
        SCREEN,
        cell=_name_cell,
        order=lambda row: (row.place is not None, row.place or ("", 0)),
        layout=ScreenColumn("place", "Topic, partition", min_width=14, max_width=40, priority=100, sort_key="P"),
    ),
    Column(
        "before",
        SCREEN,
        cell=_from_cell,
        layout=ScreenColumn("before", "From", min_width=6, max_width=16, priority=80),
    ),
    Column("after", SCREEN, cell=_to_cell, layout=ScreenColumn("after", "To", min_width=8, max_width=24, priority=85)),
    Column(
        "copied",
        SCREEN,
        cell=_copied_cell,
        layout=ScreenColumn("copied", "Copied", min_width=19, max_width=26, align="right", priority=95),
    ),
    Column(
        "rate",
        SCREEN,
        cell=_rate_cell,
        order=lambda row: highest_first(row.rate()),
        layout=ScreenColumn("rate", "Rate", min_width=8, max_width=14, align="right", priority=75, sort_key="B"),
    ),
    Column(
        "left", SCREEN, cell=_left_cell, layout=ScreenColumn("left", "Left", min_width=8, max_width=14, priority=90)
    ),
)


# -- all about one -----------------------------------------------------------------------------------------------------


def summary(rows: Sequence[MoveRow]) -> Line:
    """Return a line on how many partitions move, and how many of these are stuck."""
    moving = [row for row in rows if row.place is not None]
    stuck = sum(row.stuck for row in moving)
    line: Line = [("moves", "strong"), (f"  {len(moving) - stuck} running", "")]
    return [*line, (f"  {stuck} stuck", "failed")] if stuck else line


def limit_text(rows: Sequence[MoveRow]) -> str:
    """Return the throttles of the brokers that copy, ``""`` for none."""
    rates = sorted({rate for row in rows for _, rate in row.limits})
    if not rates:
        return ""
    span = byte_rate(rates[0]) if len(rates) == 1 else f"{byte_rate(rates[0])} to {byte_rate(rates[-1])}"
    return f"limit {span}"


def detail_lines(row: MoveRow, snapshot: Snapshot) -> list[Line]:
    """Return all about a move or operation: its name, why it is stuck, and what the keys do.

    Args:
        snapshot: has the leaders, on which the last line is.
    """
    lines: list[Line] = [[(row.name, "")]]
    lines += _of_operation(row) if row.operation is not None else [_labelled("Owner", "not of this host's journal")]
    if row.place is not None:
        lines += _of_move(row)
    return [*lines, *leader_lines(snapshot)]


def _labelled(label: str, text: str, meaning: str = "") -> Line:
    return [(f"{label:<11}", "muted"), (clean(text, 300), meaning)]


def _of_operation(row: MoveRow) -> Iterator[Line]:
    operation = row.operation
    assert operation is not None
    told = f"{operation.number}: {operation.goal}, {operation.state.value}, since {clock(operation.at)}"
    yield _labelled("Operation", told)
    for line in operation.progress.waits if operation.progress is not None else ():
        yield _labelled("Waits" if operation.is_held_up else "Note", line, "failed" if operation.is_held_up else "")
    worker = row.worker or "no process; W goes on with it here, kac moves --continue elsewhere"
    yield _labelled("Worker", worker, "" if row.worker else "pending")
    if row.place is None:
        rate = byte_rate(operation.throttle) if operation.throttle is not None else "none"
        yield _labelled("Throttle", f"{rate}; t changes it, K ends without brokers that do not answer")
        yield _labelled("x asks", "to cancel it: what it moves now goes back; what it has moved stays")


def _of_move(row: MoveRow) -> Iterator[Line]:
    if row.dead:
        yield _labelled("Cause", f"broker {commas(row.dead)} is down: no byte can arrive", "failed")
    for broker, copy in row.copies:
        if broker in row.still:
            yield _labelled("Stuck", f"no byte since {clock(copy.moved)}; broker {broker} is alive", "failed")
    for broker, rate in row.limits:
        what = "follower throttle" if row.within is None else "throttle between directories"
        yield _labelled("Limit", f"{what} of broker {broker} is {byte_rate(rate)}")
    if row.stuck:
        yield _labelled("F", "stages the cancellation" if row.dead or not row.limits else "raises the throttle for 2 h")
    if row.within is not None:
        yield _labelled("Copies", f"from {row.within[1]} into {row.within[2]}")
    yield _labelled("x stages", f"cancel: back to {row.within[1] if row.within is not None else commas(row.before)}")


def leader_lines(snapshot: Snapshot) -> Iterator[Line]:
    """Yield a line on the brokers that do not lead the partitions whose preferred leader they are; nothing where there
    are no such brokers."""
    wanted: dict[int, int] = {}
    for edit in preferred_elections(snapshot.topics):
        topic = snapshot.topics[edit.topic]
        first = next(each.replicas[0] for each in topic.partitions if each.number == edit.partition)
        wanted[first] = wanted.get(first, 0) + 1
    if wanted:
        told = ", ".join(f"broker {broker}: {count:,}" for broker, count in sorted(wanted.items()))
        yield _labelled("E elects", f"preferred leaders, {told}")
