"""Records as rows and as text: keys and values as text, JSON or hex, as chosen or as their contents suggest.

Contents are untrusted and may be large: at most a certain part is shown, and none of it is parsed as markup.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from console.model import records as model
from console.model.foreign_json import deeper_than
from console.model.grouping import grouped
from console.model.numbers import Data, known_number, time_of
from console.model.record_conditions import decoded_json
from console.model.records import Encoding, Record, RecordsRead, Undecodable
from console.plan.amounts import measured_time
from console.present.columns import SHOWN, Column, Columns, on_screen
from console.present.names import plural
from console.present.text import Cell, Line, cell_width, clean

AUTO, TEXT, JSON, HEX = "", "text", "json", "hex"
FORMS = (AUTO, TEXT, JSON, HEX)
"""The forms in which contents are shown. AUTO: JSON or text if the contents look like it, else hex."""
IN_A_CELL = 400
"""Maximum number of bytes of a key or value that a row shows."""
IN_FULL = 64 << 10
"""Maximum number of bytes of a key or value that the details show."""
MOST_LINES = 3_000
"""Maximum number of lines of one key or value in the details."""
LARGEST_PRETTY, DEEPEST_PRETTY = 256 << 10, 32
"""Maximum size in bytes, and maximum depth, of JSON that is indented: indented deep JSON is many times larger."""
ODD_AMONG = 0.75
"""A share of the records, 0 to 1. If at least this share of the values is of the same kind, each value of another
kind is marked.
"""


def kind(data: bytes | None) -> str:
    """Return the kind of contents by their form: ``null``, ``empty``, ``json``, ``text`` or ``binary``."""
    if data is None:
        return "null"
    if not data:
        return "empty"
    if data[:1] in b'{["' or data.strip()[:1] in (b"{", b"["):
        try:
            decoded_json(data)
        except ValueError:
            pass
        else:
            return "json"
    return "text" if _is_text(data) else "binary"


def part_kind(data: bytes | None, encoding: Encoding | None) -> str:
    """Return the kind of a key or a value: ``avro``, ``proto`` or another form if a schema decoded it; ``binary`` if
    decoding by its schema failed; without a schema the kind by its contents (`kind`).
    """
    if encoding is None or data is None:
        return kind(data)
    return _SHORT.get(encoding.form, encoding.form) or "binary"


def as_sent(data: bytes, encoding: Encoding | None, form: str) -> bytes:
    """Return the bytes to show: for hex the bytes that the record has, for other forms the decoded ones."""
    return data if encoding is None or encoding.sent is None or form != HEX else encoding.sent


_SHORT = {"protobuf": "proto"}
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _is_text(data: bytes) -> bool:
    """Return whether the first IN_FULL bytes are UTF-8 without control characters."""
    part = data[:IN_FULL]
    try:
        text = part.decode()
    except UnicodeDecodeError as error:
        # A character that is cut at the end of the part is no error.
        if len(data) <= len(part) or error.start < len(part) - 3:
            return False
        text = part[: error.start].decode()
    return _NOT_TEXT.search(text) is None


def form_of(data: bytes | None, form: str) -> str:
    """Return the form in which contents are shown: TEXT, JSON or HEX; AUTO is resolved by the contents."""
    if form != AUTO:
        return form
    guess = kind(data)
    return HEX if guess == "binary" else JSON if guess == "json" else TEXT


def in_a_line(data: bytes | None, form: str) -> str:
    """Return the first `IN_A_CELL` bytes of contents in one line, with ``…`` if more follow: hex for HEX, and for
    AUTO if the contents are binary; otherwise text with invisible characters escaped. ``null`` for None. form:
    one of `FORMS`.
    """
    if data is None:
        return "null"
    part = data[:IN_A_CELL]
    more = "…" if len(data) > IN_A_CELL else ""
    if form_of(data, form) == HEX:
        return part.hex(" ") + more
    return clean(part.decode(errors="backslashreplace"), IN_A_CELL) + more


def in_full(data: bytes, form: str) -> str:
    """Return the first `IN_FULL` bytes of contents as one text, for copying; invisible characters are not escaped."""
    part = data[:IN_FULL]
    return part.hex(" ") if form_of(data, form) == HEX else part.decode(errors="backslashreplace")


def in_lines(data: bytes | None, form: str, width: int) -> list[str]:
    """Return contents in lines, with invisible characters escaped.

    Args:
        form: one of `FORMS`.
        width: the width of the lines, in cells.

    Returns:
        At most `MOST_LINES` lines, from the first `IN_FULL` bytes, or from all bytes of JSON that `_indented` indents.
        If there is more, a further line has the size of the contents.
    """
    if data is None:
        return ["null"]
    if not data:
        return ["(empty)"]
    chosen, part = form_of(data, form), data[:IN_FULL]
    if chosen == HEX:
        lines = list(_hex_lines(part, width))
    else:
        lines = _wrapped((_indented(data) if chosen == JSON else part).decode(errors="backslashreplace"), width)
    cut = lines[:MOST_LINES]
    if len(cut) < len(lines) or (len(data) > IN_FULL and not (chosen == JSON and len(data) <= LARGEST_PRETTY)):
        cut.append(f"… {len(data):,} bytes in all")
    return cut


def _indented(data: bytes) -> bytes:
    """Return JSON with each member in its own line. If it is invalid, has more than `LARGEST_PRETTY` bytes, or is
    nested deeper than `DEEPEST_PRETTY` levels, return its first `IN_FULL` bytes unchanged.
    """
    if len(data) > LARGEST_PRETTY or deeper_than(data, DEEPEST_PRETTY):
        return data[:IN_FULL]
    try:
        return msgspec.json.format(data, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return data[:IN_FULL]


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, each with invisible characters escaped and cut into pieces of `width` cells."""
    made: list[str] = []
    for line in text.split("\n"):
        left = clean(line.rstrip("\r"), IN_FULL)
        while len(made) < MOST_LINES:
            at = _fitting(left, width)
            made.append(left[:at])
            left = left[at:]
            if not left:
                break
        if len(made) > MOST_LINES:
            break
    return made


