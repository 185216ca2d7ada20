"""Logging in: with our own client, by hand with tokens that have no header, and the ways in which it fails."""

from __future__ import annotations

import struct

import pytest
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]

from console.embedded.brokers import EmbeddedCluster
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tables import ScramKey
from console.model.secret import Secret
from tests.embedded.raw_client import RawClient, framed, header
from tests.support.kafka_messages import with_fields

SASL = SaslSpec(plain={"alice": Secret("alice-secret")}, scram={"bob": Secret("bob,s=secret")})


@pytest.mark.parametrize(
    ("mechanism", "user", "password"),
    [
        ("PLAIN", "alice", "alice-secret"),
        ("SCRAM-SHA-256", "bob", "bob,s=secret"),
        ("SCRAM-SHA-512", "bob", "bob,s=secret"),
        ("SCRAM-SHA-512", "car=ol,", "later"),
    ],
)
async def test_a_client_logs_in(mechanism: str, user: str, password: str) -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster:
        cluster.state.put("scram", ScramKey("car=ol,", 2), credential_of("later", ScramHash.SHA_512, 8192))
        admin = AIOKafkaAdminClient(
            bootstrap_servers=cluster.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username=user,
            sasl_plain_password=password,
        )
        await admin.start()
        try:
            assert await admin.list_topics() == []
        finally:
            await admin.close()


async def handshake(client: RawClient, mechanism: str) -> tuple[int, tuple[str, ...]]:
    answer = await client.ask("sasl_handshake", 1, with_fields(mechanism=mechanism))
    return answer.error_code, answer.mechanisms


async def authenticate(client: RawClient, token: bytes) -> tuple[int, str | None]:
    answer = await client.ask("sasl_authenticate", 2, with_fields(auth_bytes=token))
    return answer.error_code, answer.error_message


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\x00alice\x00wrong", "Authentication failed: Invalid username or password"),
        (b"\x00nobody\x00x", "Authentication failed: Invalid username or password"),
        (
            b"bob\x00alice\x00alice-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\xff\x00\x00", "Authentication failed: the token is not UTF-8"),
    ],
)
async def test_a_failure_is_told_and_ends_the_connection(token: bytes, message: str) -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        assert await handshake(client, "PLAIN") == (0, ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))
        assert await authenticate(client, token) == (58, message)
        assert await client.rest() == b""


@pytest.mark.parametrize(
    "token", [b"", b"n,,n=nobody,r=abc", b"p=x,,n=bob,r=abc", b"n,,", b"n,a=eve,n=bob,r=abc", b"\xff,,"]
)
async def test_scram_tells_nothing_of_why(token: bytes) -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        await handshake(client, "SCRAM-SHA-256")
        code, message = await authenticate(client, token)
        assert code == 58
        assert message is not None
        assert message.endswith("due to invalid credentials with SASL mechanism SCRAM-SHA-256")


async def test_a_wrong_scram_proof() -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        await handshake(client, "SCRAM-SHA-256")
        answer = await client.ask("sasl_authenticate", 2, with_fields(auth_bytes=b"n,,n=bob,r=abc"))
        nonce = answer.auth_bytes.split(b",")[0]
        assert nonce.startswith(b"r=abc")
        proof = b"c=biws," + nonce + b",p=" + b"A" * 43 + b"="
        assert (await authenticate(client, proof))[0] == 58
        assert await client.rest() == b""


async def test_a_mechanism_that_is_not_enabled() -> None:
    spec = ClusterSpec(sasl=SaslSpec(scram=SASL.scram))
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster) as client:
        assert await handshake(client, "PLAIN") == (33, ("SCRAM-SHA-256", "SCRAM-SHA-512"))
        assert await client.rest() == b""


async def test_before_authentication_nothing_else_is_answered() -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster:
        async with RawClient(cluster) as client:
            client.send(framed(header(18, 0)))
            assert await client.frame()
            client.request("metadata", 1, with_fields(topics=None))
            assert await client.rest() == b""
        async with RawClient(cluster) as client:
            await handshake(client, "PLAIN")
            answer = await client.ask("update_features", 1, with_fields(feature_updates=[]))
            assert answer.error_code == 34
            assert await client.rest() == b""


async def test_tokens_without_headers_after_version_0_of_the_handshake() -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        answer = await client.ask("sasl_handshake", 0, with_fields(mechanism="PLAIN"))
        assert answer.error_code == 0
        client.send(framed(b"\x00alice\x00alice-secret"))
        assert await client.frame() == b""
        client.send(framed(header(3, 1) + struct.pack(">i", 0)))
        assert await client.frame()


async def test_where_nobody_logs_in_a_handshake_is_out_of_place(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        assert await handshake(client, "PLAIN") == (34, ())
        assert await authenticate(client, b"") == (
            34,
            "SaslAuthenticate request received after successful authentication",
        )
        client.send(framed(header(18, 0)))
        assert await client.frame()
