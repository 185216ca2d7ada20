"""Tokens for SASL/OAUTHBEARER: from a token endpoint for client credentials (KIP-768), from a file, or given."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit

from aiokafka.abc import AbstractTokenProvider  # type: ignore[import-untyped]

from console.admin.errors import AdminError, AuthenticationFailed, TlsFailed, Unreachable
from console.admin.settings import SaslSettings, TlsSettings
from console.admin.tls import client_context
from console.model.failure import Failure
from console.model.numbers import is_natural, json_text

RENEWED_AFTER = 0.8
"""Share of its life after which a token is renewed (sasl.login.refresh.window.factor)."""
ENDPOINT_TIMEOUT = 8.0
"""Default time-out in seconds."""
LARGEST_ANSWER = 1 << 20
LONGEST_LIFE = 86_400.0
"""Seconds for which a token is used at most, whatever the endpoint says."""
UNSECURED_LIFE = 3600
"""Seconds (OAuthBearerUnsecuredLoginCallbackHandler)."""

_CHECK_THE_WAY = "Check sasl.oauthbearer.token.endpoint.url, and the network to it."
_TOKEN = re.compile(r"[\x21-\x7e]+")
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
_EXTENSION = "extension_"


class Token(NamedTuple):
    """A token and its life in seconds, None if unknown."""

    text: str
    life: float | None


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """Provides a token to each connection; a valid one is used again. For use on one event loop."""

    def __init__(
        self,
        fetch: Callable[[], Token],
        extensions: Mapping[str, str],
        limit: float = ENDPOINT_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._extensions = dict(extensions)
        self._limit = limit
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._good_until = float("-inf")

    async def token(self) -> str:
        """A token, requested in another thread. Raises AdminError."""
        async with self._lock:
            if self._clock() >= self._good_until:
                asked = self._clock()
                token = await self._fetched()
                self._token = token.text
                self._good_until = asked + RENEWED_AFTER * (token.life or 0.0)
            return self._token

    async def _fetched(self) -> Token:
        try:
            async with asyncio.timeout(self._limit):
                return await asyncio.to_thread(self._fetch)
        except TimeoutError:
            message = f"no token within {self._limit:g} s: the token endpoint does not answer"
            raise Unreachable(Failure("UNREACHABLE", message, _CHECK_THE_WAY)) from None

    def extensions(self) -> dict[str, str]:
        """SASL extensions (KIP-342), sent with the token."""
        return dict(self._extensions)


def token_provider(sasl: SaslSettings, limit: float = ENDPOINT_TIMEOUT) -> TokenProvider:
    """The provider for these settings (see SaslSettings). limit: seconds that a token may take.

    Raises AdminError for settings that can't work.
    """
    extensions = {name[len(_EXTENSION) :]: value for name, value in sasl.options.items() if name.startswith(_EXTENSION)}
    url = sasl.options.get("token.endpoint.url")
    if url is None:
        given = sasl.password
        if given is not None:
            return TokenProvider(lambda: Token(_checked(given.reveal(), "the token"), None), extensions)
        return TokenProvider(lambda: Token(unsecured_token(sasl.username or ""), UNSECURED_LIFE), extensions)
    if urlsplit(url).scheme == "file":
        path = Path(unquote(urlsplit(url).path))
        return TokenProvider(lambda: _from_file(path), extensions)
    _refuse_clear_text(url)
    return TokenProvider(lambda: request_token(sasl, url, limit), extensions, limit)


def unsecured_token(subject: str, now: Callable[[], float] = time.time) -> str:
    """An unsigned JWT, for brokers that are set up for tests (OAuthBearerUnsecuredJws)."""
    issued = int(now())
    claims = {"sub": subject, "iat": issued, "exp": issued + UNSECURED_LIFE}
    return f"{_base64url({'alg': 'none'})}.{_base64url(claims)}."


def request_token(sasl: SaslSettings, url: str, limit: float = ENDPOINT_TIMEOUT) -> Token:
    """Requests a token from the endpoint (RFC 6749, section 4.4). Blocks. Raises AdminError, without the secret in it.

    limit: seconds, for connecting and for each read, if the settings have no shorter time.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

    shown = _without_credentials(url)
    handlers = [HTTPSHandler(context=client_context(sasl.endpoint_tls or TlsSettings())), _no_redirects()]
    if _is_loopback(url):
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
        raise _no_token(f"{shown} is not a URL", "Set sasl.oauthbearer.token.endpoint.url.") from None
    return _token_in(body, shown)