def _fitting(text: str, width: int) -> int:
    """Return the number of characters of a text that fit into `width` cells, but at least 1, so that the rest gets
    shorter. It may exceed the length of a short text.
    """
    if text.isascii():
        return width
    at = min(len(text), width)
    while at > 1 and cell_width(text[:at]) > width:
        at -= 1
    return at


def _hex_lines(data: bytes, width: int) -> Iterator[str]:
    """Yield lines with an offset, bytes in hex, and the same bytes as ASCII characters."""
    count = 16 if width >= 78 else 8
    for at in range(0, len(data), count):
        part = data[at : at + count]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f"{at:08x}  {part.hex(' '):<{3 * count}} {shown}"


# -- rows --------------------------------------------------------------------------------------------------------------


class RecordRow(NamedTuple):
    """A record, or a range of offsets that can't be decoded."""

    item: Record | Undecodable
    form: str = AUTO
    masked: bool = False
    """Whether contents are hidden."""
    odd: bool = False
    """Whether the kind of its value differs from that of nearly all other records."""

    @property
    def is_odd(self) -> bool:
        """Whether the kind of its value differs from that of nearly all other records, or the record can't be
        decoded.
        """
        return self.odd or isinstance(self.item, Undecodable)

    @property
    def offset(self) -> int:
        """The record's offset; the first of the offsets that can't be decoded."""
        return self.item.first if isinstance(self.item, Undecodable) else self.item.offset


Kinds = dict[tuple[str, int, int], str]
"""(topic, partition, offset) -> the kind of the value; cached, because rows are made again while a search continues."""


def record_rows(
    read: RecordsRead, form: str = AUTO, *, masked: bool = False, known: Kinds | None = None
) -> list[RecordRow]:
    """Return the rows of an answer: records, and ranges of offsets that can't be decoded.

    Args:
        read: the answer.
        form: one of `FORMS`.
        masked: hide keys, values and headers.
        known: the kinds of records for which rows were made before; those of new rows are added to it. None to compute
            all.

    Returns:
        For one partition in order of offset; for several in order of time, after the offsets that can't be decoded.
    """
    known = {} if known is None else known
    rows, kinds = [], []
    for record in read.records:
        place = (record.topic, record.partition, record.offset)
        if (its := known.get(place)) is None or record.value_encoding is not None:
            its = known[place] = part_kind(record.value, record.value_encoding)
        kinds.append(its)
        rows.append(RecordRow(record, form, masked))
    if odd := _odd(kinds):
        rows = [row._replace(odd=True) if its in odd else row for row, its in zip(rows, kinds, strict=True)]
    damaged = [RecordRow(each, form, masked) for each in read.undecodable]
    if len(read.progress.scanned) > 1:
        return [*damaged, *rows]
    return sorted([*damaged, *rows], key=lambda row: row.offset) if damaged else rows


