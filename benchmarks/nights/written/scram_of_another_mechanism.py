"""A user gets new SCRAM credentials of another mechanism, and those that its service uses are deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _rotated(field: Field, *, deletes: bool) -> AsyncIterator[Begin]:
    """Run a service that logs in with SCRAM-SHA-256. The yielded function gives its user credentials of SCRAM-SHA-512
    and restarts the service.

    Args:
        deletes: whether the credentials of SCRAM-SHA-256 are deleted.
    """
    password = await field.scram("shop")
    await field.topic("orders", partitions=3)
    await field.topic("clicks", partitions=3)
    new = field.cluster.directory / "new-credentials.properties"
    new.touch(mode=0o600)
    new.write_text(f"SCRAM-SHA-512=iterations=4096,password={password}\n")
    user = ("--alter", "--entity-type", "users", "--entity-name", "shop")
    async with (
        field.producer("orders", rate=60, name="shop", user="shop") as shop,
        field.producer("clicks", rate=60, name="web", user="alice"),
        field.consumer("orders", "billing", user="alice"),
        field.consumer("clicks", "stats", user="alice"),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            await field.tool("kafka-configs", *user, "--add-config-file", str(new))
            if deletes:
                await field.tool("kafka-configs", *user, "--delete-config", "SCRAM-SHA-256")
            await shop.stop()
            await shop.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the credentials change their mechanism."""
    async with _rotated(field, deletes=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the user has credentials
    of both mechanisms.
    """
    async with _rotated(field, deletes=False) as begin:
        yield begin


NIGHT = Night(
    name="SCRAM credentials of another mechanism",
    source="https://github.com/bitnami/charts/issues/31010",
    story="A tool that manages users wrote the credentials of shop again, with the same password, but for "
    "SCRAM-SHA-512 instead of SCRAM-SHA-256. The shop logs in with SCRAM-SHA-256: it went on until its next restart, "
    "and was refused from then on because of invalid credentials.",
    make=_make,
    twin_story="The user gets credentials of the second mechanism, and keeps those of the first.",
    twin=_twin,
    cause=Words(
        (
            r"\bshop\b",
            r"scram|credential",
            r"sha-?_?(256|512)|mechanism|delet|remov|no longer|gone|missing|chang|replac|rotat",
        )
    ),
    symptom=Words(
        (r"orders|\bshop\b", r"no (new )?(record|write)|silent|idle|stopp|stand|not grow|nothing|quiet|ended")
    ),
    step=Words((r"scram|credential|mechanism|password",)),
    wrong=(r"delete topic", r"reset group", r"(delete|drop|remove|unset) .*(scram|user) .*shop"),
    security="logins",
)
