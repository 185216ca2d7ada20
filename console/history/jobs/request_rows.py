"""What was read of request logs, on its way into the lake."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from console.history.jobs.quarantine import quarantine_arrow
from console.history.requests.counted import added_up
from console.history.schema import ALTER_REQUEST, REQUEST_1S
from console.history.store import parquet_files
from console.history.store.write import Write

MOST_BYTES = 32 << 20
"""Of rows that are held before they go to files: to add them up and sort them takes several times as much."""


class RequestRows:
    """Adds batches of `counted.COUNTED` to the lake: seconds to those that are there, changes and damaged lines beside
    them. Between batches `MOST_BYTES` are held; at the end one hour of one cluster at a time.

    lines, damaged: that were read, and how many of them are unreadable. quarantined: those that the lake had not.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._held: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        self._bytes = 0
        self._hours: dict[str, list[str]] = defaultdict(list)
        self.lines = self.damaged = self.quarantined = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes in a batch."""
        self.lines += pc.sum(batch.column("lines")).as_py()
        self.damaged += pc.sum(batch.column("damaged")).as_py()
        for kind in ("second", "alter", "quarantined"):
            found = batch.column(kind).drop_null()
            if len(found):
                self._held[kind].append(pa.RecordBatch.from_struct_array(found))
                self._bytes += found.nbytes
        if self._bytes > MOST_BYTES:
            self._put()

    def end(self) -> None:
        """Adds the seconds to those that are there. It is called once, after the last batch."""
        self._put()
        files = self._write.lake.filesystem
        for partition, folders in self._hours.items():
            there = self._write.lake.files(self._write.draft, REQUEST_1S, [partition])
            if not there and len(folders) == 1:
                self._write.rewrite(REQUEST_1S.name, (), {partition: folders})
                continue
            new = [f"{folder}/{each.name}" for folder in folders for each in files.entries(folder)]
            both = added_up(parquet_files.read(files, [*there, *new], REQUEST_1S))
            self._write.replace(REQUEST_1S.name, self._write.put_arrow(REQUEST_1S.name, both))

    def _put(self) -> None:
        """Writes what is held to files of the run."""
        held = {kind: pa.Table.from_batches(batches) for kind, batches in self._held.items()}
        self._held.clear()
        self._bytes = 0
        if "second" in held:
            for partition, folders in self._write.put_arrow(REQUEST_1S.name, added_up(held["second"])).items():
                self._hours[partition] += folders
        if "alter" in held:
            self._write.add_arrow(ALTER_REQUEST.name, held["alter"])
        if "quarantined" in held:
            self.quarantined += quarantine_arrow(self._write, held["quarantined"])
        held.clear()
        pa.default_memory_pool().release_unused()
