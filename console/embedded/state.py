"""The cluster's state: its tables, each broker's view of them, and the log of all changes."""

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
"""Maximum number of metadata records in one change (QuorumController.MAX_RECORDS_PER_USER_OP): one record per ACL,
config or quota key. ZooKeeper has no such limit."""


Overrides = Mapping[str, str]
"""Config key of a resource -> value. The mapping is always replaced as a whole, never modified."""


class View(Struct, frozen=True):
    """The state as one broker knows it."""

    brokers: Mapping[int, tables.BrokerNode]
    topics: Mapping[str, tables.Topic]
    configs: Mapping[ConfigResource, Overrides]
    quotas: Mapping[QuotaEntity, QuotaValues]
    acls: Mapping[Acl, UUID]
    scram: Mapping[tables.ScramKey, tables.ScramCredential]
    features: Mapping[str, int]
    controller: Mapping[int, int]
    """The key 0 has the id of the active controller."""
    offset: int

    @property
    def controller_id(self) -> int:
        """Id of the active controller, as this broker knows it."""
        return self.controller[0]


@dataclass(slots=True)
class Tables:
    """The tables that are replicated between brokers."""

    brokers: tables.Table[int, tables.BrokerNode] = field(default_factory=lambda: tables.Table("brokers"))
    topics: tables.TopicTable = field(default_factory=lambda: tables.TopicTable("topics"))
    configs: tables.Table[ConfigResource, Overrides] = field(default_factory=lambda: tables.Table("configs"))
    quotas: QuotaTable = field(default_factory=lambda: QuotaTable("quotas"))
    acls: AclTable = field(default_factory=lambda: AclTable("acls"))
    scram: tables.Table[tables.ScramKey, tables.ScramCredential] = field(default_factory=lambda: tables.Table("scram"))
    features: tables.Table[str, int] = field(default_factory=lambda: tables.Table("features"))
    controller: tables.Table[int, int] = field(default_factory=lambda: tables.Table("controller"))

    def named(self, name: str) -> tables.Table[Any, Any]:
        """Return the table with this name. Raises KeyError."""
        if name not in TABLE_NAMES:
            raise KeyError(name)
        table: tables.Table[Any, Any] = getattr(self, name)
        return table

    def now(self, offset: int) -> View:
        """Return a view of the current tables."""
        return View(**{name: getattr(self, name) for name in TABLE_NAMES}, offset=offset)

    def before(self, changes: Iterable[tables.Change], offset: int) -> View:
        """Return a view of the tables before these changes. changes: the changes since then, in any order."""
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
    """Functions that an event calls, in the order in which they were added."""

    def __init__(self) -> None:
        self._all: list[Callable[P, None]] = []

    def add(self, listener: Callable[P, None]) -> Callable[[], None]:
        """Register a function, and return a function that unregisters it."""
        self._all.append(listener)
        return lambda: self._all.remove(listener)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all functions. A function may unregister itself meanwhile."""
        for listener in tuple(self._all):
            listener(*args, **kwargs)


DirPlace = tuple[UUID, int, int]
"""The place of a replica: topic id, partition, broker id."""


class ClusterState:
    """The controller's state. All changes go through it, so offsets and notifications have one source.

    Not thread-safe: use it on the cluster's event loop. It has no locks, and no change awaits. Each change of a table
    returns its offset in the log.

    Attributes:
        groups, logs, transactions: state of single brokers, not replicated; their handlers maintain it.
        tokens: the delegation tokens by id, which are not in state files.
        replica_dirs: replicas that moved to another directory.
        dir_copies: replica that is being copied -> target directory, start in Unix time, duration in seconds.
        controllers: the controllers that are not brokers, by id; empty if the brokers are also the controllers.
        no_voters: nodes that could vote, but do not.
        stopped_at: node whose process ended, or hangs -> the time when it stopped, Unix time; a broker may still be
            listed as alive then, until its session ends.
        last_controller: the id of the last active controller, also while no controller is active.
        connect: the workers and connectors of Kafka Connect; None without it.
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
        """The current state."""
        return self.tables.now(self.log.end)

    def view_at(self, offset: int) -> View:
        """Return the state at an offset, as far back as the log goes.

        Args:
            offset: offset of the last visible change; at the log's end or later, the view follows the state.
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
        """Registered brokers by id."""
        return self.tables.brokers

    @property
    def topics(self) -> tables.TopicTable:
        """Topics by name."""
        return self.tables.topics

    @property
    def configs(self) -> Mapping[ConfigResource, Mapping[str, str]]:
        """Overrides of every resource that has overrides."""
        return self.tables.configs

    @property
    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """Quotas of every entity that has quotas."""
        return self.tables.quotas

    @property
    def acls(self) -> Mapping[Acl, UUID]:
        """ACLs with their ids."""
        return self.tables.acls

    @property
    def scram(self) -> Mapping[tables.ScramKey, tables.ScramCredential]:
        """SCRAM credentials."""
        return self.tables.scram

    @property
    def features(self) -> Mapping[str, int]:
        """Finalized feature levels."""
        return self.tables.features

    @property
    def controller_id(self) -> int:
        """Id of the active controller; -1 if there is no active controller."""
        return self.tables.controller[0]

    def alive(self) -> tuple[int, ...]:
        """Return the ids of the live brokers, sorted."""
        return tuple(sorted(broker.id for broker in self.brokers.values() if broker.alive))

    # Changing the state.

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Register a function that is called after every change of a table.

        Args:
            listener: called during the change, so it must neither await nor raise.

        Returns:
            A function that ends the subscription.
        """
        return self._changed.add(listener)

    def touch(self) -> None:
        """Report a change of groups, records or directories, which the log does not hold."""
        self.touched.call()

    def put(self, table: str, key: Hashable, value: Any) -> int:
        """Set a key of a table, and return the offset of the change. Writing the same value again is also a change.

        Args:
            table: the name of the table, one of TABLE_NAMES.
            value: new value; ABSENT to remove the key.

        Raises:
            KeyError: unknown table.
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
        """Remove a key of a table, and return the offset of the change; the log's end if the key is missing.

        Raises:
            KeyError: unknown table.
        """
        return self.put(table, key, tables.ABSENT) if key in self.tables.named(table) else self.log.end

    def put_topic(self, topic: tables.Topic) -> int:
        """Create or replace a topic, and return the offset of the change."""
        return self.put("topics", topic.name, topic)

    def remove_topic(self, name: str) -> int:
        """Delete a topic, its configs and its records, and return the offset of the last change.

        Returns:
            The log's end, without a change, if the topic is missing.
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
        """Set and delete configs of a resource, and return the offset of the change.

        Args:
            changes: key -> value; None to delete the key. The values are not validated.
        """
        return self.replace_config(resource, _altered(self.configs.get(resource, {}), changes))

    def replace_config(self, resource: ConfigResource, overrides: Mapping[str, str]) -> int:
        """Replace all overrides of a resource, and return the offset of the change.

        Args:
            overrides: config key -> value; empty to remove the resource from the table.
        """
        if overrides:
            return self.put("configs", resource, dict(overrides))
        return self.remove("configs", resource)

    def alter_quota(self, entity: QuotaEntity, changes: Mapping[str, float | None]) -> int:
        """Set and delete quotas of an entity, and return the offset of the change.

        Args:
            changes: quota key -> bytes per second, percent, or mutations per second; None to delete the key.
        """
        values = _altered(self.quotas.get(entity, {}), changes)
        return self.put("quotas", entity, values) if values else self.remove("quotas", entity)

    def add_acl(self, acl: Acl) -> int:
        """Add an ACL with a random id, and return the offset of the change. An existing ACL keeps its id."""
        return self.log.end if acl in self.acls else self.put("acls", acl, uuid4())

    def set_feature(self, name: str, level: int) -> int:
        """Finalize a feature, and return the offset of the change.

        Args:
            level: finalized level; 0 (off) deletes the feature.
        """
        return self.put("features", name, level) if level else self.remove("features", name)

    def put_broker(self, broker: tables.BrokerNode) -> int:
        """Register or replace a broker."""
        return self.put("brokers", broker.id, broker)

    def move_controller(self, broker_id: int) -> int:
        """Make another broker the active controller, and return the offset of the change.

        Args:
            broker_id: id of the new controller; -1 for no controller.
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
    """Return the ids of the live brokers that answer, sorted: not those that stopped, and are not fenced yet."""
    return tuple(broker for broker in state.alive() if broker not in state.stopped_at)


class Propagation:
    """The changes that each broker has applied. The controller has applied all; other brokers apply them after `delay`
    seconds; a broker that is down applies none."""

    def __init__(self, state: ClusterState, delay: float = 0.0) -> None:
        self.delay = delay
        self.delays: dict[int, float] = {}
        self._state = state
        self._stopped_at: dict[int, int] = {}

    def stopped(self, broker_id: int) -> None:
        """Record that a broker is down, and stop applying changes to it."""
        # A broker that is down keeps its state, and answers with it after a restart.
        self._stopped_at.setdefault(broker_id, self.applied(broker_id))

    def resumed(self, broker_id: int) -> None:
        """Record that a broker is up again and has applied everything."""
        self._stopped_at.pop(broker_id, None)

    def delay_of(self, broker_id: int) -> float:
        """Return the delay in seconds until a change reaches this broker."""
        return 0.0 if broker_id == self._state.controller_id else self.delays.get(broker_id, self.delay)

    def applied(self, broker_id: int) -> int:
        """Return the offset up to which this broker has applied the log."""
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
        """Wait until every broker that runs has applied the log up to an offset.

        Args:
            within: timeout, seconds; None to wait without a limit.

        Returns:
            False if `within` was too short.
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
