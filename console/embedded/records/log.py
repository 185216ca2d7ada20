"""One partition's log: batches from a start offset to an end, the oldest of which go (UnifiedLog)."""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from console.embedded.records.batch import Batch, first_since, newest, placed
from console.embedded.records.producers import Producers

MAX_BYTES = 8 * 2**20
"""What one partition holds in memory, whatever its retention says."""
NO_OFFSET = -1


class PartitionLog:
    """The records of a partition. Every replica in sync has all of them, so the high watermark is the end.

    start: the first offset that can be read; end: that of the next record. size: bytes in memory. older_bytes: what a
    scenario says is on disk beside, which nobody can read. looked_after: when its retention was last seen to.
    """

    def __init__(self, start: int = 0, older_bytes: int = 0) -> None:
        self.start = self.end = start
        self.size = 0
        self.older_bytes = older_bytes
        self.producers = Producers()
        self.looked_after: float | None = None
        self._batches: list[Batch] = []
        self._epochs: list[tuple[int, int]] = []
        self._watching: set[asyncio.Event] = set()

    @property
    def batches(self) -> tuple[Batch, ...]:
        """What is there, oldest first."""
        return tuple(self._batches)

    def append(self, batch: Batch, leader_epoch: int, append_time: int | None = None) -> int:
        """Add a batch at the end; the offset of its first record. append_time: as in `placed`."""
        kept = placed(batch, self.end, leader_epoch, append_time)
        self.producers.wrote(kept)
        self.keep(kept)
        for event in self._watching:
            event.set()
        return kept.base_offset

    def keep(self, batch: Batch) -> None:
        """Put a batch that has its place already at the end."""
        if not self._epochs or self._epochs[-1][0] != batch.leader_epoch:
            self._epochs.append((batch.leader_epoch, batch.base_offset))
        self._batches.append(batch)
        self.size += len(batch.data)
        self.end = batch.last_offset + 1
        self.evict(MAX_BYTES)

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Whole batches from the one with this offset on; the first even where it alone is too large, if wanted."""
        found: list[bytes] = []
        for batch in self._batches[self._place(offset) :]:
            max_bytes -= len(batch.data)
            if max_bytes < 0 and (found or not at_least_one):
                break
            found.append(batch.data)
        return b"".join(found)

    def _place(self, offset: int) -> int:
        return bisect_left(self._batches, offset, key=lambda batch: batch.last_offset)

    def since(self, timestamp: int) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the first record that is no older; None for none."""
        for batch in self._batches:
            if batch.max_timestamp >= timestamp:
                moment, offset = first_since(batch, timestamp)
                return moment, max(offset, self.start), batch.leader_epoch
        return None

    def newest(self) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the record with the highest timestamp; None for none."""
        if not self._batches:
            return None
        batch = max(self._batches, key=lambda each: each.max_timestamp)
        moment, offset = newest(batch)
        return moment, max(offset, self.start), batch.leader_epoch

    def epoch_at_start(self) -> int | None:
        """The leader epoch of the oldest batch, None for none."""
        return self._batches[0].leader_epoch if self._batches else None

    def end_of_epoch(self, epoch: int, current: int) -> tuple[int, int]:
        """The largest epoch that is no larger, and where it ends (KIP-320); (-1, -1) for what nobody knows."""
        if epoch == current:
            return epoch, self.end
        known = [*self._epochs, (current, self.end)]
        if epoch < known[0][0] or epoch > current:
            return -1, NO_OFFSET
        place = max(place for place, (begun, _) in enumerate(known) if begun <= epoch)
        return known[place][0], known[place + 1][1]

    # Oldest first, batches go as a whole.

    def delete_before(self, offset: int) -> None:
        """Move the start on to an offset, no further than the end (DeleteRecords); it never goes back."""
        self.start = max(self.start, min(offset, self.end))
        self._drop(self._place(self.start))

    def trim(self, max_bytes: int) -> None:
        """Drop the oldest batches while there are more bytes than these; the newest stays."""
        self._drop(self._too_many(max_bytes))

    def evict(self, max_bytes: int) -> None:
        """The same for want of memory: where a scenario says that there is more on disk, there is still more then."""
        count = self._too_many(max_bytes)
        if not self.older_bytes:
            self._drop(count)
            return
        gone = sum(len(batch.data) for batch in self._batches[:count])
        self.size, self.older_bytes = self.size - gone, self.older_bytes + gone
        del self._batches[:count]

    def _too_many(self, max_bytes: int) -> int:
        """How many of the oldest batches to drop until there are no more bytes than these; never the newest."""
        size, count = self.size, 0
        while size > max_bytes and count < len(self._batches) - 1:
            size -= len(self._batches[count].data)
            count += 1
        return count

    def expire(self, oldest: int) -> None:
        """Drop the batches whose newest record is older than a moment, up to the first that is not."""
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

    # Waiting for more.

    def watch(self, event: asyncio.Event) -> None:
        """Set this event whenever something is appended, until `unwatch`."""
        self._watching.add(event)

    def unwatch(self, event: asyncio.Event) -> None:
        """No more."""
        self._watching.discard(event)
