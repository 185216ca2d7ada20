"""aiokafka's SASL with checks of the server's messages: SCRAM (RFC 5802) and OAUTHBEARER (RFC 7628)."""

from __future__ import annotations

import base64
import binascii
import hmac
import re

from console.wire.partial_imports import import_aiokafka_conn

# SCRAM.
#
# A server other than the broker may answer at its address. With few iterations the client's proof is cheap to crack,
# with two billion the client computes for an hour. Without the right signature at the end the peer does not have the
# password's keys: it is not a broker that holds this user.

_conn = import_aiokafka_conn()

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 1_000_000
"""Kafka allows 4,096 to 16,384 (ScramMechanism); RFC 7677 requires at least 4,096. A million takes about a second."""
_EXTENSIONS = r"(?:,[a-hj-qt-zA-Z]=[^,]*)*"
_SERVER_FIRST = re.compile(r"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9][0-9]{0,9})" + _EXTENSIONS)
"""server-first-message. A mandatory extension (m=) would come first."""
_SERVER_FINAL = re.compile(r"v=([A-Za-z0-9+/]+={0,2})(?:,.*)?")


class NotTheBroker(Exception):
    """The peer's messages are not those of a broker that has this user's credentials. The text says why."""


class ScramAuthenticator(_conn.ScramAuthenticator):  # type: ignore[misc,name-defined]
    """aiokafka's authenticator, but it raises NotTheBroker before it computes a proof that must not be sent."""

    def process_server_first_message(self, server_first: str) -> None:
        """Checks nonce, salt and iterations; computes the proof."""
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
        """Checks the server's signature."""
        found = _SERVER_FINAL.fullmatch(server_final)
        if found is None:
            raise NotTheBroker("it did not sign its last message")
        if not hmac.compare_digest(_from_base64(found[1], "signature"), self._server_signature):
            raise NotTheBroker("its signature is wrong: it does not know this user's password")

    def _step(self, payload: bytes | None) -> tuple[bytes, bool] | None:
        """As aiokafka's. Raises NotTheBroker for bytes that are not text."""
        try:
            step: tuple[bytes, bool] | None = super()._step(payload)
        except UnicodeDecodeError:
            raise NotTheBroker("its message is not text") from None
        return step


def _from_base64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise NotTheBroker(f"its {what} is not base 64") from None


# OAUTHBEARER.

SaslStep = tuple[bytes, bool] | None
"""Bytes to send, and whether an answer is expected. None at the end."""


class BearerAuthenticator(_conn.OAuthAuthenticator):  # type: ignore[misc,name-defined]
    """aiokafka's authenticator, but with the reason of a refusal: aiokafka's takes any answer as success.

    A broker that refuses the token answers with JSON, waits for one byte, and then fails the authentication (RFC 7628,
    section 3.2.3; OAuthBearerSaslServer). Without that byte the next request fails instead, as one in the middle of
    authentication.
    """

    async def step(self, answer: bytes | None) -> SaslStep:
        """The next bytes to send after the broker's answer."""
        if answer:
            return b"\x01", True
        step: SaslStep = await super().step(answer)
        return step
