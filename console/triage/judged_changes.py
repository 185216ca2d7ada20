"""Changes that clients made, each as the edit that would have made it here, judged by the rules of plans. Pure.

A change is judged once, against the snapshot before it, and kept until it is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from console.model import changes
from console.model.acl import Acl
from console.model.codes import TOPIC
from console.model.config import ConfigResource, entry_in, is_override
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicReaders
from console.plan import edits
from console.plan.risk_rules import RiskFacts
from console.triage import events as triage_events
from console.triage.config_changes import HIDDEN
from console.triage.symptoms import Poll

if TYPE_CHECKING:
    from console.plan.staged import Staged

KEPT = timedelta(hours=1)
"""The period for which a change is kept."""
MOST = 200
"""Limit of changes that are kept, the latest ones, and of those of one poll that are judged: more at once are a copy of
another cluster's.
"""


class Warned(NamedTuple):
    """A risk that a rule of the plan names. name: as in `risk_rules.NAMES`; text: its effect, in a line."""

    name: str
    text: str


class JudgedChange(Struct, frozen=True):
    """A change that a client made between two polls.

    was, became: as in `triage_events.Difference`. back: the edits that take it back; empty if nothing restores the
    former state, or if a rule of the plan warns of these edits. after: time of the last read without it, at: time of
    the poll that first has it, UTC. held, holds: the effective values of a config before and after, from any source.
    """

    place: triage_events.Place
    was: str | None
    became: str | None
    risks: tuple[Warned, ...]
    back: tuple[edits.Edit, ...]
    after: datetime
    at: datetime
    held: str | None = None
    holds: str | None = None


def edit_of(change: triage_events.Difference) -> edits.Edit | None:
    """Return the edit that would have made a change; None if no edit of kac can, or its value is hidden."""
    about, key, was, became = change.place.about, change.place.key, change.was, change.became
    if HIDDEN in (was, became):
        return None
    match about:
        case ConfigResource():
            return edits.UnsetConfig(about, key) if became is None else edits.SetConfig(about, key, became)
        case QuotaEntity():
            return edits.UnsetQuota(about, key) if became is None else edits.SetQuota(about, key, float(became))
        case Acl():
            return edits.RemoveAcl(about) if became is None else edits.AddAcl(about)
        case changes.ScramUser() if became is None:  # a password is never known
            return edits.DeleteScram(about)
        case changes.TopicTarget() if became is None or key == triage_events.ID:
            return edits.DeleteTopic(about.name)
        case changes.TopicTarget() if was is not None and became is not None and int(became) > int(was):
            return edits.GrowTopic(about.name, int(became))
    return None


def changes_after(known: tuple[JudgedChange, ...], before: Poll, now: Poll) -> tuple[JudgedChange, ...]:
    """Return the kept changes after a poll: those of the last hour (`KEPT`) that were not taken back.

    Several changes of a place are one, from the first former value to the present one. A change that restores that
    value is a repair: neither is kept.
    """
    old, new = before.snapshot, now.snapshot
    found = list(islice(_differences(old, new), MOST))
    if not found and not known:
        return known
    recent = (_made_again(each, new) for each in known if each.at > now.at - KEPT)
    kept = {each.place: each for each in recent if not _is_gone(each, new)}
    for made in _judged(found, before, now):
        earlier = kept.pop(made.place, None)
        if earlier is None:
            kept[made.place] = made
        elif earlier.was != made.became:  # otherwise it restores the value that the earlier one replaced
            kept[made.place] = replace(made, was=earlier.was, held=earlier.held, back=earlier.back)
    now_known = tuple(kept.values())[-MOST:]
    # An equal result is the same object, so that what is based on it is not computed again.
    return known if now_known == known else now_known


def _differences(old: Snapshot, new: Snapshot) -> Iterator[triage_events.Difference]:
    for each in triage_events.changes_by_clients(old, new):
        place = each.place
        if place.kind is triage_events.Kind.TOPIC and each.was is None:
            continue  # a new topic harms no client
        if place.kind is triage_events.Kind.CONFIG and not _is_dynamic(place, old, new):
            continue  # brokers read their file when they start
        yield each


def _is_dynamic(place: triage_events.Place, old: Snapshot, new: Snapshot) -> bool:
    """Return whether a config was, or is, an override that a request sets."""
    assert isinstance(place.about, ConfigResource)
    entries = (entry_in(snapshot.configs, place.about, place.key) for snapshot in (old, new))
    return any(entry is not None and is_override(entry, place.about) for entry in entries)


def _made_again(change: JudgedChange, snapshot: Snapshot) -> JudgedChange:
    """Return the deletion of a topic that is there again as what it was: another topic took its name."""
    place = change.place
    if not isinstance(place.about, changes.TopicTarget) or change.became is not None:
        return change
    topic = snapshot.topics.get(place.about.name)
    if topic is None:
        return change
    return replace(change, place=place._replace(key=triage_events.ID), became=topic.topic_id or "", at=change.at)


def _is_gone(change: JudgedChange, snapshot: Snapshot) -> bool:
    """Return whether the topic of a change is gone."""
    about = change.place.about
    if isinstance(about, changes.TopicTarget):
        return about.name not in snapshot.topics and change.became is not None
    if not isinstance(about, ConfigResource) or about.type != TOPIC:
        return False
    return Part.TOPICS in snapshot.read_at and about.name not in snapshot.topics


def _judged(made: Sequence[triage_events.Difference], before: Poll, now: Poll) -> Iterator[JudgedChange]:
    if not made:
        return
    old, new, at = before.snapshot, now.snapshot, now.at
    # The kinds of edits are a megabyte that a cluster without changes does not need.
    from console.plan.kinds.registry import kind_of
    from console.plan.reversal import reversal
    from console.plan.risks import risks
    from console.plan.staged import Described, Staged

    seen = Described(old)
    for each in made:
        edit = edit_of(each)
        found: tuple[Warned, ...] = ()
        back: tuple[edits.Edit, ...] = ()
        if edit is not None:
            staged = Staged(edit, kind_of(edit).current(edit, seen))
            found = _warnings(staged, old, new)
            if not isinstance(edit, edits.DeleteTopic):
                back = reversal(staged).edits
            then = Described(new)
            undone = tuple(Staged(one, kind_of(one).current(one, then)) for one in back)
            if risks(undone, new):
                back = ()
        since, _ = triage_events.seen_between(each.place, old, new, at)
        whole = old.read_at.get(Part.CONFIGS)
        held, holds = (_effective(snapshot, each.place) for snapshot in (old, new))
        yield JudgedChange(each.place, each.was, each.became, found, back, since or whole or before.at, at, held, holds)


def _warnings(staged: Staged, old: Snapshot, new: Snapshot) -> tuple[Warned, ...]:
    """Return what the rules warn of, for an edit that made a cluster of another."""
    from console.plan.risks import risks

    found = risks((staged,), old, _facts(staged.edit, old), new)
    return tuple(Warned(risk.name, risk.text) for risk in found)


def warned_places(
    differing: Iterable[triage_events.Difference], old: Snapshot, new: Snapshot
) -> frozenset[triage_events.Place]:
    """Return the places whose changes the rules warn of; of very many changes only the first ones (`MOST`) are
    judged.
    """
    made = ((each, edit) for each in differing if each.place.kind.about.by_requests and (edit := edit_of(each)))
    some = list(islice(made, MOST))
    if not some:
        return frozenset()
    from console.plan.kinds.registry import kind_of
    from console.plan.staged import Described, Staged

    seen = Described(old)
    return frozenset(
        each.place for each, edit in some if _warnings(Staged(edit, kind_of(edit).current(edit, seen)), old, new)
    )


def _effective(snapshot: Snapshot, place: triage_events.Place) -> str | None:
    """Return the value of a config, inherited or not; None for other places and unknown values."""
    entry = entry_in(snapshot.configs, place.about, place.key) if isinstance(place.about, ConfigResource) else None
    return entry.value if entry is not None else None


def _facts(edit: edits.Edit, snapshot: Snapshot) -> RiskFacts:
    """Return the facts for warnings, as far as polls have them."""
    name = edit.on_topic
    if name is None:
        return RiskFacts()
    dirs = [each for mine in snapshot.log_dirs.values() for each in mine]
    sizes = {name: sum(each.sizes.get(name, 0) for each in dirs)} if dirs else {}
    return RiskFacts(sizes, readers={name: readers_of(name, snapshot)})


def readers_of(topic: str, snapshot: Snapshot) -> TopicReaders:
    """Return the groups that read a topic, as far as their offsets and members were read."""
    committed = {
        (group, each.partition): each.committed
        for group, lag in snapshot.lags.items()
        for each in lag.partitions
        if each.topic == topic and each.committed >= 0
    }
    members: Mapping[str, int] = {
        name: count
        for name, group in snapshot.groups.items()
        if (count := sum(any(topic == where for where, _ in each.assignment) for each in group.members or ()))
    }
    listed = frozenset(snapshot.groups)
    return TopicReaders(committed, len(listed), len(snapshot.lags), members=members, listed=listed)
