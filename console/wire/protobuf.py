"""Protobuf: converts messages to JSON by the compiled descriptors of their schema. Pure."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from console.extras import how_to_add
from console.model.schemas import Allowance, NotDecoded

if TYPE_CHECKING:
    from google.protobuf.message import Message

MOST_VALUES = 250_000
"""Maximum number of values in a message, counting fields that have their default."""
DEEPEST = 60
MOST_INDEXES = 32
"""Maximum length of a path to a nested message: one index for each level."""
_PACKAGE = "google.protobuf."
_WHOLE = 2**53
"""Whole numbers below this absolute value in a google.protobuf.Value become integers in JSON."""
_AS_TEXT = frozenset({"Timestamp", "Duration", "FieldMask"})
_WRAPPERS = frozenset(
    f"{name}Value" for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Google's message types whose JSON is that of their single field. ``Struct``, ``ListValue``, ``Value`` and ``Any``
also have a special JSON form, but are handled elsewhere.
"""


def missing() -> str:
    """Return a message that names the packages to install for Protobuf."""
    return f"Protobuf needs packages: {how_to_add('schemas')}"


def protobuf_decoder(descriptors: bytes, main: str) -> Callable[..., bytes]:
    """Return a function that decodes messages of a schema to JSON.

    Args:
        descriptors: a serialized FileDescriptorSet, in which each file follows its imports.
        main: the name of the schema's own file in it.

    Returns:
        A function of three arguments: the payload; the encoded indexes of the message's type, None if they are at the
        start of the payload; and an allowance, which limits the total number of values. It returns UTF-8 JSON with the
        fields' original names: bytes in base64, 64-bit numbers as numbers. It raises NotDecoded for a payload that is
        not such a message or exceeds a limit.

    Raises:
        NotDecoded: the descriptors are invalid, or the extra for Protobuf is not installed.
    """
    return partial(_decoded, _messages(descriptors, main))


def protobuf_encoder(descriptors: bytes, main: str) -> Callable[..., bytes]:
    """Return a function that encodes JSON as the first message type of a schema: the reverse of `protobuf_decoder`.
    Arguments and errors are those of `protobuf_decoder`. The payloads begin with the index of the message type.
    """
    return partial(_encoded, _messages(descriptors, main))


def _encoded(
    message_of: Callable[[Sequence[int] | str], Any],
    document: bytes,
    _indexes: bytes | None = None,
    _allowance: Allowance | None = None,
) -> bytes:
    from google.protobuf import json_format

    message = message_of((0,))()
    try:
        if document.lstrip()[:1] == b"[":
            raise NotDecoded("a list")  # Google's parser takes a list for an empty message
        json_format.Parse(document, message, max_recursion_depth=DEEPEST)
        encoded: bytes = message.SerializeToString(deterministic=True)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 the error's class depends on the mistake in the JSON
        raise NotDecoded(f"it is no such message: {error}") from None
    return b"\x00" + encoded


