"""Turns the bytes of records into the text that is shown, searched and copied. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from console.model import schemas
from console.model.record_conditions import decoded_json
from console.model.record_masks import MaskPath, hidden, is_binary, without_masked
from console.model.records import Encoding, Record

LARGEST_PAYLOAD = 1 << 20
"""Maximum size in bytes of a key or a value that is decoded with a schema."""


KEY, VALUE = "key", "value"
"""The parts of a record that are decoded."""


class Decoded(NamedTuple):
    """The result of decoding a key or a value."""

    form: str
    """The encoding, one of those of `Encoding.form`."""
    schema: str
    """The name of the schema; for a record that needs no schema, the name of the kind of record."""
    made: bytes
    """The decoded content as JSON."""
    is_changed: bool = False
    """Whether the decoder left out or replaced a part of the contents; kac then does not show the original bytes
    either.
    """
    aliases: Mapping[str, frozenset[str]] = MappingProxyType({})
    """A field's name -> its other names in the schema, under which it is masked as well."""


class OwnDecoder(NamedTuple):
    """A decoder that needs no schema registry."""

    claims: Callable[[Record, str], bool]
    """A function from a record and a part (``key`` or ``value``, not empty) to whether this decoder has to decode the
    part.
    """
    decode: Callable[[Record, str, schemas.Allowance], Decoded]
    """A function from a record, a part and the allowance to the decoded part. Raises NotDecoded with the reason if it
    can't decode it.
    """
    topics: Callable[[str], bool]
    """A function from a topic to whether its records may have parts that this decoder claims."""
    changes: Callable[[str], bool]
    """A function from a topic to whether the contents of its records are surely shown in another form than they were
    sent in.
    """