def _form(sasl: SaslSettings) -> bytes:
    fields = {"grant_type": "client_credentials"}
    if scope := sasl.options.get("scope"):
        fields["scope"] = scope
    return urlencode(fields).encode("ascii")


def _headers(sasl: SaslSettings) -> dict[str, str]:
    secret = sasl.password.reveal() if sasl.password else ""
    pair = [sasl.username or "", secret]
    if sasl.options.get("header.urlencode", "").lower() == "true":
        pair = [quote(text, safe="") for text in pair]
    credentials = base64.b64encode(":".join(pair).encode("utf-8")).decode("ascii")
    return {
        "Accept": "application/json",
        "Authorization": f"Basic {credentials}",
        "Content-Type": "application/x-www-form-urlencoded",
    }


def _timeout(options: Mapping[str, str], limit: float) -> float:
    """The minimum of the limit and sasl.login.{connect,read}.timeout.ms."""
    given = [options[key] for key in ("connect.timeout.ms", "read.timeout.ms") if is_natural(options.get(key, ""))]
    return min([limit, *(int(text) / 1000 for text in given if int(text))])


def _no_redirects() -> Any:
    """A handler that follows no redirects: the credentials are for the configured endpoint only."""
    from urllib.request import HTTPRedirectHandler

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return NoRedirects()


def _token_in(body: bytes, shown: str) -> Token:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    text = answer.get("access_token") or answer.get("id_token") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise _no_token(
            f"the token endpoint {shown} answered without an access_token", "Is it the token endpoint's URL?"
        )
    life = _seconds(answer.get("expires_in"))
    return Token(_checked(text, "the token"), life if life is not None else _life_of_jwt(text))


def _seconds(life: object) -> float | None:
    """A token's life from the endpoint, a number or its digits, at most `LONGEST_LIFE`; None if invalid (JSON has NaN
    and Infinity in Python)."""
    try:
        seconds = float(life) if isinstance(life, int | float | str) and not isinstance(life, bool) else math.nan
    except ValueError:
        return None
    except OverflowError:
        return LONGEST_LIFE if isinstance(life, int) and life > 0 else None
    return min(seconds, LONGEST_LIFE) if 0 < seconds < math.inf else None


def _life_of_jwt(token: str) -> float | None:
    """Seconds until the claim ``exp``; None if it is not a JWT or has no such claim."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return _seconds(float(claims["exp"]) - time.time())
    except (ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError):
        return None


def _from_file(path: Path) -> Token:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise _no_token(f"the token in {path} can't be read", "Check sasl.oauthbearer.token.endpoint.url.") from None
    return Token(_checked(text, f"the token in {path}"), None)


def _checked(token: str, what: str) -> str:
    """The token, if it can't end its message early (RFC 7628, section 3.1)."""
    if not _TOKEN.fullmatch(token):
        raise _no_token(f"{what} is empty or has invalid characters", "Get a new one.")
    return token


def _is_loopback(url: str) -> bool:
    return _LOOPBACK.fullmatch(urlsplit(url).hostname or "") is not None


def _refuse_clear_text(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(url)):
        return
    raise _no_token(
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
    return _no_token(message, "Check the client's id, its secret and the scope.")


def _endpoint_error(body: bytes) -> str:
    """The endpoint's error text (RFC 6749, section 5.2), made printable."""
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


def _base64url(value: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json_text(value).encode("ascii")).decode("ascii").rstrip("=")


def _no_token(message: str, remedy: str) -> AuthenticationFailed:
    return AuthenticationFailed(Failure("AUTHENTICATION_FAILED", message, remedy))
