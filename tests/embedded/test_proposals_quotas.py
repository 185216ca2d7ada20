"""KIP-248's quota requests, and DescribeClientQuotas with many filters, over sockets."""

from __future__ import annotations

from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.tables import ScramCredential, ScramKey
from console.model.quota import QuotaEntity
from console.wire.proposals import batched_describes as batched_quotas
from console.wire.proposals import kip248_quotas as wire
from tests.embedded.proposals_client import ON_CLUSTER, Rights, ask

USER, CLIENT = 5, 6
NOBODY = wire.QuotaConfigResource(type=0, name=None)
RATE = "producer_byte_rate"


def user(name: str | None) -> wire.QuotaConfigResource:
    return wire.QuotaConfigResource(type=USER, name=name)


def client(name: str | None) -> wire.QuotaConfigResource:
    return wire.QuotaConfigResource(type=CLIENT, name=name)


def entity(**parts: str | None) -> QuotaEntity:
    return QuotaEntity.of({key.replace("_", "-"): name for key, name in parts.items()})


@pytest.fixture
def quotas(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """A cluster with quotas of every kind."""
    for whose, rate in (
        (entity(user="a"), 1.0),
        (entity(user=None), 2.0),
        (entity(user="b", client_id="c"), 3.0),
        (entity(user="b", client_id=None), 4.0),
        (entity(client_id="d"), 5.0),
        (entity(ip="10.0.0.1"), 6.0),
    ):
        cluster.state.alter_quota(whose, {RATE: rate})
    return cluster


async def names(cluster: EmbeddedCluster, resource: wire.QuotaConfigResource) -> tuple[int, tuple[str, ...]]:
    response = await ask(cluster, wire.ListQuotasRequest(quota_config_resource=resource), 2)
    assert (response.error_code == 0) == (response.error_message is None)
    return response.error_code, response.quota_config_entity_names


async def test_lists_all_of_a_type_or_the_children_of_one(quotas: EmbeddedCluster) -> None:
    assert await names(quotas, user(None)) == (0, ("<default>", "a", "b"))
    assert await names(quotas, client(None)) == (0, ("d",))
    assert await names(quotas, user("b")) == (0, ("<default>", "c"))
    assert await names(quotas, user("<default>")) == (0, ())
    assert await names(quotas, client("d")) == (0, ())
    assert await names(quotas, wire.QuotaConfigResource(type=4, name=None)) == (42, ())


async def test_listing_needs_describe_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("DESCRIBE_CONFIGS", *ON_CLUSTER))
    assert await names(quotas, user(None)) == (31, ())
    quotas.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    assert (await names(quotas, client(None)))[0] == 0


async def describe(
    cluster: EmbeddedCluster,
    parent: wire.QuotaConfigResource,
    child: wire.QuotaConfigResource = NOBODY,
    keys: tuple[str, ...] | None = None,
) -> tuple[int, list[tuple[str, str, bool, bool, bool]]]:
    wanted = wire.WantedQuotas(quota_config_resource=parent, child_quota_config_resource=child, config_names=keys)
    (result,) = (await ask(cluster, wire.DescribeQuotasRequest(resources=(wanted,)), 3)).resources
    assert (result.quota_config_resource, result.child_quota_config_resource) == (parent, child)
    (config,) = result.configs
    return config.error_code, [
        (e.config_name, e.config_value, e.read_only, e.is_default, e.is_sensitive) for e in config.config_entries
    ]


async def test_null_names_are_all_keys(quotas: EmbeddedCluster) -> None:
    assert await describe(quotas, user("a")) == (
        0,
        [
            (RATE, "1", False, False, False),
            ("consumer_byte_rate", "9223372036854775807", False, True, False),
            ("request_percentage", "2147483647.0", False, True, False),
            ("controller_mutation_rate", "2147483647.0", False, True, False),
        ],
    )
    assert await describe(quotas, user("a"), keys=()) == (0, [])


@pytest.mark.parametrize(
    ("parent", "child", "value", "is_default"),
    [
        (user("<default>"), NOBODY, "2", False),
        (user("other"), NOBODY, "2", True),
        (user("b"), client("c"), "3", False),
        (user("b"), client("<default>"), "4", False),
        (client("d"), NOBODY, "5", False),
        (client("e"), NOBODY, "9223372036854775807", True),
    ],
)
async def test_a_value_is_the_entitys_own_or_its_default(
    quotas: EmbeddedCluster,
    parent: wire.QuotaConfigResource,
    child: wire.QuotaConfigResource,
    value: str,
    is_default: bool,
) -> None:
    keys = (RATE, "no_such_key")
    assert await describe(quotas, parent, child, keys) == (0, [(RATE, value, False, is_default, False)])


@pytest.mark.parametrize(
    ("parent", "child"),
    [
        (user(None), NOBODY),
        (user(""), NOBODY),
        (client("c"), user("a")),
        (client("c"), client("d")),
        (user("a"), client(None)),
        (wire.QuotaConfigResource(type=2, name="t"), NOBODY),
        (NOBODY, NOBODY),
    ],
)
async def test_what_has_no_quotas(
    quotas: EmbeddedCluster, parent: wire.QuotaConfigResource, child: wire.QuotaConfigResource
) -> None:
    assert await describe(quotas, parent, child) == (42, [])


async def test_describing_needs_describe_configs_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    assert await describe(quotas, user("a")) == (31, [])


