"""A lake on this machine's files: versions, the one writer, what is swept, what a reader sees."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from console.history.schema import TABLES
from console.history.store import DamagedLake, Lake, LakeBusy, LakeError, LeaseLost, NoLake, Release
from console.history.store.filesystem import Filesystem
from console.history.store.lake import KEY_FILE
from console.history.store.lock import this_process
from console.history.store.s3 import S3Files
from console.history.store.write import writing
from tests.history.lake_rows import arrow_rows, rows_of, snapshot_rows

HOLD = """
import sys
from console.history.store import Lake
from console.history.store.write import writing
with writing(Lake.open(sys.argv[1]), "collect") as write:
    print(write.run_id, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(str(tmp_path / "lake"))


def add(lake: Lake, rows: pa.Table, keep: int = 10) -> Release:
    with writing(lake, "collect", keep=keep) as write:
        write.add_arrow("snapshot", rows)
        return write.commit()


def test_of_a_bucket_nothing_is_read_or_written_as_a_local_file() -> None:
    inherited = {"within"}  # it asks `entries`
    public = {name for name in vars(Filesystem) if not name.startswith("_")}
    assert {name for name in vars(S3Files) if name in public} == public - inherited


def test_a_new_lake_is_empty_and_has_a_key_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(NoLake, match="kac lake collect"):
        Lake.open(str(tmp_path / "lake"))
    lake = Lake.create((tmp_path / "lake").as_uri())
    assert lake.current() == Release()
    assert lake.releases() == ()
    assert lake.files(lake.current(), "history") == []
    assert len(lake.key()) == 32
    assert stat.S_IMODE(Path(lake.path("hmac.key")).stat().st_mode) == 0o600
    again = Lake.create(str(tmp_path / "lake"))
    assert again.key() == lake.key()
    assert again.about() == lake.about()
    assert Lake.create(str(tmp_path / "other")).key() != lake.key()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(LakeError, match=r"not empty \(thesis.txt"):
        Lake.create(str(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_key_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))
    lake = Lake.create(str(tmp_path / "lake"))
    assert not Path(lake.path("hmac.key")).exists()
    with pytest.raises(LakeError, match=f"put it back, or name it with {KEY_FILE}"):
        lake.key()
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(LakeError, match="too short"):
        lake.key()
    (tmp_path / "key").write_bytes(b"k" * 32)
    assert lake.key() == b"k" * 32


def test_a_lake_of_a_newer_format_is_not_touched(lake: Lake) -> None:
    Path(lake.path("lake.json")).write_text(json.dumps({"format": 3}))
    with pytest.raises(LakeError, match="format 3"):
        Lake.open(lake.where)
    with pytest.raises(LakeError, match="format 3"):
        Lake.create(lake.where)


def test_rows_go_to_the_partitions_of_their_times(lake: Lake) -> None:
    made = add(lake, snapshot_rows(10, days=2))
    assert list(made.tables["snapshot"].partitions) == [
        f"cluster_id=cluster-{cluster}/day=2026-11-0{cluster + 1}" for cluster in (0, 1)
    ]
    assert made.tables["snapshot"].rows == 10
    assert [row[4] for row in rows_of(lake, "snapshot")] == [
        f"topic-{number}" for number in (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    ]
    one = lake.files(made, "snapshot", ["cluster_id=cluster-1/day=2026-11-02", "cluster_id=none/day=2026-11-02"])
    assert len(one) == 1
    assert made.run_id in one[0]


def test_names_of_clusters_become_no_paths(lake: Lake) -> None:
    names = ["../../../outside", "a/b", "", "x=y", "é"]
    rows = arrow_rows(TABLES["snapshot"], ({"cluster_id": name, "entity_key": "t"} for name in names))
    made = add(lake, rows)
    assert {row[0] for row in rows_of(lake, "snapshot")} == set(names)
    inside = Path(lake.where).resolve()
    assert all(Path(file).resolve().is_relative_to(inside / "data") for file in lake.files(made, "snapshot"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop_columns(["attr"]), "missing or unknown columns: attr"),
        (lambda rows: rows.append_column("more", rows["attr"]), "missing or unknown columns: more"),
        (lambda rows: rows.set_column(1, "observed_ts", [["noon"] * rows.num_rows]), "observed_ts|noon"),
        (lambda rows: rows.set_column(8, "is_sensitive", pa.nulls(rows.num_rows, pa.bool_())), "is_sensitive is empty"),
    ],
)
def test_rows_that_do_not_fit_are_refused(lake: Lake, change: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        add(lake, change(snapshot_rows(3)))  # type: ignore[operator]
    assert lake.current() == Release()
    assert not list(Path(lake.path("data")).rglob("*.parquet"))


def test_a_partition_is_replaced_and_a_table_too(lake: Lake) -> None:
    add(lake, snapshot_rows(10, days=2))
    first, second = "cluster_id=cluster-0/day=2026-11-01", "cluster_id=cluster-1/day=2026-11-02"
    with writing(lake, "compact") as write:
        write.replace("snapshot", {first: []})
        made = write.commit()
    assert list(made.tables["snapshot"].partitions) == [second]
    with writing(lake, "compact") as write:
        write.replace("snapshot", {}, whole=True)
        write.commit()
    assert rows_of(lake, "snapshot") == []


def test_versions_are_kept_and_then_swept_with_their_files(lake: Lake) -> None:
    made = []
    for number in range(6):
        with writing(lake, "build", keep=3) as write:
            folder = write.folder("snapshot", "cluster_id=c/day=2026-11-01")
            Path(folder).mkdir(parents=True)
            pq.write_table(snapshot_rows(number + 1), f"{folder}/part.parquet")
            write.replace("snapshot", {"cluster_id=c/day=2026-11-01": [folder]}, whole=True)
            made.append(write.commit())
    assert [release.run_id for release in lake.releases()] == [each.run_id for each in reversed(made[3:])]
    for number, release in enumerate(made[3:], start=4):
        assert len(rows_of(lake, "snapshot", release)) == number
    left = {folder.name for folder in Path(lake.path("data/snapshot")).glob("v=*")}
    assert left == {f"v={each.run_id}" for each in made[3:]}
    # Each run's own row is in a file of its own, and none of these is lost.
    assert len(rows_of(lake, "run", without=())) == 6


def test_many_runs_leave_few_files(lake: Lake) -> None:
    for number in range(40):
        with writing(lake, "collect", keep=1) as write:
            made = write.commit(message=str(number))
    assert len(made.tables["run"].files) <= 16
    messages = TABLES["run"].names.index("message")
    assert sorted(int(row[messages]) for row in rows_of(lake, "run", without=())) == list(range(40))


def test_what_is_remembered_moves_with_the_tables(lake: Lake) -> None:
    with writing(lake, "ingest") as write:
        write.remember({"log a": {"bytes": 10}, "log b": 1})
        write.commit()
    with writing(lake, "ingest") as write:
        write.remember({"log a": {"bytes": 20}, "log b": None})
    assert lake.current().inputs == {"log a": {"bytes": 10}, "log b": 1}
    with writing(lake, "ingest") as write:
        write.remember({"log a": {"bytes": 20}, "log b": None})
        write.commit()
    assert lake.current().inputs == {"log a": {"bytes": 20}}


def test_what_another_program_wrote_is_taken_in_by_its_folder(lake: Lake) -> None:
    with writing(lake, "build") as write:
        folder = write.folder("history", "cluster_id=c")
        unused = write.folder("drift", "cluster_id=c")
        for name, rows in (("part-a.parquet", 5), ("part-b.parquet", 0), ("_part.parquet", 3)):
            Path(folder).mkdir(parents=True, exist_ok=True)
            pq.write_table(arrow_rows(TABLES["history"], [{}] * rows), Path(folder, name))
        Path(unused).mkdir(parents=True)
        pq.write_table(arrow_rows(TABLES["drift"], [{}]), Path(unused, "part.parquet"))
        write.rewrite("history", (), {"cluster_id=c": [folder]})
        assert write.draft.tables["history"].rows == 5
        with pytest.raises(ValueError, match="is not in the lake"):
            write.rewrite("history", (), {"cluster_id=c": ["/elsewhere"]})
        made = write.commit()
    assert [Path(file).name for file in lake.files(made, "history")] == ["part-a.parquet"]
    assert not Path(unused).exists()


def test_the_second_writer_is_refused_and_told_who_holds_the_lock(lake: Lake) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lake.where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        run_id = other.stdout.readline().strip()
        with pytest.raises(LakeBusy) as busy, writing(lake, "build"):
            pytest.fail("two writers")
        holder = busy.value.holder
        assert holder is not None
        assert f"`collect` of {holder.user} on {holder.host}, process {other.pid}, since 20" in str(busy.value)
        assert run_id in str(busy.value)
        assert lake.current() == Release()  # readers are not held up

        other.kill()  # the lock goes with its process, and the next one says whose it was
        other.wait()
        with writing(lake, "build") as write:
            assert write.taken_over is not None
            assert (write.taken_over.run_id, write.taken_over.pid) == (run_id, other.pid)
            write.commit()
    with writing(lake, "build") as write:
        assert write.taken_over is None
    assert lake.failed_runs() == []  # who writes nothing and commits nothing has not failed


def test_a_run_that_fails_leaves_the_record_of_it_alone(lake: Lake) -> None:
    held = add(lake, snapshot_rows(3))

    def run() -> None:
        with writing(lake, "collect", inputs={"cluster": "c"}) as write:
            write.add_arrow("snapshot", snapshot_rows(5))
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        run()
    assert lake.current() == held
    (failed,) = lake.failed_runs()
    assert (failed["job"], failed["message"], failed["rows"]) == ("collect", "the disk is full", '{"snapshot": 5}')
    assert json.loads(failed["inputs"]) == {"cluster": "c"}
    assert {folder.name for folder in Path(lake.path("data/snapshot")).glob("v=*")} == {f"v={held.run_id}"}

    with writing(lake, "ingest") as write:
        write.add_arrow("snapshot", snapshot_rows(5))
        write.fail("7 of 10 lines can't be read", quarantined=7)
        with pytest.raises(LakeError, match="has ended"):
            write.commit()
    assert [(each["message"], each["quarantined"]) for each in lake.failed_runs()][:1] == [
        ("7 of 10 lines can't be read", 7)
    ]
    assert lake.current() == held
    for _ in range(25):
        with writing(lake, "ingest") as write:
            write.fail("x")
    assert len(lake.failed_runs()) == 20


def test_what_others_raise_is_not_quoted(lake: Lake) -> None:
    with pytest.raises(ZeroDivisionError), writing(lake, "build"):
        raise ZeroDivisionError("password=hunter2")
    with pytest.raises(KeyboardInterrupt), writing(lake, "build"):
        raise KeyboardInterrupt
    messages = {each["message"] for each in lake.failed_runs()}
    assert messages == {"ZeroDivisionError; the log file has the rest.", "It was interrupted."}


def test_leftovers_of_a_killed_run_are_swept_and_those_of_the_running_one_are_not(lake: Lake) -> None:
    held = add(lake, snapshot_rows(3))
    dead = Path(lake.path("data/snapshot/v=20250101T000000Z-abcdef/0"))
    dead.mkdir(parents=True)
    Path(lake.path("lock")).write_bytes(this_process("20250101T000000Z-abcdef", "collect").text)
    strange = Path(lake.path("data/snapshot/v=mine"))
    strange.mkdir()
    with writing(lake, "build") as write:
        running = Path(write.folder("history", "cluster_id=c"))
        running.mkdir(parents=True)
        pq.write_table(arrow_rows(TABLES["history"], [{}]), running / "part.parquet")
        write.rewrite("history", (), {"cluster_id=c": [str(running)]})
        write.commit()
    assert not dead.exists()
    assert strange.exists()
    assert running.exists()
    assert lake.releases()[1] == held


def test_who_has_lost_the_lock_commits_nothing(lake: Lake) -> None:
    add(lake, snapshot_rows(3))
    with writing(lake, "build") as write:
        write.add_arrow("snapshot", snapshot_rows(4))
        Path(lake.path("lock")).unlink()  # as where a lease ended
        other = add(Lake.open(lake.where), snapshot_rows(5))
        with pytest.raises(LeaseLost, match="Another run took the lock"):
            write.commit()
    assert lake.current() == other
    assert len(rows_of(lake, "snapshot")) == 8


def test_damage_is_told_with_the_file_that_has_it(lake: Lake) -> None:
    add(lake, snapshot_rows(3))

    def said(path: str, broken: str | None, what: str) -> None:
        file = Path(lake.path(path))
        whole = file.read_bytes()
        file.unlink() if broken is None else file.write_text(broken)
        with pytest.raises(DamagedLake, match=what) as wrong:
            Lake.open(lake.where).current().table(TABLES["snapshot"])
        assert path.rpartition("/")[2] in str(wrong.value)
        file.write_bytes(whole)

    (rows,) = Path(lake.path("data/release")).rglob("*.parquet")
    log = "data/snapshot/_delta_log/00000000000000000000.json"
    text = Path(lake.path(log)).read_text()
    for path in ("data/release/_delta_log/00000000000000000001.json", log):
        said(path, "", "it is empty")
        said(path, "{", "Expecting property name")
        said(path, "[]", "no attribute")
        said(path, '{"add": {"path": "a"}}', "partitionValues")
    said(log, None, "is not there")
    said(log, text.replace("v=", "../v="), "lies outside the table")
    said(log, text.replace("v=", "s3://b/v="), "lies outside the table")
    said(str(rows.relative_to(lake.where)), None, "is not there")
    said(str(rows.relative_to(lake.where)), "PAR1", "small|Parquet|magic")
    said("lake.json", "[", "Expecting value")
    assert Lake.open(lake.where).current().table(TABLES["snapshot"]).rows == 3


def test_reading_needs_no_pyarrow(lake: Lake) -> None:
    add(lake, snapshot_rows(3))
    script = (
        "import sys\n"
        "from console.history.store import Lake\n"
        "lake = Lake.open(sys.argv[1])\n"
        "print(len(lake.files(lake.current(), 'snapshot')), {'pyarrow', 'deltalake', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, lake.where], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout.split() == ["2", "set()"]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_is_interrupted_while_it_is_committed_holds_whole_or_not_at_all(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    held = add(lake, snapshot_rows(3))
    settle = lake.filesystem.settle

    def interrupted(folders: list[str], within: str) -> None:
        last = "data/release/v=" if moment == "before" else "data/release/_delta_log"
        if any(last in folder for folder in folders):
            raise KeyboardInterrupt
        settle(folders, within)

    monkeypatch.setattr(lake.filesystem, "settle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        add(lake, snapshot_rows(4))
    monkeypatch.undo()
    assert len(rows_of(lake, "snapshot")) == (3 if moment == "before" else 7)
    assert (lake.current() == held) is (moment == "before")
    assert len(lake.failed_runs()) == (moment == "before")


def test_what_can_not_be_swept_does_not_fail_the_run(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(lake.filesystem, "remove", refused)
    for number in range(1, 4):
        assert add(lake, snapshot_rows(1), keep=1) == lake.current()
        assert len(rows_of(lake, "snapshot")) == number
    monkeypatch.undo()
    add(lake, snapshot_rows(1), keep=1)
    assert len(list(Path(lake.path("data/snapshot")).glob("v=*"))) == 4  # rows of each
    assert len(list(Path(lake.path("data/release")).glob("v=*"))) <= 4
