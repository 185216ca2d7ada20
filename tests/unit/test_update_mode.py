"""Tests of the update mode that kac derives from a config key's name; a test on a real broker checks the names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import codes
from console.model.broker_keys import UpdateMode, as_altered, broker_key_of, update_mode
from console.model.cluster import Broker, ClusterInfo
from console.model.config import ConfigEntry, ConfigSet, broker_resource
from console.model.dynamic_keys import CLUSTER_WIDE_KEYS, DYNAMIC_ONLY_KEYS, PER_BROKER_KEYS, PER_LISTENER_KEYS
from console.model.feature_levels import feature_levels, level_name
from console.model.snapshot import Snapshot
from console.plan.diff import diff
from console.plan.edits import SetConfig
from console.plan.plan import EMPTY, stage
from console.present.plan_rows import plan_groups

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
    assert update_mode(codes.BROKER, key) is mode


def test_what_a_key_needs_if_the_table_or_the_broker_does_not_know_it() -> None:
    assert update_mode(codes.BROKER, "my.reporter.url", entry("my.reporter.url", type=0)) is UpdateMode.CUSTOM
    assert (
        update_mode(codes.BROKER, "log.cleaner.threads", entry("log.cleaner.threads", type=0))
        is UpdateMode.CLUSTER_WIDE
    )
    # A key that a newer release made dynamic.
    key = "a.key.of.the.next.release"
    assert update_mode(codes.BROKER, key, entry(key, read_only=False)) is UpdateMode.CLUSTER_WIDE
    assert update_mode(codes.BROKER, key, entry(key)) is UpdateMode.RESTART


def entry(key: str, *, read_only: bool = True, type: int = 2) -> ConfigEntry:
    return ConfigEntry(key, None, codes.ConfigSource(5), read_only, type=codes.ConfigType(type))


@given(st.sampled_from(sorted(DYNAMIC_ONLY_KEYS)) | st.from_regex(r"listener\.name\.[a-z]+\.[a-z.]+", fullmatch=True))
def test_what_is_altered_at_once_is_not_read_only(key: str) -> None:
    (told,) = as_altered(ConfigSet((entry(key),)))
    assert not told.read_only


@given(st.sampled_from(sorted((CLUSTER_WIDE_KEYS | PER_BROKER_KEYS) - DYNAMIC_ONLY_KEYS)))
def test_what_the_broker_calls_read_only_needs_a_restart_whatever_the_table_has(key: str) -> None:
    """A key that a broker describes as read-only needs a restart, whatever kac's table says. An example is
    advertised.listeners: brokers of 3.9 alter it while they run, and those of 4.3 do not.
    """
    assert update_mode(codes.BROKER, key, entry(key)) is UpdateMode.RESTART
    known = ConfigSet((entry(key),))
    assert as_altered(known) is known


@given(
    st.sampled_from(["log.dirs", "num.partitions", "node.id", "ssl.keystore.password", "a.plugin.key"]), st.booleans()
)
def test_of_all_others_the_broker_has_the_word(key: str, read_only: bool) -> None:
    known = ConfigSet((entry(key, read_only=read_only),))
    assert as_altered(known) is known


def test_modes_and_levels_of_new_releases() -> None:
    assert update_mode(codes.BROKER, "max.decompressed.message.bytes") is UpdateMode.CLUSTER_WIDE
    assert broker_key_of(codes.TOPIC, "remote.copy.lag.ms") == "log.remote.copy.lag.ms"
    assert not CLUSTER_WIDE_KEYS & PER_BROKER_KEYS
    assert not (CLUSTER_WIDE_KEYS | PER_BROKER_KEYS) & PER_LISTENER_KEYS
    assert level_name("metadata.version", 33) == "4.4-IV2"
    assert 2 in feature_levels()["share.version"]


@pytest.mark.parametrize("resource_type", [codes.TOPIC, codes.GROUP, codes.CLIENT_METRICS, codes.BROKER_LOGGER])
def test_other_resources_take_effect_at_once(resource_type: codes.ResourceType) -> None:
    assert update_mode(resource_type, "retention.ms") is UpdateMode.AT_ONCE


def test_a_plan_says_of_a_key_what_its_broker_says() -> None:
    """A plan says that a key needs a restart if its broker describes it as read-only, although kac's table lists it as
    dynamic: brokers of the newest releases refuse to alter it.
    """
    key, target = "advertised.listeners", broker_resource(1)
    notes = []
    for read_only in (True, False):
        configs = {
            target: ConfigSet(
                (ConfigEntry(key, "A://a:1", codes.ConfigSource(4), read_only, type=codes.ConfigType(7)),)
            )
        }
        known = Snapshot(cluster=ClusterInfo("c", 1, (Broker(1, "h", 1),)), configs=configs)
        plan = stage(EMPTY, [SetConfig(target, key, "A://b:1")], known).plan
        notes += [row.note for group in plan_groups(diff(plan, known), plan, known) for row in group.rows]
    assert notes == ["needs a restart", ""]
