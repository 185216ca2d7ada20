"""Further evidence about a slow group: whether the write or the read rate changed, and which part of the group lags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from console.model.cluster import Group, Topic
from console.model.config import ConfigResource, ConfigSet, broker_resource, text_in, topic_resource
from console.model.coordinators import OFFSETS
from console.model.lag_trend import LagTrend, Place
from console.model.numbers import first_few, long_number, plural, time_of_day
from console.model.rate_samples import rates_between
from console.model.severity import Certainty
from console.model.snapshot import Snapshot
from console.plan.amounts import measured_time
from console.triage import cause, lag_shares, memberships
from console.triage.connector_sources import SourceChange
from console.triage.facts import Former
from console.triage.folding import FEW
from console.triage.group_beginnings import CLASSIC
from console.triage.past import Past
from console.triage.readers import Reading
from console.triage.remembered import RememberedAmong
from console.triage.share_beginnings import SHARE

BURST = 60.0
"""Seconds for which more records than before may be a burst that ends by itself."""
NEAR = 0.7
"""Share of a topic's retention, 0 to 1: a record that has waited for longer will soon be deleted."""
CREATED = timedelta(minutes=5)
"""Maximum time between the creation of a source connector and a rise of the writes to its topics that it may
explain.
"""

_LOOK_AT_WRITERS = cause.Next(
    "look at what writes to its topics: a replay, retries, a new producer or connector. Its consumers read no slower "
    "than before"
)
_SELDOM = cause.Next(
    "commit less often: after a batch, or every 1 to 5 s (enable.auto.commit and auto.commit.interval.ms, or a commit "
    "outside of the loop over the records). Each commit is a request and a record, and a synchronous one waits for it"
)
_RANGE = "range"
_SPREAD = cause.Next(
    "give its members another partition.assignment.strategy in two rolling restarts: first [cooperative-sticky, range] "
    "on all members, then without range, which gives the first member the first partitions of each topic, and so all "
    "topics of one partition. librdkafka's clients can't mix these two: [roundrobin, range] there"
)
_ASSIGN = cause.Next(
    "restart its members one by one, so that the partitions are assigned again, or give all of them another assignor: "
    "kac sees no reason for this assignment"
)
_RESTORES = cause.Next(
    "wait if instances of this Kafka Streams application started lately: they restore their state before they get "
    "tasks (probing.rebalance.interval.ms, 10 minutes by default). Do not restart them meanwhile"
)
_UNCLOSED = cause.Next(
    "look at the logs of these processes: each seems to end at its work and to be started again. If a record ends it, "
    "let the application reject that record, or skip it"
)
_UNCLOSED_SHARE = cause.Next(
    "look at the logs of these processes: each seems to end at its work and to be started again. If a record ends it, "
    "let the application reject that record; brokers deliver it up to group.share.delivery.count.limit times (5 by "
    "default), each time after share.record.lock.duration.ms"
)
_STEPS = {
    "member": "look at {}: its CPU limit, its log, its way to what it calls; the other members keep up",
    "host": "look at the host {}: its load and its network; the members on other hosts keep up",
    "leader": "look at the way from the consumers to broker {}, and at its load",
    "topic": "look at the work of the consumers on a record of {}; its other topics keep up",
    "partition": "look at the records of {}, and at the consumers' fetches of them; the other partitions keep up",
}
_PLACES = {
    "member": "at member {}",
    "host": "at the members on {}",
    "leader": "in partitions that broker {} leads",
    "topic": "in topic {}",
    "partition": "in {}",
}


MOST_MEMBERS = {
    CLASSIC: "group.max.size",
    "consumer": "group.consumer.max.size",
    "share": "group.share.max.size",
    "streams": "group.streams.max.size",
}
"""Type of a group -> the name of the broker config with the maximum number of its members."""


class _Found(NamedTuple):
    """A fact about a slow group."""

    says: str
    """The fact, as words for the title."""
    facts: Sequence[cause.Evidence]
    step: cause.Next | None = None
    """The step that the fact suggests; None for no step."""


