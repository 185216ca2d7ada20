"""The seam where bytes of records become what is shown, searched and copied. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec.structs import replace

from console.model.record_masks import MaskPath, without_masked
from console.model.records import Record


class RecordDecoder(ABC):
    """Makes records readable, and hides what a context masks: what it returns is all that may be shown of them."""

    @abstractmethod
    def readable(self, record: Record) -> Record:
        """Return a record with key, value and headers as they may be shown; called in any thread."""


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
