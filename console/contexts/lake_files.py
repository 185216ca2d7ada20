"""Access to a lake in an S3 bucket, with the store and the credentials that AWS' own environment variables and files
name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from console.admin.aws_keys import AwsSource
    from console.lake.files import Filesystem
    from console.lake.s3 import S3Keys

SECONDS = 10.0
"""Timeout in seconds of a command or a service that provides credentials."""
_REGION = "us-east-1"
"""The region if none is configured: AWS' default, which other stores accept too."""


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return `$XDG_CACHE_HOME/kac`, or `~/.cache/kac`: the folder for files that kac can make again."""
    return Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".cache") / "kac"


def lake_files(where: str) -> Filesystem | None:
    """Return the filesystem of a lake at ``s3://`` or ``s3a://``; None for any other location. No request is sent yet.

    Raises:
        LakeError: the location has no bucket or no folder, a package is not installed, AWS' files can't be read, or
            AWS_ENDPOINT_URL is not the address of a store.
    """
    at = urlsplit(where)
    if at.scheme not in ("s3", "s3a"):
        return None
    from console.extras import how_to_add
    from console.lake.files import LakeError
    from console.safe_files import private_folder

    if not at.netloc or not at.path.strip("/"):
        raise LakeError(f"{where} is no place for a lake: name a bucket and a folder in it, as s3://bucket/lake")
    if missing := [name for name in ("obstore", "botocore") if find_spec(name) is None]:
        raise LakeError(f"{where} needs {' and '.join(missing)}, not installed: {how_to_add('history')}")
    from console.admin.aws_keys import AwsSource
    from console.admin.errors import AdminError
    from console.lake.s3 import S3Files

    source = AwsSource(None, SECONDS)
    try:
        region = source.region() or _REGION
    except AdminError as error:
        raise LakeError(error.failure.told) from None
    suffix = ".com.cn" if region.startswith("cn-") else ".com"
    given = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    endpoint = urlsplit(given or f"https://s3.{region}.amazonaws{suffix}")
    if endpoint.scheme not in ("http", "https") or not endpoint.hostname or endpoint.path.strip("/"):
        raise LakeError(f"AWS_ENDPOINT_URL is {given!r}, which is no address of a store: https://HOST[:PORT]")
    cache = cache_directory(os.environ) / "lake"
    private_folder(cache)
    return S3Files(at.netloc, f"{endpoint.scheme}://{endpoint.netloc}", region, partial(_renewed, source), cache)


def _renewed(source: AwsSource) -> S3Keys:
    """Return the credentials that are valid now. Raises StoreError: none of AWS' sources of credentials has any."""
    from console.admin.errors import AdminError
    from console.lake.files import StoreError
    from console.lake.s3 import S3Keys

    try:
        found = source.keys()
    except AdminError as error:
        raise StoreError(error.failure.told) from None
    token = None if found.token is None else found.token.reveal()
    return S3Keys(found.access_key, found.secret.reveal(), token, found.source, found.ends)
