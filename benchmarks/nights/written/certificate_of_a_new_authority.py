"""Brokers get certificates of a new authority: connected clients stay connected, but restarted clients do not trust
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words
from tests.support.certificates import Authority
from tests.support.free_ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.nights.field import Field

KEYSTORE = "listener.name.ssl.ssl.keystore.location"
_NAME = "kafka.example"
"""The name in the old and the new certificates. A running listener accepts a new certificate only with the same
names.
"""


async def _listen(field: Field, certificate: Path) -> str:
    """Give each broker an additional listener with TLS.

    Returns:
        ``host:port,…`` of these listeners.
    """
    ports = free_ports(len(field.cluster.broker_ids))
    addresses = zip(field.cluster.broker_ids, field.cluster.addresses, field.cluster.controller_addresses, strict=True)
    for port, (broker, (_, plain), (_, controller)) in zip(ports, addresses, strict=True):
        clients = f"PLAINTEXT://{LOOPBACK}:{plain},SSL://{LOOPBACK}:{port}"
        properties = {
            "listeners": f"{clients},CONTROLLER://{LOOPBACK}:{controller}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
            "listener.name.ssl.ssl.keystore.type": "PEM",
            KEYSTORE: str(certificate),
        }
        await field.with_properties(broker, properties)
        await field.restart(broker)
    return ",".join(f"{LOOPBACK}:{port}" for port in ports)


@asynccontextmanager
async def _renewing(field: Field, *, same_authority: bool) -> AsyncIterator[Begin]:
    """Run two producers and two consumers that trust the current authority. The yielded function renews the brokers'
    certificates, and restarts one consumer and one producer 10 s later.

    Args:
        same_authority: whether the same authority signs the new certificates.
    """
    folder = field.cluster.directory
    authority = await asyncio.to_thread(Authority, folder / "authority")
    old = await asyncio.to_thread(authority.issue, _NAME, LOOPBACK)
    # Use another folder, because a certificate's file is named after its subject.
    other = await asyncio.to_thread(Authority, folder / "new-authority", "authority of the year after")
    where = folder / "renewed"
    await asyncio.to_thread(where.mkdir)
    await asyncio.to_thread((where / "old.pem").write_bytes, old.pem.read_bytes())
    bootstrap = await _listen(field, where / "old.pem")
    new = await asyncio.to_thread((authority if same_authority else other).issue, _NAME, LOOPBACK)
    await asyncio.to_thread((where / "new.pem").write_bytes, new.pem.read_bytes())
    trusting: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SSL",
        "ssl_ca_location": str(authority.pem),
    }
    await field.topic("orders", partitions=3)
    await field.topic("audit", partitions=3)
    async with (
        field.producer("orders", rate=40, name="shop", **trusting),
        field.consumer("orders", "billing", name="billing-1", **trusting) as billing,
        field.producer("audit", rate=20, name="gateway", **trusting) as gateway,
        field.consumer("audit", "archive", name="archive-1", **trusting),
    ):
        await field.reads("billing", "orders")
        await field.reads("archive", "audit")

        async def begin() -> None:
            for broker in field.cluster.broker_ids:
                entity = ("--entity-type", "brokers", "--entity-name", str(broker))
                renewed = f"{KEYSTORE}={where / 'new.pem'}"
                await field.tool("kafka-configs", "--alter", *entity, "--add-config", renewed)
            await asyncio.sleep(10)  # everything is healthy in this time
            for service in (billing, gateway):
                await service.stop()
                await service.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the brokers get certificates signed by a new
    authority, which is in no client's trust store yet.
    """
    async with _renewing(field, same_authority=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the brokers get new
    certificates, signed by the authority that all clients trust.
    """
    async with _renewing(field, same_authority=True) as begin:
        yield begin


NIGHT = Night(
    name="a certificate of a new authority",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/3281",
    story="The certificates of all brokers were renewed in time, and signed by a new authority. Nothing happened, as a "
    "connection that stands is not checked again. Each service that was deployed after that could not connect: its "
    "trust store has the old authority only. It began with one service, whose release was blamed; the group of that "
    "one stayed empty, and those that nobody touched worked on.",
    make=_make,
    twin_story="The same renewal by the authority that everybody trusts, and the same deployments: all come back.",
    twin=_twin,
    cause=Words(
        (
            r"keystore|certificate|\btls\b|\bssl\b",
            r"chang|new|renew|replac|set|alter|trust|authority|\bca\b|handshake|verif",
        )
    ),
    symptom=Words(
        (
            r"billing|audit",
            r"no members?|empty|left|nobody|\blag|behind|without|no (new )?records|not (read|written|commit)"
            r"|stopp|silent|no more|fell",
        )
    ),
    step=Words((r"keystore|certificate|trust|\btls\b|\bssl\b|authority|\bca\b",)),
    wrong=(r"reset group", r"delete (group|topic)", r"delete records", r"unregister"),
)
