"""Waiting for leaders: a topic is complete when all its partitions have one (KIP-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from console.embedded.clock import Clock
from console.embedded.state.change_log import Change
from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.values import NO_LEADER


def has_leaders(state: ClusterState, name: str) -> bool:
    """Whether the topic is there and each of its partitions is led."""
    topic = state.topics.get(name)
    return topic is not None and all(partition.leader != NO_LEADER for partition in topic.partitions)


async def wait_for_leaders(state: ClusterState, clock: Clock, names: Collection[str], within: float) -> set[str]:
    """Those of the topics that have leaders once all have, or after `within` seconds."""
    settled = asyncio.Event()

    def look(_change: Change | None = None) -> None:
        if all(has_leaders(state, name) for name in names):
            settled.set()

    unsubscribe = state.subscribe(look)
    try:
        look()
        if not settled.is_set() and within > 0:
            waits = [asyncio.ensure_future(settled.wait()), asyncio.ensure_future(clock.sleep(within))]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
    finally:
        unsubscribe()
    return {name for name in names if has_leaders(state, name)}
