"""Fixtures of the contract tests: embedded clusters in all runs, and real clusters if brokers can run here."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import RELEASE_NAMES, ClusterSpec, SaslSpec
from console.model.secret import Secret
from tests.contract import acls, recorded, verbs
from tests.contract.target import ADMIN, ALICE, Server, Target
from tests.support.kafka_messages import with_fields
from tests.support.real_clusters import RARE, REAL, KafkaCluster
from tests.support.server_properties import NodePorts, server_properties

BROKERS = {"3.9": 1, "4.0": 3, "4.4": 3}
RECORDING = os.environ.get(recorded.RECORD)
"""The folder into which a run writes the answers of real brokers; None if it records nothing. Read at import, because
later each test has its own environment.
"""
USERS = {name: Secret(f"password of {name}") for name in (ADMIN, ALICE)}


def spec(release: str) -> ClusterSpec:
    """Return the spec of an embedded cluster that is set up like the real cluster of this release in
    tests/conftest.py.
    """
    brokers = BROKERS[release]
    return ClusterSpec(
        brokers=brokers,
        versions=release,
        proposals=False,
        sasl=SaslSpec(plain=USERS),
        super_users=frozenset({"User:ANONYMOUS", f"User:{ADMIN}"}),
        racks={broker: f"rack-{broker}" for broker in range(1, brokers + 1)},
        static_configs=_static_configs(release),
    )


def _static_configs(release: str) -> dict[str, str]:
    """Return the properties of a real broker of this release, without those that differ between brokers or machines."""
    ports = {broker: NodePorts(1, 2, sasl=3) for broker in range(1, BROKERS[release] + 1)}
    users = dict.fromkeys(USERS, "password")
    text = server_properties(1, ports, Path(), None, users, allow_everyone=True, extra={})
    properties = dict(line.split("=", 1) for line in text.splitlines())
    return {key: value for key, value in properties.items() if key not in _EACH_BROKERS_OWN}


_EACH_BROKERS_OWN = {
    "advertised.listeners",
    "broker.id",
    "broker.rack",
    "listeners",
    "log.dirs",
    "node.id",
    "sasl.enabled.mechanisms",
}


@pytest.fixture(scope="session")
def embedded() -> Iterator[Callable[[str], tuple[ThreadedCluster, Server]]]:
    """Provide a function that returns the embedded cluster of a release, and starts it at the first call."""
    running: dict[str, tuple[ThreadedCluster, Server]] = {}
    started = []

    def of(release: str) -> tuple[ThreadedCluster, Server]:
        if release not in running:
            context = run_in_thread(spec(release))
            cluster = context.__enter__()
            started.append(context)
            running[release] = cluster, Server(cluster.call(lambda each: each.addresses), USERS)
        return running[release]

    yield of
    for _, server in running.values():
        server.close()
    for context in started:
        context.__exit__(None, None, None)


@pytest.fixture(scope="session")
def real_servers() -> Iterator[dict[str, recorded.Recorder]]:
    """Provide a dict in which the tests keep their connections to real clusters, release -> connections. Close them at
    the end.
    """
    servers: dict[str, recorded.Recorder] = {}
    yield servers
    for server in servers.values():
        server.close()


def empty(side: Target) -> None:
    """Delete the configs, quotas, ACLs and SCRAM credentials that other tests left on a shared cluster."""
    for broker in ("", *map(str, side.brokers)):
        to = {"broker": int(broker)} if broker else {}
        left = [key for key in verbs.values(side, verbs.BROKER, broker, **to) if key != "min.insync.replicas"]
        assert verbs.alter(side, verbs.BROKER, broker, *((key, verbs.DELETE, None) for key in left)) == verbs.FINE
    metrics = side.ask("list_config_resources", 0, with_fields())["config_resources"]
    for name in (each["resource_name"] for each in metrics):
        left = list(verbs.values(side, verbs.CLIENT_METRICS, name))
        assert verbs.alter(side, verbs.CLIENT_METRICS, name, *((key, verbs.DELETE, None) for key in left)) == verbs.FINE
    for entity, limits in verbs.quotas(side, [])[1]:
        assert verbs.alter_quotas(side, [(entity, dict.fromkeys(limits))]) == [verbs.FINE]
    acls.delete(side, acls.EVERYTHING)
    users = side.ask("describe_user_scram_credentials", 0, with_fields(users=None))["results"]
    for user, mechanism in ((each["user"], info["mechanism"]) for each in users for info in each["credential_infos"]):
        side.ask("alter_user_scram_credentials", 0, with_fields(deletions=[(user, mechanism)], upsertions=[]))


def beside_real(function: str) -> list[object]:
    """Return a pytest parameter for each imitated release: the recorded answers of the real cluster, or the real
    cluster itself if the test has no recorded answers. In `make test-long` recorded tests run against the real
    clusters too.

    Args:
        function: ``module::name`` of the test function.
    """
    found: list[object] = []
    for release in RELEASE_NAMES:
        is_recorded = function in recorded.recorded_functions(release)
        if is_recorded:
            found.append(pytest.param(("recorded", release), id=f"recorded-{release}"))
        marks = [pytest.mark.broker, *([pytest.mark.long] if is_recorded or release in RARE else [])]
        found.append(pytest.param(("real", release), id=f"real-{release}", marks=marks))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on each release twice: on the embedded cluster alone, and on the embedded cluster together with the
    real one or its recorded answers. Tests marked `compares`, and rare releases with recorded answers, run only the
    second way.
    """
    if "target" not in metafunc.fixturenames:
        return
    function = f"{metafunc.definition.path.stem}::{metafunc.function.__name__}"
    alone = [
        pytest.param(("embedded", release), id=f"embedded-{release}")
        for release in RELEASE_NAMES
        if not (release in RARE and function in recorded.recorded_functions(release))
    ]
    if metafunc.definition.get_closest_marker("compares"):
        alone = []
    metafunc.parametrize("target", [*alone, *beside_real(function)], indirect=True)