async def alter(
    cluster: EmbeddedCluster,
    values: dict[str, str],
    parent: wire.QuotaConfigResource,
    child: wire.QuotaConfigResource = NOBODY,
    *,
    validate_only: bool = False,
) -> dict[str, int]:
    item = wire.AlteredQuotas(
        quota_config_resource=parent,
        child_quota_config_resource=child,
        configs=tuple(wire.QuotaConfig(config_name=key, config_value=value) for key, value in values.items()),
    )
    response: Any = await ask(cluster, wire.AlterQuotasRequest(validate_only=validate_only, resources=(item,)), 2)
    (result,) = response.resources
    return {config.config_name: config.error_code for config in result.configs}


async def test_each_key_has_its_result_and_good_ones_are_set(quotas: EmbeddedCluster) -> None:
    answer = await alter(
        quotas,
        {RATE: "1024", "consumer_byte_rate": "1.5", "request_percentage": "12.5", "nonsense": "1"},
        user("b"),
        client("<default>"),
    )
    assert answer == {RATE: 0, "consumer_byte_rate": 42, "request_percentage": 0, "nonsense": 42}
    assert quotas.state.quotas[entity(user="b", client_id=None)] == {RATE: 1024.0, "request_percentage": 12.5}


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "much"])
async def test_values_that_are_no_quotas(quotas: EmbeddedCluster, bad: str) -> None:
    assert await alter(quotas, {RATE: bad}, user("a")) == {RATE: 42}
    assert quotas.state.quotas[entity(user="a")] == {RATE: 1.0}


async def test_an_empty_value_puts_the_default_back(quotas: EmbeddedCluster) -> None:
    assert await alter(quotas, {RATE: ""}, user("a")) == {RATE: 0}
    assert await describe(quotas, user("a"), keys=(RATE,)) == (0, [(RATE, "2", False, True, False)])


async def test_validating_alters_nothing(quotas: EmbeddedCluster) -> None:
    end = quotas.state.log.end
    answer = await alter(quotas, {RATE: "7", "request_percentage": "x"}, user("a"), validate_only=True)
    assert answer == {RATE: 0, "request_percentage": 42}
    assert quotas.state.log.end == end


async def test_credentials_are_read_only_and_never_told(quotas: EmbeddedCluster) -> None:
    quotas.state.put("scram", ScramKey("a", 1), ScramCredential(b"salt", 4096, b"stored", b"server"))
    assert await describe(quotas, user("a"), keys=("SCRAM-SHA-256", "SCRAM-SHA-512")) == (
        0,
        [("SCRAM-SHA-256", "", True, False, True)],
    )
    assert await alter(quotas, {"SCRAM-SHA-256": "x", RATE: "9"}, user("a")) == {"SCRAM-SHA-256": 42, RATE: 0}


async def test_altering_needs_alter_configs_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("ALTER", *ON_CLUSTER))
    assert await alter(quotas, {RATE: "7"}, user("a")) == {RATE: 31}
    quotas.authorizer = Rights(("ALTER_CONFIGS", *ON_CLUSTER))
    assert await alter(quotas, {RATE: "7"}, user("a")) == {RATE: 0}


Component = tuple[str, int, str | None]


async def batched(
    cluster: EmbeddedCluster, strict: bool, *filters: tuple[Component, ...]
) -> list[tuple[int, set[QuotaEntity] | None]]:
    request = batched_quotas.DescribeClientQuotasRequest(
        strict=strict,
        filters=tuple(
            batched_quotas.DescribeClientQuotasFilter(
                components=tuple(
                    batched_quotas.ComponentData(entity_type=type_, match_type=match, match=name)
                    for type_, match, name in components
                )
            )
            for components in filters
        ),
    )
    return [
        (
            result.error_code,
            result.entries
            if result.entries is None
            else {QuotaEntity.of({p.entity_type: p.entity_name for p in entry.entity}) for entry in result.entries},
        )
        for result in (await ask(cluster, request)).filter_results
    ]


async def test_each_filter_has_its_result_at_its_place(quotas: EmbeddedCluster) -> None:
    assert await batched(
        quotas, False, (("user", 0, "a"),), (("user", 0, "b"),), (("user", 7, None),), (("ip", 2, None),), ()
    ) == [
        (0, {entity(user="a")}),
        (0, {entity(user="b", client_id="c"), entity(user="b", client_id=None)}),
        (42, None),
        (0, {entity(ip="10.0.0.1")}),
        (0, set(quotas.state.quotas)),
    ]


async def test_strict_is_for_all_filters(quotas: EmbeddedCluster) -> None:
    both: tuple[Component, ...] = (("user", 0, "b"), ("client-id", 1, None))
    assert await batched(quotas, True, (("user", 0, "b"),), both, (("user", 2, None),), ()) == [
        (0, set()),
        (0, {entity(user="b", client_id=None)}),
        (0, {entity(user="a"), entity(user=None)}),
        (0, set()),
    ]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ((("", 0, "a"),), 42),
        ((("user", 0, "a"), ("user", 0, "b")), 42),
        ((("user", 0, None),), 42),
        ((("user", 1, "a"),), 42),
        ((("user", 0, "a"), ("ip", 2, None)), 42),
        ((("planet", 0, "a"),), 35),
    ],
)
async def test_filters_that_are_refused(quotas: EmbeddedCluster, components: tuple[Component, ...], code: int) -> None:
    assert await batched(quotas, False, components, (("user", 0, "a"),)) == [(code, None), (0, {entity(user="a")})]


async def test_batched_quotas_need_describe_configs_on_the_cluster(quotas: EmbeddedCluster) -> None:
    quotas.authorizer = Rights(("DESCRIBE", *ON_CLUSTER))
    assert await batched(quotas, False, (), ()) == [(31, None), (31, None)]
