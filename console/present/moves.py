"""Moves of replicas in progress, and the operations that make them: rows, cells and details. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec import to_builtins

from console.model.cluster import destination, original
from console.model.config import broker_resource, entry_in
from console.model.dead_letters import Redrive
from console.model.journal_lines import Origin
from console.model.numbers import Data, commas, long_number, plural
from console.model.snapshot import DirCopy, ReplicaPlace, Snapshot, TopicPartition, dir_copies
from console.operations.forecast import BrokerForecast, DirForecast
from console.operations.operation import Operation, Progress, copied_bytes
from console.operations.proposal import DirMove, Relocation
from console.plan.amounts import Unit, byte_count, byte_rate
from console.plan.kinds.leaders import preferred_elections
from console.plan.kinds.moves import moves_in
from console.plan.stale_throttles import LOG_DIRS_RATE, RATES
from console.present import columns
from console.present.names import NOTHING
from console.present.text import Cell, Line, clean
from console.triage.moves import STALLS, Copy

Replica = tuple[str, int, int]
R = TypeVar("R")
OUTSIDE = "not of this host's journal"
"""Text in place of the operation, for a move that another host or another tool began."""


class MoveRow(NamedTuple):
    """A partition whose replicas move to other brokers, a replica that moves into another directory of its broker, or
    an open operation (`place` is None).
    """

    place: TopicPartition | None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    copies: tuple[tuple[int, Copy], ...] = ()
    """(id of a broker that receives a replica, copy) for each copy whose size is known; for an operation, those of all
    its moves.
    """
    dead: tuple[int, ...] = ()
    """The ids of the brokers that should receive a replica, but are not alive."""
    limits: tuple[tuple[int, int], ...] = ()
    """(broker id, its throttle in bytes/s) for the brokers that take part in the copy."""
    operation: Operation | None = None
    """The operation that makes the move, or that the row itself is; None for a move that no operation of this host
    makes.
    """
    worker: str = ""
    """The process that runs the operation, as text; ``""`` if none does."""
    within: tuple[int, str, str] | None = None
    """For a replica that moves within its broker: the broker id, and the directories before and after; None for any
    other row.
    """
    held: tuple[int, int] = (0, 0)
    """The number of bytes that a partition's new replicas have, and the number that they lack, if only one poll
    shows them (`running_rows`); else (0, 0), and `copies` has them.
    """

    @property
    def still(self) -> tuple[int, ...]:
        """The ids of the brokers that have received no bytes for `STALLS` seconds or more although some are missing."""
        return tuple(broker for broker, copy in self.copies if copy.rests >= STALLS)

    @property
    def stuck(self) -> bool:
        """Whether the move makes no progress, or the operation can't go on."""
        if self.place is None:
            return self.operation is not None and self.operation.is_held_up
        return bool(self.dead or self.still)

    @property
    def name(self) -> str:
        """The name of the row: ``orders/3``, ``orders/3 on 2`` for a replica that stays on its broker, or ``operation
        7``.
        """
        if self.place is not None:
            on = f" on {self.within[0]}" if self.within is not None else ""
            return f"{clean(self.place[0])}/{self.place[1]}{on}"
        return f"operation {self.operation.number}" if self.operation is not None else ""

    def rate(self) -> float | None:
        """Return the total rate of the copies in bytes/s, as far as it is known; None if no rate is known."""
        known = [copy.rate for _, copy in self.copies if copy.rate is not None]
        return sum(known) if known else None

    def left(self) -> float | None:
        """Return the seconds until the last copy is complete; None if that is unknown for one of them."""
        # If the end of one copy is unknown, the end of all is unknown.
        known = [copy.left for _, copy in self.copies]
        return max((each for each in known if each is not None), default=None) if None not in known else None


