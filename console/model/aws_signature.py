"""Signature Version 4 of AWS, for requests that are already in their canonical form. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

ALGORITHM = "AWS4-HMAC-SHA256"


def signature(secret: str, stamp: str, scope: str, request: str) -> str:
    """In hexadecimal digits. stamp: ``20261121T101500Z``. scope: ``20261121/REGION/SERVICE/aws4_request``. request: the
    canonical request, as AWS describes it."""
    signed = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), signed):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def authorization(
    keys: tuple[str, str],
    stamp: str,
    scope: str,
    request: tuple[str, str, str],
    headers: Mapping[str, str],
    digest: str,
) -> str:
    """The header Authorization of a request. keys: access key and secret. request: method, path and query in their
    canonical form. headers: those that are signed, their names in small letters. digest: the body's SHA-256."""
    access_key, secret = keys
    lines = "".join(f"{name}:{text}\n" for name, text in sorted(headers.items()))
    names = ";".join(sorted(headers))
    signed = signature(secret, stamp, scope, "\n".join((*request, lines, names, digest)))
    return f"{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signed}"
