"""The reads for the visible view, on each tick and in between, and the check which brokers answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.message import Message

from console.admin.errors import AdminError, AuthenticationFailed
from console.log_file import INTERNAL
from console.model.failure import Failure
from console.model.parts import Part
from console.present.columns import clock
from console.session.kept_record import return_large_blocks
from console.session.scheduler import Pace, Scheduled
from console.session.snapshot_reader import Refused
from console.tui.places import Place
from console.tui.reading import MORE, VIEW, Reading, StatusMessage, start

if TYPE_CHECKING:
    from textual.app import App

    from console.tui.panes.view import View
    from console.tui.prefetch import SessionFactory
    from console.tui.watch import ShownCluster

PATIENCE = 5.0
"""Seconds without a response after which kac sends each broker a small request. After the same time without a response
to any of these, the cluster counts as not answering.
"""
MORE_AFTER = 0.5
"""Seconds for which `View.read_more` of a new view waits, so that the view's rows are read first."""
LONGEST_POLL = 10.0
"""Seconds. A poll counts as late after twice the duration of the last one, but not before `PATIENCE`; a last poll
longer than this counts as this long.
"""

log = logging.getLogger(__name__)


class ClusterReached(Message):
    """Posted when the cluster answered a poll for a place.

    Attributes:
        silent: the ids of the brokers that do not answer.
        unread: the reason why the place's data could not be read; None if they were read.
        since: the time of the last successful read of these data, or of the first attempt, UTC.
    """

    def __init__(self, silent: frozenset[int], place: Place, since: datetime, unread: Failure | None = None) -> None:
        self.silent = silent
        self.place = place
        self.since = since
        self.unread = unread
        super().__init__()


class ClusterLost(Message):
    """Posted when no broker answered a poll and the requests after it.

    final: whether kac must not try again by itself; wrong credentials, for example, may lock the account.
    """

    def __init__(self, failure: Failure, final: bool) -> None:
        self.failure = failure
        self.final = final
        super().__init__()


FIRST_ANSWERS = 2.0
"""Maximum seconds for which other reads, and the import of triage, wait for the prefetched responses."""


class FirstReads:
    """Starts the first reads of a console: first those of `SessionFactory`, then the reads that run until the console
    exits.
    """

    def __init__(self, app: App[Any], cluster: ShownCluster, prefetched: SessionFactory | None) -> None:
        """Create the object; `begin` starts the reads.

        Args:
            app: the app, which runs the workers.
            cluster: the visible session and its reads.
            prefetched: begins the first reads; None for ordinary first reads.
        """
        self._app, self._cluster, self._prefetched = app, cluster, prefetched

    def begin(self) -> None:
        """Start the reads once the first frame is drawn."""
        if self._prefetched is None:
            self._go_live()
            return
        self._prefetched.begin()
        start(self._app, self._first_rows, group="first", name="first")

    async def _first_rows(self) -> None:
        assert self._prefetched is not None
        session, reading = self._cluster.session, self._cluster.reading
        if await self._prefetched.arrived(FIRST_ANSWERS):
            with self._app.batch_update():  # paint the first rows once, with brokers and topics
                await session.read_cluster()
                await session.read_whole(Part.QUORUM if reading.at_controllers else Part.TOPICS)
        # Begin all other reads only once the first rows are painted.
        self._app.call_after_refresh(self._go_live)

    def _go_live(self) -> None:
        return_large_blocks()
        start(self._app, self._cluster.reading.reads.run, group="live", name="live")
        self._cluster.half_hour.begin()
        if self._cluster.reading.at_controllers or self._cluster.triage.request_logs:
            # A context for brokers opens on Now, which starts triage. A context for controllers opens on the quorum,
            # and its header has the number of causes. Triage also reads request logs, whatever pane is open.
            self._cluster.triage.begin()