def examined(
    claims: Mapping[str, cause.Claim],
    readings: Mapping[str, Reading],
    snapshot: Snapshot,
    former: Mapping[Place, Former],
    past: Past,
    watched: datetime,
    at_work: frozenset[str],
) -> Mapping[str, cause.Claim]:
    """Return group -> the claim that it is slow, extended by its rates, by what changed when the lag began to grow, and
    by the part of the group whose lag grows, as far as these are known.

    Args:
        claims: group -> the claim without this evidence.
        former: partition -> the former ends of its log, as far as they were read.
        watched: the time of the first poll, UTC.
        at_work: the groups that certainly lag and whose part that lags is not known yet; claims about other groups get
            only the rates.
    """
    if not claims:
        return claims
    mine = {name: readings.get(name) for name in claims}
    offsets = snapshot.topics.get(OFFSETS)
    named = [name for name in claims if name in at_work]
    commits = lag_shares.commits_of(named, snapshot.groups, snapshot.lag_trends, snapshot.rates, offsets)
    ends = {
        name: lag_shares.former_ends(each.trend, former)
        for name, each in mine.items()
        if former and each is not None and each.trend is not None
    }
    common = snapshot.topics, snapshot.configs, past.sources, watched
    unclosed = {
        name: found
        for name, each in mine.items()
        if each is not None and name in at_work and (found := memberships.unclosed(past.members, each.group))
    }
    return _each_examined.of(claims, mine, at_work, commits, ends, past.members.joined, unclosed, common=common)


def _examined(
    claim: cause.Claim,
    reading: Reading | None,
    is_at_work: bool,
    commits: lag_shares.Commits | None,
    ends: lag_shares.Ends | None,
    joined: Mapping[str, datetime] | None,
    unclosed: Mapping[str, memberships.Arrivals] | None,
    topics: Mapping[str, Topic],
    configs: Mapping[ConfigResource, ConfigSet],
    sources: Sequence[SourceChange],
    watched: datetime,
) -> cause.Claim:
    if reading is None or reading.trend is None:
        return claim
    group, trend = reading.group, reading.trend
    began = claim.since or watched
    claim = _with_rates(claim, group, trend, began)
    if not is_at_work:
        return claim
    changed, reached = lag_shares.what_changed(trend, began.timestamp(), ends or ()), _reached(trend, configs)
    if changed is not None and changed.since is not None:
        began = datetime.fromtimestamp(changed.since, UTC)
    found = cause.given(
        _change(changed, trend, configs, sources, began) if changed is not None else None,
        _often(commits) if commits is not None else None,
        _place_of_growth(group, trend, topics, joined or {}),
        _unclosed(group, trend, unclosed) if unclosed else None,
        _at_maximum(group, configs),
        _end_of_retention(reached) if reached is not None else None,
    )
    if not found:
        return claim
    # More records may be a burst that ends.
    is_burst = changed is not None and changed.writes and trend.last.at - began.timestamp() < BURST
    return replace(
        claim,
        title=f"{claim.title}: {'; '.join(each.says for each in found)}",
        certainty=Certainty.POSSIBLE if is_burst else claim.certainty,
        evidence=(*claim.evidence, *(fact for each in found for fact in each.facts)),
        next=(*cause.given(*(each.step for each in reversed(found))), *claim.next),
    )


