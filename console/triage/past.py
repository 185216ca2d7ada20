"""Events between polls that are no longer visible: settings that changed, leaders elected from outside the ISR, records
that were deleted prematurely. Pure.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field

from console.model import codes, config
from console.model.acl import LITERAL, PREFIXED, Acl, acl_differences
from console.model.authorizer import WILDCARD, Pattern, pattern_of, patterns_on, within_whole
from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.cluster import Partition, Topic, partition_in
from console.model.inheritance import UNKNOWN, by_broker, from_broker, given_as, in_terms_of
from console.model.numbers import long_number
from console.model.observed_logs import Jump
from console.model.parts import Part
from console.model.rates import Place
from console.model.snapshot import Snapshot, host_ranges
from console.plan.topic_risks import TINY_BYTES, TINY_MS
from console.triage.at_quotas import AtQuotas, at_quotas_after
from console.triage.config_changes import HIDDEN, config_differences
from console.triage.connector_sources import SourceChange, sources_after
from console.triage.created import created_after
from console.triage.events import Kind
from console.triage.group_beginnings import Beginnings, Unread, beginnings_after, without_new
from console.triage.hot_partitions import hot_after
from console.triage.judged_changes import JudgedChange, Node, all_readers, changes_after, nodes_after
from console.triage.letters import Letters, letters_after
from console.triage.memberships import Memberships, memberships_after
from console.triage.moves import Grown, grown_after
from console.triage.readers import is_beyond
from console.triage.share_beginnings import Passed, came_after, passed_over
from console.triage.slowed import Slowed, slowed_after
from console.triage.spread import Collapsed, collapsed_after
from console.triage.static_members import Instance, Joined, joined_after
from console.triage.symptoms import Poll, gone
from console.triage.topic_bytes import OfTopics, measured_after
from console.triage.upgrades import Upgrade, releases_after, upgrades_after

KEPT = timedelta(minutes=30)
"""The period over which events are kept, counted back from the last poll."""
MOST = 500
"""Maximum number of events of each kind, the latest ones."""
PROVES = timedelta(minutes=1)
"""The time after an election for which a committed offset beyond the end of the log still proves that the new leader
truncated the log.
"""
RETENTION = ("retention.ms", "retention.bytes", "cleanup.policy")
_TINY = {"retention.ms": TINY_MS, "retention.bytes": TINY_BYTES}
"""Topic config -> the least value that an operator gives it to keep records: a lower one is meant to delete them."""
DENY = codes.Permission.parse("DENY")
NOTICED = 120.0
"""Seconds after a deletion of records in which kac may still learn of the change of retention that caused it: the
configs of large clusters are read once a minute.
"""
FEW, COMMITS, SELDOM = 20, 2, 180.0
"""Limits for records that a group had yet to read: their minimum number; their minimum number as a multiple of those
that it last read between two commits; and the seconds without a commit, of a group that was not seen to commit, after
which it does not read them soon."""
NEARLY = 0.8
"""The share of a topic's retention.ms above which a record's age counts as near the limit."""
PURGED = "-repartition"
"""The suffix of the names of topics from which Kafka Streams deletes the records that it has read
(RepartitionTopicConfig).
"""


MOST_ENDED = 50
"""Maximum number of reverted changes that are kept, the latest ones."""

Ended = tuple[tuple[JudgedChange, datetime], ...]
"""Changes that were reverted, each with the time at which kac saw that, UTC."""
Offsets = Mapping[tuple[str, int], int]
"""(group, partition number) -> the group's committed offset, for one topic."""


class ConfigChange(NamedTuple):
    """A config value that changed between two reads. `after` is the time of the last read with the former value, `at`
    that of the first read with the present value, both UTC.
    """

    resource: config.ConfigResource
    key: str
    was: str | None
    """The former value; None if the resource had no value of its own for the key."""
    became: str | None
    """The present value; None if the resource has no value of its own for the key."""
    after: datetime
    at: datetime
    held: str | None
    """The former effective value, from any source; None if the key was not listed."""
    holds: str | None
    """The present effective value, from any source; None if the key is not listed."""


class Unclean(NamedTuple):
    """The election of a leader from outside the ISR. If `sure` is false, it may have been a clean election."""

    topic: str
    was: Partition
    """The partition as it was before the election."""
    could: tuple[int, ...]
    """The ids of the brokers that could have led the partition without a loss of records: its ISR and its eligible
    leader replicas. Empty if they are unknown.
    """
    leader: int
    epoch: int
    at: datetime
    sure: bool
    """Whether the partition had no leader, and no broker of `could` was alive at either of the two polls around the
    election. If false, one of these brokers may have led in between, and only a lower end of the log, or `read`,
    proves that the election was unclean.
    """
    read: tuple[int, int] | None = None
    """A committed offset of a group beyond the end of the log after the election, and that end; None if there is no
    such offset.
    """
    ahead: frozenset[str] = frozenset()
    """The groups whose committed offsets were beyond the end of the log before the election: these prove nothing."""

    @property
    def place(self) -> tuple[str, int]:
        """The partition: its topic and number."""
        return self.topic, self.was.number