def move_rows(
    snapshot: Snapshot,
    copies: Mapping[Replica, Copy],
    within: Mapping[Replica, Copy],
    operations: Sequence[Operation],
    worker: str,
) -> list[MoveRow]:
    """Return the rows of moves and of the open operations. Rates need at least two polls.

    Args:
        snapshot: has the moves, the configs of throttles and the log directories.
        copies: replica -> its measured copy to another broker.
        within: replica -> its measured copy to another directory of its broker.
        operations: the open operations.
        worker: the process that runs the operations, as text; ``""`` if none does.

    Returns:
        The operations, then the stuck moves, then the other moves.
    """
    # A fenced broker fetches nothing: its copy ends only after it is back.
    alive = {broker.id for broker in snapshot.cluster.brokers if not broker.fenced}
    owners = {place: each for each in operations for place in each.running(snapshot)}
    rows = []
    for place, move in moves_in(snapshot).items():
        held = tuple((b, copies[*place, b]) for b in move.adding if (*place, b) in copies)
        limits = tuple((b, rate) for b in move.adding if (rate := _throttle(snapshot, b, RATES[1])) is not None)
        dead = tuple(broker for broker in move.adding if broker not in alive)
        rows.append(MoveRow(place, original(move), destination(move), held, dead, limits, owners.get(place), worker))
    rows += _rows_within(snapshot, within, operations, worker)
    # Sort stuck moves first: they are the reason why an operator opens the pane.
    rows.sort(key=lambda row: (not row.stuck, row.place, row.within or ()))
    heads = []
    # An operation shows the progress of all its moves together.
    for each in operations:
        held = tuple(copy for row in rows if row.operation is each for copy in row.copies)
        heads.append(MoveRow(None, copies=held, operation=each, worker=worker))
    return [*heads, *rows]


def running_rows(snapshot: Snapshot, operations: Sequence[Operation]) -> list[MoveRow]:
    """Return the rows of the partitions whose replicas move between brokers, known from one poll, so without rates.

    Args:
        snapshot: has the moves and the log directories.
        operations: the open operations.

    Returns:
        The rows, sorted by topic and partition.
    """
    owners = {place: each for each in operations for place in each.running(snapshot)}
    return [
        MoveRow(
            place,
            original(move),
            destination(move),
            operation=owners.get(place),
            held=copied_bytes(snapshot, [place]),
        )
        for place, move in sorted(moves_in(snapshot).items())
    ]


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
    entry = entry_in(snapshot.configs, broker_resource(broker), key)
    rate = long_number(entry.value) if entry is not None else None
    # The largest 64-bit integer, Kafka's default, means no limit.
    return rate if rate is not None and rate < 2**63 - 1 else None


# -- cells -------------------------------------------------------------------------------------------------------------


def _to_cell(row: MoveRow) -> Cell:
    if row.within is not None:
        return clean(row.within[2], 60)
    return commas(row.after) if row.place is not None else clean(str(row.operation.goal if row.operation else ""), 60)


def _copied_cell(row: MoveRow) -> Cell:
    if row.operation is not None and row.place is None and (letters := row.operation.letters) is not None:
        done = letters.sent + letters.stayed
        return f"{done:,} of {done + letters.left:,}"
    if not row.copies:
        return (NOTHING, "muted")
    return _of(sum(copy.size for _, copy in row.copies), sum(copy.whole for _, copy in row.copies))


def _of(copied: int, whole: int) -> str:
    # A replica may grow while it is copied: show at most the size of the whole.
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
        return (state, "failed") if row.stuck else columns.time_text(row.left()) or state
    if row.dead:
        return ("broker down", "failed")
    if row.still:
        return (f"stuck {columns.time_text(max(copy.rests for _, copy in row.copies))}", "failed")
    return columns.time_text(row.left())


def _bytes(name: str, title: str, get: Callable[[R], int]) -> columns.Column[R]:
    """Return a column of a number of bytes; a negative number means unknown."""

    def text(row: R) -> str:
        return byte_count(held) if (held := get(row)) >= 0 else "unknown"

    def value(row: R) -> int | None:
        return held if (held := get(row)) >= 0 else None

    return columns.Column(name, columns.TOLD, value, "number", Unit.BYTES, title=title, text=text, left=True)


