"""Moves of replicas between the log directories of their broker (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from console.model.changes import AlterReplicaDirs
from console.model.cluster import LogDir, ReplicaDir, ReplicaSize, ReplicaSizes, partition_in
from console.model.grouping import grouped
from console.model.nodes import holds_nothing
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan import staged as plan_staged
from console.plan.amounts import byte_count
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage
from console.plan.edits import MoveReplicaDir
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, reassignment
from console.plan.kinds.moves import MOVES
from console.plan.requests import Facts, Step
from console.plan.risk_rules import LOG_DIR_SPACE, Judged, RiskRule

# -- the present state -------------------------------------------------------------------------------------------------


def _held(dirs: Sequence[LogDir], edit: MoveReplicaDir) -> Iterator[tuple[LogDir, ReplicaSize]]:
    """Yield the broker's directories that have the replica, or a running copy of it, each with the size that it has
    there.
    """
    for each in dirs:
        for replica in each.replicas.of((edit.topic,)):
            if replica.partition == edit.partition:
                yield each, replica


# -- checks before staging ---------------------------------------------------------------------------------------------


def _sizes(edit: MoveReplicaDir, snapshot: Snapshot) -> tuple[int, LogDir | None]:
    """Return the size of the replica in bytes, 0 if it is unknown; and its destination directory, None if the broker
    has no such directory or was not read.
    """
    dirs = snapshot.log_dirs.get(edit.broker, ())
    size = next((replica.size for _, replica in _held(dirs, edit) if not replica.is_future), 0)
    return size, next((each for each in dirs if each.path == edit.path), None)


# -- warnings ----------------------------------------------------------------------------------------------------------


def _no_room(edit: MoveReplicaDir, judged: Judged) -> Iterator[str]:
    """Yield a warning if the replicas that the plan moves into a directory are larger than its usable bytes: a full
    directory goes offline with all its replicas.
    """
    size, to = _sizes(edit, judged.before)
    if to is None or to.usable_bytes < 0:
        return
    # Brokers don't check the total size of the replicas, which may fill the directory.
    together = sum(
        _sizes(each.edit, judged.before)[0]
        for each in judged.staged
        if isinstance(each.edit, MoveReplicaDir) and (each.edit.broker, each.edit.path) == (edit.broker, edit.path)
    )
    if size and together > to.usable_bytes:
        yield (
            f"{byte_count(together)} go to {edit.path} on broker {edit.broker}, where {byte_count(to.usable_bytes)} "
            "are free: a directory that is full goes offline with all its replicas"
        )


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return the requests, one for each broker."""
    by_broker = grouped((each.edit.broker, each) for each in staged if isinstance(each.edit, MoveReplicaDir))
    return [Step(_request(broker, mine), tuple(mine)) for broker, mine in by_broker.items()]


def _request(broker: int, mine: Sequence[plan_staged.Staged]) -> AlterReplicaDirs:
    edits = [each.edit for each in mine]
    return AlterReplicaDirs(broker, {edit.target: edit.path for edit in edits if isinstance(edit, MoveReplicaDir)})


def _predict(snapshot: Snapshot, edits: Sequence[MoveReplicaDir]) -> Snapshot:
    """Return the snapshot with the copies of these edits running, 0 bytes long so far."""
    log_dirs = dict(snapshot.log_dirs)
    for edit in edits:
        dirs = log_dirs.get(edit.broker, ())
        log_dirs[edit.broker] = tuple(_with_copy(each, edit) for each in dirs)
    return replace(snapshot, log_dirs=log_dirs)


def _with_copy(there: LogDir, edit: MoveReplicaDir) -> LogDir:
    mine = [each for each in there.replicas if (each.topic, each.partition) == (edit.topic, edit.partition)]
    kept = [each for each in there.replicas if each not in mine or not each.is_future]
    if there.path == edit.path and not any(not each.is_future for each in mine):
        kept = sorted([*kept, ReplicaSize(edit.topic, edit.partition, 0, 0, True)])
    return there if len(kept) == len(there.replicas) and not mine else replace(there, replicas=ReplicaSizes(kept))


def _commands(lines: Sequence[DiffLine]) -> Iterator[Command]:
    """Yield kafka-reassign-partitions --execute, which leaves the replicas on their brokers and names the new
    directories.
    """
    partitions = directories_of(
        (line.edit.topic, line.edit.partition, line.staged.was.replicas, line.edit.broker, line.edit.path)
        for line in lines
        if isinstance(line.edit, MoveReplicaDir) and isinstance(line.staged.was, ReplicaDir)
    )
    return reassignment(partitions, "--execute", "--additional")


def directories_of(moves: Iterable[tuple[str, int, Sequence[int], int, str]]) -> list[dict[str, Any]]:
    """Return the partitions of a reassignment in the form that kafka-reassign-partitions reads; replicas without a move
    have the directory ``any``, which leaves them where they are.

    Args:
        moves: topic, partition, the partition's replicas, a broker, and the new directory on it. A move on a broker
            that is not among the replicas is skipped.
    """
    partitions: dict[tuple[str, int], dict[str, Any]] = {}
    for topic, number, replicas, broker, path in moves:
        if broker not in replicas:
            continue
        anywhere = ["any"] * len(replicas)
        found = {"topic": topic, "partition": number, "replicas": replicas, "log_dirs": anywhere}
        partitions.setdefault((topic, number), found)["log_dirs"][replicas.index(broker)] = path
    return list(partitions.values())