class Polling:
    """Reads for the visible view, as two scheduled parts: `View.read` on every tick, and `View.read_more` less often.

    Hidden views read nothing. Failures are shown, and the reads continue.
    """

    def __init__(self, reading: Reading, view: Callable[[], View], post: Callable[[Message], bool]) -> None:
        """Create the polling; the first read waits until `Reading.reads` runs.

        Args:
            reading: the reads that views share.
            view: returns the visible view.
            post: posts a message to the app.
        """
        self._reading, self._session = reading, reading.session
        self._view = view
        self._post = post
        self._lost_since_asked = False
        self._silent: frozenset[int] = frozenset()
        self._was_read = (view().place, reading.session.clock.now())
        self._reads_take = 0.0
        # Use `from_begin`: after a failed poll there is no pause in proportion to its duration. A poll that waited for
        # silent brokers takes long, and the screen should soon show that they answer again.
        reading.reads.put(Scheduled(VIEW, Pace(reading.refresh, from_begin=True), self._read, in_view=True))
        reading.tick()

    async def _read(self) -> None:
        """Poll the cluster once for the visible view, and post the outcome. Raises AdminError or Refused if the view
        could not be read, or if no broker answers.
        """
        if self._was_read[0] != (place := self._view().place):
            self._was_read = place, self._session.clock.now()
        known = self._session.snapshot
        self._lost_since_asked = False
        poll = asyncio.ensure_future(self._read_view())
        try:
            if not await self._wait_for(poll):
                return
            if (error := poll.exception()) is not None:
                await self._failed(error)
        finally:
            poll.cancel()
        if self._reading.lost and (self._lost_since_asked or self._session.snapshot.read_at is known.read_at):
            # Check explicitly whether brokers answer again: the poll's responses may be from before the loss, or the
            # view may have read nothing from the cluster.
            await self._find_silent()
        elif self._session.snapshot is not known:
            self._reading.lost = False
            self._was_read = place, self._session.clock.now()
            if self._silent:
                await self._find_silent()
            else:
                self._reached()

    async def _wait_for(self, poll: asyncio.Future[None]) -> bool:
        """Wait until a poll has a result or an error. If it is late, check which brokers answer at all.

        Returns:
            True if the poll has ended. False if it must be given up for another one on new connections: brokers answer
            again, other brokers than before answer, or the operator refreshed or opened another view.
        """
        from console.admin import cluster

        loop = asyncio.get_running_loop()
        began, at = loop.time(), self._session.clock.now()
        patience = max(PATIENCE, 2 * self._reads_take)
        while not (await asyncio.wait({poll}, timeout=patience))[0]:
            were_lost, were_silent = self._reading.lost, self._silent
            late = f"asked at {clock(at)}, not answered yet"
            asked = "controllers" if self._reading.at_controllers else "brokers"
            others = Failure("TIMED_OUT", late, f"The {asked} answer other requests; r asks again.")
            heard = await self._is_heard(others)
            if heard and (were_lost or self._silent != were_silent or self._reading.reads.is_asked(VIEW)):
                await self._session.client.run(cluster.reconnect)
                self._reading.tick()
                return False
            patience = PATIENCE
        self._reads_take = min(loop.time() - began, LONGEST_POLL)
        return True

    async def _failed(self, error: BaseException) -> None:
        """Post the reason why a poll failed, and raise its error."""

        if isinstance(error, AuthenticationFailed | Refused):
            self._lost(error.failure, final=True)
        elif isinstance(error, AdminError):
            await self._is_heard(error.failure)
        else:
            self._post(StatusMessage(INTERNAL, "failed"))
        raise error

    async def _is_heard(self, unread: Failure | None = None) -> bool:
        """Check which brokers answer, as `_find_silent` does. Return whether at least one answers; False also after an
        error.
        """

        try:
            await self._find_silent(unread)
        except AdminError:
            return False
        except Exception:  # the reads have to continue after any error
            log.exception("asking which brokers answer")
            return False
        return True

    async def _find_silent(self, unread: Failure | None = None) -> None:
        """Check which brokers answer, and post that. Raises AdminError if none answers.

        Args:
            unread: the reason why the poll itself failed; None if it did not.
        """
        from console.admin import cluster

        try:
            self._silent = await self._session.client.run(cluster.silent_brokers, PATIENCE)
        except AdminError as error:
            # Prefer the error of this request to the poll's if that is only a timeout, which says less.
            known = unread is not None and unread.name != "TIMED_OUT"
            self._lost(unread if unread and known else error.failure, final=isinstance(error, AuthenticationFailed))
            raise
        self._reading.lost = False
        self._reached(unread)

    def _lost(self, failure: Failure, final: bool) -> None:
        self._reading.lost = self._lost_since_asked = True
        self._post(ClusterLost(failure, final))

    def _reached(self, unread: Failure | None = None) -> None:
        self._post(ClusterReached(self._silent, *self._was_read, unread))

    async def _read_view(self) -> None:
        """Read the view's data; at the first poll also the cluster's nodes."""
        session, view = self._session, self._view()
        if not (session.snapshot.cluster.brokers or session.snapshot.cluster.controllers):
            await asyncio.gather(session.read_cluster(), view.read())
            if not self._reading.lost:
                self._reached()  # the other reads may wait for a broker that hangs
        else:
            await view.read()

    @property
    def rests(self) -> bool:
        """Whether all data of the view have been read, and the next tick is not due."""
        return self._reading.resting and self._reading.reads.rests(MORE)

    def restart_slow(self) -> None:
        """Run `View.read_more` again from the start, because another view is shown or the operator refreshed."""
        view = self._view()
        pace = Pace(self._reading.refresh * view.MORE_EVERY)
        self._reading.reads.put(Scheduled(MORE, pace, view.read_more, in_view=True, may=view.known), MORE_AFTER)
