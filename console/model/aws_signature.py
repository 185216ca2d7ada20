"""Signature Version 4 of AWS, for requests that are already in their canonical form. Pure."""

from __future__ import annotations

import hashlib
import hmac

ALGORITHM = "AWS4-HMAC-SHA256"


def signature(secret: str, stamp: str, scope: str, request: str) -> str:
    """In hexadecimal digits. stamp: ``20261121T101500Z``. scope: ``20261121/REGION/SERVICE/aws4_request``. request: the
    canonical request, as AWS describes it."""
    signed = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), signed):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()
