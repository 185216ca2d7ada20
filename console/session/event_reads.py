"""Read data that other clients may change while no view of the console reads it. Each part of the cluster has its own
interval, and a limited cost for the brokers.

A part that another reader has just read is not read again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, cast

from console.model.codes import IN_RESOURCE_LISTS, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.parts import FOR_EVENTS, FOR_SCREEN, PACES, Part
from console.model.snapshot import Snapshot
from console.present.names import plural
from console.session import scheduler
from console.session.parts import is_had

if TYPE_CHECKING:
    from console.admin.settings import ConnectionSettings
    from console.session.session import Session

LONGEST_REST = 10.0
"""Maximum pause after a read of a part, in seconds. A pause is a multiple of the read's duration, to spare the
brokers; it is limited because a read may also be long without any cost for them, as on a slow network or a busy
host.
"""
CHUNK = 1_000
"""Maximum number of resources whose configs are read at once. Together with LONGEST_REST, the configs of 5,000 topics
take less than a minute.
"""
AT_A_TIME = 2_000
"""Number of resources after which a loop yields to the event loop, so that key presses and responses are handled: a
loop over 100,000 resources takes 0.3 s.
"""
FEW = 100
"""Number of resources up to which their configs are read every few seconds; the response has some hundred kilobytes."""
OLD = timedelta(seconds=120)
"""Age from which on configs are reported as late."""
VERSIONS_EVERY = 60.0
"""Seconds between two reads of the nodes' API versions."""
NEVER = datetime.min.replace(tzinfo=UTC)
BROKER_CONFIGS = "configs of brokers"


class EventReads(scheduler.Scheduler):
    """A scheduler that reads the parts in which other clients may make changes.

    configs_since: the time of the longest-ago read of any resource's configs, apart from brokers; None until all were
    read.
    """

    def __init__(
        self,
        session: Session,
        every: Mapping[Part, float],
        may: Callable[[scheduler.Scheduled, scheduler.Turn], bool] = lambda *_: True,
    ) -> None:
        """Create the scheduler; `run` starts the reads.

        Args:
            every: part -> seconds between two reads of it. For configs: seconds between two reads of one resource, if
                there are few.
            may: function that returns whether a part may be read now, given the state of its schedule.
        """
        self._session = session
        self._every = every
        self._listed: tuple[ConfigResource, ...] = ()
        self.configs_since: datetime | None = None
        super().__init__(self._scheduled(), may, lambda name: scheduler.read_ago(session.snapshot, name))

    def _scheduled(self) -> Iterator[scheduler.Scheduled]:
        own: dict[Part, Callable[[], Awaitable[None]]] = {
            Part.VERSIONS: self._read_versions,
            Part.QUOTAS: self._read_quotas,
            Part.RESOURCES: self._list,
            Part.CONFIGS: self._read_configs,
        }
        for part, every in self._every.items():
            if not is_had(part, self._session.context.settings):
                continue
            read = own.get(part) or partial(self._read_whole, part)
            if part is Part.CONFIGS:
                every = scheduler.STEP
                yield scheduler.Scheduled(
                    BROKER_CONFIGS, scheduler.Pace(scheduler.STEP, longest_rest=LONGEST_REST), self._read_brokers
                )
            shared = not part.about.by_members
            yield scheduler.Scheduled(part, scheduler.Pace(every, longest_rest=LONGEST_REST), read, is_shared=shared)

    @property
    def configs_every(self) -> float:
        """Seconds between two reads of one resource's configs."""
        snapshot = self._session.snapshot
        count = len(snapshot.topics) + len(snapshot.cluster.brokers) + len(self._listed)
        return (self._every if count <= FEW else FOR_SCREEN)[Part.CONFIGS]

    async def _read_versions(self) -> None:
        """Read the nodes' API versions: at once if the set of nodes changed, otherwise every `VERSIONS_EVERY`
        seconds.
        """
        session, snapshot = self._session, self._session.snapshot
        age = scheduler.read_ago(snapshot, Part.VERSIONS)
        nodes = {each.id for each in snapshot.cluster.brokers or snapshot.cluster.controllers}
        if age is None or age >= VERSIONS_EVERY or snapshot.versions.keys() != nodes:
            await session.read_whole(Part.VERSIONS)

    async def _read_quotas(self) -> None:
        """Read all quotas; do nothing if there are too many (`Snapshot.quotas_sparse`), which `gaps` reports."""
        if not self._session.snapshot.quotas_sparse:
            await self._session.poll_quotas()

    async def _read_whole(self, part: Part) -> None:
        """Read a whole part; a part that most clusters lack is read only after a view has read it once."""
        if not PACES[part].is_rare or part in self._session.snapshot.read_at:
            await self._session.read_whole(part)

    async def _list(self) -> None:
        """List the groups, and the other resources that have configs."""
        self._listed = await self._session.list_resources(IN_RESOURCE_LISTS)

    async def _read_brokers(self) -> None:
        ids = [broker.id for broker in self._session.snapshot.cluster.brokers if not broker.fenced]
        await self._read_oldest([CLUSTER_DEFAULT, *map(broker_resource, ids)] if ids else [])

    async def _read_configs(self) -> None:
        every = chain(map(topic_resource, self._session.snapshot.topics), self._listed)
        oldest = await self._read_oldest(every)
        self.configs_since = oldest if oldest != NEVER else None

    async def _read_oldest(self, resources: Iterable[ConfigResource]) -> datetime:
        """Read at most `CHUNK` configs that were last read more than `configs_every` seconds ago, the oldest first.
        Return the oldest read time among all the resources, as it was before this read.
        """
        now = datetime.now(UTC)
        limit = now - timedelta(seconds=self.configs_every)
        # Read the oldest first, so that each resource has its turn.
        oldest, old = await longest_ago(resources, self._session.snapshot.configs_at, limit, CHUNK)
        if old:
            await self._session.read_configs(old, at_once=True)
        return min(oldest, now)


