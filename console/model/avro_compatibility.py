"""Avro's rules for readers and writers with different schemas, without a registry: the records that a reader can read,
and the effect of each difference between two versions on old and new readers.

The rules are those of the specification's *Schema Resolution*, read as Java's ``SchemaCompatibility`` does: names of
types are compared without their namespaces, and a union has to be readable in each of the writer's branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import NamedTuple

from msgspec import Struct

from console.model.foreign_json import json_as
from console.model.grouping import grouped
from console.model.numbers import json_text
from console.model.subjects import BACKWARD, FORWARD, FULL, NONE, TRANSITIVE

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_PROMOTED: Mapping[str, frozenset[str]] = {
    "long": frozenset({"int"}),
    "float": frozenset({"int", "long"}),
    "double": frozenset({"int", "long", "float"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
"""Type of a reader -> the other types in which a writer may have written the value."""
DEEPEST = 60
MOST_TYPES = 20_000
"""Maximum number of types and fields in a schema."""
MOST_PATHS = 2_000
"""Maximum number of places (fields, items and values) in a schema that are compared for display."""
MOST_COMPARISONS = 100_000
"""Maximum number of pairs of types that one comparison of two schemas examines: this takes some tenths of a second."""
MOST_PROBLEMS = 100
"""Maximum number of problems that are reported for a pair of records."""
ITEMS, VALUES = "[]", "{}"
"""The steps of a path into an array and into a map."""


class NotAvro(Exception):
    """Raised for a text that is not an Avro schema; the message is the reason, in one line."""


class AvroField(NamedTuple):
    """A field of an Avro record."""

    name: str
    type: AvroType
    default: str | None = None
    """The default as JSON; None if the field has no default."""
    aliases: tuple[str, ...] = ()


class AvroType(Struct, frozen=True):
    """A type of an Avro schema.

    Attributes:
        kind: a primitive, ``record``, ``enum``, ``fixed``, ``array``, ``map``, ``union``, or ``named`` for a reference
            to a type that is defined elsewhere in the schema.
        name: the full name of a record, an enum or a fixed; for ``named``, that of the type to which it refers; ``""``
            for other kinds.
        parts: the items of an array, the values of a map, the branches of a union; empty for other kinds.
        symbols, default: the symbols of an enum, and its default symbol; None if it has no default.
        size: the bytes of a fixed.
        logical: the logical type; ``""`` if it has none.
    """

    kind: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    fields: tuple[AvroField, ...] = ()
    parts: tuple[AvroType, ...] = ()
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    logical: str = ""


class AvroSchema(Struct, frozen=True):
    """A parsed schema: its root type, and the types that it defines or refers to, by their full names."""

    root: AvroType
    named: Mapping[str, AvroType]

    def meant(self, type_: AvroType) -> AvroType:
        """Return the definition of a type of the kind ``named``; any other type is returned itself."""
        return self.named[type_.name] if type_.kind == "named" else type_


class Problem(NamedTuple):
    """The reason why a reader can't read a writer's records."""

    path: str
    """The path of the field in the reader's schema; ``""`` for the whole schema."""
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}" if self.path else self.why


# -- reading a schema --------------------------------------------------------------------------------------------------


def avro_schema(text: str, references: Iterable[str] = ()) -> AvroSchema:
    """Parse the text of an Avro schema.

    Args:
        references: the texts of the schemas to which the text refers, each after its own references.

    Raises:
        NotAvro: the text is not an Avro schema, or is nested too deep or too large.
    """
    reading = _Reading()
    for each in references:
        reading.read(each)
    root = reading.read(text)
    return AvroSchema(root, reading.named)


