"""The link against real brokers: versions, routes, brokers that die, and every way in which connecting fails."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from console.admin import errors
from console.admin.client import AdminClient
from console.admin.link import ANY, CONTROLLER, Link, broker
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.model.secret import Secret
from console.wire.schemas import version_range
from tests.support.certificates import Authority
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_messages import with_fields
from tests.support.worlds import linked

NOBODY = ("127.0.0.1", 1)


all_topics = with_fields(topics=None, include_topic_authorized_operations=False)


def broker_configs(broker_id: int) -> Any:
    def build(kio: ModuleType) -> Any:
        resource = kio.DescribeConfigsResource(
            resource_type=4, resource_name=str(broker_id), configuration_keys=("broker.id", "node.id")
        )
        return kio.DescribeConfigsRequest(resources=(resource,))

    return build


def plain(*addresses: tuple[str, int], **settings: Any) -> ConnectionSettings:
    return ConnectionSettings(bootstrap=addresses, **settings)


# --- versions and routes


async def told_versions(link: Link) -> Mapping[int, tuple[int, int]]:
    """What the broker says to the newest ApiVersions, apart from the lookup that aiokafka makes while connecting."""
    response = await link.call(
        "api_versions",
        lambda kio: kio.ApiVersionsRequest(client_software_name="kac", client_software_version="1"),
    )
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
    """A broker answers for its own configs alone."""
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


no_reassignments = with_fields(topics=None, timeout=5)


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
    """Message and remedy of the one error that connecting gives, after the checks that hold for all of them."""
    async with linked(replace(settings, connect_timeout=5)) as link:
        with pytest.raises(kind) as failed:
            await link.call("metadata", all_topics)
    told = failed.value.failure
    # Of several addresses the second is tried where the first takes long to answer.
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
    """By an address, and by a name that may have an IPv6 address where no broker listens."""
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
    tls = TlsSettings(trust=Store("PEM", path=Authority(tmp_path / "tls").pem))
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
