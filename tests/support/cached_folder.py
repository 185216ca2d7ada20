"""Cached folders outside the checkout. A folder is filled once; it is complete or absent, even if several processes ask
for it at once.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_home() -> Path:
    """Return the folder for this user's cached files, all of which can be fetched or made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kac"


def cached_folder(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Return a folder. If it is missing, first call `fill` with a scratch folder next to it, and rename the scratch
    folder to it.

    Exceptions of `fill` pass through; the scratch folder is then removed, and the folder remains missing.
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


def recorded_folder(name: str, made_by: Iterable[Path], fill: Callable[[Path], None]) -> Path:
    """Return a cached folder of files that take long to make and are always the same, such as the logs of a real
    broker.

    made_by: the files that determine the content: the code that makes it, and its inputs. If one of them changes, the
    folder is made again, and the former folder is deleted.
    """
    key = hashlib.sha256()
    for file in made_by:
        key.update(f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    folder = cache_home() / "recorded" / f"{name}-{key.hexdigest()[:16]}"
    if not folder.is_dir():
        for former in folder.parent.glob(f"{name}-{'[0-9a-f]' * 16}"):
            shutil.rmtree(former, ignore_errors=True)
    return cached_folder(folder, fill)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
