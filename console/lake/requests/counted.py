"""Lines of request logs, added up by the second in one pass; the same pass finds the changes and the damaged lines.

The results of at most twice `CHUNK_BYTES` of lines are in memory. A second with more lines gets several rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, count, repeat
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from console.lake import schema
from console.lake.redact import Damaged
from console.lake.requests import lines as requests_lines
from console.lake.requests import pieces
from console.lake.requests.alters import ALTER_APIS
from console.model.foreign_json import DEEPEST, deeper_than

CHUNK_BYTES = 64 << 20
CHUNK_ALTERS = 10_000
SOURCE = "request_log"
_BITS = requests_lines.INT_MAX.bit_length()
_MOST_MS = float(requests_lines.INT_MAX)
"""Maximum of `local_ms`. It is a float because the comparison of two floats is many times faster than that of a float
and an int.
"""


def _fields(table: schema.Table) -> list[pa.Field]:
    return list(schema.arrow_schema(table))


COUNTED: pa.Schema = schema.arrow_schema(schema.REQUEST)
"""The columns of counted rows. A row has at most one of three structs: a row of REQUEST_1S, of ALTER_REQUEST or of
QUARANTINE. A row without a struct has the numbers of lines and of damaged lines; in rows with a struct these are
0, except in those of `damaged_row`.
"""


class Whose(NamedTuple):
    """The fields of a log's rows that do not come from its lines."""

    cluster_id: str
    broker_id: int
    file: str
    """The name of the file without its folder."""
    zone: str = "UTC"
    fold_at: int | None = None
    """The byte position from which on ambiguous times are in the second pass of an hour that clocks show twice; None if
    all are in the first pass (`to_utc`).
    """
    source: str = SOURCE
    """The column `source` of unreadable lines."""


_OURS = 3
"""Number of the first columns of REQUEST_1S that neither `_Key` nor `_Sums` has: cluster_id, broker_id, second."""
_Key = tuple[str, str, str]


class _Sums(NamedTuple):
    """The columns of REQUEST_1S that are sums, each as a list with an element for each row.

    With lists of columns there is no object for each row, which the garbage collector would visit again and again.
    """

    requests: list[int]
    errors: list[int]
    bytes_in: list[int]
    bytes_out: list[int]
    local_ms: list[float]
    throttle_ms_sum: list[int]
    throttle_ms_max: list[int]


class _Second(NamedTuple):
    """The rows of one second.

    Attributes:
        place: the position of a line of that second.
        rows: (principal, client id, API) -> the index of its row in the lists of `sums`.
    """

    place: int
    rows: dict[_Key, int]
    sums: _Sums

    @staticmethod
    def at(place: int) -> _Second:
        """Return a second without rows."""
        return _Second(place, {}, _Sums(*([] for _ in _Sums._fields)))


_Clock = tuple[datetime, bool]
"""A second by the lines' clock (in UTC if the lines have a zone), and whether it is in the second pass of an hour that
the clock shows twice.
"""


class _Chunk:
    """The results from some lines. current: the last second of the previous chunk, to which these lines may add."""

    def __init__(self, current: Mapping[_Clock, _Second] = MappingProxyType({})) -> None:
        self.lines = 0
        self.seconds = dict(current)
        self.alters: list[requests_lines.Line] = []
        self.damaged: list[Damaged] = []


