"""The folder `landing/` of a lake: hosts deliver files into it without Spark, each written whole, and the streams
read them. Files that belong to other users, links, and everything that is not a regular file are refused, since
other users may be able to write to that folder.
"""

from __future__ import annotations

import os
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
import pyarrow as pa

from console.lake.entities import id_problem
from console.lake.files import Filesystem
from console.lake.journals import journal_stats
from console.lake.lake import Lake
from console.lake.schema import SNAPSHOT, arrow_schema
from console.lake.transforms.rows import batch_of
from console.model.foreign_json import json_as
from console.model.journal_lines import SUFFIX as JOURNAL_SUFFIX
from console.model.journal_lines import segment_folder, segment_number

POLLS, JOURNAL = "landing/polls", "landing/journal"
SUFFIX = ".json.gz"
MOST_BYTES = 1 << 30
"""Maximum decompressed size of a file in bytes: many times the size of the largest clusters' states."""
MOST_LINE = 256 << 20
_KINDS = ("state", "absent", "heartbeat", "failed")
_ABOUT = {"state": 2, "absent": 1}
"""Kind of a row -> number of columns, counted from entity_key, that it requires: entity_key and attr for a state,
entity_key for an absent entity.
"""
_Row = tuple[str, str, str | None, str | None, str | None, str | None, bool]
"""A row of a landed file: kind, entity_type, entity_key, attr, value, source, is_sensitive."""


class Landed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The rows from one poll of a cluster: a line of a file."""

    cluster_id: str
    at: Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799_000_000)]
    """The time of the poll, microseconds since 1970."""
    rows: list[_Row]


class BadLanding(ValueError):
    """A landed file is invalid; the text has the reason and a remedy."""


def deliver(lake: Lake, polls: Iterable[Landed], name: str) -> str:
    """Write polls atomically to one file in the lake's folder of polls, and return its path. name: the file's name
    without its suffix. Raises OSError, LakeError.
    """
    packer = zlib.compressobj(wbits=31)
    encode = msgspec.json.encode
    whole = b"".join((*(packer.compress(encode(each) + b"\n") for each in polls), packer.flush()))
    path = lake.path(f"{POLLS}/{name}{SUFFIX}")
    lake.files.replace(path, whole)
    return path


def landed_files(folder: Path, suffix: str = SUFFIX) -> list[Path]:
    """Return the regular files of this user in a folder whose names end with `suffix`, sorted by name; empty if the
    folder does not exist. Hidden files and files with unprintable names are left out.
    """
    own = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as found:
        for each in found:
            if each.name.endswith(suffix) and not each.name.startswith(".") and each.name.isprintable():
                with suppress(FileNotFoundError):  # another run has processed it
                    own += [folder / each.name] if _is_own(each.stat(follow_symlinks=False)) else []
    return sorted(own)


def delivered(files: Filesystem, folder: str, suffix: str = SUFFIX) -> list[str]:
    """Return the paths of the completely written files in a delivery folder. In a bucket, where files have no owner,
    all objects count: a client that may write there may also write the lake itself.
    """
    if "://" not in folder:
        return [str(path) for path in landed_files(Path(folder), suffix)]
    found = (each.name for each in files.entries(folder) if not each.is_folder)
    return [f"{folder}/{name}" for name in found if name.endswith(suffix) and name[0] != "." and name.isprintable()]


def journal_tags(files: Filesystem, folder: str) -> dict[str, list[list[Any]]]:
    """Return path -> the tags of a journal and its further segments, for the journals in a delivery folder. A journal
    that has changed has other tags.
    """
    if "://" not in folder:
        return {str(path): journal_stats(path) for path in landed_files(Path(folder), JOURNAL_SUFFIX)}
    found = {each.name: each for each in files.entries(folder)}
    made = {}
    for path in delivered(files, folder, JOURNAL_SUFFIX):
        first = found[path.rpartition("/")[2]]
        apart = segment_folder(Path(first.name)).name
        others = files.entries(f"{folder}/{apart}") if apart in found else []
        made[path] = [[each.bytes, each.tag] for each in (first, *others)]
    return made


def delete(files: Filesystem, path: str) -> None:
    """Delete a delivered file, once the lake has it."""
    if "://" in path:
        files.remove(path)
    else:
        Path(path).unlink(missing_ok=True)


@contextmanager
def brought(files: Filesystem, path: str) -> Iterator[Path]:
    """Yield a local path of a delivered journal with its segments; from a bucket, a copy that is deleted at the end of
    the ``with`` block. If the journal was deleted, no file exists at the path.
    """
    if "://" not in path:
        yield Path(path)
        return
    above, _, name = path.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="kac-journal-") as scratch:
        first = Path(scratch, name)
        apart = segment_folder(first)
        with suppress(FileNotFoundError):
            first.write_bytes(files.read(path))
            apart.mkdir()
            for each in files.entries(f"{above}/{apart.name}"):
                if segment_number(each.name) is not None:
                    (apart / each.name).write_bytes(files.read(f"{above}/{apart.name}/{each.name}"))
        yield first


def _is_own(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()


def opened_own(path: Path) -> IO[bytes]:
    """Open a landed file for reading.

    Raises:
        FileNotFoundError: it does not exist.
        BadLanding: it can't be opened, is a link, or is not a regular file of this user.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as wrong:
        if isinstance(wrong, FileNotFoundError):
            raise
        raise BadLanding(f"{path} can't be opened ({wrong.strerror}): delete it if it is a link") from wrong
    if not _is_own(os.fstat(number)):
        os.close(number)
        raise BadLanding(f"{path} is not a file of this user: deliver polls as the user who owns the lake")
    return os.fdopen(number, "rb")


