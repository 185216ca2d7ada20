"""Changes that clients made, each converted to the edit with which kac would have made it, and judged by the rules of
plans. Pure.

A change is judged once, against the snapshot before it, and kept until it is reverted or an hour has passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.model import changes
from console.model import cluster as model_cluster
from console.model.acl import Acl
from console.model.cluster import Broker, ClusterFeatures, Group, GroupLag, Topic
from console.model.codes import BROKER, STATIC_BROKER_CONFIG, TOPIC
from console.model.config import ConfigResource, entry_in, is_override, min_isr
from console.model.differing import differing
from console.model.feature_levels import newest_levels
from console.model.lag_trend import place as row_place
from console.model.mirror import has_checkpoints
from console.model.numbers import commas, first_few
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.model.subjects import SchemaVersion, SubjectTarget
from console.model.topic_readers import TopicReaders
from console.plan import edits
from console.plan.rack_risks import moved_rack, one_rack, racks, single_text
from console.plan.risk_rules import ISR_ABOVE_REPLICATION, ONE_RACK, ONE_REPLICA, RiskFacts
from console.plan.topic_risks import isr_text
from console.triage import events as triage_events
from console.triage.begun_moves import moves_by_topic
from console.triage.config_changes import HIDDEN
from console.triage.moves import Grown
from console.triage.remembered import remembered
from console.triage.symptoms import Poll
from console.triage.written import Written, written

if TYPE_CHECKING:
    from console.plan.staged import Staged

KEPT = timedelta(hours=1)
"""The time for which a change is kept."""
MOST = 200
"""Maximum number of changes that are kept, the latest ones, and of changes of one poll that are judged. If there are
more, settings of another cluster were copied.
"""


WRITTEN = 300.0
"""Seconds since the last new record after which a topic counts as not used by producers."""
MOST_LINES = 50
"""Maximum number of changed lines in brokers' files that are judged for one poll."""
LATELY = timedelta(hours=1)
"""The time after its last commit for which a partition counts as read by a group without a member for it."""
OffsetPlace = tuple[str, int]


FEW_READ, MANY_READ = 20, 200
"""Maximum number of records that a group that began again at the first one has read meanwhile, in each partition; and
the minimum that it had read before, in one of them."""


class Node(NamedTuple):
    """A broker as the cluster last listed it, with the time of that listing, UTC."""

    broker: Broker
    at: datetime


class Versions(NamedTuple):
    """The versions of a subject in the schema registry before and after a change."""

    former: tuple[SchemaVersion, ...]
    """The versions that existed before."""
    registered: tuple[int, ...]
    """The numbers of the versions that were registered."""
    deleted: tuple[int, ...]
    """The numbers of the versions that were deleted. If a deleted version is registered again, it has the same schema
    id and another number.
    """

    @property
    def differ(self) -> bool:
        """Whether the set of schemas is another one than before."""
        return bool(self.registered or self.deleted)


class Warned(NamedTuple):
    """A risk of a change, as the plan's rule names it."""

    name: str
    """The name of the risk, one of `risk_rules.NAMES`."""
    text: str
    """The effect, in a line."""


class Limits(NamedTuple):
    """The write load before a quota of producers was lowered."""

    written: Written
    """The load by topic and leader; the same object for all changes of a poll."""
    leaders: frozenset[int]
    """The leaders to which all clients together wrote more than the quota lets one client write."""


class ChangesNow(NamedTuple):
    """The changes that are in effect after a poll, and those that this poll showed as reverted."""

    judged: tuple[JudgedChange, ...]
    taken_back: tuple[JudgedChange, ...] = ()


