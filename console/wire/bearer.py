"""SASL/OAUTHBEARER as aiokafka does it, with the broker's refusal heard."""

from __future__ import annotations

from console.wire.aiokafka_conn import import_aiokafka_conn

_conn = import_aiokafka_conn()

Step = tuple[bytes, bool] | None
"""Bytes to send and whether an answer is expected; None at the end."""


class BearerAuthenticator(_conn.OAuthAuthenticator):  # type: ignore[misc,name-defined]
    """aiokafka's authenticator, which takes any answer to the token for a yes.

    A broker that does not accept the token answers with a JSON text, waits for one byte, and says then that
    authentication failed (RFC 7628, section 3.2.3; OAuthBearerSaslServer). Without that byte the next request is
    refused instead, as one that came in the middle of authentication.
    """

    async def step(self, answer: bytes | None) -> Step:
        """The next bytes for the broker after its answer."""
        if answer:
            return b"\x01", True
        step: Step = await super().step(answer)
        return step
