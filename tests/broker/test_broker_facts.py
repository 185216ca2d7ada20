"""Tests of what kac's plans assume about brokers: how each config key can be updated, and how many entities a
controller accepts in one change.
"""

import asyncio

import pytest

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.configs import describe_configs
from console.admin.link import Link
from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import AlterConfigs, AlterQuotas, ConfigOp, Outcome, Status
from console.model.codes import BROKER, GROUP, SET
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, broker_resource
from console.model.quota import USER, QuotaEntity
from console.plan.requests import RECORD_LIMIT
from tests.support import worlds

BROKER_1 = broker_resource(1)
EXTRA = (
    "a.plugin.key",
    "leader.replication.throttled.rate",
    "listener.name.plaintext.max.connections",
    "listener.name.plaintext.sasl.jaas.config",
    "listener.name.plaintext.ssl.keystore.location",
)
SINCE_REMOVED = {"advertised.listeners"}  # dynamic only up to 3.9
IN_FLIGHT = 8

client = worlds.client("plain_cluster")


async def check(link: Link, resource: ConfigResource, key: str, value: str) -> str:
    """Send a validate-only change that sets a key; return the broker's error message, "" if it accepts the key."""
    request = AlterConfigs({resource: (ConfigOp(key, SET, value),)}, 1 if resource.name else None)
    (outcome,) = await changes.send(link, request, validate_only=True)
    return outcome.failure.message if outcome.failure else ""


async def modes(link: Link) -> dict[str, tuple[UpdateMode, UpdateMode]]:
    """Return key -> (update mode in kac's table, update mode that the broker shows), for the keys for which the two
    differ.
    """
    listing = await describe_configs(link, [BROKER_1])
    entries: dict[str, ConfigEntry | None] = {entry.name: entry for entry in listing.sets[BROKER_1]}
    entries |= dict.fromkeys(EXTRA)
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def found(key: str, entry: ConfigEntry | None) -> UpdateMode:
        value = (entry.value if entry else None) or "1"
        async with gate:
            on_broker = await check(link, BROKER_1, key, value)
            on_default = await check(link, CLUSTER_DEFAULT, key, value)
        if "only per-listener" in on_broker:
            return UpdateMode.PER_LISTENER
        if "Cannot update these configs dynamically" in on_broker:
            return UpdateMode.RESTART
        if "broker id must be specified" in on_default:
            return UpdateMode.PER_BROKER
        return UpdateMode.CLUSTER_WIDE

    keys = list(entries)
    told = await asyncio.gather(*(found(key, entries[key]) for key in keys))
    wrong = {}
    for key, mode in zip(keys, told, strict=True):
        entry = entries[key]
        held = UpdateMode.CUSTOM if key == "a.plugin.key" else update_mode(BROKER, key, entry)
        if held is UpdateMode.CUSTOM and mode is UpdateMode.CLUSTER_WIDE:
            continue
        if held is not mode and key not in SINCE_REMOVED:
            wrong[key] = (held, mode)
    assert len(keys) > 200
    return wrong


async def test_update_modes_are_those_of_a_broker(client: AdminClient) -> None:
    # The broker refuses a class that does not exist before it looks at the place of the config.
    assert (await client.run(modes)).keys() == {"ssl.engine.factory.class"}


async def sent(client: AdminClient, request: AlterConfigs | AlterQuotas) -> set[Status]:
    outcomes: tuple[Outcome, ...] = await client.run(changes.send, request, validate_only=True)
    return {outcome.status for outcome in outcomes}


@pytest.mark.parametrize("client", ["plain_cluster", "kafka39"], indirect=True)
@pytest.mark.parametrize(("records", "status"), [(RECORD_LIMIT, Status.VALID), (RECORD_LIMIT + 1, Status.FAILED)])
async def test_a_controller_takes_so_many_quotas_in_one_change(
    client: AdminClient, records: int, status: Status
) -> None:
    keys = ("producer_byte_rate", "consumer_byte_rate")
    ops = {QuotaEntity.of({USER: f"u{n}"}): dict.fromkeys(keys, 1000.0) for n in range(records // 2)}
    if records % 2:
        ops[QuotaEntity.of({USER: "one more"})] = {"request_percentage": 5.0}
    assert await sent(client, AlterQuotas(ops)) == {status}


@pytest.mark.parametrize(("records", "status"), [(RECORD_LIMIT, Status.VALID), (RECORD_LIMIT + 1, Status.FAILED)])
async def test_a_controller_takes_so_many_configs_in_one_change(
    client: AdminClient, records: int, status: Status
) -> None:
    op = (ConfigOp("consumer.session.timeout.ms", SET, "46000"),)
    assert await sent(client, AlterConfigs({ConfigResource(GROUP, f"g{n}"): op for n in range(records)})) == {status}
