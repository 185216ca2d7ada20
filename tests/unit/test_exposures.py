"""Tests that kac warns about each setting that exposes credentials, in every form of configuration, and only once."""

import argparse
from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings, SaslSettings, TlsSettings
from console.cli.opening import context_of
from console.model.secret import Secret

ADDRESS = (("broker", 9092),)
UNCHECKED = TlsSettings(verify_host=False)


def sasl(mechanism: str, **more: object) -> SaslSettings:
    return SaslSettings(mechanism, "alice", Secret("hunter2"), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_a_credential_that_is_not_encrypted_is_an_exposure(mechanism: str) -> None:
    (line,) = ConnectionSettings(ADDRESS, "SASL_PLAINTEXT", sasl(mechanism)).exposures
    assert line.startswith(f"{mechanism} over SASL_PLAINTEXT")
    assert line.endswith("use SASL_SSL")
    assert "hunter2" not in line
    assert ConnectionSettings(ADDRESS, "SASL_SSL", sasl(mechanism), TlsSettings()).exposures == ()


def test_what_is_an_exposure() -> None:
    assert ConnectionSettings(ADDRESS).exposures == ()
    assert ConnectionSettings(ADDRESS, "SASL_PLAINTEXT", SaslSettings("GSSAPI")).exposures == ()
    assert ConnectionSettings(ADDRESS, "SASL_PLAINTEXT", SaslSettings("OAUTHBEARER", "unsecured")).exposures == ()
    for mechanism in ("AWS_MSK_IAM", "OAUTHBEARER"):
        login = SaslSettings(mechanism, options={"aws": "iam"})
        (line,) = ConnectionSettings(ADDRESS, "SASL_PLAINTEXT", login).exposures
        assert "anyone who reads it can use for 15 minutes; use SASL_SSL" in line
        assert ConnectionSettings(ADDRESS, "SASL_SSL", login).exposures == ()
    for protocol, login in (("SSL", None), ("SASL_SSL", sasl("PLAIN"))):
        (line,) = ConnectionSettings(ADDRESS, protocol, login, UNCHECKED).exposures
        assert line.startswith("the brokers' host name is not checked")
    options = {"token.endpoint.url": "https://issuer/token"}
    login = sasl("OAUTHBEARER", options=options, endpoint_tls=UNCHECKED)
    (line,) = ConnectionSettings(ADDRESS, "SASL_SSL", login, TlsSettings()).exposures
    assert line.startswith("the token endpoint's host name is not checked")


FILES = {
    "properties": """bootstrap.servers=b:1
security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="hunter2";
""",
    "librdkafka": """bootstrap.servers=b:1
security.protocol=sasl_plaintext
sasl.mechanisms=SCRAM-SHA-512
sasl.username=a
sasl.password=hunter2
""",
}


@pytest.mark.parametrize("form", FILES)
def test_a_command_says_it_once_on_standard_error(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "client.properties"
    file.write_text(FILES[form], encoding="utf-8")
    file.chmod(0o600)
    assert context_of(argparse.Namespace(command_config=file)) is not None
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("over SASL_PLAINTEXT") == 1
    assert "hunter2" not in err


def test_an_empty_algorithm_is_said_for_every_form_of_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "client.properties"
    for text in (
        "security.protocol=SSL\nssl.endpoint.identification.algorithm=\n",
        "metadata.broker.list=b:1\nsecurity.protocol=ssl\nssl.endpoint.identification.algorithm=none\n",
    ):
        file.write_text(f"bootstrap.servers=b:1\n{text}", encoding="utf-8")
        assert context_of(argparse.Namespace(command_config=file)) is not None
        assert capsys.readouterr().err.count("host name is not checked") == 1
