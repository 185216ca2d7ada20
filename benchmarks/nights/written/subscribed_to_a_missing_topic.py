"""A new release subscribes to a topic that does not exist: the group has a member, and the member has no partitions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

TOPIC, MISSING, LATER = "prd.orders", "prod.orders", "prd.audit"
PIPELINE = 8.0
"""Seconds from the start of a service until the deployment pipeline creates the service's topic."""


@asynccontextmanager
async def _serving(field: Field) -> AsyncIterator[Client]:
    """Run a writer and a reader of a topic, and yield the reader."""
    await field.topic(TOPIC, partitions=3)
    async with field.producer(TOPIC, rate=50), field.consumer(TOPIC, "billing") as reader:
        await field.reads("billing", TOPIC)
        yield reader


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a reader's new release has another prefix of
    topic names in its settings, so it subscribes to a missing topic.
    """
    async with AsyncExitStack() as later, _serving(field) as reader:

        async def begin() -> None:
            await reader.stop()
            await later.enter_async_context(
                field.java("kafka-verifiable-consumer", "--topic", MISSING, "--group-id", "billing")
            )

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: another service is
    deployed some seconds before its topic is created.
    """
    async with AsyncExitStack() as later, _serving(field):

        async def begin() -> None:
            await later.enter_async_context(
                field.java("kafka-verifiable-consumer", "--topic", LATER, "--group-id", "audit")
            )
            await asyncio.sleep(PIPELINE)
            await field.topic(LATER, partitions=3)
            await later.enter_async_context(field.producer(LATER, rate=20))

        yield begin


NIGHT = Night(
    name="subscribed to a missing topic",
    source="https://github.com/confluentinc/librdkafka/issues/1201",
    story="A release came with the wrong prefix in the name of its topic, and brokers that create none. Its members "
    "joined their group, without an error and without a partition, and waited; the group looked stable, its old "
    "offsets stayed where they were, and the real topic was read by nobody.",
    make=_make,
    twin_story="A new service starts seconds before its topic is there, and reads it as soon as it is.",
    twin=_twin,
    # The group's metadata contains the member's subscription, and the brokers' metadata shows whether such a topic
    # exists.
    cause=Words(
        (
            r"billing",
            r"prod\.orders",
            r"not exist|doesn't exist|no such|no topic|missing|unknown|not there|not (been )?created|is none",
        )
    ),
    symptom=Words(
        (r"billing", r"no partition|without (a )?partition|lag|behind|nobody reads|not read|stands? still|stuck")
    ),
    step=Words((r"prd\.orders|\bname|subscri|setting|config|release|roll|create topic prod\.orders",)),
    wrong=(r"reset group", r"delete (group|topic|records)"),
    properties={"auto.create.topics.enable": "false"},
)
