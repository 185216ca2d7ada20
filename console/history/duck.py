"""Rows of small Parquet files as plain values, and DuckDB itself, which reads them here."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import TYPE_CHECKING, Any

from console.history.errors import PACKAGE, LakeError
from console.history.files import Filesystem

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def duckdb() -> ModuleType:
    """DuckDB's module. LakeError: it is not installed."""
    for name in ("_duckdb", "duckdb"):  # importing the package around it takes longer than most queries
        with suppress(ImportError):
            return import_module(name)
    raise LakeError(f"Reading a lake needs DuckDB, which is not installed: {PACKAGE}")


def connected() -> DuckDBPyConnection:
    """A connection that fetches no extensions and writes no files. LakeError."""
    return _database(duckdb()).cursor()


@cache
def _database(module: ModuleType) -> DuckDBPyConnection:
    """One for the process: to begin one takes longer than to read a small file."""
    made: DuckDBPyConnection = module.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": "",
            "threads": "2",
        },
    )
    atexit.register(_end, made)
    return made


def _end(database: DuckDBPyConnection) -> None:
    """Before Python ends: DuckDB would write pages about what is not freed to standard error."""
    database.close()
    _database.cache_clear()


def rows(files: Filesystem, path: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """These columns of a small Parquet file. LakeError; FileNotFoundError; ValueError: it is no whole Parquet file, or
    has not these columns."""
    try:
        with connected() as connection, _copied(files, path) as place:
            found = connection.execute(f"SELECT {', '.join(columns)} FROM read_parquet(?)", [place]).fetchall()  # noqa: S608
    except duckdb().Error as wrong:
        raise ValueError(str(wrong).partition("\n")[0]) from wrong
    return [dict(zip(columns, row, strict=True)) for row in found]


@contextmanager
def _copied(files: Filesystem, path: str) -> Iterator[str]:
    """Where DuckDB can read the file. FileNotFoundError, for which it has no error of its own."""
    if "://" not in path:
        Path(path).stat()
        yield path
        return
    data = files.read(path)
    with NamedTemporaryFile(suffix=".parquet") as copy:
        copy.write(data)
        copy.flush()
        yield copy.name
