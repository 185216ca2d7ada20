"""What columns of the lake's tables are made of, and those that many tables have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["string", "int", "bigint", "double", "boolean", "timestamp"]


@dataclass(frozen=True)
class Column:
    """A column. type: as in Spark's SQL; timestamps are UTC with microseconds. nullable: may be empty, and `doc` says
    what that means."""

    name: str
    type: Type
    doc: str
    nullable: bool = False


def column(name: str, type: Type, doc: str) -> Column:
    """A column that always has a value."""
    return Column(name, type, doc)


def maybe(name: str, type: Type, doc: str) -> Column:
    """A column that may be empty."""
    return Column(name, type, doc, nullable=True)


CLUSTER_ID = column("cluster_id", "string", "The cluster's id, as its brokers report it.")
ENTITY_TYPE = column(
    "entity_type",
    "string",
    "The entity's type: topic, broker, group, client-metrics, quota, acl, scram, feature, cluster.",
)
ENTITY_KEY = column("entity_key", "string", "The entity's key, as console.history.entities spells it.")
ATTR = column("attr", "string", "The config's or quota's key; other attributes begin with a colon, as `:partitions`.")
RUN_ID = column("run_id", "string", "The run that wrote the row.")


def unless_several(of: Column) -> Column:
    """The same column of rows that may be about several entities or attributes."""
    return maybe(of.name, of.type, f"{of.doc} Empty if the row is about several.")
