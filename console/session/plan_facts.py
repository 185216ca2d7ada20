"""Read the facts on which the warnings about a plan depend.

At most the configs of `READ_TOPICS` topics that may inherit a default, and the sizes of `READ_PARTITIONS` partitions,
are read. The warnings' texts say how many were left out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

from msgspec.structs import replace

from console.contexts.context import NEVER, Context
from console.model.cluster import Group
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.elections import by_leader
from console.model.parts import Part
from console.model.records import NewestBatches
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicReaders
from console.plan import risk_rules
from console.plan.risks import risk_needs
from console.plan.staged import Staged
from console.plan.topic_risks import may_inherit
from console.session.session import RiskReading, Session
from console.session.snapshot_reader import Client

GOOD_FOR = 30.0
"""Seconds for which facts are used before they are read again."""


async def read_for_risks(session: Session, staged: Iterable[Staged]) -> risk_rules.RiskFacts:
    """Return the facts for the warnings about these edits. They are read, unless they were read for the same edits
    within the last `GOOD_FOR` (30) seconds. Facts that a broker refuses to return stay unknown. Raises AdminError if
    the connection to the cluster is lost.
    """
    edits = tuple(staged)
    known = session.risk_reading
    # Keep the facts for a while: the same plan is judged when it is shown, before it is confirmed, and before it is
    # sent.
    if known is not None and known.staged == edits and time.monotonic() - known.at < GOOD_FOR:
        return known.facts
    needs = risk_needs(edits)
    at_controllers = session.context.settings.controllers  # controllers know no topics and no groups
    sizes: Mapping[str, int] = {}
    if needs != risk_rules.NOTHING:
        first = [session.read_cluster()]
        if not at_controllers and (needs.every_topic or needs.topics):
            first.append(session.read_topics(None if needs.every_topic else sorted(needs.topics)))
        if needs.acls:
            first.append(session.read_acls())
        if needs.moves:
            first.append(session.read_whole(Part.REASSIGNMENTS))
        await asyncio.gather(*first)
        topics = _topics(needs, edits, session.snapshot)
        await session.read_configs(_resources(needs, topics, session.snapshot))
        sizes = await _topic_sizes(session.client, session.snapshot, topics) if needs.sizes else {}
    client, own = session.client, own_facts(session.context)
    facts = replace(
        own,
        sizes=sizes,
        readers=await _readers(client, needs.readers_of),
        ages=await _ages(client, session.snapshot, needs.newest_of, session.clock.now()),
        batches=await _batches(client, session.context, session.snapshot, needs.batches_of),
        groups=await _groups(client) if needs.groups and not at_controllers else {},
    )
    session.risk_reading = RiskReading(edits, facts, time.monotonic())
    return facts


def own_facts(context: Context) -> risk_rules.RiskFacts:
    """Return the facts that need no read: those about this client's own login."""
    sasl = context.settings.sasl
    return risk_rules.RiskFacts(principal=context.kafka_principal, mechanism=sasl.mechanism if sasl is not None else "")


def facts_so_far(known: RiskReading | None, context: Context) -> risk_rules.RiskFacts:
    """Return the facts that were read, or only `own_facts` if `known` is None. Nothing is read."""
    return known.facts if known is not None else own_facts(context)


def _topics(needs: risk_rules.RiskNeeds, staged: Iterable[Staged], known: Snapshot) -> list[str]:
    """Return the topics whose configs and sizes are needed. If the edits may affect every topic, these are at most
    `READ_TOPICS`.
    """
    topics = list(dict.fromkeys(name for name in needs.topics if name in known.topics))
    if needs.every_topic:
        for each in staged:
            # A cluster-wide default changes only topics without their own value, which their configs show.
            topics += may_inherit(each.edit, known)
        topics = list(dict.fromkeys(topics))[: risk_rules.READ_TOPICS]
    return topics


