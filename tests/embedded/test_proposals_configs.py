"""KIP-133's and KIP-21's config requests, over sockets."""

from __future__ import annotations

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.embedded.tables import ScramCredential, ScramKey
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.wire.proposals import kip21_configs as kip21
from console.wire.proposals import kip133_configs as kip133
from tests.embedded.proposals_client import ON_CLUSTER, Rights, ask

USER = QuotaEntity.of({"user": "a"})
CLIENT = QuotaEntity.of({"client-id": "c"})
RATE = "producer_byte_rate"
UNLIMITED = "9223372036854775807"

Told = tuple[str, bool, bool, bool]


async def list_v0(cluster: EmbeddedCluster, *resources: tuple[int, str], broker: int = 1) -> list[tuple[int, int, str]]:
    request = kip133.ListConfigsRequest(
        resources=tuple(kip133.Resource(resource_type=type_, resource_name=name) for type_, name in resources)
    )
    response = await ask(cluster, request, broker)
    assert response.error_code == 0
    return [(item.error_code, item.resource_type, item.resource_name) for item in response.entities]


async def list_one(
    cluster: EmbeddedCluster, type_: int, name: str, keys: tuple[str, ...] | None = None, broker: int = 1
) -> dict[str, Told]:
    named = kip133.NamedConfigs(resource_type=type_, resource_name=name, config_names=keys)
    (item,) = (await ask(cluster, kip133.ListConfigsRequestV1(resources=(named,)), broker)).entities
    assert item.error_code == 0
    return {c.config_name: (c.config_value, c.read_only, c.is_default, c.is_sensitive) for c in item.configs}


