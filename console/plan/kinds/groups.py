"""Groups: deleting a group with all its offsets. `group_offsets` changes single offsets."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from console.model.changes import DeleteGroups, GroupTarget
from console.model.cluster import CommittedOffset, Group, GroupOffset, GroupPosition
from console.model.numbers import first_few
from console.model.snapshot import Snapshot
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, Removal, Reversal, Stage, each_line
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.group_commands import delete_group_command
from console.plan.group_forecast import NAMED, SHARE, has_members, members_of
from console.plan.kafka_tools import Command
from console.plan.kinds.group_offsets import STOP, committed_again, what_counts
from console.plan.requests import together

# -- edits -------------------------------------------------------------------------------------------------------------


class DeleteGroup(Edit, frozen=True):
    """Delete a group with all its offsets."""

    name: str

    @property
    def target(self) -> GroupTarget:
        """The group that is deleted."""
        return GroupTarget(self.name)


# -- entities in files -------------------------------------------------------------------------------------------------


class _KeptGroup(Struct, frozen=True):
    """The form of a deleted group in plan files and journals, with the facts that its reversal needs."""

    type: str
    state: str
    protocol: str
    offsets: tuple[tuple[str, int, CommittedOffset], ...]


# -- requests ----------------------------------------------------------------------------------------------------------


def _request(some: list[plan_staged.Staged]) -> DeleteGroups:
    return DeleteGroups(tuple(each.edit.name for each in some if isinstance(each.edit, DeleteGroup)))


def _without_groups(snapshot: Snapshot, edits: Sequence[DeleteGroup]) -> Snapshot:
    gone = {edit.name for edit in edits}
    positions = {name: each for name, each in snapshot.group_positions.items() if name not in gone}
    groups = {name: each for name, each in snapshot.groups.items() if name not in gone}
    return replace(
        snapshot, groups=groups, group_positions={**positions, **dict.fromkeys(gone, GroupPosition(None, {}))}
    )


def _command(edit: DeleteGroup, line: DiffLine) -> Command:
    was = line.staged.was
    share = isinstance(was, GroupPosition) and was.group is not None and was.group.type == SHARE
    return delete_group_command(edit.name, share=share)


DELETIONS = Batch(
    stage=Stage.GROUPS_GONE, steps=together(_request), predict=_without_groups, commands=each_line(_command)
)


class _DeleteGroupKind(Removal):
    edit = DeleteGroup
    verb = "delete"
    words = "delete, with {old}"
    state = _KeptGroup
    batch = DELETIONS

    def kept(self, was: GroupPosition) -> _KeptGroup:
        assert was.group is not None
        offsets = tuple((topic, number, each) for (topic, number), each in was.committed.items())
        return _KeptGroup(was.group.type, was.group.state, was.group.protocol, offsets)

    def state_of(self, kept: _KeptGroup) -> GroupPosition:
        """Return the group as it was, without members, because only a group without members is deleted."""
        offsets = {(topic, number): each for topic, number, each in kept.offsets}
        return GroupPosition(Group("", kept.state, kept.type, kept.protocol, members=()), offsets)

    def judge(self, edit: DeleteGroup, draft: plan_staged.Draft) -> plan_staged.Verdict:
        if draft.offsets_of(edit.name):
            raise plan_staged.Refused(
                f"the plan changes offsets of group {edit.name}", "Discard those edits, or this one."
            )
        position = draft.snapshot.group_positions.get(edit.name)
        if position is None:
            return plan_staged.Staged(edit, plan_staged.UNREAD)
        if position.group is None:
            return plan_staged.Dropped(edit, f"there is no group {edit.name}")
        if why := has_members(edit.name, members_of(position.group)):
            raise plan_staged.Refused(why, STOP)
        return plan_staged.Staged(edit, position)

    def current(self, edit: DeleteGroup, seen: plan_staged.Described) -> plan_staged.Was:
        position = seen.snapshot.group_positions.get(edit.name)
        if position is None:
            return plan_staged.UNREAD
        return position if position.group is not None else None

    def obstacle(self, edit: DeleteGroup, now: GroupPosition | None) -> str:
        return "" if now is None or now.group is None else has_members(edit.name, members_of(now.group))

    def moved(self, _edit: object, was: GroupPosition | None, now: GroupPosition | None) -> bool:
        if was is None or now is None:
            return was is not now
        return {place: what_counts(each) for place, each in was.committed.items()} != {
            place: what_counts(each) for place, each in now.committed.items()
        }

    def before(self, _edit: object, there: GroupPosition | None, _inheritance: object) -> EffectiveValue:
        if there is None:
            return NOTHING
        count = len(there.committed)
        return EffectiveValue(f"{count} {'offset' if count == 1 else 'offsets'}")

    def effects(self, edit: DeleteGroup, draft: plan_staged.Draft) -> tuple[str, ...]:
        position = draft.snapshot.group_positions.get(edit.name)
        if position is None or not position.committed:
            return ()
        named = first_few(list(dict.fromkeys(topic for topic, _ in position.committed)), NAMED)
        count = len(position.committed)
        return (f"{count:,} {'offset goes' if count == 1 else 'offsets go'} with it, of {named}",)

    def reversal(self, edit: DeleteGroup, was: GroupPosition | None, _overrides: object) -> Reversal:
        if was is None or was.group is None:
            return Reversal((), None, "nothing was there")
        # No request can create a group without offsets: only a member that joins does.
        if not was.committed:
            return Reversal((), None, "the group had no offsets: its first member makes it again")
        share = was.group.type == SHARE
        back = tuple(
            committed_again(edit.name, topic, number, each, share=share)
            for (topic, number), each in was.committed.items()
        )
        return Reversal(back, GroupOffset(None), "records in flight are not restored" if share else "")


KINDS = (_DeleteGroupKind(),)
