"""Which part of a group lags: a member, a host, a leader or a topic; whether the write or the read rate changed before;
and how often the group commits. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from console.model.cluster import Group, GroupMember, Topic
from console.model.coordinators import OFFSETS, partition_of
from console.model.lag_trend import LagTrend, Place, place
from console.model.numbers import first_few
from console.model.rate_samples import Rates, rates_between
from console.model.rates import Rates as WriteRates
from console.triage.facts import Former
from console.triage.folding import FEW
from console.triage.remembered import RememberedEach, remembered
from console.triage.share_beginnings import SHARE

MOST_OF, AT_MOST, FEWEST = 0.8, 0.5, 4
"""The minimum share of the growth of a lag that is in one part; the maximum share of the new records and of the
partitions in that part, as a part with most of them has most of any lag; and the minimum number of partitions."""
MEAN_TIMES, TWO = 3.0, 2
"""Factor of the mean number of partitions of a member; one with more has an uneven assignment. And the fewest
partitions of a member that another one, which has none and subscribes to the same topics, could take some of."""
UNEVEN_TIMES, UNEVEN_BY = 2.0, 3
"""Factor of the fewest partitions that a member with the same topics has, and the fewest partitions more than that: no
assignor that balances leaves so many to one."""
SOME, OF_MANY = 0.25, 8
"""The maximum share of a group's partitions that are named one by one, and the minimum number of all."""
WRITES_TIMES, READS_SHARE, STEADY = 2.5, 0.5, 1.5
"""The minimum factor by which the writes rose, the maximum share to which the reads fell, and the maximum factor by
which the other one changed."""
BEFORE, NOW, SETTLES = 20.0, 18.0, 15.0
"""Seconds: the minimum for the rates of before, and of now; the time until a growing lag is seen."""
EVER_BEFORE = 300.0
"""Number of seconds before the growth of a lag from which samples are used."""
FORMER_SECONDS, FORMER_RECORDS, BURSTS, RESTS = 10.0, 10, 2.0, 4.0
"""The minimum seconds and records of the writes of before, by the times of the records; the factor of their mean rate
that no part of that time may exceed, because records that come in bursts tell nothing about a rise; and the part of it
that each of them has."""
LEAST_SEEN, MOST_SEEN = 0.25, 2.0
"""The limits of the last rate by the times of the records, as multiples of the one that kac saw; the rise may be within
the last seconds."""
COMMITS_LEAST, COMMITS_SHARE, OTHERS_SHARE = 50.0, 0.7, 0.25
"""The minimum commits a second beyond those of auto.commit, and their minimum share of the records read, of a group
that commits about after each record. And the maximum of the records that other groups read, as a share of the commits,
at which the commits are not theirs."""
AUTO_COMMIT = 1.0
"""Minimum number of seconds between two commits of a partition with auto.commit; the default is 5."""
COMMITS = 10.0
"""Maximum number of seconds between two commits of a group up to which its read rate can be measured."""


class Part(NamedTuple):
    """A part of a group's partitions, and its share in the growth of the lag."""

    kind: str
    """``member``, ``host``, ``leader``, ``topic`` or ``partition``."""
    name: str
    """Depending on `kind`: the client id and host of the member, the host, the id of the leader, the topic, or the
    partitions.
    """
    share: float
    """The part's share of the growth of the lag, 0 to 1."""
    partitions: int
    """The number of partitions in the part."""
    of: int
    """The number of partitions of the whole group."""


class _Sums(NamedTuple):
    """Sums over some partitions: the growth of their lag in records per second (`grows`), the number of their new
    records (`came`), and the number of the partitions.
    """

    grows: float = 0.0
    came: int = 0
    partitions: int = 0

    def plus(self, grows: float, came: int, partitions: int) -> _Sums:
        return _Sums(self.grows + grows, self.came + came, self.partitions + partitions)


