"""Find the author of a difference between two snapshots: a change in this host's journal with the same key, value and
time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import takewhile

from console.answers.history_results import who_text
from console.journal.history import Change, State
from console.model.changes import GroupTarget
from console.model.grouping import grouped
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, wanted
from console.plan.edits import RestartConnector, Slot
from console.plan.staged import Described
from console.triage.events import Difference, Kind, Place, seen_between
from console.triage.facts import Author

SLACK = timedelta(seconds=5)
"""The time after a change was sent during which brokers may still return the former value."""
LONGEST = timedelta(minutes=10)
"""If the time of the last read of the former value is unknown, a change counts as the author of a difference only if
it was sent at most this long, plus `SLACK`, before the difference was read.
"""
RESTARTS_FOR = timedelta(hours=1)
"""The time before the present in which restarts of connectors are searched for."""
_STATES = (State.APPLIED, State.UNKNOWN, State.UNDER_WAY)


def slot_of(each: Difference) -> Slot | None:
    """Return the slot (target and key) of an edit that would cause the difference; None if no kind of edit causes
    it.
    """
    place = each.place
    match place.kind:
        case Kind.CONTROLLER | Kind.ISR:
            return None
        case Kind.CONFIG | Kind.QUOTA:
            return Slot(place.about, place.key)
        case Kind.GROUP if each.became is not None or not isinstance(place.about, GroupTarget):
            return None  # the deletion of a group is the only edit of a group itself
        case _:
            return Slot(place.about, "")


def authors(
    differences_: Iterable[Difference],
    latest: Iterator[Change],
    old: Snapshot,
    new: Snapshot,
    at: datetime,
    taken: Mapping[Place, int],
) -> dict[Place, Author]:
    """Return place -> author, for each difference that a change in the journal explains.

    Args:
        latest: the changes in the journal, the latest first. The iterator is read only as far as changes may match.
        old: the snapshot before the differences.
        new: the snapshot with the differences.
        at: the time at which `new` was read, UTC.
        taken: place -> the number of the change that explained the last difference there: one change explains only one
            difference at a place.
    """
    places = grouped((slot, each.place) for each in differences_ if (slot := slot_of(each)) is not None)
    if not places:
        return {}
    times = {mine[0]: seen_between(mine[0], old, new, at) for mine in places.values()}
    # A broker may still return the former value seconds after the change was sent, so the sending time may lie before
    # the last read of the former value.
    earliest = min(since or until - LONGEST for since, until in times.values()) - SLACK
    seen = Described(new)
    by_place: dict[Place, Author] = {}
    for change in takewhile(lambda each: (each.last_sent or each.intent.at) >= earliest, latest):
        for number, entry in enumerate(change.entries):
            edit = entry.staged.edit
            mine = places.get(edit.slot)
            if mine is None or mine[0] in by_place or change.last_sent is None or change.state(number) not in _STATES:
                continue
            # If another client set the same value again, don't name the author of the change that set it first.
            if taken.get(mine[0], -1) >= change.number:
                continue
            since, until = times[mine[0]]
            if not (since or until - LONGEST) - SLACK <= change.last_sent <= until:
                continue
            as_wanted = wanted(edit, current_state(edit, seen))
            # Edits that leave no state can't be compared; for these a confirmed outcome suffices.
            if as_wanted or (as_wanted is None and change.state(number) is State.APPLIED):
                reverts = entry.staged.reverts is not None
                author = Author(who_text(change), change.number, change.last_sent, reverts)
                by_place.update(dict.fromkeys(mine, author))
    return by_place


def restarts(latest: Iterator[Change], names: frozenset[str], at: datetime) -> dict[str, Author]:
    """Return kac's name of a connector -> the author of its last restart by kac. Connectors without a restart in the
    last hour are missing.

    Args:
        latest: the changes in the journal, the latest first. The iterator is read only within the last hour.
        names: kac's names of the connectors.
        at: the present time, UTC.
    """
    found: dict[str, Author] = {}
    for change in takewhile(lambda each: (each.last_sent or each.intent.at) >= at - RESTARTS_FOR, latest):
        for place, entry in enumerate(change.entries):
            edit, sent = entry.staged.edit, change.last_sent
            if not isinstance(edit, RestartConnector) or edit.name not in names or sent is None:
                continue
            if change.state(place) in _STATES:
                found.setdefault(edit.name, Author(who_text(change), change.number, sent))
    return found
