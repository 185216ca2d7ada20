"""Tables of Arrow rows as Parquet files, cut into their partitions; needs PyArrow."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from console.history.schema import Table, arrow_schema
from console.model.numbers import json_text

from .filesystem import Filesystem
from .partitions import FORMATS, partition_name, parts_of
from .release import DataFile

ROW_GROUP = 122_880
"""Rows in a group: as many as DuckDB takes at a time."""
_FOOTER = 64 * 1024
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
"""Times in Delta's statistics: UTC."""


def fitted(table: Table, rows: pa.Table, run_id: str) -> pa.Table:
    """The rows with the table's columns, in order and of its types; `run_id` is filled in where it is missing.

    ValueError: a column is missing, unknown, of another type, or empty where it may not be.
    """
    if "run_id" in table.names and "run_id" not in rows.column_names:
        rows = rows.append_column("run_id", pa.repeat(run_id, rows.num_rows))
    if missing := sorted(set(table.names) ^ set(rows.column_names)):
        raise ValueError(f"rows of {table.name}: missing or unknown columns: {', '.join(missing)}")
    try:
        cast = rows.select(table.names).cast(arrow_schema(table))
    except pa.ArrowInvalid as wrong:
        raise ValueError(f"rows of {table.name}: {wrong}") from wrong
    for column in table.columns:
        if not column.nullable and column.name not in table.key and cast.column(column.name).null_count:
            raise ValueError(f"rows of {table.name}: {column.name} is empty in some of them, and may not be")
    return cast


def split(table: Table, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows by partition, in the order of the table's key."""
    if not rows.num_rows:
        return
    cut = rows.sort_by([(name, "ascending") for name in table.key])
    parts = by_partition(table, cut)
    for partition, places in parts.items():
        yield partition, cut if len(parts) == 1 else cut.take(places)


def by_partition(table: Table, rows: pa.Table) -> dict[str, pa.Array]:
    """Which rows are of each partition, ascending. rows: with the columns that partitions are made of, at least."""
    places = pa.array(range(rows.num_rows), pa.int64())
    parts = {
        name: pc.floor_temporal(rows[of], unit=name) if name in FORMATS else rows[of] for name, of in parts_of(table)
    }
    if not parts:
        return {"": places}
    grouped = pa.table({**parts, "": places}).group_by(list(parts), use_threads=False).aggregate([("", "list")])
    values = zip(*(grouped[name].to_pylist() for name in parts), strict=True)
    lists = (each.values for each in grouped["_list"])
    return {partition_name(table, of): each for of, each in zip(values, lists, strict=True)}


def write(filesystem: Filesystem, path: str, rows: pa.Table) -> None:
    """One Parquet file."""
    made = io.BytesIO()
    pq.write_table(rows, made, row_group_size=ROW_GROUP, compression="zstd")
    filesystem.create(path, made.getvalue())


def read(
    filesystem: Filesystem,
    paths: Iterable[str],
    table: Table,
    *,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
) -> pa.Table:
    """The rows of these files, with the table's columns (or some of them); a column that older files have not is empty.
    where: which rows."""
    schema = arrow_schema(table)
    parts = [
        pq.read_table(pa.BufferReader(filesystem.read(path)), schema=schema, columns=columns, filters=where)
        for path in paths
    ]
    return pa.concat_tables(parts) if parts else schema.empty_table().select(columns or table.names)


def listed(filesystem: Filesystem, lake: str, folder: str, partition: str) -> dict[str, DataFile]:
    """The Parquet files right in a folder that have rows, of any writer, by path relative to the lake. ValueError: the
    folder is not in the lake."""
    if not folder.startswith(f"{lake}/"):
        raise ValueError(f"{folder} is not in the lake at {lake}")
    files = {}
    for entry in filesystem.entries(folder):
        if not entry.is_folder and entry.name.endswith(".parquet") and not entry.name.startswith((".", "_")):
            read = footer(filesystem, path := f"{folder}/{entry.name}", entry.bytes)
            if read.num_rows:
                files[path.removeprefix(f"{lake}/")] = described(partition, entry.bytes, read)
    return files


def described(partition: str, size: int, read: pq.FileMetaData) -> DataFile:
    """A file as Delta's log has it. read: its own description."""
    return DataFile(partition, read.num_rows, size, int(time.time() * 1000), json_text(_stats(read)))


def _stats(read: pq.FileMetaData) -> dict[str, object]:
    """Rows, and the first and last value of each column of times, by which readers leave files out."""
    least: dict[str, str] = {}
    most: dict[str, str] = {}
    for place, field in enumerate(read.schema.to_arrow_schema()):
        if not pa.types.is_timestamp(field.type):
            continue
        found = [read.row_group(group).column(place).statistics for group in range(read.num_row_groups)]
        ranges = [(each.min, each.max) for each in found if each is not None and each.has_min_max]
        if ranges and len(ranges) == len(found):  # a group without them may hold any
            least[field.name] = f"{min(first for first, _ in ranges):{_TIME}}"
            most[field.name] = f"{max(last for _, last in ranges):{_TIME}}"
    return {"numRecords": read.num_rows, "minValues": least, "maxValues": most}


def footer(filesystem: Filesystem, path: str, size: int) -> pq.FileMetaData:
    """A Parquet file's own description. ValueError: it is no whole Parquet file."""
    tail = filesystem.read(path, max(0, size - _FOOTER), min(size, _FOOTER))
    if tail[-4:] != b"PAR1" or len(tail) < 12:
        raise ValueError("it is no whole Parquet file")
    needed = int.from_bytes(tail[-8:-4], "little") + 8
    if needed > len(tail) and size >= needed:
        tail = filesystem.read(path, size - needed, needed)
    try:
        return pq.read_metadata(io.BytesIO(b"PAR1" + tail))
    except (pa.ArrowException, OSError) as wrong:
        raise ValueError(f"its footer is broken: {wrong}") from wrong
