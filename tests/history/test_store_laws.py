"""Laws of releases, partitions and of what a log says."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.history.schema import TABLES
from console.history.store import Release, TableFiles
from console.history.store.delta_log import Replayed
from console.history.store.lock import is_run_id, new_run_id
from console.history.store.partitions import partition_name, partition_values
from console.history.store.release import DataFile, from_row

names = st.sampled_from(["a", "b", "c"])
partitions = st.sampled_from(["a", "b", "c"])
files = st.dictionaries(st.text(min_size=1), st.builds(DataFile, partitions, st.integers(1, 100), st.integers(1, 100)))


@given(files, files, st.data())
def test_what_is_replaced_is_gone_and_nothing_else(
    before: dict[str, DataFile], new: dict[str, DataFile], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.sampled_from(sorted(before)))) if before else set()
    made = TableFiles(("s",), before).replaced(new, gone)
    for path in before.keys() | new.keys():
        stays = path in before and path not in gone
        assert made.files.get(path) == (new.get(path) or (before[path] if stays else None))
    assert made.replaced(new, gone) == TableFiles(("s",), made.files).replaced(new, gone)
    assert TableFiles(("s",), before).replaced({}) == TableFiles(("s",), before)


@given(files)
def test_a_partition_has_its_files_and_no_others(before: dict[str, DataFile]) -> None:
    made = TableFiles((), before)
    assert made.rows == sum(file.rows for file in before.values())
    assert {path for each in "abc" for path in made.of([each])} == set(made.of()) == set(before)
    for each in "abc":
        assert {file.partition for file in made.of([each]).values()} <= {each}
    assert set(made.partitions) == {file.partition for file in before.values()}


@given(st.dictionaries(st.text(), st.integers(0)), st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_a_release_is_read_as_it_was_written(versions: dict[str, int], inputs: dict[str, object]) -> None:
    made = Release(new_run_id(), 3, "2026-11-21T00:00:00+00:00", "collect", versions, {}, inputs)
    assert from_row(made.as_row()) == made


@given(
    st.dictionaries(st.sampled_from(["run_id", "number", "tables"]), st.none() | st.text(max_size=5) | st.just("[]"))
)
def test_what_is_no_release_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_row(row)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), names), max_size=20))
def test_a_log_has_what_was_added_and_not_removed_since(actions: list[tuple[bool, int, str]]) -> None:
    read, there = Replayed(partitioned=("in_cluster_id",)), dict[str, str]()
    for adds, number, cluster in actions:
        path = f"v=1/{number}/a%252Fb.parquet"
        plain = f"v=1/{number}/a%2Fb.parquet"
        if adds:
            added = {"path": path, "partitionValues": {"in_cluster_id": cluster}, "size": 1, "modificationTime": 0}
            read.apply({"add": {**added, "stats": '{"numRecords": 1}'}})
            there[plain] = f"cluster_id={cluster}"
        else:
            read.apply({"remove": {"path": path}})
            there.pop(plain, None)
    files = read.as_files("data/t")
    assert {path: file.partition for path, file in files.files.items()} == {
        f"data/t/{path}": partition for path, partition in there.items()
    }
    assert files.rows == len(there)
    assert not read.removed & set(there)


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
    with pytest.raises(ValueError, match="shorter"):
        partition_name(TABLES["snapshot"], ["c"])


def test_names_of_runs_sort_as_they_began() -> None:
    made = [new_run_id() for _ in range(3)]
    assert all(is_run_id(each) for each in made)
    assert [each[:22] for each in made] == sorted(each[:22] for each in made)
    assert not is_run_id("20261121T101500Z-3f9a1c/..")
