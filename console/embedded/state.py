"""The state of the cluster: its tables, the view that each broker has of them, and the log of all changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, ParamSpec
from uuid import UUID, uuid4

from msgspec import Struct

from console.embedded import tables
from console.embedded.acls import AclTable
from console.embedded.clock import Clock
from console.embedded.connect.state import ConnectState
from console.embedded.groups import Group
from console.embedded.partition_log import PartitionLog
from console.embedded.producers import Transaction
from console.embedded.quotas import QuotaTable
from console.embedded.spec import Release
from console.embedded.tokens import Token
from console.model.acl import Acl
from console.model.config import ConfigResource, topic_resource
from console.model.quota import QuotaEntity, QuotaValues

MAX_RECORDS = 10_000
"""Maximum number of metadata records in one change (QuorumController.MAX_RECORDS_PER_USER_OP): each ACL, config key or
quota key is a record. A cluster with ZooKeeper has no such limit.
"""


Overrides = Mapping[str, str]
"""Config key -> value, for the overrides of a resource. The mapping is always replaced, never modified."""


class View(Struct, frozen=True):
    """The state of the cluster as one broker knows it."""

    brokers: Mapping[int, tables.BrokerNode]
    topics: Mapping[str, tables.Topic]
    configs: Mapping[ConfigResource, Overrides]
    quotas: Mapping[QuotaEntity, QuotaValues]
    acls: Mapping[Acl, UUID]
    scram: Mapping[tables.ScramKey, tables.ScramCredential]
    features: Mapping[str, int]
    controller: Mapping[int, int]
    """A table with one entry: the key 0 has the id of the active controller."""
    offset: int

    @property
    def controller_id(self) -> int:
        """The id of the active controller, as this broker knows it."""
        return self.controller[0]


@dataclass(slots=True)
class Tables:
    """The tables that all brokers have."""

    brokers: tables.Table[int, tables.BrokerNode] = field(default_factory=lambda: tables.Table("brokers"))
    topics: tables.TopicTable = field(default_factory=lambda: tables.TopicTable("topics"))
    configs: tables.Table[ConfigResource, Overrides] = field(default_factory=lambda: tables.Table("configs"))
    quotas: QuotaTable = field(default_factory=lambda: QuotaTable("quotas"))
    acls: AclTable = field(default_factory=lambda: AclTable("acls"))
    scram: tables.Table[tables.ScramKey, tables.ScramCredential] = field(default_factory=lambda: tables.Table("scram"))
    features: tables.Table[str, int] = field(default_factory=lambda: tables.Table("features"))
    controller: tables.Table[int, int] = field(default_factory=lambda: tables.Table("controller"))

    def named(self, name: str) -> tables.Table[Any, Any]:
        """Return the table with this name. Raises KeyError if there is none."""
        if name not in TABLE_NAMES:
            raise KeyError(name)
        table: tables.Table[Any, Any] = getattr(self, name)
        return table

    def now(self, offset: int) -> View:
        """Return a view of the tables as they are now. offset: the offset of the last change."""
        return View(**{name: getattr(self, name) for name in TABLE_NAMES}, offset=offset)

    def before(self, changes: Iterable[tables.Change], offset: int) -> View:
        """Return a view of the tables as they were before these changes. changes: all changes since then, in any order.
        offset: the offset of the last change in the view.
        """
        undone: dict[str, dict[Hashable, Any]] = {}
        for change in sorted(changes, key=lambda made: made.offset, reverse=True):
            undone.setdefault(change.table, {})[change.key] = change.before
        return View(
            **{
                name: tables.PastTable(self.named(name), undone[name]) if name in undone else self.named(name)
                for name in TABLE_NAMES
            },
            offset=offset,
        )


TABLE_NAMES = tuple(part.name for part in fields(Tables))


Listener = Callable[[tables.Change], None]
P = ParamSpec("P")


class Listeners(Generic[P]):
    """The listeners of an event, which are called in the order in which they were added."""

    def __init__(self) -> None:
        self._all: list[Callable[P, None]] = []

    def add(self, listener: Callable[P, None]) -> Callable[[], None]:
        """Add a listener, and return a function that removes it."""
        self._all.append(listener)
        return lambda: self._all.remove(listener)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all listeners with these arguments. A listener may remove itself meanwhile."""
        for listener in tuple(self._all):
            listener(*args, **kwargs)


DirPlace = tuple[UUID, int, int]
"""A replica: topic id, partition number, broker id."""