class Cut(NamedTuple):
    """A change that made a retention shorter: that of a topic itself, or that which topics inherit from a broker."""

    change: ConfigChange
    key: str
    """The topic config that is shorter, also if a broker's config was changed: such as ``retention.ms``."""
    held: str
    """The former value of `key`; ``""`` if it was unknown."""
    holds: str
    """The value of `key` after the change; ``""`` if it is unknown."""
    broker: int | None = None
    """The broker from which topics inherit the shorter retention; None if the change was of a topic's own config."""
    ended: datetime | None = None
    """The time at which kac saw the change reverted, or a retention at least as long as before, UTC; None
    until then.
    """


class LeadersLimit(NamedTuple):
    """A retention that topics inherit from one broker, and that is shorter there than on every other broker."""

    broker: int
    topic_key: str
    key: str
    """The broker's key, such as ``log.retention.ms``."""
    value: str
    """The broker's limit, in the unit of `topic_key`."""
    others: str
    """The shortest limit of the other brokers, in the unit of `topic_key`."""
    is_dynamic: bool
    """Whether the limit is a dynamic config of the broker; else it is set in the broker's properties file."""

    @property
    def words(self) -> str:
        """The limit as the broker's own config gives it, such as ``log.retention.hours=1``."""
        return given_as(self.topic_key, self.key, self.value) or f"{self.key}={self.value}"

    @property
    def usual(self) -> str | None:
        """`others` in the unit of `key`; None if it is not a whole number in that unit."""
        value = in_terms_of(self.key, self.topic_key, self.others)
        return value if in_terms_of(self.topic_key, self.key, value) == self.others else None


class Loss(NamedTuple):
    """Records of a partition that the broker deleted earlier than their readers or the retention let expect. `why` is
    the reason as text.
    """

    jump: Jump
    why: str
    change: ConfigChange | None
    """The change of retention that caused the deletion; None if none is known."""
    unread: Mapping[str, int] | None = None
    """Group -> the number of deleted records that the group had not read. Empty if groups read the partition and had
    read all deleted records; None if this is unknown.
    """
    is_tiny: bool = False
    """Whether `change` made the retention so short that records are practically deleted at once."""
    is_rightful: bool = False
    """Whether the retention may well have been meant to delete these records. They count as a loss because active
    groups (`unread`) had not read them.
    """
    is_old: bool = False
    """Whether the next record of a group in `unread` is known to have been nearly as old as retention.ms (`NEARLY`)."""
    limit: LeadersLimit | None = None
    """The shorter retention of the partition's leader that deleted the records; None if all brokers have the same
    retention, or the topic has its own.
    """


class AclChange(NamedTuple):
    """An ACL that was added or removed between two reads. `after` is the time of the last read without the change, `at`
    that of the first read with it, both UTC.
    """

    acl: Acl
    added: bool
    takes: bool
    """Whether a user may have lost an access right by the change: a deny was added, an allow was removed, or the first
    ACL of its resource was added, and no other ACL has the same effect.
    """
    after: datetime
    at: datetime
    first: bool = False
    """Whether the change added an allow that is the first ACL of its resource: from then on all other users
    are denied.
    """


class Past(Struct, frozen=True):
    """The events between polls, the earliest first in each field."""

    changes: tuple[ConfigChange, ...] = ()
    access: tuple[AclChange, ...] = ()
    unclean: tuple[Unclean, ...] = ()
    losses: tuple[Loss, ...] = ()
    cuts: tuple[Cut, ...] = ()
    unread: Mapping[Jump, Mapping[str, int] | None] = MappingProxyType({})
    judged: tuple[JudgedChange, ...] = ()
    ended: Ended = ()
    """The reverted changes of configs, quotas and SCRAM credentials, each with the time of the first poll that showed
    the revert, UTC.
    """
    nodes: Mapping[int, Node] = MappingProxyType({})
    grown: Mapping[str, Grown] = MappingProxyType({})
    """Topic -> its growth, for topics that got more replicas lately."""
    joined: Mapping[Instance, tuple[Joined, ...]] = field(default_factory=dict)
    shares: Mapping[str, datetime] = MappingProxyType({})
    """Share group -> the time of the poll at which it first appeared, UTC."""
    passed: tuple[Passed, ...] = ()
    """The records that the groups in `shares` skipped, as of the last poll."""
    members: Memberships = Memberships()
    begun: Beginnings = MappingProxyType({})
    without_new: tuple[Unread, ...] = ()
    """The groups to which none of a topic's new partitions is assigned, as of the last poll."""
    hot: Mapping[Place, datetime] = MappingProxyType({})
    """Hot partition -> the time since which it is hot, UTC."""
    slowed: Slowed = MappingProxyType({})
    """Quota -> the topics to which producers write more slowly since the quota was lowered, each with the time since
    when, UTC.
    """
    measured: OfTopics = MappingProxyType({})
    """Changed config of a topic -> the topic's bytes before the change, and since."""
    at_quotas: AtQuotas = MappingProxyType({})
    """(topic, leader) -> the bytes that producers wrote there since the rate came near a quota of producers."""
    sources: Sequence[SourceChange] = ()
    collapsed: Sequence[Collapsed] = ()
    """The topics whose records now go to one partition, as of the last poll."""
    letters: Sequence[Letters] = ()
    """The topics that get many dead letters, as of the last poll."""
    releases: Mapping[int, str] = MappingProxyType({})
    """Broker id -> its last known release."""
    upgrades: Sequence[Upgrade] = ()
    created: Mapping[str, datetime] = MappingProxyType({})
    """Topic that was created while kac watched -> the time of the first poll that showed it, UTC."""