class JudgedChange(Struct, frozen=True):
    """A change that a client made between two polls."""

    place: triage_events.Place
    was: str | None
    """The former value, as in `events.Difference`."""
    became: str | None
    """The new value, as in `events.Difference`."""
    risks: tuple[Warned, ...]
    back: tuple[edits.Edit, ...]
    """The edits that revert the change; empty if none restores the former state, or if a rule of plans warns of these
    edits.
    """
    after: datetime
    """The time of the last read without the change, UTC."""
    at: datetime
    """The time of the first poll with the change, UTC."""
    held: str | None = None
    """For a config, the effective value before, from any source; None if unknown."""
    holds: str | None = None
    """For a config, the effective value after, from any source; None if unknown."""
    offsets: Mapping[OffsetPlace, tuple[int, int]] = field(default_factory=dict)
    """(topic, partition) -> a group's offset before and after the change, -1 for no offset. Only offsets that the group
    has not reached again.
    """
    waited: int | None = None
    """The number of records that waited for a group when it disappeared with its offsets; None if the group did not
    disappear.
    """
    versions: Versions | None = None
    """The versions of a schema's subject; None for other changes."""
    limits: Limits | None = None
    """The load before the change, for a quota of producers that is lower than what was written to a leader; None for
    other changes.
    """
    from_file: bool = False
    """Whether the config is in the broker's file, which a broker reads when it starts."""
    was_used: bool = True
    """For a deleted topic, whether clients used it: a member had a partition of it, or records came lately. For a lost
    offset, whether kac saw a client that reads the partition.
    """

    by_member: bool = False
    """Whether a member of the group set the offsets back: the same members had the partitions before and after, and
    brokers accept commits for a group with members only from these.
    """
    to_start: bool = False
    """Whether the new offsets are those of the first records of the logs."""

    @property
    def ahead(self) -> int:
        """The number of records that a group passes over because its offsets were set ahead."""
        return sum(now - was for was, now in self.offsets.values() if was < now) if self.waited is None else 0

    @property
    def again(self) -> int:
        """The largest number of records that a group reads again."""
        return sum(was - now for was, now in self.offsets.values() if 0 <= now < was)

    @property
    def skipped(self) -> int:
        """The number of records between the offsets that disappeared with a group and those at which the group began
        again.
        """
        return sum(now - was for was, now in self.offsets.values() if was < now) if self.waited is not None else 0

    @property
    def is_lost(self) -> bool:
        """Whether the change deleted offsets."""
        return any(now < 0 for _, now in self.offsets.values())


def edit_of(change: triage_events.Difference) -> edits.Edit | None:
    """Return the edit with which kac would have made a change; None if kac has no such edit, or if the value
    is hidden.
    """
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
        case changes.FeatureTarget():
            return edits.SetFeature(about.name, int(became or 0))
        case changes.VoterTarget() if became is None:  # no API reports the endpoint of a voter that joined
            from console.plan.kinds.voters import LeaveQuorum

            return LeaveQuorum(about.id, about.directory_id)
        case changes.GroupOffsetTarget(group=group, topic=topic, number=number):
            if became is None:
                return edits.DeleteOffset(group, topic, number)
            return edits.CommitOffset(group, topic, number, int(became))
    return None


def nodes_after(known: Mapping[int, Node], now: Poll) -> Mapping[int, Node]:
    """Return broker -> its last listing. A broker that is down keeps the one from before."""
    listed = {each.id: Node(each, now.at) for each in now.snapshot.cluster.brokers if not each.fenced}
    return {**known, **listed}


def changes_after(
    known: tuple[JudgedChange, ...],
    before: Poll,
    now: Poll,
    nodes: Mapping[int, Node] = MappingProxyType({}),
    grown: Mapping[str, Grown] = MappingProxyType({}),
) -> ChangesNow:
    """Return the changes that are kept after a poll: those of the last hour (`KEPT`) that were not reverted.

    Several changes of a place become one, from the first former value to the present value. A change that restores the
    former value is a revert: then neither change is kept.

    Args:
        known: the changes kept after the last poll.
        before, now: the last poll and this one.
        nodes: broker -> its listing before this poll.
        grown: the topics that got more replicas before this poll.
    """
    old, new = before.snapshot, now.snapshot
    found = list(islice(_differences(old, new), MOST))
    made = [
        *_judged(found, before, now),
        *_of_brokers(nodes, now),
        *_of_offsets(known, before, now),
        *_of_schemas(known, before, now),
        *_of_logins(before, now),
        *_of_replicas(before, now, grown),
    ]
    if not made and not known:
        return ChangesNow(known)
    recent = (_as_it_is(each, new) for each in known if each.at > now.at - KEPT)
    kept = {each.place: each for each in recent if not _is_gone(each, new)}
    taken_back: list[JudgedChange] = []
    for one in made:
        earlier = kept.pop(one.place, None)
        if one.versions is not None:  # this change includes the subject's earlier ones
            kept |= {one.place: one} if one.versions.differ else {}
        elif earlier is None:
            kept[one.place] = one
        elif earlier.offsets or earlier.was != one.became:
            kept[one.place] = _joined(earlier, one)
        else:  # the change restores the former value
            taken_back.append(earlier)
    renewed = {each.place.about.name for each in kept.values() if isinstance(each.place.about, changes.TopicTarget)}
    if renewed:  # a topic that was created again has no former offsets
        kept = {place: _without_topics(each, renewed) for place, each in kept.items()}
        kept = {place: each for place, each in kept.items() if each.offsets or not _is_of_offsets(place)}
    now_known = tuple(kept.values())[-MOST:]
    # Return the same object if nothing changed, so that results based on it are not computed again.
    return ChangesNow(known if now_known == known else now_known, tuple(taken_back))


