"""SASL: the exchange of messages with a broker, and the mechanisms PLAIN, SCRAM (RFC 5802) and OAUTHBEARER (RFC
7628).
"""

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
"""The bytes to send to the broker; None if the exchange is complete."""


class Authenticator(Protocol):
    """The client's side of one exchange by a SASL mechanism."""

    def step(self, payload: bytes | None, /) -> Awaitable[SaslStep]:
        """Return the bytes to send after the broker's message, or None if the exchange is complete. payload: the
        broker's message; None at the beginning.

        Raises NotTheBroker, and the errors of the source of the credentials.
        """

    def shown(self) -> str:
        """Return a line about the credentials, without secrets; ``""`` if there is nothing to say beyond the user's
        name.
        """

    def is_over(self) -> bool:
        """Return whether to regard the credentials as expired although the broker reports no end of the session.

        Brokers accept an expired delegation token until they delete it, up to an hour later (Kafka 4.3). For such a
        token they report a session of 0 ms, and close the connection at the first request after the login
        (SaslServerAuthenticator).
        """


class Login(NamedTuple):
    """A SASL mechanism, and a function that begins an exchange with the user's credentials."""

    mechanism: str
    begin: Callable[[str], Authenticator]
    """Makes the authenticator of one exchange. Its argument is the host name of the broker."""


class SaslRefused(Exception):
    """The broker refused the mechanism or the credentials. The exception's text is the broker's.

    Attributes:
        errno: Kafka's error code.
        mechanisms: the mechanisms that the listener supports, if it does not support kac's; otherwise empty.
        shown: the line about the refused credentials, without secrets.
    """

    def __init__(self, errno: int, text: str, mechanisms: tuple[str, ...] = (), shown: str = "") -> None:
        super().__init__(text)
        self.errno = errno
        self.mechanisms = mechanisms
        self.shown = shown


class NotTheBroker(Exception):
    """The peer's messages show that it does not have this user's credentials, or does not follow the mechanism. The
    exception's text says how.
    """


class EndsAtOnce(Exception):
    """The broker accepted the credentials, but its session ends too soon to be used. The exception's text says when."""


class KerberosFailed(Exception):
    """Kerberos failed on the client's side: no ticket, an expired ticket, an unknown realm… The exception's text is the
    library's.
    """


Send = Callable[[AiokafkaRequest], Awaitable[RawResponse]]


def handshake(login: Login) -> AiokafkaRequest:
    """Return a SaslHandshake request that names the mechanism, in version 1, which all brokers support since Kafka
    1.0.
    """
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
    """Authenticate on a new connection, or again on an open one (KIP-368).

    Return the time at which to authenticate again, in seconds of the monotonic clock; infinity if the session does not
    end. Raises SaslRefused, EndsAtOnce, NotTheBroker, and the errors of `send` and of the source of the credentials.

    Args:
        send: function that sends a request and returns an awaitable of its response.
        versions: API key -> the broker's (lowest, highest version).
        host: the host name of the broker.
        shaken: the pending response to `handshake`; None if the caller has not sent it.
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
"""The least seconds between the renewal of a session and its end. A busy broker may read a request after the session's
end; it then closes the connection, and the request's outcome is unknown.
"""
LEAST_SESSION = 2.0
"""The least length of a usable session, in seconds. A shorter session comes from a token that is about to expire.
The broker might read a request after the end of such a session, and brokers renew no session within the first
second (KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS).
"""


def renewed_after(lifetime: float) -> float:
    """Return the seconds from login to renewal for a session of `lifetime` seconds; infinity for a session that does
    not end, whose lifetime is infinite or not above 0.
    """
    if lifetime <= 0 or lifetime == float("inf"):
        return float("inf")
    return min(random.uniform(EARLIEST, LATEST) * lifetime, max(lifetime - LEAST_MARGIN, lifetime / 2))  # noqa: S311


# PLAIN (RFC 4616).


class PlainAuthenticator:
    """An exchange by PLAIN: it sends the user's name and password."""

    def __init__(self, username: str, password: Secret) -> None:
        self._message: bytes | None = f"\0{username}\0{password.reveal()}".encode()

    async def step(self, _answer: bytes | None) -> SaslStep:
        """Return the message with name and password at the first call, then None."""
        message, self._message = self._message, None
        return message

    def shown(self) -> str:
        """Return ``""``: there is nothing to say beyond the user's name."""
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
"""Matches the server's first message of SCRAM (RFC 5802). A message that begins with a mandatory extension (m=) does
not match, since kac supports none of these extensions.
"""
_SERVER_FINAL = re.compile(r"v=([A-Za-z0-9+/]+={0,2})(?:,.*)?")


