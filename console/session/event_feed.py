"""Follows a session: every difference between two snapshots becomes an event, with its author where the journal of this
host has one.

An author is never guessed: a change of the journal is the author of a difference that it matches in key, time and
value.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from console.journal.history import Change, State
from console.model.acl import Acl
from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import GroupTarget, ScramUser, VoterTarget
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, wanted
from console.plan.edits import (
    AddAcl,
    DeleteScram,
    Edit,
    RemoveAcl,
    SetConfig,
    SetQuota,
    Slot,
    UnsetConfig,
    UnsetQuota,
)
from console.plan.kinds.voters import LeaveQuorum
from console.plan.staged import Described
from console.present.columns import clock
from console.present.events import details
from console.present.text import Line, clean
from console.session.journal_changes import read_latest
from console.session.lake_staging import UNKNOWN, NoEdit, Wish, edit_text
from console.session.snapshot_reader import SessionEvent, SnapshotChanged
from console.triage.config_changes import HIDDEN as UNTOLD
from console.triage.events import ID, Difference, Event, Kind, Place, Record, differences, events, seen_between
from console.triage.facts import Author

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)

SLACK = timedelta(seconds=5)
"""How long after it was sent a change may not show in another broker's answer yet."""
LONGEST = timedelta(minutes=10)
"""How far back a change is searched for where it is unknown when the value before was last read."""
MOST_PENDING = 100
"""Pairs of snapshots that wait; of more, the last ones are compared as one, so that what came and went is not seen."""
MOST_TAKEN = 10_000
"""Places whose last author is kept."""
_CHANGED_BY_EDITS = frozenset({*Kind} - {Kind.CONTROLLER, Kind.ISR})
_STATES = (State.APPLIED, State.UNKNOWN, State.UNDER_WAY)


class _Pair(NamedTuple):
    old: Snapshot
    new: Snapshot
    at: datetime


class EventFeed:
    """The events of a session, from now on.

    record: those that are kept. problem: why the journal can't say who made a change, ``""`` where it can.
    """

    def __init__(self, session: Session, tell: Callable[[Sequence[Event]], None]) -> None:
        """Call `tell` with new events, in their order."""
        self._session = session
        self._tell = tell
        self._pending: deque[_Pair] = deque()
        self._wake = asyncio.Event()
        self._taken: dict[Place, int] = {}
        self.record = Record(datetime.now(UTC))
        self.problem = "" if session.context.journal else "this context keeps no journal"

    async def run(self) -> None:
        """Follow the session until cancelled."""
        unsubscribe = self._session.subscribe(self._hear)
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._pending:
                    await self._take(self._pending.popleft())
        finally:
            unsubscribe()

    def _hear(self, event: SessionEvent) -> None:
        if not isinstance(event, SnapshotChanged):
            return
        at = datetime.now(UTC)
        if len(self._pending) >= MOST_PENDING:
            self._pending[-1] = self._pending[-1]._replace(new=event.new, at=at)
        else:
            self._pending.append(_Pair(event.old, event.new, at))
        self._wake.set()

    async def _take(self, pair: _Pair) -> None:
        # Only comparing topics takes long, since there may be 100,000; the same object needs neither that nor a thread.
        if pair.old.topics is pair.new.topics:
            differing = list(differences(pair.old, pair.new))
        else:
            differing = await asyncio.to_thread(lambda: list(differences(pair.old, pair.new)))
        if not differing:
            return
        authors = await self._authors(differing, pair)
        new_events = await asyncio.to_thread(events, differing, pair.old, pair.new, pair.at, authors)
        self.record = self.record.with_events(new_events)
        self._tell(new_events)

    async def _authors(self, differences_: Sequence[Difference], pair: _Pair) -> Mapping[Place, Author]:
        from console.session.snapshot_reader import Refused

        if not self._session.context.journal or not any(each.place.kind in _CHANGED_BY_EDITS for each in differences_):
            return {}
        try:
            known = await read_latest(
                await self._session.journal(), lambda latest: authors(differences_, latest, *pair, self._taken)
            )
        except Refused as refused:
            self.problem = str(refused.failure)
            return {}
        except Exception as error:  # that it can't be read is said; the events are there all the same
            log.exception("reading the journal for events")
            self.problem = str(error)
            return {}
        self.problem = ""
        taken = {**self._taken, **{place: author.number for place, author in known.items()}}
        self._taken = dict(list(taken.items())[-MOST_TAKEN:])
        return known


# -- whose change it is. Pure ------------------------------------------------------------------------------------------


