"""Tests of SASL sessions that end, and of servers that pretend to be a broker."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from console.admin.changes import send
from console.admin.errors import AuthenticationFailed
from console.admin.link import Link, Nodes
from console.admin.settings import ConnectionSettings, SaslSettings
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tables import ScramKey
from console.model.changes import AlterScram, Outcome, ScramUser
from console.model.codes import ScramMechanism
from console.model.secret import Secret
from console.wire import frames, schemas
from console.wire.sasl import NotTheBroker, ScramAuthenticator
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.support import worlds
from tests.support.patience import BETWEEN_LOOKS, PATIENCE, without_end
from tests.wire import fake_broker

HANDSHAKE, AUTHENTICATE, METADATA = map(schemas.api_key, ("sasl_handshake", "sasl_authenticate", "metadata"))
SESSION = timedelta(seconds=3)
"""The lifetime of a session. kac renews it two seconds before its end."""


class Listener:
    """A server that accepts each first login, for a short session, and refuses to renew it.

    Args:
        code: the error code of the refusal; None closes the connection without an answer.
        said: the message of the refusal.
        refuses_all: whether to refuse also first logins, after the first connection.
        logins: number of a connection -> how often a login was tried on it.
    """

    def __init__(self, code: int | None, said: str = "", *, refuses_all: bool = False) -> None:
        self.code, self.said, self.refuses_all = code, said, refuses_all
        self.logins: Counter[int] = Counter()

    async def __call__(self, conversation: fake_broker.Conversation, request: fake_broker.Received) -> None:
        found = schemas.messages(request.key, request.version)
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
            frames.response_frame(found.response, request.correlation_id, frames.encode_body(found.response, answer))
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
            await link.refresh()  # never fails
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


# -- A peer in place of a broker: it wants the proof of a password, or can't prove that it knows it --------------------

SASL_AUTHENTICATE, ALTER_USER_SCRAM_CREDENTIALS = 36, 51
PASSWORD = "correct horse"

impostor = worlds.running(
    lambda: hostile_cluster(ClusterSpec(brokers=1, sasl=SaslSpec(scram={"ops": Secret(PASSWORD)})))
)


def log_in(cluster: HostileCluster, mechanism: str = "SCRAM-SHA-512", times: int = 1) -> Nodes:
    """Ask for the brokers `times` times over one link; return the last answer. All calls before the last one have to
    fail.
    """
    settings = ConnectionSettings(
        (cluster.addresses[1],),
        security_protocol="SASL_PLAINTEXT",
        sasl=SaslSettings(mechanism, "ops", Secret(PASSWORD)),
    )

    async def run() -> Nodes:
        async with worlds.linked(settings) as link:
            for _ in range(times - 1):
                with pytest.raises(AuthenticationFailed):
                    await link.nodes()
            return await link.nodes()

    return asyncio.run(run())


def said(cluster: HostileCluster, first: bytes, change: Callable[[bytes], bytes]) -> None:
    """Change each SASL message of the server that begins with `first` by the function `change`."""

    def rewrite(_kio: Any, answer: Any) -> Any:
        if not answer.auth_bytes.startswith(first):
            return answer
        return replace(answer, auth_bytes=change(answer.auth_bytes))

    cluster.rewrite("sasl_authenticate", rewrite)


def iterations(number: int) -> Callable[[bytes], bytes]:
    return lambda message: message.rpartition(b",i=")[0] + b",i=%d" % number


def tokens(cluster: HostileCluster) -> int:
    return sum(asked.key == SASL_AUTHENTICATE for asked in cluster.asked)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("number", [4096, 200_000])
def test_a_broker_that_holds_the_user_is_believed(impostor: HostileCluster, mechanism: str, number: int) -> None:
    kind = ScramHash.SHA_256 if mechanism.endswith("256") else ScramHash.SHA_512
    impostor.embedded.call(
        lambda cluster: cluster.state.put("scram", ScramKey("ops", kind), credential_of(PASSWORD, kind, number))
    )
    assert log_in(impostor, mechanism).brokers


@pytest.mark.parametrize("number", [0, 1, 4095, 1_000_001, 2**31 - 1])
def test_no_proof_is_given_for_iterations_out_of_range(impostor: HostileCluster, number: int) -> None:
    said(impostor, b"r=", iterations(number))
    with pytest.raises(AuthenticationFailed) as raised:
        log_in(impostor)
    assert raised.value.failure.name == "NOT_THE_BROKER"
    assert "is not the expected broker" in raised.value.failure.message
    assert PASSWORD not in str(raised.value.failure)
    assert tokens(impostor) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda message: b"r=theirs" + message[message.index(b",s=") :],
        lambda message: b"r=" + message[3:],
        lambda message: message + b",i=4096,r=other",
        lambda message: b"m=must," + message,
        lambda message: b"\xff\xfe",
        lambda message: b"",
        lambda message: b"r=,s=,i=",
        lambda message: message[: message.rindex(b"=")] + b"=" + b"9" * 5000,
        lambda message: message.replace(b",s=", b",s=="),
        lambda message: message.replace(b",s=", b",s=A"),
    ],
)
def test_no_proof_is_given_for_a_message_that_is_not_scram(
    impostor: HostileCluster, change: Callable[[bytes], bytes]
) -> None:
    said(impostor, b"r=", change)
    with pytest.raises(AuthenticationFailed) as raised:
        log_in(impostor)
    assert raised.value.failure.name == "NOT_THE_BROKER"
    assert tokens(impostor) == 1


@pytest.mark.parametrize("signature", [b"v=AAAA", b"v=", b"", b"e=other-error", b"\xff", b"v=%%%%"])
def test_a_wrong_signature_is_an_impostor_and_not_a_wrong_password(impostor: HostileCluster, signature: bytes) -> None:
    said(impostor, b"v=", lambda _: signature)
    with pytest.raises(AuthenticationFailed) as raised:
        log_in(impostor)
    assert raised.value.failure.name == "NOT_THE_BROKER"
    assert "Check user name and password" not in raised.value.failure.remedy


def test_a_console_that_refreshes_does_not_give_an_impostor_one_proof_after_another(impostor: HostileCluster) -> None:
    said(impostor, b"v=", lambda _: b"v=AAAA")
    with pytest.raises(AuthenticationFailed):
        log_in(impostor, times=3)
    assert tokens(impostor) == 2


@given(
    st.text(max_size=60)
    | st.builds("r={}{},s={},i={}".format, st.just("NONCE"), st.text(max_size=9), st.text(), st.text())
)
def test_any_first_message_is_answered_by_a_proof_or_refused(message: str) -> None:
    async def run() -> None:
        authenticator = ScramAuthenticator("SCRAM-SHA-256", "ops", Secret(PASSWORD))
        authenticator._step(None)
        try:
            answer = authenticator._step(message.replace("NONCE", authenticator._nonce).encode("utf-8", "replace"))
        except NotTheBroker:
            return
        assert answer is not None
        assert answer.startswith(b"c=biws,r=")

    asyncio.run(run())


@pytest.mark.parametrize("number", [-1, 0, 1, 4095, 1_000_001, 2**31 - 1])
def test_no_credential_is_hashed_or_sent_with_iterations_out_of_range(number: int) -> None:
    user = ScramUser("ops", ScramMechanism(2))
    request = AlterScram({user: (number, Secret(PASSWORD))}, ())
    with hostile_cluster() as cluster:

        async def run() -> Outcome:
            async with worlds.linked(ConnectionSettings((cluster.addresses[1],))) as link:
                return (await send(link, request, validate_only=False))[0]

        outcome = asyncio.run(run())
    assert outcome.failure is not None
    assert outcome.failure.name == "UNACCEPTABLE_CREDENTIAL"
    assert not any(asked.key == ALTER_USER_SCRAM_CREDENTIALS for asked in cluster.asked)
