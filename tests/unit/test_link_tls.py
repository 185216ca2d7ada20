"""Tests of TLS with servers that have wrong certificates, and of the messages for every failure of a handshake."""

import ssl
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.admin.connect_errors import connect_error
from console.admin.errors import TlsFailed
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, Store, TlsSettings
from console.wire.connection import ConnectFailed, Stage
from tests.support.certificates import Authority
from tests.wire.fake_broker import FakeBroker, answering, metadata_body

GOOD = answering(metadata_body({1: ("a.example", 9092)}, 1))


def server_context(authority: Authority, *hosts: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(authority.issue("broker", *hosts).pem))
    return context


def trusting(authority: Authority, address: tuple[str, int]) -> ConnectionSettings:
    tls = TlsSettings(trust=Store("PEM", path=authority.pem))
    return ConnectionSettings(bootstrap=(address,), security_protocol="SSL", tls=tls, connect_timeout=10)


async def read(settings: ConnectionSettings) -> int:
    link = Link(settings)
    try:
        return len((await link.nodes()).brokers)
    finally:
        await link.close()


async def test_a_certificate_for_this_host_by_an_authority_that_is_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with FakeBroker(GOOD, tls=server_context(authority, "127.0.0.1")) as broker:
        assert await read(trusting(authority, broker.address)) == 1


async def test_a_certificate_for_another_host(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with FakeBroker(GOOD, tls=server_context(authority, "other.example")) as broker:
        settings = trusting(authority, broker.address)
        with pytest.raises(TlsFailed, match=r"certificate is not accepted: .*127\.0\.0\.1") as failed:
            await read(settings)
        assert "Connect by a name that the certificate has" in failed.value.failure.remedy
        assert settings.tls is not None
        assert await read(replace(settings, tls=replace(settings.tls, verify_host=False))) == 1


async def test_a_certificate_by_another_authority(tmp_path: Path) -> None:
    theirs, ours = Authority(tmp_path / "theirs"), Authority(tmp_path / "ours")
    async with FakeBroker(GOOD, tls=server_context(theirs, "127.0.0.1")) as broker:
        with pytest.raises(TlsFailed, match="certificate is not accepted") as failed:
            await read(trusting(ours, broker.address))
        assert "ssl.truststore.location" in failed.value.failure.remedy


SETTINGS = ConnectionSettings(bootstrap=(("h", 1),), security_protocol="SSL", tls=TlsSettings())
WITH_KEY = replace(SETTINGS, tls=TlsSettings(key_store=Store("PEM", path=Path("key.pem"))))


def told(cause: Exception, settings: ConnectionSettings = SETTINGS, stage: Stage = Stage.OPENING) -> str:
    failed = ConnectFailed(stage, 0.0)
    failed.__cause__ = cause
    error = connect_error(failed, ("h", 1), settings)
    assert isinstance(error, TlsFailed)
    return f"{error.failure.message} | {error.failure.remedy}"


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1006)")
    error.reason = reason
    return error


def test_what_is_told_of_a_certificate_an_alert_and_anything_else() -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = 10, "certificate has expired"
    assert "certificate has expired | Have the broker's certificate renewed" in told(error)
    words = told(tls_error("TLSV1_ALERT_UNKNOWN_CA"), WITH_KEY)
    assert "refused this client's certificate or TLS version (alert: unknown ca)" in words
    assert "trust store" in words
    assert "TLS failed: unsupported protocol" in told(tls_error("UNSUPPORTED_PROTOCOL"))


@pytest.mark.parametrize("reason", ["TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE"])
def test_an_alert_without_a_certificate_of_our_own(reason: str) -> None:
    """If a broker requires a client certificate and kac has none, the error says so at every stage of the connection:
    in TLS 1.3 the alert arrives after the handshake, during the request for the API versions.
    """
    for stage in Stage:
        assert "seems to want a client certificate | Set ssl.keystore.location" in told(tls_error(reason), stage=stage)


@pytest.mark.parametrize("reason", ["WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING"])
def test_a_peer_without_tls(reason: str) -> None:
    assert "does not speak TLS" in told(tls_error(reason))
    assert "does not speak TLS" in told(ConnectionResetError())


# An attacker between kac and the broker can cause any of these failures, and hopes that the operator gives up TLS.
@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
@pytest.mark.parametrize("stage", list(Stage))
def test_a_failed_handshake_never_advises_to_go_without(protocol: str, stage: Stage) -> None:
    expired = ssl.SSLCertVerificationError(1, "certificate verify failed")
    expired.verify_code, expired.verify_message = 10, "certificate has expired"
    mismatch = ssl.SSLCertVerificationError(1, "certificate verify failed")
    mismatch.verify_code, mismatch.verify_message = 62, "Hostname mismatch"
    reasons = ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_UNKNOWN_CA")
    errors = [*map(tls_error, reasons), expired, mismatch, ConnectionResetError(), EOFError(), TimeoutError()]
    settings = replace(SETTINGS, security_protocol=protocol)
    for error in errors:
        failed = ConnectFailed(stage, 0.0)
        failed.__cause__ = error
        found = connect_error(failed, ("h", 1), settings).failure
        words = f"{found.message} {found.remedy}".casefold()
        assert "plaintext" not in words
        assert "identification" not in words
