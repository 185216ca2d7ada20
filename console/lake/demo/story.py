"""The demo's day: who changed what in which cluster, and who produced and fetched how much. All of it is made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from console.embedded.scenarios.seed import DAY, MIB
from console.model.acl import Acl
from console.model.changes import NewTopic, ScramUser
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission, ScramMechanism
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    CreateTopic,
    DeleteTopic,
    Edit,
    GrowTopic,
    SetConfig,
    SetQuota,
    UnsetConfig,
    UpsertScram,
)

if TYPE_CHECKING:
    from console.lake.collect import PollResult

HOURS = 24
"""The length of the day; it ends now."""
POLL_EVERY = timedelta(hours=1)
HOSTS = {"alice": "10.1.0.17", "bob": "10.1.0.23", "ci": "10.9.4.2", "oncall": "10.1.0.66"}
"""The address of each user."""


@dataclass(frozen=True, slots=True)
class StoryChange:
    """A change. ago: before the end of the day. with_kac: also recorded in the journal."""

    cluster: str
    ago: timedelta
    who: str
    edits: tuple[Edit, ...]
    with_kac: bool = False


@dataclass(frozen=True, slots=True)
class Client:
    """A client that produces or fetches all day. rate: bytes/s that it needs on its broker. limit: bytes/s of its
    quota; None: none. busy: from so long ago until so long ago it needs four times as much."""

    cluster: str
    broker: int
    who: str
    client_id: str
    topic: str
    rate: float
    produces: bool = True
    limit: float | None = None
    busy: tuple[timedelta, timedelta] | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The records of a cluster.

    taken: its polls. metadata_log: the log's folder; None for a cluster without one. request_logs: by broker.
    """

    name: str
    cluster_id: str
    taken: tuple[PollResult, ...]
    metadata_log: Path | None
    request_logs: Mapping[int, Path]


def story_changes() -> tuple[StoryChange, ...]:
    """All changes of the day, in the order of time."""
    return tuple(sorted((*_PRODUCTION, *_STAGING, *_OLD), key=lambda deed: -deed.ago))


def _ago(hours: int, minutes: int = 0, seconds: float = 0) -> timedelta:
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _allow(principal: str, operation: str, topic: str) -> AddAcl:
    return AddAcl(
        Acl(
            AclResourceType.parse("TOPIC"),
            topic,
            PatternType.parse("LITERAL"),
            principal,
            "*",
            AclOperation.parse(operation),
            Permission.parse("ALLOW"),
        )
    )


def _pair(user: str, client: str) -> QuotaEntity:
    return QuotaEntity.of({"user": user, "client-id": client})


_ORDERS, _PAYMENTS = topic_resource("checkout.orders"), topic_resource("checkout.payments")
_CAROL = ScramUser("carol", ScramMechanism.parse("SCRAM-SHA-512"))

_PRODUCTION = (
    StoryChange(
        "production",
        _ago(24),
        "ci",
        (SetQuota(_pair("checkout", "checkout-loader"), "producer_byte_rate", 65_536.0),),
    ),
    StoryChange("production", _ago(22, 10), "alice", (SetConfig(_ORDERS, "retention.ms", str(3 * DAY)),)),
    StoryChange(
        "production",
        _ago(19, 58),
        "ci",
        (
            CreateTopic(NewTopic("checkout.returns", 6, 3, configs={"min.insync.replicas": "2"})),
            _allow("User:alice", "WRITE", "checkout.returns"),
        ),
    ),
    StoryChange(
        "production", _ago(17, 31), "bob", (SetQuota(_pair("bob", "loader"), "producer_byte_rate", 20 * MIB),), True
    ),
    StoryChange("production", _ago(14, 3), "ci", (UpsertScram(_CAROL, 8192, Secret("carol-in-a-demo")),)),
    StoryChange(
        "production", _ago(12, 41), "oncall", (SetConfig(broker_resource(3), "log.retention.ms", str(DAY)),), True
    ),
    StoryChange("production", _ago(9, 7), "alice", (GrowTopic("checkout.refunds", 12),)),
    StoryChange("production", _ago(6, 30), "ci", (DeleteTopic("platform.mirror-heartbeats"),)),
    StoryChange(
        "production",
        _ago(4, 14),
        "oncall",
        (
            SetConfig(_PAYMENTS, "min.insync.replicas", "1"),
            SetConfig(_PAYMENTS, "unclean.leader.election.enable", "true"),
        ),
        True,
    ),
    StoryChange("production", _ago(2, 2), "bob", (_allow("User:*", "READ", "checkout.payments"),)),
    StoryChange("production", _ago(0, 41), "oncall", (SetConfig(_PAYMENTS, "min.insync.replicas", "2"),), True),
    StoryChange("production", _ago(0, 12), "ci", (SetConfig(CLUSTER_DEFAULT, "log.retention.ms", str(5 * DAY)),)),
)
_STAGING = (
    StoryChange("staging", _ago(20, 15), "ci", (CreateTopic(NewTopic("checkout.returns", 3, 1)),)),
    StoryChange("staging", _ago(13, 20), "bob", (AppendConfig(_ORDERS, "cleanup.policy", "compact"),)),
    # Two users do the same at the same moment: the log has it once, and the author is ambiguous.
    StoryChange("staging", _ago(8, 0, 1.002), "bob", (SetConfig(_ORDERS, "retention.ms", str(2 * DAY)),)),
    StoryChange("staging", _ago(8, 0, 1.0), "ci", (SetConfig(_ORDERS, "retention.ms", str(2 * DAY)),)),
    StoryChange("staging", _ago(3, 5), "alice", (UnsetConfig(_PAYMENTS, "retention.ms"),), True),
)
_OLD = (
    StoryChange("old", _ago(16, 44), "bob", (SetConfig(_ORDERS, "retention.ms", str(DAY)),)),
    StoryChange("old", _ago(5, 22), "alice", (SetQuota(_pair("bob", "loader"), "producer_byte_rate", 10 * MIB),), True),
)

NOT_POLLED = {"old": ((_ago(11), _ago(6, 30)),)}
"""When a cluster without a metadata log was not polled: from so long ago until so long ago."""

CLIENTS = (
    Client("production", 1, "checkout", "checkout-loader", "checkout.carts", 120_000.0, limit=65_536.0),
    Client("production", 2, "checkout", "checkout-loader", "checkout.carts", 50_000.0, limit=65_536.0),
    Client(
        "production",
        1,
        "alice",
        "checkout",
        "checkout.orders",
        1.6 * MIB,
        limit=5 * MIB,
        busy=(_ago(3, 30), _ago(1, 50)),
    ),
    Client("production", 3, "bob", "loader", "logistics.stock", 9 * MIB, limit=20 * MIB),
    Client("production", 2, "billing", "billing-1", "checkout.payments", 90_000.0, produces=False),
    Client("staging", 1, "bob", "loader", "logistics.stock", 2 * MIB),
    Client("staging", 2, "alice", "checkout", "checkout.orders", 300_000.0),
    Client("old", 1, "mirror", "mirror-maker", "checkout.orders", 3 * MIB),
)
