"""Tests of the single error that kac makes of the errors of several addresses, and of the text form of addresses."""

import ssl

import pytest
from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from console.admin.connect_errors import connect_error, none_reached
from console.admin.errors import AdminError, AuthenticationFailed, NotKafkaBroker, TlsFailed, Unreachable
from console.admin.settings import ConnectionSettings, SaslSettings, show_address
from console.model.failure import Failure
from console.model.identity import Node
from console.model.secret import Secret
from console.wire.connection import AnotherNode, ConnectFailed, Stage
from console.wire.sasl import KerberosFailed, NotTheBroker, SaslRefused


def error(kind: type[AdminError], message: str, remedy: str = "Do it.") -> AdminError:
    return kind(Failure("NAME", message, remedy))


REFUSED, LOST = error(Unreachable, "a:1: refused", "Start it."), error(Unreachable, "b:2: no way", "Look at it.")


def test_what_is_told_where_none_was_reached() -> None:
    assert none_reached([REFUSED]) is REFUSED  # the only one
    told = none_reached([REFUSED, LOST, REFUSED]).failure
    assert told.message == "none of 3 addresses: a:1: refused; b:2: no way"
    assert told.remedy == "Start it. Look at it."
    refused = error(AuthenticationFailed, "who?")
    assert none_reached([error(NotKafkaBroker, "http"), error(TlsFailed, "tls"), refused]) is refused
    settings = ConnectionSettings(bootstrap=(("h", 1),))
    said = error(TlsFailed, "trust store /x can't be read")
    assert connect_error(said, ("h", 1), settings) is said
    odd = connect_error(AssertionError("gssapi library required"), ("h", 1), settings).failure
    assert odd.message == "h:1 was not tried: AssertionError gssapi library required"


def test_a_reason_that_many_share_is_told_once_and_words_in_paths_are_none() -> None:
    told = none_reached([LOST, *(error(Unreachable, f"[::{n}]:9092: nothing listens: there") for n in range(60))])
    some = "[::0]:9092, [::1]:9092, [::2]:9092 and 57 more"
    assert told.failure.message == f"none of 61 addresses: b:2: no way; {some}: nothing listens: there"
    whole = none_reached([error(Unreachable, "no route"), error(Unreachable, "no route")])
    assert whole.failure.message == "none of 2 addresses: no route"
    settings = ConnectionSettings((("h", 1),), "SASL_SSL")
    text = "No Kerberos credentials available (default cache: FILE:/home/keytabs/expired-and-revoked/cache)"
    failed = ConnectFailed(Stage.SASL, 0.0)
    failed.__cause__ = KerberosFailed(text)
    assert connect_error(failed, ("h", 1), settings).failure.remedy.startswith("Get a ticket: kinit")


@pytest.mark.parametrize("kind", [AuthenticationFailed, TlsFailed, NotKafkaBroker])
def test_what_a_peer_said_tells_more_than_silence(kind: type[AdminError]) -> None:
    said = error(kind, "c:3: no")
    assert none_reached([REFUSED, said, LOST]) is said


def _certificate(code: int) -> ssl.SSLCertVerificationError:
    refused = ssl.SSLCertVerificationError("not accepted")
    refused.verify_code, refused.verify_message = code, "not accepted"
    return refused


@pytest.mark.parametrize(
    ("stage", "cause"),
    [
        (Stage.OPENING, ConnectionRefusedError()),
        (Stage.OPENING, TimeoutError()),
        (Stage.VERSIONS, TimeoutError()),
        (Stage.VERSIONS, AnotherNode(Node("c", 101))),
        (Stage.TLS, _certificate(10)),
        (Stage.TLS, _certificate(62)),
        (Stage.TLS, _certificate(18)),
        (Stage.SASL, TimeoutError()),
        (Stage.SASL, EOFError()),
        (Stage.SASL, NotTheBroker("its signature is wrong")),
        (Stage.SASL, SaslRefused("no", int(ErrorCode.sasl_authentication_failed))),
    ],
    ids=lambda value: value.name if isinstance(value, Stage) else type(value).__name__,
)
@pytest.mark.parametrize("mechanism", ["PLAIN", "GSSAPI", "OAUTHBEARER"])
def test_a_controller_is_called_one(stage: Stage, cause: Exception, mechanism: str) -> None:
    failed = ConnectFailed(stage, 0.0)
    failed.__cause__ = cause
    settings = ConnectionSettings((("h", 1),), "SASL_SSL", SaslSettings(mechanism, "a", Secret("b")))
    of_brokers, of_controllers = (
        connect_error(failed, ("h", 1), each).failure for each in (settings, replace(settings, controllers=True))
    )
    assert "broker" not in str(of_controllers)
    assert str(of_controllers).replace("controller", "broker") == str(of_brokers)


def test_addresses() -> None:
    assert show_address(("a.example", 9092)) == "a.example:9092"
    assert show_address(("::1", 9092)) == "[::1]:9092"
