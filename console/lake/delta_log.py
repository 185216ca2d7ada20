"""A reader of the log of a Delta table: the files of a version, and the commits.

For each version the log has a file of JSON lines, each an action. For some versions it also has a checkpoint, a Parquet
file with all actions in force, which DuckDB reads (Delta's PROTOCOL.md, "Actions", "Checkpoints"). Only the default
protocol is supported: a table with more features (deletion vectors, mapped columns) is refused, since a read of its
files alone would include deleted rows.
"""

from __future__ import annotations

import atexit
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from console.extras import how_to_add
from console.lake.files import DamagedLake, Filesystem, LakeError
from console.model.foreign_json import json_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


# -- DuckDB -----------------------------------------------------------------------------------------------------------


def duckdb() -> ModuleType:
    """Return DuckDB's module. Raises LakeError: it is not installed."""
    for name in ("_duckdb", "duckdb"):  # the C module: importing its package takes longer than most queries
        with suppress(ImportError):
            return import_module(name)
    raise LakeError(f"Reading a lake needs DuckDB, which is not installed: {how_to_add('history')}")


def connected() -> DuckDBPyConnection:
    """Return a connection that fetches no extensions and writes no files. Raises LakeError: DuckDB is not installed."""
    return _database(duckdb()).cursor()


@cache
def _database(module: ModuleType) -> DuckDBPyConnection:
    """Return the one DuckDB database of this process, started at the first call: a start takes longer than the read of
    a small file.
    """
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
    """Close the database before Python ends; otherwise DuckDB prints a line on standard error for each object that
    was not freed.
    """
    database.close()
    _database.cache_clear()


