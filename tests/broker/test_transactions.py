"""Transactions on real brokers, 4.3 and 3.9: a hanging one is found, told apart from healthy ones, and ended."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest

from console.admin.configs import alter_configs
from console.admin.link import Link
from console.admin.open_transactions import look_at_transactions
from console.admin.routing import until_settled
from console.model.changes import (
    AbortTransaction,
    AlterConfigs,
    ConfigOp,
    CreateTopics,
    NewTopic,
    ProducerTarget,
    Status,
)
from console.model.codes import BROKER, DELETE, SET
from console.model.config import ConfigResource
from console.model.transactions import OpenTransaction, Standing, Transactions, verdict
from tests.support.changing import applied, outcomes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.transactional_client import TransactionalClient

VERIFICATION = "transaction.partition.verification.enable"
LONG_AGO = 20 * 60 * 1000
"""Older than transactions may be by default, milliseconds."""


@pytest.fixture
async def unverified(link: Link) -> AsyncIterator[None]:
    """Leaders take transactional records that no coordinator knows of."""
    everyone = ConfigResource(BROKER, "")
    await alter_configs(link, AlterConfigs({everyone: (ConfigOp(VERIFICATION, SET, "false"),)}), validate_only=False)
    yield
    await alter_configs(link, AlterConfigs({everyone: (ConfigOp(VERIFICATION, DELETE),)}), validate_only=False)


def addresses(kafka: KafkaCluster) -> dict[int, tuple[str, int]]:
    return dict(zip(kafka.broker_ids, kafka.addresses, strict=True))


def one(seen: Transactions, name: str, partition: int) -> OpenTransaction:
    (found,) = seen.at(name, partition)
    return found


async def test_a_hanging_transaction_is_found_and_ended(
    kafka: KafkaCluster, link: Link, name: str, unverified: None
) -> None:
    assert await applied(link, CreateTopics((NewTopic(name, 2, 1),)))
    old = round(time.time() * 1000) - LONG_AGO
    with (
        TransactionalClient(addresses(kafka), f"{name}-a") as hanging,
        TransactionalClient(addresses(kafka), f"{name}-b") as slow,
    ):
        hanging.begin()
        hanging.add(name, 0)
        hanging.write(name, 0, b"committed", times=[old])
        hanging.end()
        start = hanging.write(name, 0, b"late", b"later", times=[old, old])
        slow.begin()
        slow.add(name, 1)
        slow.write(name, 1, b"healthy", times=[old])
        places = [(name, 0), (name, 1)]
        seen = await look_at_transactions(link, places)
        late = one(seen, name, 0)
        assert late.producer.start_offset == start
        assert seen.offsets[name, 0].waiting == 2
        assert seen.gaps == ()
        found = verdict(late, seen)
        assert (found.standing, found.transactional_id) == (Standing.HANGS, f"{name}-a")
        assert seen.max_timeout_known
        assert verdict(one(seen, name, 1), seen).standing is Standing.HEALTHY
        target = ProducerTarget(name, 0, hanging.producer_id)
        request = AbortTransaction(
            target, late.producer.epoch, late.producer.coordinator_epoch, late.producer.start_offset
        )
        (outcome,) = (await outcomes(link, request)).values()
        assert outcome.status is Status.APPLIED, outcome

        async def stable() -> int:
            return (await look_at_transactions(link, places)).offsets[name, 0].waiting

        assert await until_settled(stable, bool, within=30, attempts=100) == 0
        slow.end()
