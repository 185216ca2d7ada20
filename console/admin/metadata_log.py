"""A reader of the metadata log, as an observer, through the controllers' own listener (KIP-595, KIP-630).

The records contain secrets in clear text, so the bytes go only to a decoder that removes them (`console.lake.kraft`).
The principal needs ClusterAction on the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, BadAnswer, BrokerError, failure
from console.admin.link import Ask, Link
from console.admin.link_errors import no_answer
from console.admin.settings import Address, show_address
from console.wire.fields import Fields
from console.wire.record_batches import HEADER

TOPIC, TOPIC_ID = "__cluster_metadata", UUID(int=1)
MOST_BYTES = 8 << 20
"""Maximum size in bytes of the part of the log in one response."""
MOST_SNAPSHOT_BYTES = 2 << 30
ATTEMPTS, ATTEMPTS_ELECTING = 10, 60
"""Number of rounds through all controllers while none leads; the second number applies if a leader was known: busy
controllers need many seconds to elect another one."""
_PAUSE = 0.5
"""Seconds between two attempts at all controllers while none of them leads."""
_AFTER_LENGTH = 12
"""Number of bytes of a batch that its length field does not count: the base offset and the length field itself."""
_OF_ANOTHER_LEADER = {
    ErrorCode.invalid_request,
    ErrorCode.not_leader_or_follower,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.unknown_leader_epoch,
    ErrorCode.leader_not_available,
    ErrorCode.broker_not_available,
}
"""The errors of a controller that has another epoch or does not lead. The response names the leader as far as it is
known.
"""
_NOT_SERVED = {ErrorCode.unknown_topic_id, ErrorCode.unknown_topic_or_partition}


class LogPart(NamedTuple):
    """Whole, committed batches of the log, in order. The first batch may begin before the requested offset."""

    data: bytes
    next: int
    """The offset after the last batch, at which the next read begins."""
    high_watermark: int
    """The offset at which the committed part of the log ends."""


class Snapshot(NamedTuple):
    """A complete snapshot of the metadata log."""

    data: bytes
    end: int
    """The offset at which the snapshot ends and the log continues."""


class _SnapshotId(NamedTuple):
    end: int
    epoch: int


class ControllerLog:
    """The metadata log of a cluster, read from its controllers. Call `close` after the last read.

    Attributes:
        controllers: the addresses of controllers' listeners, some of which may be down.
        cluster_id: the id of the cluster, which each request names, so that controllers of another cluster refuse it;
            None to read from any cluster.
    """

    def __init__(self, link: Link, controllers: Sequence[Address], cluster_id: str | None = None) -> None:
        self._link = link
        self._addresses = list(controllers)
        self._cluster_id = cluster_id
        self._at: Address | None = None
        self._ask: Ask | None = None
        self._held = AsyncExitStack()
        self._epoch = 0

    async def read(self, start: int, *, wait: float = 0.0, within: float = 30.0) -> LogPart | Snapshot:
        """Return the log from the offset `start` on; return a snapshot if the log begins after that offset.

        Args:
            wait: the seconds for which the leader may wait for new records; if none arrive, the result has no batches.
            within: the maximum seconds for each request.

        Raises:
            AdminError: no controller answers, or the leader refuses.
        """
        found = await self._fetched(start, wait, within)
        missing = -1
        while isinstance(found, _SnapshotId):
            if found.end <= missing:
                text = f"{self._where()} names a snapshot at offset {found.end:,}, and does not have it"
                raise BadAnswer.of(text, "Try again; the controller's log says why.")
            snapshot = await self._snapshot(found, within)
            if snapshot is not None:
                return snapshot
            # The snapshot was deleted meanwhile: a newer one exists.
            missing = found.end
            found = await self._fetched(start, wait, within)
        return found

    async def close(self) -> None:
        """Close the connection."""
        self._ask = self._at = None
        await self._held.aclose()

    # -- the leader ----------------------------------------------------------------------------------------------------

    async def _from_leader(self, api: str, asked: Callable[[], Fields], part_of: Any, within: float) -> Any:
        """Send a request to the leader and return the partition's part of the response. Raises AdminError.

        Args:
            asked: function that returns the content of the request with the known leader epoch, which may change
                between attempts.
            part_of: function that returns the partition's part of a response.
            within: the maximum seconds for each request.
        """
        refused: AdminError | None = None
        attempts = ATTEMPTS_ELECTING if self._epoch else ATTEMPTS
        for attempt in range(attempts * max(1, len(self._addresses))):
            if attempt and self._ask is None and attempt % max(1, len(self._addresses)) == 0:
                await asyncio.sleep(_PAUSE)
            try:
                async with asyncio.timeout(within):
                    answer = await (await self._connected())(api, asked())
            except TimeoutError:
                refused = no_answer([self._at or self._addresses[0]], within, asked="controller")
                await self._go_to(None)
                continue
            except AdminError as error:
                refused = error
                await self._go_to(None)
                continue
            if answer.error_code:
                raise self._refused(answer.error_code)
            part = part_of(answer)
            if part is None:
                raise BadAnswer.of(f"{self._where()} answered {api} without {TOPIC}")
            if not part.error_code:
                return part
            refused = self._refused(part.error_code)
            if part.error_code not in _OF_ANOTHER_LEADER:
                raise refused
            await self._follow(part.current_leader, answer)
        assert refused is not None
        raise refused

    async def _connected(self) -> Ask:
        if self._ask is None:
            self._at = self._addresses[0]
            self._ask = await self._held.enter_async_context(self._link.routes.apart(self._at))
        return self._ask

    async def _go_to(self, address: Address | None) -> None:
        """Use the controller at this address from now on; None for the next known address."""
        await self.close()
        if address is None:
            self._addresses.append(self._addresses.pop(0))
        else:
            self._addresses = [address, *(each for each in self._addresses if each != address)]

    async def _follow(self, leader: Any, answer: Any) -> None:
        """Use the leader and the epoch that a response names. If it names no new address or epoch, use the next known
        address.
        """
        endpoints = {each.node_id: (each.host, each.port) for each in getattr(answer, "node_endpoints", ())}
        known = self._epoch
        self._epoch = max(known, leader.leader_epoch)
        address = endpoints.get(leader.leader_id)
        if address is not None and address != self._at:
            await self._go_to(address)
        elif self._epoch == known:
            await self._go_to(None)

    def _where(self) -> str:
        return show_address(self._at) if self._at is not None else "the controller"

    def _refused(self, code: int) -> AdminError:
        if code in _NOT_SERVED:
            return BrokerError.of(
                f"{self._where()} does not serve the metadata log",
                "Name a listener of controller.listener.names, as in controller.quorum.bootstrap.servers: brokers' "
                "own listeners do not serve it.",
                name="NOT_A_CONTROLLER",
            )
        found = failure(code)
        if code == ErrorCode.cluster_authorization_failed:
            text = f"{self._where()} refused to be read"
            return BrokerError.of(text, "Allow the principal ClusterAction on the cluster.", name=found.name)
        if code == ErrorCode.inconsistent_cluster_id:
            text = f"{self._where()} is of another cluster than {self._cluster_id}"
            return BrokerError.of(text, "Name controllers of that cluster.", name=found.name)
        return BrokerError.of(found.message or f"{self._where()} refused to be read", found.remedy, name=found.name)

    # -- requests ------------------------------------------------------------------------------------------------------

    async def _fetched(self, start: int, wait: float, within: float) -> LogPart | _SnapshotId:
        def asked() -> Fields:
            wanted = {
                "partition": 0,
                "current_leader_epoch": self._epoch,
                # The committed log never diverges, so the leader's present epoch is valid for every offset.
                "last_fetched_epoch": self._epoch,
                "fetch_offset": start,
                "log_start_offset": -1,
                "partition_max_bytes": MOST_BYTES,
            }
            return {
                "cluster_id": self._cluster_id,
                "replica_id": -1,
                "max_wait": timedelta(seconds=wait),
                "min_bytes": 1 if wait else 0,
                "max_bytes": MOST_BYTES,
                "topics": [{"topic": TOPIC, "topic_id": TOPIC_ID, "partitions": [wanted]}],
                "forgotten_topics_data": (),
            }

        part = await self._from_leader("fetch", asked, _first_of("responses"), within + wait)
        if part.snapshot_id.end_offset >= 0:
            return _SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
        if part.diverging_epoch.end_offset >= 0:
            raise BrokerError.of(
                f"the log of {self._where()} ends at offset {part.diverging_epoch.end_offset}, before {start}",
                "The cluster was formatted again, or restored from a copy: begin another lake for it.",
                name="LOG_DIVERGES",
            )
        found = _committed(bytes(part.records or b""), start, part.high_watermark)
        if found.next <= start < found.high_watermark:
            text = (
                f"{self._where()} returns no whole batch from offset {start:,} on, though its log is committed up to "
                f"{found.high_watermark:,}"
            )
            raise BadAnswer.of(text, "Try again; the controller's log says why.")
        return found

    async def _snapshot(self, wanted: _SnapshotId, within: float) -> Snapshot | None:
        """Return a snapshot; None if the leader has deleted it meanwhile. Raises BadAnswer if it exceeds
        `MOST_SNAPSHOT_BYTES` (2 GiB) or is incomplete, and other AdminErrors.
        """
        pieces: list[bytes] = []
        position = size = 0
        snapshot_id = {"end_offset": wanted.end, "epoch": wanted.epoch}

        def asked() -> Fields:
            at = {"current_leader_epoch": self._epoch, "snapshot_id": snapshot_id, "position": position}
            topics = [{"name": TOPIC, "partitions": [{"partition": 0, **at}]}]
            return {"cluster_id": self._cluster_id, "replica_id": -1, "max_bytes": MOST_BYTES, "topics": topics}

        while True:
            try:
                part = await self._from_leader("fetch_snapshot", asked, _first_of("topics"), within)
            except BrokerError as error:
                if error.failure.name == ErrorCode.snapshot_not_found.name.upper():
                    return None
                raise
            if part.size > MOST_SNAPSHOT_BYTES:
                text = (
                    f"{self._where()} has a snapshot of {part.size:,} bytes; at most {MOST_SNAPSHOT_BYTES:,} are read"
                )
                raise BadAnswer.of(text)
            piece = bytes(part.unaligned_records or b"")
            pieces.append(piece)
            position += len(piece)
            if position >= part.size:
                return Snapshot(b"".join(pieces), wanted.end)
            size = size or part.size
            if not piece or part.size != size:
                text = f"{self._where()} stopped at byte {position:,} of a snapshot of {part.size:,}"
                raise BadAnswer.of(text, "Try again; the controller's log says why.")


def _first_of(topics: str) -> Any:
    """Return a function that returns the only partition in a response; None if the response has none. topics: the name
    of the response's list of topics.
    """

    def part_of(answer: Any) -> Any:
        return next((part for topic in getattr(answer, topics) for part in topic.partitions), None)

    return part_of


def _committed(data: bytes, start: int, high_watermark: int) -> LogPart:
    """Return the whole batches below the high watermark: a response may end within a batch, or after the committed
    part.
    """
    at, following = 0, start
    while len(data) - at >= HEADER.size:
        base, length, *_, last_delta = HEADER.unpack_from(data, at)[:7]
        end = at + _AFTER_LENGTH + length
        if length < HEADER.size - _AFTER_LENGTH or end > len(data) or base + last_delta >= high_watermark:
            break
        at, following = end, base + last_delta + 1
    return LogPart(data[:at], max(start, following), high_watermark)
