"""A session that is not renewed ends its connection, and says nothing of the credentials: a new login does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from kio.schema.errors import ErrorCode

from console.admin.errors import AuthenticationFailed
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.secret import Secret
from console.wire.frames import encode_body, response_frame
from console.wire.schemas import api_key, messages
from tests.support import worlds
from tests.support.patience import BETWEEN_LOOKS, PATIENCE, without_end
from tests.wire import fake_broker

HANDSHAKE, AUTHENTICATE, METADATA = map(api_key, ("sasl_handshake", "sasl_authenticate", "metadata"))
SESSION = timedelta(seconds=3)
"""Renewed two seconds before its end."""


class Listener:
    """Logs everybody in for a short session, and refuses to renew it.

    code: with which error; None closes the connection. refuses_all: refuses new logins, too, after the first. logins:
    how many there were, by connection.
    """

    def __init__(self, code: int | None, said: str = "", *, refuses_all: bool = False) -> None:
        self.code, self.said, self.refuses_all = code, said, refuses_all
        self.logins: Counter[int] = Counter()

    async def __call__(self, conversation: fake_broker.Conversation, request: fake_broker.Received) -> None:
        found = messages(request.key, request.version)
        assert found is not None
        kio = found.schema
        if request.key == METADATA:
            await conversation.answer(request, fake_broker.metadata_body({1: (fake_broker.LOOPBACK, 9)}, 1))
            return
        if request.key == HANDSHAKE:
            answer = kio.SaslHandshakeResponse(error_code=ErrorCode.none, mechanisms=("PLAIN",))
        else:
            self.logins[request.connection] += 1
            refused = self.logins[request.connection] > 1 or (self.refuses_all and request.connection > 1)
            if refused and self.code is None:
                conversation.cut()
                return
            answer = kio.SaslAuthenticateResponse(
                error_code=ErrorCode(self.code or 0) if refused else ErrorCode.none,
                error_message=self.said if refused else None,
                auth_bytes=b"",
                session_lifetime=SESSION,
            )
        await conversation.send(
            response_frame(found.response, request.correlation_id, encode_body(found.response, answer))
        )


@asynccontextmanager
async def logged_in(listener: Listener) -> AsyncIterator[Link]:
    versions = {**fake_broker.KRAFT, HANDSHAKE: (0, 1), AUTHENTICATE: (0, 2)}
    sasl = SaslSettings("PLAIN", "alice", Secret("open sesame"))
    async with (
        fake_broker.FakeBroker(listener, versions=versions) as alive,
        asyncio.timeout(PATIENCE),
        worlds.linked(ConnectionSettings((alive.address,), "SASL_PLAINTEXT", sasl)) as link,
    ):
        await link.refresh()
        yield link


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.sasl_authentication_failed, "Cannot change principals during re-authentication from alice: bob"),
        (ErrorCode.illegal_sasl_state, "Unexpected Kafka request of type SASL_HANDSHAKE after authentication"),
        (ErrorCode.unsupported_sasl_mechanism, "Client SASL mechanism 'PLAIN' not enabled"),
        (None, ""),
    ],
)
async def test_a_new_connection_logs_in_at_once(code: int | None, said: str) -> None:
    listener = Listener(code, said)
    async with logged_in(listener) as link:
        while len(listener.logins) < 2:
            await link.refresh()  # none of them fails
            await asyncio.sleep(BETWEEN_LOOKS)
        await link.refresh()
    assert listener.logins == {1: 2, 2: 1}


async def test_a_new_login_that_is_refused_is_a_refusal() -> None:
    listener = Listener(ErrorCode.sasl_authentication_failed, "Authentication failed", refuses_all=True)
    async with logged_in(listener) as link:
        with pytest.raises(AuthenticationFailed, match="refused the PLAIN credentials: Authentication failed") as first:
            await without_end(link.refresh)
        with pytest.raises(AuthenticationFailed) as again:
            await link.refresh()
        assert again.value.failure == first.value.failure
    assert listener.logins == {1: 2, 2: 1}, "the session, its renewal, one new login; then it is waited"
