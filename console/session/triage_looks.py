"""Reads what triage looks at: the brokers, partitions and groups on each look, the rest now and then.

A part that a broker is slow with holds up no look: it is read on, and what it brings counts in a later one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from console.language.needs import Needs
from console.model import snapshot as refresh
from console.model.codes import BROKER, TOPIC
from console.model.config import CLUSTER_DEFAULT
from console.model.snapshot import Snapshot
from console.session.reading import read_needs
from console.session.session import Session
from console.triage.symptoms import Look

LOOK_SECONDS = 2.0
"""The longest that a look waits for its parts, and the time in which a broker has to answer ApiVersions."""
MOST_GROUPS = 500
"""Groups whose offsets are read in a round; of more, the next round reads others."""

_CONFIGS = Needs(every=frozenset({BROKER, TOPIC}), resources=frozenset({CLUSTER_DEFAULT}))


class _Part(NamedTuple):
    """What is read together. every: seconds between two reads, 0 for each look."""

    name: str
    every: float
    read: Callable[[], Awaitable[object]]


class Looker:
    """Takes one look after another at a session's cluster; use as an async context manager."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._next_group = ""
        self._silent: frozenset[int] = frozenset()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._began: dict[str, float] = {}
        self._parts = (
            _Part("cluster", 0, session.read_cluster),
            _Part("quorum", 0, session.read_quorum),
            _Part("topics", 0, session.read_topics),
            _Part("silent", 0, self._ask_brokers),
            _Part("groups", 0, session.read_groups),
            _Part("reassignments", 10, session.read_reassignments),
            _Part("log_dirs", 10, session.read_log_dirs),
            _Part("offsets", 5, self._read_offsets),
            _Part("configs", 60, lambda: read_needs(session, _CONFIGS)),
        )

    async def __aenter__(self) -> Looker:
        return self

    async def __aexit__(self, *_: object) -> None:
        """End what is still read."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def look(self) -> Look:
        """Read, and return what was found. Raises AdminError if no broker answers; before the first answer it waits for
        every part."""
        is_first = "cluster" not in self._session.snapshot.read_at
        if is_first:
            await self._session.read_cluster()
        now = time.monotonic()
        for part in self._parts:
            running = self._tasks.get(part.name)
            if (running is None or running.done()) and now - self._began.get(part.name, float("-inf")) >= part.every:
                self._began[part.name] = now
                self._tasks[part.name] = asyncio.create_task(self._read(part))
        await asyncio.wait(self._tasks.values(), timeout=None if is_first else LOOK_SECONDS)
        return Look(datetime.now(UTC), self._session.snapshot, self._silent)

    async def _read(self, part: _Part) -> None:
        """Read a part; that it could not be read is kept in the snapshot's failures."""
        from console.admin.errors import AdminError

        try:
            await part.read()
        except AdminError as error:
            why = [("", error.failure)]
            self._session.learn(lambda snapshot: refresh.with_failures(snapshot, part.name, why), part.name)

    async def _ask_brokers(self) -> None:
        self._silent = await self._session.silent_brokers(LOOK_SECONDS * 0.75)

    async def _read_offsets(self) -> None:
        """Read the offsets of the next groups, in turn where there are many, and where their logs begin."""
        names = sorted(self._session.snapshot.groups)
        later = [name for name in names if name >= self._next_group]
        chosen = (later + [name for name in names if name < self._next_group])[:MOST_GROUPS]
        self._next_group = chosen[-1] + "\0" if chosen else ""
        await self._session.look_at_groups(chosen)
        if places := _behind(self._session.snapshot, chosen):
            await self._session.read_log_ranges(places)


def _behind(snapshot: Snapshot, groups: Iterable[str]) -> list[tuple[str, int]]:
    """The partitions where groups have records to read: only there can a log begin behind their offset."""
    found = {
        (each.topic, each.partition)
        for name in groups
        if (lag := snapshot.lags.get(name)) is not None
        for each in lag.partitions
        if each.lag > 0
    }
    return sorted(found)