def _owner_column(get: Callable[[R], Operation | None]) -> columns.Column[R]:
    """Return the column of the operation that makes a move."""

    def value(row: R) -> int | None:
        return operation.number if (operation := get(row)) is not None else None

    def text(row: R) -> str:
        return OUTSIDE if (number := value(row)) is None else str(number)

    return columns.Column("operation", columns.TOLD, value, "number", text=text, left=True)


MOVES: columns.Columns[MoveRow] = columns.Columns(
    columns.Column("topic", columns.TOLD, lambda row: columns.ABSENT if row.place is None else row.place[0]),
    columns.Column(
        "partition",
        columns.TOLD,
        lambda row: columns.ABSENT if row.place is None else row.place[1],
        "number",
        left=True,
    ),
    columns.Column(
        "place",
        columns.SCREEN,
        cell=lambda row: (f"! {row.name}", "failed") if row.stuck else f"  {row.name}",
        order=lambda row: (row.place is not None, row.place or ("", 0)),
        layout=columns.on_screen((14, 40), "Topic, partition", priority=100, sort_key="P"),
    ),
    columns.Column(
        "from",
        get=lambda row: list(row.before),
        type="object",
        cell=lambda row: clean(row.within[1], 60) if row.within is not None else commas(row.before),
        layout=columns.on_screen((6, 16), priority=80),
    ),
    columns.Column(
        "to",
        get=lambda row: list(row.after),
        type="object",
        cell=_to_cell,
        layout=columns.on_screen((8, 24), priority=85),
    ),
    columns.Column(
        "copied",
        get=lambda row: row.held[0],
        type="number",
        unit=Unit.BYTES,
        cell=_copied_cell,
        text=lambda row: byte_count(row.held[0]),
        left=True,
        layout=columns.on_screen((19, 26), align="right", priority=95),
    ),
    columns.Column(
        "rate",
        columns.SCREEN,
        cell=_rate_cell,
        order=lambda row: columns.highest_first(row.rate()),
        layout=columns.on_screen((8, 14), align="right", priority=75, sort_key="B"),
    ),
    columns.Column(
        "time_left", columns.SCREEN, cell=_left_cell, layout=columns.on_screen((8, 14), "Left", priority=90)
    ),
    _bytes("left", "Left", lambda row: row.held[1]),
    _owner_column(lambda row: row.operation),
    views=columns.TOLD | columns.SCREEN,
)
"""The columns of moves between brokers. The screen, which polls repeatedly, has the time left; the text of `list` has
the bytes left.
"""


class CopyRow(NamedTuple):
    """A replica that its broker copies from one log directory into another, and the operation that requested that; None
    if no operation of this host did.
    """

    place: ReplicaPlace
    copy: DirCopy
    operation: Operation | None = None


def copy_rows(snapshot: Snapshot, operations: Sequence[Operation]) -> list[CopyRow]:
    """Return the replicas that brokers copy between their log directories.

    Args:
        snapshot: has the log directories.
        operations: the open operations.
    """
    owners = {place: each for each in operations for place in each.copying(snapshot)}
    return [CopyRow(place, copy, owners.get(place)) for place, copy in dir_copies(snapshot.log_dirs).items()]


COPIES: columns.Columns[CopyRow] = columns.Columns(
    columns.Column("topic", columns.TOLD, lambda row: row.place[0]),
    columns.Column("partition", columns.TOLD, lambda row: row.place[1], "number", left=True),
    columns.Column("broker", columns.TOLD, lambda row: row.place[2], "number", left=True),
    columns.Column("from", columns.TOLD, lambda row: row.copy.before),
    columns.Column("to", columns.TOLD, lambda row: row.copy.after),
    _bytes("copied", "Copied", lambda row: row.copy.copied),
    _bytes("of", "Of", lambda row: row.copy.size),
    columns.Column("behind", columns.TOLD, lambda row: row.copy.behind, "number", left=True),
    _owner_column(lambda row: row.operation),
)
"""The columns of copies between directories of a broker. Behind: the number of records that a copy still lacks."""


