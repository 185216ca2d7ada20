"""Reads why a list came back empty: there is nothing, or nothing to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from console.contexts import Context
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.model.visibility import unseen_groups, unseen_topics


class Reader(Protocol):
    """What is needed of what reads a cluster."""

    context: Context
    snapshot: Snapshot

    async def read_cluster(self) -> None:
        """Read the cluster, and what the principal may do on it."""
        ...

    async def read_log_dirs(self) -> None:
        """Read the directories of all brokers."""
        ...


async def why_no_topics(reader: Reader) -> Mapping[str, Failure]:
    """The failure of the list of topics, none where the disks show that there is no topic."""
    await reader.read_log_dirs()
    unseen = unseen_topics(reader.snapshot, reader.context.kafka_principal)
    return {"": unseen} if unseen is not None else {}


async def why_no_groups(reader: Reader) -> Mapping[str, Failure]:
    """The failure of the list of groups, none where the principal sees all groups."""
    if "cluster" not in reader.snapshot.read_at:
        await reader.read_cluster()  # its answer has the rights
    unseen = unseen_groups(reader.snapshot, reader.context.kafka_principal)
    return {"": unseen} if unseen is not None else {}
