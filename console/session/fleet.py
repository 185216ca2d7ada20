"""Looks at the clusters of all contexts: each at most once in 45 s (`PACE`), a few at a time, on read-only clients.

A cluster that does not answer delays no other one. kac prompts for nothing: a context whose secret the operator types
is left out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.admin.client import AdminClient
from console.admin.errors import AdminError, AuthenticationFailed
from console.contexts.context import BrokenContext, Context, ContextError
from console.contexts.secret_sources import asks_operator, unlocked
from console.log_file import INTERNAL
from console.model.failure import Failure
from console.present.fleet import FleetRow, Health, health
from console.session.muted_causes import of_this_user
from console.session.scheduler import Pace, Scheduled, Scheduler, Turn
from console.session.session import Session
from console.session.snapshot_reader import WALL, Refused
from console.session.triage_polls import Poller

if TYPE_CHECKING:
    from console.triage.diagnosis import Verdict
    from console.triage.observations import Observations

log = logging.getLogger(__name__)

PACE = Pace(45.0, from_begin=True)
AT_ONCE = 4
"""Maximum number of clusters that are read at the same time."""
LOOK_SECONDS = 20.0
"""Maximum seconds that a look waits for all parts; the verdict is then based on the parts that were read."""
SECRET_SECONDS = 10.0
"""Timeout of a command or a keyring with a secret."""
FINAL = (AuthenticationFailed, Refused, ContextError)
"""Errors after which kac does not try again by itself: wrong credentials, sent again and again, lock the account."""


class Looks:
    """The looks at one cluster, on a client that stays open between them until `close`. The secrets of the context are
    fetched once, and again only after a refused login."""

    def __init__(self, context: Context) -> None:
        """Create the looks at a cluster; the first look connects."""
        self._context = context
        self._unlocked: Context | None = None
        self._open: AsyncExitStack | None = None
        self._poller: Poller | None = None
        self._observations: Observations | None = None
        self._verdict: Verdict | None = None
        self._session: Session | None = None

    async def look(self) -> Health:
        """Read every part of the cluster and diagnose it, as ``kac triage`` does.

        Raises:
            AdminError: no broker answers, or they refuse the login.
            Refused: another cluster answers than the context expects.
            ContextError: a secret could not be fetched.
        """
        kept = self._unlocked
        try:
            return await self._look()
        except AuthenticationFailed:
            self._unlocked = None
            if kept is None:
                raise
            # A command's secret may have expired, so fetch it again. If the command returns the same secret, give up: a
            # second failed login could lock the account.
            await self.close()
            fetched = await self._fetched()
            if fetched.settings == kept.settings:
                raise
            self._unlocked = fetched
            try:
                return await self._look()
            except AuthenticationFailed:
                self._unlocked = None
                raise

    async def _look(self) -> Health:
        from console.triage.diagnosis import diagnose
        from console.triage.observations import after, begin

        if self._poller is None:
            await self._connect()
        assert self._poller is not None
        assert self._session is not None
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                poll = await self._poller.poll(whole=True)
        except TimeoutError:
            poll = await self._poller.poll()
        known = self._observations
        self._observations = (
            await asyncio.to_thread(begin, poll) if known is None else await asyncio.to_thread(after, known, poll)
        )
        self._verdict = await asyncio.to_thread(diagnose, self._observations, (), self._verdict)
        snapshot = self._session.snapshot
        muted = await asyncio.to_thread(of_this_user().read, snapshot.cluster.cluster_id or "")
        return await asyncio.to_thread(health, self._verdict, snapshot, muted)

    async def _fetched(self) -> Context:
        # The commands that fetch secrets can't prompt: no user waits at the terminal for one of many clusters.
        return await asyncio.to_thread(unlocked, self._context, ask=False, limit=SECRET_SECONDS)

    async def _connect(self) -> None:
        context = self._unlocked = self._unlocked or await self._fetched()
        client = AdminClient(replace(context.settings, read_only=True))
        self._open = AsyncExitStack()
        # The client's thread may need some seconds to end.
        self._open.push_async_callback(asyncio.to_thread, client.close)
        client.start()
        self._session = Session(client, replace(context, read_only=True), "fleet")
        self._poller = await self._open.enter_async_context(Poller(self._session))

    async def close(self) -> None:
        """Close the client, and forget the cluster, but not the secrets of its context."""
        opened, self._open, self._poller, self._session = self._open, None, None, None
        self._observations = self._verdict = None
        if opened is not None:
            await opened.aclose()


class Fleet(Scheduler):
    """The contexts, with the last look at each. `step` begins the looks that are due.

    rows: context -> its row, in the order of the contexts.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        """Create a fleet without contexts. changed: called after each look."""
        super().__init__(())
        self._changed = changed
        self._contexts: dict[str, Context] = {}
        self._looks: dict[str, Looks] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._failed_finally: set[str] = set()
        self.rows: dict[str, FleetRow] = {}

    def take(self, contexts: Sequence[Context | BrokenContext]) -> None:
        """Replace the contexts by the configured ones. Unchanged contexts keep their rows and the time of their next
        look. Broken contexts, and contexts that prompt for a secret, have a row but no looks.
        """
        known, self._contexts = self._contexts, {}
        rows: dict[str, FleetRow] = {}
        for each in contexts:
            row = FleetRow(each.name, each.origin)
            if isinstance(each, BrokenContext):
                rows[each.name] = row._replace(problem=each.problem)
            elif asks_operator(each.settings):
                rows[each.name] = row._replace(asks=True)
            else:
                self._contexts[each.name] = each
                if known.get(each.name) == each:
                    rows[each.name] = self.rows[each.name]
                else:
                    rows[each.name] = row
                    self._looks[each.name] = Looks(each)
                    self.put(Scheduled(each.name, PACE, partial(self._look, each.name)))
        self.rows = rows
        self.parts = tuple(part for part in self.parts if part.name in self._contexts)

    async def once(self) -> None:
        """Look at each cluster that is due, and wait for the end of the looks."""
        self.step()
        await asyncio.gather(*self._tasks.values())

    async def leave(self) -> None:
        """Cancel the looks under way and close all clients. The results of former looks stay; the next looks connect
        again.
        """
        await self.close()
        for name, row in self.rows.items():
            if name in self._turns and row.health is None and row.failure is None:
                self._turns[name] = Turn()  # its only look was cancelled
        self._failed_finally.clear()
        await asyncio.gather(*(each.close() for each in self._looks.values()))

    async def _look(self, name: str) -> None:
        if name in self._failed_finally:
            return
        async with self._gate:
            try:
                found = await self._looks[name].look()
            except (AdminError, Refused):
                raise
            except ContextError as error:
                raise AdminError(Failure("CONTEXT", str(error))) from error
            except Exception as error:  # one cluster's unexpected error is shown in its row and must not end the others
                log.exception("looking at %s", name)
                raise AdminError(Failure("INTERNAL", INTERNAL)) from error
        row = self.rows[name]._replace(health=found, failure=None, since=None, is_refused=False)
        self.rows = {**self.rows, name: row}
        self._changed()

    async def _failed(self, part: Scheduled, error: Exception) -> Failure:
        """Note the reason why a cluster does not answer, and since when."""
        failure = await super()._failed(part, error)
        is_refused = isinstance(error, FINAL) or isinstance(error.__cause__, FINAL)
        if is_refused:
            self._failed_finally.add(part.name)
        row = self.rows[part.name]
        since = row.since or (row.health.at if row.health is not None else WALL.now())
        self.rows = {**self.rows, part.name: row._replace(failure=failure, since=since, is_refused=is_refused)}
        self._changed()
        return failure
