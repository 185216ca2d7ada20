"""Tokens for SASL/OAUTHBEARER: getting them from their sources, and renewing them.

In a request to a token endpoint (RFC 6749) kac authenticates by a client's secret (KIP-768), or by an assertion that
the client signs with its own key (KIP-1258); or an assertion is itself the grant (KIP-1139, RFC 7523).
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from console.admin import jwt
from console.admin.errors import AdminError, AuthenticationFailed, TlsFailed, Unreachable
from console.admin.settings import SaslSettings, TlsSettings
from console.admin.tls import client_context
from console.model.foreign_json import json_of
from console.model.loopback import is_loopback
from console.model.numbers import is_natural, json_text
from console.programs import ProgramFailed, name_of, output_of
from console.safe_files import why_unread

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

ENDPOINT_TIMEOUT = 8.0
"""Default timeout in seconds for connecting to the endpoint, and for each read of its response."""
LARGEST = 1 << 20
"""Maximum size in bytes of a response or a file."""
RENEWED_AFTER = 0.8
"""Share (0 to 1) of a token's lifetime after which it is renewed; the default of sasl.login.refresh.window.factor."""
LEAST_SECONDS = 5.0
"""Seconds before a token's expiry at which it is renewed at the latest, because a session with fewer seconds left is
not worth starting.
"""
KEPT_SHARE, KEPT_SECONDS = 0.05, 3.0
"""A token whose renewal fails is used until this share of its lifetime is left, or these seconds, whichever is more."""
AGAIN_SECONDS = 10.0
"""Seconds from a failed renewal to the next attempt."""

_EXTENSION = "extension_"

log = logging.getLogger(__name__)


