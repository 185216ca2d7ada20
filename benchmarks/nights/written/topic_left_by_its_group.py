"""A service now reads only a new topic, but one of its sources still writes to the old topic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _moving(field: Field, *, all_move: bool) -> AsyncIterator[Begin]:
    """Run a shop and kiosks that write orders, and the group billing that reads them. The yielded function moves
    clients to another topic.

    Args:
        all_move: whether the kiosks move, too.
    """
    await field.topic("orders", partitions=3)
    await field.topic("orders.v2", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.consumer("orders", "billing", name="billing-1", protocol="consumer") as billing,
        field.producer("orders", rate=30, name="kiosks") as kiosks,
        field.producer("orders", rate=40, name="shop") as shop,
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(8)

        async def begin() -> None:
            """Move the writers, wait until the remaining records are read, and move the reader."""
            await shop.stop()
            await later.enter_async_context(field.producer("orders.v2", rate=40, name="shop"))
            if all_move:
                await kiosks.stop()
                await later.enter_async_context(field.producer("orders.v2", rate=30, name="kiosks"))
            await asyncio.sleep(8)
            await billing.stop()
            reader = field.consumer("orders.v2", "billing", name="billing-1", protocol="consumer")
            await later.enter_async_context(reader)
            await field.reads("billing", "orders.v2")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service now reads only a new topic, but some
    of its sources, the kiosks, still write to the old one.
    """
    async with _moving(field, all_move=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service and all its
    sources change to a new topic; the records in the old one have all been read.
    """
    async with _moving(field, all_move=True) as begin:
        yield begin


NIGHT = Night(
    name="a topic left by its group",
    source="https://github.com/themoah/klag/issues/92",
    story="A group had moved to another topic, and its lag on the one that it left went on growing: its commits there "
    "stay as long as the group lives, and something still writes to the old topic. Those who watch lag looked for a "
    "slow consumer, and there was none: the members are up to date with all that they have, and no member is "
    "subscribed to the old topic any more. What is written there is read by nobody.",
    make=_make,
    twin_story="The same move, in which everybody who writes moves too: nothing is left behind.",
    twin=_twin,
    cause=Words(
        (
            r"\borders\b(?!\.v2)",
            r"billing",
            r"(no longer|not|never|stopped|ceased|nobody|no member|none of its members).{0,60}"
            r"(subscri|read|assign|consum|own|has)|unsubscri|unassigned|abandon|left (the |this )?topic|moved (to|from)"
            r"|without (a )?(reader|member|owner)|no (reader|owner)|subscri.{0,60}(only|other|instead|dropped|changed)",
        )
    ),
    symptom=Words((r"\borders\b(?!\.v2)|billing", r"\blag|behind|unread|no reader|not read|not (moved|commit)")),
    step=Words(
        (r"subscri|read(er)?s?\b|producer|writ|delete (the )?(commit|offset)|offsets? of|kiosks|\bmove\b|consum",)
    ),
    wrong=(
        r"reset group billing",
        r"delete group billing",
        r"delete topic orders",
        r"delete.?records",
        r"set topic orders\b(?!\.v2).{0,40}(retention|partitions)",
    ),
    # The records are in a topic without readers and writers, which may be deleted one day.
    fine=(r"\borders\b(?!\.v2).{0,200}(unused|idle|no (longer|more)|not (used|written)|nobody|stopped|silent)",),
    versions=("4.3", "4.4"),
)
