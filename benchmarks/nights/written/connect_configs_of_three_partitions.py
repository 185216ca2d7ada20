"""A tool adds partitions to the topic of Connect's configurations: no worker starts with it any more."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _connected(field: Field, grown: str, printed: str, times: int) -> AsyncIterator[Begin]:
    """Run a worker like Connect's with a sink. The yielded function adds two partitions to a topic that has one,
    restarts the worker, and waits for its output.

    Args:
        grown: the topic that gets partitions.
        printed: the line that the worker prints at its next start.
        times: how often it has to have printed the line.
    """
    for name, partitions in (("connect-configs", 1), ("connect-offsets", 3), ("connect-status", 1)):
        await field.topic(name, partitions, configs={"cleanup.policy": "compact"})
    await field.topic("sales", partitions=3)
    await field.topic("audit", partitions=1)
    arguments = (field.cluster.bootstrap, "connect-configs", "connect-status", "sales", "connect-warehouse")
    async with (
        field.producer("sales", rate=40),
        field.producer("audit", rate=10, key=None),
        field.consumer("audit", "archive", topic_metadata_refresh_interval_ms=5_000),
        field.program(sys.executable, "-m", "benchmarks.nights.programs.connect_worker", *arguments) as worker,
    ):
        await field.reads("connect-warehouse", "sales")
        await field.reads("archive", "audit")

        async def has_printed() -> bool:
            return worker.output.read_text().count(printed) >= times

        async def is_grown() -> bool:
            return "PartitionCount: 3" in await field.tool("kafka-topics", "--describe", "--topic", grown)

        async def begin() -> None:
            await field.tool("kafka-topics", "--alter", "--topic", grown, "--partitions", "3")
            await field.until(is_grown, f"topic {grown} has three partitions")
            await worker.stop()
            await worker.start()
            await field.until(has_printed, f"the worker prints {printed!r}", within=90)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: partitions are added to the topic with the
    configurations of all connectors.
    """
    async with _connected(field, "connect-configs", "has to have one partition", 1) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: partitions are added to
    another topic, and the worker starts again.
    """
    async with _connected(field, "audit", "started", 2) as begin:
        yield begin


NIGHT = Night(
    name="connect's configs in three partitions",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/7640",
    story="The topic in which Connect keeps the configurations of its connectors had more than one partition, as the "
    "cluster's rule wanted it for every topic. Connect needs their order and takes only a single partition: workers "
    "refused to start. What ran before ran on until the next restart, and then all connectors were gone at once.",
    make=_make,
    twin_story="The same tool raises an ordinary topic, and the restarted worker goes on.",
    twin=_twin,
    cause=Words(
        (
            r"connect-configs",
            r"partition",
            r"\b(3|three|two|one|1|single|several|more|multiple)\b|grew|grown|added|raised|increas",
        )
    ),
    symptom=Words(
        (
            r"connect-warehouse|sales",
            r"no members?|empty|\blag\b|behind|\bleft\b|nobody|without (a )?members?|lost its",
        )
    ),
    step=Words(
        (
            r"connect-configs.{0,160}(\bone\b|single|\b1\b|again|anew|re-?creat|new topic|another)|"
            r"(\bone\b|single|\b1\b) partition|config\.storage\.topic|worker.{0,80}\blogs?\b|\blogs?\b.{0,80}worker",
        )
    ),
    # To delete the topic loses the configuration of every connector.
    wrong=(r"delete topic", r"delete.?records", r"reset group", r"delete group"),
    # It is true and useful that keys go to other partitions from now on.
    fine=(r"audit.*partition",),
)
