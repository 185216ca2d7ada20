"""The files of a metadata log, and whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..cluster_ids import id_problem

LOG_FOLDER = "__cluster_metadata-0"
_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class NoMetadataLogError(ValueError):
    """There is no metadata log, or nothing says of which cluster; the text says what to do."""


@dataclass(frozen=True, order=True)
class LogFile:
    """A segment, or a snapshot. offset: of a segment its first record's, of a snapshot the one that it ends at."""

    offset: int
    path: str
    cluster_id: str
    is_snapshot: bool
    is_last: bool
    """Whether no later segment is in its folder."""

    @property
    def name(self) -> str:
        """The file's name alone."""
        return Path(self.path).name


def log_files(folders: Iterable[str], cluster_id: str | None) -> list[LogFile]:
    """The files of one or several folders `__cluster_metadata-0`, or of log directories with one inside.

    cluster_id: None takes it from `meta.properties` beside. Raises NoMetadataLogError; OSError where a folder can't be
    read.
    """
    return [file for folder in folders for file in _files_in(_log_folder(Path(folder)), cluster_id)]


def _files_in(folder: Path, cluster_id: str | None) -> list[LogFile]:
    names = sorted(each.name for each in folder.iterdir())
    segments = [(int(found[1]), name) for name in names if (found := _SEGMENT.fullmatch(name))]
    snapshots = [(int(found[1]), name) for name in names if (found := _SNAPSHOT.fullmatch(name))]
    if not segments and not snapshots:
        raise NoMetadataLogError(
            f"{folder} has no segments (00000000000000000000.log) and no snapshots (….checkpoint): give the folder "
            f"{LOG_FOLDER} of a controller's metadata.log.dir, or a copy of it"
        )
    cluster = cluster_id or _cluster_id(folder)
    if problem := id_problem(cluster):
        raise NoMetadataLogError(f"{folder}: {problem}")
    last = segments[-1:]
    return [
        LogFile(offset, str(folder / name), cluster, name.endswith(".checkpoint"), [(offset, name)] == last)
        for offset, name in segments + snapshots
    ]


def _log_folder(folder: Path) -> Path:
    inside = folder / LOG_FOLDER
    if inside.is_dir():
        return inside
    if not folder.is_dir():
        raise NoMetadataLogError(
            f"{folder} is no folder: give the folder {LOG_FOLDER} of a controller, or a copy of it"
        )
    return folder


def _cluster_id(folder: Path) -> str:
    told = folder.parent / "meta.properties"
    try:
        lines = told.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "cluster.id" and value.strip():
            return value.strip()
    raise NoMetadataLogError(
        f"nothing says of which cluster {folder} is: {told} has no cluster.id. Copy it along, or name the cluster"
    )