class _Reading:
    """The state of parsing a schema. named: full name -> the type defined so far."""

    def __init__(self) -> None:
        self.named: dict[str, AvroType] = {}
        self._count = 0

    def read(self, text: str) -> AvroType:
        """Return the root type of a schema's text. Raises NotAvro."""
        try:
            document = json_as(text, object)
        except ValueError:
            raise NotAvro("it is not JSON") from None
        return self._type(document, "", 0)

    def _type(self, found: object, space: str, depth: int) -> AvroType:
        self._count += 1
        if depth > DEEPEST or self._count > MOST_TYPES:
            raise NotAvro(f"it has more than {MOST_TYPES:,} types, or is more than {DEEPEST} deep")
        if isinstance(found, str):
            return self._by_name(found, space)
        if isinstance(found, list):
            branches = tuple(self._type(each, space, depth + 1) for each in found)
            # Avro's specification forbids a union directly in a union: a writer could not encode in which of the two a
            # branch is.
            if any(each.kind == "union" for each in branches):
                raise NotAvro("a union has a union directly in it")
            return AvroType("union", parts=branches)
        if not isinstance(found, dict):
            raise NotAvro(f"{json_text(found)[:60]} is no type")
        return self._described(found, space, depth)

    def _by_name(self, word: str, space: str) -> AvroType:
        if word in PRIMITIVES:
            return AvroType(word)
        name = _full(word, space)
        # A name without a dot can also mean a type without a namespace.
        name = name if name in self.named else word
        if name not in self.named:
            raise NotAvro(f"the type {word[:80]} is not defined")
        return AvroType("named", name)

    def _described(self, found: Mapping[str, object], space: str, depth: int) -> AvroType:
        # A type in braces may wrap another one: {"type": {"type": "long"}} is legal.
        kind = found.get("type")
        logical = found.get("logicalType")
        logical = logical if isinstance(logical, str) else ""
        match kind:
            case "array":
                return AvroType("array", parts=(self._type(found.get("items"), space, depth + 1),))
            case "map":
                return AvroType("map", parts=(self._type(found.get("values"), space, depth + 1),))
            case "record" | "error" | "enum" | "fixed":
                return self._defined(str(kind).replace("error", "record"), found, space, depth, logical)
            case str() if kind in PRIMITIVES:
                return AvroType(kind, logical=logical)
            case _:
                return self._type(kind, space, depth + 1)

    def _defined(self, kind: str, found: Mapping[str, object], space: str, depth: int, logical: str) -> AvroType:
        name = found.get("name")
        if not isinstance(name, str) or not name:
            raise NotAvro(f"a type {kind} has no name")
        own = found.get("namespace")
        name = _full(name, own if isinstance(own, str) else space)
        if name in self.named:
            raise NotAvro(f"{name[:80]} is defined twice")
        space = name.rpartition(".")[0]
        aliases = tuple(_full(each, space) for each in _texts(found.get("aliases")))
        if kind == "fixed":
            size = found.get("size")
            if not isinstance(size, int) or size < 0:
                raise NotAvro(f"{name[:80]} has no size")
            made = AvroType(kind, name, aliases, size=size, logical=logical)
        elif kind == "enum":
            symbols, default = _texts(found.get("symbols")), found.get("default")
            if len(set(symbols)) != len(symbols):
                raise NotAvro(f"{name[:80]} has a symbol twice")
            made = AvroType(kind, name, aliases, symbols=symbols, default=default if isinstance(default, str) else None)
        else:
            # Register the name before its fields are read, as they may refer to it.
            self.named[name] = AvroType(kind, name, aliases)
            made = AvroType(kind, name, aliases, self._fields(name, found.get("fields"), space, depth))
        self.named[name] = made
        return made

    def _fields(self, record: str, found: object, space: str, depth: int) -> tuple[AvroField, ...]:
        if not isinstance(found, list):
            raise NotAvro(f"the record {record[:80]} has no fields")
        fields = []
        for each in found:
            if not isinstance(each, dict) or not isinstance(name := each.get("name"), str):
                raise NotAvro(f"a field of {record[:80]} has no name")
            type_ = self._type(each.get("type"), space, depth + 1)
            default = json_text(each["default"], ensure_ascii=False)[:2000] if "default" in each else None
            fields.append(AvroField(name, type_, default, _texts(each.get("aliases"))))
        if len({each.name for each in fields}) != len(fields):
            raise NotAvro(f"the record {record[:80]} has a field twice")
        return tuple(fields)


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _texts(found: object) -> tuple[str, ...]:
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


# -- whether a reader's schema can read a writer's data ----------------------------------------------------------------


def problems(reader: AvroSchema, writer: AvroSchema) -> tuple[Problem, ...]:
    """Return the reasons why the reader's schema can't read records of the writer's schema; empty if it can read
    all.
    """
    return tuple(dict.fromkeys(_Resolution(reader, writer).between(reader.root, writer.root, "")))


