"""What an operation does next, from a fresh look: send a step, wait, or end. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from console.model.numbers import commas
from console.model.snapshot import Snapshot
from console.operations.forecast import forecast
from console.operations.goals import Drain, MoveTopic, Replace, Replicate, Restore
from console.operations.operation import Operation, State, Step, moves_in
from console.operations.placement import Placement, placement_of
from console.operations.planner import Proposal, Relocation, UnknownPlace, propose
from console.operations.throttle import ThrottleChange, foreign_text, throttle_change
from console.plan.edits import Edit
from console.plan.kinds.moves import CancelMove, MoveReplicas

PARTITIONS_AT_ONCE = 100
"""Moves of an operation that are under way at most. The next ones start when half of them are done."""
BYTES_PER_SECOND = 10_000_000
"""What is copied per second, for a deadline without a throttle."""
MOST_REASONS = 5
"""Lines of what is waited for."""
BLOCKING = frozenset({"cluster", "topics", "reassignments"})
"""Parts of a snapshot without which nothing is decided."""


class Send(Struct, frozen=True):
    """Send these edits as one change. step: what is written down before."""

    step: Step
    edits: tuple[Edit, ...]
    waits: tuple[str, ...] = ()


class Wait(Struct, frozen=True):
    """Nothing can be sent now. copies: moves of the operation are under way. waits: for what, a line each."""

    copies: bool
    waits: tuple[str, ...] = ()


class End(Struct, frozen=True):
    """The operation is over: DONE or CANCELLED."""

    state: State


Decision = Send | Wait | End


def next_step(operation: Operation, snapshot: Snapshot, now: datetime) -> Decision:
    """What to do next. snapshot: with `placement.PARTS` and the configs of all topics and brokers, just read."""
    unread = tuple(_unread(snapshot))
    if unread:
        return Wait(bool(operation.running(snapshot)), unread)
    if operation.cancelling:
        return _cancel(operation, snapshot, now)
    placement = placement_of(snapshot)
    running = tuple(operation.running(snapshot).values())
    waits: tuple[str, ...] = ()
    try:
        proposal = propose(operation.goal, placement)
    except UnknownPlace as error:
        proposal, waits = Proposal(), (f"{error}: kac moves --cancel {operation.number} gives the goal up",)
    guards = tuple(_below_min_isr(placement, proposal.moves))
    room = PARTITIONS_AT_ONCE - len(running)
    new = proposal.moves[:room] if not guards and len(running) <= PARTITIONS_AT_ONCE // 2 else ()
    later = bool(running) and not new and operation.throttle is not None
    change = throttle_change(
        snapshot, operation.owned(), (*running, *new), operation.throttle, later=later, gives_up=operation.gives_up
    )
    waits += (*(guards if proposal.moves else ()), *_waits(operation, snapshot, proposal, running, change, now))
    if new or change.edits:
        step = Step(now, now + _patience(new, placement, operation.throttle), new, change.sets)
        return Send(step, (*change.edits, *map(_edit, new)), waits)
    if not running and not waits and proposal.reached:
        return End(State.DONE)
    return Wait(bool(running), waits)


def _edit(move: Relocation) -> MoveReplicas:
    return MoveReplicas(move.topic, move.number, move.after, len(move.after) != len(move.before))


def _patience(moves: tuple[Relocation, ...], placement: Placement, throttle: int | None) -> timedelta:
    """Twice the time of the forecast, and an hour."""
    said = forecast(Proposal(moves), placement, throttle or BYTES_PER_SECOND)
    return timedelta(hours=1, seconds=2 * (said.seconds or 0))


# -- cancelling --------------------------------------------------------------------------------------------------------


def _cancel(operation: Operation, snapshot: Snapshot, now: datetime) -> Decision:
    """Cancel what is under way; put the replicas of what was cancelled into their former order; take off throttles."""
    running = operation.running(snapshot)
    change = throttle_change(snapshot, operation.owned(), (), None, gives_up=operation.gives_up)
    if running:
        edits = tuple(CancelMove(*place) for place in running)
        return Send(Step(now, now + timedelta(hours=1)), (*change.edits, *edits))
    back = tuple(_orders(operation, snapshot))
    if back or change.edits:
        step = Step(now, now + timedelta(hours=1), back, change.sets)
        return Send(step, (*change.edits, *map(_edit, back)))
    if change.unread:
        return Wait(False, (_unread_text(change.unread, operation.number),))
    return End(State.CANCELLED)


def _orders(operation: Operation, snapshot: Snapshot) -> Iterator[Relocation]:
    """Partitions that have the replicas from before the operation again, in another order: brokers keep the order in
    which they moved them. It copies nothing."""
    moving = moves_in(snapshot)
    for (topic, number), before in operation.originals().items():
        known = snapshot.topics.get(topic)
        for each in known.partitions if known is not None else ():
            if each.number != number or (topic, number) in moving or each.replicas == before:
                continue
            if set(each.replicas) == set(before):
                yield Relocation(topic, number, each.replicas, before)


# -- waiting -----------------------------------------------------------------------------------------------------------


def _unread(snapshot: Snapshot) -> Iterator[str]:
    """Why nothing can be decided."""
    for part in sorted(BLOCKING - snapshot.read_at.keys()):
        yield f"the {part} could not be read"
    for failed in snapshot.failures:
        if failed.part in BLOCKING or (failed.part == "configs" and failed.entity.startswith("topic ")):
            place = f"{failed.part} {failed.entity}".rstrip()
            yield f"{place} could not be read: {failed.failure.message}"


def _below_min_isr(placement: Placement, moves: Sequence[Relocation]) -> Iterator[str]:
    """Partitions below min ISR whose replicas could catch up, if they were not in the way of copies. Moves that mend
    one do not wait for it."""
    mended = {(move.topic, move.number) for move in moves}
    for each in placement.partitions:
        if each.moving or not 0 < len(each.isr) < each.min_isr or (each.topic, each.number) in mended:
            continue
        behind = [b for b in each.replicas if b not in each.isr and b in placement.hosts and placement.hosts[b].takes]
        if behind:
            yield f"{each.topic}/{each.number} is below min ISR: broker {commas(behind)} has to catch up first"


def _waits(
    operation: Operation,
    snapshot: Snapshot,
    proposal: Proposal,
    running: Sequence[Relocation],
    change: ThrottleChange,
    now: datetime,
) -> Iterator[str]:
    own = {(each.topic, each.number) for each in running}
    for place, move in moves_in(snapshot).items():
        if place not in own and _concerns(operation, place[0], move.replicas):
            yield f"{place[0]}/{place[1]}: another tool moves it; it has to end, or to be cancelled there"
    for held in proposal.held:
        if (held.topic, held.number) not in moves_in(snapshot):
            yield f"{held.topic}/{held.number}: {held.why}"
    alive = {broker.id for broker in snapshot.cluster.brokers if not broker.fenced}
    for each in running:
        dead = [broker for broker in each.added if broker not in alive]
        if dead:
            yield f"{each.topic}/{each.number}: broker {commas(dead)}, to which it moves, is not alive"
    late = [step for step in operation.steps if step.deadline < now and any(move in running for move in step.moves)]
    if late:
        begun, due = (f"{at:%Y-%m-%d %H:%M} UTC" for at in (late[0].at, late[0].deadline))
        yield f"the step of {begun} should have been done by {due}"
    if change.foreign:
        yield foreign_text(change.foreign)
    if change.unread:
        yield _unread_text(change.unread, operation.number)


def _concerns(operation: Operation, topic: str, replicas: Sequence[int]) -> bool:
    """Whether the goal is not reached while another tool moves a partition."""
    match operation.goal:
        case Drain(brokers=brokers):
            return any(broker in replicas for broker in brokers)
        case Replace(broker=broker):
            return broker in replicas
        case MoveTopic(topic=name) | Replicate(topic=name):
            return name == topic
        case Restore(replicas=wanted):
            return any(name == topic for name, _, _ in wanted)
        case _:
            return True


def _unread_text(brokers: Sequence[int], number: int) -> str:
    gone = f"where it does not come back, kac moves --operation {number} --give-up ends without that"
    return f"broker {commas(brokers)} does not answer: its throttle is taken off when it is back; {gone}"
