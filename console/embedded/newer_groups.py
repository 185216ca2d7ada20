"""Groups of the newer protocols, as data: consumer (KIP-848), share (KIP-932) and streams groups (KIP-1071).

Scenarios create them. Clients can't join one here; their offsets are those of any group (console.embedded.groups).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

Partitions = dict[str, tuple[int, ...]]
"""Topic -> numbers of its partitions, or subtopology -> its tasks."""


NEWER_FROM = (4, 0)
"""First release in which these protocols are enabled."""


class Tasks(Struct, frozen=True):
    """The tasks of a member of a streams group."""

    active: Partitions = field(default_factory=dict)
    standby: Partitions = field(default_factory=dict)
    warmup: Partitions = field(default_factory=dict)


class Subtopology(Struct, frozen=True):
    """A part of a streams group's topology: the topics that it reads, writes, and uses for its stores."""

    sources: tuple[str, ...] = ()
    repartition_sources: tuple[str, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """The topics that the subtopology reads."""
        return *self.sources, *self.repartition_sources


class Node(Struct, frozen=True):
    """A node of a streams group's topology, as an application describes it (KIP-1331)."""

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
    """Topic -> the partitions that are assigned to the member; members of streams groups have `tasks` instead."""
    target: Partitions = field(default_factory=dict)
    """Topic -> the partitions of the member's target assignment; members of streams groups have `target_tasks`
    instead."""
    tasks: Tasks = Tasks()
    target_tasks: Tasks = Tasks()


class NewerGroup(Struct, frozen=True):
    """The state of a group that the classic protocol does not have."""

    type: Literal["consumer", "share", "streams"]
    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[NewerMember, ...] = ()
    assignor: str = ""
    topology_epoch: int = 0
    subtopologies: dict[str, Subtopology] = field(default_factory=dict)
    """The subtopologies of a streams group, by id."""
    nodes: dict[str, tuple[Node, ...]] | None = None
    """The nodes of each subtopology of a streams group; None if no plugin stores them."""
    acknowledged: int = 0
    """The number of records after the start offset of a share group that are processed, in each partition."""

    @property
    def subscribed(self) -> frozenset[str]:
        """The topics to which members subscribe."""
        return frozenset(topic for member in self.members for topic in member.subscribed)