def _messages(descriptors: bytes, main: str) -> Callable[[Sequence[int] | str], Any]:
    """Return a function that finds a message class of a schema by the message's index path or name. Raises NotDecoded
    if the descriptors are invalid.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise NotDecoded(missing()) from None
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
        pool = descriptor_pool.DescriptorPool()
        for file in files:
            pool.Add(file)
        (root,) = (file for file in files if file.name == main)
    except Exception as error:  # noqa: BLE001 the error's class depends on the mistake in the schema
        raise NotDecoded(f"it is no schema of Protobuf: {error}") from None

    names = list(_names(root.message_type, []))
    package = f"{root.package}." if root.package else ""

    def message_of(indexes: Sequence[int] | str) -> Any:
        """Return the class of a message. indexes: its name; or the index of a message in the file, then of a message
        nested in that one, and so on. Raises NotDecoded if there is no such message.
        """
        if isinstance(indexes, str):
            path = _by_name(names, indexes.removeprefix(package))
        else:
            path = _at_indexes(list(root.message_type), indexes)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(package + ".".join(path)))

    return message_of


def _decoded(
    message_of: Callable[[Sequence[int] | str], Any],
    payload: bytes,
    indexes: bytes | None = None,
    allowance: Allowance | None = None,
) -> bytes:
    problem: NotDecoded | None = None
    for path, rest in _readings(payload, indexes):
        try:
            if isinstance(path, NotDecoded):
                raise path
            message = message_of(path).FromString(rest)
            break
        except MemoryError:
            raise
        except NotDecoded as error:
            problem = problem or error
        except Exception as error:  # noqa: BLE001 the error's class depends on the mistake in the payload
            if "alloc failed" in str(error):  # the process is out of memory; the payload may be valid
                raise MemoryError from None
            problem = problem or NotDecoded(f"it is no such message: {error}")
    else:
        assert problem is not None
        raise problem
    try:
        return msgspec.json.encode(_Plain(allowance or Allowance()).message(message, 0))
    except (AttributeError, KeyError, TypeError, ValueError):
        # A schema may define its own types with the names of Google's.
        raise NotDecoded("a type in its schema is called as one of Google's, and has other fields") from None


def _nested(message: Any) -> list[Any]:
    """Return the types nested in a message type, as Java's serializer counts them: those in the schema's text, without
    the entry types that the compiler adds for maps.
    """
    return [each for each in message.nested_type if not each.options.map_entry]


def _names(messages: Iterable[Any], around: list[str]) -> Iterator[list[str]]:
    """Yield the name path of each message type and of all types nested in it: the names of the enclosing types, then
    its own.
    """
    for each in messages:
        yield [*around, each.name]
        yield from _names(_nested(each), [*around, each.name])


def _at_indexes(inner: list[Any], indexes: Sequence[int]) -> list[str]:
    """Return the name path of the message type at an index path. Raises NotDecoded if there is no such type."""
    path = []
    for index in indexes:
        if index >= len(inner):
            raise NotDecoded(f"its schema has no message {'.'.join(map(str, indexes))}")
        path.append(str(inner[index].name))
        inner = _nested(inner[index])
    return path


def _by_name(names: Sequence[list[str]], name: str) -> list[str]:
    """Return the name path of the only message type with this name. The name may be qualified by all, some or none of
    the enclosing types.

    Raises:
        NotDecoded: no type has the name, or several types have it.
    """
    parts = name.split(".")
    whole = [each for each in names if each == parts]
    found = whole or [each for each in names if each[-len(parts) :] == parts]
    if len(found) != 1:
        raise NotDecoded(f"its schema has {len(found) or 'no'} message{'s' * bool(found)} of that name")
    return found[0]


_NAME = re.compile(rb"[A-Za-z_][\w.]{0,200}", re.ASCII)


def _named(data: bytes) -> tuple[str, bytes] | None:
    """Decode a length-prefixed ``Ref`` message of Apicurio's. Return the type name in it and the bytes after it; None
    if the data does not begin with such a message.
    """
    whole, at = _length(data, 0)
    size, begin = _length(data, at + 1)
    end = begin + size
    if data[at : at + 1] != b"\n" or at + whole != end or not _NAME.fullmatch(data[begin:end]):
        return None
    return data[begin:end].decode(), data[end:]


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Decode a length of one or two bytes; return it and the offset after it."""
    one, two = (*data[at : at + 2], 0, 0)[:2]
    return (one, at + 1) if one < 0x80 else (one & 0x7F | two << 7, at + 2)


def _readings(payload: bytes, header: bytes | None) -> Iterator[tuple[Sequence[int] | str | NotDecoded, bytes]]:
    """Yield each way to read a payload, the likeliest first: the message type, as an index path or a name, and the
    message's bytes.

    Confluent's format has indexes in zigzag encoding; older serializers for Python and .NET write them without zigzag.
    Apicurio's format has a length-prefixed ``Ref`` message. The indexes, or the ``Ref``, precede the message or are in
    a record header; a header in Apicurio's format has only the name. A NotDecoded in place of a type says why that
    reading is impossible.
    """
    data = payload if header is None else header
    if header is not None and _NAME.fullmatch(header):
        yield header.decode(), payload
        return
    if (named := _named(data)) is not None:
        yield named[0], named[1] if header is None else payload
    for zigzag in (True, False):
        try:
            path, rest = message_indexes(data, zigzag=zigzag)
            yield path, rest if header is None else payload
        except NotDecoded as problem:
            yield problem, b""


def message_indexes(data: bytes, *, zigzag: bool = True) -> tuple[tuple[int, ...], bytes]:
    """Decode the index path at the beginning of the data; return it and the bytes after it. zigzag: whether the numbers
    are in zigzag encoding.

    Raises:
        NotDecoded: the indexes are invalid.
    """
    at = 0

    def number() -> int:
        nonlocal at
        found = shift = 0
        while at < len(data) and shift <= 28:
            byte = data[at]
            at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (found >> 1) ^ -(found & 1) if zigzag else found
            shift += 7
        raise NotDecoded("the indexes of its message are cut short")

    count = number()
    if not 0 <= count <= MOST_INDEXES:
        raise NotDecoded(f"it names its message by {count} indexes")
    found = tuple(number() for _ in range(count))
    if any(each < 0 for each in found):
        raise NotDecoded("an index of its message is below 0")
    # Confluent's serializers write the indexes of the file's first message, [0], as an empty list.
    return found or (0,), data[at:]