NOTHING = Past()


def past_after(past: Past, before: Poll, now: Poll) -> Past:
    """Return the events up to the poll `now`: at most `MOST` of most kinds, and only those of the last 30 minutes
    (`KEPT`).

    Args:
        past: the events up to the poll `before`.
        before, now: the last poll and this one.
    """
    oldest = now.at - KEPT
    changes = [each for each in past.changes if each.at > oldest]
    made = list(_config_changes(before, now))
    changes += made
    access = [each for each in past.access if each.at > oldest]
    access += _acl_changes(before, now)
    cuts = _still([each for each in past.cuts if each.change.at > oldest], before, now)
    cuts += _cuts(made, before.snapshot, now.snapshot)
    unclean = [each for each in past.unclean if each.at > oldest]
    held = list(_elections(before, now))
    ahead = _ahead({each.place for each in held if not each.sure}, before.snapshot)
    unclean += [each._replace(ahead=ahead.get(each.place, frozenset())) for each in held]
    unclean = list(_with_proofs(unclean[-MOST:], now))
    unread = _unread_after(past.unread, before, now)
    losses = _losses(past.losses, before, now, cuts, unread)
    judged, taken_back = changes_after(past.judged, before, now, past.nodes, past.grown)
    grown = now.facts.logs, now.snapshot.topics, now.snapshot.rates, before.snapshot.rates, now.at
    releases = releases_after(past.releases, before.snapshot.versions)
    shares = came_after(past.shares, before.snapshot, now.snapshot, now.at, oldest)
    return Past(
        changes=tuple(changes[-MOST:]),
        access=past.access if access == [*past.access] else tuple(access[-MOST:]),
        unclean=tuple(unclean),
        losses=tuple(losses[-MOST:]),
        cuts=tuple(cuts[-MOST:]),
        unread=unread,
        judged=judged,
        ended=_ended(past.ended, taken_back, now.at, oldest),
        nodes=nodes_after(past.nodes, now),
        grown=grown_after(past.grown, before.snapshot.topics, now.snapshot.topics, now.at),
        joined=joined_after(past.joined, before.snapshot, now.snapshot, now.at),
        shares=shares,
        passed=tuple(passed_over(shares, now.snapshot, now.facts.logs)),
        members=memberships_after(past.members, before.snapshot, now.snapshot, now.at),
        begun=beginnings_after(past.begun, judged, before.snapshot, now.snapshot, now.facts, now.at),
        without_new=tuple(without_new(judged, now.snapshot, now.facts, now.at)),
        hot=hot_after(past.hot, now.snapshot, now.at),
        slowed=slowed_after(past.slowed, judged, now.snapshot, now.at),
        measured=measured_after(past.measured, judged, before, now),
        at_quotas=at_quotas_after(past.at_quotas, before.snapshot, now.snapshot),
        collapsed=collapsed_after(past.collapsed, *grown),
        letters=letters_after(past.letters, *grown, now.snapshot.lags),
        releases=releases_after(releases, now.snapshot.versions),
        upgrades=upgrades_after(past.upgrades, releases, now.snapshot.versions, now.at),
        created=created_after(past.created, before.snapshot, now.snapshot, now.at, oldest),
        sources=sources_after(past.sources, before.snapshot, now.snapshot, before.at, now.at),
    )


# -- settings ----------------------------------------------------------------------------------------------------------


def _config_changes(before: Poll, now: Poll) -> Iterator[ConfigChange]:
    old, new = before.snapshot.configs, now.snapshot.configs
    if new is old:
        return
    known, whole = before.snapshot.configs_at, before.snapshot.read_at.get(Part.CONFIGS, before.at)
    for resource, key, was, became in config_differences(old, new):
        entries = [configs.get(key) for configs in (old[resource], new[resource])]
        # Skip values of a broker's file, which change only by a restart, and sensitive values, which brokers hide.
        if HIDDEN in (was, became) or not any(
            entry is not None and config.is_override(entry, resource) for entry in entries
        ):
            continue
        values = [entry.value if entry is not None else None for entry in entries]
        yield ConfigChange(resource, key, was, became, known.get(resource, whole), now.at, *values)


def _ended(known: Ended, taken_back: Sequence[JudgedChange], at: datetime, oldest: datetime) -> Ended:
    """Return the reverted changes of values: the known ones after `oldest` and those of this poll, at most the latest
    `MOST_ENDED`. The same object as `known` if nothing changed.

    Args:
        taken_back: the changes that this poll shows as reverted.
        at: the time of this poll, UTC.
        oldest: the time before which nothing is kept, UTC.
    """
    kept = tuple(each for each in known if each[1] > oldest)
    kept += tuple((each, at) for each in taken_back if each.place.kind in _VALUES and each.at > oldest)
    return kept[-MOST_ENDED:] if kept != known else known


