"""Objects of an S3 bucket over HTTP, each request signed. Any store with S3's API: AWS, MinIO, Ceph, versitygw …

One connection serves one request at a time and is kept for the next. What may be sent again is, twice more: each
request here can be, since a conditional write that was done already is refused, and its caller looks who did it.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass
from xml.etree import ElementTree

from console.model.aws_signature import authorization

from .errors import StoreError

SECONDS = 30.0
"""How long a store may take to connect, and between two packets."""
TRIES = 3
_PAUSE = 0.2
_AT_A_TIME = 1 << 20
_PASSING = frozenset({500, 502, 503, 504})
_CODE = re.compile(r"[A-Za-z.]{1,60}")
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


class S3Keys(NamedTuple):
    """Credentials. source: where they come from, for an operator."""

    access_key: str
    secret: str
    token: str | None
    source: str

    def __repr__(self) -> str:
        return f"S3Keys(of {self.source})"


class Reply(NamedTuple):
    """What the store answered; `body` is empty where it was written to a file."""

    status: int
    headers: Message
    body: bytes


class Found(NamedTuple):
    """An object or a common beginning of several, which ends with a slash. bytes: of an object."""

    key: str
    bytes: int


class Bucket:
    """The objects of one bucket. endpoint: ``https://HOST[:PORT]``. keys: called for each request."""

    def __init__(self, name: str, endpoint: str, region: str, keys: Callable[[], S3Keys]) -> None:
        self.name, self.endpoint, self.region, self.keys = name, endpoint.rstrip("/"), region, keys
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)

    def get(self, key: str, start: int = 0, length: int | None = None) -> Reply | None:
        """An object, or a part of it; None: there is none. StoreError."""
        part = (
            {} if not start and length is None else {"range": f"bytes={start}-{start + length - 1 if length else ''}"}
        )
        reply = self._send("GET", key, headers=part, fine=(404, 416))
        return None if reply.status == 404 else reply._replace(body=b"") if reply.status == 416 else reply

    def get_to(self, key: str, file: BinaryIO) -> bool:
        """Writes an object to a file; whether there is one. StoreError."""
        return self._send("GET", key, fine=(404,), into=file).status != 404

    def put(self, key: str, body: bytes | Path, *, match: str | None = None, new: bool = False) -> str | None:
        """Writes an object; its tag, or None where the condition does not hold. StoreError.

        match: the tag that it has to have until now. new: it may not be there yet.
        """
        headers = {"if-none-match": "*"} if new else {} if match is None else {"if-match": match}
        reply = self._send("PUT", key, headers=headers, body=body, fine=(404, 409, 412) if headers else ())
        return str(reply.headers.get("ETag", "")) if reply.status == 200 else None

    def delete(self, key: str) -> None:
        """Deletes an object, if it is there. StoreError."""
        self._send("DELETE", key, fine=(404,))

    def find(self, prefix: str, *, deep: bool) -> Iterator[Found]:
        """The objects whose keys begin so. deep: all; else what is behind the next slash is one. StoreError."""
        query = {"list-type": "2", "prefix": prefix, **({} if deep else {"delimiter": "/"})}
        after: dict[str, str] = {}
        while True:
            page = ElementTree.fromstring(self._send("GET", "", query={**query, **after}).body)  # noqa: S314 expat bounds it
            for each in page.iterfind("{*}Contents"):
                yield Found(each.findtext("{*}Key", ""), int(each.findtext("{*}Size", "0")))
            for each in page.iterfind("{*}CommonPrefixes"):
                yield Found(each.findtext("{*}Prefix", ""), 0)
            token = page.findtext("{*}NextContinuationToken")
            if page.findtext("{*}IsTruncated") != "true" or not token:
                return
            after = {"continuation-token": token}

    def _send(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | Path = b"",
        fine: tuple[int, ...] = (),
        into: BinaryIO | None = None,
    ) -> Reply:
        """fine: statuses that are answers too; of 404 only where it is the object that is not there."""
        keys = self.keys()
        path = quote(f"/{self.name}/{key}" if key else f"/{self.name}", safe="/-_.~")
        asked = "&".join(
            f"{quote(name, safe='')}={quote(text, safe='-_.~')}" for name, text in sorted((query or {}).items())
        )
        for left in reversed(range(TRIES)):
            sent = {**(headers or {}), **self._signed(keys, method, path, asked, _digest(body))}
            try:
                reply = self._once(method, f"{path}?{asked}" if asked else path, sent, body, into)
            except (OSError, HTTPException) as wrong:
                if not left:
                    raise StoreError(
                        f"The lake's store at {self.endpoint} can't be reached: {_why(wrong)}. Check the network and "
                        "AWS_ENDPOINT_URL."
                    ) from None
            else:
                if reply.status not in _PASSING or not left:
                    if reply.status < 300 or (reply.status in fine and not self._elsewhere(reply)):
                        return reply
                    raise self._refused(method, key, reply, keys)
            time.sleep(_PAUSE * 2 ** (TRIES - left))
        raise AssertionError("unreachable")

    def _signed(self, keys: S3Keys, method: str, path: str, asked: str, digest: str) -> dict[str, str]:
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self.region}/s3/aws4_request"
        headers = {"host": urlsplit(self.endpoint).netloc, "x-amz-content-sha256": digest, "x-amz-date": stamp}
        if keys.token is not None:
            headers["x-amz-security-token"] = keys.token
        pair = (keys.access_key, keys.secret)
        return {**headers, "authorization": authorization(pair, stamp, scope, (method, path, asked), headers, digest)}

    def _once(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | Path, into: BinaryIO | None
    ) -> Reply:
        """Raises OSError, HTTPException."""
        connection = self._idle.pop() if self._idle else self._connection()
        try:
            if isinstance(body, Path):
                with body.open("rb") as file:
                    sized = {**headers, "content-length": str(body.stat().st_size)}
                    connection.request(method, target, file, sized)
            else:
                connection.request(method, target, body or (b"" if method == "PUT" else None), dict(headers))
            with connection.getresponse() as response:
                if into is None or response.status >= 300:
                    read = response.read()
                else:
                    read = b""
                    _copy(response, into)
                reply = Reply(response.status, response.headers, read)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return reply

    def _connection(self) -> HTTPConnection:
        at = urlsplit(self.endpoint)
        if at.scheme == "http":
            return HTTPConnection(str(at.hostname), at.port, timeout=SECONDS)
        proxy = getproxies().get("https")
        if proxy is None or proxy_bypass(str(at.hostname)):
            return HTTPSConnection(str(at.hostname), at.port, timeout=SECONDS, context=ssl.create_default_context())
        by = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        made = HTTPSConnection(str(by.hostname), by.port, timeout=SECONDS, context=ssl.create_default_context())
        made.set_tunnel(str(at.hostname), at.port or 443)
        return made

    def _elsewhere(self, reply: Reply) -> bool:
        """Whether it is something else than the object that is not there: versitygw says so of an unknown key, too."""
        return reply.status == 404 and _code(reply) not in ("NoSuchKey", "NotFound", "")

    def _refused(self, method: str, key: str, reply: Reply, keys: S3Keys) -> StoreError:
        code = _code(reply)
        region = str(reply.headers.get("x-amz-bucket-region", ""))
        if code in _OF_REGION or reply.status == 301:
            why = f"the bucket is in another region than {self.region}. Set AWS_REGION{f'={region}' if region else ''}."
        else:
            why = _REMEDIES.get(
                code, f"it answered {reply.status} {code}".rstrip() + ". Look into the store's own log."
            )
        place = f"s3://{self.name}/{key}".rstrip("/")
        return StoreError(f"{self.endpoint} refused {method} of {place}: {why.format(source=keys.source)}")


def _digest(body: bytes | Path) -> str:
    if isinstance(body, bytes):
        return hashlib.sha256(body).hexdigest()
    made = hashlib.sha256()
    with body.open("rb") as file:
        while part := file.read(_AT_A_TIME):
            made.update(part)
    return made.hexdigest()


def _copy(response: HTTPResponse, into: BinaryIO) -> None:
    """OSError: it ended early."""
    into.seek(0)
    into.truncate()
    wanted, written = response.length, 0
    while part := response.read(_AT_A_TIME):
        written += into.write(part)
    if wanted is not None and written != wanted:
        raise OSError(f"it ended after {written} of {wanted} bytes")


def _code(reply: Reply) -> str:
    """The code of an error, if it is one: what a store says is not trusted text."""
    with suppress(ElementTree.ParseError):
        code = ElementTree.fromstring(reply.body).findtext("{*}Code") or ""  # noqa: S314 expat bounds it
        return code if _CODE.fullmatch(code) else ""
    return ""


def _why(wrong: Exception) -> str:
    return str(getattr(wrong, "strerror", None) or wrong or type(wrong).__name__)


def _close(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()
