"""A lake on Hadoop's filesystems (hdfs://, s3a://, abfss://), through the Java of Spark's driver.

What is atomic where, in Hadoop's own words (its "Filesystem Specification", the S3A and ABFS pages):

- **hdfs**: `replace` renames over the former file (FileContext with OVERWRITE), **file** does too: one step.
  Creating a file that may not be there yet is one step, so of two that take the lock at once one is refused.
- **s3a**, **gs** and other stores of objects: a file appears when it is closed, whole, and takes the place of the
  former: `replace` writes it there, since a rename would be a copy and a deletion. Creating is one step where the store
  takes conditional writes (S3A from Hadoop 3.4.2 on); with older ones two runs that begin within the same moment may
  both believe that they hold the lock. Commits are delta-rs's own conditional writes: the later run is refused there.
- **abfss**: Hadoop's rename does not replace, so `replace` writes the file in its place. Creating is one step.

The lock is a lease: a file with who, where and when, renewed every minute. One that was not renewed for five minutes,
or whose process on this host has ended, is taken over. There is no fsync: what is closed is kept.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from console.history.store.lock import BusyLock, Holder, Lock, holder_of, is_dead, iso_now

from ..store.filesystem import Entry

RENEWED_EVERY = timedelta(minutes=1)
DEAD_AFTER = timedelta(minutes=5)
_AT_A_TIME = 8 << 20
"""Bytes that go over to Java in one call."""
_ERRORS: dict[str, type[OSError]] = {
    "java.io.FileNotFoundException": FileNotFoundError,
    "org.apache.hadoop.fs.FileAlreadyExistsException": FileExistsError,
    "java.nio.file.FileAlreadyExistsException": FileExistsError,
    "org.apache.hadoop.security.AccessControlException": PermissionError,
    "java.nio.file.AccessDeniedException": PermissionError,
}


_S3 = {
    "aws_access_key_id": "access.key",
    "aws_secret_access_key": "secret.key",
    "aws_session_token": "session.token",
    "aws_endpoint_url": "endpoint",
    "aws_region": "endpoint.region",
}
"""Options of delta-rs, and the settings of S3A for the same."""
_PLAIN_FILES = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""Hadoop keeps checksums of local files in files of their own, so that renaming would be two steps: without them."""


