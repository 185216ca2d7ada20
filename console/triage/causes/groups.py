"""Causes that are groups: stopped, stuck, slow, rebalancing, committed outside of the log, without a coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from console.model.cluster import Group
from console.model.lag_trend import LagTrend, Place
from console.triage.cause import CauseRule, Certainty, Claim, Evidence, Next, Severity, of
from console.triage.causes.settings import CONSUMERS, limit_of_reading
from console.triage.course import Course
from console.triage.remembered import RememberedEach
from console.triage.symptoms import (
    COMMIT_STANDS_STILL,
    COORDINATOR_LEADERLESS,
    LAG_GROWS,
    OFFSET_OUT_OF_RANGE,
    REBALANCING,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    Subject,
    Symptom,
    grows,
)

OFTEN, NEAR = 3, timedelta(minutes=2)
"""Rebalances that are many, and the last minutes in which they are counted: a group that calmed down is well. A
deployment makes as many, since each member leaves and joins."""
LATE = 1.5
"""Times the longest pause between two commits so far, after which the next one is late."""
COMMITS = 2.0
"""Seconds: a pause as short as a look's is not known."""
RESTS = 6.0
"""Seconds without a commit: a step of auto.commit and a bit."""
LASTS = 4.0
"""Seconds that a lag has to grow before it is more than a burst of records."""
FEW = 3
"""Partitions of a coordinator that are named one by one."""
LONG, MINUTE = timedelta(seconds=30), timedelta(seconds=60)
"""Of the last minute: a group that rebalances for so long reads next to nothing."""


def _trends(course: Course) -> Iterator[tuple[Group, LagTrend]]:
    snapshot = course.last.snapshot
    for name, trend in snapshot.lag_trends.items():
        group = snapshot.groups.get(name)
        if group is not None:
            yield group, trend


def _lag(trend: LagTrend) -> Evidence:
    seconds = trend.last.at - trend.base.at
    return Evidence(
        f"lag {trend.last.lag.total:,}, {trend.rate or 0:+,.0f} records/s over {seconds:.0f} s",
        "OffsetFetch, ListOffsets",
    )


def _ago(course: Course, trend: LagTrend, seconds: float) -> datetime | None:
    """When something began that has lasted for so many seconds; None if that was before the first look."""
    at = datetime.fromtimestamp(trend.last.at - seconds, UTC)
    return at if at > course.began else None


def _moving(trend: LagTrend) -> list[Place]:
    """The partitions in which an offset was committed since the look with which the last one is compared."""
    return [place for place, each in trend.standing.items() if each.moved is not None and each.moved > trend.base.at]


def _rests(trend: LagTrend) -> bool:
    """Whether no offset was committed for longer than it usually takes, as far as commits were seen."""
    now = trend.last.at
    moved = ((each.moved, each.pause) for each in trend.standing.values())
    return all(at is None or now - at >= max(RESTS, 2 * pause) for at, pause in moved)


def _stopped(course: Course) -> Iterator[Claim]:
    for group, trend in _trends(course):
        if group.state != "Empty" or not grows(trend) or not _rests(trend):
            continue
        yield Claim(
            cause="group-stopped",
            subject=Subject(group=group.name),
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"group {group.name} has no member, and records wait",
            since=course.since(Symptom(LAG_GROWS, Subject(group=group.name))),
            evidence=(Evidence("the group is Empty", "ListGroups"), _lag(trend)),
            predicted=of(LAG_GROWS, COMMIT_STANDS_STILL, group=group.name),
            next=(Next("start its consumers"),),
        )


