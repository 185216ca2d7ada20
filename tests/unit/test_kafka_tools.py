"""The pure parts of what stands in for Kafka's tools: offsets to reset, times, CSV, columns, files, levels, lines."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli.kafka_tools.aligned import columns, tabbed, units
from console.cli.kafka_tools.feature_command import change_lines
from console.cli.kafka_tools.feature_levels import NAMES, mapping_lines, name_and_level, release_levels
from console.cli.kafka_tools.group_lines import deleted_lines, listed, offset_lines
from console.cli.kafka_tools.partition_files import deletion_offsets, election_places
from console.cli.kafka_tools.reset_offsets import (
    CURRENT,
    EARLIEST,
    FILE,
    LATEST,
    OFFSET,
    SHIFT,
    TIME,
    NoOffset,
    Positions,
    csv_lines,
    date_time,
    duration,
    topic_arguments,
    wanted_offsets,
)
from console.cli.kafka_tools.topic_command import election_lines
from console.cli.kafka_tools.transaction_command import candidates, hanging
from console.cli.noun import OptionsError
from console.language.offset_files import offset_rows
from console.model.cluster import CommittedOffset, Group, GroupMember, LogRange
from console.model.failure import Failure
from console.model.feature_levels import METADATA_VERSION, feature_levels
from console.model.transactions import Producer, ProducerListing, Transaction

PLACES = st.tuples(st.sampled_from(["a", "b", 'topic, "x"', "t" * 25]), st.integers(0, 3))
NUMBERS = st.integers(0, 2**40)
LOGS = st.dictionaries(PLACES, st.tuples(NUMBERS, NUMBERS).map(lambda two: LogRange(*sorted(two))), min_size=1)


@given(LOGS, st.sampled_from([OFFSET, SHIFT, FILE]), st.integers(-(2**41), 2**41), st.data())
def test_new_offsets_lie_in_the_log(
    logs: dict[tuple[str, int], LogRange], to: str, amount: int, data: st.DataObject
) -> None:
    committed = {place: data.draw(NUMBERS) for place in logs}
    asked = {place: {OFFSET: amount, SHIFT: committed[place] + amount, FILE: amount}[to] for place in logs}
    plan = asked if to == FILE else None
    wanted = wanted_offsets(to, amount, logs, Positions(committed, logs), plan)
    assert list(wanted.offsets) == sorted(logs)
    for place, offset in wanted.offsets.items():
        assert logs[place].start <= offset <= logs[place].end
        assert offset == asked[place] or offset in logs[place]
    moved = [place for place, offset in wanted.offsets.items() if offset != asked[place]]
    assert len(wanted.clamped) == len(moved)


@given(LOGS, st.data())
def test_the_ends_of_the_log_and_times(logs: dict[tuple[str, int], LogRange], data: st.DataObject) -> None:
    committed = {place: data.draw(NUMBERS) for place in logs if data.draw(st.booleans())}
    at = {place: data.draw(st.sampled_from([-1, logs[place].start])) for place in logs}
    positions = Positions(committed, logs, at)
    assert wanted_offsets(EARLIEST, 0, logs, positions).offsets == {place: log.start for place, log in logs.items()}
    assert wanted_offsets(LATEST, 0, logs, positions).offsets == {place: log.end for place, log in logs.items()}
    stay = wanted_offsets(CURRENT, 0, logs, positions).offsets
    assert stay == {place: committed.get(place, log.end) for place, log in logs.items()}
    then = wanted_offsets(TIME, 0, logs, positions)
    assert then.offsets == {place: logs[place].end if at[place] < 0 else at[place] for place in logs}
    assert len(then.warnings) == sum(1 for offset in at.values() if offset < 0)


def test_no_step_from_nowhere() -> None:
    with pytest.raises(NoOffset, match="Cannot shift offset for partition a-1 since there is no current committed"):
        wanted_offsets(SHIFT, 1, [("a", 1)], Positions({}, {("a", 1): LogRange(0, 9)}))


@given(st.dictionaries(PLACES, NUMBERS, min_size=1), st.sampled_from(["g", 'a, "group"', "g" * 30]), st.booleans())
def test_what_is_exported_is_read_again(offsets: dict[tuple[str, int], int], group: str, with_group: bool) -> None:
    lines = csv_lines({group: offsets}, with_group=with_group)
    assert all(len(row) == 3 + with_group for row in csv.reader(lines))
    rows = offset_rows("\n".join(lines), group)
    assert {(row.topic, row.partition): row.offset for row in rows} == offsets


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)), st.integers(-18 * 60, 18 * 60))
def test_times(at: datetime, zone: int) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    sign, (hours, minutes) = "-" if zone < 0 else "+", divmod(abs(zone), 60)
    text = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}"
    since = (at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
    assert date_time(text) == date_time(f"{text}Z") == since
    assert date_time(f"{text}{sign}{hours:02}:{minutes:02}") == since - zone * 60_000
    assert datetime.fromtimestamp(since / 1000, UTC).replace(tzinfo=None) - at < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT20.345S", 20_345),
        ("PT15M", 900_000),
        ("P2D", 172_800_000),
        ("P2DT3H4M", 183_840_000),
        ("PT-6H+3M", -21_420_000),
        ("-PT6H", -21_600_000),
        ("pt1.5s", 1_500),
        ("PT-0.5S", -500),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    """The examples of java.time.Duration.parse."""
    assert duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "PT1", "P1H", "PT1.5M", "P-"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(OptionsError):
        duration(text)


@pytest.mark.parametrize("text", ["", "2026-01-01", "2026-13-01T00:00:00.000", "2026-01-01T00:00:00", "x"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(OptionsError):
        date_time(text)


def test_topics_and_partitions() -> None:
    assert topic_arguments(["a", "b:1,0", "c:2:"]) == (("a",), (("b", 1), ("b", 0), ("c", 2)))
    for text in ("a:", "a:1:2", "a:x", "a:1,,2", "", ":0"):
        with pytest.raises(OptionsError):
            topic_arguments([text])


# -- lines -------------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=30)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1))
def test_columns_are_aligned(rows: list[tuple[str, str, str]]) -> None:
    lines = tabbed(["Aa", "Bb", "Cc"], rows)
    assert len({units(line) for line in lines}) == 1
    widths = [max(units(row[0]) for row in rows), max(units(row[1]) for row in rows)]
    for row in rows:
        line = columns(widths, row)
        assert line.endswith(row[2])
        assert units(line) == sum(widths) + 2 + units(row[2])


def test_names_are_harmless() -> None:
    group = Group("g\x1b[31m", "Stable", "classic", "consumer", 1, (GroupMember("m\n", "c\t", "/h", (("t\x07", 0),)),))
    lines = offset_lines(group, {("t\x07", 0): CommittedOffset(3)}, {("t\x07", 0): 5}, verbose=True)
    assert "".join((*listed([group], types=True, states=True), *lines.out, *lines.err)).isprintable()
    assert deleted_lines({"a\x1b": "", "b\n": "x\x1b"})[2].isprintable()


def test_the_rows_of_members_come_first_and_those_of_larger_ones_before() -> None:
    small, large = GroupMember("s", "s", "/h", (("t", 2),)), GroupMember("l", "l", "/h", (("t", 0), ("t", 1)))
    group = Group("g", "Stable", "classic", "consumer", 1, (small, large))
    committed = {("t", number): CommittedOffset(7) for number in range(4)}
    rows = [line.split() for line in offset_lines(group, committed, {("t", 0): 5}, verbose=False).out[2:]]
    assert [(row[2], row[5], row[6]) for row in rows] == [
        ("0", "-2", "l"),
        ("1", "-", "l"),
        ("2", "-", "s"),
        ("3", "-", "-"),
    ]


def test_elections_say_all_three() -> None:
    results = {("a", 0): None, ("b", 1): Failure("UNKNOWN_TOPIC_OR_PARTITION", "No such topic as b", "")}
    assert election_lines(results, [("c", 2)], unclean=False) == (
        [
            "Successfully completed leader election (PREFERRED) for partitions a-0",
            "Valid replica already elected for partitions c-2",
            "Error completing leader election (PREFERRED) for partition: b-1: "
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: No such topic as b",
        ],
        ["1 replica(s) could not be elected"],
    )


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_of_partitions(tmp_path: Path) -> None:
    file = tmp_path / "f.json"

    def wrong(data: object, deletion: bool) -> str:
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        with pytest.raises(OptionsError) as refused:
            (deletion_offsets if deletion else election_places)(str(file))
        return str(refused.value)

    good = {"topic": "t", "partition": 1, "offset": 5}
    assert wrong({}, False) == 'Replica election data is missing "partitions" field'
    assert wrong({"partitions": [good, good]}, False) == "Replica election data contains duplicate partitions: [t-1]"
    assert wrong("{", True) == wrong("[]", True) == "The input string is not a valid JSON"
    assert wrong({"partitions": [good], "version": 2}, True) == "Not supported version field value 2"
    assert wrong({"partitions": [good, good]}, True) == "Offset json file contains duplicate topic partitions: t-1"
    for odd in ({"topic": 1}, {"partition": "1"}, {"partition": True}, {"partition": -1}, {"offset": 1.5}):
        assert wrong({"partitions": [{**good, **odd}]}, True)
    file.write_text(json.dumps({"partitions": [good, {"topic": "a", "partition": 0, "offset": -1}]}))
    assert deletion_offsets(str(file)) == {("a", 0): -1, ("t", 1): 5}
    assert election_places(str(file)) == [("a", 0), ("t", 1)]


# -- transactions and features -----------------------------------------------------------------------------------------


def test_what_hangs_by_kafkas_rule() -> None:
    """A coordinator that lists the partition keeps it; too young is no candidate."""
    at = 10_000_000
    producers = (Producer(1, 0, 0, 0, -1, 5), Producer(2, 0, 0, 0, -1, 6), Producer(3, 0, 0, at, -1, 7), Producer(4, 0))
    old = candidates(ProducerListing({("t", 0): producers}), at, 900_000)
    assert [each.producer.id for each in old] == [1, 2]
    kept = Transaction("x", 1, "Ongoing", 1, 0, 0, 0, frozenset({("t", 0)}))
    assert [each.producer.id for each in hanging(old, {"x": kept}, {"x": kept})] == [2]
    elsewhere = Transaction("x", 1, "Ongoing", 1, 0, 0, 0, frozenset({("t", 1)}))
    assert [each.producer.id for each in hanging(old, {"x": kept}, {"x": elsewhere})] == [1, 2]
    assert [each.producer.id for each in hanging(old, {"x": kept}, {})] == [1, 2]


def test_releases_have_levels() -> None:
    for level, each in feature_levels()[METADATA_VERSION].items():
        if level >= 7:
            metadata, others = release_levels(each.name)
            assert metadata == level
            assert tuple(others) == NAMES
    assert release_levels("4.0")[0] == release_levels("4.0.1")[0] == release_levels("4.0-IV3")[0]
    assert mapping_lines(None)[0].startswith("metadata.version=")
    for text in ("3.0-IV1", "9.9", "", "4.0-IV9", "x"):
        with pytest.raises(OptionsError):
            release_levels(text)


def test_levels_of_features() -> None:
    assert name_and_level(" a = 3 ") == ("a", 3)
    for text in ("a", "a=", "a=x", "a=40000", "a=1=2"):
        with pytest.raises(OptionsError):
            name_and_level(text)
    lines = list(change_lines("upgrade", {"b": 2, "a": 1}, {"a": "no"}, dry_run=True))
    assert lines == ["Can not upgrade a to 1. no", "b can be upgraded to 2."]
    assert list(change_lines("disable", {"b": 0}, {}, dry_run=False)) == ["b was disabled."]
