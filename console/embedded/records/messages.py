"""What brokers of each release say about records (LogValidator, Log.append; measured)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_SHOWN = 3
"""Record errors that a summary names."""
_ALL = (
    "One or more records have been rejected due to {count} record errors in total, and only showing the first three "
    "errors at most: [{shown}]"
)


INVALID_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"


class _Words(NamedTuple):
    keyless: str
    rejected: str


_WORDS: Mapping[str, _Words] = {
    "2.8": _Words(
        "Compacted topic cannot accept message without key in topic partition {where}.",
        "One or more records have been rejected",
    ),
    "3.9": _Words("Compacted topic cannot accept message without key in topic partition {where}", _ALL),
    "4.3": _Words("Compacted topic cannot accept message without key in topic partition {where}", _ALL),
}


def keyless(release: str, where: str) -> str:
    """A compacted topic takes no records without a key. where: ``orders-0``."""
    return _WORDS[release].keyless.format(where=where)


def rejected(release: str, errors: Sequence[tuple[int, str]]) -> str:
    """Some records of a batch, by their place, are at fault."""
    shown = ", ".join(f"RecordError(batchIndex={place}, message='{text}')" for place, text in errors[:_SHOWN])
    return _WORDS[release].rejected.format(count=len(errors), shown=shown)