def _differences(old: Snapshot, new: Snapshot) -> Iterator[triage_events.Difference]:
    again: set[object] = set()
    lines = 0
    for each in triage_events.changes_by_clients(old, new):
        place = each.place
        if place.kind is triage_events.Kind.TOPIC and place.key == triage_events.ID:
            again.add(place.about)
        elif place.about in again:
            continue  # a topic that was created again has its own number of partitions
        if place.kind is triage_events.Kind.TOPIC and each.was is None:
            continue  # a new topic can't harm a client
        if place.kind is triage_events.Kind.SCHEMA:
            continue  # `_of_schemas` combines the changes of a subject
        if place.kind is triage_events.Kind.CONFIG and not _is_dynamic(place, old, new):
            if not _is_from_file(place, old, new) or lines == MOST_LINES:
                continue  # the default of another release, which no client changed; or too many lines of files
            lines += 1
        yield each


def _is_dynamic(place: triage_events.Place, old: Snapshot, new: Snapshot) -> bool:
    """Return whether a config was set by a request, before or after the change."""
    assert isinstance(place.about, ConfigResource)
    entries = (entry_in(snapshot.configs, place.about, place.key) for snapshot in (old, new))
    return any(entry is not None and is_override(entry, place.about) for entry in entries)


def _is_from_file(place: triage_events.Place, old: Snapshot, new: Snapshot) -> bool:
    """Return whether a broker's config was or is in the broker's file, without an override that hid or hides it."""
    if not isinstance(place.about, ConfigResource) or place.about.type != BROKER or _is_dynamic(place, old, new):
        return False
    entries = (entry_in(snapshot.configs, place.about, place.key) for snapshot in (old, new))
    return any(entry is not None and entry.source == STATIC_BROKER_CONFIG for entry in entries)


def _joined(earlier: JudgedChange, made: JudgedChange) -> JudgedChange:
    """Return two changes of the same place as one, from the former value of the earlier to the present value of the
    later.
    """
    offsets = {
        where: (earlier.offsets[where][0] if where in earlier.offsets else was, now)
        for where, (was, now) in made.offsets.items()
    }
    return replace(
        made,
        was=earlier.was,
        held=earlier.held,
        back=earlier.back,
        offsets={**earlier.offsets, **offsets},
        # A tool set the offsets back if it made any of the changes.
        by_member=earlier.by_member and made.by_member,
        to_start=earlier.to_start and made.to_start,
    )


def _is_of_offsets(place: triage_events.Place) -> bool:
    return place.kind is triage_events.Kind.OFFSET


def _without_topics(change: JudgedChange, renewed: Collection[str]) -> JudgedChange:
    left = {where: each for where, each in change.offsets.items() if where[0] not in renewed}
    return change if len(left) == len(change.offsets) else replace(change, offsets=left)


def _as_it_is(change: JudgedChange, snapshot: Snapshot) -> JudgedChange:
    """Return the part of a change that is still in effect: a change of offsets without those that the group has reached
    again and those of topics that are gone; the deletion of a topic whose name another topic has now as a change of
    its id.
    """
    if not change.offsets:
        return _made_again(change, snapshot)
    assert isinstance(change.place.about, changes.GroupTarget)
    lag = snapshot.lags.get(change.place.about.name)
    now = {(each.topic, each.partition): each.committed for each in lag.partitions} if lag is not None else {}
    if change.waited is not None:
        left = _begun_again(change, now, snapshot)
        return change if left == change.offsets else replace(change, offsets=left)
    left = {
        where: (was, became)
        for where, (was, became) in change.offsets.items()
        if (became < 0 and where[0] in snapshot.topics and now.get(where, -1) < 0)
        or (became < was and 0 <= now.get(where, -1) < was)
        or (was < became <= now.get(where, -1))
    }
    return change if len(left) == len(change.offsets) else replace(change, offsets=left)


