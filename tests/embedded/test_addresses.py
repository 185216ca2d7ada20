"""Tests of brokers with wrong advertised addresses: two brokers advertise the same one, another broker listens there,
or no broker does.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kio.schema.errors import ErrorCode

from console.admin import connections, errors
from console.admin.cluster import describe_cluster
from console.admin.link import Link, broker
from console.admin.settings import ConnectionSettings, SaslSettings
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Fail, Fault
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.cluster import Broker
from console.model.codes import STATIC_BROKER_CONFIG
from console.model.config import broker_resource
from console.model.identity import Node
from console.model.nodes import shared_addresses
from console.model.secret import Secret
from console.wire.connection import AnotherNode, ConnectFailed, Connection, connect
from tests.support import samples, worlds
from tests.support.free_ports import free_ports
from tests.support.kafka_messages import with_fields
from tests.support.older_brokers import like


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    """Provide a cluster with three correctly advertised brokers, in turn for each release, and a topic on them."""
    with run_in_thread(like(getattr(request, "param", "4.4"), brokers=3)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        yield running


@pytest.fixture
def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> worlds.Kac:
    """Provide a function that runs kac's commands on the cluster with only the first broker's address."""
    return worlds.commands_on(SimpleNamespace(bootstrap=cluster.bootstrap.split(",")[0]), capsys)


def advertise(cluster: ThreadedCluster, broker: int, port: int) -> None:
    def change(running: EmbeddedCluster) -> None:
        running.state.put_broker(replace(running.state.brokers[broker], port=port))

    cluster.call(change)


def port_of(cluster: ThreadedCluster, broker: int) -> int:
    return cluster.call(lambda c: c.state.brokers[broker].port)


def test_two_brokers_at_one_address(cluster: ThreadedCluster, kac: worlds.Kac) -> None:
    port = port_of(cluster, 1)
    advertise(cluster, 2, port)
    code, out, _ = kac("triage", "--for", "0s", "--output", "json")
    verdict = json.loads(out)
    (cause,) = [each for each in verdict["causes"] if each["severity"] != "info"]
    assert (code, cause["cause"], cause["subject"]) == (
        4,
        "address-of-another",
        {"broker": 2, "listener": f"127.0.0.1:{port}"},
    )
    assert not [each for each in verdict["unknowable"] if "which brokers answer" in each["what"]]
    code, out, _ = kac("doctor", "--output", "json")
    bad = {each["name"]: each["found"] for each in json.loads(out)["checks"] if each["health"] == "bad"}
    assert code == 1
    assert bad[f"address 127.0.0.1:{port}"] == "advertised by brokers 1, 2"


@pytest.mark.parametrize(
    ("cluster", "check"), [("4.0", "broker 3"), ("4.4", "broker 3 advertises localhost:{}")], indirect=["cluster"]
)
def test_a_name_that_leads_to_another_broker(cluster: ThreadedCluster, kac: worlds.Kac, check: str) -> None:
    """Triage and the doctor name a broker whose advertised address belongs to another broker. Since 4.4 that other
    broker itself refuses the request.
    """
    port = port_of(cluster, 1)

    def change(running: EmbeddedCluster) -> None:
        running.state.put_broker(replace(running.state.brokers[3], host="localhost", port=port))

    cluster.call(change)
    code, out, _ = kac("triage", "--for", "0s", "--output", "json")
    (cause,) = [each for each in json.loads(out)["causes"] if each["severity"] != "info"]
    assert (code, cause["cause"], cause["subject"]["broker"]) == (4, "address-of-another", 3)
    assert "advertised by broker 3; the bootstrap answered" in cause["evidence"][0]["fact"]
    code, out, _ = kac("doctor", "--output", "json")
    bad = {each["name"]: each["found"] for each in json.loads(out)["checks"] if each["health"] == "bad"}
    assert (code, list(bad)) == (1, [check.format(port)])
    code, out, err = kac("run", "-e", "describe broker 3")
    assert "advertised by broker 3; the bootstrap answered" in out + err


def test_an_address_that_leads_to_another_cluster(cluster: ThreadedCluster, kac: worlds.Kac) -> None:
    """If a broker's advertised address belongs to another cluster, triage names this, and kac refuses a change of
    the broker.
    """
    with run_in_thread(ClusterSpec(brokers=1)) as other:
        port = port_of(other, 1)
        moved = lambda one: one.state.put_broker(replace(one.state.brokers[3], port=port))  # noqa: E731
        cluster.call(moved)
        code, out, _ = kac("triage", "--for", "0s", "--output", "json")
        (cause,) = [each for each in json.loads(out)["causes"] if each["severity"] != "info"]
        assert (code, cause["cause"], cause["subject"]["broker"]) == (4, "address-of-another", 3)
        assert other.call(lambda one: one.state.cluster_id) in cause["evidence"][0]["fact"]
        code, out, err = kac("run", "-e", "set broker 3 log.cleaner.threads=2; apply --yes")
        assert code == 1
        assert "whether log.cleaner.threads is a secret is not known: WRONG_CLUSTER" in out + err


def test_nobody_at_the_address(cluster: ThreadedCluster, kac: worlds.Kac) -> None:
    (port,) = free_ports(1)
    advertise(cluster, 3, port)
    _, out, err = kac("run", "-e", "describe broker 3")
    assert "advertised by broker 3; the bootstrap answered" in out + err


def test_brokers_that_are_where_they_say(cluster: ThreadedCluster, kac: worlds.Kac) -> None:
    assert kac("triage", "--for", "0s")[0] == 0
    _, out, _ = kac("doctor", "--output", "json")
    assert [each for each in json.loads(out)["checks"] if each["health"] == "bad"] == []


def test_a_fenced_broker_shares_nothing() -> None:
    """A fenced broker is not named as sharing an address: after it stopped, another broker may have its address."""
    brokers = (Broker(1, "h", 9), Broker(2, "h", 9, fenced=True), Broker(3, "::1", 9), Broker(4, "::1", 9))
    assert shared_addresses(brokers, {}) == {"[::1]:9": (3, 4)}


# -- brokers that refuse requests for others (KIP-1242) ----------------------------------------------------------------


@asynccontextmanager
async def known(release: str = "4.4") -> AsyncIterator[tuple[EmbeddedCluster, Link]]:
    """Yield a cluster with three brokers of a release, and a link that has read their addresses."""
    async with (
        EmbeddedCluster(like(release, brokers=3)) as cluster,
        worlds.linked(ConnectionSettings(tuple(cluster.addresses.values())[:1])) as link,
    ):
        await describe_cluster(link)
        yield cluster, link


def at(cluster: EmbeddedCluster, broker: int, port: int, host: str = "localhost") -> None:
    cluster.state.put_broker(replace(cluster.state.brokers[broker], host=host, port=port))


async def answered(link: Link, of: int) -> bool:
    """Return whether broker `of` answers a request that every broker answers."""
    coordinator = with_fields(key_type=0, coordinator_keys=["any"])
    return bool((await link.call("find_coordinator", coordinator, to=broker(of))).coordinators)


async def test_no_other_broker_is_asked_in_its_place() -> None:
    async with known() as (cluster, link):
        at(cluster, 3, cluster.state.brokers[2].port)
        await link.refresh()
        with pytest.raises(errors.WrongNode, match="broker 2 answers at the address that is advertised by broker 3"):
            await answered(link, 3)
        assert await answered(link, 2)


async def test_before_4_4_another_broker_answers() -> None:
    async with known("4.0") as (cluster, link):
        at(cluster, 3, cluster.state.brokers[2].port)
        await link.refresh()
        assert await answered(link, 3)


async def test_a_broker_that_has_moved_is_found_where_it_is() -> None:
    """If the address that the client has for broker 3 now belongs to broker 2, the client reads the new address and
    gets the answer of broker 3.
    """
    async with known() as (cluster, link):
        there, then = cluster.state.brokers[3].port, cluster.state.brokers[2].port
        at(cluster, 3, then)
        await link.refresh()
        at(cluster, 3, there)
        assert await answered(link, 3)


async def test_a_broker_of_another_cluster_is_not_asked() -> None:
    async with known() as (cluster, link), EmbeddedCluster(ClusterSpec(brokers=1)) as other:
        at(cluster, 3, other.state.brokers[1].port)
        await link.refresh()
        with pytest.raises(errors.WrongCluster, match=f"cluster {other.state.cluster_id} answers at localhost"):
            await answered(link, 3)


async def test_behind_a_login_it_says_so_after_the_login() -> None:
    """On a SASL listener, a connection to another node than the intended one is refused only after the login: before
    it, Kafka 4.4 answers for any node.
    """
    secret = {"admin": Secret("s")}
    spec = ClusterSpec(brokers=2, sasl=SaslSpec(plain=secret))
    async with EmbeddedCluster(spec) as cluster:
        one, two = cluster.addresses.values()
        login = SaslSettings("PLAIN", "admin", secret["admin"])
        settings = ConnectionSettings((one,), security_protocol="SASL_PLAINTEXT", sasl=login)
        security = await connections.security_arguments(settings)

        async def meant(node: int) -> Connection:
            node_meant = Node(cluster.state.cluster_id, node)
            return await connect(*two, client_id="kac", limit=10, security=security, meant=node_meant)

        connection = await meant(2)
        assert (connection.node, connection.version("metadata")) == (Node(cluster.state.cluster_id, 2), 13)
        await connection.close()
        with pytest.raises(ConnectFailed) as failed:
            await meant(1)
        assert isinstance(failed.value.__cause__, AnotherNode)


async def test_a_broker_that_was_downgraded_is_asked_as_before() -> None:
    """After a downgrade, kac sends requests as before to a broker of an older release, which does not check the node
    id.
    """
    async with EmbeddedCluster(like("4.0", brokers=1)) as cluster:
        (address,) = cluster.addresses.values()
        connection = await connect(
            *address, client_id="kac", limit=10, security={"security_protocol": "PLAINTEXT"}, meant=Node("any", 1)
        )
        assert (connection.node, connection.tells_nodes, connection.version("api_versions")) == (None, False, 4)
        await connection.close()


async def test_a_server_that_refuses_to_be_the_broker_that_it_is_is_asked_all_the_same() -> None:
    """If a server refuses requests for broker 3 but describes the configs of broker 3, kac takes it for broker 3 and
    asks it.
    """
    async with known() as (cluster, link):
        refusal = Fail(ErrorCode.rebootstrap_required)
        cluster.faults.add(Fault(refusal, api="api_versions"))
        with pytest.raises(errors.WrongNode, match="says that it is not broker 3 of cluster"):
            await answered(link, 3)
        cluster.faults.clear()
        cluster.faults.add(Fault(refusal, api="api_versions", times=1))
        assert await answered(link, 3)


@pytest.mark.parametrize(
    ("hosts", "in_configs", "listener", "shared"),
    [
        pytest.param("10.0.0", "10.0.0", "10.0.0.3:8", {"10.0.0.3:8": (2, 3)}, id="a line of a file that was copied"),
        pytest.param("10.0.0", "10.0.0", "localhost:8", {}, id="a listener for the broker's host"),
        pytest.param("127.0.0", "127.0.0", "127.0.0.3:8", {"127.0.0.3:8": (2, 3)}, id="all brokers on one host"),
        pytest.param("127.0.0", "127.0.0", "all", {}, id="a listener for each broker's host"),
        pytest.param("10.0.0", "10.0.0", "controllers", {}, id="controllers"),
        pytest.param("10.0.0", "10.0.9", "10.0.0.3:8", {}, id="configs read before the broker's last start"),
    ],
)
def test_brokers_at_one_address_of_another_listener(
    hosts: str, in_configs: str, listener: str, shared: dict[str, tuple[int, ...]]
) -> None:
    listeners = {1: "10.0.0.1:8", 2: listener, 3: listener}
    if listener == "all":
        listeners = dict.fromkeys(listeners, "localhost:8")
    configs = {}
    for each, other in listeners.items():
        values = {"advertised.listeners": f"PLAINTEXT://{in_configs}.{each}:9,CLIENTS://{other}"}
        if listener == "controllers":
            own = f"PLAINTEXT://{in_configs}.{each}:9,CONTROLLER://0.0.0.0:93"
            values = {"listeners": own, "controller.listener.names": "CONTROLLER"}
        configs[broker_resource(each)] = samples.config_set(values, STATIC_BROKER_CONFIG)
    assert shared_addresses([Broker(each, f"{hosts}.{each}", 9) for each in listeners], configs) == shared