_VALUES = frozenset({Kind.CONFIG, Kind.QUOTA, Kind.SCRAM})
"""The kinds of changes that replace one value by another."""


def is_over(change: ConfigChange, past: Past, snapshot: Snapshot) -> bool:
    """Return whether the config has another value now than after the change. Then there is no need to restore the
    former value.
    """
    return bool(_changed_again(change, past)) or _own(change, snapshot, change.became) != change.became


def is_mended(change: ConfigChange, losses: Sequence[Loss], past: Past, snapshot: Snapshot) -> bool:
    """Return whether a change that deleted records needs no revert any more: it was reverted, the retention is as long
    again as before, or the config was changed once more and no record was deleted since.

    Args:
        losses: the losses that the change caused.
    """
    cuts = [each for each in past.cuts if each.change == change]
    if not cuts:
        return is_over(change, past, snapshot)
    if all(each.ended is not None for each in cuts):
        return True
    again = _changed_again(change, past)
    return bool(again) and all(each.jump.at <= again[-1].after.timestamp() for each in losses)


def _changed_again(change: ConfigChange, past: Past) -> list[ConfigChange]:
    """Return the later changes of the same config, the earliest first."""
    place = change.resource, change.key
    return [each for each in past.changes if each.at > change.at and (each.resource, each.key) == place]


def _own(change: ConfigChange, snapshot: Snapshot, unknown: str | None) -> str | None:
    """Return the value that the changed resource itself has for the key now; None if it has none; `unknown` if the
    configs of the resource were not read.
    """
    configs = snapshot.configs.get(change.resource)
    if configs is None:
        return unknown
    own = config.own_value(configs.get(change.key), change.resource)
    return own.value if own is not None else None


# -- rights ------------------------------------------------------------------------------------------------------------


def _acl_changes(before: Poll, now: Poll) -> Iterator[AclChange]:
    old, new = before.snapshot.acls, now.snapshot.acls
    if new is old or Part.ACLS not in before.snapshot.read_at:
        return
    after = before.snapshot.read_at[Part.ACLS]
    ranges = host_ranges(now.snapshot)
    gone, come = acl_differences(old, new)
    # Keep only the last ones: a copy of another cluster's ACLs adds thousands, and each is compared with many.
    for acl in gone[-MOST:]:
        takes = acl.permission != DENY and not _is_said(acl, new, ranges)
        yield AclChange(acl, False, takes, after, now.at)
    for acl in come[-MOST:]:
        wider = patterns_on(acl.resource_type, acl.resource_name)
        first = not any(_on(old, pattern) for pattern in (pattern_of(acl), *wider))
        denies = acl.permission == DENY and not _is_said(acl, old, ranges)
        yield AclChange(acl, True, denies or first, after, now.at, first and acl.permission != DENY)


def _on(acls: Sequence[Acl], pattern: Pattern) -> Sequence[Acl]:
    """Return those of the sorted `acls` that have exactly this pattern."""
    key = pattern.resource_type, pattern.name, pattern.pattern_type
    return acls[bisect_left(acls, key, key=_place) : bisect_right(acls, key, key=_place)]


def _place(acl: Acl) -> tuple[codes.AclResourceType, str, codes.PatternType]:
    """Return the first part of the sort key of ACLs: resource type, resource name and pattern type."""
    return acl[:3]


def _is_said(acl: Acl, others: Sequence[Acl], ranges: bool) -> bool:
    """Return whether one of the other ACLs has the same permission and covers the ACL completely.

    Args:
        others: ACLs, sorted.
        ranges: whether the cluster's ACLs may have ranges of addresses as hosts.
    """
    name = acl.resource_name
    patterns = {
        pattern_of(acl),
        Pattern(acl.resource_type, LITERAL, WILDCARD),
        *(Pattern(acl.resource_type, PREFIXED, name[:length]) for length in range(len(name) + 1)),
    }
    return any(
        each.permission == acl.permission and within_whole(acl, each, ranges=ranges)
        for pattern in patterns
        for each in _on(others, pattern)
    )


# -- leaders -----------------------------------------------------------------------------------------------------------


def _elections(before: Poll, now: Poll) -> Iterator[Unclean]:
    old, new = before.snapshot.topics, now.snapshot.topics
    if new is old:
        return
    away, were_away = gone(now.snapshot), gone(before.snapshot)
    for name, topic in new.items():
        known = old.get(name)
        if known is None or known is topic or known.topic_id != topic.topic_id:
            continue
        # An election shows as a higher epoch with another leader. If a replica of the ISR was alive, the election was
        # clean; only if all replicas that could lead were away, the new leader lacked records.
        for was, partition in _led_anew(known, topic):
            could = _could_lead(before.snapshot, name, was)
            if could is None:
                yield Unclean(name, was, (), partition.leader, partition.leader_epoch, now.at, sure=False)
            elif partition.leader not in could and could <= away | frozenset(partition.offline):
                sure = was.leader < 0 and could <= were_away | frozenset(was.offline)
                led = partition.leader, partition.leader_epoch
                yield Unclean(name, was, tuple(sorted(could)), *led, now.at, sure)


