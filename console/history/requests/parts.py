"""The work of reading request logs, in parts that can be done side by side, and one part's lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from console.history.requests.lines import lines

from .files import Check, LogBytes, name_of, opened_as_planned
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
    """What is to be read of one broker's request log. zone: of the times in its lines, as ``Europe/Berlin``. patterns:
    where its files lie, also those that it will be rotated to."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A piece of a file, with all that its lines' rows need. fold_at: see `zone.to_utc`. checks, patterns: by which the
    file is known again, and found, where it is read: see `files.opened_as_planned`."""

    cluster_id: str
    broker_id: int
    path: str
    start: int
    end: int
    zone: str
    fold_at: int | None
    checks: tuple[Check, ...]
    patterns: tuple[str, ...] = ()

    def as_list(self) -> list[Any]:
        """For JSON."""
        return [getattr(self, field.name) for field in fields(self)]

    @staticmethod
    def of(read: Sequence[Any]) -> Part:
        """What `as_list` gave, from JSON."""
        made = dict(zip((field.name for field in fields(Part)), read, strict=True))
        made["checks"] = tuple((int(at), str(check)) for at, check in made["checks"])
        made["patterns"] = tuple(map(str, made["patterns"]))
        return Part(**made)


def parts_of(logs: Sequence[BrokerLog], at_most: int = PART_BYTES) -> tuple[Part, ...]:
    """All parts, each of at most so many bytes where its file can be split. Raises OSError, LogChangedError: a file
    can't be read; zoneinfo.ZoneInfoNotFoundError (a KeyError): there is no such zone."""
    return tuple(part for log in logs for span in log.spans for part in _parts(log, span, at_most))


def _parts(log: BrokerLog, span: Span, at_most: int) -> Iterator[Part]:
    with opened_as_planned(span.path, span.checks, log.patterns) as file:
        fold = fold_at(file, log.zone, span.end)
        cut = ((span.start, span.end),) if file.is_packed else pieces(span.start, span.end, at_most)
        known = dict(span.checks)
        checks = {at: known.get(at) or file.check(at) for at in {each for piece in cut for each in piece}}
    # The last line of a part may end behind it: where the span ends is checked for each.
    always = {min(span.checks), (span.end, known[span.end])}
    for start, end in cut:
        own = {*always, (start, checks[start]), (end, checks[end])}
        checked = tuple(sorted(own))
        yield Part(log.cluster_id, log.broker_id, span.path, start, end, log.zone, fold, checked, log.patterns)


def read_part(part: Part, *, alters_only: bool = False) -> Iterator[pa.RecordBatch]:
    """The part's request lines, and the damaged ones, as `REQUEST_LINE`. alters_only: see `lines.lines`. Raises
    OSError, EOFError (gzip, cut); LogChangedError, at the end too: then what was given before does not count."""
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        yield from _rows(part, file, alters_only)


def _rows(part: Part, opened: LogBytes, alters_only: bool) -> Iterator[pa.RecordBatch]:
    file = name_of(part.path)
    for at, text in opened.blocks(part.start, part.end):
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
