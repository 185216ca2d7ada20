"""An unfinished upgrade: every broker runs the new release, but the metadata.version is that of the old one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


async def _upgrades(field: Field) -> None:
    """Raise each feature to the level of the brokers' release, except kraft.version: raising that one changes the kind
    of quorum, and is not part of an upgrade (KAFKA-21426).
    """
    release = ".".join(field.version.split(".")[:2])
    levels = await field.tool("kafka-features", "version-mapping", "--release-version", release)
    now = dict(
        re.findall(r"Feature: (\S+).*FinalizedVersionLevel: (\S+)", await field.tool("kafka-features", "describe"))
    )
    wanted = [
        f"{name}={level}"
        for name, level in re.findall(r"([a-z.]+\.version)\s*=\s*(\d+)", levels)
        # if a feature has its level already, brokers refuse the whole request
        if name != "kraft.version" and now.get(name) != level
    ]
    await field.tool("kafka-features", "upgrade", *(word for each in wanted for word in ("--feature", each)))


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Make the trouble of an unfinished upgrade: run the brokers of a new release, under a usual load, on storage
    that was formatted for 4.1. Yield a function that does nothing, because the operator leaves out the last step
    of the upgrade.
    """
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=40), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Leave out the last step of the upgrade."""

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an operator finishes the
    upgrade of brokers that run on storage formatted for 4.1.
    """
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=40), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Raise the features to the levels of the release."""
            await _upgrades(field)

        yield begin


NIGHT = Night(
    name="metadata version left behind",
    source="https://kafka.apache.org/documentation/#upgrade",
    story="All brokers were rolled from 4.1 to a newer release, and the ticket was closed. The last step of the "
    "upgrade notes, to raise the metadata.version once the brokers behave, was never done: what the new release "
    "brings stays off, and nothing says so until a later upgrade is refused because the metadata.version is too old "
    "for it.",
    make=_make,
    twin_story="The same upgrade with its last step done: each feature has the level of the release. kraft.version "
    "stays 0, as the voters are static; to raise it is a migration of the quorum and no part of an upgrade.",
    twin=_twin,
    cause=Words(
        (
            r"metadata\.version|metadata version",
            r"4\.1|behind|older|lower|below|not (yet )?(finali[sz]ed|raised|upgraded|finished)|unfinished",
        )
    ),
    symptom=Words((r"feature|metadata|upgrade",)),
    step=Words((r"metadata\.version|features?\b|release-version|finali[sz]e",)),
    wrong=(r"downgrade", r"kraft\.version"),
    # A row about static voters is justified, because the documentation recommends the dynamic quorum, although nothing
    # is wrong.
    fine=(r"static (quorum|voters?)|controller\.quorum\.voters",),
    stands=True,
    format_options=("--release-version", "4.1"),
    versions=("4.3", "4.4"),
)
