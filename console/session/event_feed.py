"""Follow a session: convert each difference between two successive snapshots to an event, with its author if this
host's journal shows who made the change.

An author is never guessed: a change in the journal must have the same key and value, at a time that fits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from console.model.snapshot import Snapshot
from console.session.snapshot_reader import SessionEvent, SnapshotChanged
from console.triage import events as triage_events
from console.triage.facts import Author
from console.triage.judged_changes import warned_places

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)

MOST_PENDING = 100
"""Maximum number of pairs of snapshots that wait to be compared. If more arrive, the last ones are combined into one
pair; changes that were reverted within it are missed.
"""
MOST_TAKEN = 10_000
"""Maximum number of places for which the feed remembers the change that explained the last difference."""
_CHANGED_BY_EDITS = frozenset({*triage_events.Kind} - {triage_events.Kind.CONTROLLER, triage_events.Kind.ISR})


class _Pair(NamedTuple):
    old: Snapshot
    new: Snapshot
    at: datetime


class EventFeed:
    """The events of a session, from the creation of the feed on.

    Attributes:
        record: the latest events.
        problem: the reason why the journal can't be searched for authors; ``""`` if it can.
    """

    def __init__(self, session: Session, tell: Callable[[Sequence[triage_events.Event]], None]) -> None:
        """Create the feed; `run` starts it. tell: function called with new events, in order."""
        self._session = session
        self._tell = tell
        self._pending: deque[_Pair] = deque()
        self._wake = asyncio.Event()
        self._taken: dict[triage_events.Place, int] = {}
        self.record = triage_events.Record(datetime.now(UTC))
        self.problem = "" if session.context.journal else "this context keeps no journal"

    async def run(self) -> None:
        """Compare each new snapshot of the session with the one before, add the events found to `record` and pass
        them to `tell`, until cancelled.
        """
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
        # Comparing topics is the only slow part, as there may be 100,000. If both snapshots share the object, nothing
        # differs and no thread is needed.
        if pair.old.topics is pair.new.topics:
            differing = list(triage_events.differences(pair.old, pair.new))
        else:
            differing = await asyncio.to_thread(lambda: list(triage_events.differences(pair.old, pair.new)))
        if not differing:
            return
        authors = await self._authors(differing, pair)
        new_events = await asyncio.to_thread(_events, differing, pair, authors)
        self.record = self.record.with_events(new_events)
        self._tell(new_events)

    async def _authors(
        self, differences_: Sequence[triage_events.Difference], pair: _Pair
    ) -> Mapping[triage_events.Place, Author]:
        if not self._session.context.journal or not any(each.place.kind in _CHANGED_BY_EDITS for each in differences_):
            return {}
        from console.session.event_authors import authors
        from console.session.journal_changes import read_latest
        from console.session.snapshot_reader import Refused

        try:
            known = await read_latest(
                await self._session.journal(), lambda latest: authors(differences_, latest, *pair, self._taken)
            )
        except Refused as refused:
            self.problem = str(refused.failure)
            return {}
        except Exception as error:  # the problem is reported; the events are kept without authors
            log.exception("reading the journal for events")
            self.problem = str(error)
            return {}
        self.problem = ""
        taken = {**self._taken, **{place: author.number for place, author in known.items()}}
        self._taken = dict(list(taken.items())[-MOST_TAKEN:])
        return known


def _events(
    differing: Sequence[triage_events.Difference], pair: _Pair, authors: Mapping[triage_events.Place, Author]
) -> list[triage_events.Event]:
    warned = warned_places(differing, pair.old, pair.new)
    return triage_events.events(differing, *pair, authors, warned)


async def run_for(seconds: float | None, work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines concurrently until the time is over or one of them fails; then cancel all others. Raise the first
    error.

    Args:
        seconds: the maximum seconds to run; None to run until all coroutines have ended.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
