"""`kac lake follow`: takes in the metadata log from the controllers' listener while it is written; without Spark.

Each round reads what is new from the offset that the lake remembers, and commits it as one run. Controllers write an
empty record twice a second (metadata.max.idle.interval.ms): what has no other records waits for `IDLE_SECONDS`
at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from console.admin.errors import AdminError
from console.admin.metadata_log import ControllerLog, Snapshot
from console.history.jobs.plan_inputs import REMEMBERED
from console.history.kraft.decoder import ROW_SCHEMA, Trouble
from console.history.kraft.fetched import Fetched, next_offset, rows
from console.history.schema import KRAFT_RECORD
from console.history.store.errors import LakeBusy
from console.history.store.write import writing
from console.model.failure import Failure

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.admin.link import Link
    from console.admin.settings import Address
    from console.history.store import Lake
    from console.history.store.release import Inputs
    from console.history.store.write import Write

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
    """A round that wrote something. run_id: its run. next_offset: where the next begins; end: where what is committed
    ends. behind: seconds between the newest record's time and its commit to the lake."""

    run_id: str
    records: int
    next_offset: int
    end: int
    behind: float


class _Read(NamedTuple):
    """What was fetched. upto: the offset behind it; end: where what is committed ends."""

    fetched: Fetched
    upto: int
    end: int


class _New(NamedTuple):
    """What is new from `start` on. following: where the next read begins."""

    start: int
    table: pa.Table
    troubles: tuple[Trouble, ...]
    following: int
    end: int


def follow(
    lake: Lake,
    client: AdminClient,
    controllers: Sequence[Address],
    cluster_id: str,
    told: Callable[[Taken | Failure], None],
    *,
    stop: threading.Event,
) -> None:
    """Takes in what is new until `stop` is set. told: gets each round that wrote, and each that failed; it goes on.
    Raises LakeError, but not that another run writes: then it waits."""
    log: ControllerLog | None = None
    waiting_since = time.monotonic()
    failed = ""
    try:
        while not stop.is_set():
            try:
                log = log or client.submit(_opened, controllers, cluster_id).result()
                new = client.submit(_read_new, log, cluster_id, _start(lake, cluster_id)).result()
                found = _decoded(new, lake.key())
                is_idle = found.start > 0 and not found.troubles and _only_idle(found.table)
                if found.following > found.start and (not is_idle or time.monotonic() > waiting_since + IDLE_SECONDS):
                    taken = _write(lake, cluster_id, found)
                    waiting_since = time.monotonic()
                    if taken is not None:
                        told(taken)
                failed = ""
            except AdminError as error:
                if str(error.failure) != failed:
                    failed = str(error.failure)
                    told(error.failure)
            except LakeBusy:
                pass  # the log keeps what is not taken in
            stop.wait(EVERY)
    finally:
        if log is not None:
            client.submit(_closed, log).result()


def _start(lake: Lake, cluster_id: str) -> int:
    """The offset where what is not in the lake yet begins."""
    return int(_remembered(lake.current().inputs, cluster_id).get("next_offset", 0))


def _remembered(inputs: Inputs, cluster_id: str) -> Mapping[str, Any]:
    """How far the log was read, and from which folders, where `kac lake ingest` read it too."""
    known: Mapping[str, Any] = inputs.get(f"{REMEMBERED}{cluster_id}", {})
    return known


# -- what is new: fetched on the client's loop, decoded in the caller's thread -----------------------------------------


async def _opened(link: Link, controllers: Sequence[Address], cluster_id: str) -> ControllerLog:
    return ControllerLog(link, controllers, cluster_id)


async def _closed(_: Link, log: ControllerLog) -> None:
    await log.close()


async def _read_new(_: Link, log: ControllerLog, cluster_id: str, start: int) -> _Read:
    """What follows an offset, up to what is committed, or to the end of `_PART_BYTES`; of an open transaction all."""
    found = await log.read(start)
    if isinstance(found, Snapshot):
        return _Read(Fetched(cluster_id, SOURCE_NAME, found.data, start, found.end), found.end, found.end)
    pieces, size = [found.data], len(found.data)
    while found.next < found.high_watermark and size < _MOST_BYTES:
        if size >= _PART_BYTES:
            fetched = Fetched(cluster_id, SOURCE_NAME, b"".join(pieces), start)
            if next_offset(fetched, found.next) > start:
                break
        more = await log.read(found.next)
        if isinstance(more, Snapshot):
            break  # what was read is not there any more; the next round takes the snapshot
        pieces.append(more.data)
        size += len(more.data)
        found = more
    return _Read(Fetched(cluster_id, SOURCE_NAME, b"".join(pieces), start), found.next, found.high_watermark)


def _decoded(read: _Read, key: bytes) -> _New:
    following = next_offset(read.fetched, read.upto)
    troubles: list[Trouble] = []
    table = pa.Table.from_batches(list(rows(read.fetched, following, key, troubles.append)), ROW_SCHEMA)
    return _New(read.fetched.start, table, tuple(troubles), following, read.end)


def _only_idle(table: pa.Table) -> bool:
    return not pc.any(pc.not_equal(table.column("record_type"), _IDLE)).as_py()


def _write(lake: Lake, cluster_id: str, new: _New) -> Taken | None:
    """Commits it as one run; None where another run has taken it in meanwhile. Raises LakeError."""
    read = {"cluster_id": cluster_id, "start": new.start, "next_offset": new.following}
    with writing(lake, JOB, inputs=read) as write:
        known = _remembered(write.release.inputs, cluster_id)
        if int(known.get("next_offset", 0)) != new.start:
            return None
        if new.table.num_rows:
            write.add_arrow(KRAFT_RECORD.name, new.table)
        bad = _quarantined(write, new.troubles) if new.troubles else 0
        write.remember({f"{REMEMBERED}{cluster_id}": {**known, "next_offset": new.following}})
        write.commit(inputs=read, quarantined=bad)
        newest = pc.max(new.table.column("record_ts")).as_py()
        behind = max(0.0, (datetime.now(UTC) - newest).total_seconds()) if newest is not None else 0.0
        return Taken(write.run_id, new.table.num_rows, new.following, new.end, behind)


def _quarantined(write: Write, troubles: Sequence[Trouble]) -> int:
    """Writes what can't be read; how much of it is new."""
    from console.history.jobs.take import quarantine_arrow, trouble_rows  # loads Spark

    return quarantine_arrow(write, trouble_rows(troubles))
