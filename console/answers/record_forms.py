"""Records as a stream of bytes: JSON lines, CSV, the bytes of one field, or a line of text. Pure.

Each form makes the bytes of a record on its own, so that a stream needs no more memory than a portion of records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from console.answers.data_forms import csv_text
from console.model.numbers import Data, json_text
from console.model.records import Record, Undecodable
from console.present import records as present
from console.present.text import clean

STREAMS = ("jsonl", "csv", "raw")
"""The forms that are written while records are found."""
VALUE, KEY, HEADER = "value", "key", "header:"
"""The fields of `raw_field`; a header's name follows."""

Make = Callable[[Sequence[Record | Undecodable]], list[bytes]]
"""Returns the bytes of each record; of offsets that can't be decoded also if the form has a place for an error."""

_encode = msgspec.json.Encoder().encode
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


def stream_form(name: str, form: str, *, masked: bool, field: str = VALUE, separator: str = "\n") -> Make:
    """Return the function that makes the bytes of records.

    Args:
        name: one of `STREAMS`, or another text for lines to read.
        form: of the contents, one of `present.FORMS`.
        masked: whether keys, values and headers are hidden.
        field, separator: of `raw`: the field, and the text behind it.
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
    is_usual = not masked and not form
    return [_json_line(each, form, masked, is_usual) for each in items]


def _json_line(item: Record | Undecodable, form: str, masked: bool, is_usual: bool) -> bytes:
    data: dict[str, Data] = present.text_data(item) if is_usual and isinstance(item, Record) else {}
    data = data or present.record_data(present.RecordRow(item, form, masked))
    line = _encode(data)
    # Characters that a terminal may interpret become escapes of JSON; msgspec escapes the others.
    return line + b"\n" if line.isascii() and b"\x7f" not in line else f"{json_text(data)}\n".encode()


CSV_COLUMNS = ("topic", "partition", "offset", "time", "key", "value", "value_form", "headers")


def csv_head() -> bytes:
    """Return the line with the names of the columns."""
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
    """Return a key or a value as text, and its form: ``text``, ``null``, ``json``, ``base64``, ``hex``, ``hidden``."""
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
    """Return the bytes of a field: as they were sent unless a form is chosen; ``b""`` for null or a missing header."""
    if field == KEY:
        return _as_asked(record.key, record.key_encoding, form)
    if field == VALUE:
        return _as_asked(record.value, record.value_encoding, form)
    name = field.removeprefix(HEADER).encode()
    return next((value or b"" for key, value in record.headers if key == name), b"")


def _as_asked(data: bytes | None, encoding: present.Encoding | None, form: str) -> bytes:
    return b"" if data is None else present.as_sent(data, encoding, form or present.HEX)


def separator_text(text: str) -> str:
    """Return the text of a separator, with the escapes ``\\n``, ``\\t``, ``\\r``, ``\\0`` and ``\\\\``."""
    return re.sub(r"\\([ntr0\\])", lambda found: _ESCAPES[found[1]], text)
