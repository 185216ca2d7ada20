"""Write rates from two polls: records per second from end offsets, bytes per second from the sizes of leaders' logs.

A rate is unknown until two polls have shown it. Offsets also count control records and gaps of compaction; sizes count
the compressed batches on disk. Pure.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Collection, Iterable, Mapping, Set
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.cluster import LogDir, Topic, partition_in
from console.model.differing import differing

if TYPE_CHECKING:
    from console.model.disk_trend import DirSample

WINDOW = 15.0
"""Minimum seconds over which a rate is averaged, if polls are frequent: the last poll is compared with one that is
at least this old, once there is one, and at most twice as old. If polls are less frequent, the last two are
compared.
"""
SHORTEST = 1.0
"""Minimum seconds between two polls for a rate."""
KNOWN_SHARE = 0.9
"""Minimum share, 0 to 1, of a topic's or a broker's partitions with a known rate for which the sum counts as known."""

Place = tuple[str, int]
"""A topic and a partition number."""


class Counter(NamedTuple):
    """A number that only grows, with its readings at three times, Unix seconds."""

    base_at: float
    base: int
    """The reading with which the last one is compared."""
    next_at: float
    next: int
    """The reading that will replace `base`."""
    at: float
    value: int
    source: int = -1
    """The broker whose log was measured, for a size; -1 for an end offset."""

    @property
    def rate(self) -> float | None:
        """Growth per second, never below 0; None if the readings are less than `SHORTEST` seconds apart."""
        seconds = self.at - self.base_at
        return (self.value - self.base) / seconds if seconds >= SHORTEST else None


def count(known: Counter | None, value: int, at: float, source: int = -1, *, window: float = WINDOW) -> Counter:
    """Return a counter after one more reading.

    It starts over if the value can't result from growth (the log was truncated, records were deleted, the topic was
    created again, or the log is that of another broker), and if the clock was set back.

    Args:
        known: the counter so far; None before the first reading.
        value: an end offset, or bytes.
        at: the time of the reading, Unix seconds.
        source: the broker whose log was measured, for a size; -1 for an end offset.
        window: minimum seconds over which the rate is averaged.
    """
    if known is None or value < known.value or at < known.at or source != known.source:
        return Counter(at, value, at, value, at, value, source)
    # Keep three readings: the base, the one that will replace it, and the last. If polls are more frequent than the
    # window, the base is one to two windows old.
    if at - known.at >= window:
        return Counter(known.at, known.value, at, value, at, value, source)
    if at - known.next_at >= window:
        return Counter(known.next_at, known.next, at, value, at, value, source)
    return known._replace(at=at, value=value)


class Rate(NamedTuple):
    """Bytes and records per second; each None if unknown."""

    bytes: float | None = None
    records: float | None = None


UNKNOWN = Rate()


class Rates(Struct, frozen=True, dict=True):
    """Counters of end offsets and sizes, and samples of disks, from the polls so far."""

    ends: Mapping[Place, Counter] = field(default_factory=dict)
    """(topic, partition) -> the counter of its end offset."""
    sizes: Mapping[Place, Counter] = field(default_factory=dict)
    """(topic, partition) -> the counter of the bytes of its leader's log."""
    dirs: Mapping[tuple[int, str], tuple[DirSample, ...]] = field(default_factory=dict)
    """(broker, path of a directory) -> samples of its usable bytes, the earliest first."""

    def of(self, topic: str, number: int) -> Rate:
        """Return the rate of a partition, with None for what is unknown."""
        size, end = self.sizes.get((topic, number)), self.ends.get((topic, number))
        return Rate(None if size is None else size.rate, None if end is None else end.rate)

    @cached_property
    def seconds_left(self) -> Mapping[int, float]:
        """Broker -> the seconds until the first of its disks is full; brokers without a disk for which this can be
        forecast are missing.
        """
        from console.model.disk_trend import foreseen

        found: dict[int, float] = {}
        for (broker, _), samples in self.dirs.items():
            if (left := foreseen(samples)) is not None:
                found[broker] = min(left, found.get(broker, left))
        return found


NOT_POLLED = Rates()
"""The value before the first poll."""


def with_ends(rates: Rates, asked: Iterable[Place], read: Mapping[Place, int], at: datetime) -> Rates:
    """Return the rates after end offsets were read.

    Args:
        asked: the partitions whose end offsets were requested; those that are not in `read` lose their counters.
        read: (topic, partition) -> its end offset.
        at: the time of the read, with its zone.
    """
    ends, counted = dict(rates.ends), _Counting(at.timestamp())
    for place in asked:
        if place not in read:
            ends.pop(place, None)
    for place, end in read.items():
        ends[place] = counted.after(ends.get(place), end)
    return replace(rates, ends=ends)