def _begun_again(
    change: JudgedChange, now: Mapping[OffsetPlace, int], snapshot: Snapshot
) -> dict[OffsetPlace, tuple[int, int]]:
    """Return (topic, partition) -> the offset that disappeared with a group, and the offset at which the group began
    again (-1: not yet). Partitions in which it did not begin at a higher offset are left out, since no record was
    skipped, and those of topics that are gone.

    Args:
        now: the group's present offsets.
    """
    left = {}
    for where, (was, became) in change.offsets.items():
        began = became if became >= 0 else now.get(where, -1)
        if where[0] in snapshot.topics and (began < 0 or began > was):
            left[where] = (was, began)
    return left


def _made_again(change: JudgedChange, snapshot: Snapshot) -> JudgedChange:
    """Return the deletion of a topic as a change of its id, if another topic has the name now; other changes
    unchanged.
    """
    place = change.place
    if not isinstance(place.about, changes.TopicTarget) or change.became is not None:
        return change
    topic = snapshot.topics.get(place.about.name)
    if topic is None:
        return change
    return replace(change, place=place._replace(key=triage_events.ID), became=topic.topic_id or "", at=change.at)


def _is_gone(change: JudgedChange, snapshot: Snapshot) -> bool:
    """Return whether a change has no effect any more: its topic is gone, unless the change is the topic's deletion; the
    group has reached its former offsets again; or the moved replicas are placed well.
    """
    about = change.place.about
    if _is_of_offsets(change.place):
        return not change.offsets
    if isinstance(about, changes.TopicTarget):
        return about.name not in snapshot.topics and change.became is not None
    if isinstance(about, changes.MoveTarget):
        topic = snapshot.topics.get(about.topic)
        if topic is None:
            return True
        moved = model_cluster.partition_in(topic, about.number)
        is_alone = moved is not None and len(moved.replicas) == 1
        is_left = any(each.name == ONE_REPLICA for each in change.risks) and is_alone
        return not is_left and _is_placed_well(topic, snapshot)
    if not isinstance(about, ConfigResource) or about.type != TOPIC:
        return False
    return Part.TOPICS in snapshot.read_at and about.name not in snapshot.topics


def _of_brokers(nodes: Mapping[int, Node], now: Poll) -> Iterator[JudgedChange]:
    """Yield a change for each broker that came back with another rack or another address."""
    for broker in now.snapshot.cluster.brokers:
        known = nodes.get(broker.id)
        if known is None or broker.fenced or known.broker is broker:
            continue
        for each in triage_events.identity_differences(known.broker, broker):
            warned = _of_racks(known.broker, now.snapshot) if each.place.key == triage_events.RACK else ()
            yield JudgedChange(each.place, each.was, each.became, warned, (), known.at, now.at)


def _of_racks(was: Broker, snapshot: Snapshot) -> tuple[Warned, ...]:
    """Return a warning if a broker's change of rack put all replicas of partitions into one rack; else empty."""
    brokers = [was if each.id == was.id else each for each in snapshot.cluster.brokers]
    places = [
        (name, each.number, each.replicas)
        for name, topic in snapshot.topics.items()
        for each in topic.partitions
        if was.id in each.replicas
    ]
    text = moved_rack(racks(brokers), racks(snapshot.cluster.brokers), places)
    return (Warned(ONE_RACK, text),) if text else ()


def _of_schemas(known: Iterable[JudgedChange], before: Poll, now: Poll) -> Iterator[JudgedChange]:
    """Yield a change for each subject of the registry whose versions changed, compared with its state before the first
    known change; new subjects are left out.
    """
    old, new = before.snapshot, now.snapshot
    if old.schemas is new.schemas or Part.SCHEMAS not in old.read_at:
        return
    earlier = {each.place: each for each in known}
    for name, was, became in differing(old.schemas, new.schemas):
        if was is None:
            continue  # a new subject can't harm a client
        place = triage_events.Place(triage_events.Kind.SCHEMA, SubjectTarget(name))
        first = earlier.get(place)
        so_far = first.versions if first is not None and first.versions is not None else Versions(was.live, (), ())
        former, live = so_far.former, became.live if became is not None else ()
        versions = Versions(former, _without(live, former), _without(former, live))
        if versions != so_far:
            since, _ = triage_events.seen_between(place, old, new, now.at)
            after = first.after if first is not None else since or before.at
            yield JudgedChange(place, None, None, (), (), after, now.at, versions=versions)


