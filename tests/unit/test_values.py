"""Tests of values as operators type them: units, types, and the texts of refusals."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.files.compare import differing
from console.model.codes import DYNAMIC_BROKER_CONFIG, DYNAMIC_TOPIC_CONFIG, ConfigType
from console.model.config import ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.numbers import java_double
from console.model.quota import BY_KEY, QUOTA_KEYS
from console.model.snapshot import Snapshot
from console.plan import values
from console.plan.amounts import TIMES, Unit, parse_amount, unit_of
from console.plan.edits import SetConfig
from console.plan.plan import EMPTY, stage

STRING, CLASS, PASSWORD, UNTOLD = ConfigType(2), ConfigType(8), ConfigType(9), ConfigType(0)

PARSED = [
    ("retention.ms", values.LONG, "1d", "86400000"),
    ("retention.ms", values.LONG, "1.5h", "5400000"),
    ("retention.ms", values.LONG, "30min", "1800000"),
    ("retention.ms", values.LONG, "90s", "90000"),
    ("retention.ms", values.LONG, "250ms", "250"),
    ("retention.ms", values.LONG, "0.5s", "500"),
    ("retention.ms", values.LONG, "-1", "-1"),
    ("retention.ms", values.LONG, " 42 ", "42"),
    ("retention.ms", values.LONG, "+7", "+7"),
    ("retention.ms", values.LONG, "7 d", "604800000"),
    ("retention.ms", UNTOLD, "7d", "604800000"),
    ("log.retention.hours", values.INT, "7d", "168"),
    ("log.retention.minutes", values.INT, "12h", "720"),
    ("delegation.window.seconds", values.INT, "2min", "120"),
    ("kafka.metrics.polling.interval.secs", values.INT, "2min", "120"),
    ("segment.bytes", values.INT, "512MiB", "536870912"),
    ("segment.bytes", values.INT, "10MB", "10000000"),
    ("segment.bytes", values.INT, "10MiB", "10485760"),
    ("segment.bytes", values.INT, "1kB", "1000"),
    ("segment.bytes", values.INT, "1KB", "1000"),
    ("segment.bytes", values.INT, "1kib", "1024"),
    ("segment.bytes", values.INT, "1.5KiB", "1536"),
    ("segment.bytes", values.INT, "10B", "10"),
    ("retention.bytes", values.LONG, "2TiB", "2199023255552"),
    ("log.cleaner.dedupe.buffer.size", values.LONG, "128MiB", "134217728"),
    ("metadata.log.max.record.bytes.between.snapshots", values.LONG, "20MiB", "20971520"),
    ("leader.replication.throttled.rate", values.LONG, "10MB/s", "10000000"),
    ("leader.replication.throttled.rate", values.LONG, "10MB", "10000000"),
    ("log.cleaner.io.max.bytes.per.second", values.DOUBLE, "1.5MB/s", "1500000"),
    ("remote.log.manager.copy.max.bytes.per.second", values.LONG, "1MiB/s", "1048576"),
    ("num.partitions", values.INT, "12", "12"),
    ("preallocate", values.BOOLEAN, "TRUE", "true"),
    ("preallocate", values.BOOLEAN, " false ", "false"),
    ("min.cleanable.dirty.ratio", values.DOUBLE, "0.5", "0.5"),
    ("min.cleanable.dirty.ratio", values.DOUBLE, "1e-3", "1e-3"),
    ("min.cleanable.dirty.ratio", values.DOUBLE, ".5", ".5"),
    ("cleanup.policy", values.LIST, "compact , delete", "compact,delete"),
    ("cleanup.policy", values.LIST, " ", ""),
    ("cleanup.policy", values.LIST, "", ""),
    ("compression.type", STRING, "1d", "1d"),
    ("x.ms", STRING, "1d", "1d"),
    ("num.io.threads", UNTOLD, "1d", "1d"),
    ("some.plugin.key", UNTOLD, " anything ", " anything "),
    ("retention.ms", UNTOLD, "soon", "soon"),
    ("authorizer.class.name", CLASS, "a.B", "a.B"),
]


@pytest.mark.parametrize(("key", "type_", "text", "sent"), PARSED)
def test_what_is_sent(key: str, type_: ConfigType, text: str, sent: str) -> None:
    assert values.parse_value(key, type_, text) == sent


REFUSED = [
    ("log.retention.minutes", values.INT, "90s", "log.retention.minutes: 90s is not a whole number of minutes"),
    ("log.roll.hours", values.INT, "100ms", "log.roll.hours: 100ms is not a whole number of hours"),
    (
        "quota.window.size.seconds",
        values.INT,
        "100ms",
        "quota.window.size.seconds: 100ms is not a whole number of seconds",
    ),
    ("retention.ms", values.LONG, "0.1ms", "retention.ms: 0.1ms is not a whole number of milliseconds"),
    (
        "retention.ms",
        values.LONG,
        "10MB",
        "retention.ms: 10MB is no amount of milliseconds; write for instance 250ms, 90s, 30min, 12h, 7d",
    ),
    (
        "retention.ms",
        values.LONG,
        "1m",
        "retention.ms: 1m is no amount of milliseconds; write for instance 250ms, 90s, 30min, 12h, 7d",
    ),
    (
        "segment.bytes",
        values.INT,
        "10M",
        "segment.bytes: 10M may mean MB (powers of 1000) or MiB (powers of 1024): write which",
    ),
    ("segment.bytes", values.INT, "1MB/s", "segment.bytes: 1MB/s is a rate, and a size is wanted: 1MB"),
    (
        "segment.bytes",
        values.INT,
        "1d",
        "segment.bytes: 1d is no amount of bytes; write for instance 512KiB, 10MB (10,000,000), 10MiB (10,485,760)",
    ),
    (
        "segment.bytes",
        values.INT,
        "2GiB",
        "segment.bytes is from -2147483648 to 2147483647 (INT); 2147483648 is beyond that",
    ),
    ("x.limit", values.SHORT, "32768", "x.limit is from -32768 to 32767 (SHORT); 32768 is beyond that"),
    ("num.io.threads", values.INT, "many", "num.io.threads is a whole number, not 'many'"),
    ("num.io.threads", values.INT, "1.0", "num.io.threads is a whole number, not '1.0'"),
    ("num.io.threads", values.INT, "", "num.io.threads is a whole number, not ''"),
    ("num.io.threads", values.INT, "٣", "num.io.threads is a whole number, not '٣'"),
    ("preallocate", values.BOOLEAN, "yes", "preallocate is true or false, not 'yes'"),
    ("ratio", values.DOUBLE, "half", "ratio is a number such as 0.5, not 'half'"),
    ("ratio", values.DOUBLE, "NaN", "ratio is a number such as 0.5, not 'NaN'"),
    ("ratio", values.DOUBLE, "1e999", "ratio is a number such as 0.5, not '1e999'"),
    (
        "retention.ms",
        values.LONG,
        "-1d",
        "retention.ms is a whole number of milliseconds (or, for instance, 250ms, 90s, 30min, 12h, 7d), not '-1d'",
    ),
]


@pytest.mark.parametrize(("key", "type_", "text", "words"), REFUSED)
def test_what_is_refused_and_how(key: str, type_: ConfigType, text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the whole text is compared below
        values.parse_value(key, type_, text)
    assert str(refused.value) == words


@given(st.integers(0, 10**9), st.sampled_from(sorted(TIMES)))
def test_an_amount_of_time_is_exact_or_refused(number: int, unit: str) -> None:
    milliseconds = number * TIMES[unit]
    for wanted, size in ((Unit.MILLISECONDS, 1), (Unit.SECONDS, 1000), (Unit.MINUTES, 60_000), (Unit.HOURS, 3_600_000)):
        if milliseconds % size:
            with pytest.raises(ValueError, match="not a whole number"):
                parse_amount(f"{number}{unit}", wanted)
        else:
            assert parse_amount(f"{number}{unit}", wanted) * size == milliseconds


@given(st.integers(0, 10**6), st.integers(0, 999))
def test_a_fraction_counts_exactly(whole: int, thousandths: int) -> None:
    assert parse_amount(f"{whole}.{thousandths:03}s", Unit.MILLISECONDS) == whole * 1000 + thousandths
    assert parse_amount(f"{whole}.{thousandths:03}kB", Unit.BYTES) == whole * 1000 + thousandths


@given(
    st.text(max_size=20),
    st.sampled_from(
        [values.BOOLEAN, values.INT, values.SHORT, values.LONG, values.DOUBLE, values.LIST, STRING, UNTOLD]
    ),
)
def test_any_text_is_parsed_or_refused_with_words(text: str, type_: ConfigType) -> None:
    for key in ("retention.ms", "segment.bytes", "a.throttled.rate", "anything"):
        try:
            sent = values.parse_value(key, type_, text)
        except ValueError as refused:
            assert str(refused).startswith(key)  # noqa: PT017  # both ways are right
        else:
            assert values.parse_value(key, type_, sent) == sent
            assert values.canonical(type_, values.canonical(type_, sent)) == values.canonical(type_, sent)


def test_which_keys_have_which_unit() -> None:
    assert unit_of("connections.max.idle.ms") is Unit.MILLISECONDS
    assert unit_of("follower.replication.throttled.rate") is Unit.BYTES_PER_SECOND
    assert unit_of("log.flush.interval.messages") is Unit.NONE
    assert unit_of("compression.type") is Unit.NONE
    assert unit_of("retention.ms").examples == "250ms, 90s, 30min, 12h, 7d"
    assert unit_of("compression.type").examples == ""


QUOTAS = [
    ("producer_byte_rate", "10MB/s", 10_000_000.0),
    ("producer_byte_rate", "10MB", 10_000_000.0),
    ("producer_byte_rate", "10MiB/s", 10_485_760.0),
    ("consumer_byte_rate", "1024", 1024.0),
    ("consumer_byte_rate", "1024/s", 1024.0),
    ("consumer_byte_rate", "1e6", 1_000_000.0),
    ("request_percentage", "200", 200.0),
    ("request_percentage", "12.5%", 12.5),
    ("request_percentage", "50 %", 50.0),
    ("controller_mutation_rate", "0.5/s", 0.5),
    ("connection_creation_rate", "20/s", 20.0),
    ("connection_creation_rate", "20", 20.0),
]


@pytest.mark.parametrize(("key", "text", "value"), QUOTAS)
def test_quotas(key: str, text: str, value: float) -> None:
    assert values.parse_quota(key, text) == value


BAD_QUOTAS = [
    ("producer_byte_rate", "0", "producer_byte_rate is above 0; to lift the limit, unset it"),
    ("request_percentage", "-5", "request_percentage is above 0; to lift the limit, unset it"),
    ("producer_byte_rate", "1.5", "producer_byte_rate is a whole number, 1.5 is not"),
    ("producer_byte_rate", "1e19", f"producer_byte_rate is at most {2**63 - 1}"),
    ("connection_creation_rate", "3e9", "connection_creation_rate is at most 2147483647"),
    ("request_percentage", "NaN", "request_percentage is a number above 0 (for instance 20%), not 'NaN'"),
    ("request_percentage", "1e999", "request_percentage is a finite number"),
    ("request_percentage", "10MB", "request_percentage is a number above 0 (for instance 20%), not '10MB'"),
    (
        "producer_byte_rate",
        "1d",
        "producer_byte_rate: 1d is no amount of bytes per second; write for instance "
        "512KiB/s, 10MB/s (10,000,000), 10MiB/s (10,485,760)",
    ),
    (
        "producer_rate",
        "1",
        "producer_rate is no quota; there are producer_byte_rate, consumer_byte_rate, "
        "request_percentage, controller_mutation_rate, connection_creation_rate",
    ),
]


@pytest.mark.parametrize(("key", "text", "words"), BAD_QUOTAS)
def test_quotas_that_are_refused(key: str, text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the whole text is compared below
        values.parse_quota(key, text)
    assert str(refused.value) == words


DOUBLES = [
    (0.5, "0.5"),
    (1.0, "1.0"),
    (0.001, "0.001"),
    (0.0001, "1.0E-4"),
    (1e7, "1.0E7"),
    (9999999.0, "9999999.0"),
    (123456789.0, "1.23456789E8"),
    (1.5e-10, "1.5E-10"),
    (-0.25, "-0.25"),
    (100.0, "100.0"),
    (0.0, "0.0"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
]


@pytest.mark.parametrize("key", QUOTA_KEYS)
def test_each_quota_has_a_record_whose_samples_are_accepted(key: str) -> None:
    """Each quota key has sample values, which kac accepts without the warning for values near zero."""
    record = BY_KEY[key]
    assert record.samples
    assert all(values.parse_quota(key, sample) > record.near_zero for sample in record.samples)
    assert BY_KEY.keys() == set(QUOTA_KEYS)


@pytest.mark.parametrize(("value", "text"), DOUBLES)
def test_doubles_as_java_writes_them(value: float, text: str) -> None:
    """A double is written as Java's Double.toString writes it; the expected texts come from a JVM."""
    assert java_double(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_written_as_java_does_reads_as_itself(value: float) -> None:
    text = java_double(value)
    assert float(text) == value
    assert "." in text
    assert math.copysign(1, float(text)) == math.copysign(1, value)


CANONICAL = [
    (values.BOOLEAN, " TRUE ", "true"),
    (values.INT, "007", "7"),
    (values.LONG, "+7", "7"),
    (values.LONG, "", ""),
    (values.DOUBLE, "0.50", "0.5"),
    (values.DOUBLE, "1e-4", "1.0E-4"),
    (values.LIST, "a , b", "a,b"),
    (values.LIST, "", ""),
    (STRING, " lz4 ", "lz4"),
    (UNTOLD, " x ", " x "),
    (PASSWORD, " x ", " x "),
]


@pytest.mark.parametrize(("type_", "text", "written"), CANONICAL)
def test_values_as_brokers_write_them_back(type_: ConfigType, text: str, written: str) -> None:
    assert values.canonical(type_, text) == written


def test_items_of_a_list_count_once():
    assert values.same_value(values.LIST, "a, b,a", "a,b")
    assert not values.same_value(values.LIST, "a,b", "b,a")
    assert not values.same_value(STRING, "a,a", "a")
    assert values.same_value(values.LONG, "+5", "5")


UNORDERED_ITEMS = st.lists(st.sampled_from(["compact", "delete", " delete", "compact ", "other"]), max_size=5)


@given(UNORDERED_ITEMS, st.randoms())
def test_the_order_of_a_set_is_no_change(items: list[str], chance: random.Random) -> None:
    """A list that brokers treat as a set counts as unchanged if its items are in another order, have blanks, or are
    repeated.
    """
    topic = topic_resource("t")
    there = ConfigEntry("cleanup.policy", ",".join(items), DYNAMIC_TOPIC_CONFIG, type=values.LIST)
    known = Snapshot(configs={topic: ConfigSet((there,))})
    again = [*items, *items[:1]]
    chance.shuffle(again)
    report = stage(EMPTY, [SetConfig(topic, "cleanup.policy", ",".join(again))], known)
    assert len(report.dropped) == 1
    (added,) = stage(EMPTY, [SetConfig(topic, "cleanup.policy", ",".join([*again, "new", "new"]))], known).added
    assert isinstance(added.edit, SetConfig)
    sent = str(added.edit.value).split(",")
    assert len(sent) == len(set(sent)), "as every release keeps it"
    assert set(sent) == {each.strip() for each in items} | {"new"}


def test_the_order_of_other_lists_counts_and_files_with_another_one_differ_in_nothing() -> None:
    topic, key = broker_resource(1), "ssl.cipher.suites"
    there = ConfigEntry(key, "A,B", DYNAMIC_BROKER_CONFIG, type=values.LIST)
    report = stage(EMPTY, [SetConfig(topic, key, "B,A")], Snapshot(configs={topic: ConfigSet((there,))}))
    assert len(report.added) == 1
    one, other = {"cleanup.policy": "compact, delete"}, {"cleanup.policy": "delete,compact,delete"}
    assert list(differing(topic_resource("t"), one, other)) == []
    assert list(differing(topic_resource("t"), one, {"cleanup.policy": "delete"}))
