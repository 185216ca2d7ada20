"""Somebody else at work: every few seconds a small change that this console did not make."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from console.embedded.scenarios.filling import DAY, HOUR, MIB, add_topic, allow, quota
from console.embedded.state.cluster_state import ClusterState
from console.model.config import topic_resource

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

PERIOD = 4.0
"""Seconds between changes."""
BATCH = "batch.import-"
_KEPT_BATCHES = 3


async def somebody_else(cluster: EmbeddedCluster) -> None:
    """Change something every few seconds, until it is cancelled."""
    random = Random(4)  # noqa: S311 - the same in every run
    turn = 0
    while True:
        await cluster.clock.sleep(PERIOD)
        CHANGES[turn % len(CHANGES)](cluster.state, random, turn)
        turn += 1


def _retention(state: ClusterState, random: Random, _turn: int) -> None:
    name = _some_topic(state, random)
    state.alter_config(topic_resource(name), {"retention.ms": str(random.choice((HOUR, DAY, 2 * DAY, 7 * DAY)))})


def _limit(state: ClusterState, random: Random, _turn: int) -> None:
    quota(state, {"client-id": "nightly-report"}, consumer_byte_rate=random.choice((1, 2, 5)) * MIB)


def _batch(state: ClusterState, _random: Random, turn: int) -> None:
    batches = sorted(name for name in state.tables.topics.own if name.startswith(BATCH))
    for name in batches[: max(len(batches) - _KEPT_BATCHES + 1, 0)]:
        state.remove_topic(name)
    add_topic(state, f"{BATCH}{turn:06}", 3, 2)


def _right(state: ClusterState, _random: Random, turn: int) -> None:
    allow(state, f"User:contractor-{turn % 5}", "READ", "TOPIC", "logistics.", "PREFIXED")


def _some_topic(state: ClusterState, random: Random) -> str:
    table = state.tables.topics
    if table.source is not None:
        place = random.randrange(len(table.source))
        return next(islice(table.source, place, None))
    return random.choice([name for name, topic in table.own.items() if not topic.internal])


CHANGES: tuple[Callable[[ClusterState, Random, int], None], ...] = (_retention, _limit, _batch, _right)
