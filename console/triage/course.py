"""The course of a cluster: what was seen so far, look after look. Gives every symptom a beginning, and rates. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.cluster import GroupLag
from console.triage.symptoms import (
    CLUSTER,
    COMMIT_STANDS_STILL,
    EPOCH_JUMPS,
    LAG_GROWS,
    Look,
    Subject,
    Symptom,
    symptoms,
)

KEPT = timedelta(minutes=30)
"""How far back the course reaches."""
WINDOW = timedelta(seconds=12)
"""The least time between two looks from which the trend of a group is taken."""
MOST_SPELLS = 64
MOST_SAMPLES = 32

Key = tuple[str, Subject]
"""A symptom's name and subject."""


class Spell(Struct, frozen=True):
    """A time through which a symptom was seen. ended: None while it is."""

    began: datetime
    ended: datetime | None = None


class Sample(Struct, frozen=True):
    """A group's offsets at a time: (topic, partition) -> (committed, end), of the partitions where both are known."""

    at: datetime
    offsets: Mapping[tuple[str, int], tuple[int, int]]

    @property
    def lag(self) -> int:
        """Records behind."""
        return sum(max(0, end - committed) for committed, end in self.offsets.values())


class DirSample(Struct, frozen=True):
    """The usable bytes of a log directory at a time."""

    at: datetime
    usable: int


class GroupTrend(Struct, frozen=True):
    """Two samples of a group, the second at least `WINDOW` later."""

    first: Sample
    last: Sample

    @property
    def seconds(self) -> float:
        """Between them."""
        return (self.last.at - self.first.at).total_seconds()

    @property
    def growth(self) -> float:
        """Records by which the lag grows in a second."""
        return (self.last.lag - self.first.lag) / self.seconds

    def still(self) -> Iterator[tuple[str, int]]:
        """The partitions with records to read and no commit between the samples, if that is odd: more records arrived,
        or the group committed elsewhere. A group that waits beside an idle topic is no trouble."""
        moving = self.moving()
        for place, (committed, end) in self.last.offsets.items():
            before = self.first.offsets.get(place)
            if before is None or before[0] != committed or not before[1] > committed:
                continue
            if moving or end > before[1]:
                yield place

    def moving(self) -> bool:
        """Whether an offset was committed between them."""
        offsets = self.first.offsets
        return any(place in offsets and offsets[place][0] != now[0] for place, now in self.last.offsets.items())


class Course(Struct, frozen=True):
    """What was seen. began: of the first look, UTC. spells: symptom -> when it was seen, the earliest first. seen: the
    symptoms of the last look. groups, dirs: samples, the earliest first. epochs: of the quorum, with when it was seen
    first."""

    began: datetime
    last: Look
    seen: Mapping[Key, Symptom]
    spells: Mapping[Key, tuple[Spell, ...]]
    groups: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    dirs: Mapping[tuple[int, str], tuple[DirSample, ...]] = field(default_factory=dict)
    epochs: tuple[tuple[int, datetime], ...] = ()

    @property
    def watched(self) -> timedelta:
        """How long was watched."""
        return self.last.at - self.began

    def since(self, symptom: Symptom) -> datetime | None:
        """When the present spell of a symptom began; None if it was there at the first look."""
        spells = self.spells.get((symptom.name, symptom.subject))
        return spells[-1].began if spells and spells[-1].began > self.began else None

    def times(self, key: Key) -> int:
        """How often a symptom began."""
        return len(self.spells.get(key, ()))

    def trend(self, group: str) -> GroupTrend | None:
        """The trend of a group over the last looks, None without two that are `WINDOW` apart."""
        return _trend(self.groups.get(group, ()))


def begin(look: Look) -> Course:
    """The course after the first look."""
    return _advanced(Course(look.at, look, {}, {}), look)


def after(course: Course, look: Look) -> Course:
    """The course after another look. One that is not later than the last (a clock set back) begins a new course."""
    return _advanced(course, look) if look.at > course.last.at else begin(look)


