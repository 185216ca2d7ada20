"""DescribeConfigs over the wire: quick bytes, and whose view it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.config_describe import described_entries
from console.embedded.replicas import new_topic
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from console.model.codes import BROKER, BROKER_LOGGER, GROUP, TOPIC, ResourceType
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from tests.embedded.proposals_client import Rights, WatchedClock
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields

T = topic_resource("t")
KEYS = ("retention.ms", "cleanup.policy", "segment.ms")


Brokers = EmbeddedCluster | Mapping[int, tuple[str, int]]
"""An embedded cluster, or any cluster's addresses by broker id."""


def address(cluster: Brokers, broker: int) -> tuple[str, int]:
    return (cluster.addresses if isinstance(cluster, EmbeddedCluster) else cluster)[broker]


async def describe(
    cluster: Brokers,
    *resources: ConfigResource,
    keys: tuple[str, ...] | None = None,
    version: int = 4,
    broker: int = 1,
    synonyms: bool = True,
    documentation: bool = False,
) -> list[Any]:
    asked = [(each.type, each.name, keys) for each in resources]
    request = with_fields(resources=asked, include_synonyms=synonyms, include_documentation=documentation)
    async with RawClient(address(cluster, broker)) as client:
        return list((await client.ask("describe_configs", version, request)).results)


def told(result: Any) -> dict[str, tuple[str | None, int]]:
    return {entry.name: (entry.value, entry.config_source) for entry in result.configs}


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("asked", [(True, True), (True, False), (False, False)])
async def test_the_bytes_say_what_is_described(release: str, version: int, asked: tuple[bool, bool]) -> None:
    synonyms, documentation = asked
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=release)) as cluster:
        names = ["t", "u", "Tür", "w"]
        for name in names:
            cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        cluster.state.replace_config(T, {"retention.ms": " 5 ", "cleanup.policy": "compact"})
        cluster.state.replace_config(topic_resource("u"), {"cleanup.policy": "compact", "retention.ms": " 5 "})
        cluster.state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": "7", "nobody.knows": "a secret"})
        resources = [topic_resource(name) for name in names]
        resources += [CLUSTER_DEFAULT, broker_resource(1), ConfigResource(BROKER_LOGGER, "1")]
        results = await describe(cluster, *resources, version=version, synonyms=synonyms, documentation=documentation)
        assert [(result.resource_type, result.resource_name) for result in results] == resources
        assert all((result.error_code, result.error_message) == (0, "") for result in results)
        for resource, result in zip(resources, results, strict=True):
            entries = described_entries(cluster, 1, resource)
            assert [entry.name for entry in result.configs] == [entry.name for entry in entries]
            for entry, each in zip(entries, result.configs, strict=True):
                assert (each.value, each.read_only, each.config_source, each.is_sensitive) == (
                    entry.value,
                    entry.read_only,
                    entry.source,
                    entry.sensitive,
                )
                assert [(s.name, s.value, s.source) for s in each.synonyms] == (
                    list(entry.synonyms) if synonyms else []
                )
                if version >= 3:
                    assert each.config_type == entry.type
                    shown = documentation or resource.type == BROKER_LOGGER
                    assert each.documentation == (entry.documentation if shown else None)
        assert "a secret" not in repr(results)


async def test_what_was_kept_does_not_outlive_a_change(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], [1]))
    (before,) = await describe(cluster, T, keys=KEYS)
    assert told(before) == {
        "retention.ms": ("604800000", 5),
        "cleanup.policy": ("delete", 5),
        "segment.ms": ("604800000", 5),
    }
    cluster.state.alter_config(T, {"retention.ms": "1"})
    cluster.state.alter_config(CLUSTER_DEFAULT, {"log.roll.ms": "2"})
    cluster.state.alter_config(broker_resource(1), {"log.cleanup.policy": "compact"})
    (after,) = await describe(cluster, T, keys=KEYS)
    assert told(after) == {"retention.ms": ("1", 1), "cleanup.policy": ("compact", 2), "segment.ms": ("2", 3)}
    (elsewhere,) = await describe(cluster, T, keys=KEYS, broker=2)
    assert told(elsewhere)["cleanup.policy"] == ("delete", 5)
    cluster.state.replace_config(T, {})
    assert told((await describe(cluster, T, keys=("retention.ms",)))[0]) == {"retention.ms": ("604800000", 5)}


async def test_a_broker_that_lags_behind_tells_what_it_knows() -> None:
    clock = WatchedClock()
    async with EmbeddedCluster(ClusterSpec(propagation_delay=5.0), clock) as cluster:
        cluster.state.put_topic(new_topic("t", [(1,)], [1]))
        clock.advance(10)
        cluster.state.alter_config(T, {"retention.ms": "1"})
        assert told((await describe(cluster, T, keys=("retention.ms",), broker=1))[0]) == {"retention.ms": ("1", 1)}
        (behind,) = await describe(cluster, T, keys=("retention.ms",), broker=2)
        assert told(behind) == {"retention.ms": ("604800000", 5)}
        clock.advance(10)
        assert told((await describe(cluster, T, keys=("retention.ms",), broker=2))[0]) == {"retention.ms": ("1", 1)}


async def test_a_brokers_file_tells_which_broker_it_is() -> None:
    spec = ClusterSpec(racks={2: "zone-b"}, static_configs={"num.partitions": "6"})
    async with EmbeddedCluster(spec) as cluster:
        (result,) = await describe(cluster, broker_resource(2), broker=2)
        configs = told(result)
        assert configs["node.id"] == ("2", 4)
        assert configs["broker.rack"] == ("zone-b", 4)
        assert configs["num.partitions"] == ("6", 4)
        host, port = cluster.addresses[2]
        assert configs["advertised.listeners"] == (f"PLAINTEXT://{host}:{port}", 4)
        assert configs["super.users"] == (None, 4)


async def test_rights_are_told_for_each_resource_behind_the_others(cluster: EmbeddedCluster) -> None:
    for name in ("t", "u"):
        cluster.state.put_topic(new_topic(name, [(1,)], [1]))
    cluster.authorizer = Rights(("DESCRIBE_CONFIGS", "TOPIC", "u"))
    results = await describe(cluster, T, broker_resource(1), topic_resource("u"), ConfigResource(GROUP, "g"))
    assert [(each.resource_name, each.error_code, each.error_message) for each in results] == [
        ("u", 0, ""),
        ("t", 29, "Topic authorization failed."),
        ("1", 31, "Cluster authorization failed."),
        ("g", 30, "Group authorization failed."),
    ]


@pytest.mark.parametrize(("release", "type_"), [("3.9", GROUP), ("4.4", ResourceType(64))])
async def test_a_type_that_the_release_does_not_know_fails_the_request(release: str, type_: ResourceType) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=release)) as cluster:
        results = await describe(cluster, ConfigResource(type_, "x"), ConfigResource(BROKER, "1"))
        assert [each.error_code for each in results] == [42, 42]
        assert all(each.error_message.startswith("This most likely occurs") for each in results)


async def test_many_topics_share_what_is_kept(cluster: EmbeddedCluster) -> None:
    names = [f"topic-{number:04d}" for number in range(1000)]
    for number, name in enumerate(names):
        cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        if number % 50 == 0:
            cluster.state.replace_config(topic_resource(name), {"retention.ms": str(1 + number % 7)})
    results = await describe(cluster, *(ConfigResource(TOPIC, name) for name in names))
    assert [result.resource_name for result in results] == names
    values = [next(e.value for e in result.configs if e.name == "retention.ms") for result in results]
    assert values == [str(1 + n % 7) if n % 50 == 0 else "604800000" for n in range(1000)]
