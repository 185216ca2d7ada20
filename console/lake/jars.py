"""The jars that Spark needs beside its own: Delta's, those for lakes in S3 buckets, those for topics.

`spark_jars.txt` names each by its coordinates and its SHA-256 (`python -m requirements.spark_jars` makes it). They are
fetched once, by Maven where it is installed and else by the Ivy that comes with Spark, into a folder of the cache that
its owner alone may enter; what they hold is verified at each start.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from console.contexts.lake_files import cache_directory
from console.lake.java import NoSpark
from console.safe_files import UntrustedPath, private_folder

FOLDER = "KAC_SPARK_JARS"
"""The variable that names a folder that has the jars: nothing is fetched then."""
FETCH_SECONDS = 600
TABLE = Path(__file__).with_name("spark_jars.txt")


class Group(StrEnum):
    """What jars are for."""

    DELTA = "delta"
    S3 = "s3"
    KAFKA = "kafka"


@dataclass(frozen=True)
class Jar:
    """One jar. sha256: of its content, in hexadecimal digits."""

    of: Group
    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.name}-{self.version}.jar"


@dataclass(frozen=True)
class Found:
    """The jars of some groups that a folder has, and those it lacks: not there, not a file of this user, or of another
    content."""

    folder: Path
    there: tuple[Jar, ...]
    lacking: tuple[Jar, ...]


def table(text: str) -> tuple[Jar, ...]:
    """Read the table: a line a jar, `GROUP COORDINATES SHA-256`."""
    rows = (line.replace(":", " ").split() for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Jar(Group(of), group, name, version, digest) for of, group, name, version, digest in rows)


def jars_of(groups: Collection[Group]) -> tuple[Jar, ...]:
    """The table's jars for these purposes."""
    return tuple(each for each in table(TABLE.read_text(encoding="utf-8")) if each.of in groups)


def jar_folder(environ: Mapping[str, str]) -> Path:
    """Where fetched jars are kept."""
    return cache_directory(environ) / "spark-jars"


def own_folder(folder: Path) -> Path:
    """Make a folder of the cache that its owner alone may enter.

    Raises:
        UntrustedPath: it is a link, or another user may put something else in its place.
        OSError: it can't be made.
    """
    private_folder(folder)
    above = folder.parent.stat()
    if folder.is_symlink() or above.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(above.st_mode) & 0o022:
        raise UntrustedPath(folder, "it is a link, or another user may write where it is")
    return folder


def groups_of(lake: str, *, topics: bool) -> frozenset[Group]:
    """What a lake at this place needs. topics: whether request logs are read from topics."""
    more = {Group.S3: lake.startswith(("s3://", "s3a://")), Group.KAFKA: topics}
    return frozenset({Group.DELTA, *(group for group, needed in more.items() if needed)})


def look(environ: Mapping[str, str], groups: Collection[Group]) -> Found:
    """Find which jars are in the cache. Nothing is fetched."""
    folder, wanted = jar_folder(environ), jars_of(groups)
    good = tuple(each for each in wanted if digest_of(folder / each.file) == each.sha256)
    return Found(folder, good, tuple(each for each in wanted if each not in good))


def spark_jars(environ: Mapping[str, str], groups: Collection[Group], java: Path) -> tuple[Path, ...]:
    """Return the jars' paths, fetched and verified.

    java: the program that runs Ivy, where Maven is not installed.

    Raises:
        NoSpark: they are not to be had; the text says from where, and what to do.
    """
    folder = jar_folder(environ)
    try:
        own_folder(folder)
        lacking = look(environ, groups).lacking
        if lacking:
            with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
                _bring(environ, lacking, java, Path(scratch))
                for each in lacking:
                    Path(scratch, each.file).replace(folder / each.file)
    except OSError as error:
        raise NoSpark(f"no folder for Spark's jars: {error.strerror or error} ({error.filename or folder})") from None
    return tuple(folder / each.file for each in jars_of(groups))