def _advanced(course: Course, look: Look) -> Course:
    groups = _with_groups(course.groups, look)
    epochs = _epochs(course, look)
    known = replace(course, last=look, groups=groups, dirs=_with_dirs(course.dirs, look), epochs=epochs)
    now = {(each.name, each.subject): each for each in (*symptoms(look), *_over_time(known))}
    return replace(known, seen=now, spells=_spells(course.spells, now, look.at))


def _spells(
    before: Mapping[Key, tuple[Spell, ...]], now: Mapping[Key, Symptom], at: datetime
) -> dict[Key, tuple[Spell, ...]]:
    spells: dict[Key, tuple[Spell, ...]] = {}
    for key, mine in before.items():
        kept = tuple(spell for spell in mine if spell.ended is None or spell.ended > at - KEPT)
        if kept and kept[-1].ended is None and key not in now:
            kept = (*kept[:-1], Spell(kept[-1].began, at))
        if kept:
            spells[key] = kept
    for key in now:
        mine = spells.get(key, ())
        if not mine or mine[-1].ended is not None:
            spells[key] = (*mine, Spell(at))[-MOST_SPELLS:]
    return spells


# -- what takes several looks ------------------------------------------------------------------------------------------


def _over_time(course: Course) -> Iterator[Symptom]:
    for group in course.groups:
        trend = course.trend(group)
        if trend is None:
            continue
        if trend.last.lag > trend.first.lag and trend.growth >= 1:
            yield Symptom(LAG_GROWS, Subject(group=group))
        for topic, partition in trend.still():
            yield Symptom(COMMIT_STANDS_STILL, Subject(group=group, topic=topic, partition=partition))
    if len(course.epochs) > 2:
        yield Symptom(EPOCH_JUMPS, CLUSTER, count=len(course.epochs) - 1)


def _epochs(course: Course, look: Look) -> tuple[tuple[int, datetime], ...]:
    quorum = look.snapshot.quorum
    kept = tuple((epoch, at) for epoch, at in course.epochs if at > look.at - KEPT) or course.epochs[-1:]
    if quorum is None or quorum.leader_epoch < 0 or (kept and kept[-1][0] == quorum.leader_epoch):
        return kept
    return (*kept, (quorum.leader_epoch, look.at))[-MOST_SPELLS:]


def _with_groups(before: Mapping[str, tuple[Sample, ...]], look: Look) -> dict[str, tuple[Sample, ...]]:
    lags = look.snapshot.lags
    return {
        name: _sampled(before.get(name, ()), Sample(look.at, _offsets(lag)), look.at)
        if name in look.lags_of
        else before.get(name, ())
        for name, lag in lags.items()
        if name in look.snapshot.groups
    }


def _offsets(lag: GroupLag) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (each.topic, each.partition): (each.committed, each.end)
        for each in lag.partitions
        if each.committed >= 0 and each.end >= 0
    }


def _with_dirs(
    before: Mapping[tuple[int, str], tuple[DirSample, ...]], look: Look
) -> dict[tuple[int, str], tuple[DirSample, ...]]:
    return {
        (broker, each.path): _sampled(
            before.get((broker, each.path), ()), DirSample(look.at, each.usable_bytes), look.at
        )
        for broker, dirs in look.snapshot.log_dirs.items()
        for each in dirs
        if each.usable_bytes >= 0
    }


S = TypeVar("S", Sample, DirSample)


def _sampled(before: tuple[S, ...], sample: S, at: datetime) -> tuple[S, ...]:
    """The samples with another; of the older ones, those that are kept."""
    kept = [each for each in before if each.at > at - KEPT]
    kept.append(sample)
    return tuple(kept[-MOST_SAMPLES:])


def _trend(samples: Iterable[Sample]) -> GroupTrend | None:
    known = tuple(samples)
    if not known:
        return None
    last = known[-1]
    first = next((each for each in reversed(known) if last.at - each.at >= WINDOW), None)
    return GroupTrend(first, last) if first is not None else None
