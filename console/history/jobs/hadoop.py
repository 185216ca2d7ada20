"""A lake on Hadoop's filesystems (hdfs://, abfss://, gs://), through the Java of Spark's driver; on S3 by obstore.

What is atomic where, in Hadoop's own words (its "Filesystem Specification", the ABFS page):

- **hdfs**: `replace` renames over the former file (FileContext with OVERWRITE), **file** does too: one step.
- **abfss**, **gs** and other stores of objects: a file appears when it is closed, whole, and takes the place of the
  former: `replace` writes it there, since a rename would not replace, or be a copy and a deletion.

Creating a file that may not be there yet is one step, so of two that take the lock at once one is refused. There is no
fsync: what is closed is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from console.history.store.lease import Leased, leased
from console.history.store.lock import Holder, Lock

from ..store.errors import PACKAGE, LakeError
from ..store.filesystem import Entry, Filesystem

RENEWED_EVERY, DEAD_AFTER = 60.0, 300.0
"""Seconds, of the lock."""
_AT_A_TIME = 8 << 20
"""Bytes that go over to Java in one call."""
_ERRORS: dict[str, type[OSError]] = {
    "java.io.FileNotFoundException": FileNotFoundError,
    "org.apache.hadoop.fs.FileAlreadyExistsException": FileExistsError,
    "java.nio.file.FileAlreadyExistsException": FileExistsError,
    "org.apache.hadoop.security.AccessControlException": PermissionError,
    "java.nio.file.AccessDeniedException": PermissionError,
}
_PLAIN_FILES = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""Hadoop keeps checksums of local files in files of their own, so that renaming would be two steps: without them."""


def spark_files(spark: SparkSession, where: str) -> Filesystem:
    """The files of a lake at a URI as Spark's own settings reach them. LakeError: obstore is not installed."""
    at = urlsplit(where)
    if at.scheme not in ("s3", "s3a"):
        return HadoopFilesystem(spark)
    try:
        from ..store.s3 import S3Files, S3Keys
    except ImportError:
        raise LakeError(f"{where} needs obstore beside the driver, which is not installed: {PACKAGE}") from None
    conf: Any = spark._jsparkSession.sessionState().newHadoopConf()

    def said(name: str) -> str:
        return str(conf.get(f"fs.s3a.bucket.{at.netloc}.{name}") or conf.get(f"fs.s3a.{name}") or "")

    endpoint = said("endpoint")
    if endpoint and "://" not in endpoint:
        endpoint = f"{'http' if said('connection.ssl.enabled').lower() == 'false' else 'https'}://{endpoint}"
    keys = S3Keys(said("access.key"), said("secret.key"), said("session.token") or None, "spark.hadoop.fs.s3a")
    return S3Files(at.netloc, endpoint, said("endpoint.region"), (lambda: keys) if keys.access_key else None, None)


class HadoopFilesystem(Filesystem):
    """Files by URI, as Spark's own settings reach them; the module says what is atomic. Spark reads and writes them
    where they are, and delta-rs commits there as its environment says (AZURE_STORAGE_…, GOOGLE_…).

    Each method raises OSError for what Java calls an IOException, in its words.
    """

    def __init__(
        self, spark: SparkSession, *, renewed_every: float = RENEWED_EVERY, dead_after: float = DEAD_AFTER
    ) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        self._hadoop: Any = gateway.jvm.org.apache.hadoop.fs
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()
        for name, value in _PLAIN_FILES.items():
            self._conf.set(name, value)
        self._renewed_every, self._dead_after = renewed_every, dead_after

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

    def lock(self, path: str, holder: Holder) -> AbstractContextManager[Lock]:
        """See Filesystem: a lease."""
        return leased(self, path, holder, self._renewed_every, self._dead_after)

    def find(self, path: str) -> Leased | None:
        """See LeaseFiles: empty is being written just now, or was never written to its end."""
        try:
            text = self.read(path)
            with _java_errors(path):
                changed = self._of(path).getFileStatus(self._path(path)).getModificationTime()
        except FileNotFoundError:
            return None
        return Leased(text, text.decode("utf-8", "replace"), datetime.fromtimestamp(changed / 1000, timezone.utc))

    def clock(self, path: str) -> datetime:
        """See LeaseFiles: this machine's, which is to be that of Hadoop's."""
        del path
        return datetime.now(timezone.utc)

    def write_if(self, path: str, text: bytes, tag: str | None) -> str | None:
        """See LeaseFiles. Only creating it is one step: who loses a race for a dead one finds out when it commits."""
        there = None if tag is None else self.find(path)
        if tag is not None and (there is None or there.tag != tag):
            return None
        try:
            (self.create if tag is None else self.replace)(path, text)
        except FileExistsError:
            return None
        return text.decode()

    def release(self, path: str, tag: str) -> None:
        """See LeaseFiles."""
        del tag
        self.remove(path)

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
