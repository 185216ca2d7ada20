"""Tests of helpers for the lake's answers, without a lake: changes as edits, words of a filter, and bars."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.lake_tables import LakeFilter, lake_filter
from console.lake import entities
from console.lake.reader import Change, Drifted, Minute, Pair, Usage
from console.lake.redact import HIDDEN
from console.model import codes
from console.model.changes import ScramUser
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.amounts import moment
from console.present.lake import BARS, REDACTED, entity_text, sides, spark
from console.present.lake_rows import plot
from console.present.text import plain
from console.session import lake_staging
from tests.support import samples
from widgets.cells import cell_width

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
READ = samples.acl("User:a from b", "or,d:ers", pattern="PREFIXED", host="10.0.0.1")
ACL_KEY = entities.acl_key("TOPIC", "PREFIXED", "or,d:ers")
ACL_ATTR = entities.acl_attr("ALLOW", "READ", "User:a from b", "10.0.0.1")


def change(
    type_: str, key: str, attr: str, old: str | None, new: str | None, *, deleted: bool = False, current: bool = True
) -> Change:
    return Change("c", type_, key, attr, old, new, NOW, None, current, deleted, None, "none", "snapshot")


@pytest.mark.parametrize(
    ("was", "edit"),
    [
        (change("topic", "t", "retention.ms", "1", "2"), edits.SetConfig(topic_resource("t"), "retention.ms", "1")),
        (change("topic", "t", "retention.ms", None, "2"), edits.UnsetConfig(topic_resource("t"), "retention.ms")),
        (
            change("topic", "t", "retention.ms", "1", None, deleted=True),
            edits.SetConfig(topic_resource("t"), "retention.ms", "1"),
        ),
        (change("topic", "t", "k", "", "2"), edits.SetConfig(topic_resource("t"), "k", "")),
        (
            change("broker", "<default>", "log.retention.ms", None, "2"),
            edits.UnsetConfig(CLUSTER_DEFAULT, "log.retention.ms"),
        ),
        (
            change("quota", "user=%3Cdefault%3E,client-id=<default>", "producer_byte_rate", "1024", "9"),
            edits.SetQuota(QuotaEntity.of({"user": "<default>", "client-id": None}), "producer_byte_rate", 1024.0),
        ),
        (
            change("quota", "ip=10.0.0.1", "connection_creation_rate", None, "9"),
            edits.UnsetQuota(QuotaEntity.of({"ip": "10.0.0.1"}), "connection_creation_rate"),
        ),
        (change("acl", ACL_KEY, ACL_ATTR, None, "set"), edits.RemoveAcl(READ)),
        (change("acl", ACL_KEY, ACL_ATTR, "set", None, deleted=True), edits.AddAcl(READ)),
        (
            change("scram", "alice", "SCRAM-SHA-512", None, "iterations=8192"),
            edits.DeleteScram(ScramUser("alice", codes.ScramMechanism.parse("SCRAM-SHA-512"))),
        ),
    ],
)
def test_the_undo_sets_back_or_takes_away(was: Change, edit: object) -> None:
    assert lake_staging.undo(was, Snapshot()) == edit


def described(**keys: bool) -> ConfigSet:
    """Return the configs that a broker describes. keys: key, with ``_`` for dots -> whether it is read-only."""
    return ConfigSet(
        tuple(
            ConfigEntry(
                key.replace("_", "."),
                "x",
                codes.STATIC_BROKER_CONFIG,
                read_only=fixed,
                type=codes.ConfigType.parse("STRING"),
            )
            for key, fixed in keys.items()
        )
    )


DESCRIBED = Snapshot(configs={broker_resource(each): described(log_dirs=True) for each in (1, 2)})


def test_a_brokers_own_word_about_a_key_counts() -> None:
    """Whether a key can be altered follows from the broker's description, not from kac's table: brokers of 4.3 describe
    a key as read-only that 3.9 altered, and a later release may alter a key that kac does not know.
    """
    addresses = change("broker", "1", "advertised.listeners", "A://a:1", "A://b:1")
    newer = change("broker", "1", "later.key", "1", "2")
    sets = [edits.SetConfig(broker_resource(1), each.attr, str(each.old_value)) for each in (addresses, newer)]
    assert [lake_staging.undo(each, Snapshot()) for each in (addresses, newer)] == sets
    known = Snapshot(configs={broker_resource(1): described(advertised_listeners=True, later_key=False)})
    assert lake_staging.undo(addresses, known) == lake_staging.NoEdit(
        "advertised.listeners is in the broker's server.properties: change it there, and restart it"
    )
    assert lake_staging.undo(newer, known) == sets[1]
    # The cluster default describes only its own keys, so any broker's description of the key counts.
    of_all = change("broker", "<default>", "advertised.listeners", "A://a:1", "A://b:1")
    assert isinstance(lake_staging.undo(of_all, known), lake_staging.NoEdit)


@pytest.mark.parametrize(
    ("was", "why"),
    [
        (change("topic", "t", "k", None, None), "hidden"),
        (change("topic", "t", "k", None, None, deleted=True), "hidden"),
        (change("topic", "t", "k", "[hidden]", "x"), "hidden"),
        (change("topic", "t", ":topic_id", "x", None, deleted=True), "records are gone"),
        (change("topic", "t", ":partitions", None, "3"), "delete topic"),
        (change("topic", "t", ":partitions", "3", "6"), "can't be taken away"),
        (change("topic", "t", ":replication", None, None), "can't be changed from here"),
        (change("broker", "1", "log.dirs", "/a", "/b"), "server.properties"),
        (change("scram", "a", "SCRAM-SHA-512", "iterations=4096", "iterations=8192"), "password"),
        (change("feature", "metadata.version", ":level", "1", "2"), "can't be changed from here"),
        (change("cluster", "c", ":unobserved", None, None), "not polled"),
        (change("acl", "odd", "odd", None, "set"), "not known"),
        (change("quota", "user=a", "producer_byte_rate", "many", "9"), "is not a quota"),
    ],
)
def test_what_has_no_undo_says_why(was: Change, why: str) -> None:
    cannot = lake_staging.undo(was, DESCRIBED)
    assert isinstance(cannot, lake_staging.NoEdit)
    assert why in cannot.why
    assert lake_staging.edit_text(cannot) == cannot.why


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(NAMES, NAMES.filter(lambda name: " " not in name), st.sampled_from(["*", "10.0.0.1"]))
def test_an_acl_is_found_again_in_its_spelling(name: str, user: str, host: str) -> None:
    binding = lake_staging.acl_of(
        entities.acl_key("TOPIC", "LITERAL", name), entities.acl_attr("DENY", "WRITE", f"User:{user}", host)
    )
    assert binding is not None
    assert (binding.resource_name, binding.principal, binding.host) == (name, f"User:{user}", host)


def odd(scope: str, key: str, attr: str, most: str | None, this: str | None) -> Drifted:
    return Drifted("c", scope, key, attr, most, this, 3, 1, None, "low")


def test_the_alignment_is_the_majoritys_value_or_none() -> None:
    threads = odd("broker", "broker:2", "log.cleaner.threads", "1", "4")
    assert lake_staging.align(threads, Snapshot()) == edits.SetConfig(broker_resource(2), "log.cleaner.threads", "1")
    assert lake_staging.align(threads._replace(majority_value=None), Snapshot()) == edits.UnsetConfig(
        broker_resource(2), "log.cleaner.threads"
    )
    assert lake_staging.align(odd("cluster", "topic:a:b", "k", "1", "2"), Snapshot()) == edits.SetConfig(
        topic_resource("a:b"), "k", "1"
    )
    missing = odd("cluster", "quota:user=a", "producer_byte_rate", "10", None)
    assert lake_staging.align(missing, Snapshot()) == edits.SetQuota(
        QuotaEntity.of({"user": "a"}), "producer_byte_rate", 10.0
    )
    assert lake_staging.align(odd("cluster", f"acl:{ACL_KEY}", ACL_ATTR, "set", None), Snapshot()) == edits.AddAcl(READ)
    assert lake_staging.align(odd("cluster", f"acl:{ACL_KEY}", ACL_ATTR, None, "set"), Snapshot()) == edits.RemoveAcl(
        READ
    )
    for row, why in (
        (odd("broker", "broker:2", "log.dirs", "/a", "/b"), "server.properties"),
        (odd("cluster", "topic:t", ":partitions", "3", "6"), "is not a config"),
        (odd("broker", "broker:2", "listener.name.x.ssl.key.password", "[hidden]", None), "hidden"),
        (odd("cluster", "topic:t", "k", "1", "[hidden]"), "hidden"),
    ):
        cannot = lake_staging.align(row, DESCRIBED)
        assert isinstance(cannot, lake_staging.NoEdit)
        assert why in cannot.why


def used(user: str | None, client: str | None, better: float | None) -> Usage:
    pair = Pair(user, client, "producer_byte_rate")
    return Usage("c", pair, 1, 10.0, 3, 9.0, 5.0, 0.9, 0, 0, 1.0, better, "why", ())


def test_what_is_suggested_is_for_the_pair_itself() -> None:
    assert lake_staging.suggested(used("a", "b", 12.0)) == edits.SetQuota(
        QuotaEntity.of({"user": "a", "client-id": "b"}), "producer_byte_rate", 12.0
    )
    assert lake_staging.suggested(used("<default>", None, 12.0)) == edits.SetQuota(
        QuotaEntity.of({"user": "<default>"}), "producer_byte_rate", 12.0
    )
    assert lake_staging.suggested(used("a", "", 12.0)) == edits.SetQuota(
        QuotaEntity.of({"user": "a"}), "producer_byte_rate", 12.0
    )
    assert isinstance(lake_staging.suggested(used("a", "b", None)), lake_staging.NoEdit)
    assert isinstance(lake_staging.suggested(used(None, "", 12.0)), lake_staging.NoEdit)


def test_words_of_a_filter() -> None:
    found = lake_filter("since=2h key=retention.* orders by=alice dlq until=2026-11-20T11:00Z", NOW)
    since, until = NOW - timedelta(hours=2), NOW - timedelta(hours=1)
    assert found == LakeFilter(since, until, "retention.*", "alice", "orders dlq")
    assert lake_filter("", NOW) == LakeFilter()
    assert lake_filter("since= a=b", NOW) == LakeFilter(text="a=b")
    with pytest.raises(ValueError, match="is no time"):
        lake_filter("since=soon", NOW)


@given(st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)), st.integers(0, 23), st.integers(0, 59))
def test_a_time_of_day_is_the_last_one(now: datetime, hour: int, minute: int) -> None:
    here = now.astimezone()
    found = moment(f"{hour:02}:{minute:02}", here)
    assert found <= here
    assert here - found <= timedelta(days=1, hours=1)
    assert (found.hour, found.minute) == (hour, minute)


SERIES = st.lists(st.floats(0, 1e9), min_size=1, max_size=90).map(
    lambda rates: [(NOW + timedelta(minutes=place), rate) for place, rate in enumerate(rates)]
)


@given(SERIES, st.integers(1, 40))
def test_bars_are_as_many_as_there_is_room_and_the_highest_is_the_highest(
    series: list[tuple[datetime, float]], width: int
) -> None:
    bars = spark(series, width)
    assert len(bars) == min(width, len(series))
    if max(rate for _, rate in series) > 0:
        assert BARS[-1] in bars


@given(SERIES, st.floats(1, 1e9), st.integers(30, 120), st.integers(3, 20))
def test_a_plot_fits_and_has_its_limit_on_one_line(
    series: list[tuple[datetime, float]], limit: float, width: int, height: int
) -> None:
    minutes = [Minute(at, 1, limit, 1, rate, rate, int(rate > limit)) for at, rate in series]
    lines = plot(used("a", "b", None), minutes, width, height)
    assert all(cell_width(plain(line)) <= max(width, 40) for line in lines)
    drawn = [line for line in lines[:height] if any(meaning == "danger" for _, meaning in line)]
    assert len(drawn) == 1


def test_an_entity_of_the_lake_in_words_and_the_sides_of_a_change() -> None:
    assert entity_text("quota", "user=<default>,client-id=%3Cdefault%3E") == "user <default> client '<default>'"
    assert entity_text("acl", ACL_KEY) == "acl topic or,d:ers prefixed"
    assert entity_text("topic", "\x1b[2J") == "topic \\x1b[2J"
    assert sides(change("topic", "t", "retention.ms", None, "86400000")) == ("–", "86400000 (1 d)", False)
    assert sides(change("topic", "t", "retention.ms", "86400000", None, deleted=True))[1] == "deleted"
    assert sides(change("broker", "1", "secret", None, None)).hidden
    assert not sides(change("topic", "t", ":replication", None, None)).hidden
    assert REDACTED == HIDDEN