def _resources(needs: risk_rules.RiskNeeds, topics: Iterable[str], known: Snapshot) -> list[ConfigResource]:
    """Return the topics and brokers whose configs have to be read."""
    resources = [topic_resource(name) for name in topics]
    if needs.a_broker:
        resources += [broker_resource(broker.id) for broker in known.cluster.brokers[:1]]
    if needs.every_broker:
        resources += [CLUSTER_DEFAULT, *(broker_resource(broker.id) for broker in known.cluster.brokers)]
    return resources


async def _topic_sizes(client: Client, snapshot: Snapshot, topics: Iterable[str]) -> dict[str, int]:
    """Return topic -> the bytes of all its replicas. Topics with a partition of unknown size are missing, as are topics
    beyond the first `READ_PARTITIONS` partitions.
    """
    from console.admin.cluster import describe_log_dirs

    wanted: dict[str, list[int]] = {}
    holding: set[int] = set()
    left = risk_rules.READ_PARTITIONS
    for name in topics:
        partitions = snapshot.topics[name].partitions
        left -= len(partitions)
        # Take whole topics only: half a topic's size would look like a small topic.
        if left < 0:
            break
        wanted[name] = [partition.number for partition in partitions]
        holding.update(broker for partition in partitions for broker in partition.replicas)
    if not wanted:
        return {}
    listing = await client.run(describe_log_dirs, sorted(holding), wanted)
    sizes = listing.replica_sizes()
    return {
        name: sum(sum(sizes[name, number]) for number in numbers)
        for name, numbers in wanted.items()
        if all((name, number) in sizes for number in numbers)
    }


async def _ages(client: Client, snapshot: Snapshot, topics: Iterable[str], now: datetime) -> dict[str, float]:
    """Return topic -> the seconds since the timestamp of its newest record; negative if that is in the future. Only the
    first `READ_PARTITIONS` partitions are read, so the last of these topics may be read in part, and topics after it
    are missing. Empty for brokers before Kafka 3.0.
    """
    from console.admin.partitions import newest_records

    known = snapshot.topics
    places = ((name, each.number) for name in sorted(topics) if name in known for each in known[name].partitions)
    led = by_leader(known, [*islice(places, risk_rules.READ_PARTITIONS)])
    newest: dict[str, int] = {}
    if led:
        for (name, _), record in (await client.run(newest_records, led)).items():
            newest[name] = max(record.timestamp, newest.get(name, record.timestamp))
    return {name: now.timestamp() - at / 1000 for name, at in newest.items()}


async def _batches(
    client: Client, context: Context, snapshot: Snapshot, topics: Iterable[str]
) -> Mapping[str, NewestBatches]:
    """Return topic -> facts about its newest record batches, for the first `READ_BATCHES` of these topics. Empty if the
    context forbids reading records.
    """
    from console.admin.newest_batches import newest_batches

    known = [snapshot.topics[name] for name in sorted(topics) if name in snapshot.topics][: risk_rules.READ_BATCHES]
    return await client.run(newest_batches, known) if known and context.records != NEVER else {}


async def _groups(client: Client) -> Mapping[str, Group]:
    """Return group name -> group, for all groups; the first `READ_GROUPS` by name have their members. Empty if brokers
    refuse to list groups.
    """
    from console.admin.errors import BrokerError
    from console.admin.groups import describe_groups, list_groups

    try:
        listed = (await client.run(list_groups)).groups
    except BrokerError:
        return {}
    some = sorted(listed)[: risk_rules.READ_GROUPS]
    described = await client.run(describe_groups, some, {name: listed[name].type for name in some})
    return {**listed, **described.groups}


async def _readers(client: Client, topics: frozenset[str]) -> Mapping[str, TopicReaders]:
    """Return topic -> the groups that have committed offsets in it. At most `READ_GROUPS` groups are read. Empty
    without topics.
    """
    from console.admin.groups import topic_readers

    return await client.run(topic_readers, topics, risk_rules.READ_GROUPS) if topics else {}
