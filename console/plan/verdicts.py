"""Whether edits whose outcome nobody heard were applied, told from what the cluster has now. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.changes import Status, Target
from console.model.cluster import ScramCredential, Topic
from console.model.snapshot import Snapshot
from console.plan.edits import DeleteTopic, Edit, Slot, UpsertScram
from console.plan.found import found, moved, wanted
from console.plan.staged import Staged, Was, subject


def verdicts(request: Iterable[Staged], now: Snapshot) -> Mapping[Slot, Status]:
    """For the edits of one request: APPLIED where the cluster has what they want and had not before, NOT_APPLIED where
    it has what was there before, UNKNOWN where that does not tell. All keys of an entity are applied or none, so that
    one that can be seen speaks for those that can't."""
    acls = frozenset(now.acls)
    edits = tuple(request)
    alone = {each.edit.slot: verdict(each.edit, each.was, found(each.edit, now, acls)) for each in edits}
    of_subject: dict[Target, set[Status]] = {}
    for slot, status in alone.items():
        of_subject.setdefault(subject(slot.target), set()).add(status)
    return {slot: _with_its_kin(status, of_subject[subject(slot.target)]) for slot, status in alone.items()}


def _with_its_kin(status: Status, kin: set[Status]) -> Status:
    seen = kin - {Status.UNKNOWN}
    return next(iter(seen)) if status is Status.UNKNOWN and len(seen) == 1 else status


def verdict(edit: Edit, was: Was, now: Was) -> Status:
    """The same for one edit, of which `was` stood in its place before and `now` does."""
    changed = moved(edit, was, now)
    if isinstance(edit, DeleteTopic) and isinstance(now, Topic):
        return Status.APPLIED if changed and _made_anew(was, now) else Status.NOT_APPLIED
    if isinstance(edit, UpsertScram) and isinstance(now, ScramCredential):
        return Status.APPLIED if changed and now.iterations == edit.iterations else Status.UNKNOWN
    as_wanted = wanted(edit, now)
    if as_wanted is None or as_wanted is not changed:
        # As wanted and as before: it changed nothing. Neither the one nor the other: somebody else was there.
        return Status.UNKNOWN
    return Status.APPLIED if as_wanted else Status.NOT_APPLIED


def _made_anew(was: Was, now: Topic) -> bool:
    return isinstance(was, Topic) and was.topic_id != now.topic_id
