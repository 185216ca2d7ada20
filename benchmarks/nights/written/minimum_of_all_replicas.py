"""A topic has two replicas, and both must be in sync: the first broker that is shut down stops its writers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 3


@asynccontextmanager
async def _drained(field: Field, replicas: int) -> AsyncIterator[Begin]:
    """Run clients of a topic with min.insync.replicas 2. The yielded function shuts a broker down for maintenance.

    Args:
        replicas: the number of replicas of each partition.
    """
    places = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
    await field.topic("payments", on=[each[:replicas] for each in places], configs={"min.insync.replicas": "2"})
    async with field.producer("payments", rate=60, acks="all"), field.consumer("payments", "ledger"):
        await field.reads("ledger", "payments")

        async def begin() -> None:
            await field.stop(BROKER)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is shut down, and a topic has two
    replicas, both of which must be in sync for a write.
    """
    async with _drained(field, 2) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is shut down, and
    a topic has three replicas, two of which must be in sync for a write.
    """
    async with _drained(field, 3) as begin:
        yield begin


NIGHT = Night(
    name="a minimum of all replicas",
    source="https://repost.aws/knowledge-center/msk-avoid-disruption-during-patching",
    story="To save disks a topic had two replicas, and its min.insync.replicas stayed at two, the cluster's rule. When "
    "the provider patched the brokers one by one, each partition with a replica on the one that was away refused every "
    "write with acks=all, though it had a leader and a whole replica.",
    make=_make,
    twin_story="The same broker is drained, and the topic has three replicas: one may be away.",
    twin=_twin,
    cause=Words(
        (
            r"payments",
            r"min\.insync\.replicas|minimum",
            r"refus|reject|fail|not.{0,20}writ|no.{0,20}writ|writ.{0,30}(stop|blocked|wait)|acks",
        )
    ),
    symptom=Words((r"payments|broker 3\b", r"down|gone|shut|under.?replicat|in.?sync|offline|writ")),
    step=Words((r"start.{0,30}(broker|it\b|3)|min\.insync\.replicas|replicas? (on|to)|more replicas",)),
    wrong=(r"unclean", r"unregister", r"delete topic", r"reset group"),
    # The broker is down for a while: a row may report that, and that its replicas are missing, but not that writes are
    # refused.
    fine=(r"\A(?!.*(refus|reject|cannot be written|no writes)).*(broker 3\b|in sync|under.?replicated)",),
)
