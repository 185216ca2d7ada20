"""The tables of a lake as its readers see them: the rows in the files of Delta's newest version, read without Spark."""

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from console.lake.lake import Lake
from console.lake.schema import QUOTA_SUGGESTION, TABLES, Table, arrow_schema
from console.lake.transforms.rows import newest
from tests.lake.golden import GOLD, SUGGESTED, World, differences

Rows = list[dict[str, Any]]
_HOUR = "date_trunc('hour', minute)"
"""The SQL expression that gives the hour of a row of usage; the rows of an hour are written together."""
_SCOPE = ("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level")


def held(lake: Lake, name: str) -> Rows:
    """Return the current rows of a table, with times as microseconds since 1970. Each row of quota_usage also has the
    columns of its suggestion, None if it has none.
    """
    rows = _held(lake, TABLES[name])
    if name == "quota_usage":
        by_scope = {tuple(row[each] for each in _SCOPE): row for row in _held(lake, QUOTA_SUGGESTION)}
        for row in rows:
            suggested = by_scope.get(tuple(row[each] for each in _SCOPE), {})
            row.update({each: suggested.get(each) for each in SUGGESTED})
    return rows


def _held(lake: Lake, table: Table) -> Rows:
    schema = arrow_schema(table)
    if table.newest:
        schema = schema.append(pa.field("made", pa.int64()))
    paths = lake.files.here([f"{lake.folder(table)}/{file}" for file in lake.table(table).files])
    parts = [pq.ParquetFile(path).read(columns=schema.names).cast(schema) for path in paths]
    rows = pa.concat_tables([schema.empty_table(), *parts])
    if table.newest:
        for name in set(table.newest) - set(rows.column_names):
            assert name == _HOUR, "the one expression that is known here"
            rows = rows.append_column(name, pc.floor_temporal(rows["minute"], unit="hour"))
        rows = newest(rows, table.newest)
        rows = rows.filter(rows[table.there].is_valid())
    found: Rows = reduce(_as_number, table.names, rows.select(table.names)).to_pylist()
    return found


def _as_number(rows: pa.Table, name: str) -> pa.Table:
    place = rows.schema.get_field_index(name)
    is_time = pa.types.is_timestamp(rows.schema.field(place).type)
    return rows.set_column(place, name, rows[name].cast(pa.int64())) if is_time else rows


def gold_of(lake: Lake) -> dict[str, Rows]:
    """Return name of a table of `GOLD` -> its current rows in the lake."""
    return {name: held(lake, name) for name in GOLD}


def different(world: World, lake: Lake) -> str:
    """Return how a lake's gold tables differ from those of a stored history, as text; "" if they are equal."""
    return unequal(world.gold, gold_of(lake))


def unequal(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Return how the gold tables of two lakes differ, as text; "" if they are equal."""
    return "\n".join(filter(None, (differences(name, expected[name], found[name]) for name in GOLD)))
