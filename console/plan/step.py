"""What a plan compiles into, and what that depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from console.model.changes import ChangeRequest
from console.model.config import ConfigResource, ConfigSet
from console.plan.staged import Staged


@dataclass(frozen=True, slots=True)
class Facts:
    """What the requests depend on, of the cluster as it is now.

    reachable: the brokers that can be reached, None where that was not tried.
    incremental: whether the brokers have IncrementalAlterConfigs (Kafka 2.3); if not, `configs` gives what the legacy
    call has to carry over and what lists hold now.
    acls: how many ACLs there are. default_partitions: the brokers' ``num.partitions``.
    """

    reachable: frozenset[int] | None = None
    incremental: bool = True
    configs: Mapping[ConfigResource, ConfigSet] = field(default_factory=dict)
    acls: int = 0
    default_partitions: int = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One request and the edits in it.

    note: why it is apart from others of its kind, in words; ``""`` where there is nothing to say.
    after: places of the steps in the compiled tuple that have to succeed whole before this one is sent: access is not
    taken away where what takes its place could not be given.
    """

    request: ChangeRequest
    staged: tuple[Staged, ...]
    note: str = ""
    after: tuple[int, ...] = ()
