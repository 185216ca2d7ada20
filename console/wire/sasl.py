"""SASL: the exchange with a broker, and the mechanisms PLAIN, SCRAM (RFC 5802) and OAUTHBEARER (RFC 7628)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from kio.schema.errors import ErrorCode

from console.lean_imports import import_aiokafka_conn
from console.model.secret import Secret
from console.wire.aiokafka_request import AiokafkaRequest, RawResponse
from console.wire.frames import decode_body
from console.wire.schemas import api_key, response_type, version_range

_conn = import_aiokafka_conn()

# The exchange: SaslHandshake, then SaslAuthenticate until the mechanism has nothing more to send (KIP-43, KIP-152).

SaslStep = bytes | None
"""Bytes to send; None once the exchange has ended."""


class Authenticator(Protocol):
    """The client's side of one exchange of a mechanism."""

    def step(self, payload: bytes | None, /) -> Awaitable[SaslStep]:
        """Return the next bytes to send after the broker's message; None before the first.

        Raises NotTheBroker, and the errors of the credentials' source.
        """

    def shown(self) -> str:
        """Return a line about the credentials without secrets; empty if it would have only a user's name."""

    def is_over(self) -> bool:
        """Return whether the credentials count as expired for a broker that reports no end of the session.

        Brokers accept an expired delegation token until they delete it, up to an hour later (4.3): they report 0 ms,
        and close the connection at its first request (SaslServerAuthenticator).
        """


class Login(NamedTuple):
    """A mechanism, and the function that begins an exchange with its credentials."""

    mechanism: str
    begin: Callable[[str], Authenticator]
    """Makes the authenticator of one exchange, given the host name of the broker."""


class SaslRefused(Exception):
    """The broker refused the mechanism or the credentials. The text is the broker's.

    Attributes:
        errno: Kafka's error code.
        mechanisms: the mechanisms of the listener, if it does not support kac's.
        shown: the line about the refused credentials.
    """

    def __init__(self, errno: int, text: str, mechanisms: tuple[str, ...] = (), shown: str = "") -> None:
        super().__init__(text)
        self.errno = errno
        self.mechanisms = mechanisms
        self.shown = shown


class NotTheBroker(Exception):
    """The peer's messages are not those of a broker that knows this user's credentials. The text has the reason."""


class EndsAtOnce(Exception):
    """The broker accepted the credentials, but the session is too short to use. The text has its end."""


class KerberosFailed(Exception):
    """Kerberos failed on this side: no ticket, an expired one, an unknown realm… The text is the library's."""


Send = Callable[[AiokafkaRequest], Awaitable[RawResponse]]


def handshake(login: Login) -> AiokafkaRequest:
    """Return the request that names the mechanism: version 1, which all brokers have since Kafka 1.0."""
    return AiokafkaRequest("sasl_handshake", 1, {"mechanism": login.mechanism})


def _authenticate(version: int, step: bytes) -> AiokafkaRequest:
    return AiokafkaRequest("sasl_authenticate", version, {"auth_bytes": step})


