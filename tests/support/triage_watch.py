"""Polls a cluster as the console's triage does, until a verdict meets a condition."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.model.cluster import ReplicaLogs
from console.model.config import topic_resource
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Named, Verdict, diagnose
from console.triage.facts import Facts
from console.triage.observations import Observations, after, begin
from console.triage.symptoms import Subject
from tests.support.patience import PATIENCE

EVERY = 0.5
"""Seconds between two polls."""


class Watching:
    """Repeated polls of a cluster. observations, verdict: the results of the newest poll."""

    def __init__(self, poller: Poller, session: Session) -> None:
        self._poller = poller
        self._session = session
        self.observations: Observations | None = None
        self.verdict: Verdict | None = None

    @property
    def facts(self) -> Facts:
        """The facts of the newest poll that are not part of the snapshot."""
        return Facts() if self.observations is None else self.observations.last.facts

    def replica_logs(self, topic: str, partition: int) -> ReplicaLogs | None:
        """Return the replicas' logs of a partition that has no leader; None if they were not read."""
        return (
            None if self.observations is None else self.observations.last.snapshot.replica_logs.get((topic, partition))
        )

    def knows_configs_of(self, topic: str) -> bool:
        """Return whether the newest poll has the configs of a topic."""
        return self.observations is not None and topic_resource(topic) in self.observations.last.snapshot.configs

    async def reads_configs_of(self, *topics: str) -> None:
        """Read the configs of topics now. Triage itself reads them only every 5 s."""
        await self._session.read_configs([topic_resource(topic) for topic in topics])

    async def poll(self) -> Verdict:
        poll = await self._poller.poll()
        self.observations = begin(poll) if self.observations is None else after(self.observations, poll)
        self.verdict = diagnose(self.observations)
        return self.verdict

    async def until(self, holds: Callable[[Verdict], bool], what: str) -> Verdict:
        """Poll until a verdict meets a condition, and return the verdict. Raises AssertionError, which names `what`,
        after `PATIENCE` seconds.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not holds(verdict := await self.poll()):
            assert asyncio.get_running_loop().time() < deadline, f"no verdict with {what}: {verdict}"
            await asyncio.sleep(EVERY)
        return verdict

    async def names(self, cause: str, subject: Subject) -> Named:
        """Poll until a verdict names this cause of this subject, and return the named cause. Raises AssertionError
        after `PATIENCE` seconds.
        """
        verdict = await self.until(lambda v: found(v, cause, subject) is not None, f"{cause} of {subject}")
        named = found(verdict, cause, subject)
        assert named is not None
        return named

    async def poll_times(self, count: int) -> Verdict:
        """Poll `count` more times, `EVERY` seconds apart, and return the last verdict."""
        for _ in range(count):
            await asyncio.sleep(EVERY)
            verdict = await self.poll()
        return verdict


def found(verdict: Verdict, cause: str, subject: Subject) -> Named | None:
    return next((n for n in verdict.causes if (n.claim.cause, n.claim.subject) == (cause, subject)), None)


def causes(verdict: Verdict) -> set[tuple[str, Subject]]:
    """Return (cause, subject) of every cause in a verdict."""
    return {(named.claim.cause, named.claim.subject) for named in verdict.causes}


@asynccontextmanager
async def watching(
    settings: ConnectionSettings, request_logs: Sequence[Path] = (), *, journal: bool = False
) -> AsyncIterator[Watching]:
    """Connect to a cluster, and yield the object that polls it. request_logs: paths of its brokers' request logs.
    journal: whether to read this host's journal.
    """
    client = AdminClient(settings)
    client.start()
    try:
        session = Session(client, Context("test", "tests", settings, journal=journal))
        async with Poller(session, request_logs) as poller:
            yield Watching(poller, session)
    finally:
        client.close()


def bootstrap(addresses: Iterable[tuple[str, int]]) -> ConnectionSettings:
    """Return connection settings for brokers at these (host, port) that need no login."""
    return ConnectionSettings(bootstrap=tuple(addresses))
