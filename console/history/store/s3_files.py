"""A lake in an S3 bucket, without Hadoop: what programs of this machine read is copied here, and what they wrote is put
there.

An object is whole once its PUT is answered, so `create` and `replace` are one step each. Data files never change, so a
copy of one is good for ever; copies that were not read for a week go.

The lock is an object with who and where, written on condition of what was read before (If-None-Match, If-Match): of two
that want it one is refused. Its holder writes it again every few seconds, and one that was not written for longer, by
the store's own clock, is taken over. Commits are conditional writes of their own: who paused too long is refused there.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from .errors import StoreError
from .filesystem import Entry
from .lock import BusyLock, Holder, Lock, holder_of, is_dead, iso_now
from .s3 import Bucket, Reply

AT_ONCE = 8
"""Requests at a time."""
RENEWED_EVERY, DEAD_AFTER = 10.0, 60.0
"""Seconds, of the lock."""
_KEPT_SECONDS = 7 * 86_400
_T = TypeVar("_T")


class S3Files:
    """Objects of a bucket by URI, `s3://` or `s3a://`. cache: a folder for copies, for this user alone."""

    def __init__(
        self, bucket: Bucket, cache: Path, *, renewed_every: float = RENEWED_EVERY, dead_after: float = DEAD_AFTER
    ) -> None:
        self._bucket = bucket
        self._cache = cache / hashlib.sha256(f"{bucket.endpoint}/{bucket.name}".encode()).hexdigest()[:16]
        self._renewed_every, self._dead_after = renewed_every, dead_after

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """See Filesystem."""
        if length == 0:
            return b""
        reply = self._bucket.get(_key(path), start, length)
        if reply is None:
            raise FileNotFoundError(2, "there is no such object", path)
        return reply.body

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """See Filesystem. Whom the bucket lets read, reads it."""
        del private
        if self._bucket.put(_key(path), data, new=True) is None:
            raise FileExistsError(17, "there is such an object", path)

    def replace(self, path: str, data: bytes) -> None:
        """See Filesystem."""
        self._bucket.put(_key(path), data)

    @contextmanager
    def output(self, path: str) -> Iterator[BinaryIO]:
        """See Filesystem. It is gathered in memory: what Python writes is small, Spark writes the rest."""
        gathered = io.BytesIO()
        yield gathered
        self._bucket.put(_key(path), gathered.getvalue())

    def entries(self, folder: str) -> list[Entry]:
        """See Filesystem."""
        within = f"{_key(folder)}/"
        found = [(each.key.removeprefix(within), each.bytes) for each in self._bucket.find(within, deep=False)]
        listed = [Entry(name.rstrip("/"), name.endswith("/"), size) for name, size in found if name]
        return sorted(listed, key=lambda each: each.name)

    def remove(self, path: str) -> None:
        """See Filesystem."""
        key = _key(path)
        keys = [each.key for each in self._bucket.find(f"{key}/", deep=True)]
        _each(self._bucket.delete, [*keys, key])

    def settle(self, folders: list[str], within: str) -> None:
        """See Filesystem: what was answered is kept."""

    def delta_options(self, _: str, /) -> Mapping[str, str]:
        """See Filesystem."""
        keys = self._bucket.keys()
        return {
            "aws_access_key_id": keys.access_key,
            "aws_secret_access_key": keys.secret,
            **({} if keys.token is None else {"aws_session_token": keys.token}),
            "aws_region": self._bucket.region,
            "aws_endpoint_url": self._bucket.endpoint,
            "aws_allow_http": str(self._bucket.endpoint.startswith("http://")).lower(),
            "aws_conditional_put": "etag",
        }

    def here(self, paths: Sequence[str]) -> list[str]:
        """See Filesystem: copies."""
        places = [self._cache / _key(path) for path in paths]
        missing = [(path, place) for path, place in zip(paths, places, strict=True) if not _used(place)]
        if missing:
            self._forget_old()
            _each(lambda both: self._copy(*both), missing)
        return [str(place) for place in places]

    @contextmanager
    def gathered(self, folder: str, scratch: str) -> Iterator[str]:
        """See Filesystem: written on this machine, then put there."""
        at = Path(scratch, f"kac-{secrets.token_hex(8)}")
        try:
            yield str(at)
            made = [file for file in at.rglob("*.parquet") if not file.name.startswith((".", "_"))]
            _each(lambda file: self._bucket.put(_key(f"{folder}/{file.relative_to(at).as_posix()}"), file), made)
        finally:
            shutil.rmtree(at, ignore_errors=True)

    def _copy(self, path: str, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            with beside.open("xb") as file:
                if not self._bucket.get_to(_key(path), file):
                    raise FileNotFoundError(2, "there is no such object", path)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)

    def _forget_old(self) -> None:
        old = time.time() - _KEPT_SECONDS
        for file in self._cache.rglob("*"):
            with suppress(OSError):  # another process does the same
                if file.is_file() and file.stat().st_mtime < old:
                    file.unlink()

    # -- the lock

    @contextmanager
    def lock(self, path: str, holder: Holder) -> Iterator[Lock]:
        """See Filesystem: a lease."""
        former, tag = self._take(_key(path), holder)
        ended = threading.Event()
        held = _Lease(self._bucket, _key(path), holder, tag)
        renewal = threading.Thread(target=held.renew, args=(ended, self._renewed_every), daemon=True)
        renewal.start()
        try:
            yield Lock(former, held.is_held)
        finally:
            ended.set()
            renewal.join()
            with suppress(StoreError):  # then it ends by itself
                held.write(b"")

    def _take(self, key: str, holder: Holder) -> tuple[Holder | None, str]:
        """Whose dead lease was taken over, and the tag of ours. BusyLock; StoreError."""
        if (tag := self._bucket.put(key, holder.text, new=True)) is not None:
            if self._bucket.put(key, holder.text, new=True) is not None:
                raise StoreError(
                    f"The store at {self._bucket.endpoint} ignores If-None-Match: two runs could overwrite each "
                    "other's commits. Take one that honours conditional writes; nothing was written."
                )
            return None, tag
        there = self._bucket.get(key)
        if there is None:  # deleted in between, by hand
            raise BusyLock(None)
        found = holder_of(there.body)
        if there.body and _age(there) < self._dead_after and (found is None or not is_dead(found)):
            if found is not None and found.run_id == holder.run_id:  # ours, and the answer was lost
                return None, str(there.headers["ETag"])
            raise BusyLock(found)
        tag = self._bucket.put(key, holder.text, match=str(there.headers["ETag"]))
        if tag is None:
            raise BusyLock(None)
        return found, tag


class _Lease:
    """The object of a lock, while it is held."""

    def __init__(self, bucket: Bucket, key: str, holder: Holder, tag: str) -> None:
        self._bucket, self._key, self._holder, self._tag = bucket, key, holder, tag
        self._alone = threading.Lock()

    def write(self, text: bytes) -> bool:
        """Writes it if it is ours still; whether it was. StoreError."""
        with self._alone:
            tag = self._bucket.put(self._key, text, match=self._tag)
            self._tag = tag or self._tag
            return tag is not None or self._is_ours()

    def is_held(self) -> bool:
        """Whether it is ours. StoreError."""
        with self._alone:
            return self._is_ours()

    def renew(self, ended: threading.Event, every: float) -> None:
        """Writes it now and then, until it is lost or ended."""
        while not ended.wait(every):
            with suppress(StoreError):  # the next time, or never: then the commit finds it lost
                self._holder = Holder(**{**self._holder.__dict__, "renewed": iso_now()})
                if not self.write(self._holder.text):
                    return

    def _is_ours(self) -> bool:
        there = self._bucket.get(self._key)
        found = None if there is None else holder_of(there.body)
        if there is None or found is None or found.run_id != self._holder.run_id:
            return False
        self._tag = str(there.headers["ETag"])  # of a write whose answer was lost
        return True


def _key(path: str) -> str:
    return path.partition("://")[2].partition("/")[2].rstrip("/")


def _used(place: Path) -> bool:
    """Whether it is there; it counts as read now."""
    with suppress(FileNotFoundError):
        os.utime(place)
        return True
    return False


def _age(reply: Reply) -> float:
    """Seconds since the object was written, by the store's clock."""
    now, then = (parsedate_to_datetime(str(reply.headers[name])) for name in ("Date", "Last-Modified"))
    return (now - then).total_seconds()


def _each(do: Callable[[_T], Any], of: Iterable[_T]) -> None:
    """Several at a time; the first error is raised."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(do, of):
            pass
