"""Update modes of keys, by name; the names themselves are tried on a real broker."""

from __future__ import annotations

import pytest

from console.model.broker_keys import CLUSTER_WIDE_KEYS, PER_BROKER_KEYS, PER_LISTENER_KEYS, UpdateMode, update_mode
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, ResourceType

MODES = [
    ("log.cleaner.threads", UpdateMode.CLUSTER_WIDE),
    ("leader.replication.throttled.rate", UpdateMode.CLUSTER_WIDE),
    ("listener.name.internal.max.connections", UpdateMode.CLUSTER_WIDE),
    ("listener.name.internal.num.network.threads", UpdateMode.CLUSTER_WIDE),
    ("listeners", UpdateMode.PER_BROKER),
    ("sasl.jaas.config", UpdateMode.PER_BROKER),
    ("listener.name.internal.ssl.keystore.password", UpdateMode.PER_BROKER),
    ("listener.name.internal.scram-sha-256.sasl.jaas.config", UpdateMode.PER_BROKER),
    ("ssl.keystore.password", UpdateMode.PER_LISTENER),
    ("log.dirs", UpdateMode.RESTART),
    ("log.retention.hours", UpdateMode.RESTART),
    ("num.partitions", UpdateMode.RESTART),
]


@pytest.mark.parametrize(("key", "mode"), MODES)
def test_brokers_keys(key: str, mode: UpdateMode) -> None:
    assert update_mode(BROKER, key) is mode


def test_a_key_that_the_broker_does_not_know_is_a_plugins() -> None:
    assert update_mode(BROKER, "my.reporter.url", known=False) is UpdateMode.CUSTOM
    assert update_mode(BROKER, "log.cleaner.threads", known=False) is UpdateMode.CLUSTER_WIDE


@pytest.mark.parametrize("resource_type", [TOPIC, GROUP, CLIENT_METRICS, BROKER_LOGGER])
def test_other_resources_take_effect_at_once(resource_type: ResourceType) -> None:
    assert update_mode(resource_type, "retention.ms") is UpdateMode.AT_ONCE


def test_no_key_has_two_modes() -> None:
    assert not CLUSTER_WIDE_KEYS & PER_BROKER_KEYS
    assert not (CLUSTER_WIDE_KEYS | PER_BROKER_KEYS) & PER_LISTENER_KEYS
