"""Arrow tables as plain rows and back, and rows that replace others. Times are microseconds since 1970. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.lake.schema import Table, arrow_schema

Row = tuple[Any, ...]
"""The columns of a table, in order."""


AT_ONCE = 32_768
"""Maximum number of rows that are held as Python objects at the same time: these take ten times as much memory as
Arrow's."""


def rows_of(table: pa.Table, *names: str) -> Iterator[Row]:
    """Yield the rows of a table, each with the values of the named columns."""
    for batch in table.select(names).to_batches(max_chunksize=AT_ONCE):
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def table_of(table: Table, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return the rows as Arrow, with the table's columns in order."""
    return arrow_of(arrow_schema(table), rows)


def arrow_of(schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return the rows as Arrow, with the schema's columns in order."""
    return pa.table(_arrays(schema, rows), schema=schema)


def batch_of(schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> pa.RecordBatch:
    """Return the rows as one Arrow batch, with the schema's columns in order."""
    return pa.RecordBatch.from_arrays(_arrays(schema, rows), schema=schema)


def _arrays(schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> list[pa.Array]:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return [
        pa.array(column, pa.int64() if pa.types.is_timestamp(field.type) else field.type).cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]


def parted(rows: pa.Table, *names: str) -> tuple[pa.Table, ...]:
    """Split a table by its column `of`. Return, for each of the names, the rows with this value, in the same order."""
    return tuple(rows.filter(pc.equal(rows["of"], name)) for name in names)


# -- rows that replace others ------------------------------------------------------------------------------------------


def newest(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return the rows with the highest `made` among those that are equal in `keys`, without the column `made`."""
    at = dict[Row, int]()
    keyed = list(rows_of(rows, *keys))
    made: list[int] = rows["made"].to_pylist()
    for key, number in zip(keyed, made, strict=True):
        at[key] = max(number, at.get(key, number))
    kept = (number == at[key] for key, number in zip(keyed, made, strict=True))
    return rows.filter(pa.array(kept, pa.bool_())).drop_columns(["made"])


def holding(rows: pa.Table, table: Table) -> pa.Table:
    """Return the rows with the highest `made` of each key, without tombstones and without the column `made`."""
    held = newest(rows.select([*table.names, "made"]), table.newest)
    return held.filter(pc.is_valid(held[table.there]))


def differing(table: Table, made: pa.Table, former: pa.Table) -> pa.Table:
    """Return the rows to append so that the rows in `made` replace those in `former`: all rows of each key
    (`Table.newest`) with a difference, and a tombstone for each key of `former` that `made` lacks. `made` and
    `former` have the table's columns.
    """
    keys, names = table.newest, table.names
    new: dict[Row, Counter[Row]] = defaultdict(Counter)
    old: dict[Row, Counter[Row]] = defaultdict(Counter)
    for rows, found in ((made, new), (former, old)):
        place = names.index(table.there)
        for key, row in zip(rows_of(rows, *keys), rows_of(rows, *names), strict=True):
            if row[place] is not None:
                found[key][row] += 1
    changed = [key for key in dict.fromkeys((*new, *old)) if new[key] != old[key]]
    gone = (tuple(dict(zip(keys, key, strict=True)).get(name) for name in names) for key in changed if not new[key])
    return table_of(table, chain((row for key in changed for row in new[key].elements()), gone))