class OperationRow(NamedTuple):
    """An operation, open or ended, and the process that runs it."""

    operation: Operation
    holder: Origin | None = None
    """The process that runs an open operation; None if no process does."""

    @property
    def progress(self) -> Progress | None:
        """The operation's progress; None before the first poll, and after its end."""
        return self.operation.progress if self.operation.ended is None else None

    @property
    def copied(self) -> int:
        """The number of bytes that the operation has copied so far; 0 after its end, and for a redrive."""
        return self.progress.copied if self.progress is not None and self.operation.letters is None else 0

    @property
    def left(self) -> int:
        """The number of bytes that the operation still has to copy; 0 after its end, and for a redrive."""
        return self.progress.left if self.progress is not None and self.operation.letters is None else 0

    @property
    def letters(self) -> dict[str, Data] | None:
        """The counts of dead letters of a redrive as data; None for any other operation."""
        found = self.operation.letters
        return None if found is None else dict(to_builtins(found))


def _holder(row: OperationRow) -> Data:
    if row.holder is None or row.operation.ended is not None:
        return None
    return {"host": row.holder.host, "pid": row.holder.pid}


def _done_text(row: OperationRow) -> str:
    if (letters := row.operation.letters) is not None:
        return plural(letters.sent, "letter")
    return byte_count(row.copied if row.operation.ended is None else row.operation.bytes)


def _left_text(row: OperationRow) -> str:
    if row.operation.ended is not None:
        return ""
    letters = row.operation.letters
    return byte_count(row.left) if letters is None else f"{letters.left:,}"


OPERATIONS: columns.Columns[OperationRow] = columns.Columns(
    columns.Column("operation", get=lambda row: row.operation.number, type="number", left=True),
    columns.Column("goal", get=lambda row: str(row.operation.goal)),
    columns.Column("state", get=lambda row: row.operation.state.value, type="word"),
    columns.Column(
        "throttle",
        get=lambda row: row.operation.throttle,
        type="number",
        unit=Unit.BYTES_PER_SECOND,
        text=lambda row: throttle_text(row.operation),
        left=True,
    ),
    columns.Column("steps", get=lambda row: len(row.operation.steps), type="number", left=True),
    columns.Column("partitions", columns.OBJECT, lambda row: len(row.operation.moves()), "number"),
    columns.Column("replicas", columns.OBJECT, lambda row: len(row.operation.dir_moves()), "number"),
    columns.Column("copied", type="number", unit=Unit.BYTES, text=lambda row: _done_text(row), left=True),
    columns.Column("left", type="number", unit=Unit.BYTES, text=lambda row: _left_text(row), left=True),
    columns.Column("letters", columns.OBJECT, type="object"),
    columns.Column(
        "begun", get=lambda row: row.operation.at.isoformat(), text=lambda row: columns.clock(row.operation.at)
    ),
    columns.Column(
        "ended",
        columns.OBJECT,
        lambda row: row.operation.ended.isoformat() if row.operation.ended is not None else None,
    ),
    columns.Column("cancelling", columns.OBJECT, lambda row: row.operation.cancelling, "boolean"),
    columns.Column(
        "waits", columns.OBJECT, lambda row: list(row.progress.waits) if row.progress is not None else [], "object"
    ),
    columns.Column("holder", columns.OBJECT, _holder, "object"),
    views=columns.TOLD,
)
"""The columns of operations with their progress. After its end, an operation's text has all of its bytes as copied;
data have 0, as in `OperationRow.copied`.
"""


# -- the moves of a proposal -------------------------------------------------------------------------------------------


def _copies(move: Relocation) -> str:
    copies = byte_count(move.size) if move.added else "nothing"
    return f"{len(move.added)} × {copies}" if len(move.added) > 1 else copies


