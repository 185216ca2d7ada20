"""Avro: converts payloads to JSON by the writer's schema. Pure.

fastavro trusts the lengths in a payload. A block of 2**60 nulls takes no bytes; a list that contains itself takes one
level of C's stack for each byte; and the time to print a decimal grows with the square of its size: a minute for 1 MiB,
during which no other Python code runs. So kac checks each payload first against limits on values, nesting depth and
decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from decimal import Context, Decimal
from functools import cache, partial
from io import BytesIO
from typing import Any
from uuid import UUID

import msgspec

from console.extras import how_to_add
from console.model.foreign_json import json_as
from console.model.schemas import Allowance, NotDecoded, SchemaText

MOST_VALUES = 250_000
"""Maximum number of values in a payload, nulls included."""
DEEPEST = 60
"""Maximum nesting depth of a payload. The JSON of a schema may be nested four times as deep, because one level of
types takes several levels of JSON.
"""
LARGEST_DECIMAL = 1_024
"""Maximum size in bytes of a decimal that is converted to digits; a larger one stays bytes."""
_DIGITS = Context(prec=2_500)
"""A decimal context whose precision holds all digits of a number of `LARGEST_DECIMAL` bytes."""
LARGEST_SCHEMA = 20_000
"""Maximum number of values in the JSON of a schema and its references."""

_WHOLE = "kac_whole"
_DECIMAL, _SYMBOLS = "kac_decimal", "kac_symbols"
"""Names that replace the logical type of a decimal and the symbols of an enum, as fastavro checks these and Java does
not."""


def missing() -> str:
    """Return a message that names the package to install for Avro."""
    return f"Avro needs a package: {how_to_add('schemas')}"


def avro_decoder(schema: SchemaText) -> Callable[..., bytes]:
    """Return a function that decodes payloads of a schema to JSON.

    Defaults do not affect decoding, so a schema is accepted even if a default does not fit its type.

    Returns:
        A function of three arguments: the payload, Protobuf's message indexes (ignored here), and an allowance, which
        limits the total number of values. It returns UTF-8 JSON: bytes in base64; decimals, NaN and infinities as
        strings. It raises NotDecoded for a payload that does not match the schema or exceeds a limit.

    Raises:
        NotDecoded: the text is not an Avro schema, it is too large or too deep, or the extra for Avro is not installed.
    """
    return partial(_decoded, *_parsed(schema))


def _parsed(schema: SchemaText) -> tuple[Any, dict[str, Any]]:
    """Return a schema as parsed by fastavro, wrapped as the only field of a record, and its named types (full name ->
    type). Raises NotDecoded.
    """
    try:
        import fastavro.read
        import fastavro.schema
    except ImportError:
        raise NotDecoded(missing()) from None
    fastavro.read.LOGICAL_READERS.update(_logical_readers())
    documents = _documents(schema)
    # fastavro would parse a union or a lone name again for each payload. Wrap it as the only field of a record, which
    # has the same encoding.
    documents[-1] = {"type": "record", "name": _WHOLE, "fields": [{"name": _WHOLE, "type": documents[-1]}]}
    named: dict[str, Any] = {}
    try:
        for each in documents:
            _name_without_space(named, each)
            parsed = fastavro.schema.parse_schema(_readable(each), named_schemas=named)
    except Exception as error:  # noqa: BLE001 the error's class depends on the mistake in the schema
        raise NotDecoded(f"it is no schema of Avro: {type(error).__name__} {error}") from None
    for each in named.values():
        if _SYMBOLS in each:
            each["symbols"] = each[_SYMBOLS]
    return parsed, named


def _documents(schema: SchemaText) -> list[Any]:
    """Return the JSON of a schema's references and of the schema, in this order. Raises NotDecoded if one is not JSON,
    or if they are too large or too deep.
    """
    found = [_document(each.text) for each in (*schema.references, schema)]
    if sum(map(_size, found)) > LARGEST_SCHEMA:
        raise NotDecoded(f"its schema has more than {LARGEST_SCHEMA:,} types and fields")
    return found


def avro_encoder(schema: SchemaText) -> Callable[..., bytes]:
    """Return a function that encodes JSON as payloads of a schema: the reverse of `avro_decoder`, with the same
    JSON. A record must have all its fields, since no defaults are filled in. The function raises NotDecoded for
    JSON that does not fit the schema. `avro_encoder` itself raises NotDecoded for an invalid schema.
    """
    return partial(_encoded, *_parsed(schema))


def _encoded(
    parsed: Any,
    named: Mapping[str, Any],
    document: bytes,
    _indexes: bytes | None = None,
    allowance: Allowance | None = None,
) -> bytes:
    import fastavro

    from console.wire.avro_values import native

    try:
        value = json_as(document, object)
    except ValueError:
        raise NotDecoded("it is not JSON") from None
    made = native(named, parsed["fields"][0]["type"], value)
    output = BytesIO()
    try:
        fastavro.schemaless_writer(output, parsed, {_WHOLE: made})
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 the error's class depends on the mistake in the value
        raise NotDecoded(f"{type(error).__name__} {error}") from None
    payload = output.getvalue()
    _decoded(parsed, named, payload, None, allowance)  # refuse a payload that kac itself can't read
    return payload


def _decoded(
    parsed: Any,
    named: Mapping[str, Any],
    payload: bytes,
    _indexes: bytes | None = None,
    allowance: Allowance | None = None,
) -> bytes:
    import fastavro

    _Walk(payload, named, allowance or Allowance()).through(parsed["fields"][0]["type"])
    try:
        document: Any = fastavro.schemaless_reader(BytesIO(payload), parsed, None)
        return msgspec.json.encode(_plain(document[_WHOLE]))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 the error's class depends on the mistake in the payload
        raise NotDecoded(f"{type(error).__name__} {error}") from None


@cache
def _logical_readers() -> dict[str, Callable[..., Any]]:
    """Return Avro's logical type -> the function that converts its decoded value: fastavro's, replaced or completed by
    `_OWN_LOGICAL`.
    """
    import fastavro.read

    return {name: _or_itself(read) for name, read in {**fastavro.read.LOGICAL_READERS, **_OWN_LOGICAL}.items()}


def _or_itself(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of the reader that returns the value unchanged if Python's type can't represent it, such as a
    date in the year 10,000.
    """

    def reading(value: Any, schema: Any, *_: Any) -> Any:
        try:
            return read(value, schema)
        except (ValueError, ArithmeticError):
            return value

    return reading