def counted(whose: Whose, blocks: Iterable[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    """Yield batches of `COUNTED` for blocks of whole lines with their byte positions. A last batch is always
    yielded, because it has the number of lines.
    """
    chunk = _Chunk()
    size = 0
    current: dict[_Clock, _Second] = {}
    for start, text in blocks:
        _add(chunk, start, text, whose.fold_at)
        size += len(text)
        if size >= CHUNK_BYTES or len(chunk.alters) >= CHUNK_ALTERS:
            # Continue the last second in the next chunk: split over two chunks, most of its keys would have two rows.
            last = [*chunk.seconds.items()][-1:]
            current = {clock: second for clock, second in last if clock not in current}
            for clock in current:
                del chunk.seconds[clock]
            yield from _batches(whose, chunk)
            chunk, size = _Chunk(current), 0
    yield from _batches(whose, chunk)


def _requests(
    chunk: _Chunk, start: int, text: bytes
) -> Iterator[tuple[int, datetime, int, bytes, requests_lines.Logged]]:
    """Yield the requests of a block, as tuples with the fields of `Line` because an object for each would cost time.
    Damaged lines are added to the chunk instead.
    """
    find, startswith, endswith = text.find, text.startswith, text.endswith
    is_ascii = text.isascii()
    decode, behind, whole = requests_lines.decode, requests_lines.BEHIND, requests_lines.END
    head, cut, size = b"\n", len(behind), len(text)
    second: datetime | None = None
    millis = skipped = begin = 0
    # Cut off one line at a time: all lines of a block at once would exceed the CPU's caches.
    while begin < size:
        place, end = start + begin, find(b"\n", begin)
        if end < 0:
            end = size
        # Lines of one millisecond begin with the same text, which is parsed once.
        if not startswith(head, begin):
            head, at = requests_lines.head_of(text, begin, end)
            second, millis = at or (None, 0)
            skipped = len(head)
        line, begin = begin, end + 1
        asked = line + skipped
        is_usual = endswith(behind, asked, end)
        if second is not None and (is_usual or endswith(whole, asked, end)):
            json = text[asked : end - cut if is_usual else end]
            try:
                is_ascii or json.decode()  # checks UTF-8 also in the fields that msgspec skips
                # Unpacking `at` into this tuple would make a list of all values first.
                yield place, second, millis, json, decode(json)
                continue
            except (*requests_lines.NOT_USUAL, UnicodeDecodeError):
                pass
        other = requests_lines.one_line(place, text[line:end])
        if isinstance(other, Damaged) and (made := pieces.joined(text, line, end)) is not None:
            other, begin = requests_lines.one_line(place, made[0]), made[1] + 1
        if isinstance(other, requests_lines.Line):
            yield other
        elif other is not None:
            chunk.damaged.append(other)


def _add(chunk: _Chunk, start: int, text: bytes, fold_at: int | None) -> None:
    """Add the requests of the block at byte `start`, in one loop: a call for each line would take too long."""
    fold = sys.maxsize if fold_at is None else fold_at
    current: datetime | None = None
    is_later = False
    for place, second, millis, json, request in _requests(chunk, start, text):
        header = request.request_header
        api = header.request_api_key_name
        if api in ALTER_APIS:
            if deeper_than(json, DEEPEST):  # the parser of changes refuses it
                chunk.damaged.append(Damaged.of(place, json, requests_lines.TOO_DEEP))
                continue
            chunk.alters.append(requests_lines.Line(place, second, millis, json, request))
        chunk.lines += 1
        if not requests_lines.is_clients(request):
            continue
        came = went = 0
        failed = False
        asked, answer = request.request, request.response
        if type(asked) is requests_lines.Request and asked.topic_data:
            for topic in asked.topic_data:
                for partition in topic.partition_data or ():
                    came += partition.records_size_in_bytes
        if type(answer) is requests_lines.Response:
            failed = answer.error_code != 0
            for each in answer.responses or ():
                for partition in each.partitions or each.partition_responses or ():
                    went += partition.records_size_in_bytes
                    if partition.error_code:
                        failed = True
        if api not in requests_lines.OWN_ERRORS:
            failed = requests_lines.has_error(json)
        local, throttled = request.local_time_ms or 0.0, request.throttle_time_ms or 0
        # One test for both sizes: a bit above these is set only if one is negative or exceeds 32 bits.
        if (came | went) >> _BITS or not 0 <= throttled <= requests_lines.INT_MAX or not 0.0 <= local <= _MOST_MS:
            chunk.lines -= 1
            chunk.damaged.append(Damaged.of(place, json, requests_lines.NO_FIGURE))
            continue
        if second is not current or is_later is not (place >= fold):
            current, is_later = second, place >= fold
            _, rows, sums = chunk.seconds.setdefault((second, is_later), _Second.at(place))
            requests, errors, bytes_in, bytes_out, local_ms, throttle_ms_sum, throttle_ms_max = sums
        key = (request.principal, header.client_id or "", api)
        row = rows.get(key)
        if row is None:
            row = rows[key] = len(rows)
            for column in sums:
                column.append(0)
        requests[row] += 1
        local_ms[row] += local
        if came:
            bytes_in[row] += came
        if went:
            bytes_out[row] += went
        if failed:
            errors[row] += 1
        if throttled:
            throttle_ms_sum[row] += throttled
            throttle_ms_max[row] = max(throttle_ms_max[row], throttled)


def _batches(whose: Whose, chunk: _Chunk) -> Iterator[pa.RecordBatch]:
    if chunk.seconds:
        yield batch_of(schema.REQUEST, "second", _seconds(whose, chunk))
    if chunk.alters:
        alters = _alters(whose, chunk.alters)
        if alters:
            yield batch_of(schema.REQUEST, "alter", _columns(schema.ALTER_REQUEST, alters))
    yield from last_batches(schema.REQUEST, whose, chunk.lines, chunk.damaged, len(chunk.damaged))


# -- rows of a bronze table with the structs of parts of logs: REQUEST and AUTHORIZATION -------------------------------


def batch_of(table: schema.Table, kind: str, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return rows of a bronze table in which only the struct column `kind` is filled. columns: the columns of that
    struct; the first one is the cluster's id.
    """
    rows, of_table = len(columns[0]), schema.arrow_schema(table)
    of = {column.name: column.of for column in table.columns if column.of is not None}
    made = pa.StructArray.from_arrays(columns, fields=_fields(of[kind]))
    none = pa.repeat(pa.scalar(0, pa.int64()), rows)
    rest = [made if name == kind else pa.nulls(rows, of_table.field(name).type) for name in of]
    return pa.RecordBatch.from_arrays([columns[0], none, none, *rest], schema=of_table)


def last_batches(
    table: schema.Table, whose: Whose, lines: int, damaged: Sequence[Damaged], bad: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of damaged lines, then the row with the number of lines and damaged lines.

    Args:
        lines: the number of good lines.
        bad: the number of damaged lines that count against the log.
    """
    if damaged:
        rows = [_quarantined(whose, each) for each in damaged]
        yield batch_of(table, "quarantined", _columns(schema.QUARANTINE, rows))
    counts = {"cluster_id": whose.cluster_id, "lines": lines + bad, "damaged": bad}
    yield pa.RecordBatch.from_pylist([counts], schema=schema.arrow_schema(table))


def _columns(table: schema.Table, rows: Sequence[Mapping[str, Any]]) -> list[pa.Array]:
    return [pa.array([row[field.name] for row in rows], field.type) for field in _fields(table)]


def _quarantined(whose: Whose, damaged: Damaged) -> dict[str, Any]:
    return {"cluster_id": whose.cluster_id, "source": whose.source, "file": whose.file, **damaged._asdict()}


def damaged_row(whose: Whose, damaged: Damaged, *, lines: int) -> dict[str, Any]:
    """Return a row for a damaged line, in a bronze table that counts the lines of a log. lines: the number of lines to
    count for it; 0 for a lost part of a log, whose number of lines is unknown.
    """
    counts = {"cluster_id": whose.cluster_id, "lines": lines, "damaged": lines}
    return {**counts, "quarantined": _quarantined(whose, damaged)}


# -- rows of REQUEST ---------------------------------------------------------------------------------------------------


def _seconds(whose: Whose, chunk: _Chunk) -> list[pa.Array]:
    of = chunk.seconds.values()
    # Convert each time once: converting times takes longer than any other value, and there are few.
    utc = in_utc(whose, [second for second, _ in chunk.seconds], [second.place for second in of])
    numbers = pa.array(chain.from_iterable(map(repeat, count(), (len(second.rows) for second in of))), pa.int32())
    rows = len(numbers)
    ours = [pa.repeat(pa.scalar(whose.cluster_id), rows), pa.repeat(pa.scalar(whose.broker_id, pa.int32()), rows)]
    keys = zip(*chain.from_iterable(second.rows for second in of), strict=True)
    sums = (chain.from_iterable(columns) for columns in zip(*(second.sums for second in of), strict=True))
    types = [field.type for field in _fields(schema.REQUEST_1S)[_OURS:]]
    made = (pa.array(column, type_) for column, type_ in zip((*keys, *sums), types, strict=True))
    return [*ours, utc.take(numbers), *made]


def _alters(whose: Whose, lines: Sequence[requests_lines.Line]) -> list[dict[str, Any]]:
    clocks = [line.second.replace(microsecond=line.millis * 1000) for line in lines]
    ends = in_utc(whose, clocks, [line.byte_pos for line in lines]).to_pylist()
    names = [field.name for field in _fields(schema.ALTER_REQUEST)]
    rows = []
    for line, end in zip(lines, ends, strict=True):
        for row in requests_lines.altered(line.json.decode(), end):
            told = (whose.cluster_id, whose.broker_id, end, *map(_encodable, row), whose.file, line.byte_pos)
            rows.append(dict(zip(names, told, strict=True)))
    return rows


def _encodable(value: Any) -> Any:
    """Return a text with `?` in place of lone surrogates, which JSON may contain but UTF-8 can't encode; any other
    value unchanged.
    """
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def to_utc(at: pa.Array, places: pa.Array, zone: str, fold_at: int | None) -> pa.Array:
    """Return times in UTC, with microseconds. A time that the clock skips when it is put forward counts as if it had
    not been put forward yet.

    Args:
        at, places: the lines' times without zone, and their byte positions.
        fold_at: the byte position from which on ambiguous times are in the second pass of an hour that the clock shows
            twice; None if all are in the first pass.
    """
    utc = pa.timestamp("us", "UTC")
    earlier = pc.assume_timezone(at, zone, ambiguous="earliest", nonexistent="earliest").cast(utc)
    if fold_at is None:
        return earlier
    later = pc.assume_timezone(at, zone, ambiguous="latest", nonexistent="earliest").cast(utc)
    return pc.if_else(pc.greater_equal(places, fold_at), later, earlier)


def in_utc(whose: Whose, clocks: Sequence[datetime], places: Sequence[int]) -> pa.Array:
    """Return times in UTC: a time with its own zone is UTC already, all others are converted from the
    configured zone.
    """
    shown = pa.array([each.replace(tzinfo=None) for each in clocks], pa.timestamp("us"))
    given = to_utc(shown, pa.array(places, pa.int64()), whose.zone, whose.fold_at)
    own = [each.tzinfo is not None for each in clocks]
    return pc.if_else(pa.array(own), pc.assume_timezone(shown, "UTC"), given) if any(own) else given
