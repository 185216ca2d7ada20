"""Topics that producers stopped writing to at a change. Pure."""

from __future__ import annotations

from datetime import datetime

from console.triage.observations import Observations

WROTE, QUIET, SETTLES = 30.0, 12.0, 5.0
"""Limits in seconds: from the last write to a topic to the change; without new records since; for records in flight
that still arrive after the change.
"""


def fell_silent(
    observations: Observations, topic: str, after: datetime, at: datetime, broker: int | None = None
) -> bool:
    """Return whether a topic was written to until just before a change, and not since.

    Args:
        after: the last read without the change.
        at: the first read with it.
        broker: the partitions that it leads; None for all.
    """
    logs = observations.last.facts.logs
    known = observations.last.snapshot.topics.get(topic)
    partitions = known.partitions if known is not None else ()
    partitions = tuple(each for each in partitions if broker in (None, each.leader))
    grew = [log.grew_at for each in partitions if (log := logs.logs.get((topic, each.number))) is not None]
    last = max((moment for moment in grew if moment is not None), default=None)
    # Silence is measured at the last read of the logs, not now: offsets are read less often than polls are taken.
    if last is None or logs.at - last < QUIET:
        return False
    return after.timestamp() - WROTE <= last <= at.timestamp() + SETTLES