def _decimal(data: bytes, schema: Any) -> Decimal | bytes:
    """Return an Avro decimal with all the digits in the payload, even if they exceed its schema's precision. Return
    `data` itself if it is larger than `LARGEST_DECIMAL` bytes.
    """
    if len(data) > LARGEST_DECIMAL:
        return data
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-schema.get("scale", 0), _DIGITS)


def _time(value: int, _: Any, *, parts: int) -> time:
    """Return a time of the day from `value` units since midnight. parts: units per second, 1,000 or 1,000,000."""
    seconds, rest = divmod(value, parts)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * (10**6 // parts))


def _nanos(value: int, _: Any, zone: str = "Z") -> str:
    """Return nanoseconds since 1970 as an ISO 8601 text with all digits. zone: the suffix of the text; ``""`` for a
    local time.
    """
    seconds, nanos = divmod(value, 10**9)
    text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return f"{text}.{nanos:09d}{zone}" if nanos else f"{text}{zone}"


def _uuid(data: bytes, _: Any) -> UUID | bytes:
    return UUID(bytes=data) if len(data) == 16 else data


def _duration(data: bytes, _: Any) -> str | bytes:
    """Return an Avro duration (months, days and milliseconds) as an ISO 8601 text; `data` itself unless it has 12
    bytes.
    """
    if len(data) != 12:
        return data
    months, days, millis = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    return f"P{months}M{days}DT{millis // 1000}.{millis % 1000:03d}S"


_OWN_LOGICAL: dict[str, Callable[..., Any]] = {
    "long-timestamp-nanos": _nanos,
    "long-local-timestamp-nanos": partial(_nanos, zone=""),
    "fixed-uuid": _uuid,
    "fixed-duration": _duration,
    f"bytes-{_DECIMAL}": _decimal,
    f"fixed-{_DECIMAL}": _decimal,
    "int-time-millis": partial(_time, parts=10**3),
    "long-time-micros": partial(_time, parts=10**6),
}
"""Readers of logical types that fastavro leaves as numbers or bytes, or converts to another value."""


def names_of(schema: SchemaText) -> tuple[str, dict[str, frozenset[str]]]:
    """Return a schema's full name (``""`` if it has no name) and field name -> its aliases, from the schema and the
    schemas that it references. Raises NotDecoded if one of these is not JSON, or if they are too large or too deep.
    """
    found: dict[str, frozenset[str]] = {}
    documents = _documents(schema)
    for each in documents:
        for field in _fields(each):
            name, aliases = field.get("name"), field.get("aliases")
            if isinstance(name, str) and isinstance(aliases, list):
                found[name] = found.get(name, frozenset()) | {alias for alias in aliases if isinstance(alias, str)}
    whole = documents[-1] if isinstance(documents[-1], dict) else {}
    name, space = str(whole.get("name", "")), whole.get("namespace")
    return (f"{space}.{name}" if space and "." not in name else name), found


def _fields(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the field definitions of all records in a schema, at any depth."""
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    if isinstance(document, dict) and isinstance(document.get("fields"), list):
        yield from (each for each in document["fields"] if isinstance(each, dict))
    for each in inner:
        yield from _fields(each)


def _document(text: str) -> Any:
    try:
        return json_as(text, object)
    except ValueError as error:
        raise NotDecoded(f"it is no schema of Avro: {error}") from None


def _size(document: Any, depth: int = 0) -> int:
    """Return the number of JSON values in a schema, counting the schema itself. Raises NotDecoded if it is nested too
    deep.
    """
    if depth > 4 * DEEPEST:
        raise NotDecoded(f"its schema is nested deeper than {DEEPEST} levels")
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return 1 + sum(_size(each, depth + 1) for each in inner)


def _readable(document: Any) -> Any:
    """Return a schema in the form that makes fastavro decode as Java does: without defaults; with `_DECIMAL` in
    place of a valid logical type ``decimal``, and without an invalid one; with generated symbols in enumerations,
    because Java does not check symbols (`_parsed` restores the symbols).
    """
    if isinstance(document, list):
        return [_readable(each) for each in document]
    if not isinstance(document, dict):
        return document
    if "name" not in document and isinstance(document.get("type"), dict | list):
        return _readable(document["type"])
    made = {name: _readable(each) for name, each in document.items() if name != "default"}
    match document:
        case {"logicalType": "decimal"}:
            made["logicalType"] = _DECIMAL if _is_decimal(document) else ""
        case {"type": "enum", "symbols": [*symbols]}:
            made |= {_SYMBOLS: symbols, "symbols": [f"s{place}" for place in range(len(symbols))]}
    return made


def _is_decimal(schema: dict[str, Any]) -> bool:
    """Return whether a schema's logical type ``decimal`` has a valid precision and scale. Otherwise writers ignore
    the logical type, and the value is plain bytes.
    """
    precision, scale, size = schema.get("precision"), schema.get("scale", 0), schema.get("size", 0)
    if type(precision) is not int or type(scale) is not int or type(size) is not int:
        return False
    most = math.floor(math.log10(2) * (8 * size - 1)) if schema.get("type") == "fixed" else precision
    return 0 < precision <= most and 0 <= scale <= precision


def _name_without_space(named: dict[str, Any], document: Any) -> None:
    """Add aliases to `named`: the name of each type without a namespace that this document uses, within each
    namespace of the document. The aliases are needed because Java looks for a name in the enclosing namespace
    first and then without a namespace, and fastavro does not.
    """
    spaces, used = set(), set()
    left = [document]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            space, before = each.get("namespace"), str(each.get("name", "")).rpartition(".")[0]
            spaces |= {space for space in (space, before) if space and isinstance(space, str)}
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
        elif isinstance(each, str) and each in named and "." not in each:
            used.add(each)
    if len(spaces) * len(used) <= LARGEST_SCHEMA:
        for space in spaces:
            for name in used:
                named.setdefault(f"{space}.{name}", named[name])


def _plain(value: Any) -> Any:
    """Convert a decoded value, with all values in it, to types that JSON supports."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


class _Walk:
    """A check of one payload against its schema that reads lengths and skips values without creating them."""

    def __init__(self, payload: bytes, named: Mapping[str, Any], allowance: Allowance) -> None:
        self._payload = payload
        self._named = named
        self._at = 0
        self._allowance = allowance
        self._left = MOST_VALUES

    def through(self, schema: Any) -> None:
        """Check a payload from its first byte to its last.

        Raises:
            NotDecoded: the payload is cut short, has bytes beyond its schema, or exceeds a bound; or the schema is
                invalid.
        """
        try:
            self._value(schema, 0)
        except (TypeError, KeyError, AttributeError):
            raise NotDecoded("it is no schema of Avro: something in it is not what it should be") from None
        if rest := len(self._payload) - self._at:
            raise NotDecoded(f"{rest} bytes are left behind what its schema describes: it was written with another")

    def _value(self, schema: Any, depth: int) -> None:
        self._left -= 1
        self._allowance.values -= 1
        if self._left < 0:
            raise NotDecoded(f"it claims more than {MOST_VALUES:,} values")
        if self._allowance.values < 0:
            raise self._allowance.refusal()
        if depth > DEEPEST:
            raise NotDecoded(f"it is nested deeper than {DEEPEST} levels")
        if isinstance(schema, list):
            self._value(self._choice(schema, "branch of a union"), depth + 1)
            return
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                return
            case "boolean":
                self._skip(1)
            case "int" | "long":
                self._number()
            case "float":
                self._skip(4)
            case "double":
                self._skip(8)
            case "bytes" | "string":
                self._skip(self._number())
            case "fixed":
                self._skip(schema["size"])
            case "enum":
                self._choice(schema["symbols"], "symbol of an enum")
            case "array":
                self._blocks((schema["items"],), depth)
            case "map":
                self._blocks(("string", schema["values"]), depth)
            case "record" | "error":
                for field in schema["fields"]:
                    self._value(field["type"], depth + 1)
            case str():
                self._value(self._definition(kind), depth)
            case _:
                self._value(kind, depth + 1)

    def _definition(self, name: str) -> Any:
        found = self._named.get(name)
        if found is None or found == name:
            raise NotDecoded(f"its schema has no type {name[:100]}")
        return found

    def _blocks(self, parts: Iterable[Any], depth: int) -> None:
        while count := self._number():
            if count < 0:
                self._number()  # the block's size in bytes
            for _ in range(abs(count)):
                for part in parts:
                    self._value(part, depth + 1)

    def _choice(self, of: list[Any], what: str) -> Any:
        place = self._number()
        if not 0 <= place < len(of):
            raise NotDecoded(f"it names {what} {place}, of {len(of)}")
        return of[place]

    def _number(self) -> int:
        number = shift = 0
        while True:
            if self._at >= len(self._payload):
                raise NotDecoded("it is cut short")
            byte = self._payload[self._at]
            self._at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
            shift += 7
            if shift > 63:
                raise NotDecoded("a number in it has more than 64 bits")

    def _skip(self, size: int) -> None:
        if not 0 <= size <= len(self._payload) - self._at:
            raise NotDecoded("it is cut short")
        self._at += size