def growing_part(group: Group, trend: LagTrend, topics: Mapping[str, Topic]) -> Part | None:
    """Return the part with the fewest partitions that has most of the growth of a group's lag, and at most half of its
    partitions and new records; None if there is none.
    """
    if len(trend.partitions) < FEWEST:
        return None
    members = {each.member_id: each for each in group.members or ()}
    whole, parts = _Sums(), dict[tuple[str, str], _Sums]()
    for (member_id, leader, topic), mine in _sums(trend, topics).items():
        names = [("topic", topic)]
        if leader >= 0:
            names.insert(0, ("leader", str(leader)))
        if (member := members.get(member_id)) is not None:
            host = member.host.removeprefix("/")
            names[:0] = ("member", f"{member.client_id}@{host}"), ("host", host)
        for name in names:
            parts[name] = parts.get(name, _NO_SUMS).plus(*mine)
        whole = whole.plus(*mine)
    if whole.partitions < FEWEST or whole.grows <= 0 or whole.came <= 0:
        return None
    found = [
        Part(kind, name, mine.grows / whole.grows, mine.partitions, whole.partitions)
        for (kind, name), mine in parts.items()
        if mine.partitions <= AT_MOST * whole.partitions and mine.came <= AT_MOST * whole.came
    ]
    part = min((each for each in found if each.share >= MOST_OF), key=lambda each: each.partitions, default=None)
    return part if part is not None else _few_partitions(trend, whole)


def _few_partitions(trend: LagTrend, whole: _Sums) -> Part | None:
    """Return a small number of partitions with most of the growth, and at most half of the new records; else None.

    Args:
        whole: the sums of all partitions.
    """
    if whole.partitions < OF_MANY:
        return None
    before = {place(each): each.end for each in trend.base.lag.partitions}
    rows = [each for each in trend.last.lag.partitions if before.get(place(each), -1) >= 0]
    rates = {place(each): known.rate or 0.0 for each in rows if (known := trend.partitions.get(place(each)))}
    came = {place(each): max(0, each.end - before[place(each)]) for each in rows}
    chosen: list[Place] = []
    for each in sorted(rates, key=lambda where: -rates[where])[: int(SOME * whole.partitions)]:
        chosen.append(each)
        if sum(rates[one] for one in chosen) >= MOST_OF * whole.grows:
            break
    share = sum(rates[each] for each in chosen) / whole.grows
    if share < MOST_OF or sum(came[each] for each in chosen) > AT_MOST * whole.came:
        return None
    names = first_few([f"{topic}/{number}" for topic, number in sorted(chosen)], FEW)
    return Part("partition", names, share, len(chosen), whole.partitions)


_NO_SUMS = _Sums()


def _sums(trend: LagTrend, topics: Mapping[str, Topic]) -> Mapping[tuple[str, int, str], _Sums]:
    """Return (member id, leader, topic) -> the sums of the partitions that have all three in common. A group may have
    thousands of partitions, so each of them is added once, and each topic is looked up once.
    """
    before = {place(each): each.end for each in trend.base.lag.partitions}
    leaders: dict[str, Mapping[int, int]] = {}
    found: dict[tuple[str, int, str], tuple[list[float], list[int]]] = {}
    for row in trend.last.lag.partitions:
        where = topic, number = place(row)
        known, was = trend.partitions.get(where), before.get(where, -1)
        if known is None or was < 0:
            continue
        if topic not in leaders:
            there = topics[topic].partitions if topic in topics else ()
            leaders[topic] = {each.number: each.leader for each in there}
        grows, came = found.setdefault((row.member, leaders[topic].get(number, -1), topic), ([], []))
        grows.append(max(0.0, known.rate or 0.0))
        came.append(max(0, row.end - was))
    return {name: _Sums(sum(grows), sum(came), len(came)) for name, (grows, came) in found.items()}


class Loaded(NamedTuple):
    """A member that has most of a group's partitions, while other members have none."""

    name: str
    """The client id and host of the member."""
    partitions: int
    of: int
    """The number of partitions of the whole group."""
    idle: int
    """The number of members without a partition."""
    members: int
    """The number of the group's members."""
    helps: bool
    """Whether a member without a partition subscribes to all topics of the loaded member, so that it could get some of
    its partitions.
    """


