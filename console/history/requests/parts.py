"""The work of reading request logs, in parts that can be done side by side, and one part's lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import pyarrow as pa

from .files import blocks, name_of
from .lines import lines
from .progress import Span, pieces
from .zone import fold_at, to_utc

PART_BYTES = 64 << 20

REQUEST_LINE = pa.schema(
    [
        pa.field("cluster_id", pa.string()),
        pa.field("broker_id", pa.int32()),
        pa.field("file", pa.string()),
        pa.field("byte_pos", pa.int64()),
        pa.field("end_ts", pa.timestamp("us", "UTC")),
        pa.field("api_key", pa.int32()),
        pa.field("json", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("sha256", pa.string()),
        pa.field("sample", pa.string()),
    ]
)
"""As `lines.LINE`, with whose line it is; end_ts: the line's time in UTC."""
REQUEST_LINE_DDL = (
    "cluster_id STRING, broker_id INT, file STRING, byte_pos BIGINT, end_ts TIMESTAMP, api_key INT, json STRING, "
    "reason STRING, sha256 STRING, sample STRING"
)
"""The same in Spark's words."""


@dataclass(frozen=True)
class BrokerLog:
    """What is to be read of one broker's request log. zone: of the times in its lines, as ``Europe/Berlin``."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"


@dataclass(frozen=True)
class Part:
    """A piece of a file, with all that its lines' rows need. fold_at: see `zone.to_utc`."""

    cluster_id: str
    broker_id: int
    path: str
    start: int
    end: int
    zone: str
    fold_at: int | None

    def as_list(self) -> list[str | int | None]:
        """For JSON."""
        return [getattr(self, field.name) for field in fields(self)]


def parts_of(logs: Sequence[BrokerLog], at_most: int = PART_BYTES) -> tuple[Part, ...]:
    """All parts, each of at most so many bytes where its file can be split. Raises OSError: a file can't be read;
    zoneinfo.ZoneInfoNotFoundError (a KeyError): there is no such zone."""
    made = []
    for log in logs:
        for span in log.spans:
            fold = fold_at(span.path, log.zone)
            made += [
                Part(log.cluster_id, log.broker_id, span.path, start, end, log.zone, fold)
                for start, end in pieces(span, at_most)
            ]
    return tuple(made)


def read_part(part: Part, *, alters_only: bool = False) -> Iterator[pa.RecordBatch]:
    """The part's request lines, and the damaged ones, as `REQUEST_LINE`. alters_only: see `lines.lines`. Raises
    OSError, EOFError (gzip, cut)."""
    file = name_of(part.path)
    for at, text in blocks(part.path, part.start, part.end):
        for batch in lines(at, text, alters_only=alters_only):
            if not batch.num_rows:
                continue
            rows, places = batch.num_rows, batch.column("byte_pos")
            end_ts = to_utc(batch.column("at"), places, part.zone, part.fold_at)
            whose = [
                pa.repeat(pa.scalar(part.cluster_id), rows),
                pa.repeat(pa.scalar(part.broker_id, pa.int32()), rows),
                pa.repeat(pa.scalar(file), rows),
            ]
            rest = [batch.column(name) for name in ("api_key", "json", "reason", "sha256", "sample")]
            yield pa.RecordBatch.from_arrays([*whose, places, end_ts, *rest], schema=REQUEST_LINE)