def _with_rates(claim: cause.Claim, group: Group, trend: LagTrend, began: datetime) -> cause.Claim:
    """Return a claim extended by the rates at which records arrive and are read, and by their difference from before.
    began: the beginning of the growth, UTC.
    """
    now, before = lag_shares.present_rates(trend), lag_shares.former_rates(trend, began.timestamp())
    if now is None:
        return claim
    count = len(group.members or ())
    who = f"{plural(count, 'member')} {'reads' if count == 1 else 'read'}" if count else "a client reads"
    reads = f"{who} {now.read:,.0f}" if count or now.read > 0 else "no client commits"
    said = f"{now.written:,.0f} records/s arrive in {plural(len(trend.last.lag.partitions), 'partition')}, and {reads}"
    if before is not None:
        more, less = now.written > lag_shares.STEADY * before.written, now.read * lag_shares.STEADY < before.read
        what = "more arrive" if more and not less else "it reads less" if less and not more else ""
        said = f"{said}; before {time_of_day(began)}, {before.written:,.0f} arrived and {before.read:,.0f} were read"
        said = f"{said}: {what}" if what else said
    first, *rest = claim.evidence
    return replace(claim, evidence=(first, cause.Evidence(said, "OffsetFetch, ListOffsets over time"), *rest))


_each_examined: RememberedAmong[str, cause.Claim] = RememberedAmong(_examined)


def _place_of_growth(
    group: Group, trend: LagTrend, topics: Mapping[str, Topic], joined: Mapping[str, datetime]
) -> _Found | None:
    """Return the part of a group that has most of its partitions, or else most of the growth of its lag; None without
    such a part.

    Args:
        joined: client id and host of members that joined lately -> the time, UTC.
    """
    loaded = lag_shares.loaded_member(group)
    if loaded is not None:
        return _load(group, loaded)
    part = lag_shares.growing_part(group, trend, topics)
    if part is None:
        return _uneven(group)
    fact = cause.Evidence(
        f"{part.share:.0%} of the growth is in {part.partitions} of {part.of} partitions, which get at most half of "
        "the new records",
        "OffsetFetch, ListOffsets",
    )
    where, step = _PLACES[part.kind].format(part.name), _STEPS[part.kind].format(part.name)
    came = joined.get(part.name) if part.kind == "member" else None
    if came is not None:
        where += f", which joined at {time_of_day(came)}"
        step = f"if {part.name} is no instance of this service, give it a group.id of its own; else {step}"
    return _Found(f"{part.share:.0%} of the growth is {where}", (fact,), cause.Next(step))


def _unclosed(group: Group, trend: LagTrend, some: Mapping[str, memberships.Arrivals]) -> _Found | None:
    """Return the fact that clients of a group end again and again without leaving it; None if it reads at least
    `READS_SHARE` (half) of the records that it read before. If kac did not watch before, it has to read less than that
    of those that arrive, and brokers have to have removed former members: clients of one host, or behind one address,
    may only be added.

    Args:
        some: the result of `memberships.unclosed`.
    """
    first = min(each.since for each in some.values()).timestamp()
    before = rates_between(trend.samples, first - lag_shares.EVER_BEFORE, first, lag_shares.FORMER_SECONDS)
    now = lag_shares.present_rates(trend)
    if before is None and not any(each.left for each in some.values()):
        return None
    if now is None or now.read > lag_shares.READS_SHARE * (before.read if before is not None else now.written):
        return None
    has = [memberships.who(each) for each in group.members or ()]
    facts = [
        cause.Evidence(
            f"{one} joined {each.times} times since {time_of_day(each.since)}, and {has.count(one)} such members are "
            f"there, {each.had} before: brokers keep a member whose client ended without closing until its session is "
            "over",
            "DescribeGroups over time",
        )
        for one, each in [*some.items()][:FEW]
    ]
    comes = "come" if len(some) > 1 else "comes"
    says = f"{first_few([*some], FEW)} {comes} again and again without leaving"
    return _Found(says, facts, _UNCLOSED_SHARE if group.type == SHARE else _UNCLOSED)


