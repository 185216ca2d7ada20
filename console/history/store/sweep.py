"""What may be deleted, what no kept manifest names, and the deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.history.store.lock import is_run_id

from .manifest import Manifest

if TYPE_CHECKING:
    from .lake import Lake

KEEP = 10
"""Versions that are kept by default."""


@dataclass(frozen=True)
class Sweep:
    """Manifests by run id, and folders of data relative to the lake."""

    manifests: tuple[str, ...]
    folders: tuple[str, ...]


def sweep(
    history: Sequence[Manifest], keep: int, manifests: Iterable[str], run_folders: Iterable[str], running: str
) -> Sweep:
    """What goes. Pure.

    history: the versions from the newest back. keep: how many of them stay, at least one. manifests: run ids that have
    a manifest's file; those outside of `history` never held. run_folders: ``data/<table>/v=<run>`` that are there; one
    that no manifest names into was left by a run that died. Folders of Delta tables are not among them: versions share
    these. running: the run that holds the lock; its folders stay.
    """
    kept = history[: max(keep, 1)]
    stays = frozenset[str]().union(*(manifest.folders for manifest in kept))
    older = frozenset[str]().union(*(manifest.folders for manifest in history[len(kept) :]))
    gone = {folder for folder in older - stays if folder.split("/")[2] != "delta"}
    in_use = {"/".join(folder.split("/")[:3]) for folder in stays}
    whole = {
        folder
        for folder in run_folders
        if folder not in in_use and _run_of(folder) != running and is_run_id(_run_of(folder))
    }
    parts = {folder for folder in gone if "/".join(folder.split("/")[:3]) not in whole}
    runs = {manifest.run_id for manifest in kept}
    return Sweep(
        tuple(sorted(run for run in manifests if run not in runs and run != running and is_run_id(run))),
        tuple(sorted(whole | parts)),
    )


def _run_of(folder: str) -> str:
    return folder.rpartition("/v=")[2]


def sweep_lake(lake: Lake, keep: int, running: str) -> None:
    """Deletes versions older than the last `keep`, and what runs that died left; by who holds the lock alone. OSError;
    DamagedLake: a manifest is broken, and what it names is not known."""
    files = lake.filesystem
    tables = [entry.name for entry in files.entries(lake.path("data"))]
    manifests = [entry.name.removesuffix(".json") for entry in files.entries(lake.path("manifests"))]
    runs = [
        f"data/{table}/{entry.name}"
        for table in tables
        for entry in files.entries(lake.path(f"data/{table}"))
        if entry.name.startswith("v=")
    ]
    history = lake.manifests()
    gone = sweep(history, keep, manifests, runs, running)
    for run in gone.manifests:  # before their data: nothing may name what is not there
        files.remove(lake.path(f"manifests/{run}.json"))
    for folder in gone.folders:
        files.remove(lake.path(folder))
    kept = history[: max(keep, 1)]
    named = {path for manifest in kept for table in manifest.tables.values() for path in table.paths()}
    for table in tables:
        _sweep_delta(lake, f"data/{table}/delta", named)


def _sweep_delta(lake: Lake, folder: str, named: set[str]) -> None:
    """Files of a Delta table that no manifest names; what Delta knows of them stays, as after its own VACUUM."""
    for entry in lake.filesystem.entries(lake.path(folder)):
        path = f"{folder}/{entry.name}"
        if entry.is_folder and entry.name != "_delta_log":
            _sweep_delta(lake, path, named)
        elif entry.name.endswith(".parquet") and path not in named:
            lake.filesystem.remove(lake.path(path))
