"""Tests of the values of nouns' options: times, durations, files of partitions and of offsets, releases and feature
levels.
"""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.results import Table
from console.cli.features import NAMES
from console.cli.main import BY_NAME, command_parser
from console.cli.noun import Found, OptionsError
from console.language.grammar import parse
from console.language.offset_files import offset_lines, offset_rows
from console.language.verbs.reset import ResetOffsets
from console.model.feature_levels import METADATA_VERSION, feature_levels
from console.plan.edits import CommitOffset


def meaning(name: str, *words: str) -> object:
    options = command_parser(BY_NAME[name]).parse_args(words)
    return BY_NAME[name].noun().meaning(options, BY_NAME[name].noun().action_of(options))


def reset_to(*place: str) -> ResetOffsets:
    """Return the statement that resets a group's offsets as these options say, such as ``--to-earliest``."""
    meant = meaning("groups", "--reset-offsets", "--group=g", "--all-topics", "--execute", *place)
    assert isinstance(meant, tuple)
    (statement,) = parse("\n".join(meant))
    assert isinstance(statement, ResetOffsets)
    return statement


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)), st.integers(-18 * 60, 18 * 60))
def test_times(at: datetime, zone: int) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    sign, (hours, minutes) = "-" if zone < 0 else "+", divmod(abs(zone), 60)
    text = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}"
    since = (at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
    assert reset_to(f"--to-datetime={text}").to.number == reset_to(f"--to-datetime={text}Z").to.number == since
    offset = f"{sign}{hours:02}:{minutes:02}"
    assert reset_to(f"--to-datetime={text}{offset}").to.number == since - zone * 60_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT20.345S", 20_345),
        ("PT15M", 900_000),
        ("P2D", 172_800_000),
        ("P2DT3H4M", 183_840_000),
        ("pt1.5s", 1_500),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    """Durations are parsed as java.time.Duration.parse does; the values are from its documentation."""
    before = datetime.now(UTC)
    ago = reset_to(f"--by-duration={text}").to.number
    after = datetime.now(UTC)
    least, most = (round(each.timestamp() * 1000) - milliseconds for each in (before, after))
    assert least - 1 <= ago <= most + 1


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "PT1", "P1H", "PT1.5M", "P-", "PT-6H", "-PT6H"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(OptionsError, match="--by-duration is"):
        reset_to(f"--by-duration={text}")


@pytest.mark.parametrize("text", ["", "2026-13-01T00:00:00.000", "x", "2026-01-01T25:00:00"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(OptionsError, match="--to-datetime is"):
        reset_to(f"--to-datetime={text}")


@pytest.mark.parametrize(
    ("place", "how", "number"),
    [
        ("--to-earliest", "earliest", 0),
        ("--to-latest", "latest", 0),
        ("--to-current", "current", 0),
        ("--to-offset=7", "offset", 7),
        ("--shift-by=7", "by", 7),
        ("--shift-by=-7", "by", -7),
    ],
)
def test_places(place: str, how: str, number: int) -> None:
    assert (reset_to(place).to.how, reset_to(place).to.number) == (how, number)


PLACES = st.tuples(st.sampled_from(["a", "b", 'topic, "x"', "t" * 25]), st.integers(0, 3))


@given(
    st.dictionaries(PLACES, st.integers(0, 2**40), min_size=1),
    st.sampled_from(["g", 'a, "group"', "g" * 30]),
    st.booleans(),
)
def test_what_is_exported_is_read_again(offsets: dict[tuple[str, int], int], group: str, with_group: bool) -> None:
    edits = [CommitOffset(group, *place, offset) for place, offset in offsets.items()]
    lines = offset_lines(edits, with_group=with_group)
    assert all(len(row) == 3 + with_group for row in csv.reader(lines))
    rows = offset_rows("\n".join(lines), group)
    assert {(row.topic, row.partition): row.offset for row in rows} == offsets


def test_several_groups_need_a_file_with_them(tmp_path: Path) -> None:
    file = tmp_path / "o.csv"
    file.write_text("orders,0,3\n")
    words = ("--reset-offsets", "--group=a", "--group=b", f"--from-file={file}")
    with pytest.raises(OptionsError, match="several groups need a file with them"):
        meaning("groups", *words)
    file.write_text("a,orders,0,3\nb,orders,0,4\n")
    assert callable(meaning("groups", *words))


def test_files_of_partitions(tmp_path: Path) -> None:
    file = tmp_path / "f.json"

    def meant(data: object, *, deletion: bool) -> object:
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        of = ("--election-type=preferred", f"--path-to-json-file={file}")
        return meaning("topics", *([f"--offset-json-file={file}"] if deletion else of))

    def wrong(data: object, *, deletion: bool) -> str:
        with pytest.raises(OptionsError) as refused:
            meant(data, deletion=deletion)
        return str(refused.value)

    good = {"topic": "t", "partition": 1, "offset": 5}
    assert "`partitions`" in wrong({}, deletion=False)
    assert "no partition" in wrong({"partitions": []}, deletion=False)
    for deletion in (False, True):
        assert "t/1 stands there twice" in wrong({"partitions": [good, good]}, deletion=deletion)
    assert "is no file of partitions" in wrong("{", deletion=True)
    assert "is no file of partitions" in wrong("[]", deletion=True)
    assert "version" in wrong({"partitions": [good], "version": 2}, deletion=True)
    assert "has no offset" in wrong({"partitions": [{"topic": "t", "partition": 1}]}, deletion=True)
    for odd in ({"topic": 1}, {"partition": "1"}, {"partition": True}, {"partition": -1}, {"offset": 1.5}):
        assert wrong({"partitions": [{**good, **odd}]}, deletion=True)
    rows = {"partitions": [good, {"topic": "a", "partition": 0, "offset": -1}]}
    assert meant(rows, deletion=True) == (
        "delete records topic a partition 0 before latest",
        "delete records topic t partition 1 before 5",
    )
    assert meant(rows, deletion=False) == (
        "elect preferred topic a partition 0",
        "elect preferred topic t partition 1",
    )
    file.unlink()
    with pytest.raises(OptionsError, match="can't be read"):
        meaning("topics", f"--offset-json-file={file}")


def features(*words: str) -> list[tuple[object, ...]]:
    """Run a command about features that needs no cluster, and return its rows."""
    meant = meaning("features", *words)
    assert isinstance(meant, Found)
    (table,) = meant.results
    assert isinstance(table, Table)
    return [tuple(row.data.values()) for row in table.rows]


def test_releases_have_levels() -> None:
    for level, each in feature_levels()[METADATA_VERSION].items():
        if level >= 7:
            metadata, *others = features("version-mapping", "--release-version", each.name)
            assert metadata == (METADATA_VERSION, level, each.name)
            assert tuple(name for name, *_ in others) == NAMES
    same = {features("version-mapping", "--release-version", text)[0] for text in ("4.0", "4.0.1", "4.0-IV3")}
    assert len(same) == 1
    for text in ("3.0-IV1", "9.9", "", "4.0-IV9", "x"):
        with pytest.raises(OptionsError):
            features("version-mapping", "--release-version", text)


def test_levels_need_others() -> None:
    assert features("feature-dependencies", "--feature", "eligible.leader.replicas.version=1") == [
        ("eligible.leader.replicas.version", 1, METADATA_VERSION, 23, "4.0-IV1")
    ]
    assert features("feature-dependencies", "--feature", "share.version=0") == [("share.version", 0, None, None, None)]
    for text in ("a", "a=", "a=x", "a=40000", "a=1=2", "share.version=-1", "nosuch=1", "metadata.version=6", "=1"):
        with pytest.raises(OptionsError):
            features("feature-dependencies", "--feature", text)
