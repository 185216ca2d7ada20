"""Records as a stream of bytes: JSON lines, CSV, the bytes of one field, or a line of text. Pure.

Each record is converted by itself, so that a stream needs no more memory than a portion of records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from console.answers.data_forms import csv_text
from console.model.numbers import Data, json_text, known_number
from console.model.records import Encoding, Record, Undecodable
from console.present import records as present
from console.present.text import clean

STREAMS = ("jsonl", "csv", "raw")
"""The output forms that are written while records are found; others are written at the end."""
VALUE, KEY, HEADER = "value", "key", "header:"
"""The names of fields for `raw_field`; the name of a header follows `HEADER`."""

Make = Callable[[Sequence[Record | Undecodable]], list[bytes]]
"""A function from records to their bytes. If the form can express an error, the ranges of offsets that can't be decoded
have bytes too.
"""

_encode = msgspec.json.Encoder().encode
_NOT_PLAIN = re.compile(rb"[^\n\x20-\x7e]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


def stream_form(name: str, form: str, *, masked: bool, field: str = VALUE, separator: str = "\n") -> Make:
    """Return the function that converts records to bytes.

    Args:
        name: one of `STREAMS`; any other text for readable lines.
        form: the form of the contents, one of `present.FORMS`.
        masked: whether keys, values and headers are hidden.
        field, separator: for `raw`: the field, and the text after each value of it.
    """
    match name:
        case "jsonl":
            return partial(_json_lines, form, masked)
        case "csv":
            return partial(_csv_lines, form, masked)
        case "raw":
            end = separator.encode()
            return lambda items: [
                raw_field(each, field, form) + end if isinstance(each, Record) else b"" for each in items
            ]
        case _:
            return partial(_text_lines, form, masked)


def _json_lines(form: str, masked: bool, items: Sequence[Record | Undecodable]) -> list[bytes]:
    if form != present.AUTO or masked:
        return [_json_line(present.record_data(present.RecordRow(each, form, masked))) for each in items]
    made: list[bytes] = []
    batch, quick = None, None
    for each in items:
        line = None
        if isinstance(each, Record):
            if quick is None or each.batch is not batch:
                batch, quick = each.batch, _QuickLines(each)
            line = quick.line(each)
        made.append(line or _json_line(present.record_data(present.RecordRow(each, form, masked))))
    return made


class _QuickLines:
    """Makes JSON lines for records of one batch whose keys and values are plain texts. The lines equal those of
    `present.record_data`, but are made ten times as fast, because most fields are the same for all records of a
    batch.
    """

    def __init__(self, record: Record) -> None:
        """Prepare the fields that all records of a batch share. record: one record of the batch."""
        batch = record.batch
        type_ = b"LogAppendTime" if batch.append_time else b"CreateTime"
        self._where = b'{"topic":%b,"partition":%d,"offset":' % (_encode(record.topic), record.partition)
        self._type = b',"timestamp_type":"%b","key":' % type_
        self._end = b',"headers":[],"leader_epoch":%b,"compression":%b' % (
            _encode(known_number(batch.leader_epoch)),
            _encode(batch.codec),
        )
        self._has_producer = batch.producer_id >= 0
        if self._has_producer:
            epoch = _encode(known_number(batch.producer_epoch))
            self._end += b',"producer":{"id":%d,"epoch":%b,"sequence":' % (batch.producer_id, epoch)
            self._last = b',"transactional":%b}}\n' % _encode(batch.transactional)

    def line(self, record: Record) -> bytes | None:
        """Return the line of a record; None if this class can't make it, because the record has headers, or its key or
        value was decoded or is not an ASCII text.
        """
        key, value = record.key, record.value
        if record.headers or record.key_encoding is not None or record.value_encoding is not None:
            return None
        try:
            line = b'%b%d,"timestamp":%b%b%b,"value":%b%b' % (
                self._where,
                record.offset,
                b"%d" % record.timestamp if record.timestamp >= 0 else b"null",
                self._type,
                b"null" if key is None else _encode(key.decode()),
                b"null" if value is None else _encode(value.decode()),
                self._end,
            )
        except UnicodeDecodeError:
            return None
        if not line.isascii() or b"\x7f" in line:
            return None
        if not self._has_producer:
            return line + b"}\n"
        return line + (b"%d" % record.sequence if record.sequence >= 0 else b"null") + self._last


def _json_line(data: dict[str, Data]) -> bytes:
    line = _encode(data) + b"\n"
    # Write the line again with JSON escapes if it contains characters that a terminal may interpret.
    return line if _NOT_PLAIN.search(line) is None else f"{json_text(data)}\n".encode()


CSV_COLUMNS = ("topic", "partition", "offset", "time", "key", "value", "value_form", "headers")


def csv_head() -> bytes:
    """Return the first line of CSV, with the names of the columns."""
    return csv_text([CSV_COLUMNS]).encode()


def _csv_lines(form: str, masked: bool, items: Sequence[Record | Undecodable]) -> list[bytes]:
    return [csv_text([_cells(present.RecordRow(each, form, masked))]).encode() for each in items]


def _cells(row: present.RecordRow) -> list[str]:
    where = [row.item.topic, str(row.item.partition), str(row.offset)]
    if isinstance(row.item, Undecodable):
        return [*where, "", "", present.value_text(row), "error", ""]
    data = present.record_data(row)
    key, value = _flat(data, "key"), _flat(data, "value")
    headers = json_text(data["headers"]) if row.item.headers else ""
    return [*where, present.time_text(row.item.timestamp), key[0], *value, headers]


def _flat(data: dict[str, Data], name: str) -> tuple[str, str]:
    """Return a key or a value as text, and the form of the text: ``text``, ``null``, ``json``, ``base64``, ``hex`` or
    ``hidden``. name: ``key`` or ``value``.
    """
    if name in data:
        found = data[name]
        return ("", "null") if found is None else (str(found), "text")
    for form in ("json", "base64", "hex"):
        if f"{name}_{form}" in data:
            found = data[f"{name}_{form}"]
            return found if isinstance(found, str) and form != "json" else json_text(found), form
    return "", "hidden"


def _text_lines(form: str, masked: bool, items: Sequence[Record | Undecodable]) -> list[bytes]:
    return [_text_line(present.RecordRow(each, form, masked)) for each in items]


def _text_line(row: present.RecordRow) -> bytes:
    at = "" if isinstance(row.item, Undecodable) else f"  {present.time_text(row.item.timestamp)}"
    where = f"{clean(row.item.topic)}-{row.item.partition} {row.offset}{at}"
    return f"{where}  {present.key_text(row)}  {present.value_text(row)}\n".encode()


def raw_field(record: Record, field: str, form: str) -> bytes:
    """Return the bytes of a field: as they were sent, or in the chosen form; ``b""`` for null or a missing header."""
    if field == KEY:
        return _as_asked(record.key, record.key_encoding, form)
    if field == VALUE:
        return _as_asked(record.value, record.value_encoding, form)
    name = field.removeprefix(HEADER).encode()
    return next((value or b"" for key, value in record.headers if key == name), b"")


def _as_asked(data: bytes | None, encoding: Encoding | None, form: str) -> bytes:
    return b"" if data is None else present.as_sent(data, encoding, form or present.HEX)


def separator_text(text: str) -> str:
    r"""Return the text that a separator denotes, with the escapes ``\n``, ``\t``, ``\r``, ``\0`` and ``\\``
    resolved.
    """
    return re.sub(r"\\([ntr0\\])", lambda found: _ESCAPES[found[1]], text)
