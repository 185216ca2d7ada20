"""Converts JSON to the Python values that fastavro encodes by an Avro schema: the reverse of `console.wire.avro`.
Pure.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import partial
from typing import Any
from uuid import UUID

from console.model.schemas import NotDecoded

DEEPEST = 60
"""Maximum nesting depth of a value."""
_INT, _LONG = 2**31, 2**63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"\.(\d{1,9})")
_DURATION = re.compile(r"P(\d+)M(\d+)DT(\d+)\.(\d{3})S")
_EXACT = Context(prec=2_500)
_ODD_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def native(named: Mapping[str, Any], schema: Any, value: Any, where: str = "it", depth: int = 0) -> Any:
    """Convert a JSON value to the Python value that fastavro encodes by a schema.

    Args:
        named: full name -> type, for the schema's named types.
        where: the place of the value in the document, for messages.
        depth: the nesting depth of the value.

    Raises:
        NotDecoded: the value does not fit the schema.
    """
    if depth > DEEPEST:
        raise NotDecoded(f"it is nested deeper than {DEEPEST} levels")
    if isinstance(schema, list):
        return _branch(named, schema, value, where, depth)
    kind = schema["type"] if isinstance(schema, dict) else schema
    logical = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    match kind:
        case "record" | "error":
            return _record(named, schema, value, where, depth)
        case "array" if isinstance(value, list):
            return [native(named, schema["items"], each, f"{where}[{at}]", depth + 1) for at, each in enumerate(value)]
        case "map" if isinstance(value, dict):
            return {
                key: native(named, schema["values"], each, f"{where}.{key}", depth + 1) for key, each in value.items()
            }
        case "enum" if isinstance(value, str) and value in schema["symbols"]:
            return value
        case dict() | list():
            return native(named, kind, value, where, depth + 1)
        case str() if kind in named and kind not in _PRIMITIVE:
            return native(named, named[kind], value, where, depth + 1)
        case str() if kind in _PRIMITIVE:
            with suppress(ValueError, TypeError, ArithmeticError, OverflowError):
                return _PRIMITIVE[kind](value, schema if isinstance(schema, dict) else {}, logical)
    raise NotDecoded(f"{where} is no {logical or (kind if isinstance(kind, str) else 'such value')}")


def _record(named: Mapping[str, Any], schema: Any, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, dict):
        raise NotDecoded(f"{where} is no record")
    fields = {field["name"]: field["type"] for field in schema["fields"]}
    if other := next((name for name in value if name not in fields), None):
        raise NotDecoded(f"{where} has {other[:80]}, and its schema has no such field")
    if missing := next((name for name in fields if name not in value), None):
        raise NotDecoded(f"{where} has no {missing[:80]}")
    return {name: native(named, type_, value[name], f"{where}.{name}", depth + 1) for name, type_ in fields.items()}


def _branch(named: Mapping[str, Any], schemas: list[Any], value: Any, where: str, depth: int) -> Any:
    """Convert a value by the first type of a union that it fits, and name that type for fastavro. Types ``bytes`` and
    ``fixed`` are tried last. Return None for null, if the union allows null. Raises NotDecoded if no type fits.
    """
    if value is None and "null" in schemas:
        return None
    problem: NotDecoded | None = None
    for branch in sorted(schemas, key=lambda each: _kind(named, each) in ("bytes", "fixed")):
        if branch == "null":
            continue
        try:
            found = native(named, branch, value, where, depth + 1)
        except NotDecoded as error:
            problem = problem or error
            continue
        # fastavro's writer identifies a record's branch of a union by its name, and any other branch by its schema.
        is_record = isinstance(branch, dict) and branch["type"] in ("record", "error")
        return (branch["name"] if is_record else branch, found)
    raise problem if problem is not None and len(schemas) <= 2 else NotDecoded(f"{where} fits no branch of its union")


def _kind(named: Mapping[str, Any], schema: Any) -> str:
    found = named.get(schema, schema) if isinstance(schema, str) else schema
    return str(found["type"]) if isinstance(found, dict) else str(found)


# -- primitive types, with their logical types -------------------------------------------------------------------------


def _null(value: Any, _schema: Any, _logical: str) -> None:
    if value is not None:
        raise ValueError


def _boolean(value: Any, _schema: Any, _logical: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(bound: int) -> Callable[[Any, Any, str], int]:
    def number(value: Any, _schema: Any, logical: str) -> int:
        found = _OF_TIME[logical](value) if isinstance(value, str) and logical in _OF_TIME else value
        if type(found) is not int or not -bound <= found < bound:
            raise ValueError
        return found

    return number


def _float(value: Any, _schema: Any, _logical: str) -> float:
    if isinstance(value, str):
        return _ODD_NUMBERS[value] if value in _ODD_NUMBERS else _refused()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _refused() -> float:
    raise ValueError


def _string(value: Any, _schema: Any, _logical: str) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()
    return value


def _bytes(value: Any, schema: Any, logical: str) -> bytes:
    size = schema.get("size")
    if not isinstance(value, str):
        raise TypeError
    if "decimal" in logical:
        made = _decimal(value, schema.get("scale", 0), size)
    elif logical == "uuid" and size == 16:
        made = UUID(value).bytes
    elif logical == "duration" and size == 12:
        found = _DURATION.fullmatch(value)
        months, days, seconds, millis = map(int, found.groups()) if found else (0, 0, 0, 0)
        parts = (months, days, seconds * 1000 + millis)
        made = b"".join(each.to_bytes(4, "little") for each in parts) if found else b64decode(value, validate=True)
    else:
        made = b64decode(value, validate=True)
    if size is not None and len(made) != size:
        raise ValueError
    return made


def _decimal(text: str, scale: int, size: int | None) -> bytes:
    try:
        shifted = Decimal(text).scaleb(scale, _EXACT)
    except InvalidOperation:
        raise ValueError from None
    number = int(shifted)
    if number != shifted:
        raise ValueError
    return number.to_bytes(size or (number.bit_length() // 8 + 1), "big", signed=True)


_PRIMITIVE: Mapping[str, Callable[[Any, Any, str], Any]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _whole(_INT),
    "long": _whole(_LONG),
    "float": _float,
    "double": _float,
    "string": _string,
    "bytes": _bytes,
    "fixed": _bytes,
}


def _since_1970(text: str, parts: int) -> int:
    """Convert an ISO 8601 text to units since 1970, without rounding. parts: units per second."""
    found = _FRACTION.search(text)
    nanos = int(found[1].ljust(9, "0")) if found else 0
    at = datetime.fromisoformat(_FRACTION.sub("", text))
    seconds = (at if at.tzinfo is not None else at.replace(tzinfo=UTC)) - _EPOCH
    return (seconds // timedelta(seconds=1)) * parts + _exact(nanos, parts)


def _of_day(text: str, parts: int) -> int:
    at = time.fromisoformat(text)
    return (at.hour * 3600 + at.minute * 60 + at.second) * parts + _exact(at.microsecond * 1000, parts)


def _exact(nanos: int, parts: int) -> int:
    units, rest = divmod(nanos * parts, 10**9)
    if rest:
        raise ValueError
    return units


def _days(text: str) -> int:
    return (date.fromisoformat(text) - _EPOCH.date()).days


_UNITS = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
_OF_TIME: Mapping[str, Callable[[str], int]] = {
    "date": _days,
    **{f"timestamp-{name}": partial(_since_1970, parts=parts) for name, parts in _UNITS.items()},
    **{f"local-timestamp-{name}": partial(_since_1970, parts=parts) for name, parts in _UNITS.items()},
    **{f"time-{name}": partial(_of_day, parts=parts) for name, parts in _UNITS.items()},
}
