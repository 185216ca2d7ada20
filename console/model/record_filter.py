"""Filters of records. A filter also provides texts that every matching record contains, so that other records need not
be decoded.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from console.model import patterns
from console.model.record_conditions import Literal, condition
from console.model.records import Record

VALUE, KEY = "value", "key"


class RecordFilter(Struct, frozen=True):
    """Conditions that must all hold. A filter without conditions matches every record."""

    text: str = ""
    """A text that the key, the value or a header has to contain; ``""`` for no such condition."""
    key: str = ""
    """A glob (``order-*``) that has to match the whole key; ``""`` for no such condition."""
    key_only: bool = False
    """Whether to search only the partitions that common partitioners choose for the key."""
    where: str = ""
    """A condition of `console.model.record_conditions`; ``""`` for no such condition."""
    without: str = ""
    """`VALUE` or `KEY`, the part that must be null; ``""`` for no such condition."""

    def __bool__(self) -> bool:
        return bool(self.text or self.key or self.where or self.without)

    @property
    def whole_key(self) -> bytes | None:
        """The key to search for, as bytes; None if the filter has no key, or its key has wildcards."""
        return self.key.encode() if self.key and not patterns.has_signs(self.key) else None

    def literals(self) -> tuple[Literal, ...]:
        """Return texts that every matching record contains, in its key, value or headers as they may be shown: masks
        and schemas change the bytes.
        """
        found = [Literal(self.text.encode(), is_escapable=False)] if self.text else []
        if (key := self.whole_key) is not None and self.key.isascii():
            found.append(Literal(key, is_escapable=False))
        return (*found, *(condition(self.where).literals if self.where else ()))

    def matches(self, record: Record) -> bool:
        """Return whether a record fulfils all conditions. record: with masked fields hidden, as it may be shown."""
        if self.without and (record.value if self.without == VALUE else record.key) is not None:
            return False
        if self.text and not _contains(record, self.text.encode()):
            return False
        if self.key and (record.key is None or not fnmatchcase(record.key.decode(errors="replace"), self.key)):
            return False
        return not self.where or condition(self.where).holds(record)


def _contains(record: Record, text: bytes) -> bool:
    parts = (record.key, record.value, *(part for header in record.headers for part in header))
    return any(text in part for part in parts if part is not None)