def _odd(kinds: list[str]) -> set[str]:
    """Return the kinds of values to mark, apart from nulls.

    Returns:
        If at least 3/4 of the values (`ODD_AMONG`) have the same kind, all other kinds. Otherwise ``binary``, if at
        most 1/4 of the values are binary. Empty if there is no such kind, or no kind occurs twice.
    """
    values = Counter(each for each in kinds if each != "null")
    (usual, count), *_ = values.most_common(1) or [("", 0)]
    if count < 2:
        return set()
    if count >= ODD_AMONG * values.total():
        return {each for each in values if each != usual}
    return {"binary"} if values["binary"] <= (1 - ODD_AMONG) * values.total() else set()


def masked_text(data: bytes | None) -> str:
    """Return the text in place of hidden contents, which has only their size in bytes; ``null`` for None."""
    return "null" if data is None else f"•••• {plural(len(data), 'byte')}"


def time_text(timestamp: int) -> str:
    """Return a record's time in UTC; ``–`` if it has none, and the number itself if it is beyond the calendar."""
    if timestamp < 0:
        return "–"
    at = time_of(timestamp)
    return str(timestamp) if at is None else at.isoformat(sep=" ", timespec="milliseconds")[:23]


def key_text(row: RecordRow) -> str:
    """Return a record's key in one line, with invisible characters escaped."""
    return "" if isinstance(row.item, Undecodable) else _part_text(row.item.key, row.item.key_encoding, row)


def value_text(row: RecordRow) -> str:
    """Return a record's value in one line, or the reason why it can't be decoded."""
    if isinstance(row.item, Undecodable):
        last = f" to {row.item.last}" if row.item.last > row.item.first else ""
        return f"can't be decoded{last}: {clean(row.item.why, IN_A_CELL)}"
    return _part_text(row.item.value, row.item.value_encoding, row)


def _part_text(data: bytes | None, encoding: Encoding | None, row: RecordRow) -> str:
    if row.masked:
        return _size_text(data, encoding)
    if data is None:
        return "null"
    text = in_a_line(as_sent(data, encoding, row.form), row.form)
    # Put the schema that could not be used before the bytes, because the end of a cell may be cut off.
    if encoding is None or not encoding.why or not encoding.schema:
        return text
    return f"({encoding.schema.rpartition(', ')[2]}) {text}"


def _size_text(data: bytes | None, encoding: Encoding | None) -> str:
    return masked_text(data) if encoding is None else f"•••• {plural(encoding.size, 'byte')}"


def undecoded(row: RecordRow) -> str:
    """Return why the value or key of a record could not be decoded by its schema; ``""`` if both were decoded, or have
    no schema.
    """
    return next((text for _, text in _remarks(row.item) if text), "")


def odd_schema(row: RecordRow) -> str:
    """Return the note about the schema that decoded a value or a key; ``""`` if there is no note."""
    return next((text for text, _ in _remarks(row.item) if text), "")


def _remarks(item: Record | Undecodable) -> Iterator[tuple[str, str]]:
    """Yield, for the value and for the key if it has a schema, the note about the schema, and the reason why the
    schema could not decode it; ``""`` for a text that is missing.
    """
    if isinstance(item, Undecodable):
        return
    for name, encoding in (("value", item.value_encoding), ("key", item.key_encoding)):
        if encoding is not None:
            of = f"{name}, schema {encoding.schema}" if encoding.schema else name
            note, why = (clean(f"{of}: {text}", IN_A_CELL) if text else "" for text in (encoding.note, encoding.why))
            yield note, why


MOST_REASONS = 8
"""Maximum number of lines with reasons and notes about an answer; the others are counted."""


