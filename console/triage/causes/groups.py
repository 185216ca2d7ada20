"""Causes in groups: stopped, stuck, slow or rebalancing groups, commits outside of the log, groups without a
coordinator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from console.model.changes import TopicTarget
from console.model.cluster import Group, PartitionLag
from console.model.lag_trend import STUCK_ALONE, LagTrend, Place
from console.model.numbers import first_few, plural, time_of_day
from console.model.observed_logs import ObservedLogs
from console.model.severity import Certainty, Severity
from console.plan.amounts import measured_time
from console.triage import cause, memberships, symptoms
from console.triage.causes import access, changed, refused_members, restarting
from console.triage.causes.settings import CONSUMERS, limit_of_reading
from console.triage.causes.slow_groups import examined
from console.triage.causes.upgraded import LOOK, upgraded
from console.triage.connectors import TASK_OF
from console.triage.events import ID
from console.triage.folding import FEW, one_of
from console.triage.group_beginnings import CLASSIC
from console.triage.letters import retry_of
from console.triage.memberships import Departure, Left
from console.triage.observations import Interval, Observations
from console.triage.readers import Leftovers, Reading, is_beyond, leftovers, sorted_readings
from console.triage.remembered import RememberedAmong
from console.triage.share_beginnings import SHARE
from console.triage.stopped_before import StoppedBefore, stopped_before
from console.triage.waiting import ended_after, held_groups, is_held, waits

LONGEST_BATCH = 310.0
"""Seconds for which a member may work on a batch without a commit: the default of max.poll.interval.ms with a margin. A
member that works for longer is removed from its group.
"""
OFTEN, NEAR = 3, timedelta(minutes=2)
"""The number of rebalances that counts as high, and the recent period in which they are counted: a group that was calm
for longer is well. A deployment causes as many, because each member leaves and joins."""
DEPLOYS, EACH = timedelta(minutes=5), 2
"""The time of a deployment in which members leave and join one after the other, and its number of rebalances per
member."""
LATE = 1.5
"""Factor of the longest pause between two commits so far, above which a pause counts as late."""
COMMITS = 2.0
"""Minimum length in seconds of a pause between commits that counts: pauses shorter than the interval of polls can't be
measured.
"""
RESTS = 6.0
"""Seconds without a commit after which a group counts as resting: the default of auto.commit.interval.ms with
a margin.
"""
LASTS = 4.0
"""Seconds for which a lag has to grow to be more than a burst of records."""
STAYS = 15.0
"""The same for a lag that may just wait for a late commit, at least `LATE` times the longest pause between commits."""
BEHIND = 10.0
"""Seconds that records have to wait before a growing lag counts as a problem: most consumers commit every five
seconds.
"""
UNEVEN, UNEVEN_OF = 0.8, 3
"""The share of a topic's new records above which one partition is uneven, and the minimum number of the topic's
partitions."""
ALONE = 2
"""Minimum number of partitions, each with its own member, for a remark that more members would not help."""
AWAY = 30.0
"""Seconds without a commit after which a group without members counts as stopped: a restart of its consumers takes
less.
"""
SESSION = 45.0
"""Seconds for which a static member may be away during its restart: the default of session.timeout.ms."""
FIRST_CYCLE = 900.0
"""Seconds without a commit after which a group that works only from time to time counts as stopped, if kac has not seen
one of its pauses completely. Checkpoints of Flink are often 5 or 10 minutes apart.
"""
SERVES = timedelta(minutes=30)
"""Minimum time for which members have to be there to count as a service; a job that ends earlier will start again."""
STARTS, ONE_SCALE = timedelta(minutes=2), timedelta(seconds=60)
"""The time in which an autoscaler starts the consumers of a group that has none; and the least time without a member
before records arrive that shows such a group."""
OF_SINK = "connect-"
"""Prefix of the names of groups of Kafka Connect's sinks."""
LONG, MINUTE = timedelta(seconds=30), timedelta(seconds=60)
"""The rebalancing time within the last minute from which on a group reads almost nothing."""

FRUITLESS, CYCLES, YOUNG = 30.0, 3.0, timedelta(seconds=60)
"""The minimum seconds without a commit in which rebalances were fruitless, as seconds and as intervals of the group's
commits; and the age of a group whose members still start."""
LOOPS = 2
"""Minimum number of departures of a member with the same client id and host that count as a loop."""

EXAMINED = 20
"""Maximum number of slow groups for which further evidence is searched."""

_START = cause.Next(
    "start its consumers; if they run, look at their logs: no API names clients that brokers refuse, or that give up"
)
_LOOK_AT_JOB = cause.Next(
    "look at the job that reads: whether it runs, and whether its checkpoints succeed. It assigns its partitions "
    "itself (assign(), as Flink and Spark do), so it is no member, and it commits only at a checkpoint, if at all"
)
_ONE_NAME = cause.Next(
    "look at group.id of its clients: a name that differs at each start makes a new group, which reads all records "
    "again or misses those in between (auto.offset.reset). Give them one group.id if no other reason made the new one"
)


def _lag(trend: LagTrend) -> cause.Evidence:
    seconds, behind = trend.last.at - trend.base.at, trend.longest_behind
    waits = (
        "" if not behind.seconds else f" ({'at least ' if behind.least else ''}{measured_time(behind.seconds)} behind)"
    )
    return cause.Evidence(
        f"lag {trend.last.lag.total:,}{waits}, {trend.rate or 0:+,.0f} records/s over {seconds:.0f} s",
        "OffsetFetch, ListOffsets",
    )


def _ago(observations: Observations, trend: LagTrend, seconds: float) -> datetime | None:
    """Return the beginning of a state that has lasted for so many seconds, UTC; None if it began before the
    first poll.
    """
    at = datetime.fromtimestamp(trend.last.at - seconds, UTC)
    return at if at > observations.began else None


def _rests(trend: LagTrend) -> bool:
    """Return whether a group has committed no offset for longer than between its usual commits, as far as kac saw
    commits.
    """
    now = trend.last.at
    moved = ((each.moved, each.pause) for each in trend.standing.values())
    return all(at is None or now - at >= max(RESTS, 2 * pause) for at, pause in moved)


def _stopped(observations: Observations) -> Iterator[cause.Claim]:
    yield from _stopped_before(observations)
    yield from _seen_to_stop(observations)


def _seen_to_stop(observations: Observations) -> Iterator[cause.Claim]:
    absences, members = list(observations.absences()), observations.past.members
    vacant = sorted_readings(symptoms.readings(observations.last.snapshot)).vacant
    successors = _successors(observations, vacant)
    without_members, went_to = {reading.group.name for reading in vacant}, {*successors.values()}
    for reading in vacant:
        group, trend = reading.group, reading.trend
        # A consumer that assigns itself partitions commits without being a member, so a group without members may be at
        # work.
        if trend is None or not _rests(trend) or not (symptoms.grows(trend) or _fades(observations, group.name)):
            continue
        successor = successors.get(group.name)
        crossed = upgraded(observations.past.upgrades, observations.last.at - _stood(trend))
        is_job = not _had_members(observations, reading, trend)
        # One new group may be a release that has to have another name; names that change at each start are not meant.
        is_sure = (
            successor in without_members or group.name in went_to
            if successor is not None
            else _is_over(members, reading, trend, is_job=is_job)
        )
        verb, verbs = ("commits no more", "commit no more") if is_job else ("has no member", "have no member")
        why = ", and records wait" if successor is None else ": its clients went to a new group"
        whose = ", and records wait" if successor is None else ": their clients went to new groups"
        starts = _may_yet_start(observations, group.name, members.left.get(group.name), trend)
        high = Severity.HIGH if successor is None and not starts else Severity.WARNING  # else the records have a reader
        yield cause.Claim(
            cause="group-stopped",
            subject=symptoms.Subject(group=group.name),
            severity=Severity.INFO if _has_just_committed(trend) else high,
            certainty=Certainty.CERTAIN if is_sure and not starts else Certainty.POSSIBLE,
            title=f"group {group.name} {verb}{why}",
            since=observations.since(symptoms.Symptom(symptoms.LAG_GROWS, symptoms.Subject(group=group.name))),
            evidence=cause.given(
                cause.Evidence(f"the group is {group.state}", "ListGroups"),
                _lag(trend),
                _BY_ITSELF if is_job else None,
                _broker_away(absences, trend),
                crossed,
                _last_members(members.left.get(group.name)),
                cause.Evidence(f"these went to the new group {successor}", "DescribeGroups over time")
                if successor is not None
                else None,
            ),
            predicted=cause.predict(symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, group=group.name),
            next=(_ONE_NAME, _START)
            if successor is not None
            else (_LOOK_AT_JOB,)
            if is_job
            else cause.given(
                LOOK if crossed is not None else None, _look_at_sink(group.name, members.left.get(group.name)), _START
            ),
            fold=(f"{verb}{why}", f"{verbs}{whose}"),
            idle=True,
        )


