"""The seam where bytes of records become what is shown, searched and copied. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from console.model.record_masks import MaskPath, hidden, without_masked
from console.model.records import Encoding, Header, Record
from console.model.schemas import KEY_HEADER, VALUE_HEADER, NotDecoded, Schema, SchemaKey, framed

LARGEST_PAYLOAD = 1 << 20
"""Bytes of a key or a value that are decoded by a schema."""
MOST_MADE = 64 << 20
"""Bytes of JSON that are made of the records of one answer."""


class RecordDecoder(ABC):
    """Makes records readable, and hides what a context masks: what it returns is all that may be shown of them."""

    @abstractmethod
    def readable(self, record: Record) -> Record:
        """Return a record with key, value and headers as they may be shown, by what is known now.

        Called in any thread; nothing is waited for.
        """

    @abstractmethod
    def missing(self, record: Record) -> Iterable[SchemaKey]:
        """Return the schemas that would make more of a record readable, and have to be asked for first."""


class PlainDecoder(RecordDecoder):
    """Leaves contents as they were sent, but for masked fields of JSON."""

    def __init__(self, mask: Sequence[MaskPath]) -> None:
        self._mask = mask

    def readable(self, record: Record) -> Record:
        """Return a record with masked fields replaced."""
        if not self._mask:
            return record
        return replace(
            record,
            key=without_masked(record.key, self._mask),
            value=without_masked(record.value, self._mask),
            headers=tuple((name, without_masked(value, self._mask)) for name, value in record.headers),
        )

    def missing(self, _record: Record) -> Iterable[SchemaKey]:
        """Return nothing."""
        return ()


class SchemaDecoder(RecordDecoder):
    """Decodes what names a schema of a registry.

    known: a schema, why there is none, or None where it has to be asked for.
    """

    def __init__(self, mask: Sequence[MaskPath], known: Callable[[SchemaKey], Schema | str | None]) -> None:
        self._mask = mask
        self._plain = PlainDecoder(mask)
        self._known = known

    def readable(self, record: Record) -> Record:
        """Return a record with key and value as JSON where their schemas are known, and masked fields replaced."""
        plain = self._plain.readable(record)
        key, key_encoding = self._part(record.key, record.headers, KEY_HEADER)
        value, value_encoding = self._part(record.value, record.headers, VALUE_HEADER)
        if key_encoding is None and value_encoding is None:
            return plain
        return replace(
            plain,
            key=plain.key if key_encoding is None else key,
            value=plain.value if value_encoding is None else value,
            key_encoding=key_encoding,
            value_encoding=value_encoding,
        )

    def missing(self, record: Record) -> Iterable[SchemaKey]:
        """Return the schemas that key and value name and that are not known."""
        for data, header in ((record.key, KEY_HEADER), (record.value, VALUE_HEADER)):
            named = framed(data, record.headers, header)
            if named is not None and self._known(named.key) is None:
                yield named.key

    def _part(
        self, data: bytes | None, headers: tuple[Header, ...], header: bytes
    ) -> tuple[bytes | None, Encoding | None]:
        """Return a key or a value as it may be shown, and what its schema made of it."""
        named = framed(data, headers, header)
        if named is None or data is None:
            return data, None
        schema = self._known(named.key)
        if isinstance(schema, Schema):
            try:
                if len(named.payload) > LARGEST_PAYLOAD:
                    raise NotDecoded(f"more than {LARGEST_PAYLOAD >> 20} MiB are not decoded")
                made = schema.decode(named.payload, named.indexes)
                form = schema.kind.lower()
                sent = None if self._mask else data
                return without_masked(made, self._mask), Encoding(form, str(schema), len(data), sent=sent)
            except NotDecoded as problem:
                why = str(problem)
        else:
            why = schema or "its schema is asked for"
        name = str(schema if isinstance(schema, Schema) else named.key)
        return (hidden(data) if self._mask else data), Encoding("", name, len(data), why)
