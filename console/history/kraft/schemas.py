"""The metadata records' schemas, as Kafka ships them, and decoders from bytes to JSON text: Python source that is
generated from the schema of each record version.

A decoder that walks a schema for each record takes several times as long. Text, uuids, arrays and, where records of a
type differ in their first fields alone, all the rest are looked up by their bytes (`Memo`). Secrets are replaced here.
"""

from __future__ import annotations

import json
import pkgutil
import struct
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from json.encoder import encode_basestring
from math import isfinite, isnan
from types import CodeType
from typing import Any, Generic, TypeVar

from console.history.entities import CONFIG_TYPES
from console.history.redact import HIDDEN, is_secret


@dataclass(frozen=True)
class Field:
    """A field in one version of its record. name: as in Kafka's JSON. type: Kafka's name of it, of an array its
    elements' (`is_array`). tag: None for a field without one. fields: of a struct."""

    name: str
    type: str
    is_array: bool
    nullable: bool
    tag: int | None
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class RecordSchema:
    """One version of a record's schema."""

    name: str
    api_key: int
    version: int
    fields: tuple[Field, ...]


@cache
def known_schemas() -> Mapping[tuple[int, int], RecordSchema]:
    """Every version of every record type, by its number and version. Kafka 4.3 has all that 3.9 has, too."""
    # pkgutil, since executors import this from a zip. `tests/support/record_metadata_schemas.py` writes the data.
    return schemas_of(json.loads(pkgutil.get_data(__package__, "kafka_4_3.json") or ""))


def schemas_of(records: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], RecordSchema]:
    """The same of these record types. records: each as Kafka's JSON has it."""
    return {
        (record["apiKey"], version): RecordSchema(
            record["name"], record["apiKey"], version, _fields(record["fields"], version)
        )
        for record in records
        for version in _versions(record["validVersions"])
    }


def _fields(raw: Iterable[Mapping[str, Any]], version: int) -> tuple[Field, ...]:
    return tuple(
        Field(
            name=each["name"],
            type=each["type"].removeprefix("[]"),
            is_array=each["type"].startswith("[]"),
            nullable=version in _versions(each.get("nullableVersions")),
            tag=each["tag"] if version in _versions(each.get("taggedVersions")) else None,
            fields=_fields(each.get("fields", ()), version),
        )
        for each in raw
        if version in _versions(each["versions"])
    )


def _versions(text: str | None) -> range:
    """The versions that ``2+``, ``1-3`` or ``4`` includes; None includes none."""
    if text is None:
        return range(0)
    first, _, last = text.rstrip("+").partition("-")
    return range(int(first), 1 << 15 if text.endswith("+") else int(last or first) + 1)


# -- values as JSON text, as Kafka's own JSON converters write them --------------------------------------------------

BOOLEANS = ("false", "true")
NUMBERS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
"""Kafka's whole numbers, by their letters in `struct`."""


class MalformedRecordError(ValueError):
    """The bytes do not fit the record's schema."""


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of up to 64 bits, and where it ends. Raises MalformedRecordError, IndexError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedRecordError("a varint of more than ten bytes")


def skip_tags(data: bytes, at: int) -> int:
    """Where the tagged fields that begin here end."""
    count, at = uvarint(data, at)
    for _ in range(count):
        _, at = uvarint(data, at)
        size, at = uvarint(data, at)
        at += size
    return at


def quoted(raw: bytes) -> str:
    """UTF-8 as a JSON string; invalid bytes become U+FFFD, as in Java."""
    return encode_basestring(raw.decode("utf-8", "replace"))


def uuid(raw: bytes) -> str:
    """16 bytes as Kafka writes uuids: base64 for URLs without its padding."""
    return f'"{urlsafe_b64encode(raw).decode()[:-2]}"'


def real(number: float) -> str:
    """A float64; infinities and NaN become strings, as Jackson writes them."""
    if isfinite(number):
        return repr(number)
    return '"NaN"' if isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def whole_numbers(letter: str) -> Callable[[bytes], str]:
    """Returns a function that makes JSON of the bytes of an array of whole numbers."""
    width = struct.calcsize(f">{letter}")

    def made(raw: bytes) -> str:
        return f"[{','.join(map(str, struct.unpack(f'>{len(raw) // width}{letter}', raw)))}]"

    return made


def uuids(raw: bytes) -> str:
    """The bytes of an array of uuids as JSON."""
    return f"[{','.join(uuid(raw[at : at + 16]) for at in range(0, len(raw), 16))}]"


# -- decoders --------------------------------------------------------------------------------------------------------

LIMIT = 1 << 15
_K = TypeVar("_K")
_V = TypeVar("_V")


