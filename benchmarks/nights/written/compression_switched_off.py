"""The compression of a topic is switched off, and its records need many times the space on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _shop(field: Field, codec: str) -> AsyncIterator[Begin]:
    """Run a service whose producer compresses its records well. The yielded function sets the topic's compression.

    Args:
        codec: the new compression.type.
    """
    await field.topic("orders", partitions=3)
    await field.topic("clicks", partitions=3)
    async with (
        field.producer("orders", rate=60, value_bytes=3_000, compression_type="lz4", linger_ms="250"),
        field.producer("clicks", rate=60),
        field.consumer("orders", "billing"),
        field.consumer("clicks", "stats"),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            orders = ("--entity-type", "topics", "--entity-name", "orders")
            await field.tool("kafka-configs", "--alter", *orders, "--add-config", f"compression.type={codec}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the brokers unpack what the producer packed."""
    async with _shop(field, "uncompressed") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the topic's compression is
    that of its producer.
    """
    async with _shop(field, "lz4") as begin:
        yield begin


NIGHT = Night(
    name="a topic's compression switched off",
    source="https://kafka-options-explorer.conduktor.io/policies/compression/topic-compression-passthrough/",
    story="A template for topics had compression.type=uncompressed, and was applied to orders, whose producer "
    "compresses. From then on the brokers unpacked each batch and stored it as it was: the same number of orders took "
    "many times the space on three disks and in the network, and nobody had changed the shop.",
    make=_make,
    twin_story="The topic's compression is set to that of its producer.",
    twin=_twin,
    cause=Words(
        (
            r"orders",
            r"compress",
            r"uncompressed|decompress|\boff\b|without|no longer|not compressed|unpack|chang|\bset\b",
        )
    ),
    symptom=Words((r"orders", r"grow|larger|bigger|bytes|size|disk|space|MB|kB|more data")),
    step=Words((r"orders|topic", r"compression")),
    wrong=(r"delete (topic|group|records)", r"reset group", r"compression\.type=uncompressed$", r"retention"),
)
