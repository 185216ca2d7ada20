"""Decoders of metadata records: Python source generated from each record version's schema, bytes to JSON text.

A decoder that walks a schema for each record takes several times as long. Text, uuids, arrays and, where records of a
type differ in their first fields alone, all the rest are looked up by their bytes (`Memo`). Secrets are replaced here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any, Generic, TypeVar

from console.history.entities import CONFIG_TYPES
from console.history.kraft.schemas import (
    BOOLEANS,
    NUMBERS,
    Field,
    MalformedRecordError,
    RecordSchema,
    base64_text,
    quoted,
    real,
    skip_tags,
    uuid,
    uuids,
    uvarint,
    whole_numbers,
)
from console.history.redact import HIDDEN, is_secret

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

_SHOWN = f'"{HIDDEN}"'


Decode = Callable[[bytes, int, int], str]
"""Gets bytes and where in them a record's fields begin and end; returns them as a JSON object. Raises
MalformedRecordError, IndexError, struct.error."""

_FIXED = NUMBERS | {"bool": "?", "float64": "d", "uuid": "16s"}
_VARYING = {"PartitionRecord": 2, "PartitionChangeRecord": 2, "ClientQuotaRecord": 1}
"""The number of first fields that differ from record to record, where the rest recurs."""


def decoders(schemas: Iterable[RecordSchema], hidden: list[str]) -> Iterator[Decode]:
    """A decoder for each of these versions of records; they share their memos. hidden: gets the secrets of a record, of
    which its JSON has `HIDDEN`; bytes (SCRAM: salt, storedKey and serverKey) in base64."""

    def hide(value: str) -> str:
        hidden.append(value)
        return _SHOWN

    shared: dict[str, Any] = {
        "BOOLEANS": BOOLEANS,
        "Memo": Memo,
        "Malformed": MalformedRecordError,
        "base64_text": base64_text,
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
    for schema in schemas:
        code, structs = _compiled(schema)
        names = shared | structs
        exec(code, names)  # noqa: S102
        yield names["decode"]


def _is_secret_config(config: tuple[int, bytes]) -> bool:
    """Whether a config is secret. config: its resource's type by number, its name. Unknown names are secret."""
    type_, name = config
    return is_secret(CONFIG_TYPES.get(type_, ""), name.decode("utf-8", "replace"))


@cache
def _compiled(schema: RecordSchema) -> tuple[CodeType, dict[str, Any]]:
    text, structs = source(schema)
    return compile(text, f"<{schema.name} v{schema.version}>", "exec"), structs


def source(schema: RecordSchema) -> tuple[str, dict[str, Any]]:
    """The source of a module with the function `decode`, and the structs that it uses by their names in it."""
    hidden = HIDDEN_FIELDS.get(schema.name, {})
    structs: dict[str, Any] = {}
    placed = [field for field in schema.fields if field.tag is None]
    tagged = [field for field in schema.fields if field.tag is not None]
    varying = _VARYING.get(schema.name)
    writer = _Writer(structs, hidden)
    if varying is None:
        body, rest = writer.to_the_end(placed, tagged)
        shown = f"{body}{{{rest}}}" if body else f"{{{rest}[1:]}}"
        return "\n".join(["def decode(d, p, e):", *writer.lines, f"    return f'{{{{{shown}}}}}'", ""]), structs
    head = _joined(writer.fields(placed[:varying]))
    tail = _Writer(structs, hidden)
    body, rest = tail.to_the_end(placed[varying:], tagged)
    comma = "," if body else ""
    return (
        "\n".join(
            [
                "def decode_tail(d, p, e):",
                *tail.lines,
                f"    return f'{comma}{body}{{{rest}}}}}}}'",
                "tails = Memo(lambda rest: decode_tail(rest, 0, len(rest)))",
                "def decode(d, p, e):",
                *writer.lines,
                f"    return f'{{{{{head}' + tails[d[p:e]]",
                "",
            ]
        ),
        structs,
    )


def _joined(pieces: Sequence[tuple[str, str]]) -> str:
    return ",".join(f'"{name}":{{{value}}}' for name, value in pieces)


