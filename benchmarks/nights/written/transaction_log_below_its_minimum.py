"""A broker is down for maintenance, and the transaction log then has fewer in-sync replicas than its minimum."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

LOG = "__transaction_state"
DOWN = 3


@asynccontextmanager
async def _maintained(field: Field, minimum: int) -> AsyncIterator[Begin]:
    """Run a service with transactions and a service without. The yielded function shuts a broker down.

    Args:
        minimum: min.insync.replicas of the transaction log.
    """
    await field.topic("payments", partitions=3)
    await field.topic("clicks", partitions=3)
    async with (
        field.producer("payments", rate=40, name="checkout", transactional_id="checkout-1"),
        field.consumer("payments", "ledger"),
        field.producer("clicks", rate=40),
        field.consumer("clicks", "statistics"),
    ):
        await field.reads("ledger", "payments")
        await field.reads("statistics", "clicks")
        change = ("--entity-type", "topics", "--entity-name", LOG, "--add-config", f"min.insync.replicas={minimum}")
        await field.tool("kafka-configs", "--alter", *change)

        async def begin() -> None:
            await field.stop(DOWN)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is shut down, but the transaction log
    requires all three replicas.
    """
    async with _maintained(field, 3) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is shut down, and
    the two other replicas are enough for the transaction log.
    """
    async with _maintained(field, 2) as begin:
        yield begin


NIGHT = Night(
    name="a transaction log below its minimum",
    source="https://github.com/confluentinc/librdkafka/issues/3003",
    story="Brokers lost contact, and the internal topic of the transactions had fewer in-sync replicas than its "
    "min.insync.replicas. Every transactional producer got errors that did not name the reason and stopped for good, "
    "while services without transactions wrote on to the same brokers.",
    make=_make,
    twin_story="The same broker is shut down, but two in-sync replicas are enough for the transaction log: all "
    "services go on.",
    twin=_twin,
    cause=Words(
        (
            r"transaction",
            r"min(imum|\.insync| ?\.?isr)|too few|not enough|fewer|requires? (all|3|three)",
            r"in.?sync|\bisr\b|replica",
        )
    ),
    symptom=Words(
        (
            r"broker 3|\b3\b|__transaction_state|payments|checkout|ledger",
            r"\bdown\b|stopp|gone|missing|shut|not running|left|under.?replicated|in.?sync|no new|fewer"
            r"|refus|fail|lost",
        )
    ),
    step=Words((r"min\.insync\.replicas|\bstart|bring.{0,40}\b(up|back)\b|restart|repair.{0,40}broker",)),
    wrong=(
        r"delete (topic|group|records|transactional)",
        r"unclean",
        r"set topic __transaction_state min\.insync\.replicas=[3-9]",
        r"reset group",
    ),
    # A broker is down in the twin too, and replicas are missing: rows about that are true and useful, as long as they
    # don't say that the transaction log is below its minimum.
    fine=(
        r"^(?!.*(below|under|fewer than|less than).{0,30}min)(?!.*transaction.{0,120}(refus|stop|fail))"
        r".*(broker 3|replica|in.?sync|\bbrokers?\b.{0,60}(down|missing|gone|stopp))",
    ),
)