RELOCATIONS: columns.Columns[Relocation] = columns.Columns(
    columns.Column("topic", columns.TOLD),
    columns.Column("partition", columns.TOLD, lambda move: move.number, "number", left=True),
    columns.Column(
        "from",
        columns.TOLD,
        lambda move: list(move.before),
        "object",
        text=lambda move: commas(move.before),
    ),
    columns.Column("to", columns.TOLD, lambda move: list(move.after), "object", text=lambda move: commas(move.after)),
    columns.Column("bytes", columns.TOLD, type="number", unit=Unit.BYTES, title="Copies", text=_copies, left=True),
)
"""The columns of partitions that a proposal moves between brokers."""
DIR_MOVES: columns.Columns[DirMove] = columns.Columns(
    columns.Column("topic", columns.TOLD),
    columns.Column("partition", columns.TOLD, lambda move: move.number, "number", left=True),
    columns.Column("broker", columns.TOLD, type="number", left=True),
    columns.Column("from", columns.TOLD, lambda move: move.before),
    columns.Column("to", columns.TOLD, lambda move: move.after),
    _bytes("bytes", "Copies", lambda move: move.size),
)
"""The columns of replicas that a proposal moves into another directory of their broker."""


def _before_after(
    name: str, title: str, get: Callable[[R], tuple[int, int]], text: Callable[[int], str]
) -> columns.Column[R]:
    """Return the column of a number before and after all moves of a proposal."""

    def shown(row: R) -> str:
        before, after = get(row)
        return f"{text(before)} → {text(after)}"

    return columns.Column(name, columns.TOLD, lambda row: list(get(row)), "object", title=title, text=shown)


def _count(number: int) -> str:
    return f"{number:,}"


BROKERS_AFTER: columns.Columns[BrokerForecast] = columns.Columns(
    columns.Column("broker", columns.TOLD, lambda each: each.id, "number", left=True),
    _before_after("replicas", "Replicas", lambda each: each.replicas, _count),
    _before_after("leads", "Leads", lambda each: each.leads, _count),
    _before_after("bytes", "Holds", lambda each: each.bytes, byte_count),
    _bytes("copied", "Copies", lambda each: each.copied),
    _bytes("read", "Is read", lambda each: each.read),
    _bytes("free", "Free then", lambda each: each.free),
)
"""The columns of brokers before and after the moves of a proposal."""
DIRS_AFTER: columns.Columns[DirForecast] = columns.Columns(
    columns.Column("broker", columns.TOLD, type="number", left=True),
    columns.Column("directory", columns.TOLD, lambda each: each.path),
    _before_after("replicas", "Replicas", lambda each: each.replicas, _count),
    _before_after("bytes", "Holds", lambda each: each.bytes, byte_count),
    _bytes("copied", "Copies", lambda each: each.copied),
    _bytes("free", "Free then", lambda each: each.free),
)
"""The columns of log directories before and after the moves of a proposal."""


# -- details of a move -------------------------------------------------------------------------------------------------


def summary(rows: Sequence[MoveRow]) -> Line:
    """Return a line with the number of moves in progress, and of the stuck ones among them."""
    moving = [row for row in rows if row.place is not None]
    stuck = sum(row.stuck for row in moving)
    line: Line = [("moves", "strong"), (f"  {len(moving) - stuck} running", "")]
    return [*line, (f"  {stuck} stuck", "failed")] if stuck else line


def limit_text(rows: Sequence[MoveRow]) -> str:
    """Return the throttle of the brokers that copy; if they have several, the lowest and the highest; ``""`` if they
    have none.
    """
    rates = sorted({rate for row in rows for _, rate in row.limits})
    if not rates:
        return ""
    span = byte_rate(rates[0]) if len(rates) == 1 else f"{byte_rate(rates[0])} to {byte_rate(rates[-1])}"
    return f"limit {span}"


