"""How kac reaches a lake in an S3 bucket: the store and the credentials that AWS' own variables and files name."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from console.lake.files import Filesystem
    from console.lake.s3 import S3Keys

SECONDS = 10.0
"""For a command or a service that gives credentials."""
_RENEWED_BEFORE = timedelta(minutes=5)
_REGION = "us-east-1"
"""AWS' own default, and what other stores take."""


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return `$XDG_CACHE_HOME/kac`, or `~/.cache/kac`: a folder of files that can be made again."""
    return Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".cache") / "kac"


def lake_files(where: str, environ: Mapping[str, str] = os.environ) -> Filesystem | None:
    """Return the files of a lake at ``s3://`` or ``s3a://``; None if it is elsewhere. No request is sent yet.

    Raises:
        LakeError: no bucket or store is named.
    """
    at = urlsplit(where)
    if at.scheme not in ("s3", "s3a"):
        return None
    from console.admin.aws_keys import Ask, region_of
    from console.extras import how_to_add
    from console.lake.files import LakeError
    from console.safe_files import private_folder

    if not at.netloc or not at.path.strip("/"):
        raise LakeError(f"{where} is no place for a lake: name a bucket and a folder in it, as s3://bucket/lake")
    region = region_of(Ask(environ), None) or _REGION
    suffix = ".com.cn" if region.startswith("cn-") else ".com"
    given = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    endpoint = urlsplit(given or f"https://s3.{region}.amazonaws{suffix}")
    if endpoint.scheme not in ("http", "https") or not endpoint.hostname or endpoint.path.strip("/"):
        raise LakeError(f"AWS_ENDPOINT_URL is {given!r}, which is no address of a store: https://HOST[:PORT]")
    if find_spec("obstore") is None:
        raise LakeError(f"{where} needs obstore, which is not installed: {how_to_add('history')}")
    from console.lake.s3 import S3Files

    cache = cache_directory(environ) / "lake"
    private_folder(cache)
    return S3Files(at.netloc, f"{endpoint.scheme}://{endpoint.netloc}", region, _Keys(environ), cache)


class _Keys:
    """The credentials as they are now; those that end are asked for again before they do."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._taken: S3Keys | None = None

    def __call__(self) -> S3Keys:
        """Return the credentials, renewed before they end. LakeError: there are none."""
        from console.admin.aws_keys import Ask, keys_of
        from console.admin.errors import AdminError
        from console.lake.files import StoreError
        from console.lake.s3 import S3Keys

        with self._lock:
            ends = self._taken and self._taken.ends
            if self._taken is None or (ends is not None and datetime.now(UTC) > ends - _RENEWED_BEFORE):
                try:
                    found = keys_of(Ask(self._environ), None, SECONDS)
                except AdminError as error:
                    raise StoreError(error.failure.told) from None
                token = None if found.token is None else found.token.reveal()
                ends = None if found.ends is None else datetime.fromtimestamp(found.ends, UTC)
                self._taken = S3Keys(found.access_key, found.secret.reveal(), token, found.source, ends)
            return self._taken
