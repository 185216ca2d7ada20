"""Gives all tests of a run a temporary home folder before the first test begins; after the last test, finds the files
in the real home that have changed.
"""

import atexit
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.support.cached_folder import cache_home

DESCRIPTORS = 8_192
"""Number of open files that some tests need, because they run embedded clusters of hundreds of brokers. Shells often
allow only 1,024.
"""
_BELOW_HOME = (
    *(".config/kac", ".local/state/kac", ".local/share/kac", ".kaf", ".config/kafkactl", ".config/kcl"),
    *(".config/rpk", ".aws", ".ssh", ".ivy2"),
)
_BY_VARIABLE = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
_MOST = 20_000
"""Greatest number of files and folders whose changes are observed."""

Seen = Mapping[str, tuple[int, int]]
"""Path -> size in bytes, and time of the last change in ns since 1970."""


class RealPlaces(NamedTuple):
    """The user's own folders that kac, or a library that it uses, could write to."""

    folders: tuple[Path, ...]

    def seen(self) -> Seen:
        """Return size and time of the last change of each file and folder in these folders, of at most `_MOST`."""
        found: dict[str, tuple[int, int]] = {}
        for path in self._paths():
            try:
                of = path.lstat()
            except OSError:
                continue
            found[str(path)] = of.st_size, of.st_mtime_ns
            if len(found) == _MOST:
                break
        return found

    def _paths(self) -> Iterator[Path]:
        for folder in self.folders:
            yield folder
            for where, folders, files in os.walk(folder):
                yield from (Path(where, name) for name in (*folders, *files))


def real_places(environ: Mapping[str, str]) -> RealPlaces:
    home = Path(environ.get("HOME") or "/nonexistent")
    named = (Path(environ[name], "kac") for name in _BY_VARIABLE if environ.get(name))
    return RealPlaces((*(home / name for name in _BELOW_HOME), *named))


def changed(before: Seen, after: Seen) -> list[str]:
    """Return the paths that were added, removed or changed."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def take_a_home() -> None:
    """Set HOME of this process and its children to a temporary folder, which is removed when this process ends. Caches
    stay in the real home.
    """
    os.environ["XDG_CACHE_HOME"] = str(cache_home().parent)
    real = Path(os.environ.get("HOME") or "/nonexistent")
    if "GOPATH" not in os.environ and (real / "go").is_dir():
        os.environ["GOPATH"] = str(real / "go")
    home = tempfile.mkdtemp(prefix="kac-tests-home-")
    mine = os.getpid()
    atexit.register(lambda: shutil.rmtree(home, ignore_errors=True) if os.getpid() == mine else None)
    os.environ["HOME"] = home
    for name in _BY_VARIABLE:
        os.environ.pop(name, None)


def open_more_files() -> None:
    """Raise the limit of open files of this process and its children to `DESCRIPTORS`, or as far as allowed; only root
    can also raise the hard limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= DESCRIPTORS:
        return
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
            return
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))


def too_few_files(wanted: int) -> str:
    """Return the reason why a test that opens `wanted` files at once can't run here; ``""`` if it can."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return "" if soft == resource.RLIM_INFINITY or soft >= wanted else f"it opens {wanted:,} files; ulimit -n {soft}"