class _Plain:
    """A conversion of one message to types that JSON supports, which counts the values."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._left = MOST_VALUES

    def message(self, message: Message, depth: int) -> Any:
        """Convert a message to a dict, in which fields without presence have their default if they are not set; convert
        a message of one of Google's own types to its JSON form. Raises NotDecoded if it is nested too deep or has
        too many values.
        """
        if depth > DEEPEST:
            raise NotDecoded(f"it is nested deeper than {DEEPEST} levels")
        package, name = message.DESCRIPTOR.full_name[: len(_PACKAGE)], message.DESCRIPTOR.name
        if package == _PACKAGE and message.DESCRIPTOR.full_name == _PACKAGE + name:
            if name in _AS_TEXT:
                return _own_form(message)
            if name in _WRAPPERS:
                return self._one(message.DESCRIPTOR.fields_by_name["value"], message.value, depth)
            if name in ("Struct", "ListValue"):
                (field,) = message.DESCRIPTOR.fields
                return self._field(field, getattr(message, field.name), depth)
            if name == "Value":
                return self._value(message, depth)
            if name == "Any":
                return self._any(message, depth)
        made: dict[str, Any] = {}
        for field in message.DESCRIPTOR.fields:
            self._count()
            if field.has_presence and not message.HasField(field.name):
                continue
            made[field.name] = self._field(field, getattr(message, field.name), depth)
        return made

    def _value(self, message: Message, depth: int) -> Any:
        """Convert a google.protobuf.Value to the JSON value that it contains."""
        kind = message.WhichOneof("kind")
        if kind in (None, "null_value"):
            return None
        found = getattr(message, kind)
        if kind == "number_value" and abs(found) < _WHOLE and found.is_integer():
            return int(found)
        return self._one(message.DESCRIPTOR.fields_by_name[kind], found, depth)

    def _any(self, message: Any, depth: int) -> Any:
        """Convert the message in a google.protobuf.Any, with the name of its type added; return its bytes in base64 if
        the schema lacks the type, or if they are not a message of it.
        """
        made: dict[str, Any] = {"@type": message.type_url}
        try:
            of = message.DESCRIPTOR.file.pool.FindMessageTypeByName(message.type_url.rpartition("/")[2])
            inner = _class_of(of).FromString(message.value)
        except Exception:  # noqa: BLE001 the error's class depends on the mistake in the payload
            return {**made, "value": b64encode(message.value).decode()}
        found = self.message(inner, depth + 1)
        # A type with a JSON form of its own gets the key "value", whatever fields it has (JSON mapping of Any).
        has_fields = isinstance(found, dict) and not of.full_name.startswith(_PACKAGE)
        return {**made, **found} if has_fields else {**made, "value": found}

    def _count(self) -> None:
        self._left -= 1
        self._allowance.values -= 1
        if self._left < 0:
            raise NotDecoded(f"it has more than {MOST_VALUES:,} values")
        if self._allowance.values < 0:
            raise self._allowance.refusal()

    def _field(self, field: Any, value: Any, depth: int) -> Any:
        if not field.is_repeated:
            return self._one(field, value, depth)
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            of = entry.fields_by_name["value"]
            # Sort a map, which has no order, so that equal records look alike.
            return {_text(key): self._one(of, value[key], depth) for key in sorted(value)}
        return [self._one(field, each, depth) for each in value]

    def _one(self, field: Any, value: Any, depth: int) -> Any:
        self._count()
        if field.message_type is not None:
            return self.message(value, depth + 1)
        if field.enum_type is not None:
            known = field.enum_type.values_by_number.get(value)
            return value if known is None else known.name
        if isinstance(value, bytes):
            return b64encode(value).decode()
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value


def _class_of(descriptor: Any) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(descriptor)


def _text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _own_form(message: Message) -> Any:
    """Return the JSON form of a message of one of Google's own types, such as a timestamp. If the form can't
    represent the message's value, return the message's fields.
    """
    from google.protobuf import json_format

    try:
        return json_format.MessageToDict(message)
    except Exception:  # noqa: BLE001 such as for a time outside of the calendar
        return {field.name: _plain_number(value) for field, value in message.ListFields()}


def _plain_number(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)