def slot_of(each: Difference) -> Slot | None:
    """Return the slot of the edit that would make a difference, None where no edit does."""
    place = each.place
    match place.kind:
        case Kind.CONTROLLER | Kind.ISR:
            return None
        case Kind.CONFIG | Kind.QUOTA:
            return Slot(place.about, place.key)
        case Kind.GROUP if each.became is not None or not isinstance(place.about, GroupTarget):
            return None  # of a group itself, only its deletion is an edit
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
    """Return the author of each difference that a change of the journal explains.

    Args:
        latest: the changes of the journal, the latest first; only as many are read as may fit.
        at: when `new` was known, UTC.
        taken: the last change that made an earlier difference of a place: a change makes one difference of a place
            only.
    """
    places: dict[Slot, list[Place]] = {}
    for each in differences_:
        if (slot := slot_of(each)) is not None:
            places.setdefault(slot, []).append(each.place)
    if not places:
        return {}
    times = {mine[0]: seen_between(mine[0], old, new, at) for mine in places.values()}
    # A broker may still answer with the value from before seconds after the change was sent, so its sending may lie
    # before the last read of that value.
    earliest = min(since or until - LONGEST for since, until in times.values()) - SLACK
    seen = Described(new)
    by_place: dict[Place, Author] = {}
    for change in takewhile(lambda each: (each.last_sent or each.intent.at) >= earliest, latest):
        for number, entry in enumerate(change.entries):
            edit = entry.staged.edit
            mine = places.get(edit.slot)
            if mine is None or mine[0] in by_place or change.last_sent is None or change.state(number) not in _STATES:
                continue
            # The same value set once more by another client must not be ascribed to the change that set it first.
            if taken.get(mine[0], -1) >= change.number:
                continue
            since, until = times[mine[0]]
            if not (since or until - LONGEST) - SLACK <= change.last_sent <= until:
                continue
            as_wanted = wanted(edit, current_state(edit, seen))
            # Edits that leave no state can't be compared; for these a confirmed outcome has to do.
            if as_wanted or (as_wanted is None and change.state(number) is State.APPLIED):
                from console.answers.history_results import who_text  # with all that is said of plans: 1 MiB

                by_place.update(dict.fromkeys(mine, Author(who_text(change), change.number, change.last_sent)))
    return by_place


# -- the way back. Pure ------------------------------------------------------------------------------------------------


def way_back(event: Event) -> list[Wish]:
    """Return what stages the values from before an event, or why that can't be: a wish for each place."""
    if event.count > len(event.places):
        many = f"{event.count:,} places changed; {len(event.places):,} are known here: take it back by a pattern"
        return [Wish(NoEdit(many))]
    return [_wish(event, place) for place in event.places]


def event_lines(event: Event) -> list[Line]:
    """Return the lines that describe an event, and the command that stages its way back."""
    wishes = way_back(event)
    first = wishes[0].edit
    if isinstance(first, NoEdit):
        return [*details(event), [(f"no way back: {edit_text(first)}", "muted")]]
    more = f"  (+{len(wishes) - 1:,})" if len(wishes) > 1 else ""
    return [*details(event), [("⏎ ", "strong"), (edit_text(first) + more, "muted")]]


def _wish(event: Event, place: Place) -> Wish:
    value = UNKNOWN if event.became in (UNTOLD, "") and place.kind is not Kind.CONFIG else event.became
    return Wish(_edit_back(event, place), value, source=f"at {clock(event.until)}")


def _edit_back(event: Event, place: Place) -> Edit | NoEdit:
    about, was = place.about, event.was
    match place.kind:
        case Kind.CONFIG if isinstance(about, ConfigResource):
            if UNTOLD in (was, event.became):
                return NoEdit("brokers do not tell the value: set it again with KEY=? or KEY=@FILE")
            if update_mode(about.type, place.key) is UpdateMode.RESTART:
                return NoEdit(f"{clean(place.key, 100)} is in the broker's server.properties: change it there")
            return UnsetConfig(about, place.key) if was is None else SetConfig(about, place.key, was)
        case Kind.QUOTA if isinstance(about, QuotaEntity):
            return UnsetQuota(about, place.key) if was is None else SetQuota(about, place.key, float(was))
        case Kind.ACL if isinstance(about, Acl):
            return RemoveAcl(about) if was is None else AddAcl(about)
        case Kind.SCRAM if isinstance(about, ScramUser) and was is None:
            return DeleteScram(about)
        case Kind.VOTER if isinstance(about, VoterTarget) and was is None:
            return LeaveQuorum(about.id, about.directory_id)
        case _:
            return NoEdit(_no_way_back(event))


def _no_way_back(event: Event) -> str:
    match event.kind:
        case Kind.SCRAM:
            return "the old password is unknown: `scram set` sets a new one"
        case Kind.TOKEN if event.became is None:
            return "a token that is gone is gone: `token create` makes another one"
        case Kind.TOKEN:
            return "`token expire` ends it, `token renew` has it expire later"
        case Kind.TOPIC if event.became is None or event.place.key == ID:
            return "a deleted topic's records are gone: `create topic` makes an empty one"
        case Kind.TOPIC if event.was is None:
            return "`delete topic` deletes it, with all its records"
        case Kind.TOPIC:
            return "partitions can't be taken away again"
        case Kind.VOTER:
            return "`add voter` lets it vote again, while it runs"
        case Kind.LEADER:
            return "leaders are elected: `elect preferred` in Topics"
        case Kind.REPLICAS:
            return "`move` puts replicas on other brokers"
        case _:
            return "no request of a client made this change"
