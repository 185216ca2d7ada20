"""Reads in turn what others may change and no view shows, each part at its own pace and at a bounded cost.

A part that was just read for something else is not read again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from console.model.codes import IN_RESOURCE_LISTS, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.present.names import plural

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)

STEP = 1.0
"""Seconds between two checks of what is due."""
REST = 10
"""A part that took t seconds to read is not read again for this many times t, and not for more than LONGEST_REST
seconds: what a slow network or a busy host adds to t costs the brokers nothing."""
LONGEST_REST = 10.0
CHUNK = 1_000
"""Resources whose configs are read at once: with LONGEST_REST, those of 5,000 topics take less than a minute."""
AT_A_TIME = 2_000
"""Resources that are looked at before keys and answers have their turn: to look at 100,000 takes 0.3 s."""
FEW = 100
"""Resources whose configs may be read every few seconds: an answer of some hundred kilobytes."""
OLD = timedelta(seconds=120)
"""What was read longer ago is said to be behind."""


class Paces(NamedTuple):
    """Seconds between two reads of a part: of brokers, the quorum and topics; of the configs of each resource; …

    few_configs: the same of configs where at most FEW resources have some.
    """

    cluster: float
    groups: float = 5.0
    quotas: float = 20.0
    acls: float = 20.0
    scram: float = 30.0
    tokens: float = 30.0
    configs: float = 50.0
    few_configs: float = 50.0


FOR_EVENTS = Paces(cluster=2.0, few_configs=5.0)
"""Of commands that watch for changes, and nothing else."""


class _Part(NamedTuple):
    """What is read together. every: seconds between two reads."""

    name: str
    every: float
    read: Callable[[], Awaitable[None]]


class ReadsInTurn:
    """Reads what can change, until cancelled.

    problems: part -> why it is not watched.
    """

    def __init__(self, session: Session, paces: Paces, may_read: Callable[[], bool] = lambda: True) -> None:
        """Read at these paces, while `may_read` allows that a read begins."""
        self._session = session
        self._paces = paces
        self._may_read = may_read
        self._listed: tuple[ConfigResource, ...] = ()
        self._next: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.problems: Mapping[str, str] = {}
        self._parts: tuple[_Part, ...] = (
            _Part(Part.CLUSTER, paces.cluster, session.read_cluster),
            _Part(Part.QUORUM, paces.cluster, session.read_quorum),
            _Part(Part.TOPICS, paces.cluster, session.read_topics),
            _Part(Part.GROUPS, paces.groups, session.read_groups),
            _Part(Part.QUOTAS, paces.quotas, self._read_quotas),
            _Part(Part.ACLS, paces.acls, session.read_acls),
            _Part(Part.SCRAM, paces.scram, self._read_scram),
            _Part(Part.TOKENS, paces.tokens, self._read_tokens),
            _Part("listed", paces.configs, self._list),
            _Part("brokers' configs", STEP, self._read_brokers),
            _Part(Part.CONFIGS, STEP, self._read_configs),
        )
        if session.context.settings.controllers:
            self._parts = self._parts[:2]  # controllers know nothing else that changes

    @property
    def configs_every(self) -> float:
        """Seconds between two reads of the configs of a resource."""
        snapshot = self._session.snapshot
        count = len(snapshot.topics) + len(snapshot.cluster.brokers) + len(self._listed)
        return self._paces.few_configs if count <= FEW else self._paces.configs

    async def run(self) -> None:
        """Read until cancelled. A part that a broker is slow with does not delay the others."""
        try:
            while True:
                if self._may_read():
                    self._begin()
                await asyncio.sleep(STEP)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _begin(self) -> None:
        now, today = time.monotonic(), datetime.now(UTC)
        for part in self._parts:
            running = self._tasks.get(part.name)
            if (running is not None and not running.done()) or now < self._next.get(part.name, 0.0):
                continue
            # A part that was read for a view a moment ago counts as read; configs have a time for each resource
            # instead.
            read_at = self._session.snapshot.read_at.get(part.name) if part.name != Part.CONFIGS else None
            age = (today - read_at).total_seconds() if read_at is not None else part.every
            # A clock that was set back would give a negative age: then it is read.
            if 0 <= age < part.every:
                self._next[part.name] = now + part.every - age
            else:
                self._tasks[part.name] = asyncio.create_task(self._read(part))

    async def _read(self, part: _Part) -> None:
        from console.admin.errors import AdminError
        from console.session.snapshot_reader import Refused

        began = time.monotonic()
        problem = ""
        try:
            await part.read()
        except (AdminError, Refused) as error:
            problem = error.failure.message or error.failure.name
            log.info("reading %s in turn: %s", part.name, error.failure)
        except Exception:  # the others have to go on, whatever one read ran into
            log.exception("reading %s in turn", part.name)
            problem = "an internal error; the log has it"
        if problem != self.problems.get(part.name, ""):
            self.problems = {**self.problems, part.name: problem}
        now = time.monotonic()
        self._next[part.name] = now + max(part.every, min(REST * (now - began), LONGEST_REST))

    async def _read_quotas(self) -> None:
        """Read all quotas; where they are very many, none, which `gaps` reports."""
        if not self._session.snapshot.quotas_sparse:
            await self._session.poll_quotas()

    async def _read_scram(self) -> None:
        from console.session.snapshot_reader import read_scram

        await self._session.keep(read_scram(self._session.client))

    async def _read_tokens(self) -> None:
        """Read the delegation tokens once a view has read them: most clusters have none, and tell of none without a
        login."""
        from console.session.snapshot_reader import read_tokens

        if Part.TOKENS in self._session.snapshot.read_at:
            await self._session.keep(read_tokens(self._session.client))

    async def _list(self) -> None:
        """List the groups and other resources with configs."""
        self._listed = await self._session.list_resources(IN_RESOURCE_LISTS)

    async def _read_brokers(self) -> None:
        ids = [broker.id for broker in self._session.snapshot.cluster.brokers if not broker.fenced]
        await self._read_old([CLUSTER_DEFAULT, *map(broker_resource, ids)] if ids else [])

    async def _read_configs(self) -> None:
        await self._read_old(chain(map(topic_resource, self._session.snapshot.topics), self._listed))

    async def _read_old(self, resources: Iterable[ConfigResource]) -> None:
        """Read the configs that were read the longest ago, as far as that is too long."""
        limit = datetime.now(UTC) - timedelta(seconds=self.configs_every)
        # The oldest first, so that each resource has its turn.
        if old := await longest_ago(resources, self._session.snapshot.configs_at, limit, CHUNK):
            await self._session.read_configs(old, at_once=True)


async def longest_ago(
    resources: Iterable[ConfigResource], read_at: Mapping[ConfigResource, datetime], before: datetime, most: int
) -> list[ConfigResource]:
    """Return the resources that were read before a time: so many at most, those that never were first, then the oldest.
    The loop has its turn after each AT_A_TIME of them."""
    never = datetime.min.replace(tzinfo=UTC)
    found: list[tuple[datetime, ConfigResource]] = []
    left = iter(resources)
    while some := list(islice(left, AT_A_TIME)):
        found += [(at, each) for each in some if (at := read_at.get(each, never)) < before]
        if len(found) > most:
            found = sorted(found)[:most]
        await asyncio.sleep(0)
    return [each for _, each in found]


# -- what is not watched. Pure -----------------------------------------------------------------------------------------


async def run_for(seconds: float | None, work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run these at once until the time is over, then end all; raise what one of them raises before.

    Args:
        seconds: None for as long as they run.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def gaps(snapshot: Snapshot, now: datetime) -> list[str]:
    """Return what is not watched, not yet, or late, a few words each; empty where all is."""
    texts = []
    refused = {failure.part for failure in snapshot.failures if not failure.entity}
    for part in Part:
        if not part.about.is_watched:
            continue
        if part in refused:
            why = next(each.failure.name for each in snapshot.failures if each.part == part and not each.entity)
            texts.append(f"{part.noun} ({why})")
        elif part not in snapshot.read_at:
            texts.append(f"{part.noun} (not read yet)")
    if snapshot.quotas_sparse:
        texts.append(f"quotas ({plural(len(snapshot.quotas), 'entity', 'entities')}: too many)")
    return [*texts, *_config_progress(snapshot, now)]


def unseen_since(snapshot: Snapshot, now: datetime) -> datetime | None:
    """Return since when changes of some configs can't have been seen; None where all were looked at just now."""
    oldest = min(snapshot.configs_at.values(), default=now)
    return oldest if now - oldest > timedelta(seconds=2 * FOR_EVENTS.few_configs) else None


def _config_progress(snapshot: Snapshot, now: datetime) -> list[str]:
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers if not broker.fenced]
    # A plain tuple equals the resource, and zip makes 100,000 of them quickly. What was read together has one time.
    topics = cast(Iterable[ConfigResource], zip(repeat(TOPIC), snapshot.topics, strict=False))
    times = Counter(map(snapshot.configs_at.get, chain(topics, brokers)))
    if unread := times[None]:
        return [f"configs of {unread:,} of {plural(times.total(), 'topic and broker', 'topics and brokers')}"]
    late = sum(count for at, count in times.items() if at is not None and at < now - OLD)
    return [f"configs of {late:,} are more than 2 min old"] if late else []