class ClusterState:
    """The state of the cluster as the controller knows it. All changes go through this object, which numbers them and
    calls the listeners.

    Not thread-safe: use it on the cluster's event loop. It has no locks, because no change awaits. Each method that
    changes a table returns the offset of the change in the change log.

    Attributes:
        groups, logs, transactions: the state of single brokers, which other brokers don't have; handlers change it.
        tokens: id -> delegation token; state files don't have these.
        replica_dirs: replica -> the path of its directory, for replicas that were moved.
        dir_copies: replica that is being copied -> the path of the target directory, the start in seconds since 1970,
            and the duration in seconds.
        controllers: id -> separate controller; empty if the brokers are also the controllers.
        no_voters: the ids of nodes that could be voters but are not.
        stopped_at: id of a node whose process has ended or hangs -> since when, in seconds since 1970. A broker may
            still count as alive then, until its session ends.
        last_controller: the id of the last active controller, also if there is none now.
        connect: the state of Kafka Connect; None without Connect.
    """

    def __init__(self, cluster_id: str, release: Release, clock: Clock | None = None) -> None:
        self.cluster_id = cluster_id
        self.release = release
        self.clock = clock or Clock()
        self.tables = Tables()
        self.log = tables.ChangeLog()
        self.groups: dict[str, Group] = {}
        self.logs: dict[tuple[str, int], PartitionLog] = {}
        self.transactions: dict[str, Transaction] = {}
        self.tokens: dict[str, Token] = {}
        self.replica_dirs: dict[DirPlace, str] = {}
        self.dir_copies: dict[DirPlace, tuple[str, float, float]] = {}
        self.controllers: dict[int, tables.ControllerNode] = {}
        self.no_voters: set[int] = set()
        self.stopped_at: dict[int, float] = {}
        self.connect: ConnectState | None = None
        self.controller_epoch = 1
        self.last_controller = -1
        self.touched: Listeners[[]] = Listeners()
        self._changed: Listeners[tables.Change] = Listeners()
        self._past: tuple[tuple[int, int], View] | None = None
        self.tables.controller.put(0, -1)

    # Reading the current and past state.

    @property
    def view(self) -> View:
        """The state as it is now."""
        return self.tables.now(self.log.end)

    def view_at(self, offset: int) -> View:
        """Return the state as it was at an offset, as far back as the change log goes.

        Args:
            offset: the offset of the last change that is visible. If it is the end of the log or higher, the view shows
                later changes, too.
        """
        if offset >= self.log.end:
            return self.view
        which = (offset, self.log.end)
        # Cache the last view, as brokers with the same delay request the same offset repeatedly.
        if self._past is None or self._past[0] != which:
            self._past = which, self.tables.before(self.log.after(offset), offset)
        return self._past[1]

    @property
    def brokers(self) -> Mapping[int, tables.BrokerNode]:
        """Broker id -> registered broker."""
        return self.tables.brokers

    @property
    def topics(self) -> tables.TopicTable:
        """Name -> topic."""
        return self.tables.topics

    @property
    def configs(self) -> Mapping[ConfigResource, Mapping[str, str]]:
        """Config resource -> its overrides, for resources that have any."""
        return self.tables.configs

    @property
    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """Quota entity -> its quotas, for entities that have any."""
        return self.tables.quotas

    @property
    def acls(self) -> Mapping[Acl, UUID]:
        """ACL -> its id."""
        return self.tables.acls

    @property
    def scram(self) -> Mapping[tables.ScramKey, tables.ScramCredential]:
        """User and mechanism -> SCRAM credential."""
        return self.tables.scram

    @property
    def features(self) -> Mapping[str, int]:
        """Feature -> its finalized level."""
        return self.tables.features

    @property
    def controller_id(self) -> int:
        """The id of the active controller; -1 if there is none."""
        return self.tables.controller[0]

    def alive(self) -> tuple[int, ...]:
        """Return the ids of the brokers that are not fenced, sorted."""
        return tuple(sorted(broker.id for broker in self.brokers.values() if broker.alive))

    # Changing the state.

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener that is called after each change of a table.

        Args:
            listener: function that is called while the change is made. It must neither await nor raise.

        Returns:
            A function that removes the listener.
        """
        return self._changed.add(listener)

    def touch(self) -> None:
        """Report that groups, records or directories have changed, which are not in the change log."""
        self.touched.call()

    def put(self, table: str, key: Hashable, value: Any) -> int:
        """Set the value of a key in a table, and return the offset of the change. Setting an equal value is a change,
        too.

        Args:
            table: the name of the table, one of TABLE_NAMES.
            value: the new value; ABSENT to remove the key.

        Raises:
            KeyError: there is no such table.
        """
        content = self.tables.named(table)
        before = content.find(key)
        if value is tables.ABSENT:
            content.remove(key)
        else:
            content.put(key, value)
        # Offsets start at 1, as offset 0 is the state of a newly formatted cluster.
        change = tables.Change(self.log.end + 1, self.clock.time(), table, key, before, value)
        self.log.append(change)
        self._changed.call(change)
        return change.offset

    def remove(self, table: str, key: Hashable) -> int:
        """Remove a key from a table, and return the offset of the change; the end of the log if the key does not exist.

        Raises:
            KeyError: there is no such table.
        """
        return self.put(table, key, tables.ABSENT) if key in self.tables.named(table) else self.log.end

    def put_topic(self, topic: tables.Topic) -> int:
        """Create or replace a topic, and return the offset of the change."""
        return self.put("topics", topic.name, topic)

    def remove_topic(self, name: str) -> int:
        """Delete a topic with its configs and records, and return the offset of the last change; the end of the log if
        the topic does not exist.
        """
        topic = self.topics.get(name)
        if topic is None:
            return self.log.end
        for partition in range(len(topic.partitions)):
            self.logs.pop((name, partition), None)
        # Remove the configs first, so that a broker that lags never has configs of a deleted topic.
        self.remove("configs", topic_resource(name))
        return self.remove("topics", name)

    def alter_config(self, resource: ConfigResource, changes: Mapping[str, str | None]) -> int:
        """Set and delete overrides of a resource, and return the offset of the change.

        Args:
            changes: config key -> new value, which is not checked; None to delete the key.
        """
        return self.replace_config(resource, _altered(self.configs.get(resource, {}), changes))

    def replace_config(self, resource: ConfigResource, overrides: Mapping[str, str]) -> int:
        """Replace all overrides of a resource, and return the offset of the change.

        Args:
            overrides: config key -> value; empty to delete all overrides.
        """
        if overrides:
            return self.put("configs", resource, dict(overrides))
        return self.remove("configs", resource)

    def alter_quota(self, entity: QuotaEntity, changes: Mapping[str, float | None]) -> int:
        """Set and delete quotas of an entity, and return the offset of the change.

        Args:
            changes: quota key -> new value, in bytes per second, percent, or mutations per second; None to delete the
                key.
        """
        values = _altered(self.quotas.get(entity, {}), changes)
        return self.put("quotas", entity, values) if values else self.remove("quotas", entity)

    def add_acl(self, acl: Acl) -> int:
        """Add an ACL with a random id, and return the offset of the change. An ACL that exists already keeps its id."""
        return self.log.end if acl in self.acls else self.put("acls", acl, uuid4())

    def set_feature(self, name: str, level: int) -> int:
        """Set the finalized level of a feature, and return the offset of the change.

        Args:
            level: the level; 0 removes the feature, which disables it.
        """
        return self.put("features", name, level) if level else self.remove("features", name)

    def put_broker(self, broker: tables.BrokerNode) -> int:
        """Register a broker, or replace its registration; return the offset of the change."""
        return self.put("brokers", broker.id, broker)

    def move_controller(self, broker_id: int) -> int:
        """Set the active controller, and return the offset of the change.

        Args:
            broker_id: the id of the new controller; -1 for no controller.
        """
        # A new leader of the quorum has a new epoch, even if the same node is elected again.
        self.controller_epoch += 1
        self.last_controller = broker_id if broker_id >= 0 else self.last_controller
        return self.put("controller", 0, broker_id)


def _altered(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(values)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def answering(state: ClusterState) -> tuple[int, ...]:
    """Return the ids of the brokers that answer, sorted: those that are alive and whose process neither ended nor
    hangs.
    """
    return tuple(broker for broker in state.alive() if broker not in state.stopped_at)


class Propagation:
    """Which changes of the state each broker has applied. The controller applies a change at once, other brokers
    `delay` seconds later; a broker that is down applies none.
    """

    def __init__(self, state: ClusterState, delay: float = 0.0) -> None:
        self.delay = delay
        self.delays: dict[int, float] = {}
        self._state = state
        self._stopped_at: dict[int, int] = {}

    def stopped(self, broker_id: int) -> None:
        """Record that a broker is down, so that it applies no more changes."""
        # A broker that is down keeps its state, and answers with it after a restart.
        self._stopped_at.setdefault(broker_id, self.applied(broker_id))

    def resumed(self, broker_id: int) -> None:
        """Record that a broker is running again, and has applied all changes."""
        self._stopped_at.pop(broker_id, None)

    def delay_of(self, broker_id: int) -> float:
        """Return the seconds after which this broker applies a change."""
        return 0.0 if broker_id == self._state.controller_id else self.delays.get(broker_id, self.delay)

    def applied(self, broker_id: int) -> int:
        """Return the offset in the change log of the last change that this broker has applied."""
        if broker_id in self._stopped_at:
            return self._stopped_at[broker_id]
        delay = self.delay_of(broker_id)
        if delay <= 0:
            return self._state.log.end
        return self._state.log.applied_at(self._state.clock.time() - delay)

    def view(self, broker_id: int) -> View:
        """Return the state as this broker knows it."""
        return self._state.view_at(self.applied(broker_id))

    async def visible(self, offset: int, within: float | None) -> bool:
        """Wait until all running brokers have applied the changes up to an offset of the change log.

        Args:
            within: the maximum seconds to wait; None for no limit.

        Returns:
            Whether they have applied them in time.
        """
        wait = max((self.delay_of(broker) for broker in self._behind(offset)), default=0.0)
        if wait <= 0:
            return True
        enough = within is None or wait <= within
        await self._state.clock.sleep(wait if enough else max(within or 0.0, 0.0))
        while enough and self._behind(offset):  # the sleep may end slightly too early because of rounding
            await asyncio.sleep(0)
            await self._state.clock.sleep(0.001)
        return enough

    def _behind(self, offset: int) -> list[int]:
        return [broker for broker in answering(self._state) if self.applied(broker) < offset]