@pytest.fixture
def target(
    request: pytest.FixtureRequest,
    embedded: Callable[[str], tuple[ThreadedCluster, Server]],
    real_servers: dict[str, recorded.Recorder],
) -> Iterator[Target]:
    """Provide the clusters under test: the embedded cluster of a release, alone or together with the real cluster or
    its recorded answers.
    """
    kind, release = request.param
    thread, server = embedded(release)
    if kind == "embedded":
        yield Target(release, server, thread)
        return
    own = recorded.case(request.node, release)
    if kind == "recorded":
        yield Target(release, server, thread, recorded.Recorded(BROKERS[release], recorded.tape_of(release, own)))
        return
    cluster: KafkaCluster = request.getfixturevalue(REAL[release])
    if release not in real_servers:
        users = {name: Secret(password) for name, password in cluster.users.items()}
        addresses = dict(zip(cluster.broker_ids, cluster.login_addresses, strict=True))
        real_servers[release] = recorded.Recorder(addresses, users)
        empty(Target(release, real_servers[release], thread))
    recorder = real_servers[release]
    recorder.tape = []
    yield Target(release, server, thread, recorder)
    if RECORDING:
        recorded.keep(
            RECORDING, release, own, recorded.LIVE if request.node.get_closest_marker("live") else recorder.tape
        )


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Provide a name for topics and groups. It is unique to the test and the same in each run, because the recorded
    requests contain it.
    """
    whose = re.sub(
        r"(?:recorded|real)-(\d\.\d)", lambda found: recorded.NAMED.get(found[1], found[1]), request.node.nodeid
    )
    return f"contract-{hashlib.sha256(whose.encode()).hexdigest()[:8]}"


@pytest.fixture
def topic(target: Target, name: str) -> Iterator[str]:
    """Create a topic with one partition on broker 1, wait until broker 1 has its metadata, and provide its name. Delete
    it after the test.
    """
    assert verbs.create_topics(target, {name: {0: [1]}}) == {name: ("NONE", None)}
    assert verbs.partitions(target, name) == {0: [1]}
    yield name
    verbs.delete_topics(target, name)


@pytest.fixture
def kept_topic(target: Target, name: str) -> Iterator[str]:
    """Provide a topic as `topic` does, with unlimited retention: the tests' records are older than the default
    retention, and real brokers delete expired records every five minutes.
    """
    assert verbs.create_topics(target, {name: {0: [1]}}, {"retention.ms": "-1"}) == {name: ("NONE", None)}
    assert verbs.partitions(target, name) == {0: [1]}
    yield name
    verbs.delete_topics(target, name)
