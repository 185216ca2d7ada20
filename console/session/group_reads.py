"""What keeps the offsets of groups from their readers, for the forecast of a change."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from console.model import snapshot as refresh
from console.model.coordinators import OFFSETS, partition_of
from console.model.snapshot import TopicPartition

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)


async def read_held_offsets(session: Session, groups: Iterable[str]) -> None:
    """Read the open transactions of the partitions that have these groups' offsets, where any holds some back. What
    brokers refuse is left out: it is read for the forecast alone."""
    from console.admin import partitions, topics
    from console.admin.errors import BrokerError

    try:
        # A group's offsets are in one partition of this topic, by the hash of its name and the number of partitions.
        listing = await session.client.run(topics.describe_topics, [OFFSETS])
        known = listing.topics.get(OFFSETS)
        if known is None or not known.partitions:
            return
        at = session.clock.now()
        session.learn(lambda snapshot: refresh.with_topics(snapshot, listing, whole=False, at=at), "topics")
        led: dict[int, list[TopicPartition]] = {}
        for number in sorted({partition_of(group, len(known.partitions)) for group in groups}):
            led.setdefault(known.partitions[number].leader, []).append((OFFSETS, number))
        led.pop(-1, None)
        held = sorted(await session.client.run(partitions.held_back, led))
    except BrokerError as error:
        log.info("whether a transaction holds offsets: %s", error.failure)
        return
    if held:
        await session.read_transactions(held)
