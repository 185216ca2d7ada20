"""What may be deleted: what no kept manifest names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .clock import is_run_id
from .manifest import Manifest

KEEP = 10
"""Versions that are kept where nobody says how many."""


@dataclass(frozen=True)
class Sweep:
    """Manifests by run id, and folders of data relative to the lake."""

    manifests: tuple[str, ...]
    folders: tuple[str, ...]


def sweep(
    history: Sequence[Manifest], keep: int, manifests: Iterable[str], run_folders: Iterable[str], running: str
) -> Sweep:
    """What goes.

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
