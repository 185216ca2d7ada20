"""The values that the cluster's tables hold. All are frozen: a change puts another one in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class BrokerNode:
    """A registered broker. port: 0 until it listens. alive: unfenced and reachable. epoch: counts its registrations."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    rack: str | None = None
    alive: bool = True
    epoch: int = 0
    log_dirs: tuple[str, ...] = ("/tmp/kac-embedded/logs",)  # noqa: S108 - a name that is told, never opened


class Partition(NamedTuple):
    """A partition as the controller knows it (PartitionRegistration). The first replica is the preferred leader.

    adding, removing: what a reassignment under way adds and takes off; `replicas` has both until it is done.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic; partition i is partitions[i]."""

    name: str
    id: UUID
    partitions: tuple[Partition, ...]
    internal: bool = False


class ScramKey(NamedTuple):
    """Whose credential. mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    user: str
    mechanism: int


@dataclass(frozen=True, slots=True, repr=False)
class ScramCredential:
    """What a broker keeps of a password (RFC 5802); it never prints itself."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"
