"""The numbers of the last half hour, for charts: those of the cluster every ten seconds; those of each topic, group
and broker every forty seconds, in a compact form. Pure.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import islice
from math import isnan, nan
from types import MappingProxyType
from typing import Literal, NamedTuple

from console.model.cluster import LogDir
from console.model.parts import Part
from console.model.rates import NOT_POLLED, Rate, RateTotals
from console.model.snapshot import Snapshot
from console.model.throttling import Client, Throttled
from console.model.topic_counts import TopicCounts, alike, are_topics_hidden

EVERY, OWN_EVERY = 10, 40
"""Seconds between two samples: of the cluster, and of each topic, group and broker."""
SLOTS, OWN_SLOTS = 180, 45
"""Number of samples that are kept: half an hour of each."""
MOST_GROUPS = 8
"""Maximum number of groups in a sample of the cluster: those whose next record has waited longest."""
MOST_OWN = 10_000
"""Maximum number of values that a column stores besides its most frequent value. If there are more, only the largest
are kept, such as those of the topics that get the most records.
"""

MOST_THROTTLED = 4
"""Maximum number of clients that a chart shows for a request log or a lake: those with the most throttled requests."""

What = Literal["under-replicated", "offline", "written", "read", "behind", "throttled", "disk"]


class Measure(NamedTuple):
    """The name of a measured quantity, of the cluster or of one entity."""

    what: What
    about: str = ""
    """The subject: a broker's id, a group, a throttled client with its source, or a broker and its directory; ``""``
    for the cluster."""


class Sample(NamedTuple):
    """The values of the cluster at one time."""

    slot: int
    """The time: Unix seconds divided by `EVERY`, rounded down."""
    values: Mapping[Measure, float]
    """Measure -> value: a number of partitions; bytes per second that clients write to the partitions which a broker
    leads, or that groups read from them; seconds for which a group's next record has waited; throttled requests per
    minute; the used share of a disk, 0 to 1. Unknown values are missing.
    """
    least: frozenset[Measure] = frozenset()
    """The measures whose value is only a lower bound, such as the wait of a record from before the first poll."""


CORRECTED = 2
"""Maximum number of slots by which the clock may be set back without the loss of the samples."""


def first_kept(slots: Sequence[int], slot: int, most: int) -> int | None:
    """Return the index of the first known sample that is kept when a sample is added.

    Args:
        slots: the slots of the known samples, ascending.
        slot: the slot of the sample to add.
        most: the number of slots in half an hour.

    Returns:
        ``len(slots)``, so that all known samples are dropped, if the clock was set back by more than `CORRECTED` slots;
        None, so that no sample is added, if the slot has a sample already, or the clock was set back by at most
        `CORRECTED` slots.
    """
    if slots and slot <= slots[-1]:
        return None if slot >= slots[-1] - CORRECTED else len(slots)
    return bisect_right(slots, slot - most)


Kind = Literal["topic", "group", "broker"]
OWN: Mapping[Kind, tuple[str, ...]] = {
    "topic": ("bytes in", "records in"),
    "group": ("lag", "behind", "members"),
    "broker": ("leaders", "out of sync", "written", "read ≈", "disk"),
}
"""Kind -> its columns. Topics: bytes and records per second that clients write. Groups: the lag in records, the seconds
for which the next record has waited, and the number of members. Brokers: the numbers of led partitions and of replicas
that are not in sync, bytes per second that clients write to the led partitions and that groups read from them, and the
used share of the fullest disk, 0 to 1.
"""


class Values(NamedTuple):
    """One number for each of many names. Only numbers that differ from the most frequent one are stored."""

    usual: float
    """The most frequent value; NaN for unknown."""
    places: bytes | None
    """The indexes of the names with another value, ascending, 32 bits each; None if `values` has a value for every
    name.
    """
    values: bytes
    """The values at the indexes in `places`, or of all names if that is None: 32-bit floats, NaN for unknown."""

    def at(self, place: int) -> float:
        """Return the value of the name at an index; NaN for unknown."""
        values = memoryview(self.values).cast("f")
        if self.places is None:
            return values[place]
        places = memoryview(self.places).cast("I")
        found = bisect_left(places, place)
        return values[found] if found < len(places) and places[found] == place else self.usual


class Packed(NamedTuple):
    """The values of all topics, all groups or all brokers at one time, in a compact form."""

    names: tuple[str, ...]
    """The names of topics or groups, or the ids of brokers, sorted as text."""
    columns: tuple[Values, ...]
    """The values of the names, one item for each column of `OWN`."""

    def of(self, name: str) -> Sequence[float] | None:
        """Return the values of one name, one for each column of `OWN`, NaN for unknown; None if the sample lacks the
        name.
        """
        at = bisect_left(self.names, name)
        if at == len(self.names) or self.names[at] != name:
            return None
        return [each.at(at) for each in self.columns]


class OwnSample(NamedTuple):
    """The values of each topic, group and broker at one time."""

    slot: int
    """The time: Unix seconds divided by `OWN_EVERY`, rounded down."""
    kinds: Mapping[Kind, Packed]


class _Moved(NamedTuple):
    """Rates in bytes per second at one time: topic -> the bytes that clients write; broker -> the bytes that clients
    write to the partitions that it leads; broker -> an estimate of the bytes that groups read from the partitions
    that it leads.
    """

    topics: Mapping[str, Rate]
    written: Mapping[int, float]
    read: Mapping[int, float]


class HalfHour(NamedTuple):
    """The last half hour: samples of the cluster, and of each topic, group and broker; the earliest first."""

    samples: tuple[Sample, ...] = ()
    own: tuple[OwnSample, ...] = ()

    def is_due(self, at: datetime) -> bool:
        """Return whether a poll at this time adds a sample of the cluster. at: an aware time."""
        return not self.samples or self.samples[-1].slot != int(at.timestamp() // EVERY)

    def after(
        self,
        snapshot: Snapshot,
        at: datetime,
        throttled: Mapping[Measure, float] = MappingProxyType({}),
        totals: RateTotals | None = None,
    ) -> HalfHour:
        """Return the half hour after a poll of the cluster: the same object if no sample is due.

        Args:
            at: time of the poll, an aware time. If the clock was set back by more than `CORRECTED` slots, the samples
                start over.
            throttled: the rates from `throttled_kac` and `throttled_by_log`.
            totals: the sums of the snapshot's rates; None to compute them here.
        """
        slot, own_slot = int(at.timestamp() // EVERY), int(at.timestamp() // OWN_EVERY)
        first = first_kept([each.slot for each in self.samples], slot, SLOTS)
        own_first = first_kept([each.slot for each in self.own], own_slot, OWN_SLOTS)
        if first is None and own_first is None:
            return self
        moved = _moved(snapshot, totals)
        samples, own = self.samples, self.own
        if first is not None:
            values = {**dict(_values(snapshot, moved)), **throttled}
            bounded = (
                Measure("behind", name) for name, each in snapshot.lag_trends.items() if each.longest_behind.least
            )
            samples = (*samples[first:], Sample(slot, values, frozenset(bounded) & values.keys()))
        if own_first is not None:
            own = own[own_first:]
            own = (*own, OwnSample(own_slot, _kinds(snapshot, moved, own[-1].kinds if own else {})))
        return HalfHour(samples, own)

    def as_of(self, snapshot: Snapshot, at: datetime) -> HalfHour:
        """Return the half hour with the newest sample replaced by the values of a snapshot; throttling is kept from the
        replaced sample. The same object if there is no sample. at: the time of the snapshot, an aware time.
        """
        if not self.samples:
            return self
        throttled = {each: value for each, value in self.samples[-1].values.items() if each.what == "throttled"}
        return HalfHour(self.samples[:-1], self.own[:-1]).after(snapshot, at, throttled)


def throttled_kac(answers: int) -> Mapping[Measure, float]:
    """Return the rate at which brokers throttle kac itself, in responses per minute. answers: the number of throttled
    responses since the previous sample.
    """
    return {Measure("throttled", "kac by answers"): answers * 60.0 / EVERY}


def throttled_by_log(clients: Mapping[Client, Throttled]) -> Mapping[Measure, float]:
    """Return the throttled requests per minute of the most throttled clients, at most `MOST_THROTTLED`. clients: the
    clients in brokers' request logs of the last minute, the most throttled first.
    """
    return {
        Measure("throttled", f"{client.client_id or client.principal} {client.api} by log"): float(each.throttled)
        for client, each in islice(clients.items(), MOST_THROTTLED)
    }


def own_values(samples: Iterable[OwnSample], kind: Kind, name: str) -> Mapping[str, Mapping[int, float]]:
    """Return column of `OWN` -> slot -> value, for a topic, a group or a broker; columns without a known value are left
    out.
    """
    found: dict[str, dict[int, float]] = {what: {} for what in OWN[kind]}
    for sample in samples:
        for what, value in zip(OWN[kind], sample.kinds[kind].of(name) or (), strict=False):
            if not isnan(value):
                found[what][sample.slot] = value
    return {what: values for what, values in found.items() if values}


# -- the cluster -------------------------------------------------------------------------------------------------------


def _values(snapshot: Snapshot, moved: _Moved) -> Iterator[tuple[Measure, float]]:
    if Part.TOPICS in snapshot.read_at and not are_topics_hidden(snapshot):
        counts = TopicCounts().after(snapshot.topics)
        yield Measure("under-replicated"), counts.under_replicated
        yield Measure("offline"), counts.offline
    for broker, rate in moved.written.items():
        yield Measure("written", str(broker)), rate
    for broker, rate in moved.read.items():
        yield Measure("read", str(broker)), rate
    behind = ((trend.longest_behind.seconds, name) for name, trend in snapshot.lag_trends.items())
    known = ((seconds, name) for seconds, name in behind if seconds is not None)
    for seconds, name in nlargest(MOST_GROUPS, known):
        yield Measure("behind", name), seconds
    for broker, dirs in snapshot.log_dirs.items():
        for path, used in _used(dirs):
            yield Measure("disk", f"{broker} {path}"), used


def _used(dirs: Iterable[LogDir]) -> Iterator[tuple[str, float]]:
    """Yield the path and the used share, 0 to 1, of each directory whose disk size is known."""
    for each in dirs:
        if each.total_bytes > 0 and each.usable_bytes >= 0:
            yield each.path, 1 - each.usable_bytes / each.total_bytes


def _moved(snapshot: Snapshot, totals: RateTotals | None) -> _Moved:
    if snapshot.rates is NOT_POLLED:
        return _Moved({}, {}, {})
    totals = totals or RateTotals().after(snapshot.rates, snapshot.topics)
    written = {broker: rate.bytes for broker, rate in totals.leaders.items() if rate.bytes is not None}
    return _Moved(totals.topics, written, _read_by_groups(snapshot))


def _read_by_groups(snapshot: Snapshot) -> Mapping[int, float]:
    """Return broker -> the estimated bytes per second that groups read from the partitions that it leads.

    Brokers do not report this rate. The estimate for a partition is its write rate, times the ratio of committed to
    written records. So it leaves out readers that commit nothing, and reads while nothing is written.
    """
    found: dict[int, float] = {}
    leaders: dict[str, dict[int, int]] = {}
    for trend in snapshot.lag_trends.values():
        if trend.last is trend.base:
            continue
        before = {(each.topic, each.partition): each for each in trend.base.lag.partitions}
        for now in trend.last.lag.partitions:
            then, size = before.get((now.topic, now.partition)), snapshot.rates.sizes.get((now.topic, now.partition))
            rate = size.rate if size is not None else None
            if then is None or rate is None or min(then.committed, then.end) < 0 or now.topic not in snapshot.topics:
                continue
            read, written = now.committed - then.committed, now.end - then.end
            if read < 0 or written < 0 or (read and not written):
                continue
            if now.topic not in leaders:
                leaders[now.topic] = {each.number: each.leader for each in snapshot.topics[now.topic].partitions}
            if (leader := leaders[now.topic].get(now.partition, -1)) >= 0:
                found[leader] = found.get(leader, 0.0) + (rate * read / written if read else 0.0)
    return found


# -- samples of topics, groups and brokers -----------------------------------------------------------------------------


def _kinds(snapshot: Snapshot, moved: _Moved, before: Mapping[Kind, Packed]) -> Mapping[Kind, Packed]:
    found: dict[Kind, Mapping[str, Sequence[float | None]]] = {
        "topic": {name: moved.topics.get(name, Rate()) for name in snapshot.topics},
        "group": _groups(snapshot),
        "broker": _brokers(snapshot, moved),
    }
    return {kind: _packed(values, before.get(kind), len(OWN[kind])) for kind, values in found.items()}


def _packed(values: Mapping[str, Sequence[float | None]], before: Packed | None, columns: int) -> Packed:
    """Return the values in the compact form. Names and columns that equal those of the previous sample are the same
    objects, because names would take more memory than values, and most values of groups stay the same.

    Args:
        values: name -> its values, one for each column; None for unknown.
        before: the previous sample; None for the first one.
        columns: the number of columns.
    """
    names = tuple(sorted(values))
    if before is not None and before.names == names:
        names = before.names
    found = (
        _column([nan if (value := values[name][at]) is None else value for name in names]) for at in range(columns)
    )
    known = before.columns if before is not None else ()
    return Packed(names, tuple(_same(each, known[at : at + 1]) for at, each in enumerate(found)))


def _same(found: Values, before: Sequence[Values]) -> Values:
    # Compare the text, since NaN does not equal itself.
    is_same = before and repr(before[0].usual) == repr(found.usual) and before[0][1:] == found[1:]
    return before[0] if is_same else found


def _column(values: Sequence[float]) -> Values:
    """Return the values of a column in the compact form. If more than `MOST_OWN` values differ from the most frequent
    one, the largest of them are kept, and the others become NaN (unknown).
    """
    usual = Counter(values).most_common(1)[0][0] if values else nan
    places = [place for place, value in enumerate(values) if value is not usual and value != usual]
    if len(places) > MOST_OWN:
        usual, places = (
            nan,
            sorted(nlargest(MOST_OWN, places, key=lambda place: -1.0 if isnan(values[place]) else values[place])),
        )
    elif 2 * len(places) >= len(values):
        return Values(nan, None, array("f", values).tobytes())
    return Values(usual, array("I", places).tobytes(), array("f", (values[place] for place in places)).tobytes())


def _groups(snapshot: Snapshot) -> Mapping[str, Sequence[float | None]]:
    found = {}
    for name, group in snapshot.groups.items():
        lag, trend = snapshot.lags.get(name), snapshot.lag_trends.get(name)
        total = lag.known_total if lag is not None else None
        seconds = trend.longest_behind.seconds if trend is not None else None
        found[name] = (total, seconds, len(group.members) if group.members is not None else None)
    return found


def _brokers(snapshot: Snapshot, moved: _Moved) -> Mapping[str, Sequence[float | None]]:
    leaders: Counter[int] = Counter()
    out: Counter[int] = Counter()
    for topic, count in alike(snapshot.topics.values()):
        for each in topic.partitions:
            leaders[each.leader] += count
            for replica in each.replicas:
                if replica not in each.isr:
                    out[replica] += count
    known = Part.TOPICS in snapshot.read_at and not are_topics_hidden(snapshot)
    return {
        str(broker): (
            leaders[broker] if known else None,
            out[broker] if known else None,
            moved.written.get(broker),
            moved.read.get(broker),
            max((used for _, used in _used(snapshot.log_dirs.get(broker, ()))), default=None),
        )
        for broker in {each.id for each in snapshot.cluster.brokers} | {each for each in leaders | out if each >= 0}
    }