def _with_proofs(elections: Sequence[Unclean], now: Poll) -> Iterator[Unclean]:
    """Yield the elections. One that is not sure gets the proof `read` if, right after it, a group stands at an offset
    beyond the end of the log and did not before. Where no leader was known before, the election may still have been
    clean.
    """
    unproven = {
        each.place: each
        for each in elections
        if not each.sure and each.read is None and each.could and now.at - each.at <= PROVES
    }
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for group, lag in now.snapshot.lags.items() if unproven else ():
        trend = now.snapshot.lag_trends.get(group)
        for row in lag.partitions:
            election = unproven.get((row.topic, row.partition))
            if election is None or trend is None or not is_beyond(row) or group in election.ahead:
                continue
            stands = trend.standing.get(election.place)
            if stands is not None and (stands.moved or 0.0) < trend.last.at:
                found[election.place] = max(found.get(election.place, (-1, -1)), (row.committed, row.end))
    return (
        each._replace(read=found[each.place]) if each is unproven.get(each.place) and each.place in found else each
        for each in elections
    )


def _ahead(places: Collection[tuple[str, int]], snapshot: Snapshot) -> Mapping[tuple[str, int], frozenset[str]]:
    """Return partition -> the groups whose committed offsets are beyond the end of its log. Partitions without such
    groups are left out.

    Args:
        places: the partitions to look at.
    """
    found: dict[tuple[str, int], set[str]] = {}
    for group, lag in snapshot.lags.items() if places else ():
        for row in lag.partitions:
            if (row.topic, row.partition) in places and is_beyond(row):
                found.setdefault((row.topic, row.partition), set()).add(group)
    return {place: frozenset(groups) for place, groups in found.items()}


def _could_lead(snapshot: Snapshot, topic: str, was: Partition) -> frozenset[int] | None:
    """Return the ids of the brokers that have all committed records of a partition; None if they are unknown. With
    eligible leader replicas (KIP-966), the ISR of a partition without a leader is empty and the eligible leader
    replicas have the records.

    Args:
        was: the partition as it was before the election.
    """
    logs = snapshot.replica_logs.get((topic, was.number)) if was.leader < 0 else None
    eligible = logs.eligible if logs is not None else None
    return frozenset((*was.isr, *(eligible or ()))) if was.isr or eligible is not None else None


def _led_anew(old: Topic, new: Topic) -> Iterator[tuple[Partition, Partition]]:
    for was, partition in zip(old.partitions, new.partitions, strict=False):
        if was is not partition and 0 <= partition.leader != was.leader and partition.leader_epoch > was.leader_epoch:
            yield was, partition


# -- deleted records ---------------------------------------------------------------------------------------------------


def _unread_after(
    known: Mapping[Jump, Mapping[str, int] | None], before: Poll, now: Poll
) -> Mapping[Jump, Mapping[str, int] | None]:
    """Return deletion of records -> the groups that had not read the records, each with their number, for the deletions
    that the logs still list. None instead of groups if they are unknown. The groups are determined at the poll that
    first shows the deletion, since a group's later offset may come from a reset.

    Args:
        known: the result for the last poll.
        before, now: the last poll and this one.
    """
    jumps, seen = now.facts.logs.jumps, before.facts.logs.at
    if not jumps and not known:
        return known
    new = {jump for jump in jumps if jump.at > seen}
    then, there = (_offsets(poll.snapshot) if new else {} for poll in (before, now))
    return {
        jump: _unread(jump, then.get(jump.topic, {}), there.get(jump.topic, {})) if jump in new else known.get(jump)
        for jump in jumps
    }


def _offsets(snapshot: Snapshot) -> Mapping[str, Offsets]:
    return all_readers(snapshot.lags, snapshot.groups).committed


def _unread(jump: Jump, then: Offsets, there: Offsets) -> Mapping[str, int] | None:
    """Return group -> the number of deleted records that it had not read. None if no group has an offset in the
    partition, or if it is unknown whether a group read or skipped the records.

    Args:
        then, there: the committed offsets in the topic at the last poll and at this one.
    """
    unread, known = {}, False
    for (group, number), now in there.items():
        if number != jump.partition:
            continue
        if now < jump.start:
            unread[group] = jump.start - max(now, jump.was)
        elif then.get((group, number), -1) < jump.start:
            return None  # whether the group read or skipped them is unknown
        known = True
    return unread if known else None


