"""Moves of partitions to other brokers: starting one, and cancelling one (KIP-455)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from console.model.changes import AlterReassignments, MoveTarget, PartitionTarget, Status
from console.model.cluster import Partition, Reassignment, destination, original, partition_in
from console.model.config import entry_in, topic_resource
from console.model.elections import NOBODY
from console.model.nodes import holds_nothing
from console.model.numbers import commas
from console.model.observers import not_in_sync
from console.model.parts import Part
from console.model.snapshot import Snapshot, TopicPartition, replica_sizes
from console.plan import rack_risks
from console.plan import staged as plan_staged
from console.plan.amounts import byte_count
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage
from console.plan.edits import CancelMove, MoveEdit, MoveReplicas, Slot
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, reassignment
from console.plan.kinds.configs import CONFIGS
from console.plan.kinds.leaders import with_partitions
from console.plan.requests import together
from console.plan.risk_rules import ONE_RACK, ONE_REPLICA, UNCLEAN_LOSS, Judged, RiskNeeds, RiskRule
from console.plan.topic_risks import UNCLEAN


def is_move(reassignment: Reassignment) -> bool:
    """Return whether a reassignment adds or removes replicas, so that a move is running; False for a value that only
    records a partition's replicas.
    """
    return bool(reassignment.adding or reassignment.removing)


def moves_in(snapshot: Snapshot) -> Mapping[TopicPartition, Reassignment]:
    """Return (topic, partition) -> the running move, whichever client has started it."""
    return {(each.topic, each.partition): each for each in snapshot.reassignments if is_move(each)}


def moves_of(snapshot: Snapshot, topic: str) -> tuple[CancelMove, ...]:
    """Return the edits that cancel the running moves of a topic's partitions; empty if no partition moves."""
    return tuple(CancelMove(topic, move.partition) for move in snapshot.reassignments if move.topic == topic)


# -- checks before staging ---------------------------------------------------------------------------------------------


def is_unclean_to_cancel(move: Reassignment, snapshot: Snapshot) -> bool:
    """Return whether the move added all in-sync replicas of the partition, so that cancelling it is an unclean
    election (PartitionReassignmentRevert).
    """
    partition = partition_in(snapshot.topics.get(move.topic), move.partition)
    return partition is not None and bool(partition.isr) and not set(partition.isr) & set(original(move))


def _may_be_unclean(edit: CancelMove, seen: plan_staged.Described) -> bool | None:
    """Return whether the topic of an edit allows unclean elections; None if its configs were not read."""
    entry = entry_in(seen.snapshot.configs, topic_resource(edit.topic), UNCLEAN)
    return None if entry is None else entry.value == "true"


def _loses(edit: CancelMove, judged: Judged) -> Iterator[str]:
    move = judged.was(edit)
    if not isinstance(move, Reassignment) or not is_move(move) or not is_unclean_to_cancel(move, judged.before):
        return
    if judged.own(topic_resource(edit.topic), UNCLEAN) == "false":
        return  # brokers refuse the cancellation
    partition = partition_in(judged.before.topics.get(edit.topic), edit.partition)
    isr = commas(partition.isr) if partition is not None else ""
    yield (
        f"none of the replicas that {edit.topic}/{edit.partition} goes back to ({commas(original(move))}) is in sync: "
        f"what only broker {isr} has is lost, and it has no leader while they are down"
    )


def _loss_needs(edit: CancelMove) -> RiskNeeds:
    return RiskNeeds(topics=frozenset({edit.topic}))


def _check(edit: MoveEdit, was: plan_staged.Was, draft: plan_staged.Draft, doing: str) -> None:
    draft.refuse_deleted(edit.topic)
    if draft.at(Slot(PartitionTarget(edit.topic, edit.partition), "")) is not None:
        raise plan_staged.Refused(
            f"the plan elects its leader, and {doing} changes its preferred replica", "Apply that first."
        )
    if was is None:
        raise plan_staged.Refused(
            f"there is no partition {edit.topic}/{edit.partition}", "Check the name and the number."
        )


# -- requests ----------------------------------------------------------------------------------------------------------


def _request(some: list[plan_staged.Staged]) -> AlterReassignments:
    cancelled = {each.edit.target: each.was for each in some if isinstance(each.edit, CancelMove)}
    moves = {target: was for target, was in cancelled.items() if isinstance(target, MoveTarget)}
    return AlterReassignments(
        dict.fromkeys(moves),
        {target: original(was) for target, was in moves.items() if isinstance(was, Reassignment)},
    )


