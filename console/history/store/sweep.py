"""What may be deleted of a table: files and commits that no kept version needs, and what runs that died have left.

delta-rs's own VACUUM commits to the table, which would be ahead of its release then; and it knows times, not releases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from console.history.store.lock import is_run_id

from . import delta_log
from .filesystem import Filesystem

KEEP = 10
"""Versions that are kept by default."""
_BY_RUN = "v="


def sweep_table(files: Filesystem, where: str, versions: Collection[int], thorough: bool) -> None:
    """Deletes what none of these versions needs; by the holder of the lock alone, who has committed.

    where: the table's path. thorough: looks into all folders; else files are found that the log says were removed.
    OSError; DamagedLake: the log can't be read, and what it names is not known.
    """
    if not versions:
        for run in _runs(files, where):
            files.remove(f"{where}/{run}")
        return
    log = delta_log.listed(files, where)
    table = delta_log.replayed(files, where, min(versions), log)
    named, removed = set(table.files), set(table.removed)
    for version in range(min(versions) + 1, max(versions) + 1):
        delta_log.advance(table, files, where, version)
        named |= set(table.files)
    in_use = {path.partition("/")[0] for path in named}
    there = set(_runs(files, where))
    for run in there - in_use:
        files.remove(f"{where}/{run}")
    gone = _walk(files, where, there & in_use) if thorough else removed
    for path in set(gone) - named:
        run = path.partition("/")[0]
        if run in there & in_use or not run.startswith(_BY_RUN):
            files.remove(f"{where}/{path}")
    base = max((each for each in log.checkpoints if each <= min(versions)), default=0)
    for of, named_of in ((log.commits, delta_log.commit_name), (log.checkpoints, delta_log.checkpoint_name)):
        for each in of:
            if each < base:
                files.remove(f"{where}/{named_of(each)}")


def _runs(files: Filesystem, where: str) -> Iterator[str]:
    """Folders of runs."""
    for entry in files.entries(where):
        if entry.is_folder and entry.name.startswith(_BY_RUN) and is_run_id(entry.name.removeprefix(_BY_RUN)):
            yield entry.name


def _walk(files: Filesystem, where: str, folders: Collection[str]) -> Iterator[str]:
    """The files in these folders, relative to the table."""
    for folder in folders:
        for entry in files.entries(f"{where}/{folder}"):
            within = f"{folder}/{entry.name}"
            if entry.is_folder:
                yield from _walk(files, where, (within,))
            else:
                yield within
