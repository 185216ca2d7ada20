"""A service uses a new group name at each start: each start reads all records again, and leaves a group behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

STARTS = (
    "search-index-5f0c2b7e-91d3",
    "search-index-e83a6410-2c7f",
    "search-index-07bd9f52-a4e8",
    "search-index-c41e7d06-58b9",
    "search-index-9a2f60cb-d317",
)
"""The service's group at each start; the service of the last start keeps running."""
BY_HAND = ("search-index-eu", "search-index-us", "search-index-asia")


@asynccontextmanager
async def _articles(field: Field) -> AsyncIterator[None]:
    """Run the readers of a topic in several regions, each in its own group."""
    await field.topic("articles", partitions=3)
    await field.writes("articles", 6_000)
    async with AsyncExitStack() as regions, field.producer("articles", rate=40):
        for group in BY_HAND:
            await regions.enter_async_context(field.consumer("articles", group, batch=100))
            await field.reads(group, "articles")
        yield


@asynccontextmanager
async def _started(field: Field, groups: Sequence[str]) -> AsyncIterator[Begin]:
    """Prepare the cluster; the yielded function deploys a service again and again.

    Args:
        groups: the service's group at each start.
    """
    async with _articles(field), AsyncExitStack() as running:

        async def start(group: str) -> None:
            await running.enter_async_context(field.consumer("articles", group, name="indexer", batch=100))
            await field.reads(group, "articles")

        await start(groups[0])

        async def begin() -> None:
            """Deploy the service, let it work for a while, and deploy it again."""
            for group in groups[1:]:
                await asyncio.sleep(8)
                await running.aclose()
                await start(group)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service is restarted whose library adds a
    random part to the group's name at each start.
    """
    async with _started(field, STARTS) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service is restarted
    whose group always has the same name, so it continues from its offsets.
    """
    async with _started(field, ("search-index-all",) * len(STARTS)) as begin:
        yield begin


NIGHT = Night(
    name="a group for every start",
    source="https://github.com/tomasAlabes/graphql-kafkajs-subscriptions/issues/34",
    story="A library gave its consumers a group with a random name at every start. Each deployment read the topic from "
    "its beginning or missed what had come between, hundreds of groups without members were left at the brokers, and "
    "their lags grew in every report for a week.",
    make=_make,
    twin_story="The same deployments with one name, beside groups of other regions that are named alike and all live.",
    twin=_twin,
    cause=Words(
        (
            r"search-index",
            r"\b(new|another|fresh|generated|random|unique|different)\W+(\w+\W+){0,3}(group|name|id)s?\b|"
            r"groups?\b.{0,100}\b(random|generated|unique|uuid|suffix|prefix|(each|every) (\w+ )?(start|restart|deploy"
            r"\w*|run|time))\b|"
            r"(\b\d+|\bfour|\bfive|\bmany|\bseveral|\bmore and more) (\w+ ){0,3}groups\b|groups? (named|called) alike",
        )
    ),
    symptom=Words((r"search-index", r"no members?|without members|empty|left|unused|dead|\blag\b|behind|abandon")),
    step=Words(
        (
            r"group\.id|\b(one|fixed|same|stable|constant|single) (group|name|id)|delete groups?\b.*search-index|"
            r"(old|left|unused|dead|empty|abandoned)\W+(\w+\W+){0,2}groups?",
        )
    ),
    wrong=(
        rf"(delete|reset) group \W?{STARTS[-1]}",
        r"(delete|reset) group \W?search-index-(eu|us|asia)",
        r"delete (topic|records)",
        r"set topic articles",
    ),
    # The four deployments within a minute also happen in the twin.
    fine=(r"search-index-all\b.*(rebalanc|join|restart|came|member)",),
    watch=60.0,
)
