"""Reads what warnings are judged by, whatever was read before: `RiskNeeds` of a plan in, `RiskFacts` out.

Bounded: of the topics that may inherit a default the configs of `READ_TOPICS` are read, and the sizes of
`READ_PARTITIONS` partitions. The texts of the warnings count what was left out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from console.contexts.context import Context
from console.model.cluster import LogDir
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.snapshot import Snapshot
from console.plan.risk_rules import NOTHING, READ_PARTITIONS, READ_TOPICS, RiskFacts, RiskNeeds
from console.plan.risks import Risk, risk_needs, risks
from console.plan.staged import Staged
from console.plan.topic_risks import may_inherit

GOOD_FOR = 30.0
"""Seconds after which it is read again."""


@dataclass(frozen=True, slots=True)
class RiskReading:
    """What was read for a plan. at: by the monotonic clock."""

    staged: tuple[Staged, ...]
    facts: RiskFacts
    at: float


class Reads(Protocol):
    """What the reading takes of a session."""

    client: Any
    risk_reading: RiskReading | None

    @property
    def snapshot(self) -> Snapshot:
        """What is known."""
        ...

    @property
    def context(self) -> Context:
        """Who the operator is."""
        ...

    async def read_cluster(self) -> None:
        """Brokers."""
        ...

    async def read_topics(self, names: Sequence[str] | None = None) -> None:
        """All topics, or some."""
        ...

    async def read_configs(self, resources: Sequence[ConfigResource]) -> None:
        """Configs of resources."""
        ...

    async def read_acls(self) -> None:
        """All ACLs."""
        ...


async def read_for_risks(session: Reads, staged: Iterable[Staged]) -> RiskFacts:
    """Read what the warnings about these edits need, where that was not done some seconds ago. What a broker refuses to
    show stays unknown. Raises AdminError where the cluster is lost."""
    edits = tuple(staged)
    known = session.risk_reading
    if known is not None and known.staged == edits and time.monotonic() - known.at < GOOD_FOR:
        return known.facts
    needs = risk_needs(edits)
    sizes = await _read(session, needs, edits) if needs != NOTHING else {}
    facts = RiskFacts(sizes, principal_of(session.context))
    session.risk_reading = RiskReading(edits, facts, time.monotonic())
    return facts


async def judge(session: Reads, staged: Iterable[Staged], snapshot: Snapshot | None = None) -> tuple[Risk, ...]:
    """The warnings about these edits, after reading what they need. snapshot: what is there, where that is not what the
    session knows. Raises AdminError where the cluster is lost."""
    edits = tuple(staged)
    facts = await read_for_risks(session, edits)
    return await asyncio.to_thread(risks, edits, snapshot or session.snapshot, facts)


def facts_so_far(session: Reads) -> RiskFacts:
    """What is known without reading: for what is shown while a plan is made."""
    known = session.risk_reading
    return known.facts if known is not None else RiskFacts(principal=principal_of(session.context))


def principal_of(context: Context) -> str:
    """``User:admin`` as the brokers name the operator; ``""`` where the settings do not say it."""
    sasl, tls = context.settings.sasl, context.settings.tls
    if sasl is not None:
        return f"User:{sasl.username}" if sasl.username else ""
    return "" if tls is not None and tls.key_store is not None else "User:ANONYMOUS"


async def _read(session: Reads, needs: RiskNeeds, staged: Sequence[Staged]) -> Mapping[str, int]:
    first = []
    if needs.a_broker:
        first.append(session.read_cluster())
    if needs.every_topic:
        first.append(session.read_topics())
    elif needs.topics:
        first.append(session.read_topics(sorted(needs.topics)))
    if needs.acls:
        first.append(session.read_acls())
    await asyncio.gather(*first)
    topics = list(dict.fromkeys(name for name in needs.topics if name in session.snapshot.topics))
    if needs.every_topic:
        for each in staged:
            topics += may_inherit(each.edit, session.snapshot)
        topics = list(dict.fromkeys(topics))[:READ_TOPICS]
    resources = [topic_resource(name) for name in topics]
    if needs.a_broker:
        resources += [broker_resource(broker.id) for broker in session.snapshot.cluster.brokers[:1]]
    await session.read_configs(resources)
    return await _sizes(session, topics) if needs.sizes else {}


async def _sizes(session: Reads, topics: Iterable[str]) -> dict[str, int]:
    """Bytes on all replicas of each topic of which every partition was found."""
    from console.admin.cluster import describe_log_dirs

    wanted: dict[str, list[int]] = {}
    holding: set[int] = set()
    left = READ_PARTITIONS
    for name in topics:
        partitions = session.snapshot.topics[name].partitions
        left -= len(partitions)
        if left < 0:
            break
        wanted[name] = [partition.number for partition in partitions]
        holding.update(broker for partition in partitions for broker in partition.replicas)
    if not wanted:
        return {}
    listing = await session.client.run(describe_log_dirs, sorted(holding), wanted)
    found = _by_partition(listing.dirs)
    return {
        name: sum(found[name, number] for number in numbers)
        for name, numbers in wanted.items()
        if all((name, number) in found for number in numbers)
    }


def _by_partition(dirs: Mapping[int, tuple[LogDir, ...]]) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for replica in (replica for each in dirs.values() for log_dir in each for replica in log_dir.replicas):
        if not replica.is_future:
            place = replica.topic, replica.partition
            found[place] = found.get(place, 0) + replica.size
    return found