def digest_of(file: Path) -> str:
    """The SHA-256 of a regular file of this user; empty text for anything else, or a link."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return ""
        return sha256(opened.read()).hexdigest()


# -- fetching --------------------------------------------------------------------------------------------------------


def _bring(environ: Mapping[str, str], jars: Sequence[Jar], java: Path, folder: Path) -> None:
    """Put these jars into a folder, verified. NoSpark: they are not to be had, or of another content."""
    given = environ.get(FOLDER)
    if given:
        where, said = f"{FOLDER}={given}", _copied(Path(given), jars, folder)
    else:
        maven = shutil.which("mvn", path=environ.get("PATH", os.defpath))
        where = "by Maven" if maven else "by Spark's Ivy"
        said = _by_maven(maven, jars, folder) if maven else ""
        if not maven or _missing(jars, folder):
            where, said = "by Spark's Ivy", _by_ivy(java, jars, folder) or said
    if missing := _missing(jars, folder):
        raise NoSpark(
            f"{len(missing)} of {len(jars)} jars that Spark needs are not to be had ({where}): {missing[0].file}"
            + (f"; {said}" if said else "")
            + f". Without a way to a repository, fetch them elsewhere (kac lake doctor names them) and set {FOLDER} to "
            "their folder"
        )
    for each in jars:
        if digest_of(folder / each.file) != each.sha256:
            raise NoSpark(f"{each.file} ({where}) is not the file that kac was tested with: its SHA-256 is another")


def _missing(jars: Iterable[Jar], folder: Path) -> list[Jar]:
    return [each for each in jars if not (folder / each.file).is_file()]


def _copied(given: Path, jars: Iterable[Jar], folder: Path) -> str:
    """A copy is what is verified: others may write where the jars are."""
    said = ""
    for each in jars:
        try:
            shutil.copyfile(given / each.file, folder / each.file)
        except OSError as error:
            said = said or f"{error.strerror or error}"
    return said


def _by_maven(maven: str, jars: Iterable[Jar], folder: Path) -> str:
    pom = folder / "pom.xml"
    pom.write_text(pom_of((f"{each.group}:{each.name}:{each.version}" for each in jars), alone=True))
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-Dmdep.overWriteReleases=true"]
    return _run([maven, "-q", "-B", "-f", str(pom), *goal])


def _by_ivy(java: Path, jars: Iterable[Jar], folder: Path) -> str:
    [spark] = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    ivy = next(Path(spark, "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        return "Spark has no Ivy"
    described = folder / "ivy.xml"
    described.write_text(
        '<ivy-module version="2.0"><info organisation="kac" module="jars"/><configurations><conf name="default"/>'
        "</configurations><dependencies>"
        + "".join(
            f"<dependency org={quoteattr(each.group)} name={quoteattr(each.name)} rev={quoteattr(each.version)} "
            'transitive="false" conf="default->master"/>'
            for each in jars
        )
        + "</dependencies></ivy-module>"
    )
    retrieved = ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    cache = ["-cache", str(folder / "ivy")]
    return _run([str(java), "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(described), *cache, *retrieved])


def pom_of(coordinates: Iterable[str], *, alone: bool, left_out: Collection[str] = ()) -> str:
    """A project of Maven that depends on these. alone: without what they depend on; left_out: names of artifacts that
    none of them brings along."""
    unwanted = "".join(
        f"<exclusion><groupId>*</groupId><artifactId>{name}</artifactId></exclusion>"
        for name in (("*",) if alone else left_out)
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>kac</groupId><artifactId>jars</artifactId>"
        "<version>1</version><dependencies>"
        + "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            f"<exclusions>{unwanted}</exclusions></dependency>"
            for group, name, version in (each.split(":") for each in coordinates)
        )
        + "</dependencies></project>"
    )


def _run(command: Sequence[str]) -> str:
    """Run a program that fetches; what it says of a failure, or empty text."""
    try:
        done = subprocess.run(  # noqa: S603 - Maven or Java of this machine
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=FETCH_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"{Path(command[0]).name} took more than {FETCH_SECONDS} s"
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    telling = [line for line in lines if "ERROR" in line or "UNRESOLVED" in line]
    return (telling or lines or [f"exit code {done.returncode}"])[0][:300] if done.returncode else ""
