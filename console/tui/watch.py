"""Watches the cluster for the pane of causes: a look every few seconds, and the verdict over all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.worker import Worker

    from console.session.session import Session
    from console.session.triage_looks import Looker
    from console.triage.course import Course
    from console.triage.diagnosis import Verdict

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two looks."""


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

    course, verdict: of the last look, None before the first."""

    def __init__(self, host: WatchHost) -> None:
        self._host = host
        self._worker: Worker[None] | None = None
        self.course: Course | None = None
        self.verdict: Verdict | None = None

    def begin(self) -> None:
        """Watch from now on."""
        if self._worker is None or self._worker.is_finished:
            self._worker = self._host.start(self._run, group="watch", name="watch")

    async def _run(self) -> None:
        from console.session.triage_looks import Looker

        async with Looker(self._host.session) as looker:
            while True:
                if not self._host.paused:
                    await self._look(looker)
                await asyncio.sleep(EVERY)

    async def _look(self, looker: Looker) -> None:
        from console.admin.errors import AdminError
        from console.session.snapshot_reader import Refused
        from console.triage.course import after, begin
        from console.triage.diagnosis import diagnose

        try:
            look = await looker.look()
        except (AdminError, Refused) as error:
            log.info("triage: %s", error.failure)  # the header says that no broker answers
            return
        known = self.course
        course = await (asyncio.to_thread(begin, look) if known is None else asyncio.to_thread(after, known, look))
        self.verdict = await asyncio.to_thread(diagnose, course)
        self.course = course
        self._host.view.update()
