"""Laws of releases, partitions and of what may be swept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.history.schema import TABLES
from console.history.store import DataFile, Release, TableFiles
from console.history.store.lock import is_run_id, new_run_id
from console.history.store.partitions import partition_name, partition_values, time_partitions
from console.history.store.release import from_json, to_json
from console.history.store.sweep import sweep

names = st.sampled_from(["a", "b", "c"])
files = st.lists(st.builds(DataFile, st.text(min_size=1), st.integers(1, 100), st.integers(1, 100)), max_size=3)
appends = st.lists(st.tuples(names, files), max_size=8)


def appended(made: TableFiles, changes: list[tuple[str, list[DataFile]]]) -> TableFiles:
    for number, (partition, listed) in enumerate(changes, start=len(made.files)):
        made = made.appended(partition, f"data/t/v=1/{number}", listed)
    return made


@given(appends)
def test_what_is_appended_is_there_with_its_rows(changes: list[tuple[str, list[DataFile]]]) -> None:
    made = appended(TableFiles("s"), changes)
    assert made.rows == sum(file.rows for _, listed in changes for file in listed)
    assert len(made.paths()) == sum(len(listed) for _, listed in changes)
    for partition in "abc":
        assert len(made.paths([partition])) == sum(len(listed) for name, listed in changes if name == partition)
    assert sorted(made.paths()) == sorted(path for partition in "abc" for path in made.paths([partition]))


@given(appends, st.dictionaries(names, st.lists(files, max_size=2)), st.booleans())
def test_what_is_replaced_is_gone_and_nothing_else(
    changes: list[tuple[str, list[DataFile]]], new: dict[str, list[list[DataFile]]], whole: bool
) -> None:
    before = appended(TableFiles("s"), changes)
    given_ = {
        name: {f"data/t/v=2/{name}/{number}": listed for number, listed in enumerate(folders)}
        for name, folders in new.items()
    }
    after = before.replaced(given_, whole=whole)
    for partition in "abc":
        if partition in new:
            assert after.partitions.get(partition, ()) == tuple(given_[partition])
        else:
            assert after.partitions.get(partition, ()) == (() if whole else before.partitions.get(partition, ()))
    assert set(after.files) == {folder for folders in after.partitions.values() for folder in folders}
    assert after.replaced(given_, whole=whole) == after


@given(appends, st.dictionaries(st.text(), st.integers() | st.text() | st.none()), st.none() | st.integers(0, 9))
def test_a_release_is_read_as_it_was_written(
    changes: list[tuple[str, list[DataFile]]], inputs: dict[str, object], delta: int | None
) -> None:
    table = appended(TableFiles("s", delta=delta), changes)
    made = Release(new_run_id(), None, "2026-11-21T00:00:00+00:00", "collect", {"snapshot": table}, inputs)
    assert from_json(to_json(made)) == made


@given(st.binary(max_size=40) | st.sampled_from([b"[]", b"null", b'{"format": 2}', b'{"format": 1, "run_id": "../x"}']))
def test_what_is_no_release_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_json(text)


@given(st.none() | st.text(), st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)))
def test_partitions_are_one_folder_for_each_part_and_are_taken_apart_again(cluster: str | None, at: datetime) -> None:
    for table, time in (("snapshot", f"{at:%Y-%m-%d}"), ("request_1s", f"{at:%Y-%m-%dT%H}")):
        name = partition_name(TABLES[table], [cluster, time])
        assert len(PurePosixPath(name).parts) == 2
        assert not any(part in ("", ".", "..") for part in name.split("/"))
        part = "day" if table == "snapshot" else "hour"
        assert partition_values(name) == {"cluster_id": cluster or None, part: time}


def test_a_partition_has_a_value_for_each_of_its_parts() -> None:
    assert partition_name(TABLES["run"], []) == ""
    assert partition_values("") == {}
    with pytest.raises(ValueError, match="partitioned by cluster_id, day:observed_ts"):
        partition_name(TABLES["snapshot"], ["c"])


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)),
    st.timedeltas(-timedelta(days=3), timedelta(days=3)),
)
def test_the_partitions_since_a_time_hold_all_that_is_later(since: datetime, away: timedelta) -> None:
    since = since.replace(tzinfo=UTC)
    at = since + away
    for table, form in (("snapshot", "%Y-%m-%d"), ("request_1s", "%Y-%m-%dT%H")):
        cut = time_partitions(TABLES[table], since)
        assert cut is not None
        assert cut.start <= since
        assert cut.holds(partition_name(TABLES[table], ["c", at.strftime(form)])) == (at >= cut.start)
    assert time_partitions(TABLES["history"], since) is None
    assert cut is not None
    assert not cut.holds("cluster_id=c/hour=__HIVE_DEFAULT_PARTITION__")


def runs(count: int) -> list[str]:
    return [f"20261121T{number:06}Z-abcdef" for number in range(count)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=5, unique=True), min_size=1, max_size=8), st.integers(0, 9))
def test_what_a_kept_version_names_stays_and_the_rest_goes(named: list[list[int]], keep: int) -> None:
    """named: by version from the oldest, which of ten folders it names; of each run two folders."""
    ids = runs(12)
    folders = [f"data/snapshot/v={ids[number // 2]}/{number % 2}" for number in range(10)]
    versions = [
        Release(
            ids[place],
            tables={
                "snapshot": TableFiles(
                    "s", {"p": tuple(folders[n] for n in numbers)}, {folders[n]: () for n in numbers}
                )
            },
        )
        for place, numbers in enumerate(named)
    ]
    history = list(reversed(versions))
    kept = history[: max(1, keep)]
    dead, running = ids[10], ids[11]
    there = {f"data/snapshot/v={run}" for run in (*ids[:5], dead, running)} | {"data/snapshot/v=mine"}
    gone = sweep(history, keep, [*ids, "notes"], there, running)
    stays = {folder for release in kept for folder in release.folders}
    for folder in stays:
        assert not any(folder == each or folder.startswith(f"{each}/") for each in gone.folders)
    for release in history[len(kept) :]:
        for folder in release.folders - stays:
            assert any(folder == each or folder.startswith(f"{each}/") for each in gone.folders)
    assert f"data/snapshot/v={dead}" in gone.folders
    assert not any(running in each or "mine" in each for each in gone.folders)
    assert set(gone.releases) == set(ids) - {release.run_id for release in kept} - {running}


def test_names_of_runs_sort_as_they_began() -> None:
    made = [new_run_id() for _ in range(3)]
    assert all(is_run_id(each) for each in made)
    assert [each[:22] for each in made] == sorted(each[:22] for each in made)
    assert not is_run_id("20261121T101500Z-3f9a1c/..")
