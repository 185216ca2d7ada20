"""The groups of the newer protocols, as frozen values: consumer (KIP-848), share (KIP-932) and streams groups
(KIP-1071).

Only scenarios create them: clients can't join them in the embedded cluster. Their committed offsets are stored as those
of classic groups (console.embedded.groups).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

Partitions = dict[str, tuple[int, ...]]
"""Topic -> partition numbers; in streams groups also subtopology -> task numbers."""


NEWER_FROM = (4, 0)
"""The first release in which these protocols are enabled."""


class Tasks(Struct, frozen=True):
    """The active, standby and warm-up tasks of a member of a streams group."""

    active: Partitions = field(default_factory=dict)
    standby: Partitions = field(default_factory=dict)
    warmup: Partitions = field(default_factory=dict)


class Subtopology(Struct, frozen=True):
    """A subtopology of a streams group: the topics that it reads and writes, and those that its stores use."""

    sources: tuple[str, ...] = ()
    repartition_sources: tuple[str, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """All topics that the subtopology reads."""
        return *self.sources, *self.repartition_sources


class Node(Struct, frozen=True):
    """A node in the topology of a streams group, as the application describes it (KIP-1331)."""

    name: str
    kind: int
    """Kafka's number of the kind of node."""
    sources: tuple[str, ...] = ()
    sink: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


class NewerMember(Struct, frozen=True):
    """A member of a group of a newer protocol."""

    id: str
    client_id: str
    client_host: str
    epoch: int
    subscribed: tuple[str, ...] = ()
    assigned: Partitions = field(default_factory=dict)
    """Topic -> the partitions that the member has now. Empty for members of streams groups, which have `tasks`."""
    target: Partitions = field(default_factory=dict)
    """Topic -> the partitions that the member shall have. Empty for members of streams groups, which have
    `target_tasks`.
    """
    tasks: Tasks = Tasks()
    target_tasks: Tasks = Tasks()


class NewerGroup(Struct, frozen=True):
    """The state of a group of a newer protocol, apart from its committed offsets."""

    type: Literal["consumer", "share", "streams"]
    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[NewerMember, ...] = ()
    assignor: str = ""
    topology_epoch: int = 0
    subtopologies: dict[str, Subtopology] = field(default_factory=dict)
    """Id of a subtopology -> the subtopology; for streams groups only."""
    nodes: dict[str, tuple[Node, ...]] | None = None
    """Id of a subtopology -> its nodes, for streams groups only; None if the brokers have no plugin that stores them.
    """
    acknowledged: int = 0
    """The number of records after the start offset that a share group has already processed, in each partition."""

    @property
    def subscribed(self) -> frozenset[str]:
        """The topics to which the members subscribe."""
        return frozenset(topic for member in self.members for topic in member.subscribed)
