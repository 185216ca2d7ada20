"""Tests of one session of the console on real brokers: open each pane, stage, validate, apply, stage the reverse, apply
again. The brokers' request log shows which requests the console sent.
"""

from collections.abc import AsyncIterator, Sequence

import pytest

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.model.changes import AlterQuotas, CreateTopics, NewTopic
from console.model.quota import QuotaEntity
from console.session.session import Session
from console.tui.app import Console
from tests.support.kafka_cluster import KafkaCluster
from tests.support.request_log import LoggedRequest, Mark
from tests.tui.console_app import Driven

pytestmark = pytest.mark.core

CLIENT_ID = "kac-walk"
CONFIGS, QUOTAS = "INCREMENTAL_ALTER_CONFIGS", "ALTER_CLIENT_QUOTAS"
TOPIC, BROKER = 2, 4


@pytest.fixture
async def walk(plain_cluster: KafkaCluster, name: str) -> AsyncIterator[Driven]:
    """Yield the console on a cluster of three brokers, which has two topics and a quota of this test."""
    settings = ConnectionSettings(plain_cluster.addresses, client_id=CLIENT_ID)
    with AdminClient(settings) as client:
        topics = CreateTopics((NewTopic(f"{name}-a", 1, 3), NewTopic(f"{name}-b", 1, 3)))
        quota = QuotaEntity.of({"user": name, "client-id": None})
        for request in (topics, AlterQuotas({quota: {"producer_byte_rate": 1048576.0}})):
            outcomes = await client.run(changes.send, request, validate_only=False)
            assert all(outcome.ok for outcome in outcomes)
        context = Context("walk", "test", settings)
        app = Console(Session(client, context), ConsoleSettings(start_pane="topics", refresh=1.0))
        async with app.run_test(size=(80, 24)) as pilot:
            yield Driven(app, pilot, None)  # type: ignore[arg-type]  # only parts of Driven without a client are used


async def test_the_walk(walk: Driven, plain_cluster: KafkaCluster, name: str) -> None:
    first, second = f"{name}-a", f"{name}-b"
    await walk.filter(name, shows=(first, second))  # topics of other tests may fill the screen
    for key, part in (
        ("1", "active controller"),
        ("3", "broker          <default>"),
        ("4", f"user {name}"),
        ("5", "Principal"),
        ("6", "Stuck"),
    ):
        await walk.press(key)
        await walk.shows(part)
    await stage(
        walk,
        f"set topic {first} retention.ms=1d",
        f"set topic {second} min.insync.replicas=2",
        "set broker 2 log.cleaner.min.cleanable.ratio=0.6",
        "set broker <default> background.threads=12",
        f"set user {name} client <default> producer_byte_rate=2MiB/s",
    )
    mark = plain_cluster.request_log.mark()
    await walk.press("7")
    await walk.shows("5 edits on 5 entities   2 requests")
    await walk.press("c")
    await walk.shows("checked ✓ 5")
    check_one_of_each(plain_cluster, mark, validate_only=True, topics={first, second})

    mark = plain_cluster.request_log.mark()
    await walk.press("A")
    await walk.shows("IncrementalAlterConfigs")
    await walk.press("y")
    await walk.shows("applied: 5 entities in 2 requests")
    assert not walk.app.session.plan
    check_one_of_each(plain_cluster, mark, validate_only=True, topics={first, second})
    check_one_of_each(plain_cluster, mark, validate_only=False, topics={first, second})

    await stage(
        walk,
        f"unset topic {first} retention.ms",
        f"unset topic {second} min.insync.replicas",
        "unset broker 2 log.cleaner.min.cleanable.ratio",
        "unset broker <default> background.threads",
        f"set user {name} client <default> producer_byte_rate=1MiB/s",
    )
    mark = plain_cluster.request_log.mark()
    await walk.press("7", "A")
    await walk.shows("IncrementalAlterConfigs")
    await walk.press("y")
    await walk.shows("applied: 5 entities in 2 requests")
    check_one_of_each(plain_cluster, mark, validate_only=False, topics={first, second})


async def stage(walk: Driven, *commands: str) -> None:
    """Type each of these commands into the console's command bar, and wait until it is staged."""
    for command in commands:
        await walk.command(command)
        await walk.shows("staged:")


def check_one_of_each(cluster: KafkaCluster, mark: Mark, *, validate_only: bool, topics: set[str]) -> None:
    """Check that since the mark the console sent exactly one request with all configs, to broker 2, and one request
    with the quota. Raises AssertionError otherwise.
    """
    (configs,) = sent(cluster, CONFIGS, mark, validate_only)
    resources = {(each["resourceType"], each["resourceName"]) for each in configs.request["resources"]}
    assert resources == {(BROKER, "2"), (BROKER, ""), *((TOPIC, topic) for topic in topics)}
    assert configs.broker == 2
    (quotas,) = sent(cluster, QUOTAS, mark, validate_only)
    assert len(quotas.request["entries"]) == 1


def sent(cluster: KafkaCluster, api: str, mark: Mark, validate_only: bool) -> Sequence[LoggedRequest]:
    """Return the console's requests of an API since the mark: its validations if `validate_only`, else its changes."""
    cluster.request_log.wait_for(1, api, since=mark, client_id=CLIENT_ID)
    logged = cluster.request_log.read(api, since=mark, client_id=CLIENT_ID)
    return [entry for entry in logged if entry.request["validateOnly"] is validate_only]
