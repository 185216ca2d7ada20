"""Tests of IncrementalAlterConfigs for brokers, the cluster's defaults and loggers."""

import pytest

from tests.contract import verbs
from tests.contract.messages import told
from tests.contract.target import Target

APIS = "kafka.server.KafkaApis"
KEYSTORE_TYPE = "listener.name.plaintext.ssl.keystore.type"
both = pytest.mark.parametrize("name", ["1", ""], ids=["broker", "default"])


@both
def test_a_key_that_is_not_dynamic(target: Target, name: str) -> None:
    """Brokers refuse a key that is not dynamic. The message lists the keys: "Cannot update these configs dynamically:
    [x]" in 4.3, `Set(x)` before.
    """
    refused = verbs.alter(target, verbs.BROKER, name, {"log.dirs": "x"})
    assert refused == told(target, "not dynamic", kind="BROKER", name=name, keys="log.dirs")
    refused = verbs.alter(target, verbs.BROKER, name, {"log.dirs": "x", "broker.rack": "x"})
    assert refused == told(target, "not dynamic", kind="BROKER", name=name, keys="broker.rack, log.dirs")


@both
def test_a_key_for_listeners_only(target: Target, name: str) -> None:
    """A key that exists only per listener is refused without a listener's prefix."""
    refused = verbs.alter(target, verbs.BROKER, name, {"ssl.keystore.password": "x"})
    assert refused == told(target, "only per listener", kind="BROKER", name=name, keys="ssl.keystore.password")


def test_a_key_for_one_broker_only(target: Target) -> None:
    """A key that can be set only on a single broker is refused in the cluster's defaults."""
    assert verbs.alter(target, verbs.BROKER, "1", {KEYSTORE_TYPE: "PKCS12"}, dry=True) == verbs.FINE
    for key in (KEYSTORE_TYPE, "listeners"):
        refused = verbs.alter(target, verbs.BROKER, "", {key: "x"})
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
    """Brokers accept a key that applies to all brokers both in the cluster's defaults and on a single broker; a
    validate-only request does not set it.
    """
    assert verbs.alter(target, verbs.BROKER, name, (key, verbs.SET, value), dry=True) == verbs.FINE
    assert key not in verbs.values(target, verbs.BROKER, name)


@both
def test_an_unknown_key_is_accepted(target: Target, name: str) -> None:
    with verbs.configured(target, verbs.BROKER, name, {"no.such.key": "1"}):
        target.until(lambda: "no.such.key" in verbs.values(target, verbs.BROKER, name))


@both
def test_a_value_that_can_not_be(target: Target, name: str) -> None:
    """A SET to an invalid value is refused with INVALID_REQUEST."""
    refused = verbs.alter(target, verbs.BROKER, name, {"num.io.threads": "abc"})
    what = "Invalid value abc for configuration num.io.threads: Not a number of type INT"
    assert refused == told(target, "bad broker value", kind="BROKER", name=name, what=what)
    refused = verbs.alter(target, verbs.BROKER, name, {"num.io.threads": "10000"})
    what = (
        "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed "
        "for num.io.threads=10000, value should not be greater than double the current value 8 "
        "for configuration Invalid dynamic configuration"
    )
    assert refused == told(target, "bad broker value", kind="BROKER", name=name, what=what)


@both
def test_a_key_that_is_no_list(target: Target, name: str) -> None:
    """APPEND and SUBTRACT are refused for a key that is not a list, and for an unknown key."""
    for op, spelt in ((verbs.APPEND, "append"), (verbs.SUBTRACT, "subtract")):
        refused = verbs.alter(target, verbs.BROKER, name, ("log.retention.ms", op, "1"))
        assert refused == told(target, "broker key is no list", key="log.retention.ms", op=spelt)
        refused = verbs.alter(target, verbs.BROKER, name, ("no.such.key", op, "1"))
        assert refused == told(target, "unknown broker key is no list", key="no.such.key")


@both
def test_lists(target: Target, name: str) -> None:
    """APPEND and SUBTRACT change the broker's current value, or the default if it has none."""
    key, before = "log.cleanup.policy", verbs.values(target, verbs.BROKER, name)
    for op, value in ((verbs.APPEND, "delete,compact"), (verbs.SUBTRACT, "delete")):
        assert verbs.alter(target, verbs.BROKER, name, (key, op, "compact")) == verbs.FINE
        target.until(lambda value=value: verbs.values(target, verbs.BROKER, name) == {**before, key: value})
    assert verbs.alter(target, verbs.BROKER, name, {key: None}) == verbs.FINE
    target.until(lambda: verbs.values(target, verbs.BROKER, name) == before)


