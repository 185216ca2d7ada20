"""Rows of the metadata log as it was fetched: whole committed batches, or a whole snapshot, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO

import pyarrow as pa

from console.history.kraft.batches import Damage, Settled, Window, markers, settle, walk
from console.history.kraft.decoder import Decoder, Origin, Report, Trouble


@dataclass(frozen=True)
class Fetched:
    """What came from `start` on. source: of which listener, for messages and for the column `file`.

    snapshot_end: the offset that a snapshot ends at; None for the log.
    """

    cluster_id: str
    source: str
    data: bytes
    start: int = 0
    snapshot_end: int | None = None

    @cached_property
    def transactions(self) -> Settled:
        """How its transactions ended; found once, by a walk over all of it."""
        windows = (part for part in _parts(self) if isinstance(part, Window))
        return settle([each for window in windows for each in markers(window) if each.offset >= self.start], self.start)


def next_offset(fetched: Fetched, end: int) -> int:
    """Where the next read begins, of what ends at `end`: before a transaction that has no end yet, else there."""
    if fetched.snapshot_end is not None:
        return fetched.snapshot_end
    open_at = fetched.transactions.open_at
    return end if open_at is None else max(fetched.start, open_at)


def rows(fetched: Fetched, end: int, key: bytes | None, report: Report) -> Iterator[pa.RecordBatch]:
    """Batches with `kraft_record`'s columns without `run_id`, of offsets from `start` to before `end`. Records of
    aborted transactions are left out.

    key: for the HMAC of secrets, None: no HMAC. report: called for unreadable data.
    """
    decoder = Decoder(key, report)
    origin = Origin(fetched.cluster_id, fetched.source, fetched.snapshot_end)
    if fetched.snapshot_end is not None:
        yield from decoder.rows(fetched.data, origin)
        return
    aborted = fetched.transactions.aborted

    def wanted(offset: int) -> bool:
        return fetched.start <= offset < end and not any(first <= offset <= last for first, last in aborted)

    for part in _parts(fetched):
        if isinstance(part, Window):
            whole = part.data[: part.batches[-1].end - part.at]
            yield from decoder.rows(whole, replace(origin, byte_pos=part.at), wanted)
        elif part.reason is not None:
            reason = f"batch at offset {part.offset}: {part.reason}"
            report(Trouble.of(fetched.cluster_id, fetched.source, part.at, reason, part.data))


def _parts(fetched: Fetched) -> Iterator[Window | Damage]:
    """The whole batches, and what is damaged. The first may begin before `start`."""
    if fetched.data:
        yield from walk(BytesIO(fetched.data), int.from_bytes(fetched.data[:8], "big", signed=True))
