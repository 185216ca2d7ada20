"""The class archive of Spark's Java: classes as Java has them in memory, read and verified once, not at each start.

A session that really worked records which classes it loaded; a process in the background then makes the archive from
them (`python -m console.lake.archive`), of Java's own classes too, so that a Java that comes without an archive of
those needs nothing else. It is of one Java with one set of jars, and is deleted when these change. Where there is none,
or it can't be made, Spark starts all the same, some seconds later.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from console.contexts.lake_files import cache_directory
from console.lake.jars import digest_of, own_folder
from console.lake.java import Java
from console.safe_files import PRIVATE, write_whole

MAKE_SECONDS = 1800
UNUSED_SECONDS = 86400
"""Archives of other Javas or jars are deleted when they were not used for so long: two installations may share a
cache."""


@dataclass(frozen=True)
class Archive:
    """The archive of one Java with one set of jars, made or not.

    program: Java's. options: those that it has to be started with, its class path among them.
    """

    folder: Path
    key: str
    program: Path
    options: tuple[str, ...]

    @property
    def file(self) -> Path:
        """The archive itself."""
        return self.folder / f"{self.key}.jsa"

    @property
    def digest(self) -> Path:
        """The file with its SHA-256, written when it is complete."""
        return self.folder / f"{self.key}.sha256"

    @property
    def classes(self) -> Path:
        """The list of classes that it is to be made from."""
        return self.folder / f"{self.key}.classes"

    @property
    def failure(self) -> Path:
        """The file that says why it could not be made; there is no second try."""
        return self.folder / f"{self.key}.failed"


def archive_of(environ: Mapping[str, str], java: Java, options: Sequence[str]) -> Archive:
    """Name the archive for a Java with these options; its key changes with the Java and with each jar."""
    told = [java.version, str(java.program), *options]
    for each in options[options.index("-cp") + 1].split(os.pathsep):
        with suppress(OSError):
            found = Path(each).stat()
            told.append(f"{found.st_size} {found.st_mtime_ns}")
    key = sha256("\0".join(told).encode()).hexdigest()[:16]
    return Archive(cache_directory(environ) / "spark-classes", key, java.program, tuple(options))


def usable(archive: Archive) -> bool:
    """Whether the archive is complete, this user's own, and as it was made. One that is not is deleted."""
    try:
        own_folder(archive.folder)
        digest = archive.digest.read_text(encoding="ascii")
        if digest and digest == digest_of(archive.file):
            os.utime(archive.file)
            return True
        archive.digest.unlink()
        archive.file.unlink()
    except (OSError, UnicodeDecodeError):
        return False
    return False


def start_options(archive: Archive, recording: Path | None) -> list[str]:
    """Java's options that use the archive; or that record its classes in a file, where there is none yet.

    recording: None to record nothing.
    """
    if usable(archive):
        return [f"-XX:SharedArchiveFile={archive.file}"]
    if recording is None or archive.failure.exists():
        return []
    return [f"-XX:DumpLoadedClassList={recording}"]


def begin(archive: Archive, recording: Path) -> subprocess.Popen[bytes] | None:
    """Make the archive in the background, from the classes that an ended session recorded; None: it recorded none, or
    the folder can't be written."""
    try:
        classes = recording.read_bytes()
        write_whole(own_folder(archive.folder) / archive.classes.name, classes, PRIVATE)
        return subprocess.Popen(  # noqa: S603 - ourselves
            [
                sys.executable,
                "-m",
                "console.lake.archive",
                str(archive.folder),
                archive.key,
                str(archive.program),
                *archive.options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # goes on when the terminal is closed
        )
    except OSError:
        return None


def make(archive: Archive) -> None:
    """Make the archive, whole or not at all, and delete others. One process does; another returns at once. OSError."""
    descriptor = os.open(archive.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


def _dumped(archive: Archive, scratch: Path) -> str:
    """Let Java write the archive; why it did not, or empty text."""
    own = ["-Xshare:dump", f"-XX:SharedClassListFile={archive.classes}", f"-XX:SharedArchiveFile={scratch}"]
    try:
        done = subprocess.run(  # noqa: S603 - the Java that Spark runs on
            [archive.program, *own, *archive.options],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=MAKE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0 and scratch.is_file():
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip() and "[warning]" not in line]
    return (lines or [f"Java ended with {done.returncode}"])[0][:300]


def _delete_others(archive: Archive) -> None:
    for each in archive.folder.iterdir():
        with suppress(OSError):
            if not each.name.startswith(archive.key) and time.time() - each.stat().st_mtime > UNUSED_SECONDS:
                each.unlink()


def main() -> None:
    """Make one, with the lowest priority: FOLDER KEY JAVA OPTION…"""
    folder, key, program, *options = sys.argv[1:]
    os.nice(19)
    make(Archive(Path(folder), key, Path(program), tuple(options)))


if __name__ == "__main__":
    main()