def _losses(
    known: tuple[Loss, ...],
    before: Poll,
    now: Poll,
    cuts: list[Cut],
    unread: Mapping[Jump, Mapping[str, int] | None],
) -> list[Loss]:
    moment = now.at.timestamp()
    kept = {each.jump: each for each in known if each.jump.at > moment - KEPT.total_seconds()}
    # Examine a jump when it is first seen, and again only when a change of retention was read after it.
    new, is_cut = before.facts.logs.at, any(each.change.at == now.at for each in cuts)
    for jump in now.facts.logs.jumps:
        is_new = jump.at > new
        if not is_new and not (is_cut and jump.at > moment - NOTICED):
            continue
        if jump in kept and not kept[jump].is_rightful:
            continue
        found = _loss(jump, now, _cut_of(jump, now.snapshot, cuts), unread.get(jump), is_new=is_new)
        if found is not None:
            kept.pop(jump, None)  # its change was read after the deletion
            kept[jump] = found
    return [*kept.values()]


def _cuts(changes: list[ConfigChange], before: Snapshot, now: Snapshot) -> Iterator[Cut]:
    """Yield the cuts that these changes of configs made: those that shorten a retention."""
    for change in changes:
        if change.resource.type == codes.TOPIC and change.key in RETENTION:
            if is_tighter(change.key, change.held, change.holds):
                yield Cut(change, change.key, change.held or "", change.holds or "")
        elif change.resource.type == codes.BROKER:
            for key in RETENTION:
                if change.key in {each.name for each in TOPIC_SYNONYMS[key]}:
                    yield from _inherited_cuts(change, key, before, now)


def _inherited_cuts(change: ConfigChange, key: str, before: Snapshot, now: Snapshot) -> Iterator[Cut]:
    """Yield a cut for each broker on which the change shortens the retention that topics inherit.

    Args:
        change: a change of a broker's config, or of the cluster-wide default.
        key: the topic config that inherits from the changed config.
    """
    held = by_broker(before, key)
    for broker, inherited in by_broker(now, key).items():
        if not change.resource.is_cluster_default and change.resource.name != str(broker):
            continue
        was = held[broker].value if broker in held else None
        if is_tighter(key, was, inherited.value):
            yield Cut(change, key, was or "", inherited.value or "", broker)


def _still(cuts: list[Cut], before: Poll, now: Poll) -> list[Cut]:
    """Return the cuts. Those that have ended since the last poll have the time of this poll in `ended`."""
    snapshot = now.snapshot
    if snapshot.configs is before.snapshot.configs:
        return cuts
    inherited = {key: by_broker(snapshot, key) for key in {each.key for each in cuts if each.broker is not None}}

    def applies(cut: Cut) -> bool:
        if _own(cut.change, snapshot, cut.change.became) == cut.change.was:
            return False
        if cut.broker is not None:
            found = inherited[cut.key].get(cut.broker)
            return found is None or is_tighter(cut.key, cut.held, found.value)
        configs = snapshot.configs.get(cut.change.resource)
        return configs is None or is_tighter(cut.key, cut.held, config.text_in(configs, cut.key))

    return [cut if cut.ended is not None or applies(cut) else cut._replace(ended=now.at) for cut in cuts]


def is_tighter(key: str, held: str | None, holds: str | None) -> bool:
    """Return whether the topic config `key` keeps records for a shorter time, or fewer of them, with the value `holds`
    than with the value `held`.
    """
    if key == "cleanup.policy":
        # An empty policy deletes nothing; if a value is unknown, assume Kafka's default.
        return "delete" in (holds or "") and "delete" not in ("delete" if held is None else held)
    # -1 is unlimited: any limit is tighter.
    was, became = long_number(held), long_number(holds)
    return was is not None and became is not None and became >= 0 and (was < 0 or became < was)


def _cut_of(jump: Jump, snapshot: Snapshot, cuts: list[Cut]) -> Cut | None:
    """Return the latest cut that applied to a partition when its records were deleted; None if no cut did."""
    configs = snapshot.configs.get(config.topic_resource(jump.topic))
    partition = partition_in(snapshot.topics.get(jump.topic), jump.partition)
    leader = partition.leader if partition is not None else -1
    for cut in reversed(cuts):
        change = cut.change
        if cut.broker is None:
            applies = change.resource.name == jump.topic
        else:
            own = (
                config.own_value(configs.get(cut.key), config.topic_resource(jump.topic))
                if configs is not None
                else None
            )
            applies = cut.broker == leader and own is None
        # `after` is the last read without the change: if that is later than the deletion, the change is not the cause.
        if not applies or change.after.timestamp() > jump.at:
            continue
        if cut.ended is None or cut.ended.timestamp() > jump.after:
            return cut
    return None


