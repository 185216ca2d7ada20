"""Access to a lake in a bucket of S3, or of any store with S3's API, by obstore.

An object becomes visible only as a whole, so `create` and `replace` are one step each. Programs on this machine read
copies: data files never change, so a copy stays valid; copies that were not read for a week are deleted. If Spark reads
the bucket itself, no copies are made.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from console.lake import files
from console.model.built_types import built

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Credential

AT_ONCE = 8
"""Maximum number of concurrent file transfers."""
_KEPT_SECONDS = 7 * 86_400
_PACKETS, _WHOLE = timedelta(minutes=2), timedelta(hours=1)
"""Timeouts of a store: for one part of a write or one packet of a read, and for a whole object."""
_TRIES_AGAIN = 2
_LENT_SECONDS = 60.0
"""Seconds between two checks whether the keys in the file that `lent` yielded have to be renewed."""
_OF_TWO, _OF_THREE = "SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"
"""S3A's providers that read keys without and with a token from its settings."""
_OF_FILE = "software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider"
"""The class in the AWS SDK for Java that reads keys from a profiles file."""
_PROFILE, _PROFILES = "default", "credentials"
_KEYS = "Check AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret."
_UNKNOWN = f"it does not know the access key of {{source}}. {_KEYS}"
_REMEDIES = {
    "NoSuchBucket": "there is no such bucket. Make it, or name another lake.",
    "InvalidAccessKeyId": _UNKNOWN,
    "XAdminUserNotFound": _UNKNOWN,
    "SignatureDoesNotMatch": f"the secret of {{source}} is not that of its access key. {_KEYS}",
    "ExpiredToken": "the credentials of {source} have expired. Get new ones.",
    "InvalidToken": f"it does not accept the session token of {{source}}. {_KEYS}",
    "RequestTimeTooSkewed": "this host's clock is wrong. Set it.",
    "AccessDenied": "{source} may not do that. A lake needs s3:ListBucket on the bucket, and s3:GetObject, "
    "s3:PutObject and s3:DeleteObject on its objects.",
    "NotImplemented": "it has no conditional writes, which a lake needs. Take a store that honours If-None-Match.",
}
_OF_REGION = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
_MOST_SAID = 4_000
"""Maximum number of characters of a store's response that are parsed."""
_NO_OBJECT = ("NoSuchKey", "NotFound", "")


class S3Keys(NamedTuple):
    """Credentials for a bucket. `token` is the session token of temporary ones, else None."""

    access_key: str
    secret: str
    token: str | None
    source: str
    """The origin of the credentials, as text for the operator."""
    ends: datetime | None = None
    """The time at which the credentials expire; None if they do not expire, or if the time is unknown."""

    def __repr__(self) -> str:
        return f"S3Keys(of {self.source})"


class _Loan(msgspec.Struct, frozen=True):
    """The access to a bucket that another process receives: the arguments of `S3Files`, and the present keys."""

    bucket: str
    endpoint: str
    region: str
    keys: S3Keys | None
    cache: str


class _Lease(NamedTuple):
    """The present object of a lease. If the object is empty, no run holds the lease."""

    text: bytes
    tag: str
    """The tag, which changes with each write."""
    written: datetime
    """The time of the write by the store's clock."""

    @property
    def holder(self) -> files.Holder | None:
        """The holder that the object names; None if the object names no holder."""
        return files.holder_of(self.text)


def _profile_of(file: str) -> str:
    """Return the text of an AWS profiles file with one profile, whose keys come from a command that prints `file`
    (`credential_process`).

    The AWS SDK runs the command again before the keys expire, but reads the profiles file only once. The command has an
    absolute path, so that PATH has no influence.
    """
    cat = shutil.which("cat", path=os.defpath) or "cat"
    return f"[{_PROFILE}]\ncredential_process = {cat} {shlex.quote(file)}\n"