def loaded_member(group: Group) -> Loaded | None:
    """Return the member that has most of a group's partitions while others have none; None if there is no such
    member.
    """
    held = [(len(each.assignment), each) for each in group.members or ()]
    count, idle = sum(number for number, _ in held), [each for number, each in held if not number]
    if count < TWO or group.type == SHARE or not idle:
        return None
    most, member = max(held, key=lambda each: each[0])
    helps = any(_could_read(each, member) for each in idle)
    # A member that has all partitions of few leaves none to another one only if that one may not take them.
    is_few = count < FEWEST or most * len(held) < MEAN_TIMES * count
    if most < max(TWO, MOST_OF * count) or (is_few and not helps):
        return None
    return Loaded(_name(member), most, count, len(idle), len(held), helps)


def _name(member: GroupMember) -> str:
    return f"{member.client_id}@{member.host.removeprefix('/')}"


def _could_read(other: GroupMember, member: GroupMember) -> bool:
    """Return whether `other` subscribes to all topics of which `member` has partitions."""
    return {topic for topic, _ in member.assignment} <= {*other.topics}


def is_streams(group: Group) -> bool:
    """Return whether a group is of a Kafka Streams application, which has its own assignor."""
    return group.type == "streams" or group.assignor == "stream"


class Uneven(NamedTuple):
    """A member that has far more partitions than another member that could get some of them."""

    name: str
    """Its client id and host."""
    partitions: int
    of: int
    """The number of partitions of the whole group."""
    fewest: int
    """The number of partitions of the member with the fewest."""


def uneven_member(group: Group) -> Uneven | None:
    """Return the member with the most partitions, if another one that subscribes to the same topics has far fewer, but
    at least one; None if there is no such member. `loaded_member` finds members that leave none to others. Groups of
    Kafka Streams are left out, since it leaves tasks where their state is.
    """
    held = [(len(each.assignment), each) for each in group.members or () if each.assignment]
    if len(held) < TWO or group.type == SHARE or is_streams(group):
        return None
    most, member = max(held, key=lambda each: each[0])
    fewest = min((number for number, each in held if _could_read(each, member)), default=most)
    if most < UNEVEN_TIMES * fewest or most - fewest < UNEVEN_BY:
        return None
    return Uneven(_name(member), most, sum(number for number, _ in held), fewest)


class Commits(NamedTuple):
    """A group that commits about after each record."""

    a_second: float
    """The number of commits per second in the group's partition of the offsets' topic; each commit of a partition is a
    record.
    """
    read: float
    """The number of records per second that the group reads, by its commits."""
    place: Place
    """The partition of the offsets' topic with the group's offsets."""
    others: Sequence[str] = ()
    """Other groups with offsets in the same partition, which may be the ones that commit so often."""


def commits_of(
    names: Iterable[str],
    groups: Mapping[str, Group],
    trends: Mapping[str, LagTrend],
    rates: WriteRates,
    offsets: Topic | None,
) -> Mapping[str, Commits]:
    """Return group -> its commits, for those of the named groups that commit about after each record. Each commit of a
    partition is a record in the offsets' topic.

    Args:
        offsets: the offsets' topic; None if it is not visible.
    """
    count = len(offsets.partitions) if offsets is not None else 0
    frequent: dict[str, tuple[int, float, float, Sequence[str]]] = {}
    for name in names if count else ():
        number = partition_of(name, count)
        a_second = rates.of(OFFSETS, number).records
        if name not in trends or a_second is None or a_second < COMMITS_LEAST:
            continue
        there = [each for each in _groups_by_partition(groups, count).get(number, ()) if each in trends]
        # Java's auto.commit also commits offsets that did not move.
        more = a_second - sum(len(trends[each].last.lag.partitions) for each in there) / AUTO_COMMIT
        if more >= COMMITS_LEAST:
            frequent[name] = number, a_second, more, there
    wanted = dict.fromkeys(each for name, (_, _, _, there) in frequent.items() for each in (name, *there))
    reads = dict(zip(wanted, _each_read.of((each, (trends[each],)) for each in wanted), strict=True))
    found: dict[str, Commits] = {}
    for name, (number, a_second, more, all_there) in frequent.items():
        mine = reads[name]
        if mine > 0 and more >= COMMITS_SHARE * mine:
            beside = {each: reads[each] for each in all_there if each != name and reads[each] > 0}
            # What others read little can't be the rest of the commits.
            others = tuple(sorted(beside)) if sum(beside.values()) > OTHERS_SHARE * a_second else ()
            found[name] = Commits(a_second, mine, (OFFSETS, number), others)
    return found


