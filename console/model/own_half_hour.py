"""The last half hour of each topic, group and broker, packed: a few bytes for each of them every 40 seconds. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isnan, nan
from typing import Literal, NamedTuple

from console.model.half_hour import first_kept
from console.model.rates import NOT_LOOKED, Rate, RateTotals
from console.model.snapshot import Snapshot

EVERY = 40
"""Seconds for which one sample stands."""
SLOTS = 45
"""Samples that are kept, half an hour of them."""

Kind = Literal["topic", "group", "broker"]
OWN: Mapping[Kind, tuple[str, ...]] = {
    "topic": ("bytes in", "records in"),
    "group": ("lag", "behind", "members"),
    "broker": ("leaders", "out of sync"),
}
"""What is kept of each: bytes and records a second that are written; records, seconds behind, and a number; numbers of
partitions that it leads, and of replicas of it that are not in sync."""


class Packed(NamedTuple):
    """What was measured of all of a kind. names: sorted, topics' and groups' names or brokers' ids. values: for each of
    `OWN` a 32-bit float for each name, NaN where it is not known; 4 bytes each."""

    names: tuple[str, ...]
    values: tuple[bytes, ...]

    def of(self, name: str) -> Sequence[float] | None:
        """Return what was measured of one, in the order of `OWN`; None where it was not there."""
        at = bisect_left(self.names, name)
        if at == len(self.names) or self.names[at] != name:
            return None
        return [memoryview(each).cast("f")[at] for each in self.values]


class OwnSample(NamedTuple):
    """All topics, groups and brokers at one time. slot: Unix seconds divided by `EVERY`."""

    slot: int
    kinds: Mapping[Kind, Packed]


def with_own_sample(known: tuple[OwnSample, ...], snapshot: Snapshot, at: datetime) -> tuple[OwnSample, ...]:
    """Return the samples after a look at the cluster: the same object while the time for the next one has not come.

    Args:
        known: the earliest first.
        at: when it was looked, an aware time. Where the clock went back, the samples begin again.
    """
    slot = int(at.timestamp() // EVERY)
    first = first_kept([each.slot for each in known], slot, SLOTS)
    if first is None:
        return known
    kept = known[first:]
    last = kept[-1].kinds if kept else {}
    found: dict[Kind, Mapping[str, Sequence[float]]] = {
        "topic": _topics(snapshot),
        "group": _groups(snapshot),
        "broker": _brokers(snapshot),
    }
    return (*kept, OwnSample(slot, {kind: _packed(values, last.get(kind)) for kind, values in found.items()}))


def own_values(samples: Iterable[OwnSample], kind: Kind, name: str) -> Mapping[str, Mapping[int, float]]:
    """Return slot -> value for each of `OWN` that is known of a topic, a group or a broker."""
    found: dict[str, dict[int, float]] = {what: {} for what in OWN[kind]}
    for sample in samples:
        for what, value in zip(OWN[kind], sample.kinds[kind].of(name) or (), strict=False):
            if not isnan(value):
                found[what][sample.slot] = value
    return {what: values for what, values in found.items() if values}


def _packed(values: Mapping[str, Sequence[float]], before: Packed | None) -> Packed:
    names = tuple(sorted(values))
    if before is not None and before.names == names:
        names = before.names  # the same object: a name for each of 45 samples would take more than the values
    columns = zip(*(values[name] for name in names), strict=True)
    return Packed(names, tuple(array("f", column).tobytes() for column in columns))


def _topics(snapshot: Snapshot) -> Mapping[str, Sequence[float]]:
    known: Mapping[str, Rate] = {}
    if snapshot.rates is not NOT_LOOKED:
        known = RateTotals().after(snapshot.rates, snapshot.topics).topics
    return {
        name: [nan if each is None else each for each in (rate.bytes, rate.records)]
        for name, rate in ((name, known.get(name, Rate())) for name in snapshot.topics)
    }


def _groups(snapshot: Snapshot) -> Mapping[str, Sequence[float]]:
    found = {}
    for name, group in snapshot.groups.items():
        lag, trend = snapshot.lags.get(name), snapshot.lag_trends.get(name)
        total = lag.known_total if lag is not None else None
        seconds = trend.longest_behind.seconds if trend is not None else None
        members = len(group.members) if group.members is not None else None
        found[name] = [nan if each is None else float(each) for each in (total, seconds, members)]
    return found


def _brokers(snapshot: Snapshot) -> Mapping[str, Sequence[float]]:
    leaders: Counter[int] = Counter()
    out: Counter[int] = Counter()
    for topic in snapshot.topics.values():
        for each in topic.partitions:
            leaders[each.leader] += 1
            out.update(replica for replica in each.replicas if replica not in each.isr)
    ids = {each.id for each in snapshot.cluster.brokers} | {each for each in leaders | out if each >= 0}
    if "topics" not in snapshot.read_at:
        return {str(broker): (nan, nan) for broker in ids}
    return {str(broker): (float(leaders[broker]), float(out[broker])) for broker in ids}