def _at_maximum(group: Group, configs: Mapping[ConfigResource, ConfigSet]) -> _Found | None:
    """Return the fact that the coordinator refuses further members of a group; None if it accepts more, or if that is
    unknown.
    """
    key = MOST_MEMBERS.get(group.type, "")
    found = configs.get(broker_resource(group.coordinator))
    entry = found.get(key) if found is not None else None
    most, members = long_number(entry.value) if entry is not None else None, len(group.members or ())
    if most is None or not 0 < most <= members:
        return None
    fact = cause.Evidence(f"{key} is {most:,}, and the group has {plural(members, 'member')}", "DescribeConfigs")
    step = cause.Next(f"raise {key} in the brokers' files if more members shall read: brokers refuse them now")
    return _Found(f"it has {plural(members, 'member')}, the maximum by {key}", (fact,), step)


def _load(group: Group, loaded: lag_shares.Loaded) -> _Found:
    """Return the fact that one member has most of the partitions."""
    how, step = _assignment(group)
    which = f"all {loaded.of}" if loaded.partitions == loaded.of else f"{loaded.partitions} of its {loaded.of}"
    none = "has none" if loaded.idle == 1 else "have none"
    says = f"{loaded.name} has {which} partitions, {loaded.idle} of its {loaded.members} members {none}{how}"
    fact = cause.Evidence(
        f"{loaded.name} has {which} partitions{how}; {loaded.idle} of its {loaded.members} members {none}",
        "DescribeGroups",
    )
    return _Found(says, (fact,), step if loaded.helps else None)


def _uneven(group: Group) -> _Found | None:
    """Return the fact that one member has far more partitions than another; None if none has."""
    uneven = lag_shares.uneven_member(group)
    if uneven is None:
        return None
    how, step = _assignment(group)
    says = f"{uneven.name} has {uneven.partitions} of its {uneven.of} partitions, another member {uneven.fewest}{how}"
    fact = cause.Evidence(f"{says}; both subscribe to the same topics", "DescribeGroups")
    return _Found(says, (fact,), step)


def _assignment(group: Group) -> tuple[str, cause.Next]:
    """Return the assignor of a group as text, ``""`` if unknown, and the step that spreads its partitions. Only plain
    consumers of classic groups have their assignor in partition.assignment.strategy; Kafka Streams sets its own.
    """
    how = f" (assignor {group.assignor})" if group.assignor else ""
    if group.type == CLASSIC and group.assignor == _RANGE:
        return how, _SPREAD
    return how, _RESTORES if lag_shares.is_streams(group) else _ASSIGN


def _often(commits: lag_shares.Commits) -> _Found:
    """Return the fact that a group commits about after each record."""
    who = f"it or {first_few(commits.others, FEW)}" if commits.others else "it"
    fact = cause.Evidence(
        f"{commits.place[0]}/{commits.place[1]}, which has its offsets, gets {commits.a_second:,.0f} records/s, one "
        f"for each commit of a partition; the group reads {commits.read:,.0f} records/s",
        "ListOffsets, OffsetFetch",
    )
    each = "" if commits.others else ", about after each record"
    return _Found(f"{who} commits {commits.a_second:,.0f} times a second{each}", (fact,), _SELDOM)


class _Reached(NamedTuple):
    """The partition of a group whose next record retention will delete first."""

    place: Place
    waits: float
    """The seconds for which the next record has waited."""
    retention: int
    """The topic's retention.ms, in milliseconds."""


def _reached(trend: LagTrend, configs: Mapping[ConfigResource, ConfigSet]) -> _Reached | None:
    """Return the partition whose next record retention will delete first, if the record has waited for most of the
    retention time; else None.
    """
    found: _Reached | None = None
    known = {topic: _retention(topic, configs) for topic in {topic for topic, _ in trend.behind}}
    for place, behind in trend.behind.items():
        retention = known[place[0]]
        if behind.seconds is None or not 0 < NEAR * retention <= 1000 * behind.seconds:
            continue
        if found is None or behind.seconds / retention > found.waits / found.retention:
            found = _Reached(place, behind.seconds, retention)
    return found


