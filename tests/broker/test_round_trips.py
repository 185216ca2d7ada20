"""How many round trips a start takes until brokers and topics are known: what a link over an ocean multiplies."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.admin import cluster
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.admin.topics import describe_topics
from console.contexts import load, resolve
from console.model.secret import Secret
from tests.support.kafka_cluster import KafkaCluster
from tests.support.slow_link import SlowLink


async def taken(settings: ConnectionSettings, broker: tuple[str, int]) -> int:
    """Round trips of what `SessionFactory` reads ahead, on a new client."""
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
    """SaslHandshake goes out with ApiVersions, which 2.8 answers in turn as 4.3 does."""
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
