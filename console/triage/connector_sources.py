"""Source connectors that clients created or deleted while kac watched, with the topics to which they write. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model import connect
from console.model.differing import differing
from console.model.snapshot import Snapshot

KEPT, MOST = timedelta(minutes=30), 50
"""The period for which such changes are kept, and their maximum number."""


class SourceChange(NamedTuple):
    """A source connector that was created, or deleted."""

    connector: str
    """The name of the connector, as CLUSTER/NAME."""
    created: bool
    topics: tuple[str, ...]
    """The topics to which it was seen to write; for a created one, as of the last poll."""
    after: datetime
    """The time of the last poll before the change, UTC."""
    at: datetime
    """The time of the first poll with the change, UTC."""


def sources_after(
    known: Sequence[SourceChange], before: Snapshot, now: Snapshot, after: datetime, at: datetime
) -> Sequence[SourceChange]:
    """Return the changes after one more poll; the same object if nothing changed. The deletion of a source that was
    created again is removed.

    Args:
        known: the changes so far.
        before, now: the snapshots of the last poll and of this one.
        after, at: the times of these polls, UTC.
    """
    if before.connect is now.connect and not (known and known[0].at <= at - KEPT):
        return known
    found = {each.connector: each for each in known if each.at > at - KEPT}
    for name, was, cluster in differing(before.connect, now.connect):
        if was is not None and cluster is not None:
            found |= {each.connector: each for each in _changes(name, was, cluster, found, after, at)}
    return tuple(sorted(found.values(), key=lambda each: each.at)[-MOST:])


def _changes(
    cluster: str,
    was: connect.ConnectCluster,
    now: connect.ConnectCluster,
    found: dict[str, SourceChange],
    after: datetime,
    at: datetime,
) -> Iterator[SourceChange]:
    for connector, one, other in differing(was.connectors, now.connectors):
        name = connect.full_name(cluster, connector)
        if other is None and one is not None and one.kind == connect.SOURCE:
            yield SourceChange(name, False, one.topics, after, at)
        elif other is not None and other.kind == connect.SOURCE:
            if one is None:
                yield SourceChange(name, True, other.topics, after, at)
            elif (known := found.get(name)) is not None and known.created:
                yield known._replace(topics=other.topics)