def _retention(topic: str, configs: Mapping[ConfigResource, ConfigSet]) -> int:
    """Return the retention.ms of a topic; 0 if it deletes no records by time, or if that is unknown."""
    mine = configs.get(topic_resource(topic))
    if mine is None or "delete" not in (text_in(mine, "cleanup.policy") or ""):
        return 0
    return long_number(text_in(mine, "retention.ms")) or 0


def _end_of_retention(reached: _Reached) -> _Found:
    topic, number = reached.place
    left = reached.retention / 1000 - reached.waits
    when = f"in {measured_time(left)}" if left > 0 else "now"
    fact = cause.Evidence(
        f"the next record of {topic}/{number} has waited for {measured_time(reached.waits)}; retention.ms is "
        f"{reached.retention:,}. Segments are deleted as a whole, so it may stay a little longer",
        "ListOffsets, DescribeConfigs",
    )
    times = max(2, ceil(2 * 1000 * reached.waits / reached.retention))  # a round number, the same at many polls
    step = cause.Next(
        "keep its records for longer until it has read them, if the disks have space",
        f"set topic {topic} retention.ms={times * reached.retention}",
    )
    return _Found(f"retention deletes its next records {when}", (fact,), step)


def _change(
    changed: lag_shares.Changed,
    trend: LagTrend,
    configs: Mapping[ConfigResource, ConfigSet],
    sources: Sequence[SourceChange],
    began: datetime,
) -> _Found:
    """Return the fact that the write or the read rate changed when the lag began to grow. began: that time, UTC."""
    what = "written" if changed.writes else "read"
    kept_up = "than before" if changed.since is None else "than was written before"
    rest = f"the group reads no slower {kept_up}" if changed.writes else "about as many are written as before"
    fact = cause.Evidence(
        f"{changed.now:,.0f} records/s are {what}, and {changed.was:,.0f} before {time_of_day(began)}; {rest}",
        "OffsetFetch, ListOffsets over time" if changed.since is None else "ListOffsets by the times of the records",
    )
    since = f" since {time_of_day(began)}"
    if not changed.writes:
        return _Found(f"it reads {changed.now:,.0f} records/s{since}, and read {changed.was:,.0f}", (fact,))
    times = f"{changed.now / changed.was:,.1f} times as many" if changed.was >= 1 else f"{changed.now:,.0f} records/s"
    topics = {each.topic for each in trend.last.lag.partitions}
    facts = (fact, *_new_sources(sources, topics, began))
    compacted = all(_is_compacted(each, configs) for each in topics)
    again = ", to a compacted topic: is a table written again?" if compacted else ""
    crowding = lag_shares.crowding_topic(trend)
    if crowding is None:
        return _Found(f"{times} are written{since}{again}", facts, _LOOK_AT_WRITERS)
    most = cause.Evidence(
        f"{crowding.topic} gets {crowding.share:.0%} of them; records of {first_few(crowding.others, FEW)} wait behind "
        "them",
        "ListOffsets",
    )
    step = cause.Next(
        f"look at what writes to {crowding.topic}: a backfill, a replay, retries, a new producer. Its consumers read "
        "no slower than before. If the others must not wait for it, give it a group of its own"
    )
    return _Found(f"{times} are written{since}, most of them to {crowding.topic}{again}", (*facts, most), step)


def _is_compacted(topic: str, configs: Mapping[ConfigResource, ConfigSet]) -> bool:
    mine = configs.get(topic_resource(topic))
    return mine is not None and text_in(mine, "cleanup.policy") == "compact"


def _new_sources(sources: Sequence[SourceChange], topics: Set[str], began: datetime) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the source connectors that were created just before the writes to these topics rose. began:
    the time of the rise, UTC.
    """
    for each in sources:
        both = sorted(topics & {*each.topics})
        if each.created and both and began - CREATED <= each.at <= began + CREATED:
            fact = f"source connector {each.connector}, which writes to {first_few(both, FEW)}, was created"
            yield cause.Evidence(f"{fact} at {time_of_day(each.at)}", "GET /connectors over time")
