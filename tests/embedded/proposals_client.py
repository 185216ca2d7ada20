"""Speaks the proposals' formats over a plain socket: a frame out, a frame in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kio.serial import entity_reader

from console.embedded.brokers import EmbeddedCluster
from console.embedded.state import View
from console.model.codes import AclOperation, AclResourceType
from console.wire.frames import encode_header, encode_payload, split_response, with_open_codes
from console.wire.schemas import messages
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE


async def ask(cluster: EmbeddedCluster, request: Any, broker: int | None = None) -> Any:
    """The answer of a broker, the controller unless another is named; every byte of it is read."""
    host, port = cluster.addresses[broker or cluster.state.controller_id]
    reader, writer = await asyncio.open_connection(host, port)
    try:
        frame = encode_header(request, 7, "test") + encode_payload(request)
        writer.write(len(frame).to_bytes(4, "big") + frame)
        answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    finally:
        writer.close()
        await writer.wait_closed()
    found: Any = messages(request.__api_key__, request.__version__)
    response: Any = with_open_codes(found.response)
    correlation_id, body = split_response(response, answer)
    assert correlation_id == 7
    entity, size = entity_reader(response)(bytes(body), 0)
    assert size == len(body)
    return entity


class WatchedClock(ManualClock):
    """A manual clock that tells when somebody sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait until the time was moved that far."""
        self.slept.set()
        await super().sleep(seconds)


async def until(cluster: EmbeddedCluster, is_so: Callable[[], bool]) -> None:
    """Wait for a change after which it is so."""
    settled = asyncio.Event()
    unsubscribe = cluster.state.subscribe(lambda _: settled.set() if is_so() else None)
    if not is_so():
        async with asyncio.timeout(PATIENCE):
            await settled.wait()
    unsubscribe()


class Rights:
    """Lets everybody do what is listed, as (operation, resource type, name), and nothing else."""

    def __init__(self, *allowed: tuple[str, str, str]) -> None:
        self.allowed = frozenset(allowed)

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: View
    ) -> bool:
        """Whether it is listed."""
        return (operation.name, resource.name, name) in self.allowed

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: View
    ) -> bool:
        """Whether it is listed for anything of this type."""
        return any((operation.name, resource.name) == listed[:2] for listed in self.allowed)


ON_CLUSTER = ("CLUSTER", "kafka-cluster")
