"""AlterConfigs, which replaces everything (PROTOCOL §2, "Legacy AlterConfigs")."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.contract.client import NoAnswer
from tests.contract.messages import told
from tests.contract.target import Target
from tests.contract.verbs import BROKER, BROKER_LOGGER, FINE, SET, TOPIC, alter, replace, values


def test_a_key_left_out_is_deleted(target: Target, topic: str) -> None:
    """§2."""
    assert alter(target, TOPIC, topic, ("retention.ms", SET, "1000"), ("segment.ms", SET, "2000")) == FINE
    assert replace(target, [((TOPIC, topic), {"segment.bytes": "2000000"})]) == {(TOPIC, topic): FINE}
    assert values(target, TOPIC, topic) == {"segment.bytes": "2000000"}
    assert replace(target, [((TOPIC, topic), {})], dry=True) == {(TOPIC, topic): FINE}
    assert values(target, TOPIC, topic) == {"segment.bytes": "2000000"}
    assert replace(target, [((TOPIC, topic), {})]) == {(TOPIC, topic): FINE}
    assert values(target, TOPIC, topic) == {}


def test_what_it_refuses(target: Target, topic: str) -> None:
    def refused(kind: int, name: str, configs: dict[str, str | None]) -> tuple[str, str | None]:
        return replace(target, [((kind, name), configs)], broker=1)[kind, name]

    assert alter(target, TOPIC, topic, ("retention.ms", SET, "1000")) == FINE
    assert refused(TOPIC, topic, {"no.such.key": "1"}) == told(target, "unknown topic config", key="no.such.key")
    bad = "Invalid value x for configuration retention.ms: Not a number of type LONG"
    parts = {"kind": "TOPIC", "name": topic, "what": bad}
    assert refused(TOPIC, topic, {"retention.ms": "x"}) == told(target, "bad topic value", **parts)
    assert refused(TOPIC, topic, {"retention.ms": None}) == told(target, "legacy null", keys="retention.ms")
    missing = f"{topic}-no"
    assert refused(TOPIC, missing, {"retention.ms": "1"}) == told(target, "altered topic is missing", name=missing)
    assert refused(BROKER_LOGGER, "1", {"root": "INFO"}) == told(target, "legacy logger")
    for name in ("1", ""):
        parts = {"kind": "BROKER", "name": name, "keys": "log.dirs"}
        assert refused(BROKER, name, {"log.dirs": "x"}) == told(target, "not dynamic", **parts)
        parts["what"] = "Invalid value x for configuration num.io.threads: Not a number of type INT"
        assert refused(BROKER, name, {"num.io.threads": "x"}) == told(target, "bad broker value", **parts)
    assert refused(99, "1", {"a": "b"}) == told(target, "altered type is unknown", kind=99)
    assert values(target, TOPIC, topic) == {"retention.ms": "1000"}


def test_a_key_twice(target: Target, topic: str) -> None:
    answer = target.ask(
        "alter_configs",
        2,
        lambda m: m.AlterConfigsRequest(
            resources=(
                m.AlterConfigsResource(
                    resource_type=TOPIC,
                    resource_name=topic,
                    configs=tuple(m.AlterableConfig(name="retention.ms", value=value) for value in ("1000", "2000")),
                ),
            ),
            validate_only=False,
        ),
    )
    (result,) = answer["responses"]
    assert (result["error_code"], result["error_message"]) == told(target, "key twice", key="retention.ms")
    assert values(target, TOPIC, topic) == {}


def test_a_broker(target: Target) -> None:
    try:
        assert replace(target, [((BROKER, "1"), {"log.retention.ms": "4000"})], broker=1) == {(BROKER, "1"): FINE}
        target.until(lambda: values(target, BROKER, "1") == {"log.retention.ms": "4000"})
    finally:
        assert replace(target, [((BROKER, "1"), {})], broker=1) == {(BROKER, "1"): FINE}
        target.until(lambda: values(target, BROKER, "1") == {})


def test_a_resource_twice_is_never_answered(target: Target, topic: str) -> None:
    """§2: so the console refuses it before sending."""

    def twice(m: ModuleType) -> Any:
        each = (
            m.AlterConfigsResource(
                resource_type=TOPIC,
                resource_name=topic,
                configs=(m.AlterableConfig(name="retention.ms", value=value),),
            )
            for value in ("1000", "2000")
        )
        return m.AlterConfigsRequest(resources=tuple(each), validate_only=False)

    for server in target.servers:
        with pytest.raises(NoAnswer):
            server.ask_once("alter_configs", 2, twice, patience=0.5)
    assert values(target, TOPIC, topic) == {}
