"""Reads about connectors and their topics: the groups of sink connectors, dead-letter topics, the groups that read a
topic, the config keys of connector classes, connectors' offsets, and the log ends of topics that MirrorMaker copies.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from console.model import snapshot as refresh
from console.model.cluster import partition_in
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.present.connectors import connector_rows
from console.present.mirrors import checkpoint_rows, sync_rows
from console.session.snapshot_reader import Client, Learned, read_log_ranges

FEW_GROUPS = 100
"""If the cluster has at most this many groups, all are described to find the readers of a topic; otherwise only the
groups of sink connectors.
"""


def sink_groups(snapshot: Snapshot) -> list[str]:
    """Return the names of the listed groups that belong to sink connectors, sorted."""
    groups = {row.group for row in connector_rows(snapshot) if row.group is not None}
    return sorted(groups & snapshot.groups.keys())


def asked_for_users(snapshot: Snapshot) -> list[str]:
    """Return the groups to describe in order to find the users of topics: all listed groups if there are at most
    `FEW_GROUPS` (100), otherwise those of sink connectors.
    """
    return sorted(snapshot.groups) if len(snapshot.groups) <= FEW_GROUPS else sink_groups(snapshot)


async def read_mirrored_ends(client: Client, snapshot: Snapshot) -> Learned:
    """Read the start and end offsets of the topics that MirrorMaker copied, if it has checkpoints or offset syncs of
    them. Raises AdminError.
    """
    places = {(row.checkpoint.topic, row.checkpoint.partition) for row in checkpoint_rows(snapshot)}
    places |= {(row.topic, row.sync.partition) for row in sync_rows(snapshot)}
    known = snapshot.topics
    return await read_log_ranges(client, sorted(each for each in places if partition_in(known.get(each[0]), each[1])))


async def read_dead_letters(client: Client, snapshot: Snapshot) -> Learned:
    """Read the start and end offsets of the connectors' dead-letter topics. Raises AdminError."""
    from console.admin import topics

    names = sorted({row.dead_letters for row in connector_rows(snapshot) if row.dead_letters})
    if not names:
        return lambda known, _at: known
    listing = await client.run(topics.describe_topics, names)
    places = [(name, each.number) for name, topic in listing.topics.items() for each in topic.partitions]
    ranges = await read_log_ranges(client, places)
    return lambda known, at: ranges(refresh.with_topics(known, listing, whole=False, at=at), at)


async def read_connector_classes(client: Client, classes: Iterable[tuple[str, str]]) -> Learned:
    """Read the config keys that connector classes define. classes: pairs of a Connect cluster and a class; a class that
    the workers do not have gets no keys.
    """
    from console.admin.connect import describe_classes

    found = await client.run(describe_classes, sorted(classes))
    return lambda known, _at: replace(
        known, connector_classes=refresh.merged(known.connector_classes, found.sets, found.failures)
    )


async def read_connector_offsets(client: Client, names: Iterable[str]) -> Learned:
    """Read the offsets of connectors. Offsets that the workers do not return become unknown in the snapshot. names:
    kac's names of the connectors.
    """
    from console.admin.connect import list_offsets

    asked = sorted(names)
    found, failures = await client.run(list_offsets, asked)
    return lambda known, _at: refresh.with_failures(
        refresh.with_connector_offsets(known, asked, found), Part.CONNECTOR_OFFSETS, failures.items()
    )
