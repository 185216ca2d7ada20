"""The list of super users of one broker is separated with a comma: it refuses the other brokers, which can no longer
follow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 3
WITHIN = 60.0
"""Seconds within which the other replicas are out of sync; the default of replica.lag.time.max.ms is 30 s."""


@asynccontextmanager
async def _reviewed(field: Field, super_users: str, *, refuses: bool) -> AsyncIterator[Begin]:
    """Run alice's clients, which write and read orders. The yielded function restarts broker 3 with a new list of super
    users.

    Args:
        super_users: the list.
        refuses: whether no listed name matches a user, so that the broker refuses all super users.
    """
    await field.topic("orders", partitions=3, configs={"min.insync.replicas": "2"})
    for operation in ("Read", "Write"):
        of_alice = ("--allow-principal", "User:alice", "--operation", operation)
        await field.tool("kafka-acls", "--add", *of_alice, "--topic", "orders")
    await field.tool("kafka-acls", "--add", "--allow-principal", "User:alice", "--operation", "Read", "--group", "*")
    first = ",".join(f"{host}:{port}" for host, port in field.cluster.addresses[:2])

    async def described() -> str:
        """Return what kafka-topics prints about the topic, or the error if the broker that refuses it was asked."""
        asked = ("--describe", "--topic", "orders", "--bootstrap-server", first)
        return await field.tool("kafka-topics", *asked, check=False)

    async def is_elected() -> bool:
        """Elect preferred leaders, and return whether the broker leads its partition again, as after each restart."""
        election = ("--election-type", "preferred", "--all-topic-partitions", "--bootstrap-server", first)
        await field.tool("kafka-leader-election", *election, check=False)
        return f"Leader: {BROKER}" in await described()

    async def is_alone() -> bool:
        return f"Isr: {BROKER}\n" in (await described()).replace("\t", "\n")

    async with (
        field.producer("orders", rate=60, name="shop", user="alice"),
        field.consumer("orders", "billing", user="alice"),
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await field.with_properties(BROKER, {"super.users": super_users})
            await field.restart(BROKER)
            await asyncio.sleep(5)
            await field.until(is_elected, f"broker {BROKER} leads again", within=150)
            if refuses:
                await field.until(is_alone, f"broker {BROKER} is alone in sync", within=WITHIN)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is restarted with a comma in its list
    of super users, so the whole list is one name.
    """
    async with _reviewed(field, "User:ANONYMOUS,User:admin,User:ops", refuses=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is restarted with
    semicolons in its list of super users, as is right.
    """
    async with _reviewed(field, "User:ANONYMOUS;User:admin;User:ops", refuses=False) as begin:
        yield begin


NIGHT = Night(
    name="super users with a comma",
    source="https://github.com/conduktor/kafka-security-manager/issues/91",
    story="A super user was added to the list of one broker with a comma instead of a semicolon, which makes one name "
    "that nobody has. After its restart this broker refused everybody who had no ACL: administrators, and the other "
    "brokers. Those could not follow the partitions that it led, it was alone in sync, and writes to them failed.",
    make=_make,
    twin_story="The same user is added with a semicolon; the broker is restarted, and leads again.",
    twin=_twin,
    cause=Words(
        (
            r"broker 3\b|\b3\b",
            r"super.?users?|authori[sz]|\bden(y|ies|ied)\b|not (allowed|permitted)|permission|\bacls?\b|"
            r"refuses (the )?(other )?(brokers|followers|administrators|requests)",
        )
    ),
    symptom=Words(
        (
            r"orders|broker 3\b|\b3\b|billing",
            r"under.?replicat|in.?sync|\bisr\b|not enough|min\.insync|behind|alone|refus|den(y|ies|ied)|"
            r"no (new )?(writes|records)|stopp|\blag\b|\bdown\b|restart",
        )
    ),
    step=Words(
        (
            r"super.?users?|server\.properties|(authori[sz]|configuration|settings?|file|logs?).{0,60}broker 3|"
            r"broker 3.{0,80}(authori[sz]|configuration|settings?|file|logs?|lead)|"
            r"(move|elect|transfer|drain).{0,60}(lead|broker 3)",
        )
    ),
    wrong=(
        r"unclean",
        r"unregister",
        r"delete topic",
        r"reset group",
        r"delete group",
        r"min\.insync\.replicas\s*=\s*1\b",
        r"allow\.everyone\.if\.no\.acl\.found=true",
        r"(delete|remove) acl",
    ),
    # The broker is restarted in the twin, too.
    fine=(
        r"broker 3.*(down|gone|away|missing|left|offline|restart|not (in|there)|unreachable|answer|back)",
        r"under.?replicat|in.?sync",
    ),
    security="acls",
)