@remembered
def _groups_by_partition(groups: Mapping[str, Group], count: int) -> Mapping[int, Sequence[str]]:
    """Return partition of the offsets' topic -> the groups with members whose offsets it has.

    Args:
        count: the number of partitions of the offsets' topic.
    """
    found: dict[int, list[str]] = {}
    for name, group in groups.items():
        if not group.is_vacant:
            found.setdefault(partition_of(name, count), []).append(name)
    return found


def _read_rate(trend: LagTrend) -> float:
    """Return the number of records per second that a group committed during the trend."""
    rates = present_rates(trend) if trend.moving else None
    return rates.read if rates is not None else 0.0


_each_read: RememberedEach[str, float] = RememberedEach(_read_rate)


def present_rates(trend: LagTrend) -> Rates | None:
    """Return the records per second that were written to a group's partitions during the trend, and those that it
    committed; None for a trend with a single poll.
    """
    seconds = trend.last.at - trend.base.at
    if seconds <= 0:
        return None
    before = {place(each): each for each in trend.base.lag.partitions if each.committed >= 0}
    both = [(was, each) for each in trend.last.lag.partitions if (was := before.get(place(each))) is not None]
    written = sum(max(0, each.end - was.end) for was, each in both)
    return Rates(written / seconds, sum(max(0, each.committed - was.committed) for was, each in both) / seconds)


def former_rates(trend: LagTrend, since: float) -> Rates | None:
    """Return the rates before the growth of a lag; None if kac did not watch then. since: the time at which the growth
    was first seen, Unix seconds.
    """
    return rates_between(trend.samples, since - EVER_BEFORE, since - SETTLES, BEFORE)


class Changed(NamedTuple):
    """The rate that changed when a lag began to grow. Rates are in records per second."""

    writes: bool
    """Whether the write rate rose; otherwise the read rate fell."""
    was: float
    """The former rate in records per second."""
    now: float
    since: float | None = None
    """The time of the change by the timestamps of records, Unix seconds; None if kac saw the change itself."""


def what_changed(trend: LagTrend, since: float, ends: Ends = ()) -> Changed | None:
    """Return whether the write rate rose, or the read rate fell, when a lag began to grow; None if that is unknown, or
    if both changed.

    Args:
        since: the time at which the growth was first seen, Unix seconds.
        ends: the result of `former_ends`, for a group whose lag grew before kac could measure its rates.
    """
    before = former_rates(trend, since)
    now = rates_between(trend.samples, trend.last.at - 2 * NOW, trend.last.at, NOW)
    if now is None:
        return None
    if before is None:
        return _rise(ends, now) or _rise_at_once(trend, since, now, ends)
    if now.written >= max(1.0, WRITES_TIMES * before.written) and now.read * STEADY >= before.read:
        return Changed(True, before.written, now.written)
    if (
        now.read <= READS_SHARE * before.read
        and before.written / STEADY <= now.written <= STEADY * before.written
        and min(_intervals(trend), default=COMMITS + 1) <= COMMITS
    ):
        return Changed(False, before.read, now.read)
    return None


def _rise_at_once(trend: LagTrend, since: float, now: Rates, ends: Ends) -> Changed | None:
    """Return the rise of the write rate soon after kac began to watch; None if it did not rise, or if the records'
    times show the rates of before. The first records of the rise may count as written before, so that a rise may be
    missed, and is never invented.
    """
    before = rates_between(trend.samples, since - EVER_BEFORE, since, FORMER_SECONDS)
    if before is None or not ends or ends[2:]:
        return None
    is_risen = now.written >= max(1.0, WRITES_TIMES * before.written) and now.read * STEADY >= before.read
    return Changed(True, before.written, now.written) if is_risen else None


