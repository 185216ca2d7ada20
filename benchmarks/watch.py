"""Polls a cluster as the console's pane Now does, with a verdict after each poll, and a flight record."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self

from benchmarks.faults.load import now_ms
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.flight.answer import Header
from console.flight.flight_writer import FlightWriter
from console.flight.recorder import Recorder
from console.flight.tap import Tap
from console.model.config import ConfigPlace
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from console.triage.symptoms import Subject

Tell = Callable[[Verdict, Observations], None]


class Watch:
    """A new session of kac that polls a cluster, as if the console had just been opened; an async context manager."""

    def __init__(
        self,
        name: str,
        settings: ConnectionSettings,
        tell: Tell,
        *,
        lost: Callable[[AdminError], None] = lambda _error: None,
        expected: Sequence[Subject] = (),
        record: tuple[Path, str, str] | None = None,
        request_logs: Sequence[Path] = (),
        throttles: frozenset[ConfigPlace] = frozenset(),
    ) -> None:
        """Keep the arguments; connections and files are opened when the context manager is entered.

        Args:
            name: of the session's context.
            tell: called with each verdict.
            lost: called at each poll that no broker answers.
            expected: subjects whose trouble the context announces.
            record: a file for the brokers' responses, with the cluster's id and version; None to record nothing.
            request_logs: paths of request logs to read.
            throttles: throttles that the context declares as intended.
        """
        self._name, self._tell, self._lost, self._expected = name, tell, lost, expected
        self._recorder, self._record = Recorder(), record
        self._client = AdminClient(settings, Tap(self._recorder.take) if record is not None else None)
        context = Context(name, name, settings, journal=False, throttles=throttles)
        self._poller = Poller(Session(self._client, context), request_logs)
        self._observations: Observations | None = None

    async def __aenter__(self) -> Self:
        self._client.start()
        if self._record is not None:
            file, cluster_id, version = self._record
            file.unlink(missing_ok=True)
            header = Header(cluster_id, self._name, now_ms(), version)
            self._recorder.begin(lambda: FlightWriter(file, header, append=False))
        await self._poller.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._poller.__aexit__(*error)
        await asyncio.to_thread(self._client.close)
        await asyncio.to_thread(self._recorder.close)

    async def poll_for(self, seconds: float) -> None:
        """Poll for `seconds` seconds."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            await self.poll_again()

    async def poll_during(self, work: Awaitable[object]) -> None:
        """Poll until `work` is done. Raises the exceptions of `work`."""
        working = asyncio.ensure_future(work)
        try:
            while not working.done():
                await self.poll_again()
        finally:
            await working

    async def poll_again(self) -> None:
        """Wait until the next poll is due, and poll once. Call `tell` with the verdict, or `lost` with the error if no
        broker answers.
        """
        if self._observations is not None:
            await self._poller.rest()
        try:
            poll = await self._poller.poll()
        except AdminError as error:
            self._lost(error)
            return  # no broker answers: the next poll tries again
        self._observations = begin(poll) if self._observations is None else after(self._observations, poll)
        self._tell(await asyncio.to_thread(diagnose, self._observations, self._expected), self._observations)


def commit() -> str:
    """Return the git commit of this code; ``""`` if it is unknown."""
    done = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
