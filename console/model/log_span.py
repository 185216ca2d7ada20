"""How far a partition's log reaches, as ListOffsets (KIP-79) tells it."""

from __future__ import annotations

from typing import NamedTuple


class LogSpan(NamedTuple):
    """Offsets of a partition: its first record, the end, and the first record that is not older than some moment (the
    end where all are older)."""

    earliest: int
    latest: int
    since: int
