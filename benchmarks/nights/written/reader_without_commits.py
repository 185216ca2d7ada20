"""A new version of a service reads with enable.auto.commit=false and never commits: its lag grows while it works."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _deployed(field: Field, **settings: Any) -> AsyncIterator[Begin]:
    """Run a group without lag. The yielded function replaces its member by one with other settings.

    Args:
        settings: of the new member.
    """
    await field.topic("mails", partitions=3)
    async with (
        field.producer("mails", rate=60),
        field.consumer("mails", "mailer", name="mailer-1", batch=100) as old,
        AsyncExitStack() as deployed,
    ):
        await field.reads("mailer", "mails")

        async def begin() -> None:
            """Stop the old version in order, and start the new one."""
            await old.stop()
            await deployed.enter_async_context(
                field.consumer("mails", "mailer", name="mailer-2", batch=100, **settings)
            )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a new version of a service has automatic
    commits turned off, and never commits itself.
    """
    async with _deployed(field, enable_auto_commit=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a new version of a service
    commits every fifteen seconds instead of every five.
    """
    async with _deployed(field, auto_commit_interval_ms=15_000) as begin:
        yield begin


NIGHT = Night(
    name="a reader that never commits",
    source="https://github.com/confluentinc/confluent-kafka-python/issues/796",
    story="A service turned automatic commits off to decide itself what counts as done, and committed nothing. It went "
    "on receiving and handling new records, so nobody noticed; the group's offset stood still, and the next restart "
    "would do all the work again.",
    make=_make,
    twin_story="The same deployment with a longer interval between commits: lag goes up and down like a saw.",
    twin=_twin,
    cause=Words(
        (
            r"mailer",
            r"(\bno\b|\bnot\b|never|nothing|none|without|n't|stopped)\W.{0,60}\bcommit|"
            r"commit\w*\W.{0,60}(\bstill\b|stopped|stands?\b|stood|unchanged|nothing|never|\bno\b|\bnot\b)|"
            r"last commit|enable\.auto\.commit",
        )
    ),
    symptom=Words((r"mailer", r"lag|behind|stuck|stall|progress|stand|still")),
    step=Words((r"commit",)),
    wrong=(
        r"reset group mailer\b",
        r"delete (group|topic|records)",
        r"(set|alter|add) .*mails.*partitions",
    ),
)