def _of_logins(before: Poll, now: Poll) -> Iterator[JudgedChange]:
    """Yield a change for each login that expired."""
    for each in triage_events.ended_logins(before.snapshot, now.snapshot, before.at, now.at):
        yield JudgedChange(*each, (), (), before.at, now.at)


def _of_replicas(before: Poll, now: Poll, grown: Mapping[str, Grown]) -> Iterator[JudgedChange]:
    """Yield a change for each topic whose replicas were moved, once the moves are done, if its new placement has a risk
    that the former one did not have: no broker may fail any more, or all replicas are in one rack. The place of the
    change is the first moved partition.
    """
    old, new = before.snapshot, now.snapshot
    if old.topics is new.topics or Part.REASSIGNMENTS not in new.read_at:
        return
    changed = [
        (name, was, became)
        for name, was, became in differing(old.topics, new.topics)
        if was is not None and became is not None and was.topic_id == became.topic_id and _differ(was, became)
    ]
    if not changed:
        return
    of = racks(new.cluster.brokers)
    since = old.read_at.get(Part.TOPICS, before.at)
    begun, listed = moves_by_topic(old.reassignments), moves_by_topic(new.reassignments)
    for name, was, became in changed:
        moved = list(_moved(was, became, begun.get(name, ()), listed.get(name, ())))
        warned = tuple(_placed(name, moved, new, of, grown.get(name)))
        if warned:
            number, replicas, there = moved[0]
            place = triage_events.Place(triage_events.Kind.REPLICAS, changes.MoveTarget(name, number))
            texts = (commas(replicas), commas(there))
            yield JudgedChange(place, *texts, warned, (), since, now.at)