async def log_in(
    send: Send,
    versions: Mapping[int, tuple[int, int]],
    login: Login,
    host: str,
    shaken: Awaitable[RawResponse] | None = None,
) -> float:
    """Authenticate a new connection, or an open one again (KIP-368). shaken: the pending response to `handshake`; None
    if that was not sent yet.

    Returns the time of the next authentication, on the monotonic clock; infinite if the session does not end. Raises
    SaslRefused, EndsAtOnce, NotTheBroker, and the errors of `send` and of the credentials' source.
    """

    def decoded(raw: RawResponse) -> Any:
        return decode_body(response_type(raw.api, raw.version), raw.body)

    lowest, highest = version_range("sasl_authenticate")
    version = max(lowest, min(highest, versions.get(api_key("sasl_authenticate"), (0, 0))[1]))
    named = decoded(await (shaken or send(handshake(login))))
    offered = tuple(named.mechanisms)
    if named.error_code:
        raise SaslRefused(named.error_code, "", offered)
    if login.mechanism not in offered:
        raise SaslRefused(ErrorCode.unsupported_sasl_mechanism, "", offered)
    authenticator = login.begin(host)
    answer: bytes | None = None
    sent, lifetime = time.monotonic(), float("inf")
    while (step := await authenticator.step(answer)) is not None:
        sent = time.monotonic()
        response = decoded(await send(_authenticate(version, step)))
        if response.error_code:
            raise SaslRefused(response.error_code, response.error_message or "", shown=authenticator.shown())
        answer = response.auth_bytes
        ends = getattr(response, "session_lifetime", None)
        lifetime = ends.total_seconds() if ends else float("inf")
    if lifetime < LEAST_SESSION:
        raise EndsAtOnce(f"end in {lifetime:.1f} s")
    if lifetime == float("inf") and authenticator.is_over():
        raise EndsAtOnce("are over")
    return sent + renewed_after(lifetime)


EARLIEST, LATEST = 0.85, 0.95
"""Bounds of the share of a session's lifetime after which it is renewed. The share is random, so that not all clients
renew at once (as in SaslClientAuthenticator)."""
LEAST_MARGIN = 2.0
"""Seconds before its end by which a long enough session is renewed: if a busy broker reads a request after the end, it
closes the connection, and the request's outcome is unknown."""
LEAST_SESSION = 2.0
"""Minimum length in seconds of a session to use. A shorter one comes from a token that is about to expire: the broker
may read a request too late, and brokers renew no session within a second
(KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""


def renewed_after(lifetime: float) -> float:
    """Return the seconds until the renewal of a session that lasts `lifetime` seconds; infinite if that is infinite, or
    not above 0.
    """
    if lifetime <= 0 or lifetime == float("inf"):
        return float("inf")
    return min(random.uniform(EARLIEST, LATEST) * lifetime, max(lifetime - LEAST_MARGIN, lifetime / 2))  # noqa: S311


# PLAIN (RFC 4616).


class PlainAuthenticator:
    """Sends the user's name and password."""

    def __init__(self, username: str, password: Secret) -> None:
        self._message: bytes | None = f"\0{username}\0{password.reveal()}".encode()

    async def step(self, _answer: bytes | None) -> SaslStep:
        """Return the one message, then None."""
        message, self._message = self._message, None
        return message

    def shown(self) -> str:
        """Return an empty line: only the user's name is known."""
        return ""

    def is_over(self) -> bool:
        """Return False: a password does not expire."""
        return False


# SCRAM (RFC 5802).
#
# An impostor may answer at the broker's address. With few iterations, it could cheaply crack the password by the
# client's proof; with two billion, it could keep the client busy for an hour. A peer without the right signature at the
# end does not have the password's keys: it is not a broker that knows this user.

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 1_000_000
"""Bounds of the number of iterations: Kafka allows 4,096 to 16,384 (ScramMechanism), RFC 7677 requires at least 4,096.
A million iterations take about a second."""
_EXTENSIONS = r"(?:,[a-hj-qt-zA-Z]=[^,]*)*"
_SERVER_FIRST = re.compile(r"\Ar=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9][0-9]{0,9})" + _EXTENSIONS)
"""Matches a server-first-message (RFC 5802), unless it begins with a mandatory extension (m=), which kac can't
support."""
_SERVER_FINAL = re.compile(r"v=([A-Za-z0-9+/]+={0,2})(?:,.*)?")