async def test_users_and_clients_are_listed_with_their_defaults(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_quota(USER, {RATE: 5.0})
    cluster.state.put("scram", ScramKey("a", 2), ScramCredential(b"salt", 4096, b"stored", b"server"))
    assert await list_one(cluster, 7, "a", (RATE, "SCRAM-SHA-512")) == {
        RATE: ("5", False, False, False),
        "SCRAM-SHA-512": ("", True, False, True),
    }
    assert await list_one(cluster, 6, "c", (RATE,)) == {RATE: (UNLIMITED, False, True, False)}
    assert len(await list_one(cluster, 6, "c")) == 4


async def test_a_resource_twice_is_listed_once_and_a_wrong_one_leaves_the_others(cluster: EmbeddedCluster) -> None:
    answer = await list_v0(cluster, (7, "a"), (3, "g"), (7, "a"), (7, ""), (5, "9"), (6, "c"))
    assert answer == [(0, 7, "a"), (42, 3, "g"), (42, 7, ""), (42, 5, "9"), (0, 6, "c")]


async def test_listing_needs_read_configs_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    response = await ask(cluster, kip133.ListConfigsRequest(resources=()))
    assert (response.error_code, response.entities) == (31, ())
    cluster.authorizer = Rights(("DESCRIBE_CONFIGS", *ON_CLUSTER))
    assert await list_v0(cluster, (7, "a")) == [(0, 7, "a")]


async def alter(
    cluster: EmbeddedCluster,
    *resources: tuple[int, str, dict[str, str]],
    validate_only: bool = False,
    broker: int = 2,
) -> list[tuple[str, int]]:
    request = kip133.AlterConfigsRequest(
        resources=tuple(
            kip133.AlteredResource(
                resource_type=type_,
                resource_name=name,
                configs=tuple(kip133.AlteredConfig(config_name=k, config_value=v) for k, v in configs.items()),
            )
            for type_, name, configs in resources
        ),
        validate_only=validate_only,
    )
    responses = (await ask(cluster, request, broker)).responses
    assert all(bool(item.error_code) == bool(item.error_message) for item in responses)
    return [(item.resource_name, item.error_code) for item in responses]


async def test_an_error_leaves_the_other_resources_alone(cluster: EmbeddedCluster) -> None:
    answer = await alter(
        cluster,
        (7, "a", {RATE: "5"}),
        (6, "c", {RATE: "-1"}),
        (6, "d", {"nonsense": "1"}),
        (7, "b", {"SCRAM-SHA-256": "x", RATE: "5"}),
        (1, "any", {}),
        (6, "", {RATE: "1"}),
        (5, "9", {"num.io.threads": "1"}),
    )
    assert answer == [("a", 0), ("c", 40), ("d", 40), ("b", 10_002), ("any", 42), ("", 42), ("9", 42)]
    assert dict(cluster.state.quotas) == {USER: {RATE: 5.0}}


async def test_overrides_are_replaced(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_quota(USER, {RATE: 5.0})
    assert await alter(cluster, (7, "a", {"request_percentage": "50"})) == [("a", 0)]
    assert cluster.state.quotas[USER] == {"request_percentage": 50.0}


async def test_a_resource_twice_is_one_error(cluster: EmbeddedCluster) -> None:
    answer = await alter(cluster, (7, "a", {RATE: "5"}), (6, "c", {RATE: "5"}), (7, "a", {RATE: "6"}))
    assert answer == [("a", 42), ("c", 0)]
    assert dict(cluster.state.quotas) == {CLIENT: {RATE: 5.0}}


async def test_validating_alters_nothing(cluster: EmbeddedCluster) -> None:
    end = cluster.state.log.end
    assert await alter(cluster, (7, "a", {RATE: "5"}), (6, "c", {RATE: "x"}), validate_only=True) == [
        ("a", 0),
        ("c", 40),
    ]
    assert cluster.state.log.end == end


async def test_altering_needs_write_configs_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights(("ALTER", *ON_CLUSTER))
    assert await alter(cluster, (7, "a", {RATE: "5"})) == [("a", 31)]
    cluster.authorizer = Rights(("ALTER_CONFIGS", *ON_CLUSTER))
    assert await alter(cluster, (7, "a", {RATE: "5"})) == [("a", 0)]


async def kip21_alter(
    cluster: EmbeddedCluster, type_: str, name: str, added: list[tuple[str, str]], deleted: tuple[str, ...] = ()
) -> int:
    item = kip21.AlteredEntity(
        entity_type=type_,
        entity_name=name,
        added_config_entries=tuple(kip21.ConfigEntry(config_key=key, config_value=value) for key, value in added),
        deleted_configs=deleted,
    )
    (result,) = (await ask(cluster, kip21.AlterConfigRequest(entities=(item,)), 2)).entities
    assert (result.entity_type, result.entity_name) == (type_, name)
    return int(result.error_code)


async def kip21_describe(
    cluster: EmbeddedCluster, type_: str, name: str, broker: int = 3
) -> tuple[int, dict[str, str]]:
    request = kip21.DescribeConfigRequest(entities=(kip21.Entity(entity_type=type_, entity_name=name),))
    (result,) = (await ask(cluster, request, broker)).entities
    return result.error_code, {entry.config_key: entry.config_value for entry in result.config_entries}


async def test_a_deleted_entry_has_its_default_again(cluster: EmbeddedCluster) -> None:
    cluster.state.alter_quota(QuotaEntity.of({"client-id": None}), {RATE: 9.0})
    assert await kip21_alter(cluster, "client", "c", [(RATE, "5")]) == 0
    assert (await kip21_describe(cluster, "client", "c"))[1][RATE] == "5"
    assert await kip21_alter(cluster, "client", "c", [("request_percentage", "50")], (RATE,)) == 0
    code, configs = await kip21_describe(cluster, "client", "c")
    assert (code, configs[RATE], configs["request_percentage"]) == (0, "9", "50.0")


@pytest.mark.parametrize(
    ("added", "deleted"),
    [
        ([("nonsense", "1")], ()),
        ([(RATE, "-1")], ()),
        ([(RATE, "")], ()),
        ([(RATE, "1")], ("nonsense",)),
        ([(RATE, "1")], (RATE,)),
        ([(RATE, "1"), (RATE, "2")], ()),
    ],
)
async def test_wrong_configs_leave_the_entity_alone(
    cluster: EmbeddedCluster, added: list[tuple[str, str]], deleted: tuple[str, ...]
) -> None:
    assert await kip21_alter(cluster, "client", "c", added, deleted) == 10_000
    assert not cluster.state.quotas


@pytest.mark.parametrize(
    ("type_", "name"), [("user", "a"), ("topic", "none"), ("broker", "9"), ("broker", "x"), ("client", ""), ("", "t")]
)
async def test_wrong_entities(cluster: EmbeddedCluster, type_: str, name: str) -> None:
    assert await kip21_alter(cluster, type_, name, [(RATE, "1")]) == 10_001
    assert await kip21_describe(cluster, type_, name) == (10_001, {})


async def test_kip21_needs_rights_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights()
    assert await kip21_alter(cluster, "client", "c", [(RATE, "1")]) == 31
    assert await kip21_describe(cluster, "client", "c") == (31, {})


async def test_topics_are_listed_and_altered(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], [1, 2, 3]))
    cluster.authorizer = Rights(("DESCRIBE_CONFIGS", *ON_CLUSTER), ("ALTER_CONFIGS", *ON_CLUSTER))
    answer = await alter(cluster, (2, "t", {"retention.ms": "1000"}), (2, "none", {}), (2, "t2", {"nonsense": "1"}))
    assert answer[0] == ("t", 0)
    assert all(code for _, code in answer[1:])
    listed = await list_one(cluster, 2, "t", ("retention.ms", "cleanup.policy"))
    assert listed == {
        "retention.ms": ("1000", False, False, False),
        "cleanup.policy": ("delete", False, True, False),
    }
    assert await kip21_alter(cluster, "topic", "t", [("cleanup.policy", "compact")], ("retention.ms",)) == 0
    assert cluster.state.configs[ConfigResource(TOPIC, "t")] == {"cleanup.policy": "compact"}
    assert await kip21_alter(cluster, "topic", "t", [("nonsense", "1")]) == 10_000


async def test_brokers_tell_read_only_configs_of_themselves_only() -> None:
    async with EmbeddedCluster(ClusterSpec(static_configs={"log.retention.ms": "7"})) as cluster:
        own, other = await list_one(cluster, 5, "2", broker=2), await list_one(cluster, 5, "1", broker=2)
        assert any(read_only for _, read_only, _, _ in own.values())
        assert not any(read_only for _, read_only, _, _ in other.values())
        assert own["log.retention.ms"] == ("7", False, False, False)
        fixed = next(key for key, told in own.items() if told[1])
        assert await alter(cluster, (5, "1", {fixed: "1"})) == [("1", 10_002)]


async def test_dynamic_goes_before_the_file_and_that_before_the_default() -> None:
    async with EmbeddedCluster(ClusterSpec(static_configs={"log.retention.ms": "7"})) as cluster:
        assert (await kip21_describe(cluster, "broker", "1"))[1]["log.retention.ms"] == "7"
        assert await kip21_alter(cluster, "broker", "1", [("log.retention.ms", "8")]) == 0
        assert (await kip21_describe(cluster, "broker", "1"))[1]["log.retention.ms"] == "8"
        assert await kip21_alter(cluster, "broker", "1", [], ("log.retention.ms",)) == 0
        assert (await kip21_describe(cluster, "broker", "1"))[1]["log.retention.ms"] == "7"
        assert await kip21_alter(cluster, "broker", "1", [("log.dirs", "/elsewhere")]) == 10_000
