"""Tests of the link to real brokers: which broker gets a request, brokers that die, lost answers, round trips; and
tests of the test harness itself.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from msgspec.structs import replace

from console.admin import cluster, errors, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.link import ANY, CONTROLLER, Link, broker
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.admin.topics import describe_topics
from console.contexts import load, resolve
from console.model import acl, changes, codes, quota
from console.model.config import broker_resource, topic_resource
from console.model.secret import Secret
from console.wire.schemas import version_range
from tests.support import broker_probe, certificates, children, kafka_commands, kafka_messages, patience, worlds
from tests.support.cutting_proxy import Cut, CuttingProxy
from tests.support.kafka_classes import archive_options, class_path, make
from tests.support.kafka_cluster import ClusterStartError, KafkaCluster
from tests.support.kafka_jars import KAFKA_4_3, java
from tests.support.worlds import linked

NOBODY = ("127.0.0.1", 1)

all_topics = kafka_messages.with_fields(topics=None, include_topic_authorized_operations=False)


def broker_configs(broker_id: int) -> Any:
    return kafka_messages.with_fields(resources=[(4, str(broker_id), ("broker.id", "node.id"))])


def plain(*addresses: tuple[str, int], **settings: Any) -> ConnectionSettings:
    return ConnectionSettings(bootstrap=addresses, **settings)


# --- versions and routes


async def told_versions(link: Link) -> Mapping[int, tuple[int, int]]:
    """Ask for ApiVersions over the link. Return API key -> (lowest, highest version) that the broker serves."""
    asked = kafka_messages.with_fields(client_software_name="kac", client_software_version="1")
    response = await link.call("api_versions", asked)
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


@pytest.mark.parametrize(("fixture", "metadata"), [("plain_cluster", 13), ("kafka39", 12)])
async def test_versions_are_all_that_the_broker_has(
    fixture: str, metadata: int, request: pytest.FixtureRequest
) -> None:
    cluster: KafkaCluster = request.getfixturevalue(fixture)
    async with linked(plain(*cluster.addresses)) as link:
        told = await told_versions(link)
        told_anew = (await link.routes.connections.any_of(())).versions
        assert dict(told_anew) == told
        assert await link.version("metadata") == metadata
        for api, key in {"describe_configs": 32, "describe_client_quotas": 48, "describe_acls": 29}.items():
            assert await link.version(api) == min(version_range(api)[1], told[key][1])


async def test_one_dead_address_does_not_matter(plain_cluster: KafkaCluster) -> None:
    async with linked(plain(NOBODY, *plain_cluster.addresses)) as link:
        assert set((await link.nodes()).brokers) == {1, 2, 3}


async def test_each_broker_is_asked_itself(plain_cluster: KafkaCluster) -> None:
    """kac sends a request for the configs of a broker to this broker, because no other broker returns them."""
    async with linked(plain(plain_cluster.addresses[0])) as link:
        for node in plain_cluster.broker_ids:
            response = await link.call("describe_configs", broker_configs(node), to=broker(node))
            (result,) = response.results
            assert (result.error_code, result.resource_name) == (0, str(node))
            assert {config.value for config in result.configs if config.name == "node.id"} == {str(node)}
        wrong = await link.call("describe_configs", broker_configs(1), to=broker(2))
        assert wrong.results[0].error_message == "Unexpected broker id, expected 2 or empty string, but received 1"
        with pytest.raises(errors.UnknownBroker, match="no broker 9 is alive: there are 1, 2, 3"):
            await link.call("describe_configs", broker_configs(9), to=broker(9))


no_reassignments = kafka_messages.with_fields(topics=None, timeout=5)


async def test_any_broker_takes_what_is_for_the_controller(plain_cluster: KafkaCluster) -> None:
    for address in plain_cluster.addresses:
        async with linked(plain(address)) as link:
            quorum = await link.call("list_partition_reassignments", no_reassignments, to=CONTROLLER)
            assert (quorum.error_code, quorum.topics) == (0, ())


async def test_many_requests_under_way_on_one_connection(plain_cluster: KafkaCluster) -> None:
    async with linked(plain(plain_cluster.addresses[0])) as link:
        answers = await asyncio.gather(*(link.call("metadata", all_topics) for _ in range(50)))
        assert {answer.cluster_id for answer in answers} == {plain_cluster.cluster_id}
        assert len(link.routes.connections._open) == 1


# --- brokers that die


async def test_a_broker_that_dies_in_the_middle(own_cluster: KafkaCluster) -> None:
    async with linked(plain(*own_cluster.addresses, request_timeout=60)) as link:
        await link.call("metadata", all_topics, to=broker(1))
        asked_last = await link.routes.connections.any_of(())
        dying = own_cluster.addresses.index((asked_last.host, asked_last.port)) + 1
        reads = asyncio.gather(*(link.call("metadata", all_topics) for _ in range(20)))
        await asyncio.to_thread(own_cluster.kill, dying)
        assert {answer.cluster_id for answer in await reads} == {own_cluster.cluster_id}
        assert (await link.call("metadata", all_topics)).cluster_id == own_cluster.cluster_id
        with pytest.raises(errors.AdminError) as failed:
            await link.call("describe_configs", broker_configs(dying), to=broker(dying))
        assert str(dying) in failed.value.failure.message
        assert isinstance(failed.value, errors.Unreachable | errors.UnknownBroker)
        await asyncio.to_thread(own_cluster.restart, dying)
        response = await link.call("describe_configs", broker_configs(dying), to=broker(dying))
        assert response.results[0].error_code == 0


async def test_a_broker_that_hangs_times_out_and_is_asked_again_when_it_is_back(plain_cluster: KafkaCluster) -> None:
    async with linked(plain(plain_cluster.addresses[0])) as link:
        await link.call("describe_configs", broker_configs(3), to=broker(3))
        with (
            plain_cluster.hanging(3),
            pytest.raises(errors.RequestTimedOut, match="did not answer describe_configs in time"),
        ):
            await link.call("describe_configs", broker_configs(3), to=broker(3), timeout=0.5)
        response = await link.call("describe_configs", broker_configs(3), to=broker(3))
        assert response.results[0].error_code == 0


# --- security


def sasl(cluster: KafkaCluster, mechanism: str = "SCRAM-SHA-256", user: str = "admin", **other: Any) -> SaslSettings:
    return SaslSettings(mechanism, user, Secret(other.get("password", cluster.users.get(user, ""))))


def trusting(cluster: KafkaCluster, **other: Any) -> TlsSettings:
    return TlsSettings(trust=Store("PEM", path=cluster.authority.pem), **other)


def secure(cluster: KafkaCluster, **other: Any) -> ConnectionSettings:
    settings = ConnectionSettings(
        bootstrap=cluster.addresses, security_protocol="SASL_SSL", sasl=sasl(cluster), tls=trusting(cluster)
    )
    return replace(settings, **other)


def mtls_addresses(cluster: KafkaCluster) -> tuple[tuple[str, int], ...]:
    pairs = (address.rsplit(":", 1) for address in cluster.mtls_bootstrap.split(","))
    return tuple((host, int(port)) for host, port in pairs)


async def refused(settings: ConnectionSettings, kind: type[errors.AdminError]) -> str:
    """Connect, and return the message and the remedy of the error. Raises AssertionError unless the error is of this
    kind, names an address, has a remedy, is one line, and does not contain the password.
    """
    async with linked(replace(settings, connect_timeout=5)) as link:
        with pytest.raises(kind) as failed:
            await link.call("metadata", all_topics)
    told = failed.value.failure
    # If the first of several addresses answers late, kac tries the second.
    assert any(f"{host}:{port}" in told.message for host, port in settings.bootstrap)
    assert told.remedy
    assert "\n" not in told.message + told.remedy
    if settings.sasl is not None and settings.sasl.password is not None:
        assert settings.sasl.password.reveal() not in f"{told}{failed.value!r}"
    return f"{told.message} | {told.remedy}"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_every_mechanism_lets_in(secure_cluster: KafkaCluster, mechanism: str) -> None:
    async with linked(secure(secure_cluster, sasl=sasl(secure_cluster, mechanism))) as link:
        assert set((await link.nodes()).brokers) == {1, 2, 3}
        await link.call("describe_configs", broker_configs(2), to=broker(2))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_clients_own_loop_does_tls(secure_cluster: KafkaCluster, host: str) -> None:
    """The client connects with TLS both to an IP address and to a name that may also have an IPv6 address, on which no
    broker listens.
    """
    settings = secure(secure_cluster, bootstrap=((host, secure_cluster.addresses[0][1]),))
    with AdminClient(settings) as client:
        assert set((await client.run(Link.nodes)).brokers) == {1, 2, 3}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("user", ["admin", "nobody"])
async def test_wrong_credentials(secure_cluster: KafkaCluster, mechanism: str, user: str) -> None:
    wrong = sasl(secure_cluster, mechanism, user, password="not-the-password")
    told = await refused(secure(secure_cluster, sasl=wrong), errors.AuthenticationFailed)
    assert f"refused the {mechanism} credentials" in told
    assert "Check user name and password" in told


async def test_a_mechanism_that_the_listener_lacks_is_told_with_those_that_it_has(
    secure_cluster: KafkaCluster,
) -> None:
    told = await refused(secure(secure_cluster, sasl=sasl(secure_cluster, "SCRAM-SHA-1")), errors.AuthenticationFailed)
    assert "does not support SCRAM-SHA-1; it supports " in told
    assert all(name in told for name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))


async def test_a_tls_port_spoken_to_in_the_clear(secure_cluster: KafkaCluster) -> None:
    for addresses in (secure_cluster.addresses, mtls_addresses(secure_cluster)):
        told = await refused(plain(addresses[0]), errors.TlsFailed)
        assert "looks like a TLS listener" in told
        assert "security.protocol=SSL or SASL_SSL" in told


async def test_sasl_in_the_clear_to_a_tls_port(secure_cluster: KafkaCluster) -> None:
    settings = secure(secure_cluster, security_protocol="SASL_PLAINTEXT", tls=None)
    assert "security.protocol=SASL_SSL" in await refused(settings, errors.TlsFailed)


async def test_a_plaintext_port_spoken_to_with_tls(plain_cluster: KafkaCluster, tmp_path: Path) -> None:
    tls = TlsSettings(trust=Store("PEM", path=certificates.Authority(tmp_path / "tls").pem))
    settings = plain(plain_cluster.addresses[0], security_protocol="SSL", tls=tls)
    told = await refused(settings, errors.TlsFailed)
    assert "does not speak TLS" in told
    assert "PLAINTEXT" not in told


async def test_a_certificate_that_is_not_trusted(secure_cluster: KafkaCluster) -> None:
    told = await refused(secure(secure_cluster, tls=TlsSettings()), errors.TlsFailed)
    assert "certificate is not accepted" in told
    assert "ssl.truststore.location" in told


async def test_no_sasl_where_the_listener_wants_it(secure_cluster: KafkaCluster) -> None:
    told = await refused(secure(secure_cluster, security_protocol="SSL", sasl=None), errors.AuthenticationFailed)
    assert "it seems to want SASL" in told
    assert "security.protocol=SASL_SSL" in told


async def test_sasl_where_the_listener_has_none(plain_cluster: KafkaCluster) -> None:
    settings = plain(plain_cluster.addresses[0], security_protocol="SASL_PLAINTEXT", sasl=sasl(plain_cluster, "PLAIN"))
    told = await refused(settings, errors.AuthenticationFailed)
    assert "has no SASL" in told
    assert "security.protocol=PLAINTEXT" not in told


async def test_a_client_certificate_lets_in(secure_cluster: KafkaCluster) -> None:
    identity = secure_cluster.identity("admin")
    tls = trusting(
        secure_cluster,
        key_store=Store("PEM", path=identity.pem),
    )
    settings = plain(*mtls_addresses(secure_cluster), security_protocol="SSL", tls=tls)
    async with linked(settings) as link:
        assert len((await link.nodes()).brokers) == 3


async def test_no_client_certificate_where_one_is_wanted(secure_cluster: KafkaCluster) -> None:
    settings = plain(*mtls_addresses(secure_cluster), security_protocol="SSL", tls=trusting(secure_cluster))
    told = await refused(settings, errors.TlsFailed)
    assert "seems to want a client certificate" in told
    assert "ssl.keystore.location" in told


async def test_a_controllers_listener_is_no_brokers(plain_cluster: KafkaCluster) -> None:
    port = plain_cluster._ports[1].controller
    told = await refused(plain(("127.0.0.1", port)), errors.NotKafkaBroker)
    assert "controller's listener" in told


async def test_no_secret_reaches_a_log(secure_cluster: KafkaCluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        async with linked(secure(secure_cluster, sasl=sasl(secure_cluster, mechanism))) as link:
            await link.call("metadata", all_topics, to=ANY)
    assert secure_cluster.users["admin"] not in caplog.text


# -- changes whose answer is lost: the client's outcome is true, and no change is sent twice ---------------------------


@pytest.fixture
async def proxy(kafka: KafkaCluster) -> AsyncIterator[CuttingProxy]:
    """Provide a proxy in front of broker 1, which can cut connections."""
    async with CuttingProxy(kafka.addresses[0]) as made:
        yield made


@pytest.fixture
async def link(proxy: CuttingProxy) -> AsyncIterator[Link]:
    """Provide a link through the proxy. Requests that any broker may answer go through it."""
    made = Link(ConnectionSettings(bootstrap=(proxy.address,), lost_answer_timeout=0.5))
    yield made
    await made.close()


direct = worlds.link("kafka")
"""Provide a link to the brokers without the proxy."""


@dataclass(frozen=True)
class Case:
    """A change with the key of its API, and the changes that have to be made before it."""

    api_key: int
    change: Callable[[str], changes.ChangeRequest]
    before: tuple[Callable[[str], changes.ChangeRequest], ...] = ()


def make_topic(name: str) -> changes.ChangeRequest:
    return changes.CreateTopics((changes.NewTopic(name, 1, 1),))


def acls(name: str) -> tuple[acl.Acl, ...]:
    topic, literal = codes.AclResourceType.parse("topic"), codes.PatternType.parse("literal")
    read, allow = codes.AclOperation.parse("read"), codes.Permission.parse("allow")
    return (acl.Acl(topic, name, literal, f"User:{name}", "*", read, allow),)


def set_retention(name: str) -> changes.ChangeRequest:
    ops = (
        changes.ConfigOp("retention.ms", codes.SET, "5000"),
        changes.ConfigOp("cleanup.policy", codes.APPEND, "compact"),
    )
    return changes.AlterConfigs({topic_resource(name): ops})


CASES = {
    "configs": Case(44, set_retention, (make_topic,)),
    "quotas": Case(
        49, lambda name: changes.AlterQuotas({quota.QuotaEntity.of({"user": name}): {"producer_byte_rate": 1024.0}})
    ),
    "create topics": Case(19, lambda name: changes.CreateTopics((changes.NewTopic(name, 2, 1),))),
    "delete topics": Case(20, lambda name: changes.DeleteTopics((name,)), (make_topic,)),
    "create partitions": Case(37, lambda name: changes.CreatePartitions({name: 3}, was={name: 1}), (make_topic,)),
    "create ACLs": Case(30, lambda name: changes.CreateAcls(acls(name))),
    "delete ACLs": Case(
        31, lambda name: changes.DeleteAcls(acls(name)), (lambda name: changes.CreateAcls(acls(name)),)
    ),
    "SCRAM": Case(
        51, lambda name: changes.AlterScram({changes.ScramUser(name, codes.ScramMechanism(1)): (4096, Secret("p"))})
    ),
}


async def single(link: Link, change: changes.ChangeRequest) -> changes.Outcome:
    (outcome,) = await send(link, change, validate_only=False)
    return outcome


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_lost_answer_is_looked_up(
    case: Case,
    link: Link,
    direct: Link,
    proxy: CuttingProxy,
    name: str,
    kafka: KafkaCluster,
) -> None:
    for before in case.before:
        assert (await single(direct, before(name))).ok
    change = case.change(name)
    proxy.seen.clear()
    proxy.arm(case.api_key, Cut.BEFORE)
    outcome = await single(link, change)
    assert outcome.status is changes.Status.UNKNOWN, "that it does not show proves nothing"
    assert outcome.failure is not None
    assert "look at the cluster before you repeat it" in outcome.failure.remedy
    proxy.arm(case.api_key, Cut.AFTER)
    assert await single(link, change) == changes.Outcome(outcome.target, changes.Status.APPLIED)
    assert proxy.seen.count(case.api_key) == 2, "each change was sent once"


async def test_what_can_not_be_seen_is_unknown(direct: Link, proxy: CuttingProxy, link: Link, name: str) -> None:
    """If the answer to a change of a password is lost, the outcome is unknown: the credential has the same number of
    iterations as before, so kac can't find out whether the new password is set.
    """
    user = changes.ScramUser(name, codes.ScramMechanism(1))
    assert (await single(direct, changes.AlterScram({user: (4096, Secret("old"))}))).ok
    proxy.arm(51, Cut.AFTER)
    outcome = await single(link, changes.AlterScram({user: (4096, Secret("new"))}))
    assert outcome.status is changes.Status.UNKNOWN
    assert outcome.failure is not None
    assert "before you repeat it" in outcome.failure.remedy
    assert not outcome.ok


async def test_a_secret_beside_what_can_be_seen(plain_cluster: KafkaCluster, name: str) -> None:
    """If the answer to a change of both a secret and a readable key is lost, kac derives the outcome of both from the
    readable key: brokers set the keys of a resource together or not at all.
    """
    key, seen, node = "lost.own.secret", "log.cleaner.threads", broker_resource(1)
    async with (
        CuttingProxy(plain_cluster.addresses[0]) as proxy,
        worlds.linked(ConnectionSettings(bootstrap=(proxy.address,), lost_answer_timeout=0.5)) as link,
    ):
        both = (changes.ConfigOp(key, codes.SET, Secret("s")), changes.ConfigOp(seen, codes.SET, "2"))
        proxy.arm(44, Cut.AFTER)
        outcome = await single(link, changes.AlterConfigs({node: both}))
        assert outcome.status is changes.Status.APPLIED
        undo = changes.AlterConfigs(
            {node: (changes.ConfigOp(key, codes.DELETE), changes.ConfigOp(seen, codes.DELETE))}, broker=1
        )
        assert (await single(link, undo)).status is changes.Status.APPLIED


async def test_a_check_is_simply_asked_again(link: Link, proxy: CuttingProxy, direct: Link, name: str) -> None:
    assert (await single(direct, make_topic(name))).ok
    proxy.arm(44, Cut.AFTER)
    (outcome,) = await send(link, set_retention(name), validate_only=True)
    assert outcome.status is changes.Status.VALID


async def test_elections_and_moves(plain_cluster: KafkaCluster, name: str) -> None:
    place = (name, 0)
    async with (
        CuttingProxy(plain_cluster.addresses[0]) as proxy,
        worlds.linked(ConnectionSettings(bootstrap=(proxy.address,), lost_answer_timeout=0.5)) as link,
    ):
        assert (await single(link, changes.CreateTopics((changes.NewTopic(name, assignments=((1, 2),)),)))).ok
        for cut, status in ((Cut.BEFORE, changes.Status.UNKNOWN), (Cut.AFTER, changes.Status.APPLIED)):
            proxy.arm(45, cut)
            assert (
                await single(link, changes.AlterReassignments({changes.MoveTarget(name, 0): (2, 1)}))
            ).status is status
        for cut, status in ((Cut.BEFORE, changes.Status.UNKNOWN), (Cut.AFTER, changes.Status.APPLIED)):
            proxy.arm(43, cut)
            assert (await single(link, changes.ElectLeaders((place,)))).status is status


async def test_brokers_are_killed_in_the_middle(own_cluster: KafkaCluster, name: str) -> None:
    """If a broker is killed while topics are being created, the outcome that kac reports for each topic is right. If
    all other brokers are killed during a change of a quota, its outcome is UNKNOWN.
    """
    first, *others = own_cluster.broker_ids
    link = Link(ConnectionSettings(bootstrap=own_cluster.addresses[:1]))
    direct = Link(ConnectionSettings(bootstrap=own_cluster.addresses[1:]))
    try:
        await link.refresh()
        made = tuple(changes.NewTopic(f"{name}-{number}", 2, 1) for number in range(200))
        sending = asyncio.create_task(send(link, changes.CreateTopics(made, timeout_ms=20_000), validate_only=False))
        await asyncio.to_thread(own_cluster.kill, first)
        try:
            outcomes = await sending
        except AdminError:  # the connection was closed before the request
            outcomes = ()
        there = (await topics.describe_topics(direct)).topics
        for outcome in outcomes:
            if outcome.status is changes.Status.APPLIED:
                assert outcome.target.name in there
            elif outcome.status is not changes.Status.UNKNOWN:
                assert outcome.target.name not in there
        if not outcomes:
            assert not [topic for topic in made if topic.name in there]
    finally:
        await link.close()
        await direct.close()

    async def kill_all() -> None:
        await asyncio.gather(*(asyncio.to_thread(own_cluster.kill, node) for node in others))

    async with (
        CuttingProxy(own_cluster.addresses[1]) as proxy,
        worlds.linked(
            ConnectionSettings(
                bootstrap=(proxy.address,), connect_timeout=2, request_timeout=10, lost_answer_timeout=0.5
            )
        ) as link,
    ):
        await link.refresh()
        proxy.arm(49, Cut.BEFORE, kill_all)
        change = changes.AlterQuotas({quota.QuotaEntity.of({"user": name}): {"producer_byte_rate": 1024.0}})
        outcome = await single(link, change)
        assert outcome.status is changes.Status.UNKNOWN
        assert outcome.failure is not None
        assert outcome.failure.name == "DISCONNECTED"
        assert "before you repeat it" in outcome.failure.remedy


# -- round trips until a start knows brokers and topics: the part that a link over an ocean multiplies -----------------


async def taken(settings: ConnectionSettings, broker: tuple[str, int]) -> int:
    """Return how many round trips a new client takes for the reads that `SessionFactory` begins early: the cluster and
    all topics.
    """
    async with SlowLink(broker) as link:
        with AdminClient(replace(settings, bootstrap=(link.address,))) as client:
            await asyncio.gather(client.run(cluster.describe_cluster), client.run(describe_topics, None))
            return link.round_trips


@pytest.mark.parametrize("fixture", ["plain_cluster", "kafka39", "kafka28"])
async def test_in_the_clear(fixture: str, request: pytest.FixtureRequest) -> None:
    kafka: KafkaCluster = request.getfixturevalue(fixture)
    (address, *_) = kafka.addresses
    assert await taken(ConnectionSettings((address,)), address) == 2


@pytest.mark.parametrize(("mechanism", "round_trips"), [("PLAIN", 4), ("SCRAM-SHA-512", 5)])
async def test_by_tls(secure_cluster: KafkaCluster, tmp_path: Path, mechanism: str, round_trips: int) -> None:
    file = secure_cluster.client_properties("admin", mechanism)
    found = resolve(
        load(os.environ, tmp_path), bootstrap=secure_cluster.bootstrap, command_config=file, environ=os.environ
    )
    assert await taken(found.settings, secure_cluster.addresses[0]) == round_trips


async def test_a_login_at_the_oldest_release(kafka28: KafkaCluster) -> None:
    """kac sends SaslHandshake together with ApiVersions, without waiting between them. Kafka 2.8 answers both in order,
    as 4.3 does.
    """
    (address, *_) = kafka28.login_addresses
    sasl = SaslSettings("PLAIN", "admin", Secret(kafka28.users["admin"]))
    assert await taken(ConnectionSettings((address,), "SASL_PLAINTEXT", sasl), address) == 3


async def test_by_tls_with_a_client_certificate(secure_cluster: KafkaCluster) -> None:
    host, _, port = secure_cluster.mtls_bootstrap.split(",")[0].rpartition(":")
    tls = TlsSettings(
        trust=Store("PEM", secure_cluster.authority.pem), key_store=Store("PEM", secure_cluster.identity("admin").pem)
    )
    settings = ConnectionSettings(((host, int(port)),), "SSL", tls=tls)
    assert await taken(settings, (host, int(port))) == 3


# -- the harness itself: assumptions of other tests about their brokers ------------------------------------------------


@pytest.mark.parametrize("name", ["plain_cluster", "kafka39"])
def test_the_request_log_tells_the_clients_request_from_the_forwarded_copy(
    name: str, request: pytest.FixtureRequest
) -> None:
    cluster: KafkaCluster = request.getfixturevalue(name)
    mark = cluster.request_log.mark()
    change = ("--alter", "--entity-type", "ips", "--entity-name", "192.0.2.1")
    cluster.run_admin_tool(kafka_commands.CONFIGS, *change, "--add-config", "connection_creation_rate=7")
    cluster.run_admin_tool(kafka_commands.CONFIGS, *change, "--delete-config", "connection_creation_rate")

    sent = cluster.request_log.wait_for(2, "ALTER_CLIENT_QUOTAS", since=mark)
    assert [entry.request["entries"][0]["ops"][0]["remove"] for entry in sent] == [False, True]
    assert {(entry.request["validateOnly"], entry.listener) for entry in sent} == {(False, "PLAINTEXT")}
    with_copies = cluster.request_log.read("ALTER_CLIENT_QUOTAS", since=mark, forwarded=True)
    assert [entry.listener for entry in with_copies if entry.forwarded] == ["CONTROLLER"] * 2


@pytest.mark.usefixtures("plain_cluster")
def test_tools_and_brokers_read_their_classes_from_the_archive(tmp_path: Path) -> None:
    make(KAFKA_4_3)
    program, told = java(), tmp_path / "loaded"
    options = (*archive_options(KAFKA_4_3, program), f"-Xlog:class+load:file={told}", "-cp", class_path(KAFKA_4_3))
    subprocess.run([program, *options, "kafka.admin.ConfigCommand", "--version"], check=True, capture_output=True)
    sources = [line.partition("source: ")[2] for line in told.read_text().splitlines() if "AppInfoParser " in line]
    assert sources == ["shared objects file (top)"]


@pytest.mark.usefixtures("plain_cluster")
def test_a_broker_that_cannot_start_says_why() -> None:
    wrong = KafkaCluster(KAFKA_4_3, brokers=1, properties={"num.io.threads": "many"})
    with pytest.raises(ClusterStartError, match=r"num\.io\.threads"), wrong:
        pass
    assert not wrong.directory.exists()


@pytest.mark.usefixtures("plain_cluster")  # skips if brokers can't run
def test_brokers_do_not_outlive_an_owner_that_was_killed() -> None:
    command = [sys.executable, "-m", "tests.support.kafka_cluster", "--brokers", "1"]
    owner = children.Child(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert owner.stdout is not None
    with owner.stdout as output:
        host, _, port = output.readline().strip().partition(":")
        folder = Path(output.readline().split()[1])
        assert broker_probe.live_brokers((host, int(port))) == {1}
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
    deadline = time.monotonic() + patience.PATIENCE
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=patience.PATIENCE)


# -- a slow link in front of a broker: it delays the bytes, and counts their round trips -------------------------------
# A client that sends after an answer arrived may have waited for it: such a request is one round trip after that
# answer. Requests sent while answers are on their way waited for none of these. So the number of round trips follows
# from the order of requests and answers; the delay only separates requests that are sent together from those that are
# sent one after another.

Address = tuple[str, int]
ONE_WAY = 0.5
"""Delay of bytes in each direction, seconds. It is long, because a client that gets no CPU time for a whole round trip
would be counted as one that waits for an answer.
"""
_PART = 1 << 16


class SlowLink:
    """A proxy that delivers bytes ONE_WAY seconds later, in each direction. Use as an async context manager.

    Attributes:
        address: the (host, port) for clients.
        round_trips: the number of round trips until the last answer. The TCP connection adds none, because a client
            connects to this proxy on its own host.
    """

    def __init__(self, broker: Address) -> None:
        self._broker = broker
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.address: Address = ("127.0.0.1", 0)
        self.round_trips = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        broker, to_broker = await asyncio.open_connection(*self._broker)
        asked = [0]
        self._run(self._requests(client, to_broker, asked))
        self._run(self._answers(broker, to_client, asked))

    def _run(self, passing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(passing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _requests(self, client: asyncio.StreamReader, to_broker: asyncio.StreamWriter, asked: list[int]) -> None:
        loop = asyncio.get_running_loop()

        def deliver(part: bytes, sent_after: int) -> None:
            asked[0] = max(asked[0], sent_after + 1)
            to_broker.write(part)

        while part := await client.read(_PART):
            loop.call_later(ONE_WAY, deliver, part, self.round_trips)
        loop.call_later(ONE_WAY, to_broker.close)

    async def _answers(self, broker: asyncio.StreamReader, to_client: asyncio.StreamWriter, asked: list[int]) -> None:
        loop = asyncio.get_running_loop()

        def deliver(part: bytes, round_trip: int) -> None:
            self.round_trips = max(self.round_trips, round_trip)
            to_client.write(part)

        while part := await broker.read(_PART):
            loop.call_later(ONE_WAY, deliver, part, asked[0])
        loop.call_later(ONE_WAY, to_client.close)