def _fades(observations: Observations, group: str) -> bool:
    """Return whether the lag of a group grew until some polls ago."""
    return (symptoms.LAG_GROWS, symptoms.Subject(group=group)) in observations.fading


def _stopped_before(observations: Observations) -> Iterator[cause.Claim]:
    """Yield the groups that had no members at the first poll, and read until shortly before it."""
    stopped = _lately(observations)
    limits = refused_members.limits_of_sessions(observations.last.snapshot) if stopped else ()
    for each in stopped:
        name, row = each.reading.group.name, each.row
        read = f"{row.topic}/{row.partition}"
        refused = limits if each.reading.group.type == CLASSIC else ()
        until = time_of_day(datetime.fromtimestamp(each.since, UTC))
        yield cause.Claim(
            cause="group-stopped",
            subject=symptoms.Subject(group=name),
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE,  # it may be a job that comes again
            title=f"group {name} has no member, and records wait; it read until {until} or later",
            evidence=(
                cause.Evidence(f"the group is {each.reading.group.state}", "ListGroups"),
                _lag(each.trend),
                cause.Evidence(
                    f"it committed {row.committed:,} in {read}, where fewer records were at {until}",
                    "OffsetFetch, ListOffsets by the times of the records",
                ),
                *refused,
            ),
            next=(_START_UNLESS_JOB, refused_members.ADMIT) if refused else (_START_UNLESS_JOB,),
            alone=True,
            fold=("has no member, and records wait", "have no member, and records wait"),
            idle=True,
        )


def _lately(observations: Observations) -> Sequence[StoppedBefore]:
    poll = observations.last
    return stopped_before(symptoms.readings(poll.snapshot), poll.snapshot, poll.facts.former)


_START_UNLESS_JOB = cause.Next(
    "start its consumers, unless it is a job that comes again by itself; if they run, look at their logs: no API names "
    "clients that brokers refuse, or that give up"
)


def _successors(observations: Observations, vacant: Sequence[Reading]) -> Mapping[str, str]:
    """Return group without members -> the new group in which its last members are now; groups without such a new group
    are missing.
    """
    members = observations.past.members
    new = memberships.newcomers(members, observations.last.snapshot) if vacant else {}
    found: dict[str, str] = {}
    for reading in vacant if new else ():
        name, lag = reading.group.name, reading.lag.partitions if reading.lag is not None else ()
        if (left := members.left.get(name)) is None:
            continue
        successor = memberships.successor(name, left, {each.topic for each in lag if each.lag > 0}, new)
        if successor is not None:
            found[name] = successor
    return found


_BY_ITSELF = cause.Evidence("it had no member while offsets were committed", "ListGroups, OffsetFetch over time")


def _had_members(observations: Observations, reading: Reading, trend: LagTrend) -> bool:
    """Return whether kac saw that a group without members had some before."""
    name = reading.group.name
    return (
        name in observations.last.snapshot.had_members
        or name in observations.past.members.left
        or any(each.held for each in trend.standing.values())
    )


def _is_over(members: memberships.Memberships, reading: Reading, trend: LagTrend, *, is_job: bool) -> bool:
    """Return whether a group without members has rested for longer than it usually does between two runs. Its usual
    pauses are unknown in the first cycle of a job that runs from time to time, or that commits only at its
    checkpoints.

    Args:
        is_job: whether the group never had a member.
    """
    moved = [each.moved for each in trend.standing.values() if each.moved is not None]
    if moved and trend.last.at - max(moved) >= FIRST_CYCLE:
        return True
    if is_job:
        return any(each.moves > 1 for each in trend.standing.values())
    name = reading.group.name
    left, came = members.left.get(name), members.came.get(name)
    return left is None or came is None or left.at - came >= SERVES


def _may_yet_start(observations: Observations, group: str, left: Left | None, trend: LagTrend) -> bool:
    """Return whether consumers may still start for the records that have just begun to arrive: the group had no member
    before, as with an autoscaler that stops all consumers of an idle topic, and no client committed for it.
    """
    since = observations.since(symptoms.Symptom(symptoms.LAG_GROWS, symptoms.Subject(group=group)))
    if since is None or observations.last.at - since >= STARTS:
        return False
    if left is not None:
        return left.at <= since - ONE_SCALE
    return observations.began <= since - ONE_SCALE and not any(each.moves for each in trend.standing.values())


def _last_members(left: Left | None) -> cause.Evidence | None:
    """Return, as evidence, the last members of a group that has none now; None if kac did not see them leave."""
    if left is None:
        return None
    return cause.Evidence(
        f"it had {plural(left.had, 'member')} until {time_of_day(left.at)}: {first_few(left.clients, FEW)}",
        "DescribeGroups over time",
    )


def _look_at_sink(group: str, left: Left | None) -> cause.Next | None:
    """Return the step to look at a sink connector, which the names of its group and client ids show. None if the last
    members of the group were not tasks of a sink, or are unknown.
    """
    connector = group.removeprefix(OF_SINK)
    if (
        left is None
        or connector == group
        or not any(each.startswith(f"{TASK_OF}{connector}-") for each in left.clients)
    ):
        return None
    return cause.Next(
        f"it is of the sink connector {connector}: ask Kafka Connect for the state of its tasks, and why they failed. "
        "Connect never restarts a failed task"
    )


def _stood(trend: LagTrend) -> timedelta:
    """Return the time since the last commit of a group; zero if kac saw no commit."""
    moved = [each.moved for each in trend.standing.values() if each.moved is not None]
    return timedelta(seconds=trend.last.at - max(moved)) if moved else timedelta(0)


def _has_just_committed(trend: LagTrend) -> bool:
    moved = [each.moved for each in trend.standing.values() if each.moved is not None]
    return bool(moved) and trend.last.at - max(moved) < AWAY


def _broker_away(absences: Sequence[tuple[int, Interval]], trend: LagTrend) -> cause.Evidence | None:
    """Return, as evidence, the absence of a broker that began at about the last commit of a group without members; None
    if there is none.

    Args:
        absences: the result of `Observations.absences`.
    """
    moved = [each.moved for each in trend.standing.values() if each.moved is not None]
    last = datetime.fromtimestamp(max(moved), UTC) if moved else None
    for broker, interval in absences:
        if last is not None and abs(interval.began - last) <= NEAR:
            until = f" until {time_of_day(interval.ended)}" if interval.ended is not None else ""
            return cause.Evidence(
                f"broker {broker} was away from {time_of_day(interval.began)}{until}, about when its members stopped: "
                "some clients end when their coordinator moves to another broker",
                "DescribeCluster, OffsetFetch",
            )
    return None


