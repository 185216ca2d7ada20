"""Filters of records. A filter also names bytes that every record that passes it must contain."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from console.model.record_conditions import Literal, condition
from console.model.records import Record

VALUE, KEY = "value", "key"


class RecordFilter(Struct, frozen=True):
    """Conditions that must all hold. An empty one holds for every record."""

    text: str = ""
    """A text that the key, the value or a header has to contain; ``""`` for any contents."""
    key: str = ""
    """A glob (``order-*``) that has to match the whole key; ``""`` for any key."""
    key_only: bool = False
    """Whether to search only the partitions to which the usual partitioners would send the key."""
    where: str = ""
    """A condition of `console.model.record_conditions`; ``""`` for none."""
    without: str = ""
    """`VALUE` or `KEY`: the part that must be null; ``""`` for neither."""

    def __bool__(self) -> bool:
        return bool(self.text or self.key or self.where or self.without)

    @property
    def whole_key(self) -> bytes | None:
        """The key to search for if it has no wildcards; None if it has some, or if the filter has no key."""
        return self.key.encode() if self.key and not any(sign in self.key for sign in "*?[") else None

    def literals(self) -> tuple[Literal, ...]:
        """Return the texts that the contents of every matching record contain, in the form that may be shown: masks and
        schemas change the bytes of contents.
        """
        found = [Literal(self.text.encode(), is_escapable=False)] if self.text else []
        if (key := self.whole_key) is not None and self.key.isascii():
            found.append(Literal(key, is_escapable=False))
        return (*found, *(condition(self.where).literals if self.where else ()))

    def matches(self, record: Record) -> bool:
        """Return whether a record passes, in the form that may be shown."""
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
