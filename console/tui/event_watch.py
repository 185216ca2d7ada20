"""Records the session's events for the events pane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

from console.tui.reading import start

if TYPE_CHECKING:
    from textual.app import App

    from console.model.snapshot import Snapshot
    from console.session.event_feed import EventFeed
    from console.triage.events import Event, Record
    from console.tui.reading import Reading

AGES_EVERY = timedelta(seconds=5)
"""Maximum age of the cached result of `EventWatch.gaps` while the snapshot does not change."""


class EventWatch:
    """Records the changes of the cluster as events, from its first response on, whatever view is visible."""

    def __init__(self, app: App[Any], reading: Reading, redraw: Callable[[], None]) -> None:
        """Create the watch; `begin` starts its worker.

        Args:
            app: the app, which runs the worker.
            reading: the reads, whose session is observed.
            redraw: redraws the visible view.
        """
        self._app, self._session, self._redraw = app, reading.session, redraw
        self._feed: EventFeed | None = None
        self._has_begun = False
        self._gaps: tuple[Snapshot | None, datetime, list[str]] = (None, datetime.now(UTC), [])

    @property
    def record(self) -> Record | None:
        """The events so far; None before the recording has begun."""
        return self._feed.record if self._feed is not None else None

    @property
    def problem(self) -> str:
        """The reason why kac can't find out who made a change; ``""`` if it can."""
        return self._feed.problem if self._feed is not None else ""

    def gaps(self) -> list[str]:
        """Return the kinds of data in which changes are not observed now, a few words each; empty if all are
        observed.
        """
        from console.session.event_reads import gaps

        snapshot, now = self._session.snapshot, datetime.now(UTC)
        if self._gaps[0] is not snapshot or now - self._gaps[1] > AGES_EVERY:
            self._gaps = (snapshot, now, gaps(snapshot, self._session.context.settings, now))
        return self._gaps[2]

    def begin(self) -> None:
        """Start to record events; no-op if that was started before."""
        if not self._has_begun:
            self._has_begun = True
            start(self._app, self._run, group="events", name="events")

    async def _run(self) -> None:
        # Import in a thread: these imports take a while and must not delay a key.
        feed = await asyncio.to_thread(import_module, "console.session.event_feed")
        self._feed = feed.EventFeed(self._session, self._tell)
        self._tell(())
        await self._feed.run()

    def _tell(self, _made: Sequence[Event]) -> None:
        self._redraw()
