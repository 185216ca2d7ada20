"""What a report on some hours of a cluster holds, read from a lake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from console.history.reader.drift import drift, violations
from console.history.reader.freshness import freshness
from console.history.reader.rows import Change, Drifted, Freshness, Gap, Minute, Usage, Violation
from console.history.reader.tables import Tables
from console.history.reader.timeline import Wanted, first_look, gaps, timeline
from console.history.reader.usage import Window, hottest, minutes

HOURS = timedelta(hours=24)
"""The time that a report is on where none is named: so much before the last look."""
CHANGES = 2_000
PAIRS = 30
PLOTTED = 6


@dataclass(frozen=True, slots=True)
class Report:
    """A cluster from `since` until `until`, UTC. truncated: there were more changes, of which the latest are here.
    plotted: the hottest pairs with all their minutes."""

    cluster_id: str
    lake: str
    since: datetime
    until: datetime
    made: datetime
    fresh: tuple[Freshness, ...]
    gaps: tuple[Gap, ...]
    changes: tuple[Change, ...]
    first_look: datetime | None
    truncated: bool
    drift: tuple[Drifted, ...]
    usage: tuple[Usage, ...]
    plotted: tuple[tuple[Usage, tuple[Minute, ...]], ...]
    violations: tuple[Violation, ...]


def gather(
    tables: Tables, cluster_id: str, since: datetime | None, until: datetime | None, made: datetime
) -> Report | None:
    """Everything of a cluster between two times; None where the lake has nothing of it. Raises LakeError."""
    fresh = freshness(tables, cluster_id)
    known = [each.as_of for each in fresh if each.as_of is not None]
    if not known:
        return None
    # The last minute that was seen is a part of it.
    until = until or max(known) + timedelta(minutes=1)
    since = since or until - HOURS
    changes = timeline(tables, Wanted(cluster_id, since=since, until=until), CHANGES + 1)
    window = Window(cluster_id, since, until)
    used = hottest(tables, window, PAIRS)
    return Report(
        cluster_id,
        tables.where,
        since,
        until,
        made,
        tuple(fresh),
        tuple(gap for gap in gaps(tables, cluster_id, since) if gap.since < until),
        tuple(changes[:CHANGES]),
        first_look(tables, cluster_id),
        len(changes) > CHANGES,
        tuple(drift(tables, cluster_id)),
        tuple(used),
        tuple((usage, tuple(minutes(tables, window, usage.pair))) for usage in used[:PLOTTED]),
        tuple(
            each
            for each in violations(tables, cluster_id, also_past=True)
            if each.first_seen < until and (each.last_seen is None or each.last_seen > since)
        ),
    )
