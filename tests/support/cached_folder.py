"""Folders outside the checkout that are filled once: complete, or not there at all, however many ask at a time."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
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


def recorded_folder(name: str, made_by: Iterable[Path], fill: Callable[[Path], None]) -> Path:
    """A cached folder of what takes long to make again and is the same each time, as the logs of a real broker.

    made_by: the files whose content decides it: the code that makes it, and its inputs. With another content it is made
    again, and the folder of the former content is deleted.
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
