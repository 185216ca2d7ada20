"""Tests of clusters with an unusual setup: without an authorizer, and with a policy that checks changes of configs."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace as replace_field
from pathlib import Path

import pytest

from console.embedded.brokers import run_in_thread
from console.embedded.config_changes import PolicyViolation
from console.embedded.spec import RELEASE_NAMES
from console.model.config import ConfigResource
from console.model.secret import Secret
from tests.contract import acls, conftest, target, verbs
from tests.support import kafka_cluster, patience, real_clusters
from tests.support.kafka_jars import NEWEST, RELEASES, compiler, jars

HERE = Path(__file__).parent
POLICY = "RecordingPolicy"


class Recording:
    """The policy of RecordingPolicy.java for embedded clusters: it refuses each change that has the key segment.ms.
    The message of the refusal has the configs that the policy got.
    """

    def configure(self, configs: Mapping[str, str]) -> None: ...

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        if "segment.ms" in configs:
            shown = ", ".join(f"{key}={value or 'null'}" for key, value in sorted(configs.items()))
            raise PolicyViolation(f"TOPIC {resource.name} {{{shown}}}")

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def policed_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka_cluster.KafkaCluster]:
    """Provide a real cluster of the newest Kafka: one broker, without an authorizer, with the policy
    RecordingPolicy.
    """

    def make() -> kafka_cluster.KafkaCluster:
        classes = tmp_path_factory.mktemp("classes")
        command = [compiler(), "-cp", f"{jars(RELEASES[NEWEST])}/*", "-d", str(classes), str(HERE / f"{POLICY}.java")]
        subprocess.run(command, check=True, capture_output=True, timeout=patience.PATIENCE)
        properties = {"authorizer.class.name": "", "alter.config.policy.class.name": POLICY}
        return kafka_cluster.KafkaCluster(
            RELEASES[NEWEST], brokers=1, logins=True, properties=properties, classes=classes, quiet=False
        )

    yield from real_clusters.running(make)


TARGETS = [*(pytest.param((release, False), id=f"embedded-{release}") for release in RELEASE_NAMES)]
TARGETS.append(
    pytest.param((NEWEST, True), id=f"real-{NEWEST}", marks=[pytest.mark.broker, pytest.mark.xdist_group("policed")])
)


@pytest.fixture(params=TARGETS)
def unusual(request: pytest.FixtureRequest) -> Iterator[target.Target]:
    """Provide an embedded broker of each release, without an authorizer and with the policy; for the newest release,
    together with such a real broker.
    """
    release, is_real = request.param
    wanted = replace_field(conftest.spec(release), brokers=1, authorizer=False, alter_config_policy=Recording())
    with run_in_thread(wanted) as thread:
        servers = [target.Server(thread.call(lambda each: each.addresses), conftest.USERS)]
        if is_real:
            cluster: kafka_cluster.KafkaCluster = request.getfixturevalue("policed_cluster")
            users = {name: Secret(password) for name, password in cluster.users.items()}
            servers.append(target.Server({1: cluster.login_addresses[0]}, users))
        yield target.Target(release, servers[0], thread, servers[1] if is_real else None)
        for server in servers:
            server.close()


def test_without_an_authorizer(unusual: target.Target) -> None:
    """On a cluster without an authorizer, all ACL requests get SECURITY_DISABLED."""
    binding = acls.Binding("x", "User:alice")
    disabled = ("SECURITY_DISABLED", "No Authorizer is configured.")
    assert acls.found(unusual) == (("SECURITY_DISABLED", "No Authorizer is configured on the broker"), set())
    assert acls.create(unusual, binding, binding._replace(principal="bob")) == [disabled] * 2
    assert acls.delete(unusual, acls.EVERYTHING) == [(disabled, set())]


def test_what_a_policy_sees_and_refuses(unusual: target.Target, name: str) -> None:
    """The policy gets only the altered keys, with null for a DELETE, also for validate-only requests. A resource that
    it refuses gets POLICY_VIOLATION; the other resources of the request are changed.
    """
    other = f"{name}-2"
    assert verbs.create_topics(unusual, {name: {0: [1]}, other: {0: [1]}}) == {name: verbs.FINE, other: verbs.FINE}
    fine, bad = ("retention.ms", verbs.SET, "1000"), ("segment.ms", verbs.SET, "5000")
    assert verbs.alter(unusual, verbs.TOPIC, name, fine, dry=True) == verbs.FINE
    assert verbs.alter(unusual, verbs.TOPIC, name, {"max.message.bytes": "2000000"}) == verbs.FINE
    refused = ("POLICY_VIOLATION", f"TOPIC {name} {{max.message.bytes=null, segment.ms=5000}}")
    for dry in (True, False):
        assert (
            verbs.alter(unusual, verbs.TOPIC, name, bad, ("max.message.bytes", verbs.DELETE, None), dry=dry) == refused
        )
    refused = ("POLICY_VIOLATION", f"TOPIC {name} {{segment.ms=5000}}")
    assert dict(verbs.alter_each(unusual, [((verbs.TOPIC, name), [bad]), ((verbs.TOPIC, other), [fine])])) == {
        (verbs.TOPIC, name): refused,
        (verbs.TOPIC, other): verbs.FINE,
    }
    assert verbs.values(unusual, verbs.TOPIC, name) == {"max.message.bytes": "2000000"}
    assert verbs.values(unusual, verbs.TOPIC, other) == {"retention.ms": "1000"}
    refused = ("POLICY_VIOLATION", f"TOPIC {other} {{retention.ms=2000, segment.ms=5000}}")
    replaced = {"segment.ms": "5000", "retention.ms": "2000"}
    assert verbs.replace(unusual, [((verbs.TOPIC, other), replaced)])[verbs.TOPIC, other] == refused
    verbs.delete_topics(unusual, name, other)


def test_the_policy_is_asked_last(unusual: target.Target, name: str) -> None:
    """Brokers check the values and whether the resource exists before they call the policy."""
    missing = ("UNKNOWN_TOPIC_OR_PARTITION", f"The topic '{name}' does not exist.")
    assert verbs.alter(unusual, verbs.TOPIC, name, {"segment.ms": "5000"}) == missing
    assert verbs.alter(unusual, verbs.TOPIC, name, {"segment.ms": "x"})[0] == "INVALID_CONFIG"