def _without_moves(snapshot: Snapshot, edits: Sequence[CancelMove]) -> Snapshot:
    """Return the snapshot with the partitions on the replicas that they had before the moves
    (PartitionReassignmentRevert).
    """
    gone = {(edit.topic, edit.partition) for edit in edits}
    changed: dict[TopicPartition, Partition] = {}
    for move in snapshot.reassignments:
        partition = partition_in(snapshot.topics.get(move.topic), move.partition)
        if (move.topic, move.partition) in gone and partition is not None:
            changed[move.topic, move.partition] = _reverted(partition, move)
    left = tuple(move for move in snapshot.reassignments if (move.topic, move.partition) not in gone)
    return replace(with_partitions(snapshot, changed), reassignments=left)


def _reverted(partition: Partition, move: Reassignment) -> Partition:
    replicas = original(move)
    # If no replica is in sync, the controller elects uncleanly, and the new leader is the only replica in the ISR.
    isr = tuple(each for each in partition.isr if each in replicas) or replicas[:1]
    leader = partition.leader
    if leader not in isr:
        leader = next((each for each in replicas if each in isr and each not in partition.offline), NOBODY)
    offline = tuple(each for each in partition.offline if each in replicas)
    return partition._replace(replicas=replicas, isr=isr, leader=leader, offline=offline)


def _move_request(some: list[plan_staged.Staged]) -> AlterReassignments:
    edits = (each.edit for each in some)
    return AlterReassignments({edit.target: edit.replicas for edit in edits if isinstance(edit, MoveReplicas)})


def _with_moves(snapshot: Snapshot, edits: Sequence[MoveReplicas]) -> Snapshot:
    """Return the snapshot with the moves running: brokers list the wanted replicas, then the replicas to be removed."""
    changed: dict[TopicPartition, Partition] = {}
    started: list[Reassignment] = []
    for edit in edits:
        partition = partition_in(snapshot.topics.get(edit.topic), edit.partition)
        if partition is None:
            continue
        removing = tuple(each for each in partition.replicas if each not in edit.replicas)
        adding = tuple(each for each in edit.replicas if each not in partition.replicas)
        replicas = (*edit.replicas, *removing)
        changed[edit.topic, edit.partition] = partition._replace(replicas=replicas)
        if adding or removing:
            started.append(Reassignment(edit.topic, edit.partition, replicas, adding, removing))
    return replace(with_partitions(snapshot, changed), reassignments=(*snapshot.reassignments, *started))


def _move_commands(lines: Sequence[DiffLine]) -> Iterator[Command]:
    """Yield kafka-reassign-partitions --execute --additional, which leaves the moves of other clients running."""
    edits = [line.edit for line in lines if isinstance(line.edit, MoveReplicas)]
    wanted = [{"topic": each.topic, "partition": each.partition, "replicas": each.replicas} for each in edits]
    return reassignment(wanted, "--execute", "--additional")


def _all_commands(lines: Sequence[DiffLine]) -> Iterator[Command]:
    """Yield kafka-reassign-partitions --cancel --preserve-throttles: without the second option the tool removes all
    throttles, also those of other moves.
    """
    moves = [line.staged.was for line in lines if isinstance(line.staged.was, Reassignment)]
    wanted = [{"topic": each.topic, "partition": each.partition, "replicas": destination(each)} for each in moves]
    return reassignment(wanted, "--cancel", "--preserve-throttles")


# -- the kinds of edits ------------------------------------------------------------------------------------------------

CANCELLATIONS = Batch(stage=Stage.MOVES, steps=together(_request), predict=_without_moves, all_commands=_all_commands)
MOVES = Batch(
    stage=Stage.MOVES,
    steps=together(_move_request),
    predict=_with_moves,
    all_commands=_move_commands,
    waits_for=CONFIGS,
    why="once the configs are set: a throttle may be one of them",
)


