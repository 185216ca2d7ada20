"""Read the open transactions that hold back committed offsets of groups, for the forecast of a change."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from console.model.coordinators import OFFSETS, partition_of
from console.model.snapshot import TopicPartition

if TYPE_CHECKING:
    from console.model.cluster import TopicListing
    from console.session.snapshot_reader import Client

log = logging.getLogger(__name__)


class Held(NamedTuple):
    """The partitions of __consumer_offsets in which an open transaction holds offsets back."""

    topic: TopicListing
    places: list[TopicPartition]


async def held_offsets(client: Client, groups: Iterable[str]) -> Held | None:
    """Return the partitions of __consumer_offsets in which open transactions hold back offsets of these groups. Leave
    out partitions that brokers refuse to describe. Return None if the topic is missing or can't be described.
    """
    from console.admin import partitions, topics
    from console.admin.errors import BrokerError

    try:
        # All offsets of a group are in one partition of __consumer_offsets: the hash of the group's name, modulo the
        # number of partitions.
        listing = await client.run(topics.describe_topics, [OFFSETS])
    except BrokerError as error:
        log.info("the topic of groups' offsets: %s", error.failure)
        return None
    known = listing.topics.get(OFFSETS)
    if known is None or not known.partitions:
        return None
    led: dict[int, list[TopicPartition]] = {}
    for number in sorted({partition_of(group, len(known.partitions)) for group in groups}):
        led.setdefault(known.partitions[number].leader, []).append((OFFSETS, number))
    led.pop(-1, None)
    try:
        return Held(listing, sorted(await client.run(partitions.held_back, led)))
    except BrokerError as error:
        log.info("whether a transaction holds offsets: %s", error.failure)
        return Held(listing, [])
