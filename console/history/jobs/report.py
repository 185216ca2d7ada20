"""What a job did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Report:
    """What a run did.

    rows: written, by table. unchanged: inputs that had nothing new. notes: what the one who runs it should know, in
    words: a lock taken over, an input that could not be read.
    """

    run_id: str
    job: str
    rows: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
