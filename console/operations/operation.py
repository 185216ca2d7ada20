"""An operation: a goal that kac approaches step by step, until it is reached or an operator cancels it. Pure values.

The goal is stored, not a list of moves: each step is planned from a new snapshot. The journal has everything about an
operation (`console.journal.operations`), so that any process of this host can continue it.
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
    """The states of an operation."""

    WAITING = "waiting"
    """The next step can't be sent yet."""
    SENT = "sent"
    """A step is being sent."""
    RUNNING = "running"
    """Brokers are copying replicas."""
    STALLED = "stalled"
    """There was no progress for a while."""
    DONE = "done"
    CANCELLED = "cancelled"


class Step(Struct, frozen=True):
    """A batch of moves, a change of throttles, or elections. The journal records it before its change."""

    at: datetime
    deadline: datetime
    """The time at which the step should be done, UTC."""
    moves: tuple[Relocation, ...] = ()
    """The moves, each with the replicas before and after."""
    sets: Throttles = Throttles()
    """The throttles that the step sets. Recording them marks them as the operation's own; they are removed once no move
    needs them."""
    dirs: tuple[DirMove, ...] = ()
    """The moves between directories of a broker."""
    elects: tuple[model_snapshot.TopicPartition, ...] = ()
    """The partitions for which the preferred replica is to be elected leader."""


class SentLetters(Struct, frozen=True):
    """A transaction of a redrive that was committed. The journal records it afterwards, to recognize letters that come
    back.

    Attributes:
        reached: partition of the dead-letter topic -> the first offset that the redrive has not looked at yet.
        written: topic, partition, offset of the first record (-1 if no broker returned it), and number of records.
        hash: the hash of all records, in their order.
        is_canary: whether it has a single letter, sent first to see what becomes of it.
    """

    at: datetime
    reached: tuple[tuple[int, int], ...]
    written: tuple[tuple[str, int, int, int], ...] = ()
    hash: str = ""
    is_canary: bool = False


class Letters(Struct, frozen=True):
    """The letters of a redrive.

    Attributes:
        sent, stayed: the numbers of letters that this redrive and earlier ones of the same selection have sent, and
            have not sent.
        left: the number of offsets that they have not reached.
        came_back: the number of sent letters that are in the dead-letter topic again.
        newer: the number of other letters since the beginning.
        canary: the fate of the letter that was sent first; ``""`` until it is known.
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
    """The last recorded progress of an operation."""

    at: datetime
    state: State
    copied: int = 0
    """Bytes of the present replicas that brokers have copied; for a redrive, letters that were processed."""
    left: int = 0
    """Bytes that are still to be copied; for a redrive, letters that were not processed yet."""
    waits: tuple[str, ...] = ()
    """The reasons for waiting, a line each."""
    letters: Letters | None = None
    """The counts of a redrive's letters; None for other operations."""

    @property
    def is_held_up(self) -> bool:
        """Whether the operation waits, and no broker copies for it meanwhile."""
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
    """The limit in bytes per second for each broker, both for copying and for being copied from; for a redrive, the
    limit in letters per second; None without a throttle."""
    steps: tuple[Step, ...] = ()
    progress: Progress | None = None
    cancelling: bool = False
    """Whether an operator has cancelled the operation."""
    gives_up: bool = False
    """Whether the operation may end although brokers that do not answer still have its throttles."""
    ended: datetime | None = None
    """The time at which the operation ended, UTC; None while it is open."""
    sent: tuple[SentLetters, ...] = ()
    """The transactions of a redrive."""
    paused: bool = False
    """Whether an operator has paused the redrive."""

    @property
    def state(self) -> State:
        """The last recorded state."""
        return self.progress.state if self.progress is not None else State.WAITING

    @property
    def is_held_up(self) -> bool:
        """Whether the operation waits, and no broker copies for it meanwhile."""
        return self.progress is not None and self.progress.is_held_up

    def moves(self) -> Mapping[model_snapshot.TopicPartition, Relocation]:
        """Return the operation's last move of each partition."""
        return {(move.topic, move.number): move for step in self.steps for move in step.moves}

    def originals(self) -> Mapping[model_snapshot.TopicPartition, tuple[int, ...]]:
        """Return the replicas of each partition before its first move."""
        found: dict[model_snapshot.TopicPartition, tuple[int, ...]] = {}
        for step in self.steps:
            for move in step.moves:
                # The first move of a partition counts, as later ones start from the operation's own placement.
                found.setdefault((move.topic, move.number), move.before)
        return found

    def dir_moves(self) -> Mapping[model_snapshot.ReplicaPlace, DirMove]:
        """Return the operation's last move of each replica into another directory."""
        return {move.place: move for step in self.steps for move in step.dirs}

    def dir_originals(self) -> Mapping[model_snapshot.ReplicaPlace, str]:
        """Return the directory of each replica before its first move."""
        found: dict[model_snapshot.ReplicaPlace, str] = {}
        for step in self.steps:
            for move in step.dirs:
                found.setdefault(move.place, move.before)
        return found

    @property
    def letters(self) -> Letters | None:
        """The letters of a redrive that has begun to work; None for other operations."""
        return self.progress.letters if self.progress is not None else None

    @property
    def has_moves(self) -> bool:
        """Whether a step of the operation moves replicas."""
        return any(step.moves or step.dirs for step in self.steps)

    @property
    def bytes(self) -> int:
        """The bytes that the operation's moves copy."""
        return sum(move.bytes for move in self.moves().values()) + sum(move.size for move in self.dir_moves().values())

    def owned(self) -> Owned:
        """Return all throttles that the operation has set."""
        return Owned.of(step.sets for step in self.steps)

    def running(self, snapshot: model_snapshot.Snapshot) -> Mapping[model_snapshot.TopicPartition, Relocation]:
        """Return the operation's moves under way. A move to other brokers than its own is another tool's."""
        mine = self.moves()
        return {
            place: mine[place]
            for place, move in moves_in(snapshot).items()
            if place in mine and destination(move) == mine[place].after
        }

    def copying(
        self, snapshot: model_snapshot.Snapshot
    ) -> Mapping[model_snapshot.ReplicaPlace, model_snapshot.DirCopy]:
        """Return the copies between directories under way that belong to the operation. A copy to a directory that the
        operation did not choose belongs to another tool, and is left out.
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
    """Return the numbers of bytes that the new replicas of moving partitions, and copies between directories, have and
    lack. A replica of unknown size lacks all.
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
