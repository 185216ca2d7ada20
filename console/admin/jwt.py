"""JSON Web Tokens (RFC 7519) for brokers to verify: reading their claims, and making unsigned ones.

joserfc, which makes signed assertions, is not used here: kac verifies nothing, tokens may lack claims that joserfc
requires and may have a header of any length, and its import takes 40 ms.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from console.admin.errors import AuthenticationFailed
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.safe_files import read_text

UNSECURED_LIFE = 3600
"""Lifetime of an unsigned token in seconds, the default of OAuthBearerUnsecuredLoginCallbackHandler."""
_TOKEN = re.compile(r"[\x21-\x7e]+")
_LONGEST_SHOWN = 80
_LARGEST_FILE = 1 << 20


class Token(NamedTuple):
    """A token, and its lifetime in seconds from its receipt; None if unknown."""

    text: str
    life: float | None


def checked(token: str, what: str) -> str:
    """Return the token. Raises AuthenticationFailed if it has characters that would end its message early (RFC 7628,
    section 3.1). what: a name of the token for the error.
    """
    if not _TOKEN.fullmatch(token):
        raise no_token(f"{what} is empty or has invalid characters", "Get a new one.")
    return token


def token_in_file(path: Path) -> str:
    """Return the token in a file that has nothing but the token. Raises OSError, and ValueError for a text that can't
    be a token.
    """
    text = read_text(path, _LARGEST_FILE).strip()
    if not text.isascii():
        raise ValueError("it is no token: it is not in ASCII")
    return text


def no_token(message: str, remedy: str) -> AuthenticationFailed:
    """Return the error that there is no token for a login."""
    return AuthenticationFailed.of(message, remedy)


def life_of(token: str) -> float | None:
    """Return the seconds from now until the claim ``exp``; None if the token is not a JWT, lacks the claim, or has
    expired.
    """
    expires = _time(_part(token, 1).get("exp"))
    left = 0.0 if expires is None else expires - time.time()
    return left if left > 0 else None


def shown_token(token: str) -> str:
    """Return a line about the claims of a refused token, without the token. The broker itself says only that it is
    invalid.
    """
    header, claims = _part(token, 0), _part(token, 1)
    if not claims:
        return "the token is not a JWT"
    names = {"sub": "subject", "iss": "issuer", "aud": "audience", "scope": "scope"}
    said = [f"{word} {_short(claims[name])}" for name, word in names.items() if claims.get(name)]
    said += [f"key {_short(header['kid'])}"] if header.get("kid") else []
    expires, now = _time(claims.get("exp")), time.time()
    if expires is not None:
        at = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        said.append(f"valid until {at}" if expires > now else f"expired at {at} by this host's clock")
    begins = _time(claims.get("nbf"))
    if begins is not None and begins > now:
        said.append(f"not valid before {datetime.fromtimestamp(begins, UTC):%Y-%m-%d %H:%M:%S} UTC")
    return f"the token has {', '.join(said)}" if said else "the token has no claims"


def is_expired(token: str) -> bool:
    """Return whether a JWT has expired by this host's clock; False if the token is not a JWT."""
    expires = _time(_part(token, 1).get("exp"))
    return expires is not None and expires <= time.time()


def unsecured_token(subject: str, now: Callable[[], float] = time.time) -> str:
    """Return an unsigned JWT, which only brokers configured for tests accept (OAuthBearerUnsecuredJws)."""
    issued = int(now())
    parts = {"alg": "none"}, {"sub": subject, "iat": issued, "exp": issued + UNSECURED_LIFE}
    return "".join(f"{base64url(json_text(part).encode('ascii'))}." for part in parts)


def base64url(data: bytes) -> str:
    """Encode bytes in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _part(token: str, number: int) -> dict[str, Any]:
    parts = token.split(".")
    try:
        found = json_of(base64.urlsafe_b64decode(parts[number] + "=" * (-len(parts[number]) % 4)), odd_numbers=True)
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def _time(value: object) -> float | None:
    """Return a claim's value as seconds since 1970; None if it is not a number, or not within the years 1970 to
    9999.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 253_402_300_800 else None


def _short(value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return "".join(character for character in text if character.isprintable())[:_LONGEST_SHOWN]