def _loss(jump: Jump, poll: Poll, cut: Cut | None, unread: Mapping[str, int] | None, *, is_new: bool) -> Loss | None:
    if cut is not None:
        from_ = "" if cut.broker is None else f", inherited from broker {cut.broker}"
        why = f"{cut.key} was {cut.held}, and became {cut.holds}{from_}"
        kept, tiny = long_number(cut.holds), _TINY.get(cut.key)
        return Loss(jump, why, cut.change, unread, kept is not None and tiny is not None and 0 <= kept < tiny)
    # Without a change that explains it, a jump is examined once. If all groups had read the records, a program probably
    # deletes the records that it has read.
    if not is_new or jump.topic.endswith(PURGED) or unread == {}:
        return None
    why = _too_early(jump, poll)
    if why:
        return Loss(jump, why, None, unread)
    own = _limit_of_leader(jump, poll)
    if own is not None:
        others = "no limit" if long_number(own.others) == -1 else own.usual or own.others
        why = f"broker {own.broker}, the leader, has {own.words}; the other brokers have {others}"
        return Loss(jump, why, None, unread, limit=own)
    slow, limits = _overtaken(jump, unread or {}, poll.snapshot), retention_of(jump.topic, poll.snapshot)
    if not slow or not limits:
        return None
    is_old = _is_old(jump, slow, limits, poll.snapshot)
    return Loss(jump, retention_text(limits), None, slow, is_rightful=True, is_old=is_old)


def _limit_of_leader(jump: Jump, poll: Poll) -> LeadersLimit | None:
    """Return the retention of the partition's leader, if it is shorter than on all other brokers and only it can have
    deleted the records. None if not, or if the topic has its own retention. kac reads a topic's effective configs
    from one broker, but the leader deletes records by its own.
    """
    snapshot = poll.snapshot
    topic, partition = snapshot.topics.get(jump.topic), partition_in(snapshot.topics.get(jump.topic), jump.partition)
    if topic is None or topic.internal or partition is None:
        return None
    values = _on_leader(jump, snapshot)
    if "delete" not in (values.get(RETENTION[2]) or ""):
        return None
    limits = {
        key: limit
        for key in RETENTION
        if not _has_own(jump.topic, key, snapshot) and (limit := _alone(partition.leader, key, snapshot)) is not None
    }
    if RETENTION[2] in limits:
        return limits[RETENTION[2]]
    age = _age_ms(jump, poll)

    def can_delete(key: str) -> bool:
        limit = long_number(values.get(key))
        return limit is None or (limit >= 0 and (key != RETENTION[0] or age is None or age >= limit))

    # A limit that all brokers have, or the topic itself, deletes records rightfully.
    if any(can_delete(key) for key in RETENTION[:2] if key not in limits):
        return None
    return next((limit for key, limit in limits.items() if can_delete(key)), None)


def _alone(broker: int, key: str, snapshot: Snapshot) -> LeadersLimit | None:
    """Return a broker's limit for a topic config, if it is shorter than on all other brokers. None if it is not, or if
    the value of a broker is unknown.
    """
    values = {
        each.id: from_broker(key, configs)
        for each in snapshot.cluster.brokers
        if (configs := snapshot.configs.get(config.broker_resource(each.id))) is not None
    }
    mine = values.pop(broker, UNKNOWN)
    if mine.value is None or not values or len(values) + 1 < len(snapshot.cluster.brokers):
        return None
    if not all(each.known and is_tighter(key, each.value, mine.value) for each in values.values()):
        return None
    others = min((each.value or "" for each in values.values()), key=lambda text: _length(key, text))
    return LeadersLimit(broker, key, mine.name or key, mine.value, others, mine.source == codes.DYNAMIC_BROKER_CONFIG)


def stands(limit: LeadersLimit, snapshot: Snapshot) -> bool:
    """Return whether a broker still has a shorter limit of its own. True also if that is unknown."""
    resource = config.broker_resource(limit.broker)
    return resource not in snapshot.configs or _alone(limit.broker, limit.topic_key, snapshot) == limit


def _has_own(topic: str, key: str, snapshot: Snapshot) -> bool:
    configs, resource = snapshot.configs.get(config.topic_resource(topic)), config.topic_resource(topic)
    return configs is None or config.own_value(configs.get(key), resource) is not None


def _on_leader(jump: Jump, snapshot: Snapshot) -> Mapping[str, str | None]:
    """Return topic config -> value, for the limits by which the partition's leader deletes: the topic's own, else those
    of the leader. If the leader's are unknown, those of the broker that described the topic.
    """
    configs = snapshot.configs.get(config.topic_resource(jump.topic))
    partition = partition_in(snapshot.topics.get(jump.topic), jump.partition)
    found = {key: config.text_in(configs, key) for key in RETENTION} if configs is not None else {}
    leader = snapshot.configs.get(config.broker_resource(partition.leader)) if partition is not None else None
    for key in RETENTION:
        inherited = from_broker(key, leader) if leader is not None else UNKNOWN
        if inherited.value is not None and not _has_own(jump.topic, key, snapshot):
            found[key] = inherited.value
    return found


def _age_ms(jump: Jump, poll: Poll) -> float | None:
    """Return the age in milliseconds of the newest record that kac knows of the partition, if that was deleted; else
    None.
    """
    newest = poll.facts.newest.get((jump.topic, jump.partition))
    return None if newest is None or jump.start <= newest.offset else jump.at * 1000 - newest.timestamp


def _length(key: str, value: str) -> float:
    """Return the value of a limit as a number: infinity for no limit; 0 for a cleanup.policy."""
    number = long_number(value)
    return 0 if key == RETENTION[2] or number is None else number if number >= 0 else math.inf