def _stuck(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for partitions whose committed offset does not move while records arrive, although the group has
    members.
    """
    logs = observations.last.facts.logs
    for reading in sorted_readings(symptoms.readings(observations.last.snapshot)).stuck:
        group, trend = reading.group, reading.trend
        if trend is None:
            continue
        outlasted = _outlasted(observations, reading)
        is_restless = _rebalances(observations, group.name) is not None or _fruitless(observations, reading) is not None
        if is_restless and not outlasted:
            continue
        rows = {(each.topic, each.partition): each for each in trend.last.lag.partitions}
        # A partition whose commit is at the last stable offset waits for a transaction: it is not stuck.
        stuck = [place for place in trend.stuck if not is_held(rows[place], observations.last.facts)]
        if not stuck:
            continue
        beside = any(place not in trend.stuck for place in trend.moving)
        if beside:
            # A bad record blocks one partition; a member whose partitions all stand still is blocked itself.
            whole = _of_whole_members(rows, frozenset(stuck))
            yield from (_member_stands(observations, group, trend, mine) for mine in whole)
            named = {(row.topic, row.partition) for mine in whole for row in mine}
            stuck = [place for place in stuck if place not in named]
        # Several partitions that are stuck at once suggest a problem of the consumers or the coordinator, not of a
        # record.
        one = beside or len(stuck) == 1
        claims = [
            _stuck_at(observations, group, trend, rows[place], beside=beside, one=one, outlasted=outlasted)
            for place in stuck
        ]
        yield from claims if beside else [_with_aborted(one_of(claims), [rows[place] for place in stuck], logs)]


def _with_aborted(claim: cause.Claim, rows: Sequence[PartitionLag], logs: ObservedLogs) -> cause.Claim:
    """Return the claim about all stuck partitions of a group; if there are several, and transactions ended in all
    records after its commits, with the possibility that they were aborted: then a reader with read_committed gets none
    of them.
    """
    ended = [ended_after(row, logs) for row in rows]
    if not rows[1:] or not all(ended):
        return claim
    row = rows[0]
    fact = cause.Evidence(
        f"the transactions of the {ended[0]:,} offsets after the commit of {row.topic}/{row.partition} have ended: if "
        "they were aborted, a reader with read_committed gets none of these records, and one that commits only after a "
        "record does not commit",
        "ListOffsets over time",
    )
    step = cause.Next(
        f"look at the logs of the producers of {row.topic} for aborted transactions and fenced producers: coordinators "
        "abort a transaction that is open for longer than its transaction.timeout.ms, and fence the older one of two "
        "producers with one transactional.id"
    )
    return replace(
        claim,
        title=f"{claim.title}, where transactions end: they may be aborted",
        evidence=(*claim.evidence, fact),
        next=(step, *claim.next),
    )


def _outlasted(observations: Observations, reading: Reading) -> int:
    """Return the number of rebalances since the only stuck partition of a group stopped moving; 0 if there were fewer
    than `OFTEN`, or if no other partition moved. Probably each member that gets the partition fails at the same
    record, which causes the next rebalance.
    """
    trend = reading.trend
    if trend is None or len(trend.stuck) != 1:
        return 0
    (place,) = trend.stuck
    since = trend.last.at - trend.partitions[place].still
    if _are_replaced(observations.past.members.departures.get(reading.group.name, ()), place, since):
        return 0
    intervals = observations.intervals.get((symptoms.REBALANCING, symptoms.Subject(group=reading.group.name)), ())
    later = sum(each.began.timestamp() > since for each in intervals)
    return later if later >= OFTEN and any(other != place for other in trend.moving) else 0


def _are_replaced(departures: Sequence[Departure], place: Place, since: float) -> bool:
    """Return whether at least as many members without a partition left as members with it, as in a deployment: then the
    record at which the partition stands probably was not the reason.

    Args:
        place: the partition.
        since: the time since which it does not move, Unix seconds.
    """
    had = [place in each.held for each in departures if each.held is not None and each.at.timestamp() > since]
    return bool(had) and had.count(False) >= max(1, had.count(True))


def _may_work(group: Group, trend: LagTrend, row: PartitionLag, still: float) -> bool:
    """Return whether a member may be working on a long batch, which it commits at the end: kac has not seen how often
    it commits, and brokers would not have removed it from the group yet. still: the seconds since the last commit.
    """
    mine = [
        trend.standing[each.topic, each.partition] for each in trend.last.lag.partitions if each.member == row.member
    ]
    return group.type != SHARE and still < LONGEST_BATCH and all(each.interval is None for each in mine)


def _of_whole_members(rows: Mapping[Place, PartitionLag], stuck: frozenset[Place]) -> list[list[PartitionLag]]:
    """Return a list of partitions for each member that has several partitions all of which are stuck."""
    held: dict[str, list[PartitionLag]] = {}
    for row in rows.values():
        if row.member:
            held.setdefault(row.member, []).append(row)
    return [mine for mine in held.values() if len(mine) > 1 and all((r.topic, r.partition) in stuck for r in mine)]


def _stuck_at(
    observations: Observations,
    group: Group,
    trend: LagTrend,
    row: PartitionLag,
    *,
    beside: bool,
    one: bool,
    outlasted: int,
) -> cause.Claim:
    topic, partition = row.topic, row.partition
    subject = symptoms.Subject(group=group.name, topic=topic, partition=partition)
    suspect = changed.suspect(observations, subject) or access.suspect(observations, subject)
    limit = limit_of_reading(observations, group, topic, partition)  # a throttled group looks stuck too
    still = trend.partitions[topic, partition].still
    other = "other partitions of the group move" if beside else f"member {row.member} has it"
    works = one and not beside and _may_work(group, trend, row, still)
    if not one:
        other = f"all {len(trend.stuck):,} partitions of the group that lag stand still"
    return cause.Claim(
        cause="consumer-stuck",
        subject=subject,
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY
        if limit is None and one and not works and not (suspect is not None and suspect.by_rule)
        else Certainty.POSSIBLE,
        title=f"group {group.name} stands still on {topic}/{partition} at offset {row.committed:,}",
        since=_ago(observations, trend, still),
        evidence=cause.given(
            cause.Evidence(
                f"committed {row.committed:,} for {still:.0f} s, the end is {row.end:,}", "OffsetFetch, ListOffsets"
            ),
            cause.Evidence(other, "DescribeGroups" if one and not beside else "OffsetFetch"),
            _reader(group, row) if beside else None,
            cause.Evidence(
                f"{plural(outlasted, 'rebalance')} meanwhile: a member that ends at a record leaves it to the next one",
                "ListGroups over time",
            )
            if outlasted
            else None,
            cause.Evidence(
                f"{CONSUMERS} of client {limit.client} is {limit.quota:,.0f}, and more is written: it may be throttled",
                "DescribeClientQuotas",
            )
            if limit is not None
            else None,
            suspect.said if suspect is not None else None,
        ),
        predicted=(
            *cause.predict(symptoms.COMMIT_STANDS_STILL, subject=subject),
            *cause.predict(symptoms.LAG_GROWS, *((symptoms.REBALANCING,) if outlasted else ()), group=group.name),
        ),
        next=cause.given(
            _LOOK_AGAIN if works else None if one else _LOOK_AT_LOG,
            *_steps_of_stuck(row, group.name, suspect, outlasted if one else None),
        ),
        fold=("stands still", "stand still"),
    )


_LOOK_AGAIN = cause.Next(
    "look again in 5 minutes: kac saw no whole pause between its commits, and a long batch is committed at its end; "
    "brokers put a member out that does not poll for max.poll.interval.ms"
)
_LOOK_AT_LOG = cause.Next(
    "look at the log of its consumer: one bad record stops one partition only, so it may wait for another system, or "
    "brokers may refuse its commits, which no API shows"
)
_LOOK_BEHIND = cause.Next(
    "look at the log of its consumer: if this record alone breaks it, skip it (the verb skip). "
    "If a schema, a database or a state that is being restored is missing, the record is good. If the log has no "
    "error, the consumer may have paused this partition (pause): a restart of that member reads on here"
)


def _reader(group: Group, row: PartitionLag) -> cause.Evidence | None:
    """Return, as evidence, the member that has a partition; None if that is not known."""
    member = next((each for each in group.members or () if each.member_id == row.member), None)
    if member is None:
        return None
    others = len(member.assignment) - 1
    rest = f", with {plural(others, 'other partition')}" if others > 0 else ""
    return cause.Evidence(f"{memberships.who(member)} has it{rest}: it is a member still", "DescribeGroups")


def _steps_of_stuck(
    row: PartitionLag, group: str, suspect: changed.Suspect | None, outlasted: int | None
) -> Iterator[cause.Next]:
    """Yield the steps for a partition whose committed offset does not move.

    Args:
        suspect: the change that may be the reason; None if there is none.
        outlasted: the number of rebalances since it stopped, if a single record may be the reason; else None.
    """
    yield cause.Next(
        "look at the record: the committed one, or one of those after it in its batch",
        f"records {row.topic} partition {row.partition} from group {group}",
    )
    if suspect is not None:
        # A skip loses the record, and does not help if brokers refuse the reads or the commits since the change.
        yield cause.Next(
            f"look at the change before it ({suspect.name}) and at the consumers' logs: if brokers refuse what they "
            "ask for, skip no record"
        )
    elif outlasted and retry_of(row.topic) is None:  # members end at it, and do not pause for a retry
        yield cause.Next("skip it", f"skip group {group} topic {row.topic} partition {row.partition}")
    elif outlasted is not None:
        yield _LOOK_BEHIND


def _member_stands(
    observations: Observations, group: Group, trend: LagTrend, rows: Sequence[PartitionLag]
) -> cause.Claim:
    """Return the claim that one member commits nothing while other members of its group do. rows: the partitions of the
    member.
    """
    known = {each.member_id: each for each in group.members or ()}.get(rows[0].member)
    who = f"{known.client_id}@{known.host.removeprefix('/')}" if known is not None else rows[0].member
    static = known.instance_id if known is not None else None
    stills = [trend.partitions[each.topic, each.partition].still for each in rows]
    may_restart = static is not None and min(stills) < SESSION
    places = [symptoms.Subject(group=group.name, topic=each.topic, partition=each.partition) for each in rows]
    return cause.Claim(
        cause="consumer-stuck",
        subject=symptoms.Subject(group=group.name),
        severity=Severity.HIGH,
        certainty=Certainty.POSSIBLE if may_restart else Certainty.LIKELY,
        title=f"group {group.name}: member {who} stands still in all of its {len(rows)} partitions",
        since=_ago(observations, trend, max(stills)),
        evidence=(
            cause.Evidence(
                f"{first_few([f'{each.topic}/{each.partition}' for each in rows], FEW)}: nothing committed for "
                f"{min(stills):.0f} s and more, while records wait",
                "OffsetFetch, ListOffsets",
            ),
            cause.Evidence(
                f"it is a static member (group.instance.id {static}): brokers keep its place after its client is gone, "
                "until its session.timeout.ms is over; other members move"
                if static
                else "it is a member, so its client is alive; other members move",
                "DescribeGroups",
            ),
        ),
        predicted=(
            *cause.predict_each(places, symptoms.COMMIT_STANDS_STILL),
            *cause.predict(symptoms.LAG_GROWS, group=group.name),
        ),
        next=cause.given(
            cause.Next(
                f"look whether the client of {static} still runs: start it again with this group.instance.id; if it is "
                "gone for good, remove the member (removeMembersFromConsumerGroup of Kafka's Admin), else its "
                "partitions wait until the session times out"
            )
            if static
            else None,
            cause.Next(
                f"look at the log and the metrics of {who}: it paused its partitions, or its application works without "
                "an end; no API says which. A restart gives them to a member that reads"
            ),
        ),
    )


def _waits_for_commits(observations: Observations) -> Iterator[tuple[str, str]]:
    """Yield one possibility if there are groups whose members have committed nothing while records arrive: it names the
    first group and the number of the others.
    """
    poll = observations.last
    held = {
        group
        for wait in waits(poll.facts, symptoms.readings(poll.snapshot), poll.snapshot.topics).values()
        for group in wait.groups
    }
    names = [each.subject.group for each in observations.of(symptoms.COMMITS_LATER) if each.subject.group not in held]
    if names:
        more = f" and {plural(len(names) - 1, 'more group')}" if names[1:] else ""
        yield (
            f"whether group {names[0]}{more} reads: records arrive, and nothing was committed since",
            f"A look of more than {STUCK_ALONE:.0f} s: some consumers commit each minute",
        )


def _rebalanced(intervals: Sequence[Interval], trend: LagTrend) -> bool:
    """Return whether members joined or left between the polls of the trend: no member reads during a rebalance."""
    last = intervals[-1].ended if intervals else None
    return bool(intervals) and (last is None or last.timestamp() > trend.base.at)


def _falls_behind(trend: LagTrend, since: datetime) -> bool:
    """Return whether the lag grows even without the partitions that are newly stuck: only partitions whose offsets are
    still committed at the usual intervals count. since: the beginning of the growth, UTC.
    """
    rates = []
    for at, each in trend.partitions.items():
        stands = trend.standing[at]
        moves = stands.moved is not None and stands.moved > max(trend.base.at, since.timestamp())
        if each.rate is not None and moves and each.still <= LATE * max(stands.pause, COMMITS):
            rates.append(each.rate)
    return sum(rates) >= 1


class _Uneven(NamedTuple):
    """A partition that gets most of the new records of its topic."""

    place: Place
    share: float
    """The partition's share of the new records, from 0 to 1."""
    of: int
    """The number of the topic's partitions."""


def _uneven(trend: LagTrend) -> _Uneven | None:
    """Return the partition that gets most of the new records for a group; None if several partitions share them."""
    before = {(each.topic, each.partition): each.end for each in trend.base.lag.partitions}
    came: dict[str, dict[int, int]] = {}
    for each in trend.last.lag.partitions:
        known = before.get((each.topic, each.partition))
        if known is not None and min(known, each.end) >= 0:
            came.setdefault(each.topic, {})[each.partition] = each.end - known
    total = sum(sum(mine.values()) for mine in came.values())
    for topic, mine in came.items():
        number, most = max(mine.items(), key=lambda each: each[1])
        if len(mine) >= UNEVEN_OF and most >= UNEVEN * max(1, sum(mine.values())) and 2 * most >= total:
            return _Uneven((topic, number), most / sum(mine.values()), len(mine))
    return None


def _most_in_one(uneven: _Uneven) -> cause.Evidence:
    return cause.Evidence(
        f"{_place(uneven.place)} gets {uneven.share:.0%} of the records of its topic's {uneven.of} partitions: one "
        "member reads all of them",
        "ListOffsets",
    )


def _place(place: Place) -> str:
    return f"{place[0]}/{place[1]}"


def _slow(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    claims = _each_slow.of(
        observations.of_groups(symptoms.LAG_GROWS),
        symptoms.readings(snapshot),
        observations.intervals_of_groups(symptoms.LAG_GROWS),
        observations.intervals_of_groups(symptoms.REBALANCING),
        snapshot.had_members,
        observations.past.members.left,
        held_groups(observations.of_groups(symptoms.LAG_GROWS), snapshot.lag_trends, observations.last.facts.logs),
        common=(observations.began,),
    )
    found = [claim for claim in claims.values() if claim is not None]
    # The rows of many groups become one, which has no space for more.
    if len(found) > EXAMINED:
        yield from found
        return
    at_work = frozenset(
        claim.subject.group or ""
        for claim in found
        if claim.severity is Severity.HIGH and claim.certainty is Certainty.LIKELY and claim.next is not _LOOK_AT_KEYS
    )
    known, former = symptoms.readings(snapshot), observations.last.facts.former
    mine = {claim.subject.group or "": claim for claim in found}
    lost = {name for name, claim in mine.items() if claim.next is _LOOK_FOR_THE_REST}
    each = examined(mine, known, snapshot, former, observations.past, observations.began, at_work)
    for name, claim in each.items():
        yield refused_members.with_refusals(claim, snapshot.groups[name], snapshot) if name in lost else claim


def _slow_group(
    symptom: symptoms.Symptom,
    reading: Reading | None,
    lagged: Sequence[Interval] | None,
    rebalanced_at: Sequence[Interval] | None,
    had_members: bool,
    left: Left | None,
    held: float | None,
    watched: datetime,
) -> cause.Claim | None:
    """Return the claim that a group is slow; None if it is not.

    Args:
        symptom: the symptom of the growing lag.
        lagged, rebalanced_at: the intervals in which the lag grew, and in which members joined or left; None without
            any.
        had_members: whether the group had members before.
        left: the members that left and were not replaced; None without any.
        held: the seconds for which transactions usually hold records back that the group reads; None without any.
        watched: the time of the first poll, UTC.
    """
    if reading is None or reading.trend is None:
        return None
    subject, lagged = symptom.subject, lagged or ()
    trend, is_empty, again = reading.trend, reading.group.is_vacant, len(lagged) > 1
    since = lagged[-1].began if lagged and lagged[-1].began > watched else None
    rebalanced = _rebalanced(rebalanced_at or (), trend)
    # A group without members may only commit now and then; if it had members, `_stopped` will soon report it.
    if _rests(trend) if is_empty else not trend.moving:
        return None
    began = since or watched
    grew_for = trend.last.at - began.timestamp()
    lasts = grew_for >= LASTS
    lags = not is_empty and _falls_behind(trend, began) and not rebalanced and lasts
    # For a group at work, a growing lag may be a burst of records: it matters only if it lasts and records wait long.
    is_brief = not (is_empty or rebalanced or lasts or again)
    is_burst = (is_empty and had_members) or is_brief or _waits_briefly(trend, held or 0.0)
    uneven = _uneven(trend) if lags else None
    fewer = _fewer(reading.group, left) if left is not None and not uneven else None
    full = _one_for_each(reading.group) if lags and not uneven and fewer is None else None
    if not (lags or rebalanced) and (unsubscribed := _unsubscribed(reading.group, trend)):
        return _of_unsubscribed(subject, reading.group, trend, unsubscribed, since, is_burst=is_burst)
    is_slow = lags or rebalanced or _outlasts_commits(trend, grew_for)
    return cause.Claim(
        cause="consumer-slow",
        subject=subject,
        severity=Severity.HIGH if is_slow and not is_burst else Severity.INFO,
        certainty=Certainty.LIKELY if lags else Certainty.POSSIBLE,
        title=_how_it_lags(subject.group or "", trend, uneven),
        since=since,
        evidence=cause.given(*_why_slow(trend, uneven, lags=lags), fewer, full),
        predicted=cause.predict(symptoms.LAG_GROWS, subject=subject),
        next=_next_of_slow(uneven is not None, fewer is not None, full is not None),
        fold=("lags", "lag, and ever more"),
    )


def _why_slow(trend: LagTrend, uneven: _Uneven | None, *, lags: bool) -> Iterator[cause.Evidence | None]:
    """Yield the evidence of a lag itself. lags: whether the group surely reads more slowly than records arrive."""
    yield _lag(trend)
    yield _COMMITS_SLOWLY if lags else None if (trend.rate or 0.0) <= 0 else _FOR_A_MOMENT
    yield _most_in_one(uneven) if uneven else None


def _how_it_lags(group: str, trend: LagTrend, uneven: _Uneven | None) -> str:
    where = f": {_place(uneven.place)} gets most of the records" if uneven else ""
    return f"group {group} lags {trend.last.lag.total:,}, {trend.rate or 0:+,.0f} records/s{where}"


def _outlasts_commits(trend: LagTrend, grew_for: float) -> bool:
    """Return whether a lag grew for longer than it may between two commits. grew_for: seconds."""
    return grew_for >= max(STAYS, LATE * max(each.pause for each in trend.standing.values()))


def _unsubscribed(group: Group, trend: LagTrend) -> Sequence[str]:
    """Return the topics, sorted, whose lag grows because no member of the group subscribes to them any more; empty if
    the lag also grows in other topics, or if the subscriptions are unknown.
    """
    members = group.members or ()
    if group.state != memberships.STABLE or not members or any(each.regex or not each.topics for each in members):
        return ()
    wanted = {topic for each in members for topic in (*each.topics, *(topic for topic, _ in each.assignment))}
    growing = {topic for (topic, _), each in trend.partitions.items() if (each.rate or 0.0) > 0}
    return sorted(growing) if wanted.isdisjoint(growing) else ()


def _of_unsubscribed(
    subject: symptoms.Subject,
    group: Group,
    trend: LagTrend,
    topics: Sequence[str],
    since: datetime | None,
    *,
    is_burst: bool,
) -> cause.Claim:
    """Return the claim that records wait in topics to which no member of a group subscribes any more.

    Args:
        topics: these topics.
        since: the time since which the lag grows, UTC; None if that was before the first poll.
        is_burst: whether the records have not waited long enough for a problem.
    """
    names = first_few(topics, FEW)
    waiting = sum(max(0, row.lag) for row in trend.last.lag.partitions if row.topic in topics)
    wanted = sorted({topic for each in group.members or () for topic in each.topics})
    return cause.Claim(
        cause="consumer-slow",
        subject=subject,
        severity=Severity.INFO if is_burst else Severity.HIGH,
        certainty=Certainty.POSSIBLE,  # its clients may have left the topics on purpose
        title=f"group {group.name}: no member subscribes to {names} any more, and records wait there",
        since=since,
        evidence=(
            _lag(trend),
            cause.Evidence(f"its members subscribe only to {first_few(wanted, FEW)}", "DescribeGroups"),
            cause.Evidence(f"no member reads {names}, where {plural(waiting, 'record')} wait for it", "OffsetFetch"),
        ),
        predicted=cause.predict(symptoms.LAG_GROWS, subject=subject),
        next=(
            cause.Next(
                f"look at the subscription in the last release of its clients: should they read {names}? If not, look "
                f"at what still writes to {names}; no client reads that for this group"
            ),
        ),
    )


def _waits_briefly(trend: LagTrend, held: float) -> bool:
    """Return whether the records of a group wait for less than `BEHIND` beyond the time for which transactions usually
    hold them back. held: that time in seconds.
    """
    waits_for = trend.longest_behind
    return waits_for.seconds is not None and not waits_for.least and waits_for.seconds < BEHIND + held


_each_slow: RememberedAmong[str, cause.Claim | None] = RememberedAmong(_slow_group)
# Constants, as 10,000 slow groups share them.
_COMMITS_SLOWLY = cause.Evidence("it commits, more slowly than records arrive", "OffsetFetch")
_FOR_A_MOMENT = cause.Evidence(
    "for a moment only, or in partitions in which nothing was committed meanwhile", "OffsetFetch"
)
_LOOK_AT_KEYS = (
    cause.Next(
        "look at the producers' keys: all records of a key go to one partition, so that more members, or more "
        "partitions, do not help"
    ),
)
_LOOK_AT_CONSUMERS = (cause.Next("look at its consumers: their time for a batch, their quota"),)
_LOOK_FOR_THE_REST = (
    cause.Next(
        "start what left again; if it or its successor runs, look at its log: no API names clients that brokers "
        "refuse, as for an assignor that the other members do not have, a login or an ACL"
    ),
    *_LOOK_AT_CONSUMERS,
)
_LOOK_AT_WORK = (
    cause.Next(
        "make the work on a record faster, as in batches; or give the topic more partitions, so that more members "
        "help: its keys then go to other partitions"
    ),
)


def _next_of_slow(uneven: bool, fewer: bool, full: bool) -> tuple[cause.Next, ...]:
    """Return the steps for a slow group.

    Args:
        uneven: whether one partition gets most records.
        fewer: whether members left and were not replaced.
        full: whether each partition has its own member.
    """
    if uneven:
        return _LOOK_AT_KEYS
    if fewer:
        return _LOOK_FOR_THE_REST
    return _LOOK_AT_WORK if full else _LOOK_AT_CONSUMERS


def _fewer(group: Group, left: Left) -> cause.Evidence | None:
    """Return, as evidence, the members that a group with members lost; None if it has no members now, or not fewer than
    before.
    """
    has = len(group.members or ())
    if not 0 < has < left.had:
        return None
    return cause.Evidence(
        f"it has {plural(has, 'member')}, and had {left.had} until {time_of_day(left.at)}: "
        f"{first_few(left.clients, FEW)} left, and no member came instead",
        "DescribeGroups over time",
    )


def _one_for_each(group: Group) -> cause.Evidence | None:
    """Return, as evidence, that no member has more than one partition, so that a further member would get none. None if
    a member has more, for a share group, and for a group with fewer than `ALONE` (2) partitions.
    """
    held = [len(each.assignment) for each in group.members or ()]
    partitions = sum(held)
    if group.type == SHARE or partitions < ALONE or max(held) > 1:
        return None
    idle = held.count(0)
    rest = f", and {plural(idle, 'more member')} nothing to read" if idle else ""
    return cause.Evidence(
        f"each of its {partitions} partitions has a member of its own{rest}: more members do not help", "DescribeGroups"
    )


def _rebalances(observations: Observations, group: str) -> Certainty | None:
    """Return the certainty that a group rebalances without end; None if it does not rebalance, or not for long
    enough.
    """
    intervals = observations.intervals.get((symptoms.REBALANCING, symptoms.Subject(group=group)), ())
    if not intervals:
        return None
    now = observations.last.at
    took = sum(
        (max(timedelta(0), (each.ended or now) - max(each.began, now - MINUTE)) for each in intervals), timedelta(0)
    )
    # A group that rebalanced for half of the last minute hardly reads, however few the rebalances. Many short
    # rebalances may be a deployment.
    if took >= LONG:
        return Certainty.CERTAIN
    recent = [each for each in intervals if each.ended is None or each.ended > now - NEAR]
    return Certainty.POSSIBLE if len(recent) >= OFTEN else None


def _rebalancing(observations: Observations) -> Iterator[cause.Claim]:
    # Judge by intervals, not by the present state: between two rebalances a group looks well.
    for subject, intervals in observations.intervals_of(symptoms.REBALANCING).items():
        group = subject.group or ""
        known, certainty = observations.last.snapshot.groups.get(group), _rebalances(observations, group)
        reading = symptoms.readings(observations.last.snapshot).get(group)
        fruitless = _fruitless(observations, reading) if reading is not None else None
        returning = _returning(observations, group) if fruitless is None else None
        if known is None or (certainty is None and fruitless is None and returning is None):
            continue
        if reading is not None and not known.is_vacant and _outlasted(observations, reading):
            continue  # the claim of its stuck partition mentions the rebalances
        if fruitless is not None and certainty is not Certainty.CERTAIN:
            certainty = Certainty.LIKELY if fruitless.loops else Certainty.POSSIBLE
        elif returning is not None and certainty is not Certainty.CERTAIN:
            certainty = Certainty.LIKELY if returning.times > LOOPS else Certainty.POSSIBLE
        how = "again and again" if intervals[1:] else "for long"
        members, services = len(known.members or ()), _several_services(known)
        apart = observations.past.members.apart.get(group)
        apart = apart if apart is not None and apart.joins > 1 else None
        deployed = (
            fruitless is None
            and returning is None
            and certainty is Certainty.POSSIBLE
            and len(intervals) <= EACH * members + OFTEN
            and _is_young(intervals, observations.last.at)
        )
        without = f" and commits nothing since {time_of_day(fruitless.since)}" if fruitless is not None else ""
        without = f": {returning.who} leaves and comes back" if returning is not None else without
        yield cause.Claim(
            cause="group-rebalancing",
            subject=subject,
            severity=Severity.INFO if deployed else Severity.HIGH,
            certainty=certainty or Certainty.POSSIBLE,
            title=f"group {group} rebalances {how}{without}",
            since=intervals[0].began,
            times=len(intervals),
            evidence=cause.given(
                cause.Evidence(f"{known.state} now; seen: {plural(len(intervals), 'rebalance')}", "ListGroups"),
                _without_commits(fruitless) if fruitless is not None else None,
                _left_again(returning) if returning is not None else None,
                cause.Evidence("members that are deployed one after the other make as many", "ListGroups")
                if deployed
                else None,
                _behind(known),
                services,
                _reads_other_configs(apart) if apart is not None else None,
            ),
            predicted=cause.predict(
                symptoms.REBALANCING, symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, group=group
            ),
            next=cause.given(
                _SHORTER_BATCH if fruitless is not None else None,
                _one_cluster(apart) if apart is not None else None,
                _LOOK_AT_WORKERS if known.protocol == memberships.WORKERS else _look_at_member(returning),
                cause.Next("if they are different services, give each one a group.id of its own") if services else None,
            ),
            alone=returning is not None,
            fold=(f"rebalances {how}", f"rebalance {how}"),
        )


_SHORTER_BATCH = cause.Next(
    "give its members fewer records at a time (max.poll.records), or more time for them (max.poll.interval.ms): "
    "brokers put out a member that works for longer, and the next one reads the same records. Look at its log for "
    "CommitFailed, or for the exception at which it ends"
)


_LOOK_AT_WORKERS = cause.Next(
    "look at the logs of these workers of Connect: whether they restart, and whether all have the same group.id and "
    "config.storage.topic"
)


def _reads_other_configs(apart: memberships.Apart) -> cause.Evidence:
    """Return, as evidence, that a worker of Connect never reaches the position of the others in the topic of
    configs.
    """
    upto = "nothing" if apart.offset < 0 else f"up to {apart.offset:,}"
    return cause.Evidence(
        f"worker {apart.who} joined {apart.joins} times and had read {upto} of its topic of configs each time, "
        f"{apart.other} up to {apart.other_offset:,}: they may read different topics, as two Connect clusters with one "
        "group.id do",
        "DescribeGroups over time",
    )


def _one_cluster(apart: memberships.Apart) -> cause.Next:
    return cause.Next(
        f"compare config.storage.topic of the workers {apart.who} and {apart.other}: workers of one group have to "
        "share it. If they are two Connect clusters, give one of them a group.id of its own, and restart its workers"
    )


class _Returning(NamedTuple):
    """The only member of a group that left several times and came back."""

    who: str
    """The member's client id and host."""
    times: int
    """The number of times that it left."""
    since: datetime
    """The time of the first poll without it, UTC."""


def _returning(observations: Observations, group: str) -> _Returning | None:
    """Return the member that leaves a group and comes back, if the others stay; None if there is no such member, and if
    none left within the last `NEAR`.
    """
    left = observations.past.members.departures.get(group, ())
    who, times = _again(left) if left else ("", 0)
    mine = [each for each in left if each.who == who]
    others = [each for each in left if each.who != who]
    if times < LOOPS or mine[-1].at < observations.last.at - NEAR or len(others) > len({each.who for each in others}):
        return None
    return _Returning(who, times, mine[0].at)


def _look_at_member(returning: _Returning | None) -> cause.Next:
    """Return the step for a group that rebalances: to look at the member that comes back, or at all for None."""
    if returning is None:
        return cause.Next("look at its members: restarts, max.poll.interval.ms, session timeouts")
    return cause.Next(
        f"look at {returning.who}, for which the other members wait: does its process restart, or does its host stall "
        "for longer than its session.timeout.ms? With a longer session timeout, or with a group.instance.id, a short "
        "absence causes no rebalance"
    )


def _left_again(returning: _Returning) -> cause.Evidence:
    said = f"{returning.who} left {returning.times} times since {time_of_day(returning.since)} and came back each time"
    return cause.Evidence(said, "DescribeGroups over time")


class _Fruitless(NamedTuple):
    """Rebalances of a group without a commit between them."""

    rebalances: int
    since: datetime
    """The time of the last commit, or of the first poll if there was none, UTC."""
    loops: str
    """The client id and host of a member that left, came again and left again; ``""`` if there is none."""
    times: int
    """The number of times that this member left."""


def _fruitless(observations: Observations, reading: Reading) -> _Fruitless | None:
    """Return the rebalances since a group's last commit, if records were written for it meanwhile. None if there are
    fewer than `OFTEN`, if they have ended, if few members left, as at a start, or if the group usually commits as
    rarely.
    """
    name, trend = reading.group.name, reading.trend
    intervals = observations.intervals.get((symptoms.REBALANCING, symptoms.Subject(group=name)), ())
    departures = observations.past.members.departures.get(name, ())
    if trend is None or len(intervals) < OFTEN or len(departures) < LOOPS:
        return None
    moved = [each.moved for each in trend.standing.values() if each.moved is not None]
    since = max(moved, default=observations.began.timestamp())
    stood = trend.last.at - since
    if stood < FRUITLESS or not _has_new_records(trend):
        return None
    left = [each for each in departures if each.at.timestamp() > since]
    count = sum(each.began.timestamp() > since for each in intervals)
    came, now = observations.past.members.new.get(name), observations.last.at
    if count < OFTEN or len(left) < LOOPS or (came is not None and now - came < YOUNG):
        return None
    who, times = _again(left)
    # A member that works on each batch for too long begins a rebalance every 5 minutes.
    last, lately = intervals[-1].ended or now, timedelta(seconds=LONGEST_BATCH) if who else NEAR
    usual = [each.interval for each in trend.standing.values() if each.interval is not None]
    wait = CYCLES * max(usual) if usual else STUCK_ALONE if who else LONGEST_BATCH
    if now - last > lately or stood < max(FRUITLESS, wait):
        return None
    return _Fruitless(count, datetime.fromtimestamp(since, UTC), who, times)


def _has_new_records(trend: LagTrend) -> bool:
    """Return whether records were written to a partition of a member since its last commit moved: records that waited
    before may only be markers of transactions.
    """
    rows = ((row, trend.standing.get((row.topic, row.partition))) for row in trend.last.lag.partitions)
    return any(each is not None and each.held and each.since is not None and row.end > each.end for row, each in rows)


def _again(left: Sequence[Departure]) -> tuple[str, int]:
    """Return the client id and host whose members left most often, and how often; ``""`` and 0 if no member came again
    and left again. Several members may have the same client id and host: a single departure of each does not count
    as repeated.
    """
    alike: dict[str, int] = {}
    for each in left:
        alike.setdefault(each.who, each.alike)
    count = Counter(each.who for each in left)
    who = max(alike, key=lambda each: count[each] - alike[each])
    return (who, count[who]) if count[who] > alike[who] else ("", 0)


def _without_commits(fruitless: _Fruitless) -> cause.Evidence:
    said = f"{plural(fruitless.rebalances, 'rebalance')} since its last commit, and records wait"
    if fruitless.loops:
        said = (
            f"{said}: {fruitless.loops} left {fruitless.times} times and came again without a commit. Its work on a "
            "batch may take longer than max.poll.interval.ms, or it ends at it"
        )
    return cause.Evidence(said, "ListGroups, DescribeGroups and OffsetFetch over time")


def _several_services(group: Group) -> cause.Evidence | None:
    """Return, as evidence, that members with different client ids have no topic in common: services that use one group
    by mistake interrupt each other. None if they have topics in common.
    """
    by_topics: dict[tuple[str, ...], str] = {}
    for member in group.members or ():
        if member.topics:
            by_topics.setdefault(member.topics, member.client_id)
    topics = [each for mine in by_topics for each in mine]
    if len(by_topics) < 2 or len(set(topics)) < len(topics) or len(set(by_topics.values())) < len(by_topics):
        return None
    some = [f"{client} {first_few(topics, 2)}" for topics, client in by_topics.items()]
    return cause.Evidence(
        f"its members subscribe to different topics, as different services: {first_few(some, FEW)}; a rebalance stops "
        "all of them",
        "DescribeGroups",
    )


def _is_young(intervals: Sequence[Interval], now: datetime) -> bool:
    """Return whether the present series of rebalances began at most `DEPLOYS` ago."""
    first = intervals[-1]
    for each in reversed(intervals):
        if each.ended is not None and first.began - each.ended > NEAR:
            break
        first = each
    return now - first.began <= DEPLOYS


def _behind(group: Group) -> cause.Evidence | None:
    """Return, as evidence, the members that have not reached the group's epoch, so that others wait for their
    partitions. None if all members have reached it.
    """
    if not group.behind:
        return None
    first = min(group.behind, key=lambda member: member.epoch)
    more = f", and {plural(len(group.behind) - 1, 'more member')} behind it" if group.behind[1:] else ""
    return cause.Evidence(
        f"{first.client_id}@{first.host.removeprefix('/')} is at epoch {first.epoch} of {group.epoch}{more}",
        "ConsumerGroupDescribe" if group.type == "consumer" else "StreamsGroupDescribe",
    )


def _out_of_range(observations: Observations) -> Iterator[cause.Claim]:
    lags, ranges = observations.last.snapshot.lags, observations.last.snapshot.log_ranges
    for symptom in observations.of(symptoms.OFFSET_OUT_OF_RANGE):
        group, topic, partition = symptom.subject.group, symptom.subject.topic, symptom.subject.partition
        if group is None or topic is None or partition is None:
            continue
        at = next(each for each in lags[group].partitions if (each.topic, each.partition) == (topic, partition))
        start = ranges[topic, partition].start if (topic, partition) in ranges else 0
        ahead = f": ahead of the end by {at.committed - at.end:,}" if is_beyond(at) else ""
        yield cause.Claim(
            cause="offsets-out-of-range",
            subject=symptom.subject,
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"group {group} is outside of the log of {topic}/{partition}",
            since=observations.since(symptom),
            evidence=(
                cause.Evidence(
                    f"committed {at.committed:,}; the log is {start:,} to {at.end:,}{ahead}", "OffsetFetch, ListOffsets"
                ),
            ),
            predicted=cause.predict(
                symptoms.OFFSET_OUT_OF_RANGE, symptoms.COMMIT_STANDS_STILL, subject=symptom.subject
            ),
            next=tuple(_ways_back(f"reset group {group} topic {topic} partition {partition} to", at, observations)),
            fold=("is outside of the log", "are outside of logs"),
        )


_RESETS_ITSELF = cause.Next(
    "wait for its consumers: at their next fetch they go on by themselves, at the first record or, with "
    "auto.offset.reset=latest, at the end. With none, or with their own handling of this error, they stand: stop them"
)


def _ways_back(reset: str, at: PartitionLag, observations: Observations) -> Iterator[cause.Next]:
    """Yield the offset resets that help a group whose offset is outside of the log, first the one that skips no record.
    If the log was truncated, the group had read the records up to the new end, which kac reads later.
    """
    if not is_beyond(at):
        if at.member:
            yield _RESETS_ITSELF
        yield cause.Next(
            "reset it; brokers refuse that while it has members" if at.member else "reset it", f"{reset} earliest"
        )
        return
    stop = "; brokers refuse that while it has members, so stop them first" if at.member else ""
    yield cause.Next(f"read again all that is there: it skips no record{stop}", f"{reset} earliest")
    place = at.topic, at.partition
    again = {each.place.about for each in observations.past.judged if each.place.key == ID}
    falls = (each.end for each in observations.last.facts.logs.falls if (each.topic, each.partition) == place)
    cuts = (each.read[1] for each in observations.past.unclean if each.place == place and each.read is not None)
    cut = min((*falls, *cuts), default=at.end)
    if cut < at.end and TopicTarget(at.topic) not in again:
        yield cause.Next(
            f"or go on at {cut:,}, where kac saw the shorter log end first: records written before that are skipped",
            f"{reset} offset {cut}",
        )


# -- groups and topics without readers ---------------------------------------------------------------------------------


def _without_members(observations: Observations) -> Iterator[cause.Claim]:
    """Yield one claim for all groups with offsets that are left over, without the groups that stopped lately."""
    stopped = {each.reading.group.name for each in _lately(observations)}
    found = [
        each
        for each in leftovers(symptoms.readings(observations.last.snapshot), observations.last.snapshot)
        if (each.below or each.waiting) and each.group.name not in stopped
    ]
    if not found:
        return
    vacant = [each for each in found if each.group.is_vacant]
    below = sum(len(each.below) for each in found)
    waiting = sum(row.lag for each in found for row in each.waiting)
    groups = f"{plural(len(vacant), 'group')} without members" if vacant else "offsets that no member reads"
    what = [f"{plural(below, 'partition')} below the log's start"] if below else []
    what += [f"{plural(waiting, 'record')} wait" if waiting > 1 else "a record waits"] if waiting else []
    rest = ": their next start begins at auto.offset.reset" if below else ""
    yield cause.Claim(
        cause="groups-without-members",
        subject=symptoms.CLUSTER,
        severity=Severity.INFO,
        certainty=Certainty.CERTAIN,
        title=f"{groups}, {', '.join(what)}{rest}",
        evidence=cause.given(
            *(cause.Evidence(_left_of(each), "ListGroups, OffsetFetch, ListOffsets") for each in found[:FEW]),
            cause.Evidence(f"and {plural(len(found) - FEW, 'more group')}", "ListGroups") if found[FEW:] else None,
        ),
        next=(cause.Next("start their consumers, or delete what is not needed any more", "list groups state=Empty"),),
        idle=True,
    )


def _left_of(each: Leftovers) -> str:
    rows = (*each.below, *each.waiting)
    row = rows[0]
    more = f", and {plural(len(rows) - 1, 'more partition')}" if rows[1:] else ""
    who = f"is {each.group.state}" if each.group.is_vacant else "has members, none of them for this"
    return f"group {each.group.name} {who}: {row.topic}/{row.partition} committed {row.committed:,}{more}"


def _ahead(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for offsets beyond the end of the log from which no client reads: a mirror copied them from another
    cluster, or they are from before a restore.
    """
    for each in leftovers(symptoms.readings(observations.last.snapshot), observations.last.snapshot):
        for row in each.beyond:
            place = f"{row.topic}/{row.partition}"
            by = row.committed - row.end
            yield cause.Claim(
                cause="offsets-ahead",
                subject=symptoms.Subject(group=each.group.name, topic=row.topic, partition=row.partition),
                severity=Severity.INFO,
                certainty=Certainty.CERTAIN,
                title=f"group {each.group.name}: {place} is ahead of the end by {by:,}: mirrored, or restored?",
                evidence=(
                    cause.Evidence(
                        f"committed {row.committed:,}, the end is {row.end:,}, no member has it",
                        "OffsetFetch, ListOffsets",
                    ),
                ),
                next=(
                    cause.Next("what copies the offsets is to copy the records too, before its consumers start here"),
                ),
                fold=("is ahead of the end: mirrored, or restored?", "are ahead of the end: mirrored, or restored?"),
                idle=True,
            )


CAUSES = (
    cause.CauseRule(
        "group-rebalancing",
        _rebalancing,
        bare=True,
        reads="ListGroups over time",
        takes=(
            "certain: the group rebalances for 30 s of a minute; possible after 3 rebalances within two minutes, as "
            "during a deployment. Likely after 3 since its last commit, 30 s and three usual intervals ago (90 s if "
            "kac saw none), while records were written, if a client left, came again and left again"
        ),
    ),
    restarting.CAUSE,
    cause.CauseRule(
        "group-stopped",
        _stopped,
        bare=True,
        reads="ListGroups, OffsetFetch, ListOffsets",
        takes=(
            "certain: the group has no member, and records wait. Possible for 15 minutes after its last commit if kac "
            "saw its members come and leave within 30 minutes, or if it never had a member and kac saw no pause "
            "between two of its commits: it may be a job that comes again. Possible for 2 minutes if it had no member "
            "before the records came, and if its clients went to one new group, as at a release"
        ),
    ),
    cause.CauseRule(
        "consumer-stuck",
        _stuck,
        hides=_waits_for_commits,
        bare=True,
        reads="OffsetFetch and ListOffsets over time",
        takes=(
            "likely: one partition stands still while others move; possible if several stand still, if a quota may "
            "delay the client, and for 310 s if it is the only one and kac saw no rhythm of its member's commits. In a "
            "retry topic after twice the delay in its name, or 15 minutes"
        ),
    ),
    cause.CauseRule(
        "consumer-slow",
        _slow,
        bare=True,
        reads="OffsetFetch and ListOffsets over time",
        takes=(
            "likely: the group commits, but more slowly than records arrive. Information while records wait for less "
            "than 10 s, and for 15 s if it may just commit late; possible for topics to which no member subscribes any "
            "more, and for a minute if 2.5 times as many records arrive as before, by the times of the "
            "records if kac was not there. Names the member, host, leader, topic or few partitions with 80 % of the "
            "growth, and a member that has most partitions while another one with the same topics has none, or far "
            "fewer. Says if it commits about after each record, 50 times a second or more"
        ),
    ),
    cause.CauseRule(
        "offsets-out-of-range",
        _out_of_range,
        reads="OffsetFetch, ListOffsets",
        takes="certain: the committed offset is outside of the log, and a member reads that partition",
    ),
    cause.CauseRule(
        "groups-without-members",
        _without_members,
        reads="OffsetFetch, ListOffsets",
        takes=(
            "information: no member reads a partition whose committed offset is below the log's start, or has records "
            "after it"
        ),
    ),
    cause.CauseRule(
        "offsets-ahead",
        _ahead,
        reads="OffsetFetch, ListOffsets",
        takes="information: a committed offset is beyond the end of the log, and no member has the partition, as with "
        "offsets that a mirror copied",
    ),
)
