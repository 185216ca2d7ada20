"""A member of a group that does as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from console.embedded.brokers import EmbeddedCluster
from console.embedded.group_coordinator import coordinator_of
from console.wire.frames import decode_body, split_response
from console.wire.schemas import response_type
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields

JOIN, SYNC = 7, 5


class GroupClient:
    """One connection to the coordinator of a group; an asynchronous context manager."""

    def __init__(
        self, cluster: EmbeddedCluster, group: str = "g", instance_id: str | None = None, session: float = 10.0
    ) -> None:
        self.raw = RawClient(cluster, coordinator_of(cluster.state.topics, group), client_id="member")
        self.group = group
        self.instance_id = instance_id
        self.session = session
        self.member_id = ""
        self.generation = -1

    async def __aenter__(self) -> Self:
        await self.raw.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.raw.__aexit__(kind, error, trace)

    def ask_to_join(self, *protocols: str, version: int = JOIN, type_: str = "consumer") -> None:
        """Send a JoinGroup; `joined` reads the answer."""
        self.raw.request(
            "join_group",
            version,
            with_fields(
                group_id=self.group,
                session_timeout=self.session,
                rebalance_timeout=2 * self.session,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type=type_,
                protocols=[{"name": name, "metadata": name.encode()} for name in protocols or ("range",)],
            ),
        )

    async def joined(self, version: int = JOIN) -> Any:
        """The answer to the JoinGroup; its member id and generation are this one's from now on."""
        answer = await self.answer("join_group", version)
        if answer.error_code in (0, 79):
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    async def answer(self, api: str, version: int) -> Any:
        """The next answer."""
        response = response_type(api, version)
        return decode_body(response, split_response(response, await self.raw.frame())[1])

    async def ready_to_join(self, *protocols: str) -> None:
        """Get a member id, and send the JoinGroup that counts (KIP-394)."""
        self.ask_to_join(*protocols)
        answer = await self.joined()
        assert answer.error_code == 79
        self.ask_to_join(*protocols)

    def ask_to_sync(self, assignments: Mapping[str, bytes] | None = None) -> None:
        """Send a SyncGroup; `synced` reads the answer."""
        self.raw.request(
            "sync_group",
            SYNC,
            with_fields(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[{"member_id": member, "assignment": data} for member, data in (assignments or {}).items()],
            ),
        )

    async def synced(self) -> Any:
        """The answer to the SyncGroup."""
        return await self.answer("sync_group", SYNC)

    async def heartbeat(self) -> int:
        """Its error code."""
        answer = await self.raw.ask(
            "heartbeat",
            4,
            with_fields(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
            ),
        )
        code: int = answer.error_code
        return code

    async def leave(self) -> tuple[int, list[int]]:
        """The error codes: the request's and its members'."""
        answer = await self.raw.ask(
            "leave_group", 5, with_fields(group_id=self.group, members=[(self.member_id, self.instance_id)])
        )
        return answer.error_code, [member.error_code for member in answer.members]

    async def commit(self, offset: int, topic: str = "orders", version: int = 9, generation: int | None = None) -> int:
        """The partition's error code."""
        answer = await self.raw.ask(
            "offset_commit",
            version,
            with_fields(
                group_id=self.group,
                generation_id_or_member_epoch=self.generation if generation is None else generation,
                member_id=self.member_id,
                topics=[
                    {
                        "name": topic,
                        "partitions": [{"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}],
                    }
                ],
            ),
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code