def without_topics(rates: Rates, gone: Set[str]) -> Rates:
    """Return the rates without the counters of deleted topics. gone: the names of the deleted topics; new topics may
    have these names now.
    """

    def left(known: Mapping[Place, Counter]) -> dict[Place, Counter]:
        return {place: each for place, each in known.items() if place[0] not in gone}

    return replace(rates, ends=left(rates.ends), sizes=left(rates.sizes))


class _Counting:
    """Adds one reading, all at the same time, to many counters. Equal counters with equal readings become one object,
    because most logs of a large cluster are empty or idle.
    """

    def __init__(self, at: float, source: int = -1) -> None:
        self._at, self._source = at, source
        self._made: dict[tuple[int, int], Counter] = {}

    def after(self, known: Counter | None, value: int) -> Counter:
        """Return a counter after one more reading, as `count` does. The caller has to keep the known counters alive as
        long as this object, which identifies them by `id`.
        """
        made = self._made.get((id(known), value))
        if made is None:
            made = self._made[id(known), value] = count(known, value, self._at, self._source)
        return made


def with_dirs(rates: Rates, topics: Mapping[str, Topic], dirs: Mapping[int, Iterable[LogDir]], at: datetime) -> Rates:
    """Return the rates after the log directories of some brokers were read, without partitions that no longer exist.

    Args:
        topics: all topics, by name: the size of a partition is that of its leader's replica.
        dirs: broker id -> the directories, for the brokers that responded; samples of other brokers stay.
        at: the time of the read, with its zone.
    """
    from console.model.disk_trend import DirSample, sampled

    moment = at.timestamp()
    samples = {key: known for key, known in rates.dirs.items() if key[0] not in dirs}
    sizes = _there(rates.sizes, topics)
    for broker, mine in dirs.items():
        counted = _Counting(moment, broker)
        for log_dir in mine:
            if log_dir.usable_bytes >= 0:
                key = broker, log_dir.path
                samples[key] = sampled(rates.dirs.get(key, ()), DirSample(at, log_dir.usable_bytes))
            # Leave out a copy between directories: its growth is not a write.
            for name, number, size in log_dir.replicas.on_disk():
                partition = partition_in(topics.get(name), number)
                if partition is not None and partition.leader == broker:
                    sizes[name, number] = counted.after(sizes.get((name, number)), size)
    return Rates(_there(rates.ends, topics), sizes, samples)


def _there(known: Mapping[Place, Counter], topics: Mapping[str, Topic]) -> dict[Place, Counter]:
    """Return the counters of the partitions that exist in `topics`."""
    return {place: each for place, each in known.items() if partition_in(topics.get(place[0]), place[1]) is not None}


class Tally(NamedTuple):
    """The sums of rates over some partitions.

    Attributes:
        partitions: the number of partitions.
        sized, ended: the numbers of partitions with a known rate of bytes, and with a known rate of records.
        bytes, records: the sums of the known rates, per second.
    """

    partitions: int = 0
    sized: int = 0
    bytes: float = 0.0
    ended: int = 0
    records: float = 0.0

    @property
    def rate(self) -> Rate:
        """The sums as a rate; each None if less than nine tenths (`KNOWN_SHARE`) of the partitions have a known rate. 0
        if there are no partitions.
        """
        least = KNOWN_SHARE * self.partitions
        return Rate(self.bytes if self.sized >= least else None, self.records if self.ended >= least else None)


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of several tallies."""
    partitions = sized = ended = 0
    size_sum = end_sum = 0.0
    for each in tallies:
        partitions += each.partitions
        sized, size_sum = sized + each.sized, size_sum + each.bytes
        ended, end_sum = ended + each.ended, end_sum + each.records
    return Tally(partitions, sized, size_sum, ended, end_sum)


def by_leader(rates: Rates, topic: Topic) -> dict[int, Tally]:
    """Return broker -> the tally of a topic's partitions that it leads. Partitions without a leader are left out."""
    led: dict[int, list[float]] = {}
    for each in topic.partitions:
        if each.leader < 0:
            continue
        sums = led.setdefault(each.leader, [0, 0, 0.0, 0, 0.0])
        sums[0] += 1
        place = topic.name, each.number
        if (size := rates.sizes.get(place)) is not None and (rate := size.rate) is not None:
            sums[1] += 1
            sums[2] += rate
        if (end := rates.ends.get(place)) is not None and (rate := end.rate) is not None:
            sums[3] += 1
            sums[4] += rate
    return {
        leader: Tally(int(n), int(sized), size, int(ended), end) for leader, (n, sized, size, ended, end) in led.items()
    }


