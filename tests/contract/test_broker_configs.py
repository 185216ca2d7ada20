"""IncrementalAlterConfigs of brokers, of the cluster's default and of loggers (PROTOCOL §2)."""

from __future__ import annotations

import pytest

from tests.contract.messages import told
from tests.contract.target import Target
from tests.contract.verbs import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    DELETE,
    FINE,
    SET,
    SUBTRACT,
    alter,
    alter_each,
    configured,
    entries,
    values,
)

APIS = "kafka.server.KafkaApis"
KEYSTORE_TYPE = "listener.name.plaintext.ssl.keystore.type"
both = pytest.mark.parametrize("name", ["1", ""], ids=["broker", "default"])


@both
def test_a_key_that_is_not_dynamic(target: Target, name: str) -> None:
    """§2: "Cannot update these configs dynamically: [x]" (4.3; `Set(x)` before)."""
    refused = alter(target, BROKER, name, ("log.dirs", SET, "x"))
    assert refused == told(target, "not dynamic", kind="BROKER", name=name, keys="log.dirs")
    refused = alter(target, BROKER, name, ("log.dirs", SET, "x"), ("broker.rack", SET, "x"))
    assert refused == told(target, "not dynamic", kind="BROKER", name=name, keys="broker.rack, log.dirs")


@both
def test_a_key_for_listeners_only(target: Target, name: str) -> None:
    """§2: "… only per-listener using the listener prefix: …"."""
    refused = alter(target, BROKER, name, ("ssl.keystore.password", SET, "x"))
    assert refused == told(target, "only per listener", kind="BROKER", name=name, keys="ssl.keystore.password")


def test_a_key_for_one_broker_only(target: Target) -> None:
    """§2: per broker; at the default level "… broker id must be specified: …"."""
    assert alter(target, BROKER, "1", (KEYSTORE_TYPE, SET, "PKCS12"), dry=True) == FINE
    for key in (KEYSTORE_TYPE, "listeners"):
        refused = alter(target, BROKER, "", (key, SET, "x"))
        assert refused == told(target, "only per broker", kind="BROKER", name="", keys=key)


@both
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("listener.name.plaintext.max.connections", "100"),
        ("num.network.threads", "4"),
        ("num.io.threads", "9"),
        ("log.cleaner.threads", "2"),
        ("max.connections", "1000"),
        ("background.threads", "12"),
        ("message.max.bytes", "2000000"),
        ("follower.replication.throttled.rate", "1000"),
    ],
)
def test_keys_for_all_brokers(target: Target, name: str, key: str, value: str) -> None:
    """§2: cluster-wide, and per broker too."""
    assert alter(target, BROKER, name, (key, SET, value), dry=True) == FINE
    assert key not in values(target, BROKER, name)


@both
def test_an_unknown_key_is_accepted(target: Target, name: str) -> None:
    """§2: an unknown broker key is accepted."""
    with configured(target, BROKER, name, {"no.such.key": "1"}):
        target.until(lambda: "no.such.key" in values(target, BROKER, name))


@both
def test_a_value_that_can_not_be(target: Target, name: str) -> None:
    """§2: Brokers: a failed validation is INVALID_REQUEST."""
    refused = alter(target, BROKER, name, ("num.io.threads", SET, "abc"))
    what = "Invalid value abc for configuration num.io.threads: Not a number of type INT"
    assert refused == told(target, "bad broker value", kind="BROKER", name=name, what=what)
    refused = alter(target, BROKER, name, ("num.io.threads", SET, "10000"))
    what = (
        "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed "
        "for num.io.threads=10000, value should not be greater than double the current value 8 "
        "for configuration Invalid dynamic configuration"
    )
    assert refused == told(target, "bad broker value", kind="BROKER", name=name, what=what)


@both
def test_a_key_that_is_no_list(target: Target, name: str) -> None:
    """§2: on the cluster default "Config value append is not allowed for config key: …"."""
    for op, spelt in ((APPEND, "append"), (SUBTRACT, "subtract")):
        refused = alter(target, BROKER, name, ("log.retention.ms", op, "1"))
        assert refused == told(target, "broker key is no list", key="log.retention.ms", op=spelt)
        refused = alter(target, BROKER, name, ("no.such.key", op, "1"))
        assert refused == told(target, "unknown broker key is no list", key="no.such.key")


@both
def test_lists(target: Target, name: str) -> None:
    """§2: APPEND and SUBTRACT start from the current value, else from the default."""
    key, before = "log.cleanup.policy", values(target, BROKER, name)
    for op, value in ((APPEND, "delete,compact"), (SUBTRACT, "delete")):
        assert alter(target, BROKER, name, (key, op, "compact")) == FINE
        target.until(lambda value=value: values(target, BROKER, name) == {**before, key: value})
    assert alter(target, BROKER, name, (key, DELETE, None)) == FINE
    target.until(lambda: values(target, BROKER, name) == before)