@both
def test_a_request_that_contradicts_itself(target: Target, name: str) -> None:
    twice = verbs.alter(
        target, verbs.BROKER, name, ("log.retention.ms", verbs.SET, "1"), ("log.retention.ms", verbs.SET, "1")
    )
    assert twice == told(target, "key twice", key="log.retention.ms")
    null = verbs.alter(target, verbs.BROKER, name, ("log.retention.ms", verbs.SET, None))
    assert null == told(target, "null values", keys="log.retention.ms")
    assert verbs.alter(target, verbs.BROKER, name, {"log.retention.ms": None}) == verbs.FINE


@both
def test_all_or_nothing(target: Target, name: str) -> None:
    before = verbs.values(target, verbs.BROKER, name)
    refused = verbs.alter(target, verbs.BROKER, name, {"log.retention.ms": "5000", "log.dirs": "x"})
    assert refused == told(target, "not dynamic", kind="BROKER", name=name, keys="log.dirs")
    assert verbs.values(target, verbs.BROKER, name) == before


@pytest.mark.parametrize("kind", [verbs.BROKER, verbs.BROKER_LOGGER])
def test_a_broker_that_is_not_asked(target: Target, kind: int) -> None:
    """A broker refuses a change of a resource whose name is another broker's id or is not a number."""
    key, value = ("log.retention.ms", "5000") if kind == verbs.BROKER else (APIS, "INFO")
    for name in ("2", "77"):
        ((_, refused),) = verbs.alter_each(target, [((kind, name), [(key, verbs.SET, value)])], broker=1)
        situation = "altered on a wrong broker" if kind == verbs.BROKER else "altered logger of a wrong broker"
        assert refused == told(target, situation, name=name)
    ((_, refused),) = verbs.alter_each(target, [((kind, "x"), [(key, verbs.SET, value)])], broker=1)
    situation = "altered broker is no number"
    assert refused == told(target, situation, name="x")


def test_a_logger(target: Target) -> None:
    """A change of a logger's level affects only the broker that gets the request, at once. After a deletion the logger
    has the level of its parent logger.
    """
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {APIS: "DEBUG"}) == verbs.FINE
    assert verbs.entries(target, verbs.BROKER_LOGGER, "1", [APIS])[APIS]["value"] == "DEBUG"
    if len(target.brokers) > 1:
        assert verbs.entries(target, verbs.BROKER_LOGGER, "2", [APIS], broker=2)[APIS]["value"] == "INFO"
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {APIS: None}) == verbs.FINE
    assert verbs.entries(target, verbs.BROKER_LOGGER, "1", [APIS])[APIS]["value"] == "INFO"


def test_what_a_logger_refuses(target: Target) -> None:
    """The root logger can't be deleted, and loggers accept neither APPEND nor SUBTRACT. If one change of a broker's
    loggers is refused, none of the others is made.
    """
    parts = {"kind": "BROKER_LOGGER", "name": "1", "key": APIS}
    for value in ("LOUD", "info"):
        refused = verbs.alter(target, verbs.BROKER_LOGGER, "1", (APIS, verbs.SET, value))
        assert refused == told(target, "log level", value=value, **parts)
    missing = told(target, "logger is missing", **(parts | {"key": "no.such.logger"}))
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {"no.such.logger": "INFO"}) == missing
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {"no.such.logger": None}) == missing
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {"root": None}) == told(target, "root logger")
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {"root": "INFO"}) == verbs.FINE
    for op, spelt in ((verbs.APPEND, "APPEND"), (verbs.SUBTRACT, "SUBTRACT")):
        assert verbs.alter(target, verbs.BROKER_LOGGER, "1", (APIS, op, "INFO")) == told(
            target, "logger lists", OP=spelt
        )
    null = verbs.alter(target, verbs.BROKER_LOGGER, "1", (APIS, verbs.SET, None))
    assert null == told(target, "null values", keys=APIS)
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {APIS: "TRACE", "no.such.logger": "INFO"}) == missing
    assert verbs.alter(target, verbs.BROKER_LOGGER, "1", {APIS: "TRACE"}, dry=True) == verbs.FINE
    assert verbs.entries(target, verbs.BROKER_LOGGER, "1", [APIS]).get(APIS, {"value": "INFO"})["value"] == "INFO"


@both
def test_a_record_is_written_again_unchanged(target: Target, name: str) -> None:
    """Setting a broker's config to its present value succeeds; keystores are reloaded in this way."""
    with verbs.configured(target, verbs.BROKER, name, {"log.retention.ms": "5000"}):
        assert verbs.alter(target, verbs.BROKER, name, {"log.retention.ms": "5000"}) == verbs.FINE