def _stuck(course: Course) -> Iterator[Claim]:
    """A partition whose commit stands still while records arrive, and a member reads it or others."""
    for group, trend in _trends(course):
        if not trend.stuck or group.state == "Empty" or _rebalances(course, group.name):
            continue
        rows = {(each.topic, each.partition): each for each in trend.last.lag.partitions}
        beside = any(place not in trend.stuck for place in _moving(trend))
        # Several that stand still at once are less a matter of a record than of the consumers or the coordinator.
        one = beside or len(trend.stuck) == 1
        for place in trend.stuck:
            row, (topic, partition) = rows[place], place
            subject = Subject(group=group.name, topic=topic, partition=partition)
            limit = limit_of_reading(course, group, topic, partition)  # who is throttled stands still too
            still = trend.partitions[place].still
            other = "other partitions of the group move" if beside else f"member {row.member} has it"
            if not one:
                other = (
                    f"all {len(trend.stuck):,} partitions of the group that lag stand still, this one of {row.member}"
                )
            yield Claim(
                cause="consumer-stuck",
                subject=subject,
                severity=Severity.HIGH,
                certainty=Certainty.LIKELY if limit is None and one else Certainty.POSSIBLE,
                title=f"group {group.name} stands still on {topic}/{partition} at offset {row.committed:,}",
                since=_ago(course, trend, still),
                evidence=(
                    Evidence(
                        f"committed {row.committed:,} for {still:.0f} s, the end is {row.end:,}",
                        "OffsetFetch, ListOffsets",
                    ),
                    Evidence(other, "OffsetFetch" if beside else "DescribeGroups"),
                    *(
                        (
                            Evidence(
                                f"{CONSUMERS} of client {limit[0]} is {limit[1]:,.0f}, and more is written: it may be "
                                "throttled",
                                "DescribeClientQuotas",
                            ),
                        )
                        if limit is not None
                        else ()
                    ),
                ),
                predicted=(*of(COMMIT_STANDS_STILL, subject=subject), *of(LAG_GROWS, group=group.name)),
                next=(
                    Next("look at the record", f"records topic {topic} partition {partition} of group {group.name}"),
                    Next("skip it", f"skip group {group.name} topic {topic} partition {partition}"),
                ),
            )


def _rebalanced(course: Course, group: Subject, trend: LagTrend) -> bool:
    """Whether members joined or left within the looks that the trend compares: meanwhile none of them reads."""
    spells = course.spells.get((REBALANCING, group), ())
    return bool(spells) and (spells[-1].ended or course.last.at).timestamp() > trend.base.at


def _falls_behind(trend: LagTrend, since: datetime) -> bool:
    """Whether the lag grows in partitions in which offsets are committed while it does, and now not later than usual:
    one that just got stuck has its last commit from before."""
    rates = []
    for at, each in trend.partitions.items():
        stands = trend.standing[at]
        moves = stands.moved is not None and stands.moved > max(trend.base.at, since.timestamp())
        if each.rate is not None and moves and each.still <= LATE * max(stands.pause, COMMITS):
            rates.append(each.rate)
    return sum(rates) >= 1


def _slow(course: Course) -> Iterator[Claim]:
    snapshot = course.last.snapshot
    parts: list[tuple[Subject, tuple[object, ...]]] = []
    for symptom in course.of(LAG_GROWS):
        subject = symptom.subject
        group, trend = snapshot.groups.get(subject.group or ""), snapshot.lag_trends.get(subject.group or "")
        if group is None or trend is None:
            continue
        since = course.since(symptom)
        rebalanced = _rebalanced(course, subject, trend)
        parts.append((subject, (subject, trend, group.state == "Empty", since, course.began, rebalanced)))
    yield from (claim for claim in _each_slow.of(parts) if claim is not None)


def _slow_group(
    subject: Subject, trend: LagTrend, is_empty: bool, since: datetime | None, watched: datetime, rebalanced: bool
) -> Claim | None:
    """watched: when the first look was; rebalanced: members joined or left meanwhile."""
    if not _moving(trend) or (is_empty and _rests(trend)):
        return None
    # One without members commits now and then at most, or is about to be found stopped.
    began = since or watched
    lags = (
        not is_empty and _falls_behind(trend, began) and not rebalanced and trend.last.at - began.timestamp() >= LASTS
    )
    return Claim(
        cause="consumer-slow",
        subject=subject,
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY if lags else Certainty.POSSIBLE,
        title=f"group {subject.group} lags {trend.last.lag.total:,}, {trend.rate or 0:+,.0f} records/s",
        since=since,
        evidence=(
            _lag(trend),
            Evidence(
                "it commits, more slowly than records arrive"
                if lags
                else "for a moment only, or in partitions in which nothing was committed meanwhile",
                "OffsetFetch",
            ),
        ),
        predicted=of(LAG_GROWS, subject=subject),
        next=(Next("look at its consumers: their time for a batch, their quota"),),
    )


_each_slow: RememberedEach[Subject, Claim | None] = RememberedEach(_slow_group)


def _rebalances(course: Course, group: str) -> Certainty | None:
    """How sure it is that a group rebalances without an end; None if it does not."""
    spells = course.spells.get((REBALANCING, Subject(group=group)), ())
    if not spells:
        return None
    now = course.last.at
    took = sum(
        (max(timedelta(0), (each.ended or now) - max(each.began, now - MINUTE)) for each in spells), timedelta(0)
    )
    if took >= LONG:
        return Certainty.CERTAIN
    recent = [each for each in spells if each.ended is None or each.ended > now - NEAR]
    return Certainty.POSSIBLE if len(recent) >= OFTEN else None


