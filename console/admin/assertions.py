"""Assertions that a client signs with its own key, to get a token for them: KIP-1139 and KIP-1258 (RFC 7523)."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.admin.jwt import base64url, checked, no_token, signing_input
from console.admin.settings import SaslSettings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

EXPIRES_SECONDS, NOT_BEFORE_SECONDS = 300, 60
"""Kafka's defaults (DEFAULT_SASL_OAUTHBEARER_ASSERTION_CLAIM_…)."""
_CLAIMS = ("aud", "iss", "sub")
_LARGEST_FILE = 1 << 20


def assertion(sasl: SaslSettings) -> str:
    """Return a new assertion, or the one in ``assertion.file``; files are read each time. Blocks.

    Raises AuthenticationFailed, a line with the file and what is wrong with it.
    """
    options = sasl.options
    if file := options.get("assertion.file"):
        return checked(_read(file, "sasl.oauthbearer.assertion.file").strip(), f"the assertion in {file}")
    key_file = options.get("assertion.private.key.file", "")
    algorithm = options.get("assertion.algorithm", "RS256")
    key = _private_key(key_file, sasl.password.reveal() if sasl.password else None)
    header, claims = _template(options)
    now = int(time.time())
    claims |= {name: options[f"assertion.claim.{name}"] for name in _CLAIMS if f"assertion.claim.{name}" in options}
    claims |= {
        "iat": now,
        "exp": now + int(options.get("assertion.claim.exp.seconds", EXPIRES_SECONDS)),
        "nbf": now - int(options.get("assertion.claim.nbf.seconds", NOT_BEFORE_SECONDS)),
    }
    if options.get("assertion.claim.jti.include", "").lower() == "true":
        claims["jti"] = str(uuid.uuid4())
    signed = signing_input({**header, "alg": algorithm, "typ": "JWT"}, claims)
    return f"{signed}.{base64url(_signature(signed.encode('ascii'), key, algorithm, key_file))}"


def _template(options: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of ``assertion.template.file``: JSON with ``header`` and ``payload``."""
    file = options.get("assertion.template.file")
    if not file:
        return {}, {}
    try:
        found = json.loads(_read(file, "sasl.oauthbearer.assertion.template.file"))
        return dict(found.get("header", {})), dict(found.get("payload", {}))
    except (ValueError, TypeError, AttributeError, RecursionError):
        message = f"the assertion's template {file} is not JSON with header and payload"
        raise no_token(message, "Correct it, or remove sasl.oauthbearer.assertion.template.file.") from None


def _private_key(file: str, passphrase: str | None) -> PrivateKeyTypes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _read(file, "sasl.oauthbearer.assertion.private.key.file")
    encrypted = "ENCRYPTED" in text
    secret = passphrase.encode() if passphrase and encrypted else None
    try:
        return load_pem_private_key(text.encode(), secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        why = "is not a private key in PEM"
        if encrypted:
            why = "does not open with this passphrase" if secret else "is encrypted, and its passphrase is missing"
        remedy = "Check the file, and sasl.oauthbearer.assertion.private.key.passphrase."
        raise no_token(f"the assertion's key {file} {why}", remedy) from None


def _signature(data: bytes, key: PrivateKeyTypes, algorithm: str, file: str) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    if algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), SHA256())
    if algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.key_size == 256:
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    raise no_token(
        f"the assertion's key {file} is not one for {algorithm}",
        "RS256 is for RSA, ES256 for the curve P-256: set sasl.oauthbearer.assertion.algorithm.",
    )


def _read(file: str, key: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_LARGEST_FILE).decode("utf-8")
    except OSError as error:
        raise no_token(f"{file} can't be read: {error.strerror}", f"Check {key}.") from None
    except UnicodeDecodeError:
        raise no_token(f"{file} is not text", f"Check {key}.") from None
