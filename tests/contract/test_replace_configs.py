"""Tests of AlterConfigs, which replaces all configs of a resource."""

import pytest

from tests.contract import verbs
from tests.contract.client import NoAnswer
from tests.contract.messages import told
from tests.contract.target import Target
from tests.support.kafka_messages import with_fields


def test_a_key_left_out_is_deleted(target: Target, topic: str) -> None:
    assert verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": "1000", "segment.ms": "2000"}) == verbs.FINE
    assert verbs.replace(target, [((verbs.TOPIC, topic), {"segment.bytes": "2000000"})]) == {
        (verbs.TOPIC, topic): verbs.FINE
    }
    assert verbs.values(target, verbs.TOPIC, topic) == {"segment.bytes": "2000000"}
    assert verbs.replace(target, [((verbs.TOPIC, topic), {})], dry=True) == {(verbs.TOPIC, topic): verbs.FINE}
    assert verbs.values(target, verbs.TOPIC, topic) == {"segment.bytes": "2000000"}
    assert verbs.replace(target, [((verbs.TOPIC, topic), {})]) == {(verbs.TOPIC, topic): verbs.FINE}
    assert verbs.values(target, verbs.TOPIC, topic) == {}


def test_what_it_refuses(target: Target, topic: str) -> None:
    def refused(kind: int, name: str, configs: dict[str, str | None]) -> tuple[str, str | None]:
        return verbs.replace(target, [((kind, name), configs)], broker=1)[kind, name]

    assert verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": "1000"}) == verbs.FINE
    assert refused(verbs.TOPIC, topic, {"no.such.key": "1"}) == told(target, "unknown topic config", key="no.such.key")
    bad = "Invalid value x for configuration retention.ms: Not a number of type LONG"
    parts = {"kind": "TOPIC", "name": topic, "what": bad}
    assert refused(verbs.TOPIC, topic, {"retention.ms": "x"}) == told(target, "bad topic value", **parts)
    assert refused(verbs.TOPIC, topic, {"retention.ms": None}) == told(target, "legacy null", keys="retention.ms")
    missing = f"{topic}-no"
    assert refused(verbs.TOPIC, missing, {"retention.ms": "1"}) == told(
        target, "altered topic is missing", name=missing
    )
    assert refused(verbs.BROKER_LOGGER, "1", {"root": "INFO"}) == told(target, "legacy logger")
    for name in ("1", ""):
        parts = {"kind": "BROKER", "name": name, "keys": "log.dirs"}
        assert refused(verbs.BROKER, name, {"log.dirs": "x"}) == told(target, "not dynamic", **parts)
        parts["what"] = "Invalid value x for configuration num.io.threads: Not a number of type INT"
        assert refused(verbs.BROKER, name, {"num.io.threads": "x"}) == told(target, "bad broker value", **parts)
    assert refused(99, "1", {"a": "b"}) == told(target, "altered type is unknown", kind=99)
    assert verbs.values(target, verbs.TOPIC, topic) == {"retention.ms": "1000"}


def test_a_key_twice(target: Target, topic: str) -> None:
    twice = [("retention.ms", "1000"), ("retention.ms", "2000")]
    asked = with_fields(resources=[(verbs.TOPIC, topic, twice)], validate_only=False)
    answer = target.ask("alter_configs", 2, asked)
    (result,) = answer["responses"]
    assert (result["error_code"], result["error_message"]) == told(target, "key twice", key="retention.ms")
    assert verbs.values(target, verbs.TOPIC, topic) == {}


def test_a_broker(target: Target) -> None:
    try:
        assert verbs.replace(target, [((verbs.BROKER, "1"), {"log.retention.ms": "4000"})], broker=1) == {
            (verbs.BROKER, "1"): verbs.FINE
        }
        target.until(lambda: verbs.values(target, verbs.BROKER, "1") == {"log.retention.ms": "4000"})
    finally:
        assert verbs.replace(target, [((verbs.BROKER, "1"), {})], broker=1) == {(verbs.BROKER, "1"): verbs.FINE}
        target.until(lambda: verbs.values(target, verbs.BROKER, "1") == {})


def test_a_resource_twice_is_never_answered(target: Target, topic: str) -> None:
    """Real brokers never answer an AlterConfigs request that has a resource twice; the embedded cluster does not
    either.
    """
    each = [(verbs.TOPIC, topic, [("retention.ms", value)]) for value in ("1000", "2000")]
    twice = with_fields(resources=each, validate_only=False)
    for server in target.servers:
        with pytest.raises(NoAnswer):
            server.ask_once("alter_configs", 2, twice, patience=0.5)
    assert verbs.values(target, verbs.TOPIC, topic) == {}
