"""How far a partition's log reaches, as ListOffsets (KIP-79) tells it."""

from __future__ import annotations

from typing import NamedTuple


class LogSpan(NamedTuple):
    """Offsets of a partition: its first record, the end, the first record that is not older than some moment (the end
    where all are older), and the first that a segment with that record can begin with, since time ends segments (0
    where that is not known)."""

    earliest: int
    latest: int
    since: int
    began: int = 0
