"""An operation: a goal that kac reaches step by step, unless an operator cancels it. Pure values.

The goal is stored, not a list of moves, because each step is planned from a new snapshot. The journal contains
everything about an operation (`console.journal.operations`), so that any process on this host can continue it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from console.model import snapshot as model_snapshot
from console.model.cluster import destination
from console.model.journal_lines import Origin, Who
from console.operations.goals import Goal
from console.operations.proposal import DirMove, Relocation
from console.operations.throttle import Owned, Throttles
from console.plan.kinds.moves import moves_in


class State(StrEnum):
    """The state of an operation."""

    WAITING = "waiting"
    """Nothing can be sent now, for the reasons in `Progress.waits`."""
    SENT = "sent"
    """A step is being sent; its outcome is not known yet."""
    RUNNING = "running"
    """Brokers copy replicas."""
    STALLED = "stalled"
    """There was no progress for a while: brokers copied nothing, or a redrive could not continue."""
    DONE = "done"
    CANCELLED = "cancelled"


class Step(Struct, frozen=True):
    """A step of an operation: moves, changes of throttles, or elections. It is written to the journal before its change
    is sent.
    """

    at: datetime
    deadline: datetime
    """The time by which the step should be done, UTC."""
    moves: tuple[Relocation, ...] = ()
    """Moves between brokers, each with the replicas before and after."""
    sets: Throttles = Throttles()
    """The throttles that the step sets. The record shows that they belong to the operation, which removes them when no
    move needs them.
    """
    dirs: tuple[DirMove, ...] = ()
    """Moves between log directories of a broker."""
    elects: tuple[model_snapshot.TopicPartition, ...] = ()
    """The partitions whose preferred replica is elected leader."""


class SentLetters(Struct, frozen=True):
    """A committed transaction of a redrive. It is written to the journal after the commit, so that letters that come
    back can be recognized.

    Attributes:
        reached: partition of the dead-letter topic -> the first offset that the redrive has not looked at yet.
        written: topic, partition, offset of the first record (-1 if no broker returned it), and number of records.
        hash: the hash of all records, in their order.
        is_canary: whether it has a single letter, which is sent first to see whether it fails again.
    """

    at: datetime
    reached: tuple[tuple[int, int], ...]
    written: tuple[tuple[str, int, int, int], ...] = ()
    hash: str = ""
    is_canary: bool = False


class Letters(Struct, frozen=True):
    """The counts of a redrive's letters.

    Attributes:
        sent, stayed: the numbers of letters that this redrive and earlier ones of the same selection have sent, and
            have left in the dead-letter topic.
        left: the number of offsets that none of these redrives has looked at.
        came_back: the number of sent letters that are in the dead-letter topic again.
        newer: the number of other letters that were added since the redrive began.
        canary: a text on what became of the letter that was sent first; ``""`` until that is known.
    """

    sent: int = 0
    stayed: int = 0
    left: int = 0
    came_back: int = 0
    newer: int = 0
    canary: str = ""

    def __str__(self) -> str:
        parts = [f"{self.sent:,} sent", f"{self.stayed:,} stay", f"{self.left:,} left"]
        parts += [f"{self.came_back:,} came back"] if self.came_back else []
        parts += [f"{self.newer:,} new"] if self.newer else []
        return ", ".join(parts)


class Progress(Struct, frozen=True):
    """The progress of an operation, as it was last recorded."""

    at: datetime
    state: State
    copied: int = 0
    """The bytes that brokers have copied for the running moves; for a redrive, the number of letters that were
    processed.
    """
    left: int = 0
    """The bytes that are still to be copied; for a redrive, the number of letters that are still to be processed."""
    waits: tuple[str, ...] = ()
    """The reasons for waiting, one line each."""
    letters: Letters | None = None
    """The counts of a redrive's letters; None for other operations."""

    @property
    def is_held_up(self) -> bool:
        """Whether the operation waits while no broker copies anything for it."""
        return self.state in (State.WAITING, State.STALLED) and bool(self.waits)