class Crowding(NamedTuple):
    """A topic that gets most of the records of a group which reads other topics, too."""

    topic: str
    share: float
    """Its share of the new records, 0 to 1."""
    others: Sequence[str]
    """The other topics whose lag grew."""


def crowding_topic(trend: LagTrend) -> Crowding | None:
    """Return the topic that gets most of the new records of a group while the lag of other topics of the group grows,
    too; None without such a topic.
    """
    before = {place(each): each for each in trend.base.lag.partitions}
    came, grew = Counter[str](), Counter[str]()
    for row in trend.last.lag.partitions:
        was = before.get(place(row))
        if was is not None and was.end >= 0:
            came[row.topic] += max(0, row.end - was.end)
            grew[row.topic] += row.lag - was.lag
    topic, most = max(came.items(), key=lambda item: item[1], default=("", 0))
    # Some records always wait: only those that get more wait behind the others.
    others = sorted(name for name, more in grew.items() if more > 0 and name != topic)
    if not others or most <= 0 or most < MOST_OF * sum(came.values()):
        return None
    return Crowding(topic, most / sum(came.values()), others)


Ends = Sequence[tuple[float, int]]
"""Pairs of a time in Unix seconds and the sum of the end offsets of some logs at that time, the earliest first."""


def former_ends(trend: LagTrend, former: Mapping[Place, Former]) -> Ends:
    """Return the sums of the end offsets of the logs that a group reads, before the growth of its lag, at the times for
    which all of them are known.
    """
    places = [place(each) for each in trend.last.lag.partitions if each.committed >= 0]
    mine = [former[each] for each in places if each in former]
    if not mine or len(mine) < len(places) or len({each.at for each in mine}) > 1:
        return ()
    by_time: dict[float, list[int]] = {mine[0].at: [each.end for each in mine]}
    for each in mine:
        for when, end in each.ends:
            by_time.setdefault(when, []).append(end)
    return tuple((when, sum(ends)) for when, ends in sorted(by_time.items()) if len(ends) == len(mine))


def _rise(ends: Ends, now: Rates) -> Changed | None:
    """Return the rise of the write rate by the timestamps of records; None if it did not rise, or if records came in
    bursts.

    Args:
        now: the present rates as measured by kac.
    """
    slopes = [(later - end) / (at - when) for (when, end), (at, later) in pairwise(ends)]
    # The records' own times may not be those of their writes: then the last of these rates is not the one that kac saw.
    if len(slopes) < 2 or min(slopes) < 0 or not LEAST_SEEN * now.written <= slopes[-1] <= MOST_SEEN * now.written:
        return None
    first_at, first_end = ends[0]
    for number in range(len(slopes) - 1, 0, -1):
        at, end = ends[number]
        if at - first_at < FORMER_SECONDS or end - first_end < FORMER_RECORDS:
            return None
        was = (end - first_end) / (at - first_at)
        # The interval after this time has the rise, so that its own rate is between both.
        if _is_steady(ends[: number + 2], was) and min(slopes[number + 1 :], default=now.written) >= WRITES_TIMES * was:
            is_risen = now.written >= max(1.0, WRITES_TIMES * was) and now.read * STEADY >= was
            return Changed(True, was, now.written, at) if is_risen else None
    return None


def _is_steady(ends: Ends, was: float) -> bool:
    """Return whether records came at about the same rate until the last interval, and at no lower rate in it: a job
    that runs every few minutes has intervals with nearly no records.

    Args:
        was: that rate, records per second.
    """
    for number, ((when, end), (at, later)) in enumerate(pairwise(ends)):
        usual, is_last = was * (at - when), number == len(ends) - 2
        if (later - end > BURSTS * usual and not is_last) or (usual >= FORMER_RECORDS and later - end < usual / RESTS):
            return False
    return True


def _intervals(trend: LagTrend) -> Iterator[float]:
    return (each.interval for each in trend.standing.values() if each.interval is not None)
