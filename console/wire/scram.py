"""The client's side of SCRAM (RFC 5802) as aiokafka does it, with the server's messages checked.

A server other than the broker may answer at its address. With few iterations the client's proof is cheap to crack,
with two billion the client computes for an hour, and without the right signature at the end the peer does not know the
password's keys: it is not a broker that holds this user.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re

from console.wire.aiokafka_conn import import_aiokafka_conn

_conn = import_aiokafka_conn()

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 1_000_000
"""Kafka sets 4,096 to 16,384 (ScramMechanism); RFC 7677 asks for 4,096 at least. A million takes about a second."""
_EXTENSIONS = r"(?:,[a-hj-qt-zA-Z]=[^,]*)*"
_FIRST = re.compile(r"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9][0-9]{0,9})" + _EXTENSIONS)
"""server-first-message; an extension that one must know (m=) would come first."""
_FINAL = re.compile(r"v=([A-Za-z0-9+/]+={0,2})(?:,.*)?")


class NotTheBroker(Exception):
    """The peer's part of the exchange is not that of a broker which knows this user. The text says in what."""


class ScramAuthenticator(_conn.ScramAuthenticator):  # type: ignore[misc,name-defined]
    """aiokafka's authenticator, which raises NotTheBroker before it computes a proof that it should not send."""

    def process_server_first_message(self, server_first: str) -> None:
        """Checks nonce, salt and iterations; computes the proof."""
        found = _FIRST.fullmatch(server_first)
        if found is None:
            raise NotTheBroker("its first message is not one of SCRAM")
        nonce, salt, iterations = found.groups()
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise NotTheBroker("its nonce does not continue ours")
        asked = int(iterations)
        if not MIN_ITERATIONS <= asked <= MAX_ITERATIONS:
            raise NotTheBroker(f"it asks for {asked:,} iterations, not {MIN_ITERATIONS:,} to {MAX_ITERATIONS:,}")
        _decoded(salt, "salt")
        super().process_server_first_message(server_first)

    def process_server_final_message(self, server_final: str) -> None:
        """Checks the server's signature."""
        found = _FINAL.fullmatch(server_final)
        if found is None:
            raise NotTheBroker("it did not sign its last message")
        if not hmac.compare_digest(_decoded(found[1], "signature"), self._server_signature):
            raise NotTheBroker("its signature is wrong: it does not know this user's password")

    def _step(self, payload: bytes | None) -> tuple[bytes, bool] | None:
        """As aiokafka's; bytes that are no text are no message."""
        try:
            step: tuple[bytes, bool] | None = super()._step(payload)
        except UnicodeDecodeError:
            raise NotTheBroker("its message is not text") from None
        return step


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise NotTheBroker(f"its {what} is not base 64") from None
