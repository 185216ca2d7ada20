"""Changes of configs over the wire: policies, rights, loggers, and what is too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.config_changes import PolicyViolation
from console.embedded.replicas import new_topic
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from console.model import codes
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.wire.proposals import kip133_configs as kip133
from tests.embedded.proposals_client import Rights, ask
from tests.embedded.raw_client import RawClient
from tests.embedded.test_configs_describe import Brokers, address, describe, told
from tests.support.kafka_messages import with_fields

T = topic_resource("t")
Ops = Sequence[tuple[str, codes.AlterOp, str | None]]
Told = list[tuple[int, str | None]]


async def alter(
    cluster: Brokers, *wanted: tuple[ConfigResource, Ops], broker: int = 1, validate_only: bool = False
) -> Told:
    async with RawClient(address(cluster, broker)) as client:
        return await altered(client, *wanted, validate_only=validate_only)


async def altered(client: RawClient, *wanted: tuple[ConfigResource, Ops], validate_only: bool = False) -> Told:
    resources = [(resource.type, resource.name, ops) for resource, ops in wanted]
    asked = with_fields(resources=resources, validate_only=validate_only)
    response = await client.ask("incremental_alter_configs", 1, asked)
    told = {
        (each.resource_type, each.resource_name): (each.error_code, each.error_message) for each in response.responses
    }
    assert len(told) == len(wanted)
    return [told[resource] for resource, _ in wanted]


async def replace(
    cluster: EmbeddedCluster, *wanted: tuple[ConfigResource, dict[str, str | None]], broker: int = 1
) -> Told:
    resources = [(resource.type, resource.name, [*configs.items()]) for resource, configs in wanted]
    async with RawClient(address(cluster, broker)) as client:
        response = await client.ask("alter_configs", 2, with_fields(resources=resources, validate_only=False))
    return [(each.error_code, each.error_message) for each in response.responses]


class FrozenTopics:
    """A policy that lets nobody touch some topics, and keeps what it was asked."""

    def __init__(self, *frozen: str) -> None:
        self.frozen = frozen
        self.asked: list[tuple[ConfigResource, dict[str, str | None]]] = []
        self.configured: list[dict[str, str]] = []
        self.closed = 0

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configured.append(dict(configs))

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        self.asked.append((resource, dict(configs)))
        if resource.name in self.frozen:
            raise PolicyViolation(f"{resource.name} is not to be touched")

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("release", RELEASE_NAMES)
async def test_a_policy_refuses_in_its_own_words_and_the_others_proceed(release: str) -> None:
    policy = FrozenTopics("t")
    spec = ClusterSpec(brokers=1, versions=release, alter_config_policy=policy, static_configs={"num.partitions": "3"})
    async with EmbeddedCluster(spec) as cluster:
        assert policy.configured == [{"num.partitions": "3"}]
        for name in ("t", "u"):
            cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        u = topic_resource("u")
        cluster.state.replace_config(u, {"flush.ms": "5", "retention.ms": "1"})
        ops: Ops = [("retention.ms", codes.SET, "7"), ("flush.ms", codes.DELETE, None)]
        answer = await alter(cluster, (T, ops), (u, ops))
        assert answer == [(44, "t is not to be touched"), (0, None)]
        assert policy.asked[-1] == (u, {"retention.ms": "7", "flush.ms": None})
        assert (dict(cluster.state.configs.get(T, {})), cluster.state.configs[u]) == ({}, {"retention.ms": "7"})
        assert await alter(cluster, (T, ops), validate_only=True) == [(44, "t is not to be touched")]
        assert await replace(cluster, (T, {}), (u, {})) == [(44, "t is not to be touched"), (0, None)]
        assert await alter(cluster, (T, [("retention.ms", codes.SET, "x")])) != [(44, "t is not to be touched")]
    assert policy.closed == 1


async def test_a_policy_has_its_say_in_the_proposals_request_too() -> None:
    policy = FrozenTopics("t")
    async with EmbeddedCluster(ClusterSpec(alter_config_policy=policy)) as cluster:
        for name in ("t", "u"):
            cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        request = kip133.AlterConfigsRequest(
            resources=tuple(
                kip133.AlteredResource(
                    resource_type=2,
                    resource_name=name,
                    configs=(kip133.AlteredConfig(config_name="retention.ms", config_value="7"),),
                )
                for name in ("t", "u")
            ),
            validate_only=False,
        )
        responses = (await ask(cluster, request, 2)).responses
        assert [(each.resource_name, each.error_code, each.error_message) for each in responses] == [
            ("t", 44, "t is not to be touched"),
            ("u", 0, ""),
        ]
        assert policy.asked == [
            (T, {"retention.ms": "7"}),
            (topic_resource("u"), {"retention.ms": "7"}),
        ]


async def test_loggers_change_on_their_broker_until_it_ends(cluster: EmbeddedCluster) -> None:
    logger, key = ConfigResource(codes.BROKER_LOGGER, "2"), "kafka.request.logger"
    end = cluster.state.log.end
    assert await alter(cluster, (logger, [(key, codes.SET, "DEBUG"), ("root", codes.SET, "ERROR")]), broker=2) == [
        (0, None)
    ]
    assert told((await describe(cluster, logger, keys=(key, "root", "kafka.authorizer.logger"), broker=2))[0]) == {
        key: ("DEBUG", 6),
        "root": ("ERROR", 6),
        "kafka.authorizer.logger": ("ERROR", 6),
    }
    other = ConfigResource(codes.BROKER_LOGGER, "1")
    assert told((await describe(cluster, other, keys=(key, "root")))[0]) == {key: ("WARN", 6), "root": ("INFO", 6)}
    assert await alter(cluster, (logger, [(key, codes.DELETE, None)]), broker=2) == [(0, None)]
    assert told((await describe(cluster, logger, keys=(key,), broker=2))[0]) == {key: ("ERROR", 6)}
    (refused,) = await alter(cluster, (logger, [(key, codes.SET, "TRACE"), ("nobody", codes.SET, "INFO")]), broker=2)
    assert refused == (40, "Logger nobody does not exist!")
    assert told((await describe(cluster, logger, keys=(key,), broker=2))[0]) == {key: ("ERROR", 6)}
    assert cluster.state.log.end == end
    await cluster.broker_down(2)
    await cluster.broker_up(2)
    assert told((await describe(cluster, logger, keys=(key, "root"), broker=2))[0]) == {
        key: ("WARN", 6),
        "root": ("INFO", 6),
    }


async def test_a_brokers_record_is_written_again_and_a_topics_is_not(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], [1]))
    for resource, key, again in ((T, "retention.ms", 0), (broker_resource(1), "log.retention.ms", 1)):
        assert await alter(cluster, (resource, [(key, codes.SET, "5")])) == [(0, None)]
        end = cluster.state.log.end
        assert await alter(cluster, (resource, [(key, codes.SET, "5")])) == [(0, None)]
        assert cluster.state.log.end == end + again


@pytest.mark.parametrize("topics", [3333, 3334])
async def test_ten_thousand_records_are_too_many_for_one_change(cluster: EmbeddedCluster, topics: int) -> None:
    resources = [topic_resource(f"t{number}") for number in range(topics)]
    for resource in resources:
        cluster.state.put_topic(new_topic(resource.name, [(1,)], [1]))
    ops: Ops = [("retention.ms", codes.SET, "1"), ("flush.ms", codes.SET, "2"), ("segment.ms", codes.SET, "3")]
    end = cluster.state.log.end
    answer = await alter(cluster, *((resource, ops) for resource in resources))
    if topics * 3 <= 10_000:
        assert set(answer) == {(0, None)}
        assert all(len(cluster.state.configs[resource]) == 3 for resource in resources)
    else:
        assert set(answer) == {(44, "Unable to perform excessively large batch operation.")}
        assert cluster.state.log.end == end


async def test_rights_are_looked_at_for_each_resource(cluster: EmbeddedCluster) -> None:
    for name in ("t", "u"):
        cluster.state.put_topic(new_topic(name, [(1,)], [1]))
    cluster.authorizer = Rights(("ALTER_CONFIGS", "TOPIC", "u"))
    retention: Ops = [("retention.ms", codes.SET, "7")]
    answer = await alter(
        cluster,
        (T, retention),
        (topic_resource("u"), retention),
        (CLUSTER_DEFAULT, [("log.retention.ms", codes.SET, "7")]),
        (ConfigResource(codes.BROKER_LOGGER, "1"), [("root", codes.SET, "INFO")]),
    )
    assert [code for code, _ in answer] == [29, 0, 31, 31]
    assert set(cluster.state.configs) & {T, topic_resource("u")} == {topic_resource("u")}


async def test_in_sync_replicas_of_a_cluster_with_elr_stand_in_the_metadata() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1, static_configs={"min.insync.replicas": "2"})) as cluster:
        assert cluster.state.configs[CLUSTER_DEFAULT] == {"min.insync.replicas": "2"}
        key = "min.insync.replicas"
        assert await alter(cluster, (CLUSTER_DEFAULT, [(key, codes.SET, "1")])) == [(0, None)]
        ((code, message),) = await alter(cluster, (CLUSTER_DEFAULT, [(key, codes.DELETE, None)]))
        assert (code, message) == (40, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
        ((code, message),) = await alter(cluster, (broker_resource(1), [(key, codes.SET, "1")]))
        assert (code, message) == (40, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")


async def test_a_broker_that_lags_decides_by_what_it_knows_and_the_controller_by_what_is() -> None:
    async with EmbeddedCluster(ClusterSpec(propagation_delay=3600.0)) as cluster:
        cluster.state.put_topic(new_topic("t", [(1,)], [1]))
        cluster.state.alter_config(T, {"cleanup.policy": "compact"})
        assert await alter(cluster, (T, [("cleanup.policy", codes.APPEND, "delete")]), broker=3) == [(0, None)]
        assert cluster.state.configs[T] == {"cleanup.policy": "compact,delete"}


@pytest.mark.parametrize("type_", [codes.BROKER, codes.BROKER_LOGGER])
async def test_another_brokers_resource_is_refused(cluster: EmbeddedCluster, type_: int) -> None:
    key = "log.retention.ms" if type_ == codes.BROKER else "root"
    value = "5" if type_ == codes.BROKER else "INFO"
    resource = ConfigResource(codes.BROKER if type_ == codes.BROKER else codes.BROKER_LOGGER, "2")
    ((code, message),) = await alter(cluster, (resource, [(key, codes.SET, value)]))
    assert code == 42
    assert message is not None
    assert message.startswith("Unexpected ")
    assert message.endswith("xpected 1, but received 2")