class HadoopFilesystem:
    """Files by URI, as Spark's own settings reach them; the module says what is atomic.

    Each method raises OSError for what Java calls an IOException, in its words.
    """

    def __init__(
        self, spark: SparkSession, *, renewed_every: timedelta = RENEWED_EVERY, dead_after: timedelta = DEAD_AFTER
    ) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        self._hadoop: Any = gateway.jvm.org.apache.hadoop.fs
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()
        for name, value in _PLAIN_FILES.items():
            self._conf.set(name, value)
        self._renewed_every = renewed_every
        self._dead_after = dead_after

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """See Filesystem."""
        with _java_errors(path):
            stream = self._of(path).open(self._path(path))
            try:
                stream.seek(start)
                return bytes(stream.readAllBytes() if length is None else stream.readNBytes(length))
            finally:
                stream.close()

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """See Filesystem. private: permissions 0600, where the store knows permissions."""
        self._write(path, data, over=False)
        if private:
            mode = self._hadoop.permission.FsPermission("600")
            with suppress(OSError), _java_errors(path):
                self._of(path).setPermission(self._path(path), mode)

    def replace(self, path: str, data: bytes) -> None:
        """See Filesystem."""
        scheme = urlsplit(path).scheme
        if scheme not in ("file", "hdfs", "viewfs"):
            self._write(path, data, over=True)
            return
        folder, _, name = path.rpartition("/")
        beside = f"{folder}/.{name}.{threading.get_native_id()}.new"
        self._write(beside, data, over=True)
        with _java_errors(path):
            if scheme == "file":
                self._of(path).rename(self._path(beside), self._path(path))
                return
            rename = getattr(self._hadoop, "Options$Rename")
            options = self._gateway.new_array(rename, 1)
            options[0] = rename.OVERWRITE
            context = self._hadoop.FileContext.getFileContext(self._path(path).toUri(), self._conf)
            context.rename(self._path(beside), self._path(path), options)

    @contextmanager
    def output(self, path: str) -> Iterator[BinaryIO]:
        """See Filesystem. It is gathered in memory: what Python writes is small, Spark writes the rest."""
        gathered = io.BytesIO()
        yield gathered
        self._write(path, gathered.getvalue(), over=False)

    def entries(self, folder: str) -> list[Entry]:
        """See Filesystem."""
        try:
            with _java_errors(folder):
                found = self._of(folder).listStatus(self._path(folder))
                listed = [Entry(each.getPath().getName(), each.isDirectory(), each.getLen()) for each in found]
        except FileNotFoundError:
            return []
        return sorted(listed, key=lambda each: each.name)

    def remove(self, path: str) -> None:
        """See Filesystem."""
        with _java_errors(path):
            self._of(path).delete(self._path(path), True)

    def settle(self, folders: list[str], within: str) -> None:
        """See Filesystem: what is closed is kept."""

    def here(self, paths: Sequence[str]) -> list[str]:
        """See Filesystem: Spark reads them where they are."""
        return list(paths)

    def gathered(self, folder: str, _: str) -> AbstractContextManager[str]:
        """See Filesystem: Spark writes it where it belongs."""
        return nullcontext(folder)

    def delta_options(self, path: str, /) -> Mapping[str, str]:
        """See Filesystem: S3's from the settings of Hadoop's S3A. Other stores' delta-rs takes from its environment."""
        if urlsplit(path).scheme not in ("s3", "s3a"):
            return {}
        bucket = urlsplit(path).netloc
        found = {
            name: self._conf.get(f"fs.s3a.bucket.{bucket}.{hadoop}") or self._conf.get(f"fs.s3a.{hadoop}")
            for name, hadoop in _S3.items()
        }
        made = {name: str(value) for name, value in found.items() if value}
        endpoint = made.get("aws_endpoint_url", "")
        if endpoint and "://" not in endpoint:
            secure = str(self._conf.get("fs.s3a.connection.ssl.enabled") or "true").lower() == "true"
            made["aws_endpoint_url"] = endpoint = f"{'https' if secure else 'http'}://{endpoint}"
        return {**made, "aws_allow_http": str(endpoint.startswith("http://")).lower()}

    @contextmanager
    def lock(self, path: str, holder: Holder) -> Iterator[Lock]:
        """See Filesystem: a lease."""
        former = self._take(path, holder)
        ended, alone = threading.Event(), threading.Lock()
        renewal = threading.Thread(target=self._renew, args=(path, holder, ended, alone), daemon=True)
        renewal.start()

        def is_held() -> bool:
            with alone:  # while it is renewed, it may be empty for a moment
                return self._holds(path, holder)

        try:
            yield Lock(former, is_held)
        finally:
            ended.set()
            renewal.join()
            with suppress(OSError):
                if self._holds(path, holder):
                    self.remove(path)

    def _take(self, path: str, holder: Holder) -> Holder | None:
        """Creates the lease; gives the dead one that was there. BusyLock."""
        with suppress(FileExistsError):
            self.create(path, holder.text)
            return None
        former = self._dead(path)
        self.remove(path)
        try:
            self.create(path, holder.text)
        except FileExistsError:  # another has taken it over meanwhile
            raise BusyLock(self._holder(path)) from None
        return former

    def _dead(self, path: str) -> Holder | None:
        """Who holds the lease, if they died. BusyLock: they did not."""
        found = self._holder(path)
        if found is None:  # it is being written just now, or was never written to its end
            with _java_errors(path):
                changed = self._of(path).getFileStatus(self._path(path)).getModificationTime()
            last = datetime.fromtimestamp(changed / 1000, timezone.utc)
        else:
            last = datetime.fromisoformat(found.renewed)
        late = datetime.now(timezone.utc) - last > self._dead_after
        if not late and (found is None or not is_dead(found)):
            raise BusyLock(found)
        return found

    def _holder(self, path: str) -> Holder | None:
        try:
            return holder_of(self.read(path))
        except FileNotFoundError:
            return None

    def _holds(self, path: str, holder: Holder) -> bool:
        found = self._holder(path)
        return found is not None and found.run_id == holder.run_id

    def _renew(self, path: str, holder: Holder, ended: threading.Event, alone: threading.Lock) -> None:
        while not ended.wait(self._renewed_every.total_seconds()):
            with alone, suppress(OSError, Py4JError):  # the next time, or never: then the commit finds it lost
                if not self._holds(path, holder):
                    return
                self.replace(path, replace(holder, renewed=iso_now()).text)

    def _write(self, path: str, data: bytes, *, over: bool) -> None:
        with _java_errors(path):
            stream = self._of(path).create(self._path(path), over)
            for start in range(0, len(data), _AT_A_TIME):
                stream.write(data[start : start + _AT_A_TIME])
            stream.close()

    def _path(self, path: str) -> Any:
        return self._hadoop.Path(path)

    def _of(self, path: str) -> Any:
        return self._path(path).getFileSystem(self._conf)


@contextmanager
def _java_errors(path: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        java = error.java_exception
        name, message = java.getClass().getName(), str(java.getMessage() or "").partition("\n")[0]
        if name == "java.io.IOException" and "already exists" in message:
            raise FileExistsError(message) from error
        raise _ERRORS.get(name, OSError)(f"{path}: {message or name}") from error