class Operation(Struct, frozen=True):
    """An operation on a cluster: its goal, its steps so far, and its progress."""

    number: int
    """The number of the operation, from the same sequence as the numbers of changes."""
    at: datetime
    context: str
    who: Who
    origin: Origin
    goal: Goal
    throttle: int | None = None
    """The bytes per second that each broker may copy, and that may be copied from it; for a redrive, the letters per
    second. None for no throttle.
    """
    steps: tuple[Step, ...] = ()
    progress: Progress | None = None
    cancelling: bool = False
    """Whether an operator has cancelled the operation."""
    gives_up: bool = False
    """Whether the operation may end although brokers that do not answer may still have throttles that it has set or,
    after a cancellation, may still copy for it between their directories.
    """
    ended: datetime | None = None
    """The time at which the operation ended, UTC; None if it has not ended."""
    sent: tuple[SentLetters, ...] = ()
    """The committed transactions of a redrive; empty for other operations."""
    paused: bool = False
    """Whether an operator has paused the operation; redrives only."""

    @property
    def state(self) -> State:
        """The state as it was last recorded."""
        return self.progress.state if self.progress is not None else State.WAITING

    @property
    def is_held_up(self) -> bool:
        """Whether the operation waits while no broker copies anything for it."""
        return self.progress is not None and self.progress.is_held_up

    def moves(self) -> Mapping[model_snapshot.TopicPartition, Relocation]:
        """Return (topic, partition) -> the operation's last move of the partition."""
        return {(move.topic, move.number): move for step in self.steps for move in step.moves}

    def originals(self) -> Mapping[model_snapshot.TopicPartition, tuple[int, ...]]:
        """Return (topic, partition) -> the replicas before the operation's first move of the partition."""
        found: dict[model_snapshot.TopicPartition, tuple[int, ...]] = {}
        for step in self.steps:
            for move in step.moves:
                # The first move of a partition counts, as later ones start from the operation's own placement.
                found.setdefault((move.topic, move.number), move.before)
        return found

    def dir_moves(self) -> Mapping[model_snapshot.ReplicaPlace, DirMove]:
        """Return (topic, partition, broker) -> the operation's last move of this replica to another directory."""
        return {move.place: move for step in self.steps for move in step.dirs}

    def dir_originals(self) -> Mapping[model_snapshot.ReplicaPlace, str]:
        """Return (topic, partition, broker) -> the directory of this replica before the operation's first move."""
        found: dict[model_snapshot.ReplicaPlace, str] = {}
        for step in self.steps:
            for move in step.dirs:
                found.setdefault(move.place, move.before)
        return found

    @property
    def letters(self) -> Letters | None:
        """The counts of a redrive's letters; None before it has begun, and for other operations."""
        return self.progress.letters if self.progress is not None else None

    @property
    def has_moves(self) -> bool:
        """Whether a step of the operation moves replicas between brokers or directories."""
        return any(step.moves or step.dirs for step in self.steps)

    @property
    def bytes(self) -> int:
        """The bytes that the operation copies. If it moves a partition or a replica several times, only the last
        move counts.
        """
        return sum(move.bytes for move in self.moves().values()) + sum(move.size for move in self.dir_moves().values())

    def owned(self) -> Owned:
        """Return all throttles that the operation has set so far."""
        return Owned.of(step.sets for step in self.steps)

    def running(self, snapshot: model_snapshot.Snapshot) -> Mapping[model_snapshot.TopicPartition, Relocation]:
        """Return (topic, partition) -> the operation's running move. A running move to other brokers than the operation
        chose belongs to another tool, and is left out.
        """
        mine = self.moves()
        return {
            place: mine[place]
            for place, move in moves_in(snapshot).items()
            if place in mine and destination(move) == mine[place].after
        }

    def copying(
        self, snapshot: model_snapshot.Snapshot
    ) -> Mapping[model_snapshot.ReplicaPlace, model_snapshot.DirCopy]:
        """Return (topic, partition, broker) -> the running copy between directories that belongs to the operation. A
        copy to another directory than the operation chose belongs to another tool, and is left out.
        """
        mine = self.dir_moves()
        if not mine:
            return {}
        copies = model_snapshot.dir_copies(snapshot.log_dirs)
        return {place: copy for place, copy in copies.items() if place in mine and copy.after == mine[place].after}


def copied_bytes(
    snapshot: model_snapshot.Snapshot,
    places: Iterable[model_snapshot.TopicPartition],
    copies: Iterable[model_snapshot.DirCopy] = (),
) -> tuple[int, int]:
    """Return the number of bytes copied, and the number still to be copied. Both are sums over the new replicas of
    moving partitions and the running copies between directories. A replica of unknown size counts as not copied.

    Args:
        places: the moving partitions.
        copies: the running copies between directories.
    """
    between, left = _copied_between(snapshot, places)
    some = tuple(copies)
    within = sum(min(each.copied, each.size) for each in some)
    return between + within, left + sum(each.size for each in some) - within


def _copied_between(
    snapshot: model_snapshot.Snapshot, places: Iterable[model_snapshot.TopicPartition]
) -> tuple[int, int]:
    moves = moves_in(snapshot)
    wanted = {place: moves[place].adding for place in places if place in moves}
    if not wanted:
        return 0, 0
    whole, held = model_snapshot.replica_sizes(snapshot), model_snapshot.held_sizes(snapshot, wanted.keys())
    copied = sum(
        min(held.get(place, {}).get(broker, 0), whole.get(place, 0))
        for place, adding in wanted.items()
        for broker in adding
    )
    have = sum(whole.get(place, 0) * len(adding) for place, adding in wanted.items())
    return copied, max(0, have - copied)
