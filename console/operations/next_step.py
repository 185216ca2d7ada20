"""Decides the next action of an operation from a new snapshot: send a step, wait, or end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from console.model.cluster import partition_in
from console.model.elections import needs_preferred, why_not_preferred
from console.model.numbers import commas
from console.model.parts import Part
from console.model.snapshot import ReplicaPlace, Snapshot
from console.operations import goals
from console.operations.forecast import forecast
from console.operations.operation import Operation, State, Step
from console.operations.placement import Placement, placement_of, read_log_dirs
from console.operations.planner import propose
from console.operations.proposal import DirMove, Proposal, Relocation, UnknownPlace
from console.operations.throttle import ThrottleChange, foreign_text, throttle_change
from console.plan.edits import CancelMove, Edit, ElectPreferred, MoveReplicaDir, MoveReplicas
from console.plan.kinds.moves import moves_in

PARTITIONS_AT_ONCE = 100
"""Maximum number of an operation's moves that run at the same time. Further moves start only when at most half of
this number still run.
"""
BYTES_PER_SECOND = 10_000_000
"""The speed of copies that is assumed for a deadline if there is no throttle."""
MOST_ELECTIONS = 3
"""Maximum number of elections for one partition. Several may be needed: a broker may refuse one, or the process may end
before an election is sent.
"""
MOST_REASONS = 5
"""Maximum number of lines with reasons for waiting."""
BLOCKING = frozenset({Part.CLUSTER, Part.TOPICS, Part.REASSIGNMENTS})
"""The parts of a snapshot that have to be read for any decision."""


class Send(Struct, frozen=True):
    """The decision to send some edits as one change."""

    step: Step
    """The record that is written to the journal before the change is sent."""
    edits: tuple[Edit, ...]
    waits: tuple[str, ...] = ()
    """The reasons why other moves wait, one line each."""


class Wait(Struct, frozen=True):
    """The decision that nothing can be sent now."""

    copies: bool
    """Whether moves of the operation are running."""
    waits: tuple[str, ...] = ()
    """The reasons for waiting, one line each."""


class End(Struct, frozen=True):
    """The decision that the operation ends, with the state DONE or CANCELLED."""

    state: State


Decision = Send | Wait | End


def next_step(operation: Operation, snapshot: Snapshot, now: datetime) -> Decision:
    """Return the next action of an operation.

    The action is planned from the snapshot. Earlier steps only show which moves and throttles belong to the operation,
    so any process can call this function again after a crash: a running move is not proposed a second time.

    Args:
        snapshot: a snapshot with `placement.PARTS` and the configs of all topics and brokers, read after the last step
            was sent. If a part of `BLOCKING` is missing, the result is Wait.
        now: the present time, UTC, from which deadlines count.

    Returns:
        Send with edits to send as one change, so that at most `PARTITIONS_AT_ONCE` moves run; Wait with the reasons,
        one line each; End if the goal is reached, or everything is cancelled.
    """
    # A cluster with a missing part would look like an empty cluster, in which every goal is reached.
    unread = tuple(_unread(snapshot))
    if unread:
        return Wait(bool(operation.running(snapshot) or operation.copying(snapshot)), unread)
    # Handle a cancellation before planning: an operation that is being cancelled must not begin new moves.
    if operation.cancelling:
        return _cancel(operation, snapshot, now)
    placement = placement_of(snapshot)
    running = tuple(operation.running(snapshot).values())
    copying = operation.copying(snapshot)
    proposal, waits = _proposed(operation, placement)
    guards = tuple(_below_min_isr(placement, proposal))
    under_way = len(running) + len(copying)
    new = _beginning(proposal, under_way) if not guards else Proposal()
    # While moves continue and no move begins, leave the throttle of a finished move in place: the next step removes it.
    later = bool(under_way) and new.reached and operation.throttle is not None
    mine = operation.dir_moves()
    change = throttle_change(
        snapshot,
        operation.owned(),
        (*running, *new.moves),
        (*(mine[place] for place in copying), *new.dirs),
        operation.throttle,
        later=later,
        gives_up=operation.gives_up,
    )
    waits += (*guards, *proposal.waits, *_waits(operation, snapshot, proposal, running, copying, change, now))
    # Move leaders back only after all copies, as a later move may change the preferred replica again.
    elects = tuple(_elections(operation, snapshot)) if proposal.reached and not under_way else ()
    if not new.reached or change.edits or elects:
        patience = _patience(new, placement, operation.throttle)
        places = tuple((each.topic, each.partition) for each in elects)
        step = Step(now, now + patience, new.moves, change.sets, new.dirs, places)
        # Set throttles before the moves of the same change: a copy must not run unlimited until its rate is set.
        return Send(step, (*change.edits, *map(_edit, new.moves), *map(_dir_edit, new.dirs), *elects), waits)
    # A throttle that could not be read keeps the operation open: after the end of the operation, no process would
    # remove the throttle.
    if not under_way and not waits and proposal.reached:
        return End(State.DONE)
    return Wait(bool(under_way), waits)


def _proposed(operation: Operation, placement: Placement) -> tuple[Proposal, tuple[str, ...]]:
    """Return the moves that are still needed for the goal; and lines on why the goal can't be reached, empty if it
    can.
    """
    try:
        return propose(operation.goal, placement), ()
    except UnknownPlace as error:
        # If a topic or broker was deleted since the start, the operator decides: an open operation never fails without
        # an operator's decision.
        return Proposal(), (f"{error}: kac moves --cancel {operation.number} gives the goal up",)


def _beginning(proposal: Proposal, under_way: int) -> Proposal:
    """Return the moves that start now: none if more than half of `PARTITIONS_AT_ONCE` run. under_way: the number of
    running moves.
    """
    # Begin moves in halves instead of one by one, as each step is a change in the journal and sets throttles again.
    if under_way > PARTITIONS_AT_ONCE // 2:
        return Proposal()
    room = PARTITIONS_AT_ONCE - under_way
    return Proposal(proposal.moves[:room], dirs=proposal.dirs[:room])


def _edit(move: Relocation) -> MoveReplicas:
    return MoveReplicas(move.topic, move.number, move.after, len(move.after) != len(move.before))


def _dir_edit(move: DirMove) -> MoveReplicaDir:
    return MoveReplicaDir(move.topic, move.number, move.broker, move.after)


def _patience(new: Proposal, placement: Placement, throttle: int | None) -> timedelta:
    """Return the time within which a step should be done: twice the forecast time plus an hour. throttle: bytes per
    second; None for no throttle, for which the forecast assumes 10 MB/s (`BYTES_PER_SECOND`).
    """
    said = forecast(new, placement, throttle or BYTES_PER_SECOND)
    return timedelta(hours=1, seconds=2 * (said.seconds or 0))


def _elections(operation: Operation, snapshot: Snapshot) -> Iterator[ElectPreferred]:
    """Yield an election for each partition that the operation moved and whose preferred replica does not lead it, at
    most `MOST_ELECTIONS` times for a partition. No election is yielded for a preferred replica that is down or
    out of sync: the goal is reached without it, and the operation can't repair that replica.
    """
    tries = Counter(place for step in operation.steps for place in step.elects)
    for topic, number in operation.moves():
        known = partition_in(snapshot.topics.get(topic), number)
        if known is None or not needs_preferred(known) or why_not_preferred(known):
            continue
        # Count tries from the journal, so that a restart does not reset the count.
        if tries[topic, number] < MOST_ELECTIONS:
            yield ElectPreferred(topic, number)


# -- cancelling --------------------------------------------------------------------------------------------------------


def _cancel(operation: Operation, snapshot: Snapshot, now: datetime) -> Decision:
    """Return the next action of a cancellation. First the running moves are cancelled; then the former order of
    replicas is restored, and throttles are removed. To cancel a copy between directories, the replica is moved to
    the directory in which it is now (ReplicaManager.alterReplicaLogDirs).
    """
    running, copying = operation.running(snapshot), operation.copying(snapshot)
    change = throttle_change(snapshot, operation.owned(), (), (), None, gives_up=operation.gives_up)
    # Restore orders of replicas in a separate step: a partition can't be moved while its cancellation is under way.
    if running or copying:
        edits = (
            *(CancelMove(*place) for place in running),
            *(MoveReplicaDir(*place, copy.before) for place, copy in copying.items()),
        )
        return Send(Step(now, now + timedelta(hours=1), sets=change.sets), (*change.edits, *edits))
    back = tuple(_orders(operation, snapshot))
    if back or change.edits:
        step = Step(now, now + timedelta(hours=1), back, change.sets)
        return Send(step, (*change.edits, *map(_edit, back)))
    waits: tuple[str, ...] = (_unread_text(change.unread, operation.number),) if change.unread else ()
    if silent := _silent(operation, snapshot):
        gone = f"kac moves --operation {operation.number} --give-up ends without that"
        waits += (f"broker {commas(silent)} does not answer: what it copies is cancelled when it is back; {gone}",)
    return Wait(False, waits) if waits else End(State.CANCELLED)


def _silent(operation: Operation, snapshot: Snapshot) -> tuple[int, ...]:
    """Return the brokers that may still be copying between their directories for the operation, but whose
    directories could not be read. Empty if the operator lets the operation end without an answer of these brokers
    (`gives_up`).
    """
    if operation.gives_up:
        return ()
    read = read_log_dirs(snapshot)
    # Kafka 4.0 and newer list a broker that is down as fenced. A broker that is not listed was unregistered, so it need
    # not be waited for.
    gone = {broker.id for broker in snapshot.cluster.brokers} if snapshot.cluster.shows_fenced else None
    asked = {broker for _, _, broker in operation.dir_moves()} - read.keys()
    return tuple(sorted(broker for broker in asked if gone is None or broker in gone))


def _orders(operation: Operation, snapshot: Snapshot) -> Iterator[Relocation]:
    """Yield a move for each partition that has its former replicas, but in another order, which happens if its move
    is cancelled. The yielded move restores the former order and copies nothing.
    """
    moving = moves_in(snapshot)
    for (topic, number), before in operation.originals().items():
        known = partition_in(snapshot.topics.get(topic), number)
        if known is None or (topic, number) in moving or known.replicas == before:
            continue
        # Skip partitions on other brokers: a move back would copy replicas, and a cancellation begins no copies.
        if set(known.replicas) == set(before):
            yield Relocation(topic, number, known.replicas, before)


# -- waiting -----------------------------------------------------------------------------------------------------------


def _unread(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each part of `BLOCKING` that was not read, and for each failed read of such a part or of a
    topic's configs.
    """
    for part in sorted(BLOCKING - snapshot.read_at.keys()):
        yield f"the {part} could not be read"
    for failed in snapshot.failures:
        if failed.part in BLOCKING or (failed.part == Part.CONFIGS and failed.entity.startswith("topic ")):
            yield f"{failed.what} could not be read: {failed.failure.message}"