Moved = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The number of a partition, its former replicas and its present ones."""


def _differ(was: Topic, became: Topic) -> bool:
    """Return whether a topic has other replicas than before. Only replicas are compared, since leaders and ISRs of all
    topics may change at once.
    """
    pairs = zip(was.partitions, became.partitions, strict=False)
    return any(one.replicas is not two.replicas and one.replicas != two.replicas for one, two in pairs)


def _moved(
    was: Topic,
    became: Topic,
    former: Iterable[model_cluster.Reassignment],
    present: Iterable[model_cluster.Reassignment],
) -> Iterator[Moved]:
    """Yield the partitions of a topic whose moves are done. While a partition moves, it has its former and its new
    replicas.

    Args:
        was, became: the topic before and now.
        former: the moves of the topic that ran before.
        present: the moves that run now.
    """
    begun, listed = ({each.partition: each for each in some} for some in (former, present))
    for one, two in zip(was.partitions, became.partitions, strict=False):
        if one.replicas == two.replicas or one.number != two.number:
            continue
        if two.number in listed and model_cluster.destination(listed[two.number]) != two.replicas:
            continue
        if one.number in begun:
            yield one.number, model_cluster.original(begun[one.number]), two.replicas
        elif set(one.isr) == set(one.replicas):
            yield one.number, one.replicas, two.replicas


def _placed(
    name: str, moved: Sequence[Moved], new: Snapshot, of: Mapping[int, str], grown: Grown | None
) -> Iterator[Warned]:
    wanted = min_isr(new.configs, name)
    # A factor that was raised lately and is taken back is no loss.
    most = grown.was if grown is not None else None
    for _, replicas, there in moved:
        usual = len(replicas) if most is None else min(most, len(replicas))
        text = isr_text(wanted or 0, len(there)) if len(there) < usual else ""
        if text and not isr_text(wanted or 0, len(replicas)):
            yield Warned(ISR_ABOVE_REPLICATION, text)
            break
    alone = [(number, there) for number, replicas, there in moved if len(there) == 1 < min(len(replicas), most or 2)]
    if alone:
        brokers = {there[0] for _, there in alone}
        yield Warned(ONE_REPLICA, single_text([f"{name}/{number}" for number, _ in alone], brokers))
    found = [number for number, replicas, there in moved if one_rack(there, of) and not one_rack(replicas, of)]
    if found:
        places = first_few([f"{name}/{number}" for number in found])
        yield Warned(ONE_RACK, f"all replicas of {places} are in one rack: without it they are gone")


def _is_placed_well(topic: Topic, snapshot: Snapshot) -> bool:
    of = racks(snapshot.cluster.brokers)
    if any(one_rack(each.replicas, of) for each in topic.partitions):
        return False
    least = min((len(each.replicas) for each in topic.partitions), default=0)
    return not isr_text(min_isr(snapshot.configs, topic.name) or 0, least)


def _without(some: Sequence[SchemaVersion], others: Sequence[SchemaVersion]) -> tuple[int, ...]:
    """Return the numbers of the versions whose schemas are not among `others`, by schema id; a version whose id was not
    read is compared by its number.
    """
    numbers, ids = {each.number for each in others}, {each.id for each in others} - {0}
    return tuple(each.number for each in some if each.number not in numbers and each.id not in ids)


def _of_offsets(known: Iterable[JudgedChange], before: Poll, now: Poll) -> Iterator[JudgedChange]:
    """Yield a change for each group whose offsets were set or lost, with all these partitions. Left out are offsets
    that return to the value before a known change, and those that a mirror may have copied.
    """
    earlier = {each.place: each.offsets for each in known if each.offsets}
    by_group: dict[str, list[triage_events.Difference]] = {}
    for each in triage_events.offset_differences(before.snapshot, now.snapshot):
        if isinstance(each.place.about, changes.GroupOffsetTarget):
            by_group.setdefault(each.place.about.group, []).append(each)
    for group, mine in by_group.items():
        since, _ = triage_events.seen_between(mine[0].place, before.snapshot, now.snapshot, now.at)
        place = triage_events.Place(triage_events.Kind.OFFSET, changes.GroupTarget(group))
        offsets = {
            (each.place.about.topic, each.place.about.number): (int(each.was or 0), int(each.became or -1))
            for each in mine
            if isinstance(each.place.about, changes.GroupOffsetTarget)
        }
        first = earlier.get(place, {})
        offsets = {
            where: (was, became)
            for where, (was, became) in offsets.items()
            if not (where in first and first[where][0] == became)
            and not (became > was and _is_copied(group, where, before.snapshot))
        }
        if offsets:
            lost = {where for where, (_, became) in offsets.items() if became < 0}
            yield JudgedChange(
                *(place, None, None, (), (), since or before.at, now.at),
                offsets=offsets,
                was_used=not lost or _was_read(group, lost, before),
                by_member=_is_by_member(group, offsets, before, now),
                to_start=_is_to_start(offsets, now),
            )
    yield from _gone_with_groups(before, now)


def _is_by_member(group: str, offsets: Mapping[OffsetPlace, tuple[int, int]], before: Poll, now: Poll) -> bool:
    """Return whether the members of a group set its offsets back. Members that were restarted have other member ids, so
    they do not count.
    """
    if any(became < 0 or became >= was for was, became in offsets.values()):
        return False
    lags = (poll.snapshot.lags.get(group) for poll in (before, now))
    rows = (lag.partitions if lag is not None else () for lag in lags)
    old, new = ({row_place(each): each.member for each in mine if row_place(each) in offsets} for mine in rows)
    return old == new and all(old.values())


def _is_to_start(offsets: Mapping[OffsetPlace, tuple[int, int]], now: Poll) -> bool:
    """Return whether offsets became those of the first records, or of a few records after them, in logs that kac has
    read. In a log with few records, an older commit that arrived late may have the same effect.
    """
    logs = now.facts.logs.logs
    known = [(was, became, logs[where].last.start) for where, (was, became) in offsets.items() if where in logs]
    return (
        len(known) == len(offsets)
        and all(0 <= became - start <= FEW_READ for _, became, start in known)
        and any(was - start > MANY_READ for was, _, start in known)
    )


def _was_read(group: str, places: Collection[OffsetPlace], before: Poll) -> bool:
    """Return whether clients of a group read these partitions: a member had one of them, or one of the offsets moved
    lately. For a group with members, brokers delete the offsets of partitions that the members do not read any more
    (KIP-211).
    """
    trend, known = before.snapshot.lag_trends.get(group), before.snapshot.groups.get(group)
    if trend is None:
        return False
    read = {where: each for where in places if (each := trend.standing.get(where)) is not None and each.read}
    if known is None or known.is_vacant or not read:
        return bool(read)
    if any(each.member and (each.topic, each.partition) in read for each in trend.last.lag.partitions):
        return True
    since = (before.at - LATELY).timestamp()
    return any(each.moved is not None and each.moved > since for each in read.values())


def _is_copied(group: str, where: OffsetPlace, old: Snapshot) -> bool:
    """Return whether a mirror may have copied the group's offset: mirrors copy offsets to this cluster, or no member
    was seen with the partition.
    """
    trend = old.lag_trends.get(group)
    stands = trend.standing.get(where) if trend is not None else None
    return stands is None or not stands.held or has_checkpoints(old.topics)


def _gone_with_groups(before: Poll, now: Poll) -> Iterator[JudgedChange]:
    """Yield a change for each group that disappeared with its offsets, because these expired or another client deleted
    the group. Groups that had no member since kac began to watch do not count.
    """
    old, new = before.snapshot, now.snapshot
    if old.groups is new.groups:
        return
    for name, group in old.groups.items():
        lag = old.lags.get(name)
        if name in new.groups or name not in old.had_members or not group.is_vacant or lag is None:
            continue
        offsets = {
            (each.topic, each.partition): (each.committed, -1)
            for each in lag.partitions
            if each.committed >= 0 and each.topic in new.topics
        }
        if offsets:
            place = triage_events.Place(triage_events.Kind.OFFSET, changes.GroupTarget(name))
            since = old.read_at.get(Part.GROUPS, before.at)
            yield JudgedChange(place, None, None, (), (), since, now.at, offsets=offsets, waited=lag.total)


def _judged(made: Sequence[triage_events.Difference], before: Poll, now: Poll) -> Iterator[JudgedChange]:
    if not made:
        return
    old, new, at = before.snapshot, now.snapshot, now.at
    # Imported late: the kinds of edits take a megabyte, which a cluster without changes does not need.
    from console.plan.kinds.registry import kind_of
    from console.plan.reversal import reversal
    from console.plan.risks import risks
    from console.plan.staged import Described, Staged

    # Polls do not read the features themselves, but brokers' versions have their levels.
    seen = Described(_with_levels(old))
    for each in made:
        edit = edit_of(each)
        found: tuple[Warned, ...] = ()
        back: tuple[edits.Edit, ...] = ()
        from_file = _is_from_file(each.place, old, new)
        if edit is not None:
            staged = Staged(edit, kind_of(edit).current(edit, seen))
            found = _warnings(staged, old, new)
            if not isinstance(edit, edits.DeleteTopic) and not from_file:
                back = reversal(staged).edits
            back = tuple(one for one in back if not _lowers(one, new))
            then = Described(_with_levels(new))
            undone = tuple(Staged(one, kind_of(one).current(one, then)) for one in back)
            if risks(undone, new):
                back = ()
        since, _ = triage_events.seen_between(each.place, old, new, at)
        whole = old.read_at.get(Part.CONFIGS)
        held, holds = (_effective(snapshot, each.place) for snapshot in (old, new))
        after = since or whole or before.at
        yield JudgedChange(
            *(each.place, each.was, each.became, found, back, after, at, held, holds),
            limits=_limits(each, old),
            from_file=from_file,
            was_used=not isinstance(edit, edits.DeleteTopic) or _is_used(edit.name, before),
        )


def _with_levels(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with the levels of features from the brokers' versions, as polls do not read the features
    themselves.
    """
    if snapshot.features is not None or not snapshot.versions:
        return snapshot
    return replace(snapshot, features=ClusterFeatures(newest_levels(snapshot.versions.values()), ()))


