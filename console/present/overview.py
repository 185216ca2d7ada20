"""The last half hour as graphs: of the cluster, and of one topic, group or broker. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import groupby
from typing import NamedTuple

from console.model import half_hour
from console.present.columns import time_text
from console.present.graphs import Chart, Graph, Mark, chart_of, seconds_for

LEAST: Mapping[str, float] = {"behind": 5.0, "throttled": 1.0}
"""Measure -> the value below which its graph is left out. ``behind``: seconds; even a healthy group lags between two
commits. ``throttled``: requests per minute; most clients are not throttled.
"""
GONE_AFTER = 30
"""Number of samples without a value after which a disk counts as removed: more than a broker needs to restart."""
_ORDER = ("under-replicated", "offline", "written", "read", "behind", "throttled", "disk")
_OTHERS = {
    "written": "written to {} more",
    "read": "read from {} more ≈",
    "behind": "lag of {} more",
    "throttled": "throttled: {} more",
    "disk": "disk of {} more",
}
MOST_OF_A_KIND = (8, 4, 2, 1)
"""Maximum number of brokers, groups, clients or disks with graphs of their own; the first number that fits is used."""


class Shown(NamedTuple):
    """The data from which the chart of a cluster is drawn."""

    samples: Sequence[half_hour.Sample]
    """The samples of the cluster, the earliest first; if empty, there are no graphs."""
    marks: Sequence[Mark] = ()
    """The changes to mark on the time axis."""
    full_in: Mapping[int, float] = {}
    """Broker id -> the seconds until its first disk is full; brokers whose disks do not fill up are missing."""
    usage: Mapping[str, Mapping[int, float]] = {}
    """Throttled pair of user and client id, from the lake -> number of a time slot -> throttled requests per minute."""
    groups: Collection[str] | None = None
    """The names of the groups that exist; None if they are unknown."""
    is_exact: bool = False
    """Whether the chart ends at the newest sample, as in a replay. Otherwise it ends at the first sample of the newest
    column, and changes only with each column.
    """


def own_chart(
    samples: Sequence[half_hour.OwnSample],
    kind: half_hour.Kind,
    name: str,
    width: int,
    readers: Collection[str] = (),
    full_in: Mapping[int, float] = {},
    marks: Iterable[Mark] = (),
) -> Chart | None:
    """Return the chart of one topic, group or broker. None if no measure has two samples, because one value shows no
    trend, or if fewer than eight columns fit.

    Args:
        samples: the samples, the earliest first.
        kind: whether `name` is a topic, a group or a broker.
        name: the name of the topic or the group, or the broker's id.
        width: the width in cells.
        readers: the groups that read the topic; one graph has the longest lag of any of them at each time.
        full_in: broker id -> seconds until its first disk is full.
        marks: the changes; a change after the newest sample is left out until the next sample.
    """
    found = dict(half_hour.own_values(samples, kind, name))
    behind: dict[int, float] = {}
    for group in readers:
        for slot, seconds in half_hour.own_values(samples, "group", group).get("behind", {}).items():
            behind[slot] = max(seconds, behind.get(slot, 0.0))
    if behind:
        found["readers behind"] = behind
    # Skip single points: they draw no line, and a graph that appears for one sample only flickers.
    if not any(len(values) > 1 for values in found.values()):
        return None
    left = full_in.get(int(name)) if kind == "broker" else None
    graphs = [
        Graph(
            what,
            f"disk full in {time_text(left)}" if what == "disk" and left is not None else what,
            what,
            values,
            half_hour.OWN_EVERY,
        )
        for what, values in found.items()
    ]
    return chart_of(graphs, marks, samples[-1].slot * half_hour.OWN_EVERY, width)


def overview_chart(shown: Shown, width: int, room: int | None = None) -> Chart | None:
    """Return the chart of the cluster as of the first sample in the newest column (`settled`), so that it changes once
    per column, or as of the newest sample if `Shown.is_exact`. None without samples, or if fewer than eight columns
    fit.

    If there are many brokers, disks or groups, those with the highest values have their own graphs, and the others
    share one. Groups and disks that no longer exist, and measures that stay below `LEAST`, have no graphs.

    Args:
        shown: the data.
        width: the width in cells.
        room: the largest number of graphs; None for no limit.
    """
    if not shown.samples:
        return None
    samples = shown.samples if shown.is_exact else settled(shown.samples, seconds_for(width))
    newest = samples[-1]
    known_of = _known(shown, samples)
    measures = [each for each in _in_order(known_of) if max(known_of[each].values()) >= LEAST.get(each.what, 0.0)]
    kinds = [[*each] for _, each in groupby(measures, key=lambda measure: measure.what)]
    several = _with_several_disks(measures)
    found: list[Graph] = []
    for mine in kinds:
        highest, others = _highest(mine, known_of, _most(kinds, room))
        found += [
            Graph(
                " ".join(each),
                _title(each, shown.full_in, several),
                each.what,
                known_of[each],
                is_least=each in newest.least,
                measure=each,
            )
            for each in highest
        ]
        if others:
            what = others[0].what
            together = _together(what, [known_of[each] for each in others])
            is_least = any(each in newest.least for each in others)
            title = _OTHERS[what].format(len(others))
            found.append(Graph(f"{what} …", title, what, together, is_least=is_least, measure=others[0]))
    return chart_of(found, shown.marks, newest.slot * half_hour.EVERY, width)


def settled(samples: Sequence[half_hour.Sample], seconds: int) -> Sequence[half_hour.Sample]:
    """Return the samples up to and including the first of the newest column, so that the result changes once per
    column. seconds: the width of a column in seconds.
    """
    begins = samples[-1].slot * half_hour.EVERY // seconds * seconds // half_hour.EVERY
    return samples[: bisect_left(samples, begins, key=lambda sample: sample.slot) + 1]


def _most(kinds: Sequence[Sequence[half_hour.Measure]], room: int | None) -> int:
    """Return the largest number in `MOST_OF_A_KIND` with which the graphs of all kinds fit into `room` lines, each kind
    having one more graph for its others; 1 if no number fits.
    """
    if room is None:
        return MOST_OF_A_KIND[0]
    fits = (most for most in MOST_OF_A_KIND if sum(min(len(mine), most + 1) for mine in kinds) <= room)
    return next(fits, MOST_OF_A_KIND[-1])


def _highest(
    mine: Sequence[half_hour.Measure], known_of: Mapping[half_hour.Measure, Mapping[int, float]], most: int
) -> tuple[Sequence[half_hour.Measure], Sequence[half_hour.Measure]]:
    """Return two lists of a kind's measures, both in the order of `mine`: the `most` measures with the highest
    values, which have graphs of their own; and all others. If there is only one other, it also has a graph of its
    own.
    """
    if len(mine) <= most + 1:
        return mine, ()
    highest = frozenset(nlargest(most, mine, key=lambda measure: max(known_of[measure].values())))
    return [each for each in mine if each in highest], [each for each in mine if each not in highest]


def _together(what: str, known: Iterable[Mapping[int, float]]) -> Mapping[int, float]:
    """Return slot -> the combined value of several measures of the kind `what`: the sum for ``written``, ``read``
    and ``throttled``, the highest for other kinds.
    """
    found: dict[int, float] = {}
    for each in known:
        for slot, value in each.items():
            before = found.get(slot, 0.0)
            found[slot] = before + value if what in ("written", "read", "throttled") else max(before, value)
    return found


def _known(shown: Shown, samples: Sequence[half_hour.Sample]) -> Mapping[half_hour.Measure, Mapping[int, float]]:
    """Return measure -> slot -> value, within the half hour of the samples, without disks and groups that no longer
    exist.
    """
    found: dict[half_hour.Measure, dict[int, float]] = {}
    for each in samples:
        for measure, value in each.values.items():
            found.setdefault(measure, {})[each.slot] = value
    newest = samples[-1].slot
    for about, by_slot in shown.usage.items():
        if values := {slot: value for slot, value in by_slot.items() if newest - half_hour.SLOTS < slot <= newest}:
            found[half_hour.Measure("throttled", about)] = values
    return {
        measure: values
        for measure, values in found.items()
        if not (measure.what == "disk" and newest - max(values) >= GONE_AFTER)
        and not (measure.what == "behind" and shown.groups is not None and measure.about not in shown.groups)
    }


def _in_order(known: Mapping[half_hour.Measure, Mapping[int, float]]) -> list[half_hour.Measure]:
    """Return the measures in the order of their graphs; lags and throttled pairs with the worst first."""

    def place(measure: half_hour.Measure) -> tuple[int, float, int, str]:
        if measure.what in LEAST:  # a measure of groups or clients, whose names may be numbers of any length
            return _ORDER.index(measure.what), -max(known[measure].values()), 0, measure.about
        broker, _, rest = measure.about.partition(" ")
        return _ORDER.index(measure.what), 0.0, int(broker or -1), rest

    return sorted(known, key=place)


def _with_several_disks(measures: Iterable[half_hour.Measure]) -> frozenset[int]:
    """Return the ids of the brokers with several disks; the titles of their graphs have the path."""
    disks = Counter(int(each.about.partition(" ")[0]) for each in measures if each.what == "disk")
    return frozenset(broker for broker, count in disks.items() if count > 1)


def _title(measure: half_hour.Measure, full_in: Mapping[int, float], several: Collection[int]) -> str:
    match measure.what:
        case "under-replicated" | "offline":
            return measure.what
        case "written":
            return f"written to {measure.about}"
        case "read":
            return f"read from {measure.about} ≈"
        case "behind":
            return f"lag {measure.about}"
        case "throttled":
            return f"throttled {measure.about}"
        case "disk":
            number, _, path = measure.about.partition(" ")
            left = full_in.get(int(number))
            full = f" full in {time_text(left)}" if left is not None else ""
            return f"disk {number}{full}{f' {path}' if int(number) in several else ''}"