class TokenProvider:
    """A source of tokens for connections. It returns the same token as long as it is valid. Bound to one event loop."""

    def __init__(
        self,
        fetch: Callable[[], jwt.Token],
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
        self._renewed_at = self._good_until = float("-inf")

    async def token(self) -> str:
        """Return a valid token; request one, in another thread, if necessary. If a renewal fails, return the present
        token while it is valid.

        Raises AdminError if there is no valid token.
        """
        async with self._lock:
            asked = self._clock()
            if asked >= self._renewed_at:
                try:
                    token = await self._fetched()
                except AdminError as error:
                    if asked >= self._good_until:
                        raise
                    log.warning("the former token is used: %s", error.failure)
                    self._renewed_at = min(asked + AGAIN_SECONDS, self._good_until)
                else:
                    self._token = token.text
                    life = token.life or 0.0
                    self._renewed_at = asked + min(RENEWED_AFTER * life, max(0.0, life - LEAST_SECONDS))
                    self._good_until = asked + life - max(KEPT_SHARE * life, KEPT_SECONDS)
            return self._token

    def refused(self, token: str) -> None:
        """Note that a service refused this token although it has not expired. The next call of `token` requests a new
        one.
        """
        if token == self._token:
            self._renewed_at = self._good_until = float("-inf")

    async def _fetched(self) -> jwt.Token:
        try:
            async with asyncio.timeout(self._limit):
                return await asyncio.to_thread(self._fetch)
        except TimeoutError:
            message = f"no token within {self._limit:g} s: the token endpoint does not answer"
            remedy = "Check sasl.oauthbearer.token.endpoint.url, and the network to it."
            raise Unreachable.of(message, remedy) from None

    def shown(self) -> str:
        """Return a line about the claims of the last token, without the token itself."""
        return jwt.shown_token(self._token)

    def is_over(self) -> bool:
        """Return whether the last token has expired by this host's clock."""
        return jwt.is_expired(self._token)

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions to send with the token, name -> value (KIP-342)."""
        return dict(self._extensions)


def token_provider(sasl: SaslSettings, limit: float = ENDPOINT_TIMEOUT) -> TokenProvider:
    """Return the provider of tokens for these settings; see SaslSettings. limit: the maximum seconds to get one token.

    Raises AdminError for settings that can't work.
    """
    extensions = {name[len(_EXTENSION) :]: value for name, value in sasl.options.items() if name.startswith(_EXTENSION)}
    if command := sasl.options.get("token.command"):
        folder = Path(sasl.options["token.command.folder"])
        return TokenProvider(lambda: token_of_command(command, folder, limit), extensions, limit + 1)
    url = sasl.options.get("token.endpoint.url")
    if url is None:
        given = sasl.password
        if given is not None:
            return TokenProvider(lambda: jwt.Token(jwt.checked(given.reveal(), "the token"), None), extensions)
        return TokenProvider(
            lambda: jwt.Token(jwt.unsecured_token(sasl.username or ""), jwt.UNSECURED_LIFE), extensions
        )
    if urlsplit(url).scheme == "file":
        path = Path(unquote(urlsplit(url).path))
        return TokenProvider(lambda: _from_file(path), extensions)
    refuse_clear_text(url)
    return TokenProvider(lambda: request_token(sasl, url, limit), extensions, limit)


def token_of_command(command: str, folder: Path, limit: float) -> jwt.Token:
    """Run a command and return the token that it prints, alone or in the JSON form of a token endpoint. The command
    runs without a shell, in `folder`, the folder of the settings file that names it. Blocks for at most `limit`
    seconds.

    Raises AdminError with the program's name, its exit code and the last line of its standard error.
    """
    remedy = "Run sasl.oauthbearer.token.command by hand; it writes a token, or JSON with access_token."
    name = name_of(command)
    try:
        output = output_of(command, limit, folder)
    except ProgramFailed as error:
        if error.hangs:
            raise Unreachable.of(f"no token: {error}", remedy) from None
        raise jwt.no_token(f"the token's command {error}", remedy) from None
    if output.lstrip().startswith(b"{"):
        # Scripts for kafkactl write the token in a field named token.
        return token_in(output, f"the token's command {name}", remedy, (*NAMES, "token"))
    text = jwt.checked(output.decode("ascii", "replace").strip(), f"what {name} wrote as the token")
    return jwt.Token(text, jwt.life_of(text))


def _from_file(path: Path) -> jwt.Token:
    try:
        text = jwt.token_in_file(path)
    except (OSError, ValueError) as error:
        what = f"the token in {path} can't be read: {why_unread(error)}"
        raise jwt.no_token(what, "Check sasl.oauthbearer.token.endpoint.url.") from None
    return jwt.Token(jwt.checked(text, f"the token in {path}"), None)


# Requests to a token endpoint.

LONGEST_LIFE = 86_400.0
"""Maximum lifetime of a token in seconds; a longer one from the endpoint is reduced to this."""
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def request_token(sasl: SaslSettings, url: str, limit: float = ENDPOINT_TIMEOUT) -> jwt.Token:
    """Request a token from the endpoint at `url`, and return it. Blocks. Raises AdminError, whose text has no secret.

    Args:
        limit: the maximum seconds for connecting and for each read, unless the settings have a shorter time.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

    shown = _without_credentials(url)
    handlers = [HTTPSHandler(context=client_context(sasl.endpoint_tls or TlsSettings())), no_redirects()]
    if is_loopback(urlsplit(url).hostname or ""):
        # Never use a proxy for a loopback address: it would receive the client's secret, and can't reach this host's
        # loopback.
        handlers.append(ProxyHandler({}))
    opener = build_opener(*handlers)
    request = Request(url, data=_form(sasl), headers=_headers(sasl), method="POST")  # noqa: S310
    try:
        with opener.open(request, timeout=_timeout(sasl.options, limit)) as answer:
            body = answer.read(LARGEST)
    except HTTPError as error:
        with error:
            raise _refused(shown, error.code, error.read(LARGEST), sasl) from None
    except URLError as error:
        raise _unreachable(shown, error.reason) from None
    except (OSError, HTTPException) as error:
        raise _unreachable(shown, error) from None
    except ValueError:
        raise jwt.no_token(f"{shown} is not a URL", "Set sasl.oauthbearer.token.endpoint.url.") from None
    return token_in(body, f"the token endpoint {shown}")


def _form(sasl: SaslSettings) -> bytes:
    fields = {"grant_type": "client_credentials"}
    if sasl.options.get("assertion"):
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
    """Return the smallest of `limit`, sasl.login.connect.timeout.ms and sasl.login.read.timeout.ms, in seconds."""
    given = [options[key] for key in ("connect.timeout.ms", "read.timeout.ms") if is_natural(options.get(key, ""))]
    return min([limit, *(int(text) / 1000 for text in given if int(text))])


def no_redirects() -> Any:
    """Return a handler for urllib that refuses redirects, because the credentials are for the configured endpoint
    only.
    """
    from urllib.request import HTTPRedirectHandler

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return NoRedirects()


NAMES = ("access_token", "id_token")


def token_in(
    body: bytes, source: str, remedy: str = "Is it the token endpoint's URL?", names: tuple[str, ...] = NAMES
) -> jwt.Token:
    """Return the token in an endpoint's JSON response (RFC 6749, section 5.1). Raises AuthenticationFailed.

    Args:
        source: the sender of the response, for the error.
        remedy: the remedy for the error.
        names: the names of fields that may have the token.
    """
    try:
        answer = json_of(body, odd_numbers=True)
    except ValueError:
        answer = None
    text = next((found for name in names if (found := answer.get(name))), None) if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise jwt.no_token(f"{source} answered without an access_token", remedy)
    # A JWT may expire before expires_in: its own expiry is in whole seconds.
    lives = [life for life in (_seconds(answer.get("expires_in")), jwt.life_of(text)) if life is not None]
    return jwt.Token(jwt.checked(text, "the token"), min(lives, default=None))


def _seconds(life: object) -> float | None:
    """Return the lifetime in seconds that an endpoint gives as a number or its digits, at most `LONGEST_LIFE`. None
    for any other value; NaN and Infinity, which Python's JSON parser accepts, are such values.
    """
    try:
        seconds = float(life) if isinstance(life, int | float | str) and not isinstance(life, bool) else math.nan
    except ValueError:
        return None
    except OverflowError:
        return LONGEST_LIFE if isinstance(life, int) and life > 0 else None
    return min(seconds, LONGEST_LIFE) if 0 < seconds < math.inf else None


def refuse_clear_text(url: str) -> None:
    """Raise AuthenticationFailed if the endpoint's URL is not https, unless the endpoint is on this host."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return
    raise jwt.no_token(
        f"the token endpoint {_without_credentials(url)} is not https: the client's secret would be sent in the clear",
        "Set sasl.oauthbearer.token.endpoint.url to its https address.",
    )


def _refused(shown: str, status: int, body: bytes, sasl: SaslSettings) -> AdminError:
    text = _endpoint_error(body)
    if sasl.password is not None and sasl.password.reveal():
        text = text.replace(sasl.password.reveal(), "······")
    message = f"the token endpoint {shown} answered {status}" + (f": {text}" if text else "")
    if status >= 500 or status == 429:
        return Unreachable.of(message, "Try again; then ask the administrators of the identity provider.")
    return jwt.no_token(message, "Check the client's id, its secret or key, and the scope.")


def _endpoint_error(body: bytes) -> str:
    """Return the error text in an endpoint's response (RFC 6749, section 5.2), without control characters; ``""`` for a
    body of another form.
    """
    try:
        answer = json_of(body, odd_numbers=True)
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    said = " ".join(str(answer[key]) for key in ("error", "error_description") if answer.get(key))
    return "".join(character for character in said if character.isprintable())[:200]


def _unreachable(shown: str, reason: object) -> AdminError:
    import ssl

    if isinstance(reason, ssl.SSLCertVerificationError):
        return TlsFailed.of(
            f"the certificate of the token endpoint {shown} is not trusted: {reason.verify_message}",
            "Give its authority with ssl.truststore.location among the options of sasl.jaas.config.",
        )
    words = (
        "no answer in time" if isinstance(reason, TimeoutError) else getattr(reason, "strerror", None) or str(reason)
    )
    return Unreachable.of(
        f"the token endpoint {shown} can't be reached: {words}", "Check its URL and the network to it."
    )


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# Assertions, with which a client authenticates at a token endpoint (RFC 7523).

EXPIRES_SECONDS, NOT_BEFORE_SECONDS = 300, 60
"""Kafka's defaults of sasl.oauthbearer.assertion.claim.exp.seconds and …nbf.seconds."""
_CLAIMS = ("aud", "iss", "sub")


def assertion(sasl: SaslSettings) -> str:
    """Return a newly signed assertion, or the assertion in the file ``assertion.file``. All files are read again at
    each call. Blocks.

    Raises AuthenticationFailed with the file's name and the problem.
    """
    options = sasl.options
    if file := options.get("assertion.file"):
        return jwt.checked(_text_of(file, "sasl.oauthbearer.assertion.file").strip(), f"the assertion in {file}")
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
    return _signed_jwt({**header, "alg": options.get("assertion.algorithm", "RS256"), "typ": "JWT"}, claims, sasl)


def _template(options: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims in the JSON file ``assertion.template.file`` (``header`` and ``payload``); both
    are empty if the options name no such file. Raises AuthenticationFailed for a file of another form.
    """
    file = options.get("assertion.template.file")
    if not file:
        return {}, {}
    try:
        found = json_of(_text_of(file, "sasl.oauthbearer.assertion.template.file"))
        return dict(found.get("header", {})), dict(found.get("payload", {}))
    except (ValueError, TypeError, AttributeError):
        raise _no_template(file, "is not JSON with header and payload") from None


def _no_template(file: str, why: str) -> AuthenticationFailed:
    remedy = "Correct it, or remove sasl.oauthbearer.assertion.template.file."
    return jwt.no_token(f"the assertion's template {file} {why}", remedy)


def _signed_jwt(header: dict[str, Any], claims: dict[str, Any], sasl: SaslSettings) -> str:
    """Return a JWT with this header and these claims, signed with the key in the settings. Raises
    AuthenticationFailed.
    """
    from joserfc.errors import InvalidKeyCurveError, JoseError
    from joserfc.jws import JWSRegistry, serialize_compact

    file, algorithm = sasl.options.get("assertion.private.key.file", ""), header["alg"]
    key = _private_key(file, sasl.password.reveal() if sasl.password else None, algorithm)
    # Not strict: a template's header may have unregistered names.
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

    # Silence the warning about short RSA keys: the provider decides on them, and standard error may be the screen.
    warnings.simplefilter("ignore", SecurityWarning)
    kinds: dict[str, type[RSAKey | ECKey]] = {"RS256": RSAKey, "ES256": ECKey}
    text = _text_of(file, "sasl.oauthbearer.assertion.private.key.file")
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
    raise jwt.no_token(f"the assertion's key {file} {why}", remedy)


def _not_for(algorithm: str, file: str) -> AuthenticationFailed:
    return jwt.no_token(
        f"the assertion's key {file} is not one for {algorithm}",
        "RS256 is for RSA, ES256 for the curve P-256: set sasl.oauthbearer.assertion.algorithm.",
    )


def _text_of(file: str, key: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(LARGEST).decode("utf-8")
    except OSError as error:
        raise jwt.no_token(f"{file} can't be read: {error.strerror}", f"Check {key}.") from None
    except UnicodeDecodeError:
        raise jwt.no_token(f"{file} is not text", f"Check {key}.") from None
