"""Watches the cluster for the pane of causes: a look every few seconds, and the verdict over all of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.worker import Worker

    from console.admin.errors import AdminError
    from console.model.failure import Failure
    from console.session.session import Session
    from console.session.snapshot_reader import Refused
    from console.session.triage_looks import Looker
    from console.triage.course import Course
    from console.triage.diagnosis import Verdict
    from console.tui.reading import Reading

log = logging.getLogger(__name__)

REST = 10
"""A verdict that took t seconds is followed by at least so many times t without one."""


class Shown(Protocol):
    """A view."""

    def update(self) -> None:
        """Draw again what is made of another verdict."""
        ...


class WatchHost(Protocol):
    """What `Watch` needs of the app."""

    @property
    def session(self) -> Session:
        """The session that is shown."""
        ...

    @property
    def view(self) -> Shown:
        """The view that is shown."""
        ...

    @property
    def reading(self) -> Reading:
        """When the screen reads what."""
        ...

    @property
    def paused(self) -> bool:
        """Whether the live refresh is stopped."""
        ...

    def start(
        self, work: Callable[[], Coroutine[Any, Any, None]], *, group: str, name: str, exclusive: bool = False
    ) -> Worker[None]:
        """Run a coroutine function as a worker of the app."""
        ...


class Watch:
    """Begins when the pane of causes is first shown, and goes on beside all others, so that what it names has a time.

    course, verdict: of the last look, None before the first. lost: why no broker answers now, None while one does."""

    def __init__(self, host: WatchHost) -> None:
        self._host = host
        self._worker: Worker[None] | None = None
        self.course: Course | None = None
        self.verdict: Verdict | None = None
        self.lost: Failure | None = None
        self._next = 0.0

    def begin(self) -> None:
        """Watch from now on."""
        if self._worker is None or self._worker.is_finished:
            self._worker = self._host.start(self._run, group="watch", name="watch")

    async def _run(self) -> None:
        from console.admin.errors import AdminError
        from console.session.snapshot_reader import Refused
        from console.session.triage_looks import EVERY, Looker

        async with Looker(self._host.session) as looker:
            while True:
                if self._host.paused or self._host.reading.held:
                    await asyncio.sleep(EVERY)
                    continue
                try:
                    await self._look(looker)
                except (AdminError, Refused) as error:
                    self._has_lost(error)
                await looker.rest()

    def _has_lost(self, error: AdminError | Refused) -> None:
        """The verdict is of the past now. The header finds that out by its own reads, at once."""
        if self.lost is None:
            log.warning("triage: %s", error.failure)
            self._host.reading.now()
        self.lost = error.failure
        self._host.view.update()

    async def _look(self, looker: Looker) -> None:
        """Look, and judge. Raises AdminError and Refused."""
        from console.triage.course import after, begin
        from console.triage.diagnosis import diagnose

        look = await looker.look()
        if self.lost is not None:
            self.lost = None
            self._host.reading.now()
        if (now := time.monotonic()) < self._next:
            return
        known = self.course
        course = await (asyncio.to_thread(begin, look) if known is None else asyncio.to_thread(after, known, look))
        self.verdict = _steady(self.verdict, await asyncio.to_thread(diagnose, course))
        self.course = course
        self._next = time.monotonic() + REST * (time.monotonic() - now)
        self._host.view.update()


def _steady(before: Verdict | None, now: Verdict) -> Verdict:
    """The verdict with what is equal to that before as the very same objects: a view draws nothing for them."""
    from msgspec.structs import asdict, replace

    known = asdict(before) if before is not None else {}
    same = {name: known[name] for name, value in asdict(now).items() if known.get(name) == value}
    return replace(now, **same)