class RateTotals(NamedTuple):
    """The rates of topics and of brokers as leaders, and the values from which they were computed."""

    rates: Rates = NOT_POLLED
    made_of: Mapping[str, Topic] = MappingProxyType({})
    tallies: Mapping[str, Mapping[int, Tally]] = MappingProxyType({})
    topics: Mapping[str, Rate] = MappingProxyType({})
    """Topic -> its rate; topics of which neither bytes nor records are known are missing."""
    leaders: Mapping[int, Rate] = MappingProxyType({})
    """Broker -> the rate of writes to the partitions that it leads; brokers with an unknown rate are missing."""

    def after(self, rates: Rates, topics: Mapping[str, Topic]) -> RateTotals:
        """Return the totals for newer rates.

        Only the topics whose counters or `Topic` objects changed are computed again.

        Args:
            rates: the newer rates.
            topics: all topics, by name.

        Returns:
            Totals whose `topics` and `leaders` are the same objects as here if no rate changed, so that a view may
            compare identities.
        """
        if rates is self.rates and topics is self.made_of:
            return self
        if not rates.ends and not rates.sizes:
            return RateTotals(
                rates, topics={} if self.topics else self.topics, leaders={} if self.leaders else self.leaders
            )
        again = {name for name, _, _ in differing(self.made_of, topics)}
        again |= {name for (name, _), _, _ in differing(self.rates.ends, rates.ends)}
        again |= {name for (name, _), _, _ in differing(self.rates.sizes, rates.sizes)}
        if not again:
            return self._replace(rates=rates, made_of=topics)
        tallies, known, sums = dict(self.tallies), dict(self.topics), _Sums(rates)
        for name in again:
            topic = topics.get(name)
            mine, rate = sums.of(topic) if topic is not None else ({}, UNKNOWN)
            if topic is not None:
                tallies[name] = mine
            else:
                tallies.pop(name, None)
            if rate != UNKNOWN:
                known[name] = rate
            else:
                known.pop(name, None)
        leaders = _led(tallies.values())
        return RateTotals(
            rates,
            topics,
            tallies,
            self.topics if known == self.topics else known,
            self.leaders if leaders == self.leaders else leaders,
        )


class _Sums:
    """Computes the sums of topics. Topics with the same partitions and the same counters are computed once, and equal
    sums are shared objects, because most topics of a cluster are idle.
    """

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._of: dict[tuple[int, ...], tuple[Mapping[int, Tally], Rate]] = {}
        self._alike: dict[tuple[tuple[int, Tally], ...], tuple[Mapping[int, Tally], Rate]] = {}

    def of(self, topic: Topic) -> tuple[Mapping[int, Tally], Rate]:
        """Return broker -> the tally of the topic's partitions that it leads, and the rate of the whole topic."""
        places = [(topic.name, each.number) for each in topic.partitions]
        counters = (*map(self._rates.sizes.get, places), *map(self._rates.ends.get, places))
        made_of = (id(topic.partitions), *map(id, counters))
        found = self._of.get(made_of)
        if found is None:
            mine = by_leader(self._rates, topic)
            alike = mine, total(mine.values()).rate
            found = self._of[made_of] = self._alike.setdefault(tuple(mine.items()), alike)
        return found


def _led(tallies: Collection[Mapping[int, Tally]]) -> dict[int, Rate]:
    """Return broker -> the rate of writes to the partitions that it leads; brokers with an unknown rate are left
    out. tallies: for each topic, broker -> the tally of the partitions that it leads.
    """
    times = Counts(map(id, tallies))  # equal tallies are one object: count the objects
    led: dict[int, list[Tally]] = {}
    for each in {id(each): each for each in tallies}.values():
        for leader, tally in each.items():
            led.setdefault(leader, []).append(_times(tally, times[id(each)]))
    return {broker: rate for broker, mine in led.items() if (rate := total(mine).rate) != UNKNOWN}


def _times(tally: Tally, n: int) -> Tally:
    partitions, sized, size, ended, end = tally
    return Tally(n * partitions, n * sized, n * size, n * ended, n * end)
