"""A peer in a broker's place, which wants the proof of a password, or can't prove that it knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.changes import send
from console.admin.errors import AuthenticationFailed
from console.admin.link import Nodes
from console.admin.settings import ConnectionSettings, SaslSettings
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tables import ScramKey
from console.model.changes import AlterScram, Outcome, ScramUser
from console.model.codes import ScramMechanism
from console.model.secret import Secret
from console.wire.sasl import NotTheBroker, ScramAuthenticator
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.support import worlds

SASL_AUTHENTICATE, ALTER_USER_SCRAM_CREDENTIALS = 36, 51
PASSWORD = "correct horse"


impostor = worlds.running(
    lambda: hostile_cluster(ClusterSpec(brokers=1, sasl=SaslSpec(scram={"ops": Secret(PASSWORD)})))
)


def log_in(cluster: HostileCluster, mechanism: str = "SCRAM-SHA-512", times: int = 1) -> Nodes:
    """The brokers, as one link's call sees them; the last of so many calls."""
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
    """Changes the server's message that begins so."""

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
