"""Reads what triage looks at: the brokers, partitions and groups on each look, the rest now and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from console.language.needs import Needs
from console.model.codes import BROKER, TOPIC
from console.model.config import CLUSTER_DEFAULT
from console.model.snapshot import Snapshot
from console.session.reading import read_needs
from console.session.session import Session
from console.triage.symptoms import Look

SLOW_SECONDS = 10.0
"""Seconds between reads of reassignments, log directories and offsets of groups."""
CONFIG_SECONDS = 60.0
"""Seconds between reads of configs."""
SILENT_SECONDS = 2.0
"""Seconds in which a broker has to answer ApiVersions."""
MOST_GROUPS = 500
"""Groups whose offsets are read in a round; of more, the next round reads others."""

_OFTEN = Needs(parts=frozenset({"cluster", "quorum", "topics", "groups"}))
_CONFIGS = Needs(every=frozenset({BROKER, TOPIC}), resources=frozenset({CLUSTER_DEFAULT}))


class Looker:
    """Takes one look after another at a session's cluster."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._slow_at = float("-inf")
        self._configs_at = float("-inf")
        self._next_group = ""
        self._read_groups: set[str] = set()

    async def look(self) -> Look:
        """Read, and return what was found. Raises AdminError if no broker answers."""
        session = self._session
        now = time.monotonic()
        await read_needs(session, _OFTEN)
        silent = await session.silent_brokers(SILENT_SECONDS)
        lags: frozenset[str] = frozenset()
        if now - self._slow_at >= SLOW_SECONDS:
            self._slow_at = now
            await asyncio.gather(session.read_reassignments(), session.read_log_dirs())
            lags = await self._offsets()
        if now - self._configs_at >= CONFIG_SECONDS:
            self._configs_at = now
            await read_needs(session, _CONFIGS)
        return Look(datetime.now(UTC), session.snapshot, silent, lags)

    async def _offsets(self) -> frozenset[str]:
        """Read the offsets of the next groups, in turn where there are many, and where their logs begin."""
        names = sorted(self._session.snapshot.groups)
        later = [name for name in names if name >= self._next_group]
        chosen = (later + [name for name in names if name < self._next_group])[:MOST_GROUPS]
        self._next_group = chosen[-1] + "\0" if chosen else ""
        await self._session.look_at_groups(chosen)
        places = _behind(self._session.snapshot, chosen)
        if places:
            await self._session.read_log_ranges(places)
        return frozenset(chosen)


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


WAIT = timedelta(seconds=2)
"""Between two looks."""
