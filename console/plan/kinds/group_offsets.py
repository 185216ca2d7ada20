"""Offsets of groups: setting and deleting them. `groups` deletes a group with all its offsets.

Coordinators accept an offset only for a group without members (ClassicGroup.validateOffsetCommit, ConsumerGroup,
StreamsGroup, ShareGroup). They accept any number as offset, so kac checks that it is in the partition's log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from console.model import changes
from console.model.cluster import CommittedOffset, Group, GroupOffset
from console.model.coordinators import OFFSETS, partition_of
from console.model.grouping import grouped
from console.model.snapshot import Snapshot
from console.model.transactions import verdict
from console.plan import group_forecast
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, EditKind, Removal, Reversal, Stage
from console.plan.edits import CommitOffset, DeleteOffset, GroupOffsetEdit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.group_commands import delete_offset_commands, reset_commands
from console.plan.kafka_tools import Command
from console.plan.requests import Facts, Step, steps_of
from console.plan.risk_rules import ASSIGNED_CONSUMERS, Judged, RiskRule

REQUEST_BYTES = 500_000
"""Maximum size in bytes of the records that a coordinator has to write for one request: about half of the default
max.message.bytes of __consumer_offsets, because the sizes are only estimated.
"""
_RECORD_BYTES = 90


# -- the present state -------------------------------------------------------------------------------------------------


def _group_facts(group: Group | None) -> tuple[str, str, tuple[str, ...]]:
    return ("", "", ()) if group is None else (group.type, group.protocol, group_forecast.members_of(group))


def _committed(there: GroupOffset | None) -> CommittedOffset | None:
    return None if there is None else there.committed


def what_counts(committed: CommittedOffset | None) -> tuple[int, str] | None:
    """Return the offset and the metadata of a commit, which decide whether two commits are equal; None if there is no
    commit.
    """
    return None if committed is None else (committed.offset, committed.metadata)


# -- checks before staging ---------------------------------------------------------------------------------------------

STOP = "Stop them, wait until the group is Empty, and stage it again."


def _is_outside(edit: CommitOffset, there: GroupOffset) -> bool:
    return there.log is not None and not there.log.start <= edit.offset <= there.log.end


def _check_group(edit: GroupOffsetEdit, draft: plan_staged.Draft) -> None:
    if draft.group_edit(edit.group) is not None:
        raise plan_staged.Refused(f"the plan deletes group {edit.group}", "Discard the deletion, or this edit.")
    draft.refuse_created(edit.topic)
    position = draft.snapshot.group_positions.get(edit.group)
    if position is not None and position.group is not None and (why := _members(edit.group, position.group, draft)):
        raise plan_staged.Refused(why, STOP)


def _members(name: str, group: Group, draft: plan_staged.Draft) -> str:
    return draft.once(("members", name), lambda: group_forecast.has_members(name, group_forecast.members_of(group)))


# -- forecast ----------------------------------------------------------------------------------------------------------


def _held(group: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line if an open transaction in __consumer_offsets keeps consumers from getting the group's offsets."""
    known = snapshot.topics.get(OFFSETS)
    number = partition_of(group, len(known.partitions)) if known is not None and known.partitions else -1
    poll = snapshot.transactions.get((OFFSETS, number))
    offsets = poll.offsets.get((OFFSETS, number)) if poll is not None else None
    if poll is None or offsets is None or not offsets.waiting:
        return
    open_ = min(poll.at(OFFSETS, number), key=lambda each: each.producer.start_offset, default=None)
    whose = "a transaction" if open_ is None else f"the transaction of producer {open_.producer.id}"
    why = "" if open_ is None else f" ({verdict(open_, poll).why})"
    yield (
        f"{whose} is open in {OFFSETS}/{number}, where the group's offsets are{why}: consumers don't get the offsets "
        "that it holds before it ends, whatever is committed here"
    )


# -- warnings ----------------------------------------------------------------------------------------------------------