class _Resolution:
    """The comparison of a reader's schema with a writer's.

    known: pair of record names -> the problems of the pair, with paths that begin at the records; empty while the pair
    is being compared. Each pair is compared once, as in Java: otherwise a chain of 30 records would take 2^30
    comparisons.
    """

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self._reader, self._writer = reader, writer
        self._known: dict[tuple[str, str], tuple[Problem, ...]] = {}
        self._left = MOST_COMPARISONS

    def between(self, reads: AvroType, wrote: AvroType, path: str) -> Iterator[Problem]:
        """Yield the problems of reading values of the type `wrote` as the type `reads`. Once `MOST_COMPARISONS` pairs
        of types were compared, yield one problem that says so.
        """
        self._left -= 1
        if self._left <= 0:
            yield Problem("", "they have too many types to be compared: what else differs is not known")
            return
        reads, wrote = self._reader.meant(reads), self._writer.meant(wrote)
        if wrote.kind == "union":
            for branch in wrote.parts:
                yield from self.between(reads, branch, path)
        elif reads.kind == "union":
            if not any(self._is_readable(each, wrote, path) for each in reads.parts):
                yield Problem(path, f"{_short(wrote)} is in no branch of {_short(reads)}")
        elif reads.kind != wrote.kind:
            if wrote.kind not in _PROMOTED.get(reads.kind, ()):
                yield Problem(path, f"{_short(wrote)} can't be read as {_short(reads)}")
        else:
            yield from self._of_one_kind(reads, wrote, path)

    def _is_readable(self, reads: AvroType, wrote: AvroType, path: str) -> bool:
        return next(self.between(reads, wrote, path), None) is None

    def _of_one_kind(self, reads: AvroType, wrote: AvroType, path: str) -> Iterator[Problem]:
        match reads.kind:
            case "array" | "map":
                step = ITEMS if reads.kind == "array" else VALUES
                yield from self.between(reads.parts[0], wrote.parts[0], f"{path}/{step}")
            case "record" | "enum" | "fixed":
                if not _is_named_alike(reads, wrote):
                    yield Problem(path, f"{wrote.name} can't be read as {reads.name}: another name, and no alias of it")
                elif reads.kind == "record":
                    yield from self._of_records(reads, wrote, path)
                elif reads.kind == "fixed" and reads.size != wrote.size:
                    yield Problem(path, f"{wrote.size} bytes can't be read as {reads.size}")
                elif reads.kind == "enum" and reads.default is None:
                    missing = [each for each in wrote.symbols if each not in reads.symbols]
                    if missing:
                        yield Problem(path, f"the symbol {', '.join(missing[:5])} is unknown to the reader")

    def _of_records(self, reads: AvroType, wrote: AvroType, path: str) -> Iterator[Problem]:
        pair = (reads.name, wrote.name)
        if pair not in self._known:
            self._known[pair] = ()
            self._known[pair] = tuple(islice(self._of_fields(reads, wrote), MOST_PROBLEMS))
        yield from (Problem(f"{path}{each.path}", each.why) for each in self._known[pair])

    def _of_fields(self, reads: AvroType, wrote: AvroType) -> Iterator[Problem]:
        written = {each.name: each for each in wrote.fields}
        for field in reads.fields:
            found = next((written[name] for name in (field.name, *field.aliases) if name in written), None)
            if found is not None:
                yield from self.between(field.type, found.type, f"/{field.name}")
            elif field.default is None:
                yield Problem(f"/{field.name}", "the writer has no such field, and it has no default")


def _is_named_alike(reads: AvroType, wrote: AvroType) -> bool:
    return reads.name.rpartition(".")[2] == wrote.name.rpartition(".")[2] or wrote.name in reads.aliases


# -- a level of compatibility ------------------------------------------------------------------------------------------


class Break(NamedTuple):
    """An incompatibility of a new version of a schema with an older version."""

    version: int
    """The number of the older version."""
    of_old: bool
    """True if readers with the older version can't read new records; False if readers with the new version can't
    read records of the older version.
    """
    problem: Problem

    def __str__(self) -> str:
        if self.of_old:
            return f"readers with version {self.version} can't read new records: {self.problem}"
        return f"readers with the new version can't read records of version {self.version}: {self.problem}"


def breaks(level: str, new: AvroSchema, old: Sequence[tuple[int, AvroSchema]]) -> tuple[Break, ...]:
    """Return the incompatibilities of a new version that a compatibility level forbids, those with the newest of the
    other versions first; empty if there are none, the level is NONE, or there is no other version.

    Args:
        level: the compatibility level, as ``BACKWARD_TRANSITIVE``; an unknown level counts as NONE.
        old: the numbers and schemas of the other versions, the oldest first: a transitive level checks all of them, any
            other level the newest.
    """
    kind = level.removesuffix(TRANSITIVE)
    if kind == NONE or not old:
        return ()
    found = []
    for number, each in reversed(old if level.endswith(TRANSITIVE) else old[-1:]):
        if kind in (BACKWARD, FULL):
            found += [Break(number, False, problem) for problem in problems(new, each)]
        if kind in (FORWARD, FULL):
            found += [Break(number, True, problem) for problem in problems(each, new)]
    return tuple(found)


