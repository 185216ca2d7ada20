"""Reads and diagnoses the clusters of all contexts: each at most once in `PACE` (45 s), a few at the same time, with
read-only clients.

A cluster that does not answer delays no other one. kac asks for nothing: a context whose secret the operator has to
type is left out.
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
"""Maximum seconds for the read of one cluster; the diagnosis is then based on the parts that were read."""
SECRET_SECONDS = 10.0
"""Maximum seconds for a command or a keyring to return a secret."""
FINAL = (AuthenticationFailed, Refused, ContextError)
"""Errors after which a cluster is not read again automatically. Wrong credentials, for example, would lock the account
if they were sent repeatedly.
"""


class Looks:
    """Repeated reads of one cluster. The client stays open between them until `close`. The secrets of the context are
    fetched once, and again only after a refused login.
    """

    def __init__(self, context: Context) -> None:
        """Prepare the reads of a context's cluster; the first `look` connects."""
        self._context = context
        self._unlocked: Context | None = None
        self._open: AsyncExitStack | None = None
        self._poller: Poller | None = None
        self._observations: Observations | None = None
        self._verdict: Verdict | None = None
        self._session: Session | None = None

    async def look(self) -> Health:
        """Read every part of the cluster and diagnose it, as ``kac triage`` does. Return the diagnosis.

        Raises:
            AdminError: no broker answers, or the brokers refuse the login.
            Refused: the cluster is not the one that the context expects.
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
        """Close the client and drop what was read of the cluster, but keep the secrets of the context."""
        opened, self._open, self._poller, self._session = self._open, None, None, None
        self._observations = self._verdict = None
        if opened is not None:
            await opened.aclose()


class Fleet(Scheduler):
    """All contexts, with the last diagnosis of each. `step` begins the reads that are due.

    rows: context -> its row of the overview, in the order of the contexts.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        """Create a fleet without contexts. changed: function called after each read of a cluster."""
        super().__init__(())
        self._changed = changed
        self._contexts: dict[str, Context] = {}
        self._looks: dict[str, Looks] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._failed_finally: set[str] = set()
        self.rows: dict[str, FleetRow] = {}

    def take(self, contexts: Sequence[Context | BrokenContext]) -> None:
        """Set the configured contexts. Contexts that are unchanged keep their row and the time of their next read.
        Broken contexts, and contexts that prompt for a secret, get a row but are never read.
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
        """Read each cluster that is due, and wait until all these reads have ended."""
        self.step()
        await asyncio.gather(*self._tasks.values())

    async def leave(self) -> None:
        """Cancel the current reads and close all clients. The diagnoses stay; later reads connect again."""
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
        """Store in the context's row why the cluster does not answer, and since when. Return that failure."""
        failure = await super()._failed(part, error)
        is_refused = isinstance(error, FINAL) or isinstance(error.__cause__, FINAL)
        if is_refused:
            self._failed_finally.add(part.name)
        row = self.rows[part.name]
        since = row.since or (row.health.at if row.health is not None else WALL.now())
        self.rows = {**self.rows, part.name: row._replace(failure=failure, since=since, is_refused=is_refused)}
        self._changed()
        return failure