def _answer_of(keys: S3Keys, ends: datetime) -> bytes:
    """Return keys in the JSON format that the AWS SDK expects from a command. ends: the time at which they expire."""
    named = {
        "Version": 1,
        "AccessKeyId": keys.access_key,
        "SecretAccessKey": keys.secret,
        "SessionToken": keys.token,
        "Expiration": ends.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return msgspec.json.encode({name: value for name, value in named.items() if value})


class S3Files(files.Filesystem):
    """Objects of a bucket by URI, `s3://` or `s3a://`.

    Attributes:
        endpoint: ``https://HOST[:PORT]``; empty for AWS' own.
        keys: a function that returns the credentials, called for each use; None to let obstore look for them.
        cache: a folder for copies, for this user only.
    """

    renewed_every, dead_after = 10.0, 60.0
    """Seconds between renewals of a lock, and after which an unrenewed lock counts as dead."""

    def __init__(self, bucket: str, endpoint: str, region: str, keys: Callable[[], S3Keys] | None, cache: Path) -> None:
        self._bucket, self._url, self._region, self._keys = bucket, endpoint, region, keys
        self._endpoint = endpoint or "AWS"
        # Some stores lack bulk deletion.
        named = {"aws_region": region, "aws_endpoint_url": endpoint, "aws_disable_bulk_delete": "true"}
        self._cache = cache / hashlib.sha256(f"{self._endpoint}/{bucket}".encode()).hexdigest()[:16]
        self._store = S3Store(
            bucket,
            config=cast("S3Config", {name: text for name, text in named.items() if text}),
            client_options={"allow_http": True, "timeout": _WHOLE, "read_timeout": _PACKETS},
            retry_config={"max_retries": _TRIES_AGAIN},
            credential_provider=None if keys is None else self._credential,
        )

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes; see `Filesystem.read`."""
        if length == 0:
            return b""
        with self._explained("GET", path):
            if length is None:
                found = obstore.get(self._store, _key(path), options={"range": {"offset": start}} if start else None)
                if found.meta["size"] - start <= files.LARGEST:
                    return bytes(found.bytes())
            else:
                return bytes(obstore.get_range(self._store, _key(path), start=start, length=length))
        raise OSError(errno.EFBIG, f"it has more than {files.LARGEST >> 30} GiB", path)

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        """Write a new object; see `Filesystem.create`. The bucket's own permissions decide who may read it."""
        del private
        if not self._put_if(path, data, None):
            raise FileExistsError(17, "there is such an object", path)

    def replace(self, path: str, data: bytes) -> None:
        """Write or replace an object; see `Filesystem.replace`."""
        self._put(path, data)

    def entries(self, folder: str) -> list[files.Entry]:
        """Return the direct contents of a prefix; see `Filesystem.entries`."""
        with self._explained("GET", folder):
            found = obstore.list_with_delimiter(self._store, _key(folder))
        folders = found["common_prefixes"]
        # Hadoop marks a folder by an object of the same name.
        objects = [each for each in found["objects"] if each["path"] not in (*folders, _key(folder))]
        listed = [files.Entry(each.rpartition("/")[2], True, 0) for each in folders]
        listed += [
            files.Entry(each["path"].rpartition("/")[2], False, each["size"], each["e_tag"] or "") for each in objects
        ]
        return sorted(listed)

    def remove(self, path: str) -> None:
        """Delete an object, or all objects under a prefix; see `Filesystem.remove`."""
        with suppress(FileNotFoundError), self._explained("DELETE", path):
            within = [each["path"] for page in obstore.list(self._store, _key(path)) for each in page]
            obstore.delete(self._store, within or [_key(path)])

    def here(self, paths: Sequence[str]) -> list[str]:
        """Download copies of these objects and return their paths; see `Filesystem.here`."""
        places = [self._cache / _key(path) for path in paths]
        missing = [(path, place) for path, place in zip(paths, places, strict=True) if not _used(place)]
        if missing:
            _forget_old(self._cache)
            _each(self._copy, *zip(*missing, strict=True))
        return [str(place) for place in places]

    def spark_settings(self, *, is_local: bool) -> dict[str, str]:
        """Return the settings of Hadoop's S3A for this bucket; see `Filesystem.spark_settings`.

        S3A keeps the keys of its settings as long as a filesystem is open. If keys expire, Java gets the next ones by
        the profile of `java_properties`; workers on other machines do not have this profile.

        Delta's commits need nothing more. Delta's default way to write to S3 (S3SingleDriverLogStore) is safe only for
        one driver, and the lease of `lock` admits only one application at a time.
        """
        keys = self._keys and self._keys()
        provider = f"org.apache.hadoop.fs.s3a.{_OF_THREE if keys.token else _OF_TWO}" if keys else ""
        if is_local and keys and keys.ends is not None:
            provider, keys = _OF_FILE, None
        named = {
            "path.style.access": "true",  # obstore's default
            "endpoint": self._url,
            "endpoint.region": self._region,
            "aws.credentials.provider": provider,
            "access.key": keys and keys.access_key,
            "secret.key": keys and keys.secret,
            "session.token": keys and keys.token,
        }
        return {f"spark.hadoop.fs.s3a.bucket.{self._bucket}.{name}": text for name, text in named.items() if text}

    def java_properties(self, lent: str) -> dict[str, str]:
        """Return the properties that name the file of keys that expire, so that the AWS SDK reads no other file; empty
        if the keys do not expire. See `Filesystem.java_properties`.
        """
        file = Path(lent).with_name(_PROFILES)
        if not file.exists():
            return {}
        nowhere = str(file.with_name("none"))
        return {"aws.sharedCredentialsFile": str(file), "aws.configFile": nowhere, "aws.profile": _PROFILE}

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Yield the path of a file with access to the bucket; see `Filesystem.lent`. The file, and a second file next
        to it for Java, get new keys before the old keys expire.
        """
        with tempfile.TemporaryDirectory(prefix="kac-store-") as folder:  # readable by this user only
            file, ended = f"{folder}/store", threading.Event()

            def write() -> None:
                keys = None if self._keys is None else self._keys()
                loan = _Loan(self._bucket, self._url, self._region, keys, str(self._cache.parent))
                files.Filesystem().replace(file, msgspec.json.encode(loan))
                if keys is not None and keys.ends is not None:
                    files.Filesystem().replace(f"{folder}/keys.json", _answer_of(keys, keys.ends))
                    files.Filesystem().replace(f"{folder}/{_PROFILES}", _profile_of(f"{folder}/keys.json").encode())

            def renew() -> None:
                while not ended.wait(_LENT_SECONDS):
                    with suppress(files.StoreError):  # retried later; a client with expired keys reports that
                        write()

            write()
            renewal = threading.Thread(target=renew, daemon=True)
            renewal.start()
            try:
                yield file
            finally:
                ended.set()
                renewal.join()

    @staticmethod
    def borrowed(lent: bytes) -> S3Files:
        """Return the access to a bucket that another process lent; see `plans.borrowed`."""
        loan = msgspec.json.decode(lent, type=built(_Loan))
        keys = loan.keys
        ask = None if keys is None else lambda: keys
        return S3Files(loan.bucket, loan.endpoint, loan.region, ask, Path(loan.cache))

    @contextmanager
    def lock(self, path: str, holder: files.Holder) -> Iterator[files.Lock]:
        """Yield the lake's lock; see `Filesystem.lock`. The lock is a lease: an object that each write replaces only if
        it still has the expected tag, so that the store refuses one of two concurrent writers. Raises StoreError.

        The holder renews the lease every 10 s (`renewed_every`). Another run takes over a lease that was not renewed
        for 60 s (`dead_after`) by the store's own clock. If the earlier holder had only paused and then continues, the
        store refuses its commits, because they are also conditional.
        """
        former, ended = self._take(path, holder), threading.Event()
        renewal = threading.Thread(target=self._renew, args=(path, holder, ended), daemon=True)
        renewal.start()
        try:
            yield files.Lock(former, lambda: self._held(path, holder) is not None)
        finally:
            ended.set()
            renewal.join()
            with suppress(files.StoreError):  # the lease expires if it can't be released
                if (lease := self._held(path, holder)) is not None:
                    self._put_if(path, b"", lease.tag)

    def _take(self, path: str, holder: files.Holder) -> files.Holder | None:
        """Take the lease. Return the holder of the lease that it replaces, because that lease has expired or its holder
        on this host is dead; None if the lease was free or named no holder.

        Raises:
            LakeBusy: another run holds the lease.
            StoreError: the store can't be reached, refuses a request, or ignores If-None-Match.
        """
        there = self._find(path)
        former = there and there.holder
        if there is not None and there.text and not (former is not None and files.is_dead(former)):
            age = self._clock(path) - there.written
            if age.total_seconds() < self.dead_after:
                raise files.LakeBusy(path, former)
        # If the lease is ours after a failed write, only the response was lost.
        if not self._put_if(path, holder.text, there and there.tag) and self._held(path, holder) is None:
            other = self._find(path)
            raise files.LakeBusy(path, other and other.holder)
        if there is None and self._put_if(path, holder.text, None):
            raise files.StoreError(
                f"The store of {path} ignores If-None-Match: two runs could overwrite each other's commits. Take one "
                "that honours conditional writes; nothing was written."
            )
        return former

    def _renew(self, path: str, holder: files.Holder, ended: threading.Event) -> None:
        """Renew the lease every `renewed_every` seconds, until another run holds it or `ended` is set. Errors of the
        store are ignored.
        """
        while not ended.wait(self.renewed_every):
            with suppress(files.StoreError):  # retried later; if it is lost, the next commit finds out
                if (lease := self._held(path, holder)) is None:
                    return
                self._put_if(path, replace(holder, renewed=files.iso_now()).text, lease.tag)

    def _held(self, path: str, holder: files.Holder) -> _Lease | None:
        """Return the lease if this run holds it; None if another run holds it or it is free."""
        there = self._find(path)
        mine = there is not None and there.holder is not None and there.holder.run_id == holder.run_id
        return there if mine else None

    def _find(self, path: str) -> _Lease | None:
        with suppress(FileNotFoundError), self._explained("GET", path):
            found = obstore.get(self._store, _key(path))
            # Don't read an object that is too large to name a holder: the lease is taken, and not ours.
            text = bytes(found.bytes()) if found.meta["size"] <= files.LARGEST_HOLDER else b"?"
            return _Lease(text, found.meta["e_tag"] or "", found.meta["last_modified"])
        return None

    def _clock(self, path: str) -> datetime:
        """Return the present time by the store's clock, which is the time of an object written now."""
        self._put(f"{path}.clock", b"-")
        found = self._find(f"{path}.clock")
        return datetime.now(timezone.utc) if found is None else found.written

    def _put(self, path: str, data: bytes | Path, mode: Any = "overwrite") -> None:
        with self._explained("PUT", path):
            obstore.put(self._store, _key(path), data, mode=mode, max_concurrency=1)

    def _put_if(self, path: str, data: bytes, tag: str | None) -> bool:
        """Write the object if it still has this tag (None: if it does not exist); return whether it was written. Raises
        StoreError: the store can't be reached or refuses the request for another reason.
        """
        with suppress(AlreadyExistsError, PreconditionError, FileNotFoundError):
            self._put(path, data, "create" if tag is None else {"e_tag": tag})
            return True
        return False

    def _copy(self, path: str, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            with beside.open("xb") as file, self._explained("GET", path):
                for part in obstore.get(self._store, _key(path)).stream():
                    file.write(part)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)

    def _credential(self) -> S3Credential:
        assert self._keys is not None
        keys = self._keys()
        return {
            "access_key_id": keys.access_key,
            "secret_access_key": keys.secret,
            "token": keys.token,
            "expires_at": keys.ends,
        }

    @contextmanager
    def _explained(self, method: str, path: str) -> Iterator[None]:
        """Convert obstore's errors inside the ``with`` block to a StoreError of one line, or to FileNotFoundError if
        the object does not exist. The text of the store is untrusted: only its error code and region get into the
        message.
        """
        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise
        except (BaseError, OSError) as wrong:
            said = str(wrong)[-_MOST_SAID:]
            code = _found(r"<Code>([A-Za-z.]{1,60})</Code>", said)
            status = _found(r"status code: (\d{3})", said)
            if isinstance(wrong, FileNotFoundError) and code in _NO_OBJECT:
                raise FileNotFoundError(2, "there is no such object", path) from None
            source = "this host" if self._keys is None else self._keys().source  # StoreError: the host has no keys
            if code in _OF_REGION or status == "301" or "Received redirect without LOCATION" in said:
                region = _found(r"<Region>([a-z0-9-]{1,40})</Region>", said)
                named = self._region or "was named"
                why = f"the bucket is in another region than {named}. Set AWS_REGION{region and f'={region}'}."
            elif code or status:
                answered = f"it answered {status} {code}".rstrip()
                why = _REMEDIES.get(code, f"{answered}. Look into the store's own log.").format(source=source)
            else:
                why = _found(r'(\w[^"\n]{1,200})"?,[\s)},]*\Z', said) or type(wrong).__name__  # the innermost error
                raise files.StoreError(
                    f"The lake's store at {self._endpoint} can't be reached: {why}. Check the network and "
                    "AWS_ENDPOINT_URL."
                ) from None
            raise files.StoreError(f"{self._endpoint} refused {method} of {path}: {why}") from None


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _key(path: str) -> str:
    return path.partition("://")[2].partition("/")[2].rstrip("/")


def _used(place: Path) -> bool:
    """Return whether the copy exists; if it does, set the time of its last read to now."""
    with suppress(FileNotFoundError):
        os.utime(place)
        return True
    return False


def _forget_old(cache: Path) -> None:
    old = time.time() - _KEPT_SECONDS
    for file in cache.rglob("*"):
        with suppress(OSError):  # another process may also delete them
            if file.is_file() and file.stat().st_mtime < old:
                file.unlink()


def _each(do: Callable[..., Any], *of: Iterable[Any]) -> None:
    """Call a function for each set of arguments, at most `AT_ONCE` (8) at a time. Raise the first error."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(do, *of))