# -- two versions side by side -----------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """A place (field, item or value) at which two versions of a schema differ."""

    path: str
    old: str
    """The type of the place in the old version, with its default; ``""`` if the old version lacks the place."""
    new: str
    """The type of the place in the new version, with its default; ``""`` if the new version lacks the place."""
    new_readers: str
    """The consequence, as text, for readers with the new version that read old records."""
    old_readers: str
    """The consequence, as text, for readers with the old version that read new records."""
    breaks_new: bool
    breaks_old: bool


class _Seen(NamedTuple):
    text: str
    default: str | None


SAME = "the same"


def compare(old: AvroSchema, new: AvroSchema, *, whole: bool = False) -> tuple[Difference, ...]:
    """Return the differences of two versions of a schema, first the places of the new version in its order, then the
    places that only the old version has.

    Args:
        whole: whether to return also the places that do not differ, with `SAME` as the consequence for readers.
    """
    before, after = _places(old), _places(new)
    of_new, of_old = _by_path(problems(new, old)), _by_path(problems(old, new))
    found = []
    for path in dict.fromkeys((*after, *before, *of_new, *of_old)):
        was, now = before.get(path), after.get(path)
        if was == now and path not in of_new and path not in of_old:
            if whole:
                found.append(Difference(path or "the whole", _shown(was), _shown(now), SAME, SAME, False, False))
            continue
        found.append(
            Difference(
                path or "the whole",
                _shown(was),
                _shown(now),
                of_new.get(path) or _meaning(now, was),
                of_old.get(path) or _meaning(was, now),
                path in of_new,
                path in of_old,
            )
        )
    return tuple(found)


def _meaning(mine: _Seen | None, other: _Seen | None) -> str:
    """Return, as text, how a reader treats a difference that is not a problem. mine: the place in the reader's schema;
    other: the place in the writer's schema; each is None if that schema does not have the place.
    """
    if mine is None:
        return "skip it"
    if other is None:
        return f"read {mine.default}" if mine.default is not None else "as its record"
    if mine.text != other.text:
        return f"read it as {mine.text}"
    return "no difference" if mine.default == other.default else "no difference in the records"


def _by_path(found: Iterable[Problem]) -> dict[str, str]:
    lines = grouped((each.path, each.why) for each in found)
    return {path: "; ".join(each) for path, each in lines.items()}


def _places(schema: AvroSchema) -> dict[str, _Seen]:
    """Return the path of each place in a schema -> its type and default. A record that contains itself is entered once;
    at most `MOST_PATHS` places are returned.
    """
    found: dict[str, _Seen] = {}
    entered = count()

    def enter(type_: AvroType, path: str, default: str | None, inside: frozenset[str]) -> None:
        # Limit the steps as well as the paths: the records of a union may have the same paths, which count only once.
        if len(found) >= MOST_PATHS or next(entered) >= MOST_COMPARISONS:
            return
        type_ = schema.meant(type_)
        known = found.get(path)
        if known is None:
            found[path] = _Seen(_short(type_), default)
        match type_.kind:
            case "record" if type_.name not in inside:
                for field in type_.fields:
                    enter(field.type, f"{path}/{field.name}", field.default, inside | {type_.name})
            case "array" | "map":
                enter(type_.parts[0], f"{path}/{ITEMS if type_.kind == 'array' else VALUES}", None, inside)
            case "union":
                for branch in map(schema.meant, type_.parts):
                    if branch.kind in ("record", "array", "map"):
                        enter(branch, path, default, inside)

    enter(schema.root, "", None, frozenset())
    return found


def _shown(seen: _Seen | None) -> str:
    if seen is None:
        return ""
    return seen.text if seen.default is None else f"{seen.text} = {seen.default}"


def _short(type_: AvroType) -> str:
    """Return a type as text: ``long``, ``union of null, string``, ``enum Colour of RED, BLUE``; of a record only its
    name.
    """
    match type_.kind:
        case "union":
            return f"union of {', '.join(_short(each) for each in type_.parts)}"
        case "array" | "map":
            return f"{type_.kind} of {_short(type_.parts[0])}"
        case "enum":
            default = f", else {type_.default}" if type_.default is not None else ""
            return f"enum {type_.name} of {', '.join(type_.symbols[:20])}{default}"
        case "fixed":
            return f"fixed {type_.name} of {type_.size} bytes"
        case "record":
            return f"record {type_.name}"
        case "named":
            return type_.name
        case kind:
            return f"{kind} ({type_.logical})" if type_.logical else kind