def _is_old(jump: Jump, groups: Mapping[str, int], limits: Mapping[str, int], snapshot: Snapshot) -> bool:
    """Return whether the next record of one of the groups is known to be nearly as old as retention.ms (`NEARLY`), or
    older.

    Args:
        groups: group -> the number of deleted records that it had not read.
        limits: topic config -> its value, as in `retention_of`.
    """
    limit, place = limits.get(RETENTION[0]), (jump.topic, jump.partition)
    waits = (snapshot.lag_trends[group].behind.get(place) for group in groups)
    return limit is not None and any(
        each is not None and each.seconds is not None and each.seconds * 1000 >= NEARLY * limit for each in waits
    )


def _overtaken(jump: Jump, unread: Mapping[str, int], snapshot: Snapshot) -> Mapping[str, int]:
    """Return the groups that are active on the partition and were further behind than a consumer is between two
    commits. A consumer's position is beyond its committed offset, so a smaller number of deleted records may have
    been read.

    Args:
        unread: group -> the number of deleted records beyond its committed offset.
    """
    found, place = {}, (jump.topic, jump.partition)
    for group, count in unread.items():
        trend = snapshot.lag_trends.get(group)
        stands = trend.standing.get(place) if trend is not None else None
        if stands is None or not stands.read:
            continue
        lasts = stands.since is not None and jump.at - stands.since >= SELDOM
        if jump.start - stands.committed > max(FEW, COMMITS * stands.step) and (stands.moved is not None or lasts):
            found[group] = count
    return found


def retention_of(name: str, snapshot: Snapshot) -> Mapping[str, int]:
    """Return topic config -> its value, for the limits by which brokers delete a topic's records: ms, or bytes per
    partition. Empty if the limits are unknown, or brokers delete no records of the topic.
    """
    topic, configs = snapshot.topics.get(name), snapshot.configs.get(config.topic_resource(name))
    if (
        topic is None
        or topic.internal
        or configs is None
        or "delete" not in (config.text_in(configs, RETENTION[2]) or "")
    ):
        return {}
    limits = {key: long_number(config.text_in(configs, key)) for key in RETENTION[:2]}
    return {key: limit for key, limit in limits.items() if limit is not None and limit >= 0}


def retention_text(limits: Mapping[str, int]) -> str:
    """Return the limits as text for the user.

    Args:
        limits: topic config -> its value, as in `retention_of`.
    """
    return " and ".join(f"{key} is {limit:,}" for key, limit in limits.items())


def _too_early(jump: Jump, poll: Poll) -> str:
    """Return as text why the retention can't have deleted these records; ``""`` if it can."""
    topic = poll.snapshot.topics.get(jump.topic)
    configs = poll.snapshot.configs.get(config.topic_resource(jump.topic))
    if topic is None or topic.internal or configs is None:
        return ""
    time_limit, size_limit, policy = (_on_leader(jump, poll.snapshot).get(key) for key in RETENTION)
    if policy is not None and "delete" not in policy:
        return f"cleanup.policy is {policy or 'empty'}: only a request deletes from the beginning of the log"
    limit = long_number(time_limit)
    # If the size is limited too, a burst of new records may rightly delete old ones that have not reached the time
    # limit.
    if limit is None or long_number(size_limit) != -1:
        return ""
    if limit < 0 or limit > jump.at * 1000:  # longer than since 1970, where timestamps begin
        return "the topic keeps records for ever: only a request deletes them"
    age = _age_ms(jump, poll)
    if age is None or age >= limit:
        return ""
    newest = poll.facts.newest[jump.topic, jump.partition]
    return f"record {newest.offset:,} was {max(0.0, age / 1000):,.0f} s old, retention.ms is {limit:,}"


def is_used(group: str, place: tuple[str, int], snapshot: Snapshot) -> bool:
    """Return whether kac saw a client read the partition `place` for the group."""
    trend, lag = snapshot.lag_trends.get(group), snapshot.lags.get(group)
    stands = trend.standing.get(place) if trend is not None else None
    if stands is not None:
        return stands.read
    return lag is not None and any(each.member for each in lag.partitions if (each.topic, each.partition) == place)


def losses_by_reason(past: Past) -> Mapping[ConfigChange | LeadersLimit | str, tuple[Loss, ...]]:
    """Return reason -> the losses with it. The reason is the change that caused the losses, or the broker's shorter
    retention; for all other losses, the name of the topic.
    """
    found: dict[ConfigChange | LeadersLimit | str, list[Loss]] = {}
    for each in past.losses:
        if not each.is_rightful:
            found.setdefault(each.change or each.limit or each.jump.topic, []).append(each)
    return {cause: tuple(losses) for cause, losses in found.items()}


def losses_by_group(past: Past) -> Mapping[tuple[str, str], tuple[Loss, ...]]:
    """Return (group, topic) -> the losses of records that the topic's retention deleted before the group had
    read them.
    """
    found: dict[tuple[str, str], list[Loss]] = {}
    for each in past.losses:
        for group in (each.unread or ()) if each.is_rightful else ():
            found.setdefault((group, each.jump.topic), []).append(each)
    return {place: tuple(losses) for place, losses in found.items()}
