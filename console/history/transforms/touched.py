"""What a build makes again: entities that something new is about, or all of a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ENTITY = ("cluster_id", "entity_type", "entity_key")
_BETWEEN = "\x1f"
"""Stands in no cluster's id and no type."""


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

    def rows(self, of: DataFrame) -> DataFrame:
        """The rows, with `ENTITY`'s columns, that are about any of it."""
        return of.where(self.holds(F.col("entity_type"), F.col("entity_key")))

    def holds(self, entity_type: Column, entity_key: Column) -> Column:
        """Whether a row with a column `cluster_id` is about any of it."""
        between = F.lit(_BETWEEN)
        name = F.concat("cluster_id", between, entity_type, between, entity_key)
        return _is_in(F.col("cluster_id"), self.clusters) | _is_in(name, map(_BETWEEN.join, self.entities))

    def of_type(self, entity_type: str) -> Column:
        """Whether anything of such a type is made again in the cluster of a row."""
        with_type = {cluster_id for cluster_id, each, _ in self.entities if each == entity_type}
        return _is_in(F.col("cluster_id"), self.clusters | with_type)


def _is_in(what: Column, texts: Iterable[str]) -> Column:
    values = sorted(texts)
    return what.isin(values) if values else F.lit(False)


def cut(rows: DataFrame, touched: Touched | None) -> DataFrame:
    """The rows that are about what is touched; None: all."""
    return rows if touched is None else touched.rows(rows)
