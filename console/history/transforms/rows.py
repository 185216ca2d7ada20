"""Arrow tables as plain rows and back, and the rows that a build makes again. Times are microseconds since 1970.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.history.schema import Table, arrow_schema

Row = tuple[Any, ...]
"""The columns of a table, in order."""


def rows_of(table: pa.Table, *names: str) -> Iterator[Row]:
    """The rows, with these columns."""
    return zip(*(_values(table.column(name)) for name in names), strict=True)


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def table_of(table: Table, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """The rows as Arrow, with the table's columns in order, less `run_id`, which writing fills in."""
    schema = pa.schema([field for field in arrow_schema(table) if field.name != "run_id"])
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [
            pa.array(column, pa.int64() if pa.types.is_timestamp(field.type) else field.type).cast(field.type)
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )


# -- what a build makes again: entities that something new is about, or all of a cluster -------------------------------

ENTITY = ("cluster_id", "entity_type", "entity_key")


@dataclass(frozen=True)
class Touched:
    """clusters: all of them is made again. entities: by `ENTITY`'s columns, of other clusters."""

    clusters: frozenset[str] = frozenset()
    entities: frozenset[tuple[str, str, str]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.clusters or self.entities)

    @property
    def of_clusters(self) -> frozenset[str]:
        """The clusters of which anything is made again."""
        return self.clusters | {cluster_id for cluster_id, _, _ in self.entities}

    def more(self, clusters: Iterable[str] = (), entities: Iterable[tuple[str, str, str]] = ()) -> Touched:
        """With these, too."""
        whole = self.clusters | frozenset(clusters)
        return Touched(whole, frozenset(each for each in (*self.entities, *entities) if each[0] not in whole))

    def __contains__(self, entity: tuple[str, str, str]) -> bool:
        return entity[0] in self.clusters or entity in self.entities

    def cut(self, rows: pa.Table) -> pa.Table:
        """The rows, with `ENTITY`'s columns, that are about any of it."""
        keys = pa.array({key for _, _, key in self.entities}, pa.string())
        whole = pa.array(self.clusters, pa.string())
        near = pc.or_(pc.is_in(rows["cluster_id"], whole), pc.is_in(rows["entity_key"], keys))
        found = rows.filter(near)
        about = zip(*(found[name].to_pylist() for name in ENTITY), strict=True)
        return found.filter(pa.array((each in self for each in about), pa.bool_()))
