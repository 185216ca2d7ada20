"""Rows of entities in the place of those that are there: only files in which rows differ are written again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.history.schema import Table
from console.history.store import Lake, parquet_files
from console.history.store.partitions import partition_values
from console.history.store.write import Write
from console.history.transforms.rows import Touched, rows_of, table_of

MOST_FOLDERS = 8
"""A partition with more is written as one."""


def replace_rows(
    lake: Lake, write: Write, table: Table, clusters: Iterable[str], touched: Touched, made: pa.Table
) -> set[tuple[str, str]]:
    """Puts rows in the place of those that are about what is touched of clusters. made: without `run_id`, which does
    not count. Gives clusters and entity types of the rows that differ."""
    of = write.draft.table(table)
    wanted = frozenset(clusters)
    paths = [path for path, file in of.files.items() if partition_values(file.partition)["cluster_id"] in wanted]
    names = made.column_names
    keys = pc.field("entity_key").isin(pa.array({key for _, _, key in touched.entities}, pa.string()))
    new = Counter(rows_of(made, *names))
    old: Counter[tuple[Any, ...]] = Counter()
    places: dict[tuple[Any, ...], set[str]] = {}
    for path in paths:
        rows = parquet_files.read(lake.filesystem, [lake.path(path)], table, columns=names, where=keys)
        for row in rows_of(touched.cut(rows), *names):
            old[row] += 1
            places.setdefault(row, set()).add(path)
    differing = {row for row in {*old, *new} if old[row] != new[row]}
    if not differing:
        return set()
    changed = {path for row in differing for path in places.get(row, ())}
    many = {part for part in {of.files[path].partition for path in changed} if len(of.partitions[part]) >= MOST_FOLDERS}
    changed |= {path for path, file in of.files.items() if file.partition in many}
    kept = [
        _without(parquet_files.read(lake.filesystem, [lake.path(path)], table), names, differing)
        for path in sorted(changed)
    ]
    added = table_of(table, (row for row in differing for _ in range(new[row])))
    if "run_id" in table.names:
        added = added.append_column("run_id", pa.repeat(write.run_id, added.num_rows))
    rows = pa.concat_tables([*kept, added.select(table.names)])
    write.rewrite(table.name, changed, write.put_arrow(table.name, rows))
    of_type = names.index("entity_type")
    return {(row[0], row[of_type]) for row in differing}


def _without(rows: pa.Table, names: list[str], gone: set[tuple[Any, ...]]) -> pa.Table:
    return rows.filter(pa.array((row not in gone for row in rows_of(rows, *names)), pa.bool_()))