class Memo(dict[_K, _V], Generic[_K, _V]):
    """A dict that makes missing values, and forgets all of them beyond LIMIT entries, so that memory stays flat."""

    def __init__(self, make: Callable[[_K], _V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _K) -> _V:
        made = self._make(key)
        if len(self) >= LIMIT:
            self.clear()
        self[key] = made
        return made


HIDDEN_FIELDS: dict[str, dict[str, str]] = {
    "ConfigRecord": {"value": "is_secret[{resourceType}, {name}]"},
    "UserScramCredentialRecord": {"salt": "True", "storedKey": "True", "serverKey": "True"},
}
"""By record and field, the condition under which the field is hidden; {…} is a field before it. Of delegation tokens
the log has only ids, which authenticate no one without the brokers' own secret."""

Decode = Callable[[bytes, int, int], str]
"""Gets bytes and where in them a record's fields begin and end; returns them as a JSON object. Raises
MalformedRecordError, IndexError, struct.error."""

_FIXED = NUMBERS | {"bool": "?", "float64": "d", "uuid": "16s"}
_SHOWN = {"bool": "BOOLEANS[{}]", "uuid": "uuid[{}]", "float64": "real({})"}
"""The JSON of values of a fixed size that are not written as they are."""
_SIZED = {
    "string": ("{}.decode('utf-8', 'replace')", "text[{}]"),
    "bytes": ("b64encode({}).decode()", "'\"' + b64encode({}).decode() + '\"'"),
}
"""The text and the JSON of bytes that follow their size."""
_VARYING = {"PartitionRecord": 2, "PartitionChangeRecord": 2, "ClientQuotaRecord": 1}
"""The number of first fields that differ from record to record, where the rest recurs."""


def decoders(hidden: list[str]) -> Iterator[tuple[RecordSchema, Decode]]:
    """A decoder for each version of a record; they share their memos. hidden: gets the secrets of a record, of which
    its JSON has `HIDDEN`; bytes (SCRAM: salt, storedKey and serverKey) in base64."""

    def hide(value: str) -> str:
        hidden.append(value)
        return f'"{HIDDEN}"'

    shared: dict[str, Any] = {
        "BOOLEANS": BOOLEANS,
        "Memo": Memo,
        "Malformed": MalformedRecordError,
        "b64encode": b64encode,
        "hide": hide,
        "is_secret": Memo(_is_secret_config),
        "real": real,
        "skip_tags": skip_tags,
        "text": Memo(quoted),
        "uuid": Memo(uuid),
        "uuids": Memo(uuids),
        "uvarint": uvarint,
        **{f"{name}s": Memo(whole_numbers(letter)) for name, letter in NUMBERS.items()},
    }
    for schema in known_schemas().values():
        code, structs = _compiled(schema)
        names = shared | structs
        exec(code, names)  # noqa: S102
        yield schema, names["decode"]


def _is_secret_config(config: tuple[int, bytes]) -> bool:
    """Whether a config is secret. config: its resource's type by number, its name. Unknown names are secret."""
    type_, name = config
    return is_secret(CONFIG_TYPES.get(type_, ""), name.decode("utf-8", "replace"))


@cache
def _compiled(schema: RecordSchema) -> tuple[CodeType, dict[str, Any]]:
    """A module with the function `decode`, and the structs that it uses by their names in it."""
    placed = [field for field in schema.fields if field.tag is None]
    varying = _VARYING.get(schema.name, 0)
    writer = _Writer(HIDDEN_FIELDS.get(schema.name, {}))
    head = _joined(writer.fields(placed[:varying]))
    lines, writer.lines = writer.lines, []
    body = _joined(writer.fields(placed[varying:]))
    tags = writer.tags([field for field in schema.fields if field.tag is not None])
    writer.line("if p != e: raise Malformed(f'its fields end at byte {p}, the record at byte {e}')")
    if varying:
        lines = [
            "def decode_rest(d, p, e):",
            *writer.lines,
            f"    return f'{body and ','}{body}{{{tags}}}}}}}'",
            "rests = Memo(lambda rest: decode_rest(rest, 0, len(rest)))",
            "def decode(d, p, e):",
            *lines,
            f"    return f'{{{{{head}' + rests[d[p:e]]",
        ]
    else:
        shown = f"{body}{{{tags}}}" if body else f"{{{tags}[1:]}}"
        lines = ["def decode(d, p, e):", *writer.lines, f"    return f'{{{{{shown}}}}}'"]
    return compile("\n".join(lines), f"<{schema.name} v{schema.version}>", "exec"), writer.structs


def _joined(pieces: Sequence[tuple[str, str]]) -> str:
    return ",".join(f'"{name}":{{{value}}}' for name, value in pieces)


class _Writer:
    """Writes statements that read fields of the bytes `d` at `p`, up to `e`, into variables."""

    def __init__(self, hidden: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.structs: dict[str, Any] = {}
        self._hidden = hidden
        self._depth = 1
        self._variables = 0

    def line(self, *statements: str) -> None:
        """Adds statements."""
        self.lines += ["    " * self._depth + each for each in statements]

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        """What is added within it is the statement's block."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fields(self, fields: Sequence[Field]) -> list[tuple[str, str]]:
        """Reads fields; returns the name of each and the expression of its JSON."""
        pieces: list[tuple[str, str]] = []
        known: dict[str, str] = {}
        for is_fixed, group in groupby(fields, lambda field: field.type in _FIXED and not field.is_array):
            if is_fixed:
                pieces += self._fixed(list(group), known)
            else:
                pieces += [(field.name, self._value(field, known)) for field in group]
        return pieces

    def tags(self, fields: Sequence[Field]) -> str:
        """Reads the section of tagged fields; returns the variable with their JSON, each after a comma."""
        made, count, tag, size, end = (self._variable() for _ in range(5))
        self.line(f"{made} = ''", "if not d[p]: p += 1")
        if not fields:
            self.line("else: p = skip_tags(d, p)")
            return made
        with self._block("else:"):
            self.line(f"{count}, p = uvarint(d, p)")
            with self._block(f"while {count}:"):
                self.line("if p >= e: raise Malformed('its tagged fields run over its end')", f"{count} -= 1")
                self.line(f"{tag}, p = uvarint(d, p)", f"{size}, p = uvarint(d, p)", f"{end} = p + {size}")
                for at, field in enumerate(fields):
                    with self._block(f"{'elif' if at else 'if'} {tag} == {field.tag}:"):
                        self.line(f"{made} += f',{_joined(self.fields([field]))}'")
                self.line(f"else: p = {end}")
                self.line(f"if p != {end}: raise Malformed(f'its tag {{{tag}}} has the wrong size')")
        return made

    def _fixed(self, fields: Sequence[Field], known: dict[str, str]) -> list[tuple[str, str]]:
        """Reads consecutive fields of a fixed size with one call."""
        letters = "".join(_FIXED[field.type] for field in fields)
        reader, name = struct.Struct(f">{letters}"), f"unpack_{letters.replace('?', 't')}"
        self.structs[name] = reader.unpack_from
        variables = [self._variable() for _ in fields]
        known.update(zip((field.name for field in fields), variables, strict=True))
        self.line(f"{', '.join(variables)}, = {name}(d, p)", f"p += {reader.size}")
        shown = [_SHOWN.get(field.type, "{}").format(each) for field, each in zip(fields, variables, strict=True)]
        return list(zip((field.name for field in fields), shown, strict=True))

    def _value(self, field: Field, known: dict[str, str]) -> str:
        """Reads one field that begins with its size; returns the expression of its JSON."""
        made, size, raw = (self._variable() for _ in range(3))
        null = f"{made} = 'null'" if field.nullable else f"raise Malformed('{field.name} must not be null')"
        self.line(f"{size} = d[p]", f"if {size} < 128: p += 1", f"else: {size}, p = uvarint(d, p)")
        self.line(f"if not {size}: {null}")
        with self._block("else:"):
            if field.is_array and (field.fields or field.type not in _FIXED):
                self._array(field, made, size)
                return made
            width = struct.calcsize(f">{_FIXED[field.type]}") if field.is_array else 1
            # `p` behind the end shows that they are cut short.
            self.line(f"end = p + ({size} - 1) * {width}", f"{raw} = d[p:end]", "p = end")
            known[field.name] = raw
            if field.is_array:
                self.line(f"{made} = {field.type}s[{raw}]")
                return made
            text, shown = (each.format(raw) for each in _SIZED[field.type])
            if rule := self._hidden.get(field.name):
                # A cut value may be the beginning of a secret.
                self.line("if p > e: raise Malformed('its fields run over its end')")
                shown = f"hide({text}) if {rule.format(**known)} else {shown}"
            self.line(f"{made} = {shown}")
        return made

    def _array(self, field: Field, made: str, size: str) -> None:
        """Reads an array of structs or of strings."""
        parts = self._variable()
        self.line(f"if {size} - 1 > e - p: raise Malformed('{field.name} has more than the record can hold')")
        self.line(f"{parts} = []")
        with self._block(f"for _ in range({size} - 1):"):
            if field.fields:
                body = _joined(self.fields([each for each in field.fields if each.tag is None]))
                tags = self.tags([each for each in field.fields if each.tag is not None])
                self.line(f"{parts}.append(f'{{{{{body}{{{tags}}}}}}}')")
            else:
                self.line(f"{parts}.append({self._value(replace(field, is_array=False, nullable=False), {})})")
        self.line(f"{made} = '[' + ','.join({parts}) + ']'")

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"
