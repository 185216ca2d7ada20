"""Tests of the embedded cluster's config definitions, and of its answers to values of each key, compared with
Kafka's.
"""

from collections.abc import Mapping

import pytest

from console.embedded import config_definitions
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from console.model.codes import CLIENT_METRICS, GROUP, SET, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource
from tests.embedded.raw_client import RawClient
from tests.embedded.test_configs import Ops, altered, describe, value_error
from tests.support import kafka_cluster, kafka_jars, real_clusters, record_config_definitions

pytestmark = pytest.mark.broker

VALUES = ["", "x", " 5 ", "-1", "-2", "0", "1", "1.5", "true", "FALSE", "a, b", "delete,compact", "delete,delete,"]
VALUES += [
    "*",
    "0:1,1:2",
    "0:1,",
    "0-1",
    "gzip",
    "99999999999",
    "9223372036854775808",
    "1e3",
    "NaN",
    "Infinity",
    "0x1p3",
]
VALUES += ["1f", "+7", "\u0663", "java.lang.String", "com.example.Nobody", "17", "18", "22", "23", "9", "10", "-131073"]
VALUES += [
    "earliest",
    "by_duration:PT1H",
    "by_duration:x",
    "by_duration:-PT1H",
    "2.8",
    "3.9-IV0",
    "0.10.0.1",
    "upgrade",
]
STATIC = 4
NOT_SENT = {"controller.quorum.voters", "controller.quorum.bootstrap.servers"}
"""Keys that can't be altered and whose validators the embedded cluster does not have, so that they are not compared."""


@pytest.fixture(
    scope="module",
    params=real_clusters.by_release(RELEASE_NAMES, "3.9", "4.4"),
)
def release(request: pytest.FixtureRequest) -> str:
    """Provide the name of each release whose jars are present, in turn."""
    name: str = request.param
    with real_clusters.or_skip():
        kafka_jars.compiler()
        kafka_jars.jars(kafka_jars.RELEASES[name])
    return name


def test_the_definitions_are_kafkas(release: str) -> None:
    kept = config_definitions.release_data(release)
    assert kept.pop("loggers")
    assert kept == record_config_definitions.definitions(release)


def test_values_are_judged_as_by_kafka(release: str) -> None:
    configs = config_definitions.release_configs(release)
    sections = {
        "topic": configs.topic,
        "broker": configs.broker,
        "group": configs.group,
        "client_metrics": configs.others[CLIENT_METRICS],
    }
    asked = [
        (section, key, value)
        for section, keys in sections.items()
        for key in keys
        if key not in NOT_SENT
        for value in VALUES
    ]
    judged = record_config_definitions.verdicts(release, asked)
    assert len(judged) == len(asked) > 7000
    for (section, key, value), real in zip(asked, judged, strict=True):
        assert value_error(sections[section][key], value) == real, (section, key, value)


@pytest.fixture(params=[each for each in real_clusters.EACH if each.values[0][1] in RELEASE_NAMES])
def real(request: pytest.FixtureRequest) -> tuple[str, Mapping[int, tuple[str, int]]]:
    """Provide, in turn for each imitated release, its name and broker id -> address of a real cluster of it."""
    _, release = request.param
    cluster: kafka_cluster.KafkaCluster = request.getfixturevalue(real_clusters.REAL[release])
    return release, dict(zip(cluster.broker_ids, cluster.addresses, strict=True))


def requests(release: str) -> list[list[tuple[ConfigResource, Ops]]]:
    """Return the requests, each a list of (resource, operations), that set each key of topics, groups and metrics to
    each tested value, on a separate resource each; then the brokers' keys.
    """
    configs = config_definitions.release_configs(release)
    kinds: tuple[tuple[ConfigResource, config_definitions.Definitions], ...] = (
        (ConfigResource(TOPIC, "nobody-has-made-"), configs.topic),
        (ConfigResource(GROUP, "g"), configs.group),
        (ConfigResource(CLIENT_METRICS, "m"), configs.others[CLIENT_METRICS]),
    )
    mass: list[tuple[ConfigResource, Ops]] = [
        (ConfigResource(kind.type, f"{kind.name}{key}-{number}"), [(key, SET, value)])
        for kind, section in kinds
        for key in section
        for number, value in enumerate(VALUES)
    ]
    dynamic = {**configs.broker, **configs.broker_dynamic_only}
    keys = sorted(key for key, definition in dynamic.items() if _is_compared(key, definition))
    brokers: list[list[tuple[ConfigResource, Ops]]] = [
        [(broker_resource(1), [(key, SET, value)]), (CLUSTER_DEFAULT, [(key, SET, value)])]
        for key in keys
        for value in ("x", "-1", "0", " 5 ", "999999")
    ]
    return [mass, *brokers]


def _is_compared(key: str, definition: config_definitions.ConfigDefinition) -> bool:
    """Return whether a key is compared: False if only a real broker opens the class, file or socket that it names."""
    return (
        definition.type != config_definitions.CLASS and "listener" not in key and not key.startswith(("sasl.", "ssl."))
    )


async def test_a_real_broker_says_the_same_to_every_key(real: tuple[str, Mapping[int, tuple[str, int]]]) -> None:
    release, brokers = real
    static = {"log.cleaner.dedupe.buffer.size": "4194304"}
    differing = []
    spec = ClusterSpec(versions=release, static_configs=static)
    async with (
        EmbeddedCluster(spec) as cluster,
        RawClient(brokers[1]) as kafka,
        RawClient(cluster) as embedded,
    ):
        for wanted in requests(release):
            theirs = await altered(kafka, *wanted, validate_only=True)
            ours = await altered(embedded, *wanted, validate_only=True)
            pairs = zip(wanted, theirs, ours, strict=True)
            differing += [(change, their, our) for change, their, our in pairs if our != their]
    assert differing == []


async def test_a_real_broker_describes_itself_the_same(real: tuple[str, Mapping[int, tuple[str, int]]]) -> None:
    release, brokers = real
    (theirs,) = await describe(brokers, broker_resource(1), documentation=True)
    async with EmbeddedCluster(ClusterSpec(versions=release)) as cluster:
        (ours,) = await describe(cluster, broker_resource(1), documentation=True)
    their, our = ({entry.name: entry for entry in result.configs} for result in (theirs, ours))
    in_files = {entry.name for result in (theirs, ours) for entry in result.configs if entry.config_source == STATIC}
    assert len(their.keys() - in_files) > 150
    for name in (their.keys() | our.keys()) - in_files:
        assert our[name] == their[name]
    for name in in_files & their.keys() & our.keys():
        for part in ("read_only", "is_sensitive", "config_type", "documentation"):
            assert getattr(our[name], part) == getattr(their[name], part), name