# -- the kinds of edits ------------------------------------------------------------------------------------------------

DIRECTORIES = Batch(
    stage=Stage.MOVES,
    steps=_steps,
    predict=_predict,
    all_commands=_commands,
    waits_for=MOVES,
    why="once the moves between brokers have begun",
)


class _MoveReplicaDirKind(EditKind):
    edit = MoveReplicaDir
    verb = "move"
    words = "move from {old} to {new}"
    state = ReplicaDir
    batch = DIRECTORIES
    is_loss = False
    risks = (RiskRule(LOG_DIR_SPACE, _no_room),)

    def judge(self, edit: MoveReplicaDir, draft: plan_staged.Draft) -> plan_staged.Verdict:
        draft.refuse_deleted(edit.topic)
        was = self.current(edit, draft)
        place = f"{edit.topic}/{edit.partition}"
        if was is plan_staged.UNREAD:
            if what := holds_nothing(draft.snapshot, edit.broker):
                raise plan_staged.Refused(what, "Name a broker.")
            reason = f"the log directories of broker {edit.broker} are unknown"
            raise plan_staged.Refused(reason, "Check that the broker is alive, and DESCRIBE on the cluster.")
        if not isinstance(was, ReplicaDir):
            partition = partition_in(draft.snapshot.topics.get(edit.topic), edit.partition)
            remedy = f"It is on brokers {', '.join(map(str, partition.replicas))}." if partition is not None else ""
            raise plan_staged.Refused(f"broker {edit.broker} has no replica of {place}", remedy or "Check the name.")
        dirs = draft.snapshot.log_dirs[edit.broker]
        to = next((each for each in dirs if each.path == edit.path), None)
        if to is None:
            paths = ", ".join(each.path for each in dirs)
            raise plan_staged.Refused(f"broker {edit.broker} has no log directory {edit.path}", f"It has {paths}.")
        if was.destination == edit.path:
            return plan_staged.Dropped(edit, "it is copied there already" if was.future else "it is there already")
        if to.failure is not None:
            raise plan_staged.Refused(f"{edit.path} is offline: {to.failure.message}", "Name another directory.")
        # A move back to the current directory only ends a copy, and needs no space.
        if to.cordoned and was.path != edit.path:
            raise plan_staged.Refused(
                f"{edit.path} is cordoned: it takes no new replicas", "Take it out of cordoned.log.dirs."
            )
        return plan_staged.Staged(edit, was)

    def current(self, edit: MoveReplicaDir, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the present directory of the replica; None if the broker has no such replica, UNREAD if its
        directories were not read.
        """
        snapshot = seen.snapshot
        if not seen.read(Part.LOG_DIRS) or edit.broker not in snapshot.log_dirs:
            return plan_staged.UNREAD
        if any(each.part == Part.LOG_DIRS and each.entity == f"broker {edit.broker}" for each in snapshot.failures):
            return plan_staged.UNREAD
        found = {replica.is_future: held.path for held, replica in _held(snapshot.log_dirs[edit.broker], edit)}
        if False not in found:
            return None
        partition = partition_in(snapshot.topics.get(edit.topic), edit.partition)
        return ReplicaDir(found[False], found.get(True, ""), partition.replicas if partition is not None else ())

    def moved(self, _edit: object, was: ReplicaDir | None, now: ReplicaDir | None) -> bool:
        """Return whether the replica's destination has changed: the directory to which it is being copied or,
        without a running copy, the directory that has it. A replica that was added or removed has changed too.
        """
        return (was.destination if was is not None else None) != (now.destination if now is not None else None)

    def wanted(self, edit: MoveReplicaDir, now: ReplicaDir | None) -> bool | None:
        return None if now is None else now.destination == edit.path

    def before(self, _edit: object, there: ReplicaDir | None, _inheritance: object) -> EffectiveValue:
        if there is None:
            return NOTHING
        return EffectiveValue(f"{there.path} → {there.future}" if there.future else there.path)

    def after(self, edit: MoveReplicaDir, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.path)

    def effects(self, edit: MoveReplicaDir, seen: plan_staged.Described) -> tuple[str, ...]:
        """Return a line with the size of the copy and the free bytes of the directory. If the edit names the replica's
        present directory, the line names the running copy that the broker discards.
        """
        was = self.current(edit, seen)
        if not isinstance(was, ReplicaDir):
            return ()
        if was.path == edit.path:
            return (f"what is in {was.future} of it is dropped: it stays in {was.path}",)
        size, to = _sizes(edit, seen.snapshot)
        left = f"; {byte_count(to.usable_bytes)} are free there" if to is not None and to.usable_bytes >= 0 else ""
        return (f"broker {edit.broker} copies {byte_count(size)}{left}; then it drops what is in {was.path}",)

    def reversal(self, edit: MoveReplicaDir, was: ReplicaDir | None, _recorded: object) -> Reversal:
        if was is None:
            return Reversal((), was, "where it was is unknown")
        back = MoveReplicaDir(edit.topic, edit.partition, edit.broker, was.path)
        loss = f"it was being copied into {was.future}, which is not taken up again" if was.future else ""
        return Reversal((back,), replace(was, path=edit.path, future=""), loss)


KINDS = (_MoveReplicaDirKind(),)
