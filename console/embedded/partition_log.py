"""The log of a partition: its record batches, offsets and leader epochs. The producers' state is in `producers`."""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from console.embedded.producers import Producers
from console.embedded.record_batch import Batch, first_since, newest, placed_batch

MAX_BYTES = 8 * 2**20
"""Maximum size in bytes of a partition's records in memory, independent of its retention."""
NO_OFFSET = -1


class PartitionLog:
    """The log of a partition at its leader (UnifiedLog). All in-sync replicas have the same records at once, so the
    high watermark equals the end offset.

    Attributes:
        start: the offset of the first record that can be read.
        end: the offset that the next record will get.
        size: the bytes of the records in memory.
        older_bytes: the bytes of earlier records that a scenario declares as on disk; they can't be read.
        cleaned_at: the time at which retention was last applied, in seconds since 1970; None before the log's first
            use.
        behind: broker id of an out-of-sync replica -> the end offset of its log.
        tiered_to: the offset of the last record in remote storage; NO_OFFSET if there is none.
        local_start: the first offset that is still on the leader's disk; None if that is `start`.
    """

    def __init__(self, start: int = 0, older_bytes: int = 0) -> None:
        self.start = self.end = start
        self.size = 0
        self.older_bytes = older_bytes
        self.producers = Producers()
        self.cleaned_at: float | None = None
        self.behind: dict[int, int] = {}
        self.tiered_to = NO_OFFSET
        self.local_start: int | None = None
        self._batches: list[Batch] = []
        self._epochs: list[tuple[int, int]] = []
        self._watching: set[asyncio.Event] = set()

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches in memory, oldest first."""
        return tuple(self._batches)

    @property
    def stable(self) -> int:
        """The last stable offset, up to which consumers with read_committed read."""
        return max(self.start, self.producers.stable(self.end))

    def append(self, batch: Batch, leader_epoch: int, append_time: int | None = None) -> int:
        """Append a batch, and return the offset of its first record. append_time: the broker's time in ms since 1970,
        which replaces the records' timestamps; None to keep these.
        """
        kept = placed_batch(batch, self.end, leader_epoch, append_time)
        self.keep(kept)
        for event in self._watching:
            event.set()
        return kept.base_offset

    def keep(self, batch: Batch) -> None:
        """Append a batch that has its offset already."""
        # Remember the start of each leader's records, for OffsetForLeaderEpoch and the truncation of followers.
        if not self._epochs or self._epochs[-1][0] != batch.leader_epoch:
            self._epochs.append((batch.leader_epoch, batch.base_offset))
        self.producers.wrote(batch)
        self._batches.append(batch)
        self.size += len(batch.data)
        self.end = batch.last_offset + 1
        self.evict(MAX_BYTES)

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool, before: int | None = None) -> list[Batch]:
        """Return whole batches, from the one that contains this offset on.

        Args:
            max_bytes: the maximum size of all batches together.
            at_least_one: whether to return the first batch even if it is larger.
            before: the offset before which a returned batch must begin; None for no limit.
        """
        found: list[Batch] = []
        for batch in self._batches[self._place(offset) :]:
            max_bytes -= len(batch.data)
            if (before is not None and batch.base_offset >= before) or (max_bytes < 0 and (found or not at_least_one)):
                break
            found.append(batch)
        return found

    def _place(self, offset: int) -> int:
        return bisect_left(self._batches, offset, key=lambda batch: batch.last_offset)

    def since(self, timestamp: int) -> tuple[int, int, int] | None:
        """Return timestamp, offset and leader epoch of the first record with this timestamp (ms since 1970) or a later
        one; None if there is none.
        """
        for batch in self._batches:
            if batch.max_timestamp >= timestamp:
                moment, offset = first_since(batch, timestamp)
                return moment, max(offset, self.start), batch.leader_epoch
        return None

    def newest_batch(self) -> Batch | None:
        """Return the batch with the highest timestamp, the first one if there are several; None for an empty log."""
        return max(self._batches, key=lambda each: each.max_timestamp, default=None)

    def newest(self) -> tuple[int, int, int] | None:
        """Return timestamp (ms since 1970), offset and leader epoch of the record with the highest timestamp; None for
        an empty log.
        """
        batch = self.newest_batch()
        if batch is None:
            return None
        moment, offset = newest(batch)
        return moment, max(offset, self.start), batch.leader_epoch

    def epoch_at_start(self) -> int | None:
        """Return the leader epoch of the oldest batch; None for an empty log."""
        return self._batches[0].leader_epoch if self._batches else None

    def end_of_epoch(self, epoch: int, current: int) -> tuple[int, int]:
        """Return the largest leader epoch in the log that is not above `epoch`, and its end offset (KIP-320); (-1, -1)
        if there is none, or if `epoch` is above `current`, the present leader epoch.
        """
        if epoch == current:
            return epoch, self.end
        # An epoch ends where the next epoch that has records starts.
        known = [*self._epochs, (current, self.end)]
        if epoch < known[0][0] or epoch > current:
            return -1, NO_OFFSET
        place = max(place for place, (begun, _) in enumerate(known) if begun <= epoch)
        return known[place][0], known[place + 1][1]

    # Deletion: only whole batches, the oldest first.

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset (DeleteRecords), at most up to the end."""
        self.start = max(self.start, min(offset, self.end))
        self._drop(self._place(self.start))

    def trim(self, max_bytes: int) -> None:
        """Delete the oldest batches until at most `max_bytes` remain, but keep the newest batch. The log's start
        moves up to the first batch that is kept.
        """
        self._drop(self._too_many(max_bytes))

    def evict(self, max_bytes: int) -> None:
        """Drop the oldest batches from memory until at most `max_bytes` are in memory, but keep the newest batch.
        The log's start moves up to the first batch that is kept. Only if the log has `older_bytes`, its start
        stays, and the dropped bytes are added to `older_bytes`.
        """
        count = self._too_many(max_bytes)
        if not self.older_bytes:
            self._drop(count)
            return
        gone = sum(len(batch.data) for batch in self._batches[:count])
        # Keep the log's start: a scenario's log is larger than its part in memory, and only this part is dropped.
        self.size, self.older_bytes = self.size - gone, self.older_bytes + gone
        del self._batches[:count]

    def _too_many(self, max_bytes: int) -> int:
        """Return how many of the oldest batches must be dropped so that at most `max_bytes` remain. The newest batch is
        never counted.
        """
        size, count = self.size, 0
        # Keep the newest batch, as Kafka never deletes the active segment.
        while size > max_bytes and count < len(self._batches) - 1:
            size -= len(self._batches[count].data)
            count += 1
        return count

    def expire(self, oldest: int) -> None:
        """Delete the oldest batches as long as their newest record is older than `oldest`, in milliseconds since
        1970. The log's start moves up to the first batch that is kept.
        """
        place = 0
        while place < len(self._batches) and self._batches[place].max_timestamp < oldest:
            place += 1
        self._drop(place)

    def _drop(self, count: int) -> None:
        if count == 0:
            return
        self.size -= sum(len(batch.data) for batch in self._batches[:count])
        self.start = max(self.start, self._batches[count - 1].last_offset + 1)
        del self._batches[:count]
        self.older_bytes = 0
        later = [entry for entry in self._epochs if entry[1] > self.start]
        if len(later) < len(self._epochs):
            self._epochs = [(self._epochs[-len(later) - 1][0], self.start), *later]

    # The ends of replicas, and waiting for appends.

    def end_of(self, replica: int) -> int:
        """Return the end offset of a replica's log. replica: its broker id."""
        return min(self.behind.get(replica, self.end), self.end)

    def truncate(self, end: int) -> None:
        """Drop the batches with records at or after the offset `end`. Called after an unclean election, because the
        new leader does not have these records.
        """
        while self._batches and self._batches[-1].last_offset >= end:
            self.size -= len(self._batches.pop().data)
        self._epochs = [each for each in self._epochs if each[1] < end]
        self.start, self.end = min(self.start, end), min(self.end, end)

    def watch(self, event: asyncio.Event) -> None:
        """Have an event set at each append, until `unwatch`."""
        self._watching.add(event)

    def unwatch(self, event: asyncio.Event) -> None:
        """Stop setting this event at appends."""
        self._watching.discard(event)