class ScramAuthenticator(_conn.ScramAuthenticator):  # type: ignore[misc,name-defined]
    """aiokafka's authenticator for SCRAM, with further checks of the broker's messages: it raises NotTheBroker before
    it computes a proof that must not be sent to such a peer.

    extensions: sent with the user's name, such as ``tokenauth`` (ScramExtensions).
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
        """Return whether the credentials are a delegation token: only a token expires, not a password."""
        return bool(self._extensions)

    def first_message(self) -> str:
        """Return the client's first message: user name, nonce and extensions."""
        if self._extensions:
            # Both sides sign the extensions, too.
            header, _, bare = str(super().first_message()).partition(",,")
            self._auth_message = f"{bare},{self._extensions}"
            return f"{header},,{self._auth_message}"
        return str(super().first_message())

    def process_server_first_message(self, server_first: str) -> None:
        """Check the nonce, the salt and the number of iterations; compute the client's proof. Raises NotTheBroker."""
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
        """Check the server's signature, which proves that the peer has the user's keys. Raises NotTheBroker."""
        found = _SERVER_FINAL.fullmatch(server_final)
        if found is None:
            raise NotTheBroker("it did not sign its last message")
        if not hmac.compare_digest(_from_base64(found[1], "signature"), self._server_signature):
            raise NotTheBroker("its signature is wrong: it does not know this user's password")

    def _step(self, payload: bytes | None) -> SaslStep:
        """Return the bytes to send, or None if the exchange is complete. aiokafka calls this in another thread. Raises
        NotTheBroker, also for bytes that are not text.
        """
        try:
            step: tuple[bytes, bool] | None = super()._step(payload)
        except UnicodeDecodeError:
            raise NotTheBroker("its message is not text") from None
        return None if step is None else step[0]

    def shown(self) -> str:
        """Return ``""``: there is nothing to say beyond the user's name."""
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
        """Return a token that is valid now. Raises AdminError if the source has no such token."""

    def extensions(self) -> Mapping[str, str]:
        """Return the SASL extensions to send with the token, name -> value (KIP-342)."""

    def shown(self) -> str:
        """Return a line about the last token that the source returned, without the token itself."""

    def is_over(self) -> bool:
        """Return whether the last token that the source returned has expired by this host's clock."""


class BearerAuthenticator:
    """An exchange by OAUTHBEARER: it sends a token and the extensions.

    A broker that refuses the token answers with JSON, waits for one byte, and then fails the authentication (RFC 7628,
    section 3.2.3; OAuthBearerSaslServer). If the client does not send that byte, its next request fails instead,
    because the broker still expects the rest of the exchange.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token_sent = False

    async def step(self, answer: bytes | None) -> SaslStep:
        """Return the token with its extensions at the first call. At the second, return one byte if the broker's answer
        has an error, otherwise None.
        """
        if self._token_sent:
            return b"\x01" if answer else None
        self._token_sent = True
        pairs = {"auth": f"Bearer {await self._source.token()}", **self._source.extensions()}
        return ("n,,\x01" + "".join(f"{key}={value}\x01" for key, value in pairs.items()) + "\x01").encode()

    def shown(self) -> str:
        """Return a line about the token, without the token itself."""
        return self._source.shown()

    def is_over(self) -> bool:
        """Return whether the token has expired by this host's clock."""
        return self._source.is_over()
