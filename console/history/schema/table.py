"""A table as data: its columns with their meanings, and the same as Spark's DDL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["string", "int", "bigint", "double", "boolean", "timestamp"]
Layer = Literal["bronze", "silver", "gold", "record"]


@dataclass(frozen=True)
class Column:
    """A column. type: as Spark's SQL names it; timestamps are UTC with microseconds. nullable: may be empty, and `doc`
    says what that means."""

    name: str
    type: Type
    doc: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    key: the columns that tell one row from another. partitions: the parts of the names of its folders, made of columns
    (`day` and `hour` are those of the column after the colon: ``hour:second``).
    """

    name: str
    layer: Layer
    doc: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitions: tuple[str, ...] = ("cluster_id",)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order: the closing select of every job that makes the table."""
        return tuple(column.name for column in self.columns)

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL. Without NOT NULL: Parquet read back by Spark is nullable throughout."""
        return ", ".join(f"{column.name} {column.type.upper()}" for column in self.columns)


def column(name: str, type: Type, doc: str) -> Column:
    """A column that always has a value."""
    return Column(name, type, doc)


def maybe(name: str, type: Type, doc: str) -> Column:
    """A column that may be empty."""
    return Column(name, type, doc, nullable=True)


CLUSTER_ID = column("cluster_id", "string", "The cluster's id, as its brokers tell it.")
ENTITY_TYPE = column(
    "entity_type",
    "string",
    "What it is about: topic, broker, group, client-metrics, quota, acl, scram, feature, cluster.",
)
ENTITY_KEY = column("entity_key", "string", "Which one, in its one spelling (console.history.entities).")
ATTR = column("attr", "string", "The config's or quota's key; what is no config begins with a colon, as `:partitions`.")
RUN_ID = column("run_id", "string", "The run that wrote the row.")
