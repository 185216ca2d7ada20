"""A broker that accepts connections and never answers: that is not "no Kafka listener"."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.admin.errors import AdminError, Unreachable
from console.admin.settings import ConnectionSettings, SaslSettings, TlsSettings
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.secret import Secret
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.hostile.limited import run_kac
from tests.support import worlds
from tests.support.patience import PATIENCE

SINCE = re.compile(r"since \d\d:\d\d:\d\d$")


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[str, int]]:
    """A listener that accepts and says nothing."""
    done = asyncio.Event()

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[:2]
        done.set()


async def failed(settings: ConnectionSettings) -> AdminError:
    async with worlds.linked(settings) as link:
        with pytest.raises(AdminError) as raised:
            await link.nodes()
        return raised.value


@pytest.mark.parametrize(
    ("protocol", "asked"),
    [("PLAINTEXT", "the first request"), ("SASL_PLAINTEXT", "the first request"), ("SSL", "the TLS handshake")],
)
async def test_a_listener_that_says_nothing_is_said_to_hang(protocol: str, asked: str) -> None:
    async with silent() as address:
        error = await failed(
            ConnectionSettings(
                (address,),
                protocol,
                sasl=SaslSettings("PLAIN", "ops", Secret("x")) if protocol.startswith("SASL") else None,
                tls=TlsSettings() if protocol == "SSL" else None,
                connect_timeout=0.3,
            )
        )
    assert isinstance(error, Unreachable)
    assert (
        f"{address[0]}:{address[1]}: something listens there, but it does not answer {asked}" in error.failure.message
    )
    assert SINCE.search(error.failure.message)
    assert "look at its process" in error.failure.remedy
    assert "check the port" in error.failure.remedy


@pytest.mark.parametrize("api", ["sasl_handshake", "sasl_authenticate"])
async def test_a_broker_that_hangs_at_the_login_does_not_refuse_it(api: str) -> None:
    with hostile_cluster(ClusterSpec(brokers=1, sasl=SaslSpec(plain={"ops": Secret("x")}))) as cluster:
        cluster.hang(api)
        error = await failed(
            ConnectionSettings(
                (cluster.addresses[1],),
                "SASL_PLAINTEXT",
                sasl=SaslSettings("PLAIN", "ops", Secret("x")),
                connect_timeout=0.5,
            )
        )
    assert isinstance(error, Unreachable)
    assert "does not answer SASL authentication" in error.failure.message


async def test_nothing_that_listens_is_still_said_so() -> None:
    async with silent() as address:
        pass
    error = await failed(ConnectionSettings((address,), connect_timeout=1.0))
    assert "nothing listens there" in error.failure.message


def test_a_command_says_it(hostile: HostileCluster) -> None:
    hostile.hang()
    result = run_kac("topics", "-b", hostile.bootstrap, "--list", timeout=PATIENCE)
    assert result.returncode == 1
    assert "something listens there, but it does not answer" in result.stderr
    assert "no Kafka" not in result.stderr
