"""A tool that makes the topics of a cluster equal to those in a file deletes a topic in use, which the file lacks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _described(field: Field, surplus: str) -> AsyncIterator[Begin]:
    """Run services that use orders and returns; no service uses the returns of an old year. The yielded function lets
    the tool delete a topic.

    Args:
        surplus: the topic that is not in the file.
    """
    for name in ("orders", "returns", "returns-2019"):
        await field.topic(name, partitions=3)
    await field.writes("returns-2019", 500)
    async with (
        field.producer("orders", rate=30),
        field.producer("returns", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("returns", "refunds"),
    ):
        await field.reads("billing", "orders")
        await field.reads("refunds", "returns")

        async def begin() -> None:
            await field.delete_topic(surplus)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a tool deletes a topic that its file lacks and
    that clients use.
    """
    async with _described(field, "returns") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a tool deletes a topic
    that its file lacks and that no client uses any more.
    """
    async with _described(field, "returns-2019") as begin:
        yield begin


NIGHT = Night(
    name="a topic that is not in the file",
    source="https://github.com/kafka-ops/julie/issues/39",
    story="A tool made the topics of a cluster like the file that describes them, and was allowed to delete. What the "
    "file did not name was deleted at its next run, with topics of other teams that were in use. Their producers "
    "failed and their groups were left without partitions, on a cluster on which everything was in sync.",
    make=_make,
    twin_story="The tool deletes a topic with old records that nobody writes or reads.",
    twin=_twin,
    cause=Words(
        (
            r"\breturns\b(?!-)",
            r"delet|\bgone\b|no longer exist|(does|do) not exist|doesn't exist|removed|missing|vanish|disappear",
        )
    ),
    symptom=Words(
        (
            r"refunds|\breturns\b(?!-)",
            r"no partition|without (a |any )?partition|nothing to (read|do)|unassigned|no (committed )?offsets|stopp|"
            r"idle|silent|no (new )?(records?|writes?|commits?)|\blag\b|exist|missing",
        )
    ),
    step=Words(
        (
            r"(re-?creat|creat|restor|bring|make).{0,100}\breturns\b|\breturns\b.{0,100}(re-?creat|creat|restor|again)|"
            r"who (has )?(deleted|removed)|"
            r"(stop|subscri|deploy|configur|point).{0,80}(client|application|service|consumer|producer|refunds)|"
            r"(client|application|service|consumer|producer).{0,80}(stop|subscri|deploy|configur)",
        )
    ),
    wrong=(r"delete group refunds", r"delete topic (orders|returns-2019)", r"reset group (billing|refunds)"),
    # It is true and useful to be told of a topic that is gone.
    fine=(r"returns-2019",),
    properties={"auto.create.topics.enable": "false"},
)