def detail_lines(row: MoveRow, snapshot: Snapshot) -> list[Line]:
    """Return the details of a move or operation: its name, why it is stuck, and the effects of the keys.

    Args:
        snapshot: has the leaders, for a last line about leader elections.
    """
    lines: list[Line] = [[(row.name, "")]]
    lines += _operation_lines(row) if row.operation is not None else [_labelled("Owner", OUTSIDE)]
    if row.place is not None:
        lines += _move_lines(row)
    return [*lines, *leader_lines(snapshot)]


def _labelled(label: str, text: str, meaning: str = "") -> Line:
    return [(f"{label:<11}", "muted"), (clean(text, 300), meaning)]


def _operation_lines(row: MoveRow) -> Iterator[Line]:
    operation = row.operation
    assert operation is not None
    told = f"{operation.number}: {operation.goal}, {operation.state.value}, since {columns.clock(operation.at)}"
    yield _labelled("Operation", told)
    for line in operation.progress.waits if operation.progress is not None else ():
        yield _labelled("Waits" if operation.is_held_up else "Note", line, "failed" if operation.is_held_up else "")
    worker = row.worker or "no process; W goes on with it here, kac moves --continue elsewhere"
    yield _labelled("Worker", worker, "" if row.worker else "pending")
    if isinstance(operation.goal, Redrive):
        if operation.letters is not None:
            yield _labelled("Letters", str(operation.letters))
        if operation.letters is not None and operation.letters.canary:
            yield _labelled("The first", operation.letters.canary)
        asks = f":operation {operation.number} {'go-on' if operation.paused else 'pause'}"
        yield _labelled("Throttle", f"{throttle_text(operation)}; t changes it; {asks}")
        yield _labelled("x asks", "to cancel it: what it has sent stays, the other letters stay where they are")
    elif row.place is None:
        asks = "t changes it, K ends without brokers that do not answer"
        yield _labelled("Throttle", f"{throttle_text(operation)}; {asks}")
        yield _labelled("x asks", "to cancel it: what it moves now goes back; what it has moved stays")


def throttle_text(operation: Operation) -> str:
    """Return the limit of an operation's rate as text: bytes/s, or letters/s for a redrive; ``none`` without a
    limit.
    """
    if operation.throttle is None:
        return "none"
    if isinstance(operation.goal, Redrive):
        return f"{operation.throttle:,} letters/s"
    return byte_rate(operation.throttle)


def _move_lines(row: MoveRow) -> Iterator[Line]:
    if row.dead:
        yield _labelled("Cause", f"broker {commas(row.dead)} is down: no byte can arrive", "failed")
    for broker, copy in row.copies:
        if broker in row.still:
            yield _labelled("Stuck", f"no byte since {columns.clock(copy.moved)}; broker {broker} is alive", "failed")
    for broker, rate in row.limits:
        what = "follower throttle" if row.within is None else "throttle between directories"
        yield _labelled("Limit", f"{what} of broker {broker} is {byte_rate(rate)}")
    if row.stuck:
        yield _labelled("F", "stages the cancellation" if row.dead or not row.limits else "raises the throttle for 2 h")
    if row.within is not None:
        yield _labelled("Copies", f"from {row.within[1]} into {row.within[2]}")
    yield _labelled("x stages", f"cancel: back to {row.within[1] if row.within is not None else commas(row.before)}")


def leader_lines(snapshot: Snapshot) -> Iterator[Line]:
    """Yield a line about the brokers that do not lead all partitions of which they are the preferred leader; nothing if
    there are none.
    """
    wanted: dict[int, int] = {}
    for edit in preferred_elections(snapshot.topics):
        topic = snapshot.topics[edit.topic]
        first = next(each.replicas[0] for each in topic.partitions if each.number == edit.partition)
        wanted[first] = wanted.get(first, 0) + 1
    if wanted:
        told = ", ".join(f"broker {broker}: {count:,}" for broker, count in sorted(wanted.items()))
        yield _labelled("E elects", f"preferred leaders, {told}")
