"""Tables of Arrow rows as Parquet files, cut into their partitions; needs PyArrow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from console.history.schema import Table, arrow_schema

from .filesystem import Filesystem
from .manifest import DataFile
from .partitions import FORMATS, partition_name, parts_of

ROW_GROUP = 122_880
"""Rows in a group: as many as DuckDB takes at a time."""
_FOOTER = 64 * 1024


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
    names = [f"part {number}" for number in range(len(parts_of(table)))]
    for name, (kind, column) in zip(names, parts_of(table), strict=True):
        values = cut.column(column)
        cut = cut.append_column(name, pc.strftime(values, FORMATS[kind]) if kind in FORMATS else values)
    if not names:
        yield "", cut
        return
    found = cut.group_by(names, use_threads=False).aggregate([]).to_pylist()
    for values_of in found:
        mask = pa.scalar(True)
        for name in names:
            value = values_of[name]
            same = pc.is_null(cut.column(name)) if value is None else pc.equal(cut.column(name), value)
            mask = pc.and_(mask, pc.fill_null(same, False))
        chosen = cut.filter(mask) if len(found) > 1 else cut
        yield partition_name(table, [values_of[name] for name in names]), chosen.select(table.names)


def write(filesystem: Filesystem, path: str, rows: pa.Table) -> None:
    """One Parquet file."""
    with filesystem.output(path) as sink:
        pq.write_table(rows, sink, row_group_size=ROW_GROUP, compression="zstd")


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


def listed(filesystem: Filesystem, folder: str, only: frozenset[str] | None = None) -> list[DataFile]:
    """The Parquet files right in a folder that have rows, of any writer. only: of these names."""
    files = []
    for entry in filesystem.entries(folder):
        wanted = entry.name.endswith(".parquet") and not entry.name.startswith((".", "_"))
        if not entry.is_folder and wanted and (only is None or entry.name in only):
            rows = footer(filesystem, f"{folder}/{entry.name}", entry.bytes).num_rows
            if rows:
                files.append(DataFile(entry.name, rows, entry.bytes))
    return files


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
