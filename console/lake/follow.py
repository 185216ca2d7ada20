"""`kac lake follow`: takes in what is written while it is written, without Spark: the metadata log from the listener of
the controllers here, request logs from a topic in `request_topic`.

Each round reads what is new from the offsets that the lake remembers, and commits it as one run. Controllers write an
empty record twice a second (metadata.max.idle.interval.ms): what has no other records waits for `IDLE_SECONDS`
at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from console.admin.errors import AdminError
from console.admin.metadata_log import ControllerLog, Snapshot
from console.history.jobs.inputs import REMEMBERED, log_read
from console.history.jobs.quarantine import quarantine_arrow, trouble_rows
from console.history.kraft.decoder import ROW_SCHEMA, Trouble
from console.history.kraft.metadata_log import Fetched, next_offset, read_fetched
from console.history.schema import KRAFT_RECORD
from console.history.store.lock import LakeBusy
from console.history.store.write import writing

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.admin.link import Link
    from console.admin.settings import Address
    from console.history.store import Lake
    from console.model.failure import Failure

JOB, SOURCE_NAME = "follow", "controllers"
EVERY = 1.0
"""Seconds between two rounds."""
IDLE_SECONDS = 300.0
"""How long records that change nothing wait to be written down."""
_IDLE = "NoOpRecord"
_PART_BYTES = 64 << 20
"""Of a log that is taken in at once."""
_MOST_BYTES = 512 << 20
"""Of one transaction, which has to be read as a whole."""


class Taken(NamedTuple):
    """A round that wrote something. run_id: its run. text: what it took in. notes: what the operator has to know."""

    run_id: str
    text: str
    notes: tuple[str, ...] = ()


class Followed(Protocol):
    """What is followed."""

    def round(self, stop: threading.Event) -> Taken | None:
        """Takes in what is new; None: nothing was written. stop: is set at the end. Raises AdminError, LakeError."""
        ...

    def close(self) -> None:
        """Closes the connections."""
        ...


class _Read(NamedTuple):
    """What was fetched. upto: the offset behind it; end: where what is committed ends."""

    fetched: Fetched
    upto: int
    end: int


def follow(followed: Sequence[Followed], told: Callable[[Taken | Failure], None], *, stop: threading.Event) -> None:
    """Takes in what is new until `stop` is set. told: gets each round that wrote, and each that failed; it goes on.
    Raises LakeError, but not that another run writes: then it waits."""
    failed: dict[int, str] = {}
    try:
        while not stop.is_set():
            for place, each in enumerate(followed):
                try:
                    taken = each.round(stop)
                    if taken is not None:
                        told(taken)
                    failed.pop(place, None)
                except AdminError as error:
                    if str(error.failure) != failed.get(place):
                        failed[place] = str(error.failure)
                        told(error.failure)
                except LakeBusy:
                    pass  # the logs keep what is not taken in
            stop.wait(EVERY)
    finally:
        for each in followed:
            each.close()


class MetadataLogFollowed:
    """The metadata log of a cluster, from its controllers' listener."""

    def __init__(self, lake: Lake, client: AdminClient, controllers: Sequence[Address], cluster_id: str) -> None:
        self._lake = lake
        self._client = client
        self._controllers = controllers
        self._cluster_id = cluster_id
        self._log: ControllerLog | None = None
        self._waiting_since = time.monotonic()

    def round(self, _: threading.Event) -> Taken | None:
        """As `Followed` says."""
        start = int(log_read(self._lake.current().inputs, self._cluster_id).get("next_offset", 0))
        read = self._client.submit(self._read, start).result()
        following = next_offset(read.fetched, read.upto)
        if following <= start:
            return None
        troubles: list[Trouble] = []
        batches = read_fetched(read.fetched, following, self._lake.key(), troubles.append)
        table = pa.Table.from_batches(list(batches), ROW_SCHEMA)
        changes = pc.any(pc.not_equal(table.column("record_type"), _IDLE)).as_py()
        is_idle = start > 0 and not troubles and not changes
        if is_idle and time.monotonic() <= self._waiting_since + IDLE_SECONDS:
            return None
        self._waiting_since = time.monotonic()
        return self._write(read, following, table, troubles)

    def close(self) -> None:
        """As `Followed` says."""
        self._client.submit(self._close).result()

    async def _close(self, _: Link) -> None:
        if self._log is not None:
            await self._log.close()

    async def _read(self, link: Link, start: int) -> _Read:
        """What follows an offset, up to what is committed, or to the end of `_PART_BYTES`; of an open transaction
        all."""
        if self._log is None:
            self._log = ControllerLog(link, self._controllers, self._cluster_id)
        found = await self._log.read(start)
        fetched = partial(Fetched, self._cluster_id, SOURCE_NAME, start=start)
        if isinstance(found, Snapshot):
            return _Read(fetched(found.data, snapshot_end=found.end), found.end, found.end)
        data = bytearray(found.data)
        while found.next < found.high_watermark and len(data) < _MOST_BYTES:
            if len(data) >= _PART_BYTES and next_offset(fetched(bytes(data)), found.next) > start:
                break
            more = await self._log.read(found.next)
            if isinstance(more, Snapshot):
                break  # what was read is not there any more; the next round takes the snapshot
            data += more.data
            found = more
        return _Read(fetched(bytes(data)), found.next, found.high_watermark)

    def _write(self, new: _Read, following: int, table: pa.Table, troubles: Sequence[Trouble]) -> Taken | None:
        """Commits it as one run; None where another run has taken it in meanwhile. Raises LakeError."""
        start = new.fetched.start
        read = {"cluster_id": self._cluster_id, "start": start, "next_offset": following}
        with writing(self._lake, JOB, inputs=read) as write:
            known = log_read(write.release.inputs, self._cluster_id)
            if int(known.get("next_offset", 0)) != start:
                return None
            if table.num_rows:
                write.add_arrow(KRAFT_RECORD.name, table)
            bad = quarantine_arrow(write, trouble_rows(troubles))
            write.remember({f"{REMEMBERED}{self._cluster_id}": {**known, "next_offset": following}})
            write.commit(inputs=read, quarantined=bad)
            newest = pc.max(table.column("record_ts")).as_py()
            behind = max(0.0, (datetime.now(UTC) - newest).total_seconds()) if newest is not None else 0.0
            left = f", {new.end - following:,} to go" if new.end > following else ""
            records = f"{table.num_rows:,} records up to offset {following:,}"
            return Taken(write.run_id, f"{records}{left}, {behind:.1f} s behind")
