"""One broker comes back with the previous release: the cluster can't finalize the new one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

OLD = "4.2.0"


@asynccontextmanager
async def _upgraded(field: Field, release: str, *, refused: bool) -> AsyncIterator[Begin]:
    """All brokers run 4.3 with the features of 4.2. The yielded function starts broker 3 again, and then finalizes the
    features of 4.3.

    Args:
        release: of broker 3, after its start.
        refused: whether the controllers refuse to finalize.
    """
    await field.topic("orders", partitions=3)
    await field.topic("payments", partitions=3)
    async with (
        field.producer("orders", rate=40),
        field.producer("payments", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("payments", "booking"),
    ):
        await field.reads("billing", "orders")
        await field.reads("booking", "payments")

        async def begin() -> None:
            await asyncio.to_thread(field.cluster.upgrade, 3, release)
            field.cluster.version = field.version  # of the commands
            await field.settled()
            printed = await field.tool("kafka-features", "upgrade", "--release-version", "4.3", check=False)
            has_4_3 = "4.3" in await _finalized(field)
            if has_4_3 is refused:
                raise RuntimeError(f"finalizing 4.3 printed: {printed}")

        yield begin


async def _finalized(field: Field) -> str:
    """Return the finalized metadata.version, such as ``4.3-IV0``."""
    printed = await field.tool("kafka-features", "describe")
    line = next(each for each in printed.splitlines() if "metadata.version" in each)
    return line.partition("FinalizedVersionLevel:")[2].split()[0]


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Broker 3 comes back from an old image, with the previous release."""
    async with _upgraded(field, OLD, refused=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Broker 3 comes back with the new release."""
    async with _upgraded(field, field.version, refused=False) as begin:
        yield begin


NIGHT = Night(
    name="one broker of the old release",
    source="https://github.com/apache/kafka/pull/11677",
    story="All brokers but one ran the new release: the host of the last one was made again from an old image. It "
    "joined, served its partitions and was in sync, but the new metadata version was refused as long as one node does "
    "not support it, and the upgrade stayed half done.",
    make=_make,
    twin_story="The broker comes back with the new release, and the metadata version is finalized.",
    twin=_twin,
    cause=Words(
        (
            r"broker 3\b|brokers? .{0,20}\b3\b|node 3\b|\b3\b",
            r"version|release|upgrade|feature",
            r"4\.2|old|earlier|previous|below|behind|lower|not support|supports? only|only supports?|differ|mixed|"
            r"others?",
        )
    ),
    symptom=Words(
        (r"metadata\.version|metadata version|features?\b|release|upgrade", r"4\.2|finali[sz]|behind|old|lower|differ")
    ),
    step=Words((r"upgrade|update|\b4\.3\b|restart|newer|same (version|release)|release",)),
    wrong=(r"downgrade", r"unregister|delete broker", r"delete (topic|group|records)", r"reset group"),
    # It is true that the broker was restarted, and, until the upgrade, that the metadata version is an older one.
    fine=(r"broker 3\b.*(restart|\bback\b|return|came|start)", r"metadata\.version|metadata version|finali[sz]"),
    format_options=("--release-version", "4.2"),
    versions=("4.3",),
)