def _lowers(edit: edits.Edit, snapshot: Snapshot) -> bool:
    """Return whether an edit lowers the level of a feature; also True if the present level is unknown. Clients may need
    the present level, so such an edit is not offered.
    """
    if not isinstance(edit, edits.SetFeature):
        return False
    features = _with_levels(snapshot).features
    return features is None or edit.level < features.finalized.get(edit.name, 0)


PRODUCERS = "producer_byte_rate"


def _limits(change: triage_events.Difference, old: Snapshot) -> Limits | None:
    """Return the load before a change that lets one client write less to a leader than all clients wrote; None for
    other changes.
    """
    if change.place.key != PRODUCERS or change.became is None:
        return None
    limit = float(change.became)
    if change.was is not None and float(change.was) <= limit:
        return None
    load = written(old.rates, old.topics)
    leaders = frozenset(leader for leader, rate in _by_leader(load).items() if rate > limit)
    return Limits(load, leaders) if leaders else None


@remembered
def _by_leader(load: Written) -> Mapping[int, float]:
    found: dict[int, float] = {}
    for (_, leader), rate in load.items():
        found[leader] = found.get(leader, 0.0) + rate
    return found


def _is_used(topic: str, poll: Poll) -> bool:
    """Return whether clients use a topic: a member of a group has a partition of it, or records came lately; also True
    if its logs were not read.
    """
    snapshot, logs = poll.snapshot, poll.facts.logs
    known = snapshot.topics.get(topic)
    seen = [logs.logs.get((topic, each.number)) for each in known.partitions] if known is not None else []
    if all_readers(snapshot.lags, snapshot.groups).members.get(topic) or not any(seen):
        return True
    return any(each is not None and each.grew_at is not None and logs.at - each.grew_at <= WRITTEN for each in seen)


