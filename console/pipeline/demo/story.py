"""The demo's day: who changed what in which cluster, and who produced and fetched how much. All of it is made up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from console.embedded.scenarios.seed import DAY, MIB
from console.model.acl import Acl
from console.model.authorizer import ALLOW, LITERAL
from console.model.changes import NewTopic, ScramUser
from console.model.codes import AclOperation, AclResourceType, ScramMechanism
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


def _ago(hours: int, minutes: int = 0, seconds: float = 0) -> timedelta:
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _change(cluster: str, who: str, ago: timedelta, *edits: Edit, with_kac: bool = False) -> StoryChange:
    return StoryChange(cluster, ago, who, edits, with_kac)


def _allow(principal: str, operation: str, topic: str) -> AddAcl:
    type_ = AclResourceType.parse("TOPIC")
    return AddAcl(Acl(type_, topic, LITERAL, principal, "*", AclOperation.parse(operation), ALLOW))


def _limit(user: str, client: str, bytes_per_second: float) -> SetQuota:
    return SetQuota(QuotaEntity.of({"user": user, "client-id": client}), "producer_byte_rate", bytes_per_second)


_ORDERS, _PAYMENTS = topic_resource("checkout.orders"), topic_resource("checkout.payments")
_CAROL = ScramUser("carol", ScramMechanism.parse("SCRAM-SHA-512"))
_RETURNS = NewTopic("checkout.returns", 6, 3, configs={"min.insync.replicas": "2"})
_RISKY = (
    SetConfig(_PAYMENTS, "min.insync.replicas", "1"),
    SetConfig(_PAYMENTS, "unclean.leader.election.enable", "true"),
)

STORY = (
    _change("production", "ci", _ago(24), _limit("checkout", "checkout-loader", 65_536.0)),
    _change("production", "alice", _ago(22, 10), SetConfig(_ORDERS, "retention.ms", str(3 * DAY))),
    _change("staging", "ci", _ago(20, 15), CreateTopic(NewTopic("checkout.returns", 3, 1))),
    _change("production", "ci", _ago(19, 58), CreateTopic(_RETURNS), _allow("User:alice", "WRITE", "checkout.returns")),
    _change("production", "bob", _ago(17, 31), _limit("bob", "loader", 20 * MIB), with_kac=True),
    _change("old", "bob", _ago(16, 44), SetConfig(_ORDERS, "retention.ms", str(DAY))),
    _change("production", "ci", _ago(14, 3), UpsertScram(_CAROL, 8192, Secret("carol-in-a-demo"))),
    _change("staging", "bob", _ago(13, 20), AppendConfig(_ORDERS, "cleanup.policy", "compact")),
    _change(
        "production", "oncall", _ago(12, 41), SetConfig(broker_resource(3), "log.retention.ms", str(DAY)), with_kac=True
    ),
    _change("production", "alice", _ago(9, 7), GrowTopic("checkout.refunds", 12)),
    # Two users do the same at the same moment: the log has it once, and the author is ambiguous.
    _change("staging", "bob", _ago(8, 0, 1.002), SetConfig(_ORDERS, "retention.ms", str(2 * DAY))),
    _change("staging", "ci", _ago(8, 0, 1.0), SetConfig(_ORDERS, "retention.ms", str(2 * DAY))),
    _change("production", "ci", _ago(6, 30), DeleteTopic("platform.mirror-heartbeats")),
    _change("old", "alice", _ago(5, 22), _limit("bob", "loader", 10 * MIB), with_kac=True),
    _change("production", "oncall", _ago(4, 14), *_RISKY, with_kac=True),
    _change("staging", "alice", _ago(3, 5), UnsetConfig(_PAYMENTS, "retention.ms"), with_kac=True),
    _change("production", "bob", _ago(2, 2), _allow("User:*", "READ", "checkout.payments")),
    _change("production", "oncall", _ago(0, 41), SetConfig(_PAYMENTS, "min.insync.replicas", "2"), with_kac=True),
    _change("production", "ci", _ago(0, 12), SetConfig(CLUSTER_DEFAULT, "log.retention.ms", str(5 * DAY))),
)
"""All changes of the day, in the order of time."""

NOT_POLLED = {"old": (_ago(11), _ago(6, 30))}
"""When a cluster whose metadata log is not read was not polled: from so long ago until so long ago."""

_BUSY = _ago(3, 30), _ago(1, 50)
CLIENTS = (
    Client("production", 1, "checkout", "checkout-loader", "checkout.carts", 120_000.0, limit=65_536.0),
    Client("production", 2, "checkout", "checkout-loader", "checkout.carts", 50_000.0, limit=65_536.0),
    Client("production", 1, "alice", "checkout", "checkout.orders", 1.6 * MIB, limit=5 * MIB, busy=_BUSY),
    Client("production", 3, "bob", "loader", "logistics.stock", 9 * MIB, limit=20 * MIB),
    Client("production", 2, "billing", "billing-1", "checkout.payments", 90_000.0, produces=False),
    Client("staging", 1, "bob", "loader", "logistics.stock", 2 * MIB),
    Client("staging", 2, "alice", "checkout", "checkout.orders", 300_000.0),
    Client("old", 1, "mirror", "mirror-maker", "checkout.orders", 3 * MIB),
)
