"""A group member that writes arbitrary bytes as its subscription and its assignment. Brokers store both without reading
them.

It works with embedded and real brokers. The member stays in the group until it leaves or its session ends, even if it
is not connected.
"""

import asyncio
from datetime import timedelta
from typing import Any, Self

from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import Build, with_fields

Address = tuple[str, int]

_SESSION = timedelta(minutes=5)
_MOVING = frozenset({14, 15, 16})  # the coordinator is loading, is not available, or is another broker
_MEMBER_ID_REQUIRED = 79
_PAUSE = 0.1


class HostileConsumer:
    """The only member of a group, and therefore its leader. As an asynchronous context manager it joins at the
    beginning and leaves at the end.

    A real broker (3.9) never answers a member of the protocol type ``consumer`` whose subscription it can't read. There
    only the assignment can be arbitrary.

    Args:
        address: a broker's (host, port), without TLS and SASL.
        subscription, assignment: the bytes to write, unchanged.

    Synchronous tests call `asyncio.run(consumer.join())` and `asyncio.run(consumer.leave())`.
    """

    def __init__(self, address: Address, group: str, *, subscription: bytes, assignment: bytes) -> None:
        self.group = group
        self.member_id = ""
        self._bootstrap = address
        self._subscription = subscription
        self._assignment = assignment
        self._generation = -1

    async def join(self) -> None:
        """Join the group and sync, after which the group is stable with this one member. Raises AssertionError if the
        coordinator refuses.
        """
        coordinator = await self._coordinator()
        answer = await self._ask(coordinator, "join_group", 7, self._join_request())
        if answer.error_code == _MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = await self._ask(coordinator, "join_group", 7, self._join_request())
        assert answer.error_code == 0, answer.error_code
        self.member_id, self._generation = answer.member_id, answer.generation_id
        synced = await self._ask(coordinator, "sync_group", 5, self._sync_request())
        assert synced.error_code == 0, synced.error_code

    async def leave(self) -> None:
        """Leave the group."""
        asked = with_fields(group_id=self.group, members=[(self.member_id, None)])
        await self._ask(await self._coordinator(), "leave_group", 4, asked)

    async def __aenter__(self) -> Self:
        await self.join()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def _coordinator(self) -> Address:
        while True:
            found = await self._once(self._bootstrap, "find_coordinator", 2, with_fields(key=self.group, key_type=0))
            if found.error_code == 0:
                return found.host, found.port
            assert found.error_code in _MOVING, found.error_code
            await asyncio.sleep(_PAUSE)

    async def _ask(self, to: Address, api: str, version: int, build: Build) -> Any:
        while True:
            answer = await self._once(to, api, version, build)
            if answer.error_code not in _MOVING:
                return answer
            await asyncio.sleep(_PAUSE)

    async def _once(self, to: Address, api: str, version: int, build: Build) -> Any:
        async with RawClient(to, client_id="hostile") as client:
            return await client.ask(api, version, build)

    def _join_request(self) -> Build:
        return with_fields(
            group_id=self.group,
            session_timeout=_SESSION,
            rebalance_timeout=_SESSION,
            member_id=self.member_id,
            group_instance_id=None,
            protocol_type="consumer",
            protocols=[("range", self._subscription)],
        )

    def _sync_request(self) -> Build:
        return with_fields(
            group_id=self.group,
            generation_id=self._generation,
            member_id=self.member_id,
            group_instance_id=None,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[(self.member_id, self._assignment)],
        )
