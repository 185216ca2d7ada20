"""Tests of a lake, or a folder of logs, into which other users may write: links, pipes and truncated files."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli import main as cli
from console.lake import inputs, journals, landing, plans
from console.lake.files import Filesystem, LakeError, this_process
from console.lake.lake import Lake
from console.safe_files import create_whole, open_plain

VICTIM = b"what nobody meant to lose\n" * 100
FILES = Filesystem()


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    file = tmp_path / "victim"
    file.write_bytes(VICTIM)
    return file


# -- the lock -------------------------------------------------------------------------------------------------------


def planted_link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def second_name(place: Path, victim: Path) -> None:
    os.link(victim, place)


@pytest.mark.parametrize("plant", [planted_link, second_name])
def test_a_lock_leaves_what_somebody_has_put_in_its_place(plant: object, tmp_path: Path, victim: Path) -> None:
    lock = tmp_path / "lake" / "lock"
    lock.parent.mkdir()
    plant(lock, victim)  # type: ignore[operator]
    with (
        pytest.raises(LakeError, match=r"lock .*delete it"),
        FILES.lock(str(lock), this_process("r", "x")),
    ):
        pass
    assert victim.read_bytes() == VICTIM


def test_a_lock_is_no_pipe_and_no_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(LakeError, match=name), FILES.lock(str(tmp_path / name), this_process("r", "x")):
            pass


def test_a_lock_of_ones_own_names_its_holder_and_is_empty_afterwards(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("x" * 10_000)
    holder = this_process("r", "x")
    with FILES.lock(str(lock), holder) as held:
        assert held.former is None
        assert lock.read_bytes() == holder.text
    assert lock.read_bytes() == b""


# -- a broken link does not hide other files ---------------------------------------------------------------------------


def test_a_dangling_link_hides_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c").symlink_to(tmp_path / "c")
    (tmp_path / "d").mkdir()
    assert [each.name for each in FILES.entries(str(tmp_path))] == ["a.json", "d"]
    lake = Lake.create(str(tmp_path / "lake"))
    (tmp_path / "lake/runs").mkdir()
    lake.put_run("20261121T101500Z-3f9a1c", {"job": "update"})
    (tmp_path / "lake/runs/z").symlink_to("nowhere")
    assert [each["job"] for each in lake.runs()] == ["update"]


def test_what_can_not_be_read_in_a_lake_is_named_for_its_operator(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If kac can't read a file of a lake, its message names the file: here a link to a process's memory, which looks
    like a plain file. It ignores pipes, folders and devices among the files of runs.
    """
    (tmp_path / "lake/runs").mkdir()
    lake.put_run("20261121T101500Z-3f9a1c", {"job": "update"})
    memory = tmp_path / "lake/runs/20261121T101600Z-3f9a1c.json"
    memory.symlink_to("/proc/self/mem")
    with pytest.raises(LakeError, match=rf"{memory} can't be read: .*take it away"):
        list(lake.runs())
    assert cli.run(["lake", "--lake", str(tmp_path / "lake"), "status"]) == 1
    assert f"kac: {memory} can't be read: " in capsys.readouterr().err.replace("\n", " ")
    memory.unlink()
    for number, make in enumerate((os.mkfifo, os.mkdir, lambda path: Path(path).symlink_to("/dev/zero"))):
        make(tmp_path / f"lake/runs/20261121T10170{number}Z-3f9a1c.json")  # not the record of a run
    assert [each["job"] for each in lake.runs()] == ["update"]
    for make in (os.mkfifo, os.mkdir, lambda path: Path(path).symlink_to("/proc/self/mem")):
        policies = tmp_path / "lake/policies.yaml"
        make(policies)
        with pytest.raises(LakeError, match=rf"{policies} can't be read: .*take it away"):
            lake.own_file("policies.yaml")
        policies.rmdir() if policies.is_dir() else policies.unlink()


def test_a_dangling_link_beside_journals_and_logs_stops_none_of_them(tmp_path: Path) -> None:
    journal = tmp_path / "c.jsonl"
    journal.write_text("")
    (tmp_path / "z.jsonl").symlink_to("nowhere")
    (tmp_path / "c.jsonl.d").mkdir()
    assert journals.journals_at([tmp_path]) == [journal]
    assert landing.landed_files(tmp_path, ".jsonl") == [journal]
    assert len(journals.journal_stats(journal)) == 1
    (tmp_path / "kafka-request.log").write_text("[2026-11-21 10:00:00,000] DEBUG x (other)\n")
    (tmp_path / "kafka-request.log.1").symlink_to("nowhere")
    log = inputs.RequestLog((f"{tmp_path}/kafka-request.log*",), "c", 1)
    assert plans.plan_broker_logs({}, [log]).logs
    assert inputs.Inputs(request_logs=(log,)).paths


def test_no_reader_of_a_lake_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lake.json")
    with pytest.raises(OSError, match="no plain file"):
        FILES.read(str(tmp_path / "lake.json"))
    with pytest.raises(OSError, match="no plain file"):
        open_plain(tmp_path / "lake.json")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


def circle(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("planted", [pipe, sparse, circle, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_of_a_lake_is_named_or_left_out(
    lake: Lake, tmp_path: Path, planted: Callable[[Path], None]
) -> None:
    lake.put_run("20260101T000000Z-aaaaaa", {"job": "update"})
    planted(tmp_path / "lake" / "runs" / "20260102T000000Z-aaaaaa.json")
    assert [run["job"] for run in lake.runs()] == ["update"]
    (tmp_path / "lake" / "lake.json").unlink()
    planted(tmp_path / "lake" / "lake.json")
    with pytest.raises(LakeError, match=r"lake at .* can't be read: lake\.json: "):
        Lake.open(lake.where)


# -- keys are written whole or not at all ------------------------------------------------------------------------------


def test_a_key_that_finds_no_room_is_not_there_and_the_next_try_makes_a_whole_one(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    code = "import sys; from console.lake.lake import Lake; Lake.create(sys.argv[1])"

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, resource.RLIM_INFINITY))

    done = subprocess.run([sys.executable, "-c", code, str(lake)], preexec_fn=full, capture_output=True, text=True)
    assert "File too large" in done.stderr
    assert list(lake.iterdir()) == []
    assert len(Lake.create(str(lake)).key()) == 32


@pytest.mark.parametrize("torn", [b"", b"12345678"])
def test_a_torn_key_is_said_with_what_to_do_and_never_replaced(lake: Lake, tmp_path: Path, torn: bytes) -> None:
    key = tmp_path / "lake/hmac.key"
    key.write_bytes(torn)
    for opened in (lake.key, lambda: Lake.open(lake.where).key()):
        with pytest.raises(LakeError, match=r"Put a copy of it back.*head -c 32"):
            opened()
    assert key.read_bytes() == torn
    (tmp_path / "lake/lake.json").unlink()
    with pytest.raises(LakeError, match="16 or more"):
        Lake.create(lake.where)
    assert not (tmp_path / "lake/lake.json").exists()


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "link").symlink_to(victim)
    for name in ("victim", "link"):
        with pytest.raises(FileExistsError):
            create_whole(tmp_path / name, b"x")
    assert victim.read_bytes() == VICTIM
    create_whole(tmp_path / "new", b"x", 0o600)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "new", "victim"]


def test_without_hard_links_it_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    create_whole(tmp_path / "new", b"x")
    assert (tmp_path / "new").read_bytes() == b"x"
    with pytest.raises(FileExistsError):
        create_whole(tmp_path / "new", b"y")
    assert [each.name for each in tmp_path.iterdir()] == ["new"]
