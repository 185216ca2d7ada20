"""Conditions on records in the Common Expression Language (CEL), as ``value.order.total > 100 && key == "o-7"``.

The variables are `FIELDS`. `value` is the decoded JSON if the value is JSON, else text; `key` is decoded only if it is
a JSON object, array or string: a key of digits stays text. A condition does not hold for a record in which a field is
missing or has another type. Patterns of ``matches`` take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from console.lean_imports import import_alone
from console.model.foreign_json import json_as
from console.model.records import Record

FIELDS = ("value", "key", "headers", "partition", "offset", "time", "size", "schema")
"""The variables of a condition. headers: name -> text; if a name occurs several times, its last value is used. time:
None if the record has no timestamp. size: bytes of key and value. schema: the schema of the value, ``""`` if there is
none.
"""
LARGEST_JSON = 4 << 20
"""Maximum size in bytes of a value that is decoded as JSON; a larger value counts as text."""
LONGEST = 4096
"""Maximum length of a condition in characters."""
FUNCTIONS = frozenset(
    {
        *("size", "has", "contains", "startsWith", "endsWith", "matches", "string", "int", "uint", "double", "bytes"),
        *("bool", "type", "dyn", "timestamp", "duration", "all", "exists", "exists_one", "map", "filter", "max", "min"),
        *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours"),
        *("getMinutes", "getSeconds", "getMilliseconds"),
    }
)
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)
    | (?P<string>[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<space>\s+)
    | (?P<sign>&&|\|\||.)""",
    re.DOTALL | re.VERBOSE,
)
_PATH = r"""(?P<root>value|key|headers)(?:\s*\.\s*[A-Za-z_]\w*|\s*\[\s*(?:[0-9]{1,9}|"[^"\\\n]*"|'[^'\\\n]*')\s*\])*"""
_PLAIN = r"""(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'"\\\n]*)')"""
_LITERAL_FORMS = (
    re.compile(rf"\A{_PATH}\s*==\s*{_PLAIN}", re.ASCII),
    re.compile(rf"\A{_PLAIN}\s*==\s*{_PATH}", re.ASCII),
    re.compile(rf"\A{_PATH}\s*\.\s*(?:contains|startsWith|endsWith)\s*\(\s*{_PLAIN}\s*\)", re.ASCII),
)
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
_PLACE = re.compile(r"<input>:([0-9]+):([0-9]+): (?:Syntax error: )?(.*)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Literal(NamedTuple):
    """A text that every matching record contains in its key, value or headers. In JSON, escapes may stand for
    characters of the text.
    """

    text: bytes
    is_escapable: bool = True
    """Whether the contents may be JSON that spells the text by escapes; False for a search in the raw bytes."""

    def may_be_in(self, data: bytes | bytearray, begin: int = 0, end: int | None = None) -> bool:
        """Return whether the bytes from `begin` to `end` contain the text, or escapes that may denote it. end: None
        for the end of the data.
        """
        if data.find(self.text, begin, end) >= 0:
            return True
        if not self.is_escapable or data.find(b"\\", begin, end) < 0:
            return False
        # JSON may spell every character by its number, and a slash with a backslash before it.
        return data.find(b"\\u00", begin, end) >= 0 or (b"/" in self.text and data.find(b"\\/", begin, end) >= 0)


class Condition(NamedTuple):
    """A compiled condition on records."""

    text: str
    fields: tuple[str, ...]
    """The variables that the condition uses."""
    literals: tuple[Literal, ...]
    """Texts that are in every record for which the condition holds; other records need not be decoded."""
    roots: tuple[str, ...]
    """For each literal the variable in which it must occur: ``value``, ``key`` or ``headers``."""
    run: Callable[[dict[str, Any]], Any]

    def holds(self, record: Record) -> bool:
        """Return whether the condition holds for a record. record: with masked fields hidden, as it may be shown."""
        for root, literal in zip(self.roots, self.literals, strict=True):
            if not any(literal.may_be_in(part) for part in _parts(record, root)):
                return False
        return self.holds_for(fields_of(record, self.fields))

    def holds_for(self, fields: dict[str, Any]) -> bool:
        """Return whether the condition holds for these values of its variables; False if a field is missing or has
        another type.
        """
        try:
            return self.run(fields) is True
        except Exception:  # noqa: BLE001 a missing field, another type, a number out of range: it does not hold
            return False
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # raised by Rust; Python does not export its class
                raise
            return False


class ConditionError(ValueError):
    """Raised for a text that is not a condition. at: the position of the wrong character, from 0; None if unknown."""

    def __init__(self, text: str, at: int | None = None) -> None:
        super().__init__(text if at is None else f"character {at + 1}: {text}")
        self.at = at


@lru_cache(maxsize=64)
def condition(text: str) -> Condition:
    """Compile a condition. Results are cached.

    Raises:
        ConditionError: it is not a condition, uses an unknown variable or function, or is longer than `LONGEST`.
    """
    if len(text) > LONGEST:
        raise ConditionError(f"a condition has at most {LONGEST:,} characters, and this one {len(text):,}")
    tokens = [(match.lastgroup or "", match[0], match.start()) for match in _TOKEN.finditer(text)]
    try:
        program = import_alone("cel.cel").compile(text)
    except ValueError as error:
        raise _wrong_syntax(text, str(error)) from None
    bound = {match[1] for match in _BOUND.finditer(text)}
    for name in program.variables():
        if name not in FIELDS and name not in bound:
            raise ConditionError(f"{name} is no field: {', '.join(FIELDS)} are", _at(tokens, name))
    for name in program.functions():
        if name[:1].isalpha() and name not in FUNCTIONS:
            raise ConditionError(f"{name} is no function of a condition", _at(tokens, name))
    found = list(_literals(text, tokens))
    return Condition(
        text,
        tuple(name for name in FIELDS if name in program.variables()),
        tuple(Literal(literal) for _, literal in found),
        tuple(root for root, _ in found),
        program.execute,
    )


def _wrong_syntax(text: str, problem: str) -> ConditionError:
    """Return the error for a text that the parser refused. problem: the parser's message."""
    match = _PLACE.search(problem)
    if match is None:
        return ConditionError(f"it is no condition: {problem.splitlines()[0][:200]}")
    line, column, why = int(match[1]), int(match[2]), match[3]
    before = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
    return ConditionError(why[:200], before + column - 1)


def _at(tokens: list[tuple[str, str, int]], name: str) -> int | None:
    """Return the position of the first use of a name in a condition, from 0; None if the name does not occur."""
    return next((at for group, text, at in tokens if group == "name" and text == name), None)


def _literals(text: str, tokens: list[tuple[str, str, int]]) -> Iterator[tuple[str, bytes]]:
    """Yield the variable and the text of each comparison or call that must be true for the condition to hold: those on
    the top level of the condition. Nothing is yielded if other operators than ``&&`` join them.
    """
    depth, begins, parts = 0, 0, list[str]()
    for group, sign, at in tokens:
        if group == "comment":
            return
        if group != "sign":
            continue
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign in ("||", "?"):
            return
        if depth == 0 and sign == "&&":
            parts.append(text[begins:at])
            begins = at + len(sign)
    for part in (*parts, text[begins:]):
        for form in _LITERAL_FORMS:
            match = form.fullmatch(part.strip())
            if match is not None:
                literal = match["double"] if match["double"] is not None else match["single"]
                # JSON always escapes quotes, backslashes and control characters, so leave out texts with them.
                if literal and literal.isascii() and literal.isprintable():
                    yield match["root"], literal.encode()


def _parts(record: Record, root: str) -> Iterator[bytes]:
    """Yield the bytes from which a variable is made: the key, the value, or the value of each header; null is left
    out.
    """
    if root == "headers":
        yield from (value for _, value in record.headers if value)
    else:
        data = record.key if root == "key" else record.value
        if data:
            yield data


def decoded_json(data: bytes | None) -> Any:
    """Return the decoded JSON of a key or value.

    Raises:
        ValueError: it is null, not JSON, larger than `LARGEST_JSON`, or nested too deep.
    """
    if data is None:
        raise ValueError("null")
    return json_as(data, object, LARGEST_JSON)


def value_of(data: bytes | None) -> Any:
    """Return a value in the form that conditions use: decoded JSON if it is JSON, else text; None for null."""
    if data is None:
        return None
    try:
        return decoded_json(data)
    except (ValueError, RecursionError):
        return data.decode(errors="replace")


def key_of(data: bytes | None) -> Any:
    """Return a key in the form that conditions use: decoded if it is a JSON object, array or string, else text; None
    for null.
    """
    return value_of(data) if data is not None and data[:1] in (b"{", b"[", b'"') else _text(data)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _time_of(record: Record) -> datetime | None:
    try:
        return _EPOCH + timedelta(milliseconds=record.timestamp) if record.timestamp >= 0 else None
    except OverflowError:
        return None


def fields_of(record: Record, names: Iterable[str] = FIELDS) -> dict[str, Any]:
    """Return variable -> its value for a record."""
    return {name: _FIELDS[name](record) for name in names}


def _size_of(record: Record) -> int:
    parts = ((record.key, record.key_encoding), (record.value, record.value_encoding))
    return sum(encoding.size if encoding is not None else len(data or b"") for data, encoding in parts)


_FIELDS: Mapping[str, Callable[[Record], Any]] = {
    "value": lambda record: value_of(record.value),
    "key": lambda record: key_of(record.key),
    "headers": lambda record: {name.decode(errors="replace"): _text(value) for name, value in record.headers},
    "partition": lambda record: record.partition,
    "offset": lambda record: record.offset,
    "time": _time_of,
    "size": _size_of,
    "schema": lambda record: record.value_encoding.schema if record.value_encoding is not None else "",
}
