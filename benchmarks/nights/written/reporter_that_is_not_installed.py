"""A broker is restarted with a metrics reporter that is not installed, and does not come back."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.kafka_cluster import ClusterStartError

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


@asynccontextmanager
async def _upgraded(field: Field, reporter: str) -> AsyncIterator[Begin]:
    """Run clients of a topic. The yielded function restarts a broker with another configuration, as a roll-out does.

    Args:
        reporter: the class of the metrics reporter in the new configuration.
    """
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=60), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Restart the broker with the new configuration. The roll-out stops at a broker that does not start."""
            await field.with_properties(BROKER, metric_reporters=reporter)
            with contextlib.suppress(ClusterStartError):
                await field.restart(BROKER)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is restarted with a metrics
    reporter that belongs to another distribution of Kafka.
    """
    async with _upgraded(field, "io.confluent.metrics.reporter.ConfluentMetricsReporter") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is restarted
    with a metrics reporter that is part of Kafka.
    """
    async with _upgraded(field, "org.apache.kafka.common.metrics.JmxReporter") as begin:
        yield begin


NIGHT = Night(
    name="a reporter that is not installed",
    source="https://github.com/confluentinc/cp-helm-charts/issues/305",
    story="An upgrade rolled out a configuration with a metrics reporter whose class the community's Kafka does not "
    "have. The first broker shut down in order, and its start failed with an exception about the class: it did not "
    "come back, and its partitions had one replica less until somebody read its log.",
    make=_make,
    twin_story="The same restart of the same broker with a reporter that exists: it is back after some seconds.",
    twin=_twin,
    # A process that does not start has no API. The console can say which broker is missing since when, and that its
    # own log or its host shows the reason.
    cause=Words(
        (
            r"brokers?:? 2\b",
            r"down|gone|missing|\bleft\b|not (running|back|returned|reachable)|unavailable|unreachable|fenced|dead"
            r"|stopped|shut",
            r"\blogs?\b|journal|host|machine|node|process|container|pod\b|server\.properties|configuration"
            r"|(does|did|can|could)(n't| not) start",
        )
    ),
    symptom=Words(
        (
            r"brokers?:? 2\b|orders",
            r"down|gone|missing|not (running|reachable)|unavailable|unreachable|fenced"
            r"|under.?replicated|in.sync|offline",
        )
    ),
    step=Words((r"\blogs?\b|journal|server\.properties|configuration|start|bring .{0,40}back",)),
    wrong=(r"unregister", r"unclean", r"delete (topic|group|records)", r"set topic orders .*min\.insync"),
    unknowable=True,
    # In the twin, the restarted broker is down for some seconds.
    fine=(r"brokers?:? 2\b", r"under.?replicated|in.sync"),
)
