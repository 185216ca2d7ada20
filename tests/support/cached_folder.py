"""Folders outside the checkout that are filled once: complete, or not there at all, however many ask at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_home() -> Path:
    """Where this user keeps what can be fetched again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kac"


def cached_folder(folder: Path, fill: Callable[[Path], None]) -> Path:
    """The folder; where it is missing, made by fill in a scratch folder beside it and then renamed.

    What fill raises passes through, and nothing stays behind.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(f".{folder.name}.lock")):
        if not folder.is_dir():
            scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                fill(scratch)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
