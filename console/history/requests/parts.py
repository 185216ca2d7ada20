"""The work of reading request logs, in parts that can be done side by side, and what one part has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec
import pyarrow as pa

from console.history.requests.counted import Whose, counted

from .files import Check, opened_as_planned
from .progress import Span
from .zone import fold_at

PART_BYTES = 64 << 20


@dataclass(frozen=True)
class BrokerLog:
    """What is to be read of one broker's request log. zone: of the times in its lines, as ``Europe/Berlin``. patterns:
    where its files lie, also those that it will be rotated to."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"
    patterns: tuple[str, ...] = ()


class Part(msgspec.Struct, frozen=True, array_like=True):
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


def parts_of(logs: Sequence[BrokerLog], at_most: int = PART_BYTES) -> tuple[Part, ...]:
    """All parts, each of at most so many bytes where its file can be split. Raises OSError, LogChangedError: a file
    can't be read; zoneinfo.ZoneInfoNotFoundError (a KeyError): there is no such zone."""
    return tuple(part for log in logs for span in log.spans for part in _parts(log, span, at_most))


def _parts(log: BrokerLog, span: Span, at_most: int) -> Iterator[Part]:
    with opened_as_planned(span.path, span.checks, log.patterns) as file:
        fold = fold_at(file, log.zone, span.end)
        size = span.end if file.is_packed else at_most
        cut = [(at, min(at + size, span.end)) for at in range(span.start, span.end, size)]
        known = dict(span.checks)
        checks = {at: known.get(at) or file.check(at) for at in {each for piece in cut for each in piece}}
    # The last line of a part may end behind it: where the span ends is checked for each.
    always = {min(span.checks), (span.end, known[span.end])}
    for start, end in cut:
        checked = tuple(sorted({*always, (start, checks[start]), (end, checks[end])}))
        yield Part(log.cluster_id, log.broker_id, span.path, start, end, log.zone, fold, checked, log.patterns)


def read_part(part: Part) -> Iterator[pa.RecordBatch]:
    """The part's requests by the second, its changes and what is damaged, as `counted.COUNTED`; at least one row.
    Raises OSError, EOFError (gzip, cut); LogChangedError, at the end too: then what was given before does not count."""
    whose = Whose(part.cluster_id, part.broker_id, PurePosixPath(part.path).name, part.zone, part.fold_at)
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        yield from counted(whose, file.blocks(part.start, part.end))