@both
def test_a_request_that_contradicts_itself(target: Target, name: str) -> None:
    twice = alter(target, BROKER, name, ("log.retention.ms", SET, "1"), ("log.retention.ms", SET, "1"))
    assert twice == told(target, "key twice", key="log.retention.ms")
    null = alter(target, BROKER, name, ("log.retention.ms", SET, None))
    assert null == told(target, "null values", keys="log.retention.ms")
    assert alter(target, BROKER, name, ("log.retention.ms", DELETE, None)) == FINE


@both
def test_all_or_nothing(target: Target, name: str) -> None:
    before = values(target, BROKER, name)
    refused = alter(target, BROKER, name, ("log.retention.ms", SET, "5000"), ("log.dirs", SET, "x"))
    assert refused == told(target, "not dynamic", kind="BROKER", name=name, keys="log.dirs")
    assert values(target, BROKER, name) == before


@pytest.mark.parametrize("kind", [BROKER, BROKER_LOGGER])
def test_a_broker_that_is_not_asked(target: Target, kind: int) -> None:
    """§2: another broker's id sent to this one; no number."""
    key, value = ("log.retention.ms", "5000") if kind == BROKER else (APIS, "INFO")
    for name in ("2", "77"):
        ((_, refused),) = alter_each(target, [((kind, name), [(key, SET, value)])], broker=1)
        situation = "altered on a wrong broker" if kind == BROKER else "altered logger of a wrong broker"
        assert refused == told(target, situation, name=name)
    ((_, refused),) = alter_each(target, [((kind, "x"), [(key, SET, value)])], broker=1)
    situation = "altered broker is no number"
    assert refused == told(target, situation, name="x")


def test_a_logger(target: Target) -> None:
    """§2: Loggers: applied on that broker at once; deleting puts what is above it back."""
    assert alter(target, BROKER_LOGGER, "1", (APIS, SET, "DEBUG")) == FINE
    assert entries(target, BROKER_LOGGER, "1", [APIS])[APIS]["value"] == "DEBUG"
    if len(target.brokers) > 1:
        assert entries(target, BROKER_LOGGER, "2", [APIS], broker=2)[APIS]["value"] == "INFO"
    assert alter(target, BROKER_LOGGER, "1", (APIS, DELETE, None)) == FINE
    assert entries(target, BROKER_LOGGER, "1", [APIS])[APIS]["value"] == "INFO"


def test_what_a_logger_refuses(target: Target) -> None:
    """§2: all or nothing, never stored. The root logger can't be deleted. No APPEND or SUBTRACT."""
    parts = {"kind": "BROKER_LOGGER", "name": "1", "key": APIS}
    for value in ("LOUD", "info"):
        refused = alter(target, BROKER_LOGGER, "1", (APIS, SET, value))
        assert refused == told(target, "log level", value=value, **parts)
    missing = told(target, "logger is missing", **(parts | {"key": "no.such.logger"}))
    assert alter(target, BROKER_LOGGER, "1", ("no.such.logger", SET, "INFO")) == missing
    assert alter(target, BROKER_LOGGER, "1", ("no.such.logger", DELETE, None)) == missing
    assert alter(target, BROKER_LOGGER, "1", ("root", DELETE, None)) == told(target, "root logger")
    assert alter(target, BROKER_LOGGER, "1", ("root", SET, "INFO")) == FINE
    for op, spelt in ((APPEND, "APPEND"), (SUBTRACT, "SUBTRACT")):
        assert alter(target, BROKER_LOGGER, "1", (APIS, op, "INFO")) == told(target, "logger lists", OP=spelt)
    null = alter(target, BROKER_LOGGER, "1", (APIS, SET, None))
    assert null == told(target, "null values", keys=APIS)
    assert alter(target, BROKER_LOGGER, "1", (APIS, SET, "TRACE"), ("no.such.logger", SET, "INFO")) == missing
    assert alter(target, BROKER_LOGGER, "1", (APIS, SET, "TRACE"), dry=True) == FINE
    assert entries(target, BROKER_LOGGER, "1", [APIS]).get(APIS, {"value": "INFO"})["value"] == "INFO"


@both
def test_a_record_is_written_again_unchanged(target: Target, name: str) -> None:
    """§2: Writing a broker's record again, unchanged, succeeds: that is how a keystore is reloaded."""
    with configured(target, BROKER, name, {"log.retention.ms": "5000"}):
        assert alter(target, BROKER, name, ("log.retention.ms", SET, "5000")) == FINE
