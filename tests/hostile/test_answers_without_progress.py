"""Answers that never get further end the loop that asks for more, with what stands still."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from console.admin.errors import BadAnswer
from console.admin.link import Link
from console.admin.metadata_log import TOPIC, TOPIC_ID, ControllerLog
from console.admin.replicas import _eligible
from console.admin.settings import ConnectionSettings
from console.embedded.replicas import new_topic, striped
from console.wire.frames import encode_body
from console.wire.schemas import api_key, messages
from tests.hostile.cluster import HostileCluster
from tests.support import worlds
from tests.support.patience import PATIENCE
from tests.wire.fake_broker import KRAFT, Conversation, FakeBroker, Received

FETCH, FETCH_SNAPSHOT = api_key("fetch"), api_key("fetch_snapshot")
VERSIONS = {FETCH: (0, 17), FETCH_SNAPSHOT: (0, 1)}
NOTHING = i32Timedelta.parse(timedelta(0))
MOST = 40
"""Requests: far fewer than a loop without an end would send."""


class Controller:
    """Answers Fetch and FetchSnapshot of the metadata log as it is told, and says too much is enough."""

    def __init__(self, *, high_watermark: int = 0, snapshot: int = -1, size: int = 0) -> None:
        self.high_watermark, self.snapshot, self.size = high_watermark, snapshot, size
        self.asked = 0

    async def __call__(self, conversation: Conversation, request: Received) -> None:
        self.asked += 1
        assert self.asked < MOST, "it is asked for ever"
        found = messages(request.key, request.version)
        assert found is not None
        answer = self._fetched(found.schema) if request.key == FETCH else self._piece(found.schema)
        await conversation.answer(request, encode_body(found.response, answer))

    def _fetched(self, kio: Any) -> Any:
        part = kio.PartitionData(
            partition_index=0,
            error_code=ErrorCode.none,
            high_watermark=self.high_watermark,
            snapshot_id=kio.SnapshotId(end_offset=self.snapshot, epoch=1),
            aborted_transactions=None,
            records=None,
        )
        topic = kio.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(part,))
        return kio.FetchResponse(throttle_time=NOTHING, error_code=ErrorCode.none, session_id=0, responses=(topic,))

    def _piece(self, kio: Any) -> Any:
        self.size += bool(self.size)
        part = kio.PartitionSnapshot(
            index=0,
            error_code=ErrorCode.none if self.size else ErrorCode.snapshot_not_found,
            snapshot_id=kio.SnapshotId(end_offset=self.snapshot, epoch=1),
            current_leader=kio.LeaderIdAndEpoch(leader_id=1, leader_epoch=1),
            size=self.size,
            position=0,
            unaligned_records=b"x",
        )
        topic = kio.TopicSnapshot(name=TOPIC, partitions=(part,))
        return kio.FetchSnapshotResponse(throttle_time=NOTHING, error_code=ErrorCode.none, topics=(topic,))


@asynccontextmanager
async def log_of(controller: Controller) -> AsyncIterator[ControllerLog]:
    async with FakeBroker(controller, versions={**KRAFT, **VERSIONS}) as alive, asyncio.timeout(PATIENCE):
        link = Link(ConnectionSettings((alive.address,)))
        log = ControllerLog(link, [alive.address])
        try:
            yield log
        finally:
            await log.close()
            await link.close()


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        (
            Controller(high_watermark=12),
            "returns no whole batch from offset 5 on, though .* up to 12",
        ),
        (Controller(snapshot=9), "names a snapshot at offset 9, and does not have it"),
        (Controller(snapshot=9, size=2), "stopped at byte 1 of a snapshot of 4|stopped at byte 2 of a snapshot of 4"),
    ],
    ids=["no batch below what is committed", "a snapshot that is never there", "a snapshot that grows with each piece"],
)
async def test_a_metadata_log_that_does_not_go_on(controller: Controller, said: str) -> None:
    async with log_of(controller) as log:
        with pytest.raises(BadAnswer, match=said):
            await log.read(5)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_pages_that_name_the_next_one_and_have_nothing(hostile: HostileCluster, goes_on: bool) -> None:
    """goes_on: the cursor moves, for ever; else it stays."""
    hostile.embedded.call(lambda c: [c.state.put_topic(new_topic(name, striped([1], 2, 1), [1])) for name in "ab"])

    def empty(kio: Any, answer: Any) -> Any:
        pages = sum(asked.key == api_key("describe_topic_partitions") for asked in hostile.asked)
        assert pages < MOST, "it is asked for ever"
        at = kio.Cursor(topic_name="a", partition_index=pages if goes_on else 1)
        return replace(answer, topics=() if goes_on else answer.topics, next_cursor=at)

    hostile.rewrite("describe_topic_partitions", empty)
    async with worlds.linked(ConnectionSettings(tuple(hostile.addresses.values()))) as link:
        async with asyncio.timeout(PATIENCE):
            found = await _eligible(link, [("a", 0), ("b", 0)])
    assert set(found) <= {("a", 0), ("b", 0)}
    assert 1 <= sum(asked.key == api_key("describe_topic_partitions") for asked in hostile.asked) < MOST
