"""How far groups have read topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class TopicReaders(NamedTuple):
    """How far groups have read a topic. committed: (group, partition) -> offset. groups: how many there are; looked_at:
    how many of them were asked for. problem: why some of these could not be read, ``""`` where all were."""

    committed: Mapping[tuple[str, int], int]
    groups: int
    looked_at: int
    problem: str = ""