def decoding_notes(read: RecordsRead) -> list[str]:
    """Return the reasons why keys and values could not be decoded, and the notes about schemas, each with its records;
    at most `MOST_REASONS` lines, and then the number of the others.
    """
    remarks = ((record, *remark) for record in read.records for remark in _remarks(record))
    texts = ((text, record) for record, note, why in remarks for text in (why and f"not decoded: {why}", note))
    found = grouped((text, record) for text, record in texts if text)
    made = []
    for text, records in list(found.items())[:MOST_REASONS]:
        first = records[0]
        where = f"partition {first.partition} offset {first.offset}"
        more = f" and {plural(len(records) - 1, 'more record')}" if len(records) > 1 else ""
        made.append(f"{where}{more}: {text}")
    if len(found) > MOST_REASONS:
        more = plural(len(found) - MOST_REASONS, "more reason")
        made.append(f"{more} why records are not decoded: --output json has all")
    return made


def _value_cell(row: RecordRow) -> Cell:
    text = value_text(row)
    if isinstance(row.item, Undecodable):
        return (text, "failed")
    if row.item.value is None:
        return [("null", "muted"), ("  deletes the key where compacted", "muted")]
    return (text, "failed") if row.odd else text


def _kind_text(row: RecordRow) -> str:
    return "–" if isinstance(row.item, Undecodable) else part_kind(row.item.value, row.item.value_encoding)


def _kind_cell(row: RecordRow) -> Cell:
    text = _kind_text(row)
    return (text, "failed") if row.odd else (text, "muted")


def _mark_cell(row: RecordRow) -> Cell:
    return ("!", "failed") if row.is_odd else ""


def _time_of(row: RecordRow) -> str:
    return "" if isinstance(row.item, Undecodable) else time_text(row.item.timestamp)


OF_TOPICS: Columns[RecordRow] = Columns(
    Column("mark", title="", cell=_mark_cell, layout=on_screen(2, gutter=True)),
    Column("topic", text=lambda row: row.item.topic, layout=on_screen((8, 28), priority=85)),
    Column(
        "partition",
        get=lambda row: row.item.partition,
        type="number",
        text=lambda row: str(row.item.partition),
        layout=on_screen(4, "Part", priority=90),
    ),
    Column("offset", type="number", text=lambda row: str(row.offset), layout=on_screen((6, 20), priority=95)),
    Column(
        "time",
        title="Time (UTC)",
        text=_time_of,
        cell=lambda row: _time_of(row)[5:19] if len(_time_of(row)) == 23 else _time_of(row),
        layout=on_screen((14, 20), "Time UTC", priority=80),
    ),
    Column("kind", text=_kind_text, cell=_kind_cell, layout=on_screen(6, priority=60)),
    Column("key", text=key_text, layout=on_screen((8, 24), priority=70)),
    Column("value", text=value_text, cell=_value_cell, layout=on_screen((16, None), flex=1)),
    views=SHOWN,
)
"""The columns of records of several topics. A value is marked if its kind differs from nearly all others, such as text
among JSON.
"""
RECORDS = OF_TOPICS.without(("topic",))
"""The columns of records of one topic."""


def columns_for(read: RecordsRead) -> Columns[RecordRow]:
    """Return the columns for an answer: with the topic if the answer has records of several topics, else without it."""
    return OF_TOPICS if len({each.topic for each in read.progress.scanned}) > 1 else RECORDS


# -- one record --------------------------------------------------------------------------------------------------------


