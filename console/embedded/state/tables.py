"""The tables of a cluster, and the same tables as a broker that lags behind sees them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from console.embedded.state.acl_table import AclTable
from console.embedded.state.change_log import Change
from console.embedded.state.quota_table import QuotaTable
from console.embedded.state.table import PastTable, Table
from console.embedded.state.values import BrokerNode, ScramCredential, ScramKey, Topic
from console.model.acl import Acl
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity, QuotaValues

Overrides = Mapping[str, str]
"""Config key -> value, of one resource; replaced as a whole, never changed."""


@dataclass(frozen=True, slots=True)
class View:
    """What one broker knows. `controller` has the one key 0 -> the active controller's id."""

    brokers: Mapping[int, BrokerNode]
    topics: Mapping[str, Topic]
    configs: Mapping[ConfigResource, Overrides]
    quotas: Mapping[QuotaEntity, QuotaValues]
    acls: Mapping[Acl, UUID]
    scram: Mapping[ScramKey, ScramCredential]
    features: Mapping[str, int]
    controller: Mapping[int, int]
    offset: int

    @property
    def controller_id(self) -> int:
        """The active controller, as this broker knows it."""
        return self.controller[0]


@dataclass(slots=True)
class Tables:
    """Everything that is replicated between brokers."""

    brokers: Table[int, BrokerNode] = field(default_factory=lambda: Table("brokers"))
    topics: Table[str, Topic] = field(default_factory=lambda: Table("topics"))
    configs: Table[ConfigResource, Overrides] = field(default_factory=lambda: Table("configs"))
    quotas: QuotaTable = field(default_factory=lambda: QuotaTable("quotas"))
    acls: AclTable = field(default_factory=lambda: AclTable("acls"))
    scram: Table[ScramKey, ScramCredential] = field(default_factory=lambda: Table("scram"))
    features: Table[str, int] = field(default_factory=lambda: Table("features"))
    controller: Table[int, int] = field(default_factory=lambda: Table("controller"))

    def named(self, name: str) -> Table[Any, Any]:
        """The table of this name; KeyError for none."""
        if name not in TABLE_NAMES:
            raise KeyError(name)
        table: Table[Any, Any] = getattr(self, name)
        return table

    def now(self, offset: int) -> View:
        """The tables as they are."""
        return View(**{name: getattr(self, name) for name in TABLE_NAMES}, offset=offset)

    def before(self, changes: Iterable[Change], offset: int) -> View:
        """The tables as they were before these changes, which are all that were made since; in any order."""
        undone: dict[str, dict[Hashable, Any]] = {}
        for change in sorted(changes, key=lambda made: made.offset, reverse=True):
            undone.setdefault(change.table, {})[change.key] = change.before
        return View(
            **{
                name: PastTable(self.named(name), undone[name]) if name in undone else self.named(name)
                for name in TABLE_NAMES
            },
            offset=offset,
        )


TABLE_NAMES = tuple(part.name for part in fields(Tables))