class ScramAuthenticator(_conn.ScramAuthenticator):  # type: ignore[misc,name-defined]
    """aiokafka's authenticator, which also raises NotTheBroker before it computes a proof that must not be sent.

    extensions: sent with the user's name, as ``tokenauth`` (ScramExtensions).
    """

    def __init__(self, mechanism: str, username: str, password: Secret, extensions: str = "") -> None:
        super().__init__(
            loop=asyncio.get_running_loop(),
            sasl_mechanism=mechanism,
            sasl_plain_username=username,
            sasl_plain_password=password.reveal(),
        )
        self._extensions = extensions

    def is_over(self) -> bool:
        """Return whether the user is a delegation token, which always expires."""
        return bool(self._extensions)

    def first_message(self) -> str:
        """Return the client-first-message."""
        if self._extensions:
            # Both sides sign the extensions, too.
            header, _, bare = str(super().first_message()).partition(",,")
            self._auth_message = f"{bare},{self._extensions}"
            return f"{header},,{self._auth_message}"
        return str(super().first_message())

    def process_server_first_message(self, server_first: str) -> None:
        """Check nonce, salt and iterations; compute the proof. Raises NotTheBroker."""
        found = _SERVER_FIRST.fullmatch(server_first)
        if found is None:
            raise NotTheBroker("its first message is not one of SCRAM")
        nonce, salt, iterations = found.groups()
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise NotTheBroker("its nonce does not continue ours")
        asked = int(iterations)
        if not MIN_ITERATIONS <= asked <= MAX_ITERATIONS:
            raise NotTheBroker(f"it asks for {asked:,} iterations, not {MIN_ITERATIONS:,} to {MAX_ITERATIONS:,}")
        _from_base64(salt, "salt")
        super().process_server_first_message(server_first)

    def process_server_final_message(self, server_final: str) -> None:
        """Check the server's signature. Raises NotTheBroker."""
        found = _SERVER_FINAL.fullmatch(server_final)
        if found is None:
            raise NotTheBroker("it did not sign its last message")
        if not hmac.compare_digest(_from_base64(found[1], "signature"), self._server_signature):
            raise NotTheBroker("its signature is wrong: it does not know this user's password")

    def _step(self, payload: bytes | None) -> SaslStep:
        """Return the next bytes to send, None at the end; aiokafka calls this in another thread. Raises NotTheBroker,
        also for bytes that are not text.
        """
        try:
            step: tuple[bytes, bool] | None = super()._step(payload)
        except UnicodeDecodeError:
            raise NotTheBroker("its message is not text") from None
        return None if step is None else step[0]

    def shown(self) -> str:
        """Return an empty line: only the user's name is known."""
        return ""


def _from_base64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise NotTheBroker(f"its {what} is not base 64") from None


# OAUTHBEARER (RFC 7628).


class TokenSource(Protocol):
    """A source of bearer tokens."""

    async def token(self) -> str:
        """Return a currently valid token. Raises AdminError."""

    def extensions(self) -> Mapping[str, str]:
        """Return SASL extensions (KIP-342), sent with the token."""

    def shown(self) -> str:
        """Return a line about the last token, without the token."""

    def is_over(self) -> bool:
        """Return whether the last token has expired by this host's clock."""


class BearerAuthenticator:
    """Sends a token and the extensions.

    A broker that refuses the token answers with JSON, waits for one byte, and then fails the authentication (RFC 7628,
    section 3.2.3; OAuthBearerSaslServer). Without that byte the next request fails instead, as one sent during
    authentication.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token_sent = False

    async def step(self, answer: bytes | None) -> SaslStep:
        """Return the token with its extensions, then one byte if the broker answered with an error, else None."""
        if self._token_sent:
            return b"\x01" if answer else None
        self._token_sent = True
        pairs = {"auth": f"Bearer {await self._source.token()}", **self._source.extensions()}
        return ("n,,\x01" + "".join(f"{key}={value}\x01" for key, value in pairs.items()) + "\x01").encode()

    def shown(self) -> str:
        """Return a line about the token."""
        return self._source.shown()

    def is_over(self) -> bool:
        """Return whether the token has expired by this host's clock."""
        return self._source.is_over()
