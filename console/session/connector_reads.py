"""Reads the data around connectors: the lag of the groups of sinks, and the records in the topics of dead letters."""

from __future__ import annotations

from console.model.parts import Part
from console.present.connectors import connector_rows
from console.session.snapshot_reader import SnapshotReader, read_log_ranges


async def read_around_connectors(reader: SnapshotReader, *, times: int = 0) -> None:
    """Read the lag of the sinks' groups and the offsets of the topics of dead letters. Connect was read before.

    Args:
        times: most committed offsets whose record timestamps are read, as for `SnapshotReader.poll_groups`.

    Raises:
        AdminError: the connection to the cluster is lost.
    """
    rows = [*connector_rows(reader.snapshot)]
    groups = sorted({row.group for row in rows if row.group is not None})
    if groups and Part.GROUPS not in reader.snapshot.read_at:
        await reader.read_groups()
    await reader.poll_groups([name for name in groups if name in reader.snapshot.groups], times=times)
    dead = {row.dead_letters for row in rows if row.dead_letters}
    if unknown := sorted(dead - reader.snapshot.topics.keys()):
        await reader.read_topics(unknown)
    topics = [reader.snapshot.topics[name] for name in sorted(dead) if name in reader.snapshot.topics]
    if places := [(topic.name, each.number) for topic in topics for each in topic.partitions]:
        await reader.keep(read_log_ranges(reader.client, places))