class RecordDecoder:
    """Decodes records, and hides the fields that a context masks: kac shows nothing of a record but this class's
    results.

    It decodes contents that one of the context's own decoders claims, and contents with a reference to a schema of a
    registry. It leaves other contents unchanged except for masked fields.

    Attributes:
        mask: the paths of the masked fields.
        known: a function from a schema's key to the schema, the reason for its absence, or None if it has to be
            requested; None in a context without a registry.
        own: the decoders that come before the registry; the first one that claims a part decodes it.
    """

    def __init__(
        self,
        mask: Sequence[MaskPath],
        known: Callable[[schemas.SchemaKey], schemas.Schema | str | None] | None = None,
        own: Sequence[OwnDecoder] = (),
    ) -> None:
        self._mask = mask
        self._known = known
        self._own = own
        self._by_topic: dict[str, tuple[OwnDecoder, ...]] = {}

    def is_plain_in(self, topics: Iterable[str]) -> bool:
        """Return whether the contents of these topics are shown exactly as they were sent, so that a search may compare
        bytes.
        """
        changed = (own.topics(topic) and own.changes(topic) for topic in topics for own in self._own)
        return not self._mask and self._known is None and not any(changed)

    def readable(self, record: Record, allowance: schemas.Allowance) -> Record:
        """Return a record with key, value and headers in the form that may be shown, decoded by the schemas that are
        known now.

        It may take seconds, so it must not run in the thread of an event loop; it does not wait for a registry.

        Args:
            record: the original record.
            allowance: the remaining budget for decoding the response. Contents that exceed it are not decoded.
        """
        if self._is_plain(record):
            return record
        key, key_encoding = self._part(record, record.key, schemas.KEY_HEADER, allowance)
        value, value_encoding = self._part(record, record.value, schemas.VALUE_HEADER, allowance)
        if not self._mask and key_encoding is None and value_encoding is None:
            return record
        headers = record.headers
        if self._mask:
            headers = tuple((name, without_masked(value, self._mask)) for name, value in headers)
        return replace(
            record, key=key, value=value, headers=headers, key_encoding=key_encoding, value_encoding=value_encoding
        )

    def _is_plain(self, record: Record) -> bool:
        """Return whether a record is surely shown as it was sent; a quick check that is True for most records."""
        if self._mask or self._known is not None or record.headers:
            return False
        is_framed = _may_be_framed(record.key) or _may_be_framed(record.value)
        return not is_framed and (
            self._own_decoder(record, record.value, schemas.VALUE_HEADER) is None
            and self._own_decoder(record, record.key, schemas.KEY_HEADER) is None
        )

    def named(self, record: Record) -> Iterable[schemas.SchemaKey]:
        """Yield the references to a registry's schemas in key and value; parts that an own decoder claims are left
        out.
        """
        for data, header in ((record.key, schemas.KEY_HEADER), (record.value, schemas.VALUE_HEADER)):
            named = self._framed(record, data, header) if self._known is not None else None
            if named is not None and self._own_decoder(record, data, header) is None:
                yield named.key

    def missing(self, record: Record) -> Iterable[schemas.SchemaKey]:
        """Yield the references in key and value to schemas that have to be requested from the registry."""
        for key in self.named(record):
            if self._known is not None and self._known(key) is None:
                yield key

    def _own_decoder(self, record: Record, data: bytes | None, header: bytes) -> OwnDecoder | None:
        """Return the own decoder that claims a key or a value; None if no decoder claims it, or it is empty.

        Args:
            data: the key or the value.
            header: `KEY_HEADER` or `VALUE_HEADER`, according to the part.
        """
        if not data:
            return None
        if (own := self._by_topic.get(record.topic)) is None:
            own = tuple(each for each in self._own if each.topics(record.topic))
            self._by_topic[record.topic] = own
        for each in own:
            if each.claims(record, _PARTS[header]):
                return each
        return None

    def _framed(self, record: Record, data: bytes | None, header: bytes) -> schemas.Framed | None:
        """Return a key or a value with its reference to a schema; None if it has no reference. If the context has a
        registry, binary contents without a reference count as a reference to the newest schema of the topic's subject.
        """
        named = schemas.framed(data, record.headers, header)
        if named is not None or not data or self._known is None or not is_binary(data):
            return named
        return schemas.Framed(schemas.SchemaKey(subject=f"{record.topic}-{_PARTS[header]}"), data)

    def _part(
        self, record: Record, data: bytes | None, header: bytes, allowance: schemas.Allowance
    ) -> tuple[bytes | None, Encoding | None]:
        """Return a key or a value in the form that may be shown, and the result of decoding it; None as the result if
        it has no schema and no decoder.
        """
        own = self._own_decoder(record, data, header)
        if own is not None and data is not None:
            return self._by_own(own, record, data, _PARTS[header], allowance)
        named = self._framed(record, data, header)
        if named is None or data is None:
            return without_masked(data, self._mask), None
        if self._known is None:
            return self._without_registry(named, data)
        schema = self._known(named.key)
        is_bare = bool(named.key.subject) and not named.key.of
        if is_bare and not isinstance(schema, schemas.Schema):
            return without_masked(data, self._mask), None  # the contents have no sign of a schema
        if isinstance(schema, schemas.Schema):
            try:
                made = self._made(schema, named, is_bare=is_bare, allowance=allowance)
                sent = None if self._mask else data
                shown = without_masked(made, self._mask, schema.aliases)
                note = _note(schema, record.topic, is_bare=is_bare)
                return shown, Encoding(schema.kind.lower(), str(schema), len(data), sent=sent, note=note)
            except schemas.NotDecoded as problem:
                why = f"it names no schema, and this is the topic's newest: {problem}" if is_bare else str(problem)
        else:
            why = schema or "its schema is asked for"
        name = str(schema if isinstance(schema, schemas.Schema) else named.key)
        return self._as_sent(data), Encoding("", name, len(data), why)

    def _by_own(
        self, own: OwnDecoder, record: Record, data: bytes, part: str, allowance: schemas.Allowance
    ) -> tuple[bytes | None, Encoding]:
        """Return a key or a value in the form that may be shown, decoded by an own decoder, and the result of decoding
        it.
        """
        try:
            found = own.decode(record, part, allowance)
        except schemas.NotDecoded as problem:
            return self._as_sent(data), Encoding("", "", len(data), str(problem))
        sent = None if self._mask or found.is_changed else data
        shown = without_masked(found.made, self._mask, found.aliases)
        return shown, Encoding(found.form, found.schema, len(data), sent=sent)

    def _as_sent(self, data: bytes) -> bytes | None:
        """Return contents that were not decoded, with masked fields replaced. If fields are masked and the contents are
        no JSON object or array, return a text that says only their size.
        """
        return without_masked(data, self._mask) if not self._mask or _is_document(data) else hidden(data)

    def _without_registry(self, named: schemas.Framed, data: bytes) -> tuple[bytes | None, Encoding | None]:
        in_front = named.payload is not data
        if _is_document(data) or (in_front and (len(data) == _NUMBER or named.key.id >= _MOST_LIKELY)):
            # The contents are readable already; or they are as long as a number of Java's own serializer, which may
            # begin with a zero, too.
            return self._as_sent(data), None
        asked = _NOT_ASKED.get(named.key.of, "the context has no schema registry")
        name = str(named.key) if named.key.of else f"{named.key} in Confluent's form"
        return self._as_sent(data), Encoding("", "", len(data), f"it names a schema, {name}, and {asked}")

    def _made(
        self, schema: schemas.Schema, named: schemas.Framed, *, is_bare: bool, allowance: schemas.Allowance
    ) -> bytes:
        if is_bare and self._mask:
            # Another schema than the right one could have another field in the place of a masked one.
            raise schemas.NotDecoded("fields are masked here, so it is not guessed at")
        if is_bare and (schema.kind != schemas.AVRO or not schema.name):
            raise schemas.NotDecoded(f"a schema of {schema.kind} says too little of bytes to know them by it")
        if len(named.payload) > LARGEST_PAYLOAD:
            raise schemas.NotDecoded(f"more than {LARGEST_PAYLOAD >> 20} MiB are not decoded")
        return schema.decode(named.payload, named.indexes, allowance)


def _may_be_framed(data: bytes | None) -> bool:
    """Return whether contents may refer to a schema, by their first byte; `schemas.framed` decides it exactly."""
    return data is not None and data[:1] in schemas.FRAME_BEGINS


def _is_document(data: bytes) -> bool:
    try:
        return isinstance(decoded_json(data), dict | list)
    except ValueError:
        return False


_PARTS = {schemas.KEY_HEADER: KEY, schemas.VALUE_HEADER: VALUE}
_NOT_ASKED = {schemas.GLUE: "no Glue registry is asked", schemas.FINGERPRINT: "kac asks for ids and GUIDs alone"}
_NUMBER = 8
"""Size of a Java long in bytes."""
_MOST_LIKELY = 1 << 24
"""In a context without a registry, a number that is at least this one is not taken for a schema's id: registries
count ids from 1.
"""


def _note(schema: schemas.Schema, topic: str, *, is_bare: bool) -> str:
    """Return a remark on the schema that decoded a part of a record; ``""`` if there is no remark.

    Args:
        is_bare: whether the contents had no reference, so that the newest schema of the topic's subject was used.
    """
    if is_bare:
        return "it names no schema: decoded by the newest of the topic's subject"
    if schema.doubt or schema.is_of(topic):
        return schema.doubt
    return f"its schema belongs to no subject of this topic: it is registered under {', '.join(schema.subjects[:3])}"