def _rebalancing(course: Course) -> Iterator[Claim]:
    for name, subject in [key for key in course.spells if key[0] == REBALANCING]:
        group = subject.group or ""
        known, certainty = course.last.snapshot.groups.get(group), _rebalances(course, group)
        if known is None or certainty is None:
            continue
        spells = course.spells[name, subject]
        yield Claim(
            cause="group-rebalancing",
            subject=subject,
            severity=Severity.HIGH,
            certainty=certainty,
            title=f"group {group} rebalances again and again",
            since=spells[0].began,
            times=len(spells),
            evidence=(
                Evidence(f"{known.state} now; {len(spells)} rebalances were seen", "ListGroups"),
                *(
                    (Evidence("members that are deployed one after the other make as many", "ListGroups"),)
                    if certainty is Certainty.POSSIBLE
                    else ()
                ),
            ),
            predicted=of(REBALANCING, LAG_GROWS, COMMIT_STANDS_STILL, group=group),
            next=(Next("look at its members: restarts, max.poll.interval.ms, session timeouts"),),
        )


def _out_of_range(course: Course) -> Iterator[Claim]:
    lags, ranges = course.last.snapshot.lags, course.last.snapshot.log_ranges
    for symptom in course.of(OFFSET_OUT_OF_RANGE):
        group, topic, partition = symptom.subject.group, symptom.subject.topic, symptom.subject.partition
        if group is None or topic is None or partition is None:
            continue
        at = next(each for each in lags[group].partitions if (each.topic, each.partition) == (topic, partition))
        start = ranges[topic, partition].start if (topic, partition) in ranges else 0
        yield Claim(
            cause="offsets-out-of-range",
            subject=symptom.subject,
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"group {group} is outside of the log of {topic}/{partition}",
            since=course.since(symptom),
            evidence=(
                Evidence(f"committed {at.committed:,}; the log is {start:,} to {at.end:,}", "OffsetFetch, ListOffsets"),
            ),
            predicted=of(OFFSET_OUT_OF_RANGE, COMMIT_STANDS_STILL, subject=symptom.subject),
            next=(Next("reset it", f"reset group {group} topic {topic} partition {partition} to earliest"),),
        )


def _coordinators(course: Course) -> Iterator[Claim]:
    """What no broker's absence explains away: groups and transactions stand still, also those of other brokers."""
    by_topic: dict[str, list[Symptom]] = {}
    for symptom in course.of(COORDINATOR_LEADERLESS):
        if symptom.subject.topic is not None:
            by_topic.setdefault(symptom.subject.topic, []).append(symptom)
    for topic, some in by_topic.items():
        if len(some) <= FEW:
            yield from (_coordinator(course, [symptom], symptom.subject) for symptom in some)
        else:
            yield _coordinator(course, some, Subject(topic=topic))


def _coordinator(course: Course, some: list[Symptom], subject: Subject) -> Claim:
    place = f"{subject.topic}/{subject.partition}" if subject.partition is not None else subject.topic
    what = f"{place} has no leader" if len(some) == 1 else f"{len(some)} partitions of {place} have no leader"
    began = [course.since(symptom) for symptom in some]
    known = [each for each in began if each is not None]
    replicas = sorted({broker for symptom in some for broker in symptom.brokers})
    return Claim(
        cause="coordinator-unavailable",
        subject=subject,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title=f"{what}: its groups can't commit",
        since=min(known) if len(known) == len(began) else None,
        evidence=(Evidence(f"{what}; replicas on {', '.join(map(str, replicas))}", "Metadata"),),
        predicted=(
            *(
                prediction
                for symptom in some
                for prediction in of(COORDINATOR_LEADERLESS, UNDER_REPLICATED, UNDER_MIN_ISR, subject=symptom.subject)
            ),
            *of(REBALANCING),
        ),
        next=(Next("bring back a replica of it"),),
    )


CAUSES = (
    CauseRule("coordinator-unavailable", _coordinators),
    CauseRule("group-rebalancing", _rebalancing),
    CauseRule("group-stopped", _stopped),
    CauseRule("consumer-stuck", _stuck),
    CauseRule("consumer-slow", _slow),
    CauseRule("offsets-out-of-range", _out_of_range),
)
