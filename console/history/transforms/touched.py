"""What a build makes again: entities that something new is about, or all of a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

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