def read_polls(path: Path | str, files: Filesystem | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `snapshot` in a landed file; no rows if the file was deleted. files: access to the bucket of
    the file; None for a local file. Raises BadLanding.
    """
    try:
        with opened_own(Path(path)) if files is None else BytesIO(files.read(str(path))) as file:
            for line in _lines(file, path):
                yield _rows(line, path)
    except FileNotFoundError:
        return


def _lines(file: IO[bytes], path: Path | str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    line = bytearray()
    total = 0
    while packed := file.read(1 << 16):
        while packed:
            try:
                part = unpacker.decompress(packed, 1 << 20)
            except zlib.error as wrong:
                raise BadLanding(f"{path} is not packed by gzip, or damaged ({wrong}); delete it") from wrong
            packed = unpacker.unconsumed_tail
            if unpacker.unused_data:
                raise BadLanding(f"{path} goes on behind its end: it is no file of polls; delete it")
            total += len(part)
            if total > MOST_BYTES or len(line) + len(part) > MOST_LINE:
                raise BadLanding(
                    f"{path} unpacks to more than {MOST_BYTES >> 20} MiB, or has a line of more than "
                    f"{MOST_LINE >> 20} MiB: it is no file of polls; delete it"
                )
            *ends, rest = part.split(b"\n")
            for end in ends:
                yield bytes(line + end)
                line.clear()
            line += rest
    if line or not unpacker.eof:
        raise BadLanding(f"{path} is cut: kac delivers files whole; delete it")


def _rows(line: bytes, path: Path | str) -> pa.RecordBatch:
    try:
        poll = json_as(line, Landed)
    except ValueError as wrong:
        raise BadLanding(f"{path} is no file of polls ({wrong}); delete it") from wrong
    if problem := id_problem(poll.cluster_id):
        raise BadLanding(f"{path}: {problem}; delete it")
    if unknown := {row[0] for row in poll.rows} - set(_KINDS):
        raise BadLanding(f"{path} has rows of the kind {min(unknown)!a}, of a newer kac: use that one, or delete it")
    if any(row[0] in _ABOUT and None in row[2 : 2 + _ABOUT[row[0]]] for row in poll.rows):
        raise BadLanding(f"{path} has a state of nothing: it is no file of polls; delete it")
    return batch_of(arrow_schema(SNAPSHOT), ((poll.cluster_id, poll.at, *row) for row in poll.rows))