async def longest_ago(
    resources: Iterable[ConfigResource], read_at: Mapping[ConfigResource, datetime], before: datetime, most: int
) -> tuple[datetime, list[ConfigResource]]:
    """Return the time of the longest-ago read of any resource, NEVER if one was never read. Also return the
    resources to read next: at most `most` that were last read before `before`, never-read ones first, then those
    read longest ago. Yields to the event loop after each AT_A_TIME resources.
    """
    found: list[tuple[datetime, ConfigResource]] = []
    oldest, left = datetime.max.replace(tzinfo=UTC), iter(resources)
    while some := list(islice(left, AT_A_TIME)):
        times = [read_at.get(each, NEVER) for each in some]
        oldest = min(oldest, *times)
        found += [(at, each) for at, each in zip(times, some, strict=True) if at < before]
        if len(found) > most:
            found = sorted(found)[:most]
        await asyncio.sleep(0)
    return oldest, [each for _, each in found]


# -- gaps of watching. Pure --------------------------------------------------------------------------------------------


def gaps(snapshot: Snapshot, settings: ConnectionSettings, now: datetime) -> list[str]:
    """Return a few words for each part that is not watched, not read yet, or late; empty if all parts are watched.

    Args:
        settings: the context's settings. The parts of an HTTP service that they do not name are left out.
        now: the present time, UTC.
    """
    texts = []
    refused = {failure.part for failure in snapshot.failures if not failure.entity}
    for part in Part:
        if not part.about.is_watched or not is_had(part, settings):
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
    """Return the time since which changes of some configs may have been missed. Return None if no configs are known, or
    if all were read within twice the interval for events (`FOR_EVENTS`).
    """
    oldest = min(snapshot.configs_at.values(), default=now)
    return oldest if now - oldest > timedelta(seconds=2 * FOR_EVENTS[Part.CONFIGS]) else None


def _config_progress(snapshot: Snapshot, now: datetime) -> list[str]:
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers if not broker.fenced]
    # A plain tuple equals the resource, and zip creates 100,000 of them quickly. Resources read together share a time.
    topics = cast(Iterable[ConfigResource], zip(repeat(TOPIC), snapshot.topics, strict=False))
    times = Counter(map(snapshot.configs_at.get, chain(topics, brokers)))
    if unread := times[None]:
        return [f"configs of {unread:,} of {plural(times.total(), 'topic and broker', 'topics and brokers')}"]
    late = sum(count for at, count in times.items() if at is not None and at < now - OLD)
    return [f"configs of {late:,} are more than 2 min old"] if late else []
