"""Rows of `history`: each value of each attribute of each entity, with its time span and its author.

Several sources may report the same change. It becomes one row, with the name of the best source (the log, its
snapshots, polls, the journal, requests, in this order), the time from the most exact source, and the author. A change
to the value that the attribute already has makes no row. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from console.lake.entities import CLUSTER, DEFAULT, UNOBSERVED
from console.lake.schema import HISTORY
from console.lake.transforms.change_event import TOLERANCE, changed_list, principals
from console.lake.transforms.coverage import LOG, Covered, Polls, coverage_gaps
from console.lake.transforms.kraft_changes import SINCE_BEFORE, Event, sha256
from console.lake.transforms.rows import Row, rows_of, table_of

NEVER = Polls({}, ())
"""A `Polls` without polls, for a cluster that was never polled."""
POLL = "poll"
"""The source of an event that shows a value in a poll, without being a change."""
AUTHORS = ("journal", "request_log")
_SEEN = ("snapshot", POLL)
_ADDS = ("append", "subtract")
_RANKS = {"kraft_log": 0, "kraft_snapshot": 1, "journal": 2, "request_log": 3, "snapshot": 4, POLL: 5}
"""Source -> the place of its events among those at the same time: polls come last, since a poll shows the result of the
changes before it.
"""
_BEST = ("kraft_log", "kraft_snapshot", "snapshot", "journal", "request_log")


class _Event:
    """A change, or a value that a poll shows, with the time and the value that the other events of the attribute
    determine.

    Attributes:
        keeps: whether a deletion makes a row even if no former value is known.
        in_log: whether the metadata log covers the time of the event.
        by_log: whether a `poll` event represents a snapshot of the log.
    """

    __slots__ = ("by_log", "digest", "in_log", "keeps", "op", "source", "told", "ts", "value")

    def __init__(self, told: Event, *, keeps: bool = False, in_log: bool = False, by_log: bool = False) -> None:
        self.told = told
        self.ts, self.source, self.op = told.event_ts, told.source, told.op
        self.value, self.digest = told.value, told.value_sha256
        self.keeps, self.in_log, self.by_log = keeps, in_log, by_log

    @property
    def is_set(self) -> bool:
        """Whether the attribute has a value after the event."""
        return self.op != "delete"

    def order(self) -> tuple[Any, ...]:
        """Return a sort key, first by time, that does not depend on the order of the input; None sorts before
        any text.
        """
        told = self.told
        texts = (self.op, self.value, self.digest, told.principal, told.client_id)
        offset = -1 if told.log_offset is None else told.log_offset
        known = ((each is not None, each or "") for each in texts)
        return (self.ts, _RANKS[self.source], offset, *known, told.ts_uncertainty_ms)


# -- events in order -------------------------------------------------------------------------------------------------


def _counted(events: Sequence[Event], polls: Polls, covered: Covered | None) -> list[_Event]:
    """Return the events from which the values of an attribute follow. After each event that the log does not cover, add
    a `poll` event at the first poll that shows its result.

    If the log covers the time of a report by a request or the journal, the report is left out: it only names the author
    of a change in the log (`attribution`). Levels of loggers and reassignments are never left out, because no log has
    them.
    """
    made: list[_Event] = []
    shown: set[tuple[int, bool]] = set()
    first = events[0]
    times = polls.times.get(first.entity_type, ())
    sure = polls.sure(first.entity_type, covered)
    known = [each for each in (times[0] if times else None, covered.first if covered else None) if each is not None]
    # No poll and no metadata log has the levels of loggers, or reassignments as they were requested.
    can_be_shown = first.entity_type != "broker-logger" and not first.attr.startswith(":reassignment/")
    by_poll = can_be_shown and (first.entity_type != "broker" or first.entity_key in (DEFAULT, *polls.brokers))
    for event in events:
        in_log, hole = _place_in_log(event, covered)
        if event.source in AUTHORS and in_log and can_be_shown:
            continue
        unknown = not known or event.event_ts < min(known)
        keeps = event.source == "kraft_log" or (event.source in AUTHORS and unknown)
        made.append(_Event(event, keeps=keeps, in_log=in_log))
        if covered is not None and event.source not in LOG and can_be_shown:
            then = hole[1] if hole else covered.whole
            if then is not None and (hole or event.event_ts < then):
                shown.add((then, True))
        if by_poll and event.source != "snapshot":
            from_ts = event.event_ts + TOLERANCE
            if sure is None or (covered is not None and event.event_ts < covered.first) or from_ts > sure:
                at = polls.shown(event.entity_type, from_ts, covered)
                if at is not None:
                    shown.add((at, False))
    attribute = (first.entity_type, first.entity_key, first.attr)
    for ts, by_log in sorted(shown):  # their values are not known yet
        of_poll = Event(first.cluster_id, ts, SINCE_BEFORE, None, *attribute, "", None, None, POLL)
        made.append(_Event(of_poll, by_log=by_log))
    # Order by the log's offsets: a new controller's clock may be behind.
    latest = 0
    for each in sorted(
        (each for each in made if each.source in LOG),
        key=lambda each: (each.told.log_offset or 0, each.source == "kraft_log", each.ts),
    ):
        latest = each.ts = max(latest, each.ts)
    return made


def _place_in_log(event: Event, covered: Covered | None) -> tuple[bool, tuple[int, int] | None]:
    """Return whether the log covers an event, and the hole of the log in which the event may lie, or None. The log
    covers an event that lies in no hole, at most `TOLERANCE` (2 s) before the log's first record, and at most
    `TOLERANCE` after its last record.
    """
    if covered is None:
        return False, None
    ends, began = event.event_ts, event.event_ts - event.ts_uncertainty_ms * 1000
    holes = covered.holes if event.ts_uncertainty_ms >= 0 else ()
    hole = next((hole for hole in holes if ends > hole[0] and began < hole[1]), None)
    return hole is None and began - TOLERANCE <= covered.last and ends + TOLERANCE >= covered.first, hole


# -- the value after each event --------------------------------------------------------------------------------------


def _valued(events: list[_Event], of_type: str, attr: str) -> list[_Event]:
    """Return the events in order of time, each with the value that the attribute has after it. Polls that add
    nothing are left out (`_without_early_polls`, `_without_echoes`).
    """
    events.sort(key=_Event.order)
    if any(each.source == POLL for each in events):
        _answer(events)
        events.sort(key=_Event.order)
    if any(each.op in _ADDS for each in events):
        _complete_lists(events)
        events.sort(key=_Event.order)
    if any(each.source in _SEEN for each in events):
        return _without_echoes(_without_early_polls(events), of_type, attr)
    return events


def _answer(events: list[_Event]) -> None:
    """Set the value of each `poll` event: the value after the last change that a poll showed or, if the event
    represents a snapshot, after the last change of the log. If there is no such change, the attribute is not set.
    """
    of_polls: _Event | None = None
    of_log: _Event | None = None
    for each in events:
        if each.source == "snapshot":
            of_polls = each
        elif each.source in LOG:
            of_log = each
        elif each.source == POLL:
            shown = of_log if each.by_log else of_polls
            each.op, each.value, each.digest = (
                ("delete", None, None) if shown is None else (shown.op, shown.value, shown.digest)
            )


def _complete_lists(events: list[_Event]) -> None:
    """Replace the value of each `append` and `subtract` by the whole list; by None if the former list is unknown, as
    for the brokers' own default.
    """
    now: str | None = None
    for each in events:
        if each.op in _ADDS:
            now = None if now is None or each.value is None else changed_list(now, each.op, each.value)
            each.value, each.digest = now, None if now is None else sha256(now)
        else:
            now = each.value if each.is_set else None


def _without_early_polls(events: list[_Event]) -> list[_Event]:
    """Return the events without polls that show a value at most `TOLERANCE` (2 s) before the change to that value,
    because the clock of the host that polled is ahead.
    """

    def told_at(each: _Event, place: int) -> bool:
        if place >= len(events):
            return False
        then = events[place]
        same = then.is_set == each.is_set and then.digest == each.digest
        return same and then.ts <= each.ts + TOLERANCE and then.source not in _SEEN

    def early(place: int, each: _Event) -> bool:
        behind_poll = place + 1 < len(events) and events[place + 1].source == POLL and told_at(each, place + 2)
        return each.source == "snapshot" and (told_at(each, place + 1) or behind_poll)

    return [each for place, each in enumerate(events) if not early(place, each)]


def _without_echoes(events: list[_Event], of_type: str, attr: str) -> list[_Event]:
    """Return the events without polls that show less than is already known: a hidden value that is still set, one of
    several endpoints, or no values of a broker that is down.
    """
    kept = []
    of_log: _Event | None = None
    last: _Event | None = None
    for each in events:
        if each.source in LOG:
            of_log = each
        set_by_log = of_log is not None and of_log.is_set
        hidden = each.is_set and each.digest is None and last is not None and last.is_set
        known = (of_log.value if of_log is not None and of_log.is_set else None) or ""
        one_of_many = attr == ":endpoints" and each.value is not None and each.value in known
        down = of_type == "broker" and not each.is_set and each.in_log and set_by_log
        if each.source not in _SEEN or not (hidden or one_of_many or down):
            kept.append(each)
        last = each
    return kept


def _changes(last: _Event | None, each: _Event) -> bool:
    """Return whether an event changes the value that the event before it left; last: that event, None for the first
    one. A hidden value without a digest counts as changed only if a request or the journal reports it. If both
    report the same setting within `TOLERANCE` (2 s), only the first of the two reports counts.
    """
    if last is None:
        return each.is_set or each.keeps
    if each.is_set is not last.is_set:
        return True
    if not each.is_set:
        return False
    if each.digest is None:
        # The journal and the request log both report a hidden value, which was set only once.
        told_again = last.digest is None and each.source != last.source and last.source in AUTHORS
        since = each.ts - max(each.told.ts_uncertainty_ms, 0) * 1000
        return each.source in AUTHORS and not (told_again and since - TOLERANCE <= last.ts)
    # The log has more of a credential than a poll has: an equal value in a poll is no change.
    if each.source in _SEEN and each.value is not None and each.value == last.value:
        return False
    return each.digest != last.digest


# -- the rows --------------------------------------------------------------------------------------------------------


def entity_history(events: Iterable[Event], polls: Polls, covered: Covered | None) -> Iterator[Row]:
    """Yield the rows of `history` of an entity. Values in the first poll of a cluster are valid from that poll on.

    Args:
        events: all rows of `change_event` about the entity.
        polls: the polls of its cluster.
        covered: the time that the metadata log covers; None without a log.
    """
    by_attr: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_attr[event.attr].append(event)
    for attr, of_attr in by_attr.items():
        first = of_attr[0]
        valued = _valued(_counted(of_attr, polls, covered), first.entity_type, attr)
        changes: list[tuple[_Event, list[_Event]]] = []
        last: _Event | None = None
        for each in valued:
            if _changes(last, each):
                changes.append((each, []))
            elif changes and each.source not in ("kraft_log", POLL):
                lasted = each.told.ts_uncertainty_ms
                if lasted < 0 or each.ts - lasted * 1000 - TOLERANCE <= changes[-1][0].ts:
                    changes[-1][1].append(each)
            last = each
        yield from _rows((first.cluster_id, first.entity_type, first.entity_key, attr), changes)


def _rows(attribute: tuple[str, str, str, str], changes: list[tuple[_Event, list[_Event]]]) -> Iterator[Row]:
    """Yield a row for each change of an attribute, combined with the further reports of the same change."""
    times: list[int] = []
    for told, _ in changes:
        # Two changes within the clock's millisecond get times a microsecond apart.
        times.append(max(told.ts, times[-1] + 1) if times else told.ts)
    old: str | None = None
    for (told, echoes), since, until in zip(changes, times, [*times[1:], None], strict=False):
        sources = {"snapshot" if told.source == POLL else told.source, *(each.source for each in echoes)}
        best = next(source for source in _BEST if source in sources)
        state = (until is None, not told.is_set)
        yield (*attribute, old, told.value, since, until, *state, *_author(told.told, echoes), best)
        old = told.value


def _author(told: Event, echoes: Iterable[_Event]) -> tuple[str | None, str]:
    """Return the principal and the attribution of a change. An event of the log or of a poll has both already. If
    only requests or the journal report the change, both follow from all reports of the change. The principal is
    None if it is unknown.
    """
    if told.source not in AUTHORS:
        return told.principal, told.attribution
    reports = [told, *(each.told for each in echoes if each.source in AUTHORS)]
    names = principals(each.principal for each in reports)
    how = "journal" if any(each.attribution == "journal" for each in reports) else "request"
    return ", ".join(names) or None, "several" if len(names) > 1 else how


# -- the table -------------------------------------------------------------------------------------------------------


def history(change_event: pa.Table, polls: Mapping[str, Polls], covers: Mapping[str, Covered]) -> pa.Table:
    """Return the rows of HISTORY of entities.

    Args:
        change_event: all rows of `change_event` about the entities.
        polls: cluster -> its polls.
        covers: cluster -> the time that its metadata log covers.
    """
    by_entity: dict[tuple[str, str, str], list[Event]] = defaultdict(list)
    for event in map(Event._make, rows_of(change_event, *Event._fields)):
        by_entity[event.cluster_id, event.entity_type, event.entity_key].append(event)
    made = (
        row
        for (cluster_id, *_), events in by_entity.items()
        for row in entity_history(events, polls.get(cluster_id, NEVER), covers.get(cluster_id))
    )
    return table_of(HISTORY, made)


def gaps(cluster_id: str, polls: Polls, covered: Covered | None, until: int) -> pa.Table:
    """Return the rows of HISTORY about the time in which a cluster was not observed. until: the time of the latest poll
    of any cluster.
    """
    found = (
        (cluster_id, CLUSTER, cluster_id, UNOBSERVED, None, None, first, last, last is None, False)
        for first, last in coverage_gaps(polls.times, covered, until)
    )
    return table_of(HISTORY, ((*row, None, "none", "snapshot") for row in found))
