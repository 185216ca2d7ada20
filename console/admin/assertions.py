"""Assertions that a client signs with its own key, to get a token for them: KIP-1139 and KIP-1258 (RFC 7523)."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.admin.errors import AuthenticationFailed
from console.admin.jwt import checked, no_token
from console.admin.settings import SaslSettings
from console.model.numbers import json_text

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

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
    return _signed({**header, "alg": options.get("assertion.algorithm", "RS256"), "typ": "JWT"}, claims, sasl)


def _template(options: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of ``assertion.template.file``: JSON with ``header`` and ``payload``."""
    file = options.get("assertion.template.file")
    if not file:
        return {}, {}
    try:
        found = json.loads(_read(file, "sasl.oauthbearer.assertion.template.file"))
        return dict(found.get("header", {})), dict(found.get("payload", {}))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _no_template(file, "is not JSON with header and payload") from None


def _no_template(file: str, why: str) -> AuthenticationFailed:
    remedy = "Correct it, or remove sasl.oauthbearer.assertion.template.file."
    return no_token(f"the assertion's template {file} {why}", remedy)


def _signed(header: dict[str, Any], claims: dict[str, Any], sasl: SaslSettings) -> str:
    """Return these as a JWT, signed with the settings' key."""
    from joserfc.errors import InvalidKeyCurveError, JoseError
    from joserfc.jws import JWSRegistry, serialize_compact

    file, algorithm = sasl.options.get("assertion.private.key.file", ""), header["alg"]
    key = _private_key(file, sasl.password.reveal() if sasl.password else None, algorithm)
    # A template's header may have what is registered nowhere.
    registry = JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    try:
        return serialize_compact(header, json_text(claims), key, registry=registry)
    except InvalidKeyCurveError:
        raise _not_for(algorithm, file) from None
    except (JoseError, ValueError, TypeError) as error:
        raise _no_template(sasl.options.get("assertion.template.file", ""), f"makes no JWT: {error}") from None


def _private_key(file: str, passphrase: str | None, algorithm: str) -> RSAKey | ECKey:
    import warnings

    from cryptography.exceptions import UnsupportedAlgorithm
    from joserfc.errors import InvalidKeyTypeError, SecurityWarning
    from joserfc.jwk import ECKey, RSAKey

    # Whether an RSA key is long enough is the provider's to say; standard error may be the screen.
    warnings.simplefilter("ignore", SecurityWarning)
    kinds: dict[str, type[RSAKey | ECKey]] = {"RS256": RSAKey, "ES256": ECKey}
    text = _read(file, "sasl.oauthbearer.assertion.private.key.file")
    encrypted = "ENCRYPTED" in text
    secret = passphrase if passphrase and encrypted else None
    why = "is not a private key in PEM"
    try:
        key = kinds[algorithm].import_key(text, password=secret)
        if key.is_private:
            return key
    except (InvalidKeyTypeError, KeyError):
        raise _not_for(algorithm, file) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            why = "does not open with this passphrase" if secret else "is encrypted, and its passphrase is missing"
    remedy = "Check the file, and sasl.oauthbearer.assertion.private.key.passphrase."
    raise no_token(f"the assertion's key {file} {why}", remedy)


def _not_for(algorithm: str, file: str) -> AuthenticationFailed:
    return no_token(
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