def _below_min_isr(placement: Placement, proposal: Proposal) -> Iterator[str]:
    """Yield a line for each partition for which new moves have to wait: it is below min.insync.replicas, and some of
    its replicas could catch up if no copies competed with them.

    A partition that moves, or that the proposal moves, is left out, because the move may repair it. A proposal that
    only copies between directories waits only for replicas on the brokers that copy.
    """
    mended = {(move.topic, move.number) for move in proposal.moves}
    within = {move.broker for move in proposal.dirs}
    for each in placement.partitions:
        # Without a replica in sync, no replica can catch up, and the wait would never end.
        if each.moving or not 0 < len(each.isr) < each.min_isr or (each.topic, each.number) in mended:
            continue
        out = {*each.replicas}.difference(each.isr, each.observers)
        behind = [b for b in each.replicas if b in out and b in placement.hosts and placement.hosts[b].takes]
        if behind and (mended or not within.isdisjoint(behind)):
            yield f"{each.topic}/{each.number} is below min ISR: broker {commas(behind)} has to catch up first"


def _waits(
    operation: Operation,
    snapshot: Snapshot,
    proposal: Proposal,
    running: Sequence[Relocation],
    copying: Collection[ReplicaPlace],
    change: ThrottleChange,
    now: datetime,
) -> Iterator[str]:
    """Yield lines on the reasons why moves of the operation wait."""
    # Do not touch moves of other tools: only their owners may cancel them.
    own = {(each.topic, each.number) for each in running}
    for place, move in moves_in(snapshot).items():
        if place not in own and _concerns(operation, place[0], move.replicas):
            yield f"{place[0]}/{place[1]}: another tool moves it; it has to end, or to be cancelled there"
    said = {(topic, number) for topic, number, _ in copying}
    if not goals.within_a_broker(operation.goal):
        said |= moves_in(snapshot).keys()
    for held in proposal.held:
        if (held.topic, held.number) not in said:
            yield f"{held.topic}/{held.number}: {held.why}"
    alive = {broker.id for broker in snapshot.cluster.brokers if not broker.fenced}
    for each in running:
        dead = [broker for broker in each.added if broker not in alive]
        if dead:
            yield f"{each.topic}/{each.number}: broker {commas(dead)}, to which it moves, is not alive"
    late = [
        step
        for step in operation.steps
        if step.deadline < now
        and (any(move in running for move in step.moves) or any(move.place in copying for move in step.dirs))
    ]
    if late:
        begun, due = (f"{at:%Y-%m-%d %H:%M} UTC" for at in (late[0].at, late[0].deadline))
        yield f"the step of {begun} should have been done by {due}"
    if change.foreign:
        yield foreign_text(change.foreign)
    if change.unread:
        yield _unread_text(change.unread, operation.number)


def _concerns(operation: Operation, topic: str, replicas: Sequence[int]) -> bool:
    """Return whether another tool's move of a partition gets in the way of the goal, so that the operation has to
    wait for its end. replicas: the replicas that the partition has after that move.
    """
    match operation.goal:
        case goals.Drain(brokers=brokers):
            return any(broker in replicas for broker in brokers)
        case goals.Replace(broker=broker):
            return broker in replicas
        case goals.MoveTopic(topic=name) | goals.Replicate(topic=name):
            return name == topic
        case goals.Restore(replicas=wanted) | goals.Reassign(replicas=wanted):
            return any(name == topic for name, _, _ in wanted)
        case goal:
            return not goals.within_a_broker(goal)  # within a broker, held replicas have their own lines


def _unread_text(brokers: Sequence[int], number: int) -> str:
    gone = f"where it does not come back, kac moves --operation {number} --give-up ends without that"
    return f"broker {commas(brokers)} does not answer: its throttle is taken off when it is back; {gone}"
