"""Requests of tokens at a token endpoint (RFC 6749): with a client's secret (KIP-768), with a signed assertion in its
place (KIP-1258), or with one as the grant (KIP-1139)."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from console.admin.errors import AdminError, TlsFailed, Unreachable
from console.admin.jwt import Token, checked, life_of, no_token
from console.admin.settings import SaslSettings, TlsSettings
from console.admin.tls import client_context
from console.model.failure import Failure
from console.model.numbers import is_natural

ENDPOINT_TIMEOUT = 8.0
"""Default time-out in seconds."""
LARGEST_ANSWER = 1 << 20
LONGEST_LIFE = 86_400.0
"""Seconds for which a token is used at most, whatever the endpoint says."""
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")


def request_token(sasl: SaslSettings, url: str, limit: float = ENDPOINT_TIMEOUT) -> Token:
    """Request a token from the endpoint, for a client or for an assertion. Blocks.

    Raises AdminError, without the secret in it.

    limit: seconds, for connecting and for each read, if the settings have no shorter time.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

    shown = _without_credentials(url)
    handlers = [HTTPSHandler(context=client_context(sasl.endpoint_tls or TlsSettings())), no_redirects()]
    if is_loopback(url):
        # A proxy would get the client's secret, and could not reach this machine's own address.
        handlers.append(ProxyHandler({}))
    opener = build_opener(*handlers)
    request = Request(url, data=_form(sasl), headers=_headers(sasl), method="POST")  # noqa: S310
    try:
        with opener.open(request, timeout=_timeout(sasl.options, limit)) as answer:
            body = answer.read(LARGEST_ANSWER)
    except HTTPError as error:
        with error:
            raise _refused(shown, error.code, error.read(LARGEST_ANSWER), sasl) from None
    except URLError as error:
        raise _unreachable(shown, error.reason) from None
    except (OSError, HTTPException) as error:
        raise _unreachable(shown, error) from None
    except ValueError:
        raise no_token(f"{shown} is not a URL", "Set sasl.oauthbearer.token.endpoint.url.") from None
    return token_in(body, f"the token endpoint {shown}")


def _form(sasl: SaslSettings) -> bytes:
    fields = {"grant_type": "client_credentials"}
    if sasl.options.get("assertion"):
        from console.admin.assertions import assertion

        signed = assertion(sasl)
        if sasl.options["assertion"] == "grant":
            fields = {"grant_type": JWT_BEARER, "assertion": signed}
        else:
            fields |= {"client_assertion_type": CLIENT_ASSERTION, "client_assertion": signed}
            if sasl.username:
                fields["client_id"] = sasl.username
    fields |= {name: sasl.options[name] for name in ("scope", "audience") if sasl.options.get(name)}
    return urlencode(fields).encode("ascii")


def _headers(sasl: SaslSettings) -> dict[str, str]:
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    if sasl.options.get("assertion"):
        return headers
    secret = sasl.password.reveal() if sasl.password else ""
    pair = [sasl.username or "", secret]
    if sasl.options.get("header.urlencode", "").lower() == "true":
        pair = [quote(text, safe="") for text in pair]
    credentials = base64.b64encode(":".join(pair).encode("utf-8")).decode("ascii")
    return {**headers, "Authorization": f"Basic {credentials}"}


def _timeout(options: Mapping[str, str], limit: float) -> float:
    """Return the minimum of the limit and sasl.login.{connect,read}.timeout.ms."""
    given = [options[key] for key in ("connect.timeout.ms", "read.timeout.ms") if is_natural(options.get(key, ""))]
    return min([limit, *(int(text) / 1000 for text in given if int(text))])


def no_redirects() -> Any:
    """Return a handler that follows no redirects: the credentials are for the configured endpoint only."""
    from urllib.request import HTTPRedirectHandler

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return NoRedirects()


NAMES = ("access_token", "id_token")


def token_in(
    body: bytes, source: str, remedy: str = "Is it the token endpoint's URL?", names: tuple[str, ...] = NAMES
) -> Token:
    """Return the token of a JSON answer (RFC 6749, section 5.1). Raises AuthenticationFailed. source: who answered.
    names: where the token may stand."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    text = next((found for name in names if (found := answer.get(name))), None) if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise no_token(f"{source} answered without an access_token", remedy)
    # A JWT may end before the endpoint says so: its own time is in whole seconds.
    lives = [life for life in (_seconds(answer.get("expires_in")), life_of(text)) if life is not None]
    return Token(checked(text, "the token"), min(lives, default=None))


def _seconds(life: object) -> float | None:
    """Return a token's life from the endpoint, a number or its digits, at most `LONGEST_LIFE`; None if invalid (JSON
    has NaN and Infinity in Python)."""
    try:
        seconds = float(life) if isinstance(life, int | float | str) and not isinstance(life, bool) else math.nan
    except ValueError:
        return None
    except OverflowError:
        return LONGEST_LIFE if isinstance(life, int) and life > 0 else None
    return min(seconds, LONGEST_LIFE) if 0 < seconds < math.inf else None


def is_loopback(url: str) -> bool:
    """Return whether the URL is of this host."""
    return _LOOPBACK.fullmatch(urlsplit(url).hostname or "") is not None


def refuse_clear_text(url: str) -> None:
    """Raise AuthenticationFailed for an endpoint that is not https, unless it is on this host."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url)):
        return
    raise no_token(
        f"the token endpoint {_without_credentials(url)} is not https: the client's secret would be sent in the clear",
        "Set sasl.oauthbearer.token.endpoint.url to its https address.",
    )


def _refused(shown: str, status: int, body: bytes, sasl: SaslSettings) -> AdminError:
    text = _endpoint_error(body)
    if sasl.password is not None and sasl.password.reveal():
        text = text.replace(sasl.password.reveal(), "······")
    message = f"the token endpoint {shown} answered {status}" + (f": {text}" if text else "")
    if status >= 500 or status == 429:
        return Unreachable(
            Failure("UNREACHABLE", message, "Try again; then ask the administrators of the identity provider.")
        )
    return no_token(message, "Check the client's id, its secret or key, and the scope.")


def _endpoint_error(body: bytes) -> str:
    """Return the endpoint's error text (RFC 6749, section 5.2), made printable."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(answer, dict):
        return ""
    said = " ".join(str(answer[key]) for key in ("error", "error_description") if answer.get(key))
    return "".join(character for character in said if character.isprintable())[:200]


def _unreachable(shown: str, reason: object) -> AdminError:
    import ssl

    if isinstance(reason, ssl.SSLCertVerificationError):
        return TlsFailed(
            Failure(
                "TLS_FAILED",
                f"the certificate of the token endpoint {shown} is not trusted: {reason.verify_message}",
                "Give its authority with ssl.truststore.location among the options of sasl.jaas.config.",
            )
        )
    words = (
        "no answer in time" if isinstance(reason, TimeoutError) else getattr(reason, "strerror", None) or str(reason)
    )
    return Unreachable(
        Failure(
            "UNREACHABLE",
            f"the token endpoint {shown} can't be reached: {words}",
            "Check its URL and the network to it.",
        )
    )


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