@dataclass
class _Writer:
    """Writes statements that read fields of the bytes `d` at `p`, up to `e`, into variables."""

    structs: dict[str, Any]
    hidden: Mapping[str, str]

    def __post_init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._variables = 0

    def line(self, text: str) -> None:
        """Adds a statement."""
        self.lines.append("    " * self._depth + text)

    def fields(self, fields: Sequence[Field]) -> list[tuple[str, str]]:
        """Reads fields without tags; returns the name of each and the expression of its JSON."""
        pieces: list[tuple[str, str]] = []
        known: dict[str, str] = {}
        waiting: list[Field] = []
        for field in fields:
            if field.type in _FIXED and not field.is_array:
                waiting.append(field)
                continue
            pieces += self._fixed(waiting, known)
            waiting = []
            pieces.append((field.name, self._value(field, known)))
        return pieces + self._fixed(waiting, known)

    def to_the_end(self, placed: Sequence[Field], tagged: Sequence[Field]) -> tuple[str, str]:
        """Reads fields up to the record's end; returns their JSON, and the variable with that of the tagged ones."""
        pieces = self.fields(placed)
        tags = self.tags(tagged)
        self.line("if p != e: raise Malformed(f'its fields end at byte {p}, the record at byte {e}')")
        return _joined(pieces), tags

    def tags(self, fields: Sequence[Field]) -> str:
        """Reads the section of tagged fields; returns the variable with their JSON, each after a comma."""
        made, count, tag, size, end = (self._variable() for _ in range(5))
        self.line(f"{made} = ''")
        self.line("if not d[p]: p += 1")
        if not fields:
            self.line("else: p = skip_tags(d, p)")
            return made
        self.line("else:")
        self._depth += 1
        self.line(f"{count}, p = uvarint(d, p)")
        self.line(f"while {count}:")
        self._depth += 1
        self.line("if p >= e: raise Malformed('its tagged fields run over its end')")
        self.line(f"{count} -= 1")
        self.line(f"{tag}, p = uvarint(d, p)")
        self.line(f"{size}, p = uvarint(d, p)")
        self.line(f"{end} = p + {size}")
        for at, field in enumerate(fields):
            self.line(f"{'elif' if at else 'if'} {tag} == {field.tag}:")
            self._depth += 1
            for name, value in self.fields([field]):
                self.line(f"{made} += f',\"{name}\":{{{value}}}'")
            self._depth -= 1
        self.line(f"else: p = {end}")
        self.line(f"if p != {end}: raise Malformed(f'its tag {{{tag}}} has the wrong size')")
        self._depth -= 2
        return made

    def _fixed(self, fields: Sequence[Field], known: dict[str, str]) -> list[tuple[str, str]]:
        """Reads consecutive fields of a fixed size with one call."""
        if not fields:
            return []
        reader = struct.Struct(">" + "".join(_FIXED[field.type] for field in fields))
        self.structs[f"unpack_{reader.format[1:]}".replace("?", "t")] = reader.unpack_from
        variables = [self._variable() for _ in fields]
        known.update(zip((field.name for field in fields), variables, strict=True))
        self.line(f"{', '.join(variables)}, = unpack_{reader.format[1:].replace('?', 't')}(d, p)")
        self.line(f"p += {reader.size}")
        return [(field.name, _as_json(field.type, variable)) for field, variable in zip(fields, variables, strict=True)]

    def _value(self, field: Field, known: dict[str, str]) -> str:
        """Reads one field that begins with its size; returns the expression of its JSON."""
        made, size = self._variable(), self._variable()
        self.line(f"{size} = d[p]")
        self.line(f"if {size} < 128: p += 1")
        self.line(f"else: {size}, p = uvarint(d, p)")
        self.line(f"if not {size}:")
        null = f"{made} = 'null'" if field.nullable else f"raise Malformed('{field.name} must not be null')"
        self.line(f"    {null}")
        self.line("else:")
        self._depth += 1
        if not field.is_array:
            self._text(field, made, size, known)
        elif field.fields or field.type not in _FIXED:
            self._array(field, made, size)
        else:
            width = struct.calcsize(f">{_FIXED[field.type]}")
            self._bytes(f"{size} * {width} - {width}")
            self.line(f"{made} = {field.type}s[raw]")
        self._depth -= 1
        return made

    def _bytes(self, size: str) -> None:
        """Reads bytes into `raw`; `p` behind the end shows that they are cut short."""
        self.line(f"end_of = p + {size}")
        self.line("raw = d[p:end_of]")
        self.line("p = end_of")

    def _text(self, field: Field, made: str, size: str, known: dict[str, str]) -> None:
        """Reads a string or bytes."""
        self._bytes(f"{size} - 1")
        rule = self.hidden.get(field.name)
        if field.type == "bytes":
            value = "base64_text(raw)"
            shown = f"'\"' + {value} + '\"'"
        elif field.type == "string":
            value, shown = "raw.decode('utf-8', 'replace')", "text[raw]"
        else:
            raise ValueError(f"{field.name} is of the type {field.type}, unknown to the decoder")
        known[field.name] = raw = self._variable()
        self.line(f"{raw} = raw")
        if rule is None:
            self.line(f"{made} = {shown}")
            return
        # A cut value may be the beginning of a secret.
        self.line("if p > e: raise Malformed('its fields run over its end')")
        condition = rule.format(**known)
        self.line(f"{made} = hide({value}) if {condition} else {shown}")

    def _array(self, field: Field, made: str, size: str) -> None:
        """Reads an array of structs or of strings."""
        self.line(f"if {size} - 1 > e - p: raise Malformed('{field.name} has more than the record can hold')")
        parts = self._variable()
        self.line(f"{parts} = []")
        self.line(f"for _ in range({size} - 1):")
        self._depth += 1
        if field.fields:
            pieces = self.fields([each for each in field.fields if each.tag is None])
            tags = self.tags([each for each in field.fields if each.tag is not None])
            self.line(f"{parts}.append(f'{{{{{_joined(pieces)}{{{tags}}}}}}}')")
        else:
            element = Field(field.name, field.type, False, False, None, ())
            self.line(f"{parts}.append({self._value(element, {})})")
        self._depth -= 1
        self.line(f"{made} = '[' + ','.join({parts}) + ']'")

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"


def _as_json(kind: str, variable: str) -> str:
    if kind == "bool":
        return f"BOOLEANS[{variable}]"
    if kind == "uuid":
        return f"uuid[{variable}]"
    return f"real({variable})" if kind == "float64" else variable