class _MoveKind(EditKind):
    state = Reassignment

    def current(self, edit: MoveEdit, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the running move; for a partition that does not move, a Reassignment that adds and removes nothing.
        None if the partition does not exist, UNREAD if the reassignments or the topic were not read.
        """
        if not seen.read(Part.REASSIGNMENTS):
            return plan_staged.UNREAD
        moves = seen.once("moves", lambda: {(each.topic, each.partition): each for each in seen.snapshot.reassignments})
        found = moves.get((edit.topic, edit.partition))
        if found is not None:
            return found
        partition = partition_in(seen.snapshot.topics.get(edit.topic), edit.partition)
        if partition is None:
            return seen.found(None, Part.TOPICS)
        # Return the type of state that a move has, so that the check for changes compares the replicas of both.
        return Reassignment(edit.topic, edit.partition, partition.replicas, (), ())

    def before(self, _edit: object, there: Reassignment | None, _inheritance: object) -> EffectiveValue:
        if there is None:
            return NOTHING
        now = commas(original(there))
        return EffectiveValue(f"{now} → {commas(destination(there))}" if is_move(there) else now)


class _MoveReplicasKind(_MoveKind):
    edit = MoveReplicas
    verb = "move"
    words = "move from {old} to {new}"
    batch = MOVES
    is_loss = False
    risks = (
        RiskRule(ONE_RACK, rack_risks.move, rack_risks.move_needs),
        RiskRule(ONE_REPLICA, rack_risks.single, rack_risks.single_needs),
    )

    def judge(self, edit: MoveReplicas, draft: plan_staged.Draft) -> plan_staged.Verdict:
        was = self.current(edit, draft)
        _check(edit, was, draft, "moving")
        if not isinstance(was, Reassignment):
            return plan_staged.Staged(edit, was)
        if is_move(was):
            to = commas(destination(was))
            raise plan_staged.Refused(f"it moves to {to} already", "Wait until it is there, or cancel that move first.")
        if was.replicas == edit.replicas:
            return plan_staged.Dropped(edit, "its replicas are there already")
        alive = {each.id for each in draft.snapshot.cluster.brokers if not each.fenced}
        missing = [each for each in edit.replicas if each not in alive and each not in was.replicas]
        # Brokers accept a move to a dead broker, but the move never ends.
        if draft.read(Part.CLUSTER) and missing:
            if what := holds_nothing(draft.snapshot, missing[0]):
                raise plan_staged.Refused(what, "Name a broker.")
            raise plan_staged.Refused(f"broker {missing[0]} is not alive", "Name brokers that are, or wait for it.")
        # A list that is one replica too short may be a slip or intended, and brokers accept both.
        if len(edit.replicas) != len(was.replicas) and not edit.resize:
            reason = f"it has {len(was.replicas)} replicas, and would have {len(edit.replicas)}"
            raise plan_staged.Refused(reason, "Add resize if that is meant.")
        return plan_staged.Staged(edit, was)

    def wanted(self, edit: MoveReplicas, now: Reassignment | None) -> bool | None:
        return None if now is None else destination(now) == edit.replicas

    def after(self, edit: MoveReplicas, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(commas(edit.replicas))

    def effects(self, edit: MoveReplicas, seen: plan_staged.Described) -> tuple[str, ...]:
        """Return lines on the effects of a move; empty if the partition was not read. The lines are about the copied
        replicas and the free space on the brokers that copy, the removed replicas, observers, replicas that delay
        the end of the move, and a new preferred leader.
        """
        was = self.current(edit, seen)
        if not isinstance(was, Reassignment):
            return ()
        size = seen.once("replica sizes", lambda: replica_sizes(seen.snapshot)).get((edit.topic, edit.partition))
        lines = []
        for broker in (each for each in edit.replicas if each not in was.replicas):
            free = sum(max(each.usable_bytes, 0) for each in seen.snapshot.log_dirs.get(broker, ()))
            left = f"; {byte_count(free)} are free there" if free else ""
            lines.append(f"broker {broker} copies {byte_count(size) if size is not None else 'an unknown size'}{left}")
        dropped = [each for each in was.replicas if each not in edit.replicas]
        if dropped:
            lines.append(f"broker {commas(dropped)} drops its replica once the others are in sync")
        partition = partition_in(seen.snapshot.topics.get(edit.topic), edit.partition)
        if partition is not None and partition.observers:
            lines.append(
                f"broker {commas(partition.observers)} is an observer of it, and may become a replica like the others"
            )
        out = [each for each in not_in_sync(partition) if each in edit.replicas] if partition is not None else []
        if out and set(edit.replicas) != set(was.replicas):
            alone = set(edit.replicas) == set(out)  # then the move ends in no release of Kafka
            when = "the move does not end" if alone else "before Kafka 4.3 the move does not end"
            lines.append(f"broker {commas(out)} stays and is not in sync: {when} until it is")
        if edit.replicas[0] != was.replicas[0]:
            lines.append(f"its preferred leader is broker {edit.replicas[0]} then, not {was.replicas[0]}")
        return tuple(lines)

    def reversal(self, edit: MoveReplicas, was: Reassignment | None, _recorded: object) -> Reversal:
        if was is None:
            return Reversal((), was, "where its replicas were is unknown")
        back = MoveReplicas(edit.topic, edit.partition, was.replicas, len(was.replicas) != len(edit.replicas))
        return Reversal((back,), Reassignment(edit.topic, edit.partition, edit.replicas, (), ()))


class _CancelMoveKind(_MoveKind):
    edit = CancelMove
    verb = "cancel"
    words = "cancel the move {old}; it stays on {new}"
    batch = CANCELLATIONS
    risks = (RiskRule(UNCLEAN_LOSS, _loses, _loss_needs, lambda edit, _: f"{edit.topic}/{edit.partition}"),)

    def judge(self, edit: CancelMove, draft: plan_staged.Draft) -> plan_staged.Verdict:
        was = self.current(edit, draft)
        _check(edit, was, draft, "cancelling")
        if isinstance(was, Reassignment) and not is_move(was):
            return plan_staged.Dropped(edit, "it does not move")
        if (
            isinstance(was, Reassignment)
            and is_unclean_to_cancel(was, draft.snapshot)
            and _may_be_unclean(edit, draft) is False
        ):
            back = original(was)
            raise plan_staged.Refused(
                f"none of the replicas before the move is in sync ({commas(back)}): brokers refuse to go back to them",
                f"Bring back broker {' or '.join(map(str, back))}, or one that the move waits for.",
            )
        return plan_staged.Staged(edit, was)

    def wanted(self, _edit: object, now: Reassignment | None) -> bool | None:
        """Return False while the partition moves, else None, because a cancelled move and one that has completed look
        the same.
        """
        return False if now is not None and is_move(now) else None

    def settled(self, _edit: object, was: plan_staged.Was, now: plan_staged.Was, changed: bool) -> Status | None:
        if not isinstance(was, Reassignment) or not isinstance(now, Reassignment):
            return None
        if is_move(now):
            return Status.UNKNOWN if changed else Status.NOT_APPLIED
        back, done = set(original(was)), set(destination(was))
        if set(now.replicas) == back:
            return Status.APPLIED
        return Status.NOT_APPLIED if set(now.replicas) == done else Status.UNKNOWN

    def after(self, _edit: object, there: Reassignment | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(commas(original(there)))

    def effects(self, edit: CancelMove, seen: plan_staged.Described) -> tuple[str, ...]:
        move = self.current(edit, seen)
        if not isinstance(move, Reassignment) or not is_move(move):
            return ()
        logs = seen.snapshot.replica_logs.get((edit.topic, edit.partition))
        sizes = logs.sizes if logs is not None else {}
        whole = max((sizes[each] for each in original(move) if each in sizes), default=None)
        lines = []
        for broker in move.adding:
            copied = sizes.get(broker)
            if copied is None:
                lines.append(f"what broker {broker} copied is dropped; how much is unknown")
            else:
                of = f" of {byte_count(whole)}" if whole is not None else ""
                lines.append(f"what broker {broker} copied is dropped: {byte_count(copied)}{of}")
        back = original(move)
        # Brokers keep the order of the move's list, so the first replica may differ from the former one.
        lines.append(f"it stays on {commas(back)}, with {back[0]} as the preferred leader")
        lines.append("brokers don't know who started the move: another tool or operator may need it")
        return tuple(lines)

    def reversal(self, edit: CancelMove, was: Reassignment | None, _recorded: object) -> Reversal:
        to = "ID,ID,…" if was is None else commas(destination(was))
        resize = " resize" if was is not None and len(destination(was)) != len(original(was)) else ""
        again = f"move topic {edit.topic} partition {edit.partition} to {to}{resize}"
        return Reversal((), was, f"{again} starts the move again, and copies everything again")


KINDS = (_MoveReplicasKind(), _CancelMoveKind())