def rows(files: Filesystem, path: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a small Parquet file, each with only these columns. Raises LakeError: DuckDB is not installed;
    FileNotFoundError; ValueError: it is not a whole Parquet file, or lacks one of these columns.
    """
    try:
        with connected() as connection, _copied(files, path) as place:
            found = connection.execute(f"SELECT {', '.join(columns)} FROM read_parquet(?)", [place]).fetchall()  # noqa: S608
    except duckdb().Error as wrong:
        raise ValueError(str(wrong).partition("\n")[0]) from wrong
    return [dict(zip(columns, row, strict=True)) for row in found]


@contextmanager
def _copied(files: Filesystem, path: str) -> Iterator[str]:
    """Yield a local path of the file for DuckDB. Raises FileNotFoundError: DuckDB itself would raise only its general
    error.
    """
    if "://" not in path:
        Path(path).stat()
        yield path
        return
    data = files.read(path)
    with NamedTemporaryFile(suffix=".parquet") as copy:
        copy.write(data)
        copy.flush()
        yield copy.name


# -- the log ----------------------------------------------------------------------------------------------------------

LOG = "_delta_log"
READER, WRITER = 1, 2
"""The default protocol: the versions that a table without features needs."""
COMMIT, CHECKPOINT = "json", "checkpoint.parquet"
_AT_ONCE = 8
"""Maximum number of concurrent reads of log files."""
_NAME = re.compile(r"(\d{20})\.(json|checkpoint\.parquet)")
_OTHER_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\.(?!parquet\Z)")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}):/{1,3}")
_MAPPING = "delta.columnMapping.mode"
_INFO = b'{"commitInfo":'
"""Prefix of a commit's own metadata, which does not change the table: any program may write anything there."""


@dataclass(frozen=True)
class Listed:
    """The files of a table's log: the versions that have a commit, and those that have a checkpoint in one file,
    ascending.
    """

    commits: tuple[int, ...]
    checkpoints: tuple[int, ...]
    others: tuple[str, ...] = ()
    """The names of checkpoints in a format that kac does not read: in several files, or of version 2."""

    @property
    def newest(self) -> int | None:
        """The newest version; None if there is no table."""
        return max((*self.commits[-1:], *self.checkpoints[-1:]), default=None)


def listed(files: Filesystem, folder: str) -> Listed:
    """Return the files in the log of the table at that path; an empty `Listed` if there is no table."""
    names = [entry.name for entry in files.entries(f"{folder}/{LOG}")]
    found = [match for name in names if (match := _NAME.fullmatch(name))]
    commits, checkpoints = (tuple(int(each[1]) for each in found if each[2] == kind) for kind in (COMMIT, CHECKPOINT))
    return Listed(commits, checkpoints, tuple(name for name in names if _OTHER_CHECKPOINT.match(name)))


def is_newest(files: Filesystem, folder: str, version: int) -> bool:
    """Return whether the table at that path has no later version; for -1, whether it does not exist. Versions are
    consecutive, so this does not list the whole log.
    """
    try:
        files.read(f"{folder}/{log_file(version + 1)}", 0, 1)
    except FileNotFoundError:
        return version >= 0 or listed(files, folder).newest is None
    return False


def log_file(version: int, kind: str = COMMIT) -> str:
    """Return the path of a version's commit or checkpoint, relative to the table."""
    return f"{LOG}/{version:020}.{kind}"


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a table."""

    parts: Mapping[str, str | None]
    """Partition column -> the value of all its rows; None for null."""
    rows: int
    bytes: int
    written: int = 0
    """The time of the write, in milliseconds since 1970."""
    stats: str = ""
    """The statistics as in Delta's log (PROTOCOL.md, "Per-file Statistics"), JSON."""


@dataclass(frozen=True)
class TableFiles:
    """The files of one version of a table; the version is -1 if the table does not exist."""

    version: int = -1
    columns: tuple[str, ...] = ()
    """The columns of the schema."""
    files: Mapping[str, DataFile] = field(default_factory=dict)
    """Path relative to the table -> the file."""

    @property
    def rows(self) -> int:
        """The number of rows in all files, by Delta's log."""
        return sum(file.rows for file in self.files.values())

    @property
    def bytes(self) -> int:
        """Size of all files in bytes."""
        return sum(file.bytes for file in self.files.values())


class NotRead(ValueError):
    """A table uses a feature of Delta that kac does not support; the text has the feature and a remedy."""


@dataclass
class Replayed:
    """The state of a table after all actions up to a version were applied in order."""

    folder: str
    """The path of the table."""
    columns: tuple[str, ...] = ()
    files: dict[str, DataFile] = field(default_factory=dict)
    """The present files, by path relative to `folder`."""

    def apply(self, action: Mapping[str, Any]) -> None:
        """Apply the next action. Raises ValueError: it is not an action, or needs a feature that kac does not
        support.
        """
        if (protocol := action.get("protocol")) is not None and int(protocol["minReaderVersion"]) > READER:
            raise NotRead(_unusual(protocol))
        if (described := action.get("metaData")) is not None:
            self.columns = tuple(each["name"] for each in json_of(described["schemaString"])["fields"])
            if dict(described["configuration"] or {}).get(_MAPPING, "none") != "none":
                raise NotRead("another program gave it mapped columns (delta.columnMapping.mode)")
        if (added := action.get("add")) is not None:
            if added.get("deletionVector"):
                raise NotRead("another program gave it deletion vectors (delta.enableDeletionVectors)")
            if not added.get("stats"):
                raise NotRead(f"another program added {added['path'][:200]} without its number of rows (stats)")
            self.files[_within(self.folder, added["path"])] = DataFile(
                dict(added["partitionValues"]),
                int(json_of(added["stats"], may_repeat=True)["numRecords"]),
                int(added["size"]),
                int(added["modificationTime"]),
                added["stats"],
            )
        if (gone := action.get("remove")) is not None:
            self.files.pop(_within(self.folder, gone["path"]), None)

    def commit(self, text: bytes) -> None:
        """Apply the actions of the next commit, a text of JSON lines. Raises ValueError: see `apply`."""
        if not text.strip():
            raise ValueError("it is empty, as after a loss of power: delete it if it is the newest one there")
        for line in text.splitlines():
            if not line.startswith(_INFO):
                self.apply(json_of(line, may_repeat=True))


def _unusual(protocol: Mapping[str, Any]) -> str:
    """Return the reason why a protocol is refused: its versions and features, and a remedy, in one line."""
    versions = f"{protocol['minReaderVersion']}, {protocol['minWriterVersion']}"
    features = dict.fromkeys([*(protocol.get("readerFeatures") or ()), *(protocol.get("writerFeatures") or ())])
    named = f" ({', '.join(features)})" if features else ""
    return (
        f"another program gave it Delta's protocol {versions}{named}, and kac reads and writes {READER}, {WRITER}: "
        "drop the features there (ALTER TABLE … DROP FEATURE)"
    )


def replayed(files: Filesystem, folder: str, version: int, known: Listed | None = None) -> Replayed:
    """Return the state of a table at a version. Raises DamagedLake: a file of the log that is needed is missing,
    unreadable or unsupported.

    Args:
        known: the files of the table's log; None to list them.
    """
    log = known or listed(files, folder)
    start = max((each for each in log.checkpoints if each <= version), default=None)
    made = Replayed(folder)
    after = range(0 if start is None else start + 1, version + 1)
    if log.others and not {*after} <= {*log.commits}:
        raise damaged(folder, f"{LOG}/{log.others[-1]}", NotRead("this checkpoint is of several files, or of V2"))
    if start is not None:
        with reading(folder, name := log_file(start, CHECKPOINT)):
            actions = rows(files, f"{folder}/{name}", ("protocol", "metaData", "add", "remove"))
            for action in sorted(actions, key=lambda action: action["metaData"] is None):
                made.apply(action)
    names = [log_file(each) for each in after]
    for name, text in zip(names, _texts(files, folder, names), strict=True):
        with reading(folder, name):
            made.commit(text())
    if not made.columns:
        raise damaged(folder, LOG, "it does not begin with a schema")
    return made


def _texts(files: Filesystem, folder: str, names: Sequence[str]) -> Iterator[Callable[[], bytes]]:
    """Yield a function for each file of a log that reads it; for a remote log, several reads run concurrently."""
    if "://" not in folder:
        yield from (partial(files.read, f"{folder}/{name}") for name in names)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from [pool.submit(files.read, f"{folder}/{name}").result for name in names]


def newer(files: Filesystem, folder: str, known: TableFiles) -> TableFiles:
    """Return the newest version of a table, by the commits since a known version. Raises DamagedLake."""
    made, version = Replayed(folder, known.columns, files=dict(known.files)), known.version
    while True:
        try:
            text = files.read(f"{folder}/{log_file(version + 1)}")
        except FileNotFoundError:
            return known if version == known.version else TableFiles(version, made.columns, made.files)
        version += 1
        with reading(folder, log_file(version)):
            made.commit(text)


def newest(files: Filesystem, folder: str, tries: int = 5) -> TableFiles:
    """Return the newest version of the table at that path. Raises DamagedLake.

    Args:
        tries: the maximum number of listings of the log. The log is listed again if a writer deleted a listed version
            because newer versions exist.
    """
    log = listed(files, folder)
    if log.newest is None:
        return TableFiles()
    try:
        made = replayed(files, folder, log.newest, log)
    except DamagedLake:
        if tries == 1 or listed(files, folder) == log:
            raise
        return newest(files, folder, tries - 1)
    return TableFiles(log.newest, made.columns, made.files)


def commits(files: Filesystem, folder: str) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata (`commitInfo`) of each commit that the log still has, newest first, with `version`; unreadable
    commits are left out.
    """
    for version in reversed(listed(files, folder).commits):
        with suppress(FileNotFoundError, ValueError):
            for action in _actions(files, folder, version):
                if (info := action.get("commitInfo")) is not None:
                    yield {**info, "version": version}


def parts_since(files: Filesystem, folder: str, version: int) -> list[Mapping[str, str | None]] | None:
    """Return the partitions to which commits after a version added files: partition column -> value. None if the log
    does not have all commits since that version.
    """
    log = listed(files, folder)
    later = [each for each in log.commits if each > version]
    if len(later) != (log.newest or 0) - version:
        return None
    found: dict[tuple[tuple[str, str | None], ...], Mapping[str, str | None]] = {}
    with reading(folder, LOG):
        for each in later:
            for action in _actions(files, folder, each):
                if (added := action.get("add")) is not None:
                    found[tuple(added["partitionValues"].items())] = added["partitionValues"]
    return list(found.values())


def _actions(files: Filesystem, folder: str, version: int) -> list[dict[str, Any]]:
    """Return the actions of a commit. Raises FileNotFoundError, ValueError."""
    return [json_of(line, may_repeat=True) for line in files.read(f"{folder}/{log_file(version)}").splitlines()]


@contextmanager
def reading(folder: str, name: str) -> Iterator[None]:
    """Convert errors of missing or invalid content inside the ``with`` block to DamagedLake. name: the file of the lake
    that the message names.
    """
    try:
        yield
    except FileNotFoundError:
        raise damaged(folder, name, "it is not there") from None
    except KeyError as wrong:
        raise damaged(folder, name, f"it has no {wrong}") from wrong
    except json.JSONDecodeError as wrong:
        raise damaged(folder, name, f"it is not JSON: {wrong}") from wrong
    except (ValueError, TypeError, AttributeError) as wrong:
        raise damaged(folder, name, wrong) from wrong


def damaged(folder: str, name: str, why: object) -> DamagedLake:
    """Return the error for a file of a lake. why: the cause; a `NotRead` means that the file itself is not damaged."""
    if isinstance(why, NotRead):
        return DamagedLake(
            f"{folder}/{name} has what kac does not read: {why}. These tables are kac's own: make the lake again, or "
            "undo it with the program that did it."
        )
    return DamagedLake(f"The lake is damaged: {folder}/{name}: {why}. Open it again if it was open for long.")


def _within(folder: str, path: str) -> str:
    """Return a path of the log relative to the table: other programs also write absolute paths, and encode every path.
    Raises ValueError: the path is outside the table.
    """
    plain = unquote(path)
    if plain.startswith("/") or _URI.match(plain):
        inside = _absolute(plain).removeprefix(f"{_absolute(folder)}/")
        if inside == _absolute(plain):
            raise NotRead(f"another program added {plain[:200]}, which lies outside the table, as SHALLOW CLONE does")
        plain = inside
    if any(part in ("", ".", "..") for part in plain.split("/")):
        raise ValueError(f"{plain!r} lies outside the table")
    return plain


def _absolute(path: str) -> str:
    """Return the path or URI in one fixed spelling, so that different spellings of a place compare as equal."""
    if (found := _URI.match(path)) is None:
        return str(Path(path).absolute())
    scheme, rest = found[1].lower(), path[found.end() :]
    return f"/{rest}" if scheme == "file" else f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"