def _assigned_consumers(edit: GroupOffsetEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning, once for each group, if the group has offsets but its coordinator has never seen members
    (ConsumerGroupDescription.isSimpleConsumerGroup): consumers that assign partitions themselves may be running.
    """
    position = judged.before.group_positions.get(edit.group)
    group = position.group if position is not None else None
    if position is None or group is None or group.type != "classic" or group.protocol or not position.committed:
        return
    if group.state == "Dead":
        return  # the state from a server that reports nothing else about a group without members
    if judged.draft.begins(edit, edit.group):
        yield (
            f"group {edit.group} never had members: its offsets are committed by tools or by consumers that assign() "
            "partitions, and one that runs now goes on where it is and overwrites this"
        )


# -- reversal ----------------------------------------------------------------------------------------------------------


def committed_again(
    group: str, topic: str, partition: int, committed: CommittedOffset, *, share: bool = False
) -> CommitOffset:
    """Return the edit that restores an earlier commit. share: whether the group is a share group."""
    return CommitOffset(group, topic, partition, *committed, restored=True, share=share)


def _in_flight(was: GroupOffset | None) -> str:
    return "records in flight are not restored" if was is not None and was.type == group_forecast.SHARE else ""


# -- requests ----------------------------------------------------------------------------------------------------------


def _reset_steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    return _steps_by_group(staged, _reset_request)


def _forget_steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    return _steps_by_group(staged, _forget_request)


def _steps_by_group(staged: Sequence[plan_staged.Staged], request: Any) -> list[Step]:
    """Return requests for each group, each limited to the bytes that the group's coordinator can write at once."""
    groups = grouped((each.edit.group, each) for each in staged)  # type: ignore[attr-defined]
    steps: list[Step] = []
    for mine in groups.values():
        # DeleteShareGroupOffsets names only topics, so all partitions of a topic stay in one request.
        parts = _topics(mine) if _is_share(mine) else [[each] for each in mine]
        sized = ((part, sum(map(_record_size, part))) for part in parts)
        steps += steps_of(sized, REQUEST_BYTES, request, "bytes of offsets")
    return steps


def _topics(staged: Iterable[plan_staged.Staged]) -> list[list[plan_staged.Staged]]:
    return list(grouped((each.edit.topic, each) for each in staged).values())  # type: ignore[attr-defined]


def _record_size(staged: plan_staged.Staged) -> int:
    edit = staged.edit
    assert isinstance(edit, CommitOffset | DeleteOffset)
    text = edit.metadata if isinstance(edit, CommitOffset) else ""
    return _RECORD_BYTES + len((edit.group + edit.topic + text).encode())


def _is_share(some: Sequence[plan_staged.Staged]) -> bool:
    return any(group_forecast.is_of_share_group(each) for each in some)


def _reset_request(some: list[plan_staged.Staged]) -> changes.ChangeRequest:
    edits: list[CommitOffset] = [each.edit for each in some if isinstance(each.edit, CommitOffset)]
    group = edits[0].group
    if _is_share(some):
        return changes.AlterShareGroupOffsets(group, {edit.target: edit.offset for edit in edits})
    offsets = {edit.target: CommittedOffset(edit.offset, edit.leader_epoch, edit.metadata) for edit in edits}
    # OffsetCommit names topics by id since version 10 (KIP-848): a topic created again under the same name is then not
    # affected.
    ids = {each.edit.topic: each.topic_id for each in some if each.topic_id and isinstance(each.edit, CommitOffset)}
    return changes.CommitOffsets(group, offsets, ids)


def _forget_request(some: list[plan_staged.Staged]) -> changes.ChangeRequest:
    targets = tuple(each.edit.target for each in some if isinstance(each.edit, DeleteOffset))
    kind = changes.DeleteShareGroupOffsets if _is_share(some) else changes.DeleteOffsets
    return kind(targets[0].group, targets)


# -- the cluster afterwards --------------------------------------------------------------------------------------------


def _with_offsets(snapshot: Snapshot, edits: Sequence[GroupOffsetEdit]) -> Snapshot:
    positions = dict(snapshot.group_positions)
    changed: dict[str, dict[tuple[str, int], CommittedOffset]] = {}
    for edit in edits:
        # Skip a group whose positions were not read: with this offset alone, it would look as if all of them were
        # known.
        if edit.group not in positions:
            continue
        offsets = changed.setdefault(edit.group, dict(positions[edit.group].committed))
        if isinstance(edit, CommitOffset):
            offsets[edit.topic, edit.partition] = CommittedOffset(edit.offset, edit.leader_epoch, edit.metadata)
        else:
            offsets.pop((edit.topic, edit.partition), None)
    for name, offsets in changed.items():
        group = positions[name].group or Group(name, "Empty", "classic", members=())
        positions[name] = replace(positions[name], group=group, committed=offsets)
    return replace(snapshot, group_positions=positions)


# -- the kinds of edits ------------------------------------------------------------------------------------------------


def _is_of_group(target: changes.Target) -> str:
    assert isinstance(target, changes.GroupTarget)
    return target.name


def _reset_commands(target: changes.Target, lines: Sequence[DiffLine]) -> Iterable[Command]:
    return reset_commands(_is_of_group(target), [line.staged for line in lines])


def _forget_commands(target: changes.Target, lines: Sequence[DiffLine]) -> Iterable[Command]:
    return delete_offset_commands(_is_of_group(target), [line.staged for line in lines])


RESETS = Batch(stage=Stage.OFFSETS, steps=_reset_steps, predict=_with_offsets, commands=_reset_commands)
DELETIONS = Batch(stage=Stage.OFFSETS, steps=_forget_steps, predict=_with_offsets, commands=_forget_commands)


class _GroupOffsetKind(EditKind):
    state = GroupOffset
    risks = (RiskRule(ASSIGNED_CONSUMERS, _assigned_consumers),)

    def current(self, edit: GroupOffsetEdit, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the group's committed offset for the partition; UNREAD if the group, or its offsets, were not read."""
        position = seen.snapshot.group_positions.get(edit.group)
        place = edit.topic, edit.partition
        # In an incomplete response, a partition that is missing may still have an offset.
        if position is None or (place not in position.committed and position.failures):
            return plan_staged.UNREAD
        log = seen.snapshot.log_ranges.get(place)
        type_, protocol, members = seen.once(("group", edit.group), lambda: _group_facts(position.group))
        return GroupOffset(position.committed.get(place), log, type_, protocol, members)

    def obstacle(self, edit: GroupOffsetEdit, now: GroupOffset | None) -> str:
        return "" if now is None else group_forecast.has_members(edit.group, now.members)

    def moved(self, _edit: object, was: GroupOffset | None, now: GroupOffset | None) -> bool:
        """Return whether the committed offset or its metadata changed; the leader epoch is not compared, since brokers
        may add it.
        """
        return what_counts(_committed(was)) != what_counts(_committed(now))

    def before(self, _edit: object, there: GroupOffset | None, _inheritance: object) -> EffectiveValue:
        committed = _committed(there)
        return NOTHING if committed is None else EffectiveValue(committed.offset)

    def effects(self, edit: GroupOffsetEdit, draft: plan_staged.Draft) -> tuple[str, ...]:
        """Return the effects of all edits of the group's offsets together, for the first of these edits; empty for the
        others.
        """
        # Return the lines only for the first edit, as each of thousands of partitions would otherwise repeat them.
        if not draft.begins(edit, edit.group):
            return ()
        return (
            *_held(edit.group, draft.snapshot),
            *group_forecast.effects_of_all(edit.group, draft.offsets_of(edit.group)),
        )


class _CommitOffsetKind(_GroupOffsetKind):
    edit = CommitOffset
    verb = "reset"
    batch = RESETS

    def judge(self, edit: CommitOffset, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_group(edit, draft)
        was = self.current(edit, draft)
        topic = draft.snapshot.topics.get(edit.topic)
        if topic is not None and edit.partition >= len(topic.partitions):
            count = f"topic {edit.topic} has {len(topic.partitions)} partitions"
            raise plan_staged.Refused(f"there is no partition {edit.partition}: {count}, from 0", "Check the number.")
        # Offsets of share groups have their own requests, which coordinators refuse for other types of groups.
        if edit.share and isinstance(was, GroupOffset) and was.type not in ("", group_forecast.SHARE):
            raise plan_staged.Refused(
                f"{edit.group} is no share group: its type is {was.type}", "Leave out the word share."
            )
        if (
            edit.metadata
            and isinstance(was, GroupOffset)
            and (was.type or (edit.share and group_forecast.SHARE)) == group_forecast.SHARE
        ):
            raise plan_staged.Refused("a share group keeps no metadata of an offset", "Leave it out.")
        if edit.offset < 0 and not (isinstance(was, GroupOffset) and was.log):
            raise plan_staged.Refused(f"{edit.offset} is no offset", "Give an offset from the log's range.")
        if not isinstance(was, GroupOffset):
            return plan_staged.Staged(edit, was)
        if topic is None:
            raise plan_staged.Refused(f"there is no topic {edit.topic}", "Offsets go with their topic. Check the name.")
        # Allow a revert to restore an offset that retention has deleted since: the group had it, and continues by its
        # auto.offset.reset.
        if _is_outside(edit, was) and not edit.restored:
            assert was.log is not None
            name = f"{edit.topic}/{edit.partition}"
            reason = f"offset {edit.offset} is outside of the log of {name}, {was.log.start} to {was.log.end}"
            raise plan_staged.Refused(reason, "Give an offset from that range, or reset to earliest or latest.")
        if self.wanted(edit, was):
            return plan_staged.Dropped(edit, f"the group is at offset {edit.offset} already")
        return plan_staged.Staged(edit, was)

    def wanted(self, edit: CommitOffset, now: GroupOffset | None) -> bool:
        return what_counts(_committed(now)) == (edit.offset, edit.metadata)

    def after(self, edit: CommitOffset, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.offset)

    def note(self, edit: CommitOffset, there: GroupOffset | None, _old: object, _inheritance: object) -> str:
        if there is None:
            return ""
        if _is_outside(edit, there):
            return "outside of the log: readers begin as their auto.offset.reset says"
        if there.committed is None:
            return "nothing was committed"
        return group_forecast.forecast_text(*group_forecast.forecast(there, edit.offset))

    def phrase(self, edit: CommitOffset, line: DiffLine, old: str, new: str) -> str:
        was = f"from {old} to" if line.old.value is not None else "to"
        return f"{edit.topic}/{edit.partition}  reset {was} {new}" + (f"  {line.note}" if line.note else "")

    def reversal(self, edit: CommitOffset, was: GroupOffset | None, _overrides: object) -> Reversal:
        left = GroupOffset(CommittedOffset(edit.offset, edit.leader_epoch, edit.metadata), type=was.type if was else "")
        committed = _committed(was)
        if committed is not None:
            return Reversal(
                (committed_again(edit.group, edit.topic, edit.partition, committed),), left, _in_flight(was)
            )
        loss = "" if was is not None and was.type else "the group stays, empty, until its coordinator removes it"
        return Reversal((DeleteOffset(edit.group, edit.topic, edit.partition),), left, loss or _in_flight(was))


class _DeleteOffsetKind(Removal, _GroupOffsetKind):
    edit = DeleteOffset
    verb = "delete"
    batch = DELETIONS

    def judge(self, edit: DeleteOffset, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_group(edit, draft)
        was = self.current(edit, draft)
        if not edit.group:
            raise plan_staged.Refused(
                "brokers delete no single offset of the group with the empty name", "Delete the group."
            )
        if isinstance(was, GroupOffset) and was.committed is None:
            return plan_staged.Dropped(edit, f"group {edit.group} committed nothing for {edit.topic}/{edit.partition}")
        return plan_staged.Staged(edit, was)

    def wanted(self, _edit: object, now: GroupOffset | None) -> bool:
        return _committed(now) is None

    def phrase(self, edit: DeleteOffset, _line: object, old: str, _new: object) -> str:
        return f"{edit.topic}/{edit.partition}  delete offset {old}"

    def reversal(self, edit: DeleteOffset, was: GroupOffset | None, _overrides: object) -> Reversal:
        committed = _committed(was)
        if committed is None:
            return Reversal((), None, "nothing was there")
        back = committed_again(edit.group, edit.topic, edit.partition, committed)
        return Reversal((back,), GroupOffset(None), _in_flight(was))


KINDS = (_CommitOffsetKind(), _DeleteOffsetKind())