def record_lines(row: RecordRow, width: int) -> list[Line]:
    """Return the details of a record, with its contents in lines of at most `width` cells."""
    if isinstance(row.item, Undecodable):
        return [[(clean(str(row.item), 2_000), "failed")]]
    record, batch = row.item, row.item.batch
    lines: list[Line] = []

    def fact(name: str, text: str) -> None:
        lines.append([(f"{name:<12}", "muted"), (text, "")])

    fact("Topic", f"{clean(record.topic)}  partition {record.partition}  offset {record.offset}")
    whose = "set by the broker (LogAppendTime)" if batch.append_time else "set by the producer (CreateTime)"
    at = "none" if record.timestamp < 0 else f"{time_text(record.timestamp)} UTC, {whose}"
    if time_of(record.timestamp) is None and record.timestamp >= 0:
        at = f"after the year 9999 ({record.timestamp} ms since 1970), {whose}"
    fact("Time", at)
    led = f", leader epoch {batch.leader_epoch}" if batch.leader_epoch >= 0 else ""
    fact("Size", _sizes_text(record))
    fact("Batch", f"from offset {batch.base_offset}, compression {batch.codec}{led}")
    if batch.producer_id >= 0:
        sent = "in a transaction" if batch.transactional else "idempotent"
        who = f"id {batch.producer_id}, epoch {batch.producer_epoch}"
        who += f", sequence {record.sequence}" if record.sequence >= 0 else ""
        fact("Producer", f"{who}, {sent}")
    room = max(width, 20)
    for name, data, encoding in (
        ("Key", record.key, record.key_encoding),
        ("Value", record.value, record.value_encoding),
    ):
        count = encoding.size if encoding is not None else len(data or b"")
        size = "null" if data is None else f"{plural(count, 'byte')}, {part_kind(data, encoding)}"
        lines += [[], [(name, "header"), (f"  {size}", "muted")]]
        if encoding is not None:
            if encoding.schema:
                lines.append([("  schema ", "muted"), (clean(encoding.schema, room), "")])
            lines += [[(f"  {line}", "failed")] for line in _wrapped(encoding.why, room - 2) if line]
            lines += [[(f"  {line}", "pending")] for line in _wrapped(encoding.note, room - 2) if line]
        part = data if data is None else as_sent(data, encoding, row.form)
        shown = [_size_text(data, encoding)] if row.masked else in_lines(part, row.form, room - 2)
        lines += [[(f"  {line}", "")] for line in shown]
        if name == "Key":
            lines += _header_lines(record, row, room)
    return lines


def _sizes_text(record: Record) -> str:
    """Return the sizes in bytes of a record's key, value and headers, as they were sent."""
    key = record.key_encoding.size if record.key_encoding is not None else len(record.key or b"")
    value = record.value_encoding.size if record.value_encoding is not None else len(record.value or b"")
    headers = sum(len(name) + len(content or b"") for name, content in record.headers)
    parts = f"key {key:,}, value {value:,}" + (f", headers {headers:,}" if record.headers else "")
    return f"{plural(key + value + headers, 'byte')}: {parts}"


def _header_lines(record: Record, row: RecordRow, width: int) -> list[Line]:
    if not record.headers:
        return []
    lines: list[Line] = [[], [("Headers", "header"), (f"  {len(record.headers)}", "muted")]]
    for key, value in record.headers[:MOST_LINES]:
        shown = masked_text(value) if row.masked else in_a_line(value, row.form)
        size = "" if row.masked or value is None else f"  {plural(len(value), 'byte')}"
        name = clean(key.decode(errors="backslashreplace"), 200)
        lines.append([(f"  {name}", "strong"), (size, "muted"), (f"  {shown}"[:width], "")])
    return lines


# -- a search and its answer ------------------------------------------------------------------------------------------


def summary(read: RecordsRead, *, filtered: bool) -> str:
    """Return the number of records that were found, and the range of offsets, or the number of partitions, that was
    read.

    Args:
        filtered: whether conditions were set, so that more records were read than found.
    """
    text, scanned = plural(len(read.records), "record"), read.progress.scanned
    if filtered:
        text += f" of {read.progress.looked_at:,} looked at"
    if len(scanned) == 1:
        text += f", {_span(scanned[0])}"
    elif scanned:
        text += f", {plural(len(scanned), 'partition')}"
    return text


def _span(scanned: model.Scanned) -> str:
    if scanned.next <= scanned.first:
        return f"log {scanned.start}–{scanned.end}"
    return f"{scanned.first}–{scanned.next - 1} of {scanned.start}–{scanned.end - 1}"


def progress_text(progress: model.Progress, *, finds: bool = True) -> str:
    """Return the progress of a search: ``1,200,000 of 2,000,000 looked at, 3 found, 3.1M/s, 1 s left``.

    Args:
        finds: whether the search has conditions; False if it returns all records that it reads.
    """
    of = f" of {progress.of:,}" if progress.of > progress.looked_at else ""
    text = f"{progress.looked_at:,}{of} looked at" + (f", {progress.found:,} found" if finds else "")
    if progress.seconds >= _MEASURED and progress.looked_at:
        text += f", {_rate_text(progress.looked_at / progress.seconds)}/s"
    if progress.left is not None and progress.left >= 1:
        text += f", {measured_time(progress.left)} left"
    return text