def _warnings(staged: Staged, old: Snapshot, new: Snapshot) -> tuple[Warned, ...]:
    """Return the warnings of the rules of plans about an edit. old, new: the snapshots before and after it."""
    from console.plan.risks import risks

    found = risks((staged,), old, _facts(staged.edit, old), new)
    return tuple(Warned(risk.name, risk.text) for risk in found)


def warned_places(
    differing: Iterable[triage_events.Difference], old: Snapshot, new: Snapshot
) -> frozenset[triage_events.Place]:
    """Return the places about whose changes the rules of plans warn. If there are more than `MOST` (200), only the
    first ones are judged.
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
    """Return the effective value of a config, set or inherited; None for other places and unknown values."""
    entry = entry_in(snapshot.configs, place.about, place.key) if isinstance(place.about, ConfigResource) else None
    return entry.value if entry is not None else None


def _facts(edit: edits.Edit, snapshot: Snapshot) -> RiskFacts:
    """Return the facts that the rules about risks need, as far as polls have read them."""
    name = edit.on_topic
    if name is None:
        return RiskFacts(groups=snapshot.groups)
    dirs = [each for mine in snapshot.log_dirs.values() for each in mine]
    sizes = {name: sum(each.sizes.get(name, 0) for each in dirs)} if dirs else {}
    return RiskFacts(sizes, readers={name: readers_of(name, snapshot)})


def readers_of(topic: str, snapshot: Snapshot) -> TopicReaders:
    """Return the groups that read a topic, from the offsets and members that were read."""
    known = all_readers(snapshot.lags, snapshot.groups)
    listed = frozenset(snapshot.groups)
    committed, members = known.committed.get(topic, {}), known.members.get(topic, {})
    return TopicReaders(committed, len(listed), len(snapshot.lags), members=members, listed=listed)


class Readers(NamedTuple):
    """The readers of all topics: topic -> the offsets by group and partition, and topic -> the number of members with
    partitions of it by group.
    """

    committed: Mapping[str, Mapping[tuple[str, int], int]]
    members: Mapping[str, Mapping[str, int]]


@remembered
def all_readers(lags: Mapping[str, GroupLag], groups: Mapping[str, Group]) -> Readers:
    """Return the readers of all topics; cached, since several changes of a poll need them."""
    committed: dict[str, dict[tuple[str, int], int]] = {}
    members: dict[str, dict[str, int]] = {}
    for group, lag in lags.items():
        for each in lag.partitions:
            if each.committed >= 0:
                committed.setdefault(each.topic, {})[group, each.partition] = each.committed
    for name, one in groups.items():
        for member in one.members or ():
            for topic in {topic for topic, _ in member.assignment}:
                mine = members.setdefault(topic, {})
                mine[name] = mine.get(name, 0) + 1
    return Readers(committed, members)
