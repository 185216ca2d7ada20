"""What counts as a secret, and that nothing of one shows in what stands for it."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.redact import MASKED_CHARS, hmac_hex, is_secret, mask
from tests.support.record_harmless_configs import SECTIONS, WRITTEN, as_text, definitions, harmless


def test_the_harmless_names_are_what_the_releases_define_now() -> None:
    assert WRITTEN.read_text() == as_text(harmless())


def test_every_password_of_every_release_is_secret_behind_any_listener_too() -> None:
    passwords = set()
    for section, names in definitions().items():
        passwords |= {(SECTIONS[section], name) for name, types in names.items() if "PASSWORD" in types}
    assert len(passwords) > 10
    for entity_type, name in passwords:
        assert is_secret(entity_type, name)
        assert is_secret("broker", f"listener.name.external.{name}")
        assert is_secret("broker", f"listener.name.external.scram-sha-256.{name}")


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("topic", "retention.ms"),
        ("topic", "leader.replication.throttled.replicas"),
        ("broker", "log.retention.ms"),
        ("broker", "follower.replication.throttled.rate"),
        ("broker", "listener.name.external.ssl.keystore.location"),
        ("broker", "listener.name.external.plain.sasl.login.class"),
        ("group", "consumer.session.timeout.ms"),
        ("client-metrics", "interval.ms"),
        ("quota", "producer_byte_rate"),
        ("acl", "ALLOW READ User:a from *"),
        ("topic", ":partitions"),
        ("broker-logger", "kafka.server"),
    ],
)
def test_what_everybody_may_see(entity_type: str, name: str) -> None:
    assert not is_secret(entity_type, name)


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("topic", "ssl.keystore.password"),
        ("topic", "log.retention.ms"),
        ("broker", "my.plugin.token"),
        ("broker", "listener.name.external.my.plugin.token"),
        ("topic", "listener.name.external.ssl.keystore.location"),
        ("broker", "password.encoder.secret"),
        ("broker", "zookeeper.ssl.keystore.password"),
        ("satellite", "retention.ms"),
    ],
)
def test_what_kafka_hides_or_does_not_know(entity_type: str, name: str) -> None:
    assert is_secret(entity_type, name)


@given(st.binary(min_size=1), st.text(st.characters(exclude_categories=["Cs"])))
def test_the_hmac_is_the_standards(key: bytes, value: str) -> None:
    assert hmac_hex(key, value) == hmac.new(key, value.encode(), hashlib.sha256).hexdigest()


def test_a_value_that_is_no_unicode_has_an_hmac_too() -> None:
    assert len(hmac_hex(b"k", "\ud800")) == 64


@given(st.text())
def test_a_blot_has_the_lines_length_and_none_of_its_letters(text: str) -> None:
    shape = mask(text)
    assert len(shape) == min(len(text), MASKED_CHARS)
    assert set(shape) <= set("x9? []{}():,.\"'=-_/\\")


def test_of_a_request_line_the_frame_stays() -> None:
    line = (
        '[2026-11-21 10:00:00,123] DEBUG Completed request:{"isForwarded":true,"principal":"User:ali\x1bce","salt":"c2'
    )
    assert mask(line) == (
        '[9999-99-99 99:99:99,999] DEBUG Completed request:{"isForwarded":xxxx,"principal":"xxxx:xxx?xx","xxxx":"x9'
    )


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8), st.integers(0, 40))
def test_a_secret_never_shows_wherever_the_line_is_cut(secret: str, cut: int) -> None:
    frame = '{"request":{"users":[{"saltedPassword":"', '","principal":'
    line = f"{frame[0]}{secret}{frame[1]}{secret}"[cut:]
    assert secret not in mask(line) or set(secret) <= {"x", "9"} or secret in "".join(frame)