def _rate_text(rate: float) -> str:
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if rate >= unit:
            return f"{rate / unit:.1f}{name}"
    return f"{rate:.0f}"


_MEASURED = 0.2
"""Minimum seconds of a search before its rate is shown, since a shorter measurement varies too much."""


def stopped_text(progress: model.Progress) -> str:
    """Return why a search ended early, before it found as many records as wanted and before it reached its end;
    ``""`` if it did not end early.
    """
    match progress.stopped:
        case "" | "records":
            return ""
        case "asked":
            return f"stopped after {progress.looked_at:,} of {max(progress.of, progress.looked_at):,} records"
        case why:
            return f"stopped after {plural(progress.looked_at, 'record')}: {why}"


def record_notes(read: RecordsRead) -> list[str]:
    """Return the notes about an answer: why it ended early, and in what it differs from the request."""
    return [text for text in (stopped_text(read.progress), *read.notes) if text]


# -- data for JSON -----------------------------------------------------------------------------------------------------


def record_data(row: RecordRow) -> dict[str, Data]:
    """Return the JSON object of a record, or of a range of offsets that can't be decoded.

    Contents that are not text are in base64, under a key of their own.
    """
    if isinstance(row.item, Undecodable):
        return {
            "topic": row.item.topic,
            "partition": row.item.partition,
            "offset": row.item.first,
            "last_offset": row.item.last,
            "error": f"can't be decoded: {row.item.why}",
        }
    record, batch = row.item, row.item.batch
    data: dict[str, Data] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": known_number(record.timestamp),
        "timestamp_type": "LogAppendTime" if batch.append_time else "CreateTime",
        **_content("key", record.key, row, record.key_encoding),
        **_content("value", record.value, row, record.value_encoding),
        "headers": [
            {"name": key.decode(errors="backslashreplace"), **_content("value", value, row)}
            for key, value in record.headers
        ],
        "leader_epoch": known_number(batch.leader_epoch),
        "compression": batch.codec,
    }
    if batch.producer_id >= 0:
        data["producer"] = {
            "id": batch.producer_id,
            "epoch": known_number(batch.producer_epoch),
            "sequence": known_number(record.sequence),
            "transactional": batch.transactional,
        }
    return data


def _content(name: str, data: bytes | None, row: RecordRow, encoding: Encoding | None = None) -> dict[str, Data]:
    if data is None:
        return {name: None}
    if encoding is not None:
        made = _content(name, as_sent(data, encoding, row.form), _as_json(row, encoding)) if not row.masked else {}
        why = {f"{name}_error": encoding.why} if encoding.why else {}
        size = {f"{name}_bytes": encoding.size} if row.masked else {}
        form = {f"{name}_encoding": encoding.form} if encoding.form else {}
        schema = {f"{name}_schema": encoding.schema} if encoding.schema else {}
        note = {f"{name}_note": encoding.note} if encoding.note else {}
        return {**made, **size, **form, **schema, **why, **note}
    if row.masked:
        return {f"{name}_bytes": len(data)}
    if row.form == HEX:
        return {f"{name}_hex": data.hex()}
    if row.form == JSON:
        try:
            return {f"{name}_json": decoded_json(data)}
        except ValueError:
            pass
    return part_bytes(name, data)


def part_bytes(name: str, data: bytes) -> dict[str, Data]:
    """Return contents as a member of a JSON object: under `name` as text, or in base64 under another key."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(data).decode()}


def _as_json(row: RecordRow, encoding: Encoding) -> RecordRow:
    """Return the row with JSON as its form, if a schema decoded the contents and no form is chosen."""
    return row._replace(form=JSON) if encoding.form and row.form == AUTO else row


def masking_note(*, masked: bool, has_mask: bool) -> Line:
    """Return a note for the status line that contents are hidden; empty if all are shown.

    Args:
        masked: whether keys, values and headers are hidden.
        has_mask: whether the context hides some fields of values.
    """
    if masked:
        return [("  hidden: s shows", "pending")]
    return [("  fields masked", "pending")] if has_mask else []
