"""Changes from facts of the metadata log (`kraft_facts`). Pure.

A record of the log is a change. A snapshot shows the state: it reports a change only if the log and the snapshots
before it end in another state, since then a part of the log is missing. Both follow from the neighbours of each fact in
the order of its attribute: snapshots cut the log into epochs, 0 before the first, and between a fact and the next lie
as many snapshots without its attribute as their epochs differ.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from console.history.transforms.kraft_facts import Entity, Placed

SINCE_BEFORE = -1
"""The uncertainty of what the first poll of a cluster shows: it was set before, at an unknown time."""
FIRST_OFFSETS = 10
"""A log with a record below this offset is complete from its beginning: before it are only the control records of its
first leader."""


class Event(NamedTuple):
    """A row of `change_event`; times are microseconds since 1970."""

    cluster_id: str
    event_ts: int
    ts_uncertainty_ms: int
    log_offset: int | None
    entity_type: str
    entity_key: str
    attr: str
    op: str
    value: str | None
    value_sha256: str | None
    source: str
    principal: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    attribution: str = "none"


class Epochs:
    """The snapshots of a cluster's log, and whether the log is complete from its beginning.

    snapshots: the time of each, by the offset that it ends at. first: the first offset of the log itself; None: it has
    no record.
    """

    def __init__(self, snapshots: Mapping[int, int], first: int | None) -> None:
        self._offsets = sorted(snapshots)
        self._times = [None, *(snapshots[each] for each in self._offsets)]
        self.from_beginning = first is not None and first < FIRST_OFFSETS

    def of(self, fact: Placed) -> int:
        """Its epoch; facts of a snapshot belong to the epoch that begins with it. A snapshot ends before its offset, so
        it comes before the record of the log that has that offset."""
        return bisect_right(self._offsets, fact.offset)

    def began(self, epoch: int) -> int | None:
        """The time of the snapshot that an epoch begins with; None: it begins with none, or there is no such epoch."""
        return self._times[epoch] if 0 <= epoch < len(self._times) else None

    def then(self, epoch: int) -> tuple[int, int] | None:
        """Time and offset of the snapshot that ends an epoch."""
        time = self.began(epoch + 1)
        return None if time is None else (time, self._offsets[epoch])


def kraft_changes(cluster_id: str, entity: Entity, facts: Iterable[Placed], epochs: Epochs) -> Iterator[Event]:
    """The changes of an entity, without their authors."""
    by_attr: dict[str, list[tuple[int, bool, int, Placed]]] = defaultdict(list)
    for fact in facts:
        by_attr[fact.attr].append((epochs.of(fact), not fact.in_snapshot, fact.offset, fact))
    for attr, placed in by_attr.items():
        placed.sort(key=lambda each: each[:3])
        last: tuple[int, Placed] | None = None
        for place, (epoch, _, _, fact) in enumerate(placed):
            told = _own_change(epoch, fact, last, epochs)
            if told is not None:
                source, since = told
                value, digest = (fact.value, fact.digest) if fact.is_set else (None, None)
                op = "set" if fact.is_set else "delete"
                yield Event(
                    *(cluster_id, fact.ts, since, fact.offset, *entity, attr, op, value, digest, source),
                )
            end = epochs.then(epoch) if fact.is_set else None
            if end is not None:
                following = placed[place + 1] if place + 1 < len(placed) else None
                # The next snapshot lacks what the fact has set, and no record deletes it.
                if following is None or following[0] - epoch - following[3].in_snapshot > 0:
                    since = _ms_since(end[0], fact.ts, epochs.began(epoch))
                    yield Event(
                        *(cluster_id, end[0], since, end[1], *entity, attr, "delete", None, None, "kraft_snapshot"),
                    )
            last = epoch, fact


def _own_change(epoch: int, fact: Placed, last: tuple[int, Placed] | None, epochs: Epochs) -> tuple[str, int] | None:
    """Source and uncertainty of the change that a fact makes; None: it makes none."""
    was_set = last is not None and last[1].is_set and epoch - last[0] - fact.in_snapshot == 0
    if not fact.in_snapshot:
        nothing_known = last is None and epoch == 0 and not epochs.from_beginning
        return ("kraft_log", 0) if fact.is_set or was_set or (fact.told and nothing_known) else None
    if last is not None and was_set and fact.digest == last[1].digest:
        return None
    return "kraft_snapshot", _ms_since(fact.ts, None if last is None else last[1].ts, epochs.began(epoch - 1))


def _ms_since(then: int, *known: int | None) -> int:
    """Milliseconds from the later of the known times to `then`."""
    times = [each // 1000 for each in known if each is not None]
    return max(0, then // 1000 - max(times)) if times else SINCE_BEFORE
