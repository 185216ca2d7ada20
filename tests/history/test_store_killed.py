"""Whenever a run is killed, the former tables are whole, and the next run goes on from there."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.history.store import Lake, Release, delta_log
from console.history.store.filesystem import Filesystem
from console.history.store.write import writing
from tests.history.crashing_runs import CRASHED
from tests.history.endless_runs import DAYS, KEPT, one_run
from tests.history.lake_rows import no_spark, rows_of, snapshot_rows

if TYPE_CHECKING:
    pass

KILLS = 20
SPARK_KILLS = 2
MOST_RUNS = KEPT + 2
"""In a lake on which runs crash: each check reads all of it."""
ROOT = Path(__file__).parents[2]


def consistent(lake: Lake, release: Release) -> int:
    """How many runs the version holds; each table tells of the same number."""
    runs = int(release.inputs.get("runs", 0))
    assert {row[6] for row in rows_of(lake, "snapshot", release)} == {str(number + 1) for number in range(runs)}
    assert len(rows_of(lake, "snapshot", release)) == runs * DAYS * 2
    assert [row[5] for row in rows_of(lake, "history", release)] == [str(runs)] * runs
    assert len(rows_of(lake, "run", release)) == runs
    return runs


def left_in_order(lake: Lake, held: int) -> None:
    """What runs that died left behind goes with the next one."""
    kept = [consistent(lake, older) for older in lake.releases()]
    # Killed when it was through but for what it takes away, the last run leaves one more.
    assert kept == [held - back for back in range(len(kept))]
    assert len(kept) in (KEPT, KEPT + 1)
    one_run(lake)
    assert [consistent(lake, older) for older in lake.releases()] == [held + 1 - back for back in range(KEPT)]
    named = {
        path.split("/")[2] for release in lake.releases() for table in release.tables.values() for path in table.files
    }
    assert tables_folders(lake) == named
    for name, version in lake.current().versions.items():  # nothing is ahead of the release
        assert delta_log.listed(lake.filesystem, lake.path(f"data/{name}")).newest == version
    assert lake.failed_runs() == []


def tables_folders(lake: Lake) -> set[str]:
    return {each.name for each in Path(lake.path("data")).glob("*/v=*") if each.parent.name != "release"}


COMMITS = ("snapshot", "history", "run", "release")
"""What a run commits to, in this order."""


@contextmanager
def crashing(lake: Lake) -> Iterator[Callable[[str], int]]:
    """Makes runs that crash where a line says; gives their exit code."""
    command = [sys.executable, "-m", "tests.history.crashing_runs", lake.where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as runs:
        assert runs.stdin is not None
        assert runs.stdout is not None
        to, of = runs.stdin, runs.stdout

        def run(line: str) -> int:
            to.write(f"{line}\n")
            to.flush()
            return int(of.readline())

        yield run
        runs.stdin.close()


def test_a_run_that_ends_before_or_after_any_commit_leaves_the_former_tables_or_the_new(tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    one_run(lake)
    held, moved = 1, []
    with crashing(lake) as run:
        for point in range(2 * len(COMMITS)):
            assert run(f"commit {point}") == CRASHED
            now = consistent(lake, lake.current())
            moved.append(now - held)
            held = now
            ahead = {name for name in COMMITS[:-1] if newest(lake, name) != lake.current().versions[name]}
            assert ahead == (set(COMMITS[: (point + 1) // 2]) if point < 2 * len(COMMITS) - 1 else set())
            assert [consistent(lake, older) for older in lake.releases()] == list(range(held, max(0, held - KEPT), -1))
        assert run(f"commit {2 * len(COMMITS)}") == 0
    assert moved == [0] * (2 * len(COMMITS) - 1) + [1]
    one_run(lake)
    left_in_order(lake, held + 2)


def newest(lake: Lake, table: str) -> int | None:
    return delta_log.listed(lake.filesystem, lake.path(f"data/{table}")).newest


@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.timeout(3600)
def test_a_run_that_ends_before_any_of_its_writes_leaves_the_former_tables_or_the_new(
    tmp_path: Path, stride: int
) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    for _ in range(KEPT):
        one_run(lake)
    small = shutil.copytree(lake.where, tmp_path / "small")
    held, codes, moved, locked = KEPT, [], [], 0
    with crashing(lake) as run:
        while 0 not in codes:
            if held > MOST_RUNS:
                shutil.rmtree(lake.where)
                shutil.copytree(small, lake.where)
                held = KEPT
            codes.append(run(f"change {len(codes) * stride + 1}"))
            now = consistent(lake, Lake.open(lake.where).current())
            moved.append(now - held)
            held = now
            locked += bool(Path(lake.path("lock")).read_bytes())
    assert set(codes) == {0, CRASHED}
    # The tables change at one of the writes, and all that follow belong to the new ones.
    assert moved == sorted(moved)
    assert set(moved) == {0, 1}
    assert len(codes) * stride > 30
    assert locked > len(codes) * 0.8
    left_in_order(Lake.open(lake.where), held)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_run_that_is_killed_at_any_moment_leaves_the_former_tables(tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    chance = random.Random(20261121)
    held, in_the_midst = 0, 0
    command = [sys.executable, "-m", "tests.history.endless_runs", lake.where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as begins:
        assert begins.stdin is not None
        assert begins.stdout is not None
        for _ in range(KILLS):
            begins.stdin.write("\n")
            begins.stdin.flush()
            process, began, seconds, again = (begins.stdout.readline() for _ in range(4))
            assert began == again == "began\n"
            threading.Event().wait(chance.uniform(0, float(seconds)))  # the moment is the test
            os.kill(int(process.split()[1]), signal.SIGKILL)
            while begins.stdout.readline() != "ended\n":
                pass
            release = lake.current()
            runs = consistent(lake, release)
            assert runs > held
            held = runs
            in_the_midst += bool(Path(lake.path("lock")).read_bytes())
        begins.stdin.close()
    assert in_the_midst > KILLS / 2  # of a run, and not between two
    left_in_order(lake, held)


class Died(BaseException):
    """A process that would have ended here."""


class DyingFilesystem(Filesystem):
    """Ends at one of its writes, and changes nothing from then on. point: the number of the write, from 1."""

    def __init__(self, point: int) -> None:
        self.left = point
        self.is_dead = False

    def _count(self) -> None:
        self.left -= 1
        if self.is_dead or not self.left:
            self.is_dead = True
            raise Died

    def create(self, path: str, data: bytes, *, private: bool = False) -> None:
        self._count()
        super().create(path, data, private=private)

    def replace(self, path: str, data: bytes) -> None:
        self._count()
        super().replace(path, data)

    def remove(self, path: str) -> None:
        self._count()
        super().remove(path)

    def settle(self, folders: list[str], within: str) -> None:
        self._count()
        super().settle(folders, within)


def test_a_build_that_ends_before_any_of_its_writes_leaves_the_former_tables(tmp_path: Path) -> None:
    from console.history.jobs.build import build

    tables = ("change_event", "history")
    lake = Lake.create(str(tmp_path / "lake"))
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(20, days=1))
        write.commit()
    for _ in range(2):  # both kept versions have all tables
        build(no_spark, lake, tables, keep=2)
    dead = 0
    while True:
        dying = DyingFilesystem(dead + 1)
        held = lake.current()
        try:
            build(no_spark, Lake(lake.where, dying), tables, keep=2)
        except Died:
            dead += 1
        assert lake.current().created >= held.created
        for release in lake.releases():
            assert {row[5] for row in rows_of(lake, "history", release)} == {str(each) for each in range(20)}
            assert len(rows_of(lake, "change_event", release)) == 20
        if not dying.is_dead:
            break
    assert dead >= 4
    with writing(lake, "compact", keep=2) as write:  # whoever raises gives the lock back: nobody is known to have died
        write.commit()
    named = {
        path.split("/")[2] for release in lake.releases() for table in release.tables.values() for path in table.files
    }
    assert tables_folders(lake) == named


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_build_that_is_killed_leaves_the_former_tables(tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(200, days=3))
        write.commit()
    chance = random.Random(20261122)
    for _ in range(SPARK_KILLS):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.history.endless_builds", lake.where],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        ) as child:
            assert child.stdout is not None
            java = int(child.stdout.readline())
            assert child.stdout.readline() == "began\n"
            seconds = float(child.stdout.readline())
            held = lake.current()
            assert child.stdout.readline() == "began\n"
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(chance.uniform(0.1, 0.9) * seconds)
            child.kill()
            child.wait()
            while is_alive(java):  # it ends when its standard input does
                threading.Event().wait(0.05)
        assert lake.current().created >= held.created
        for release in lake.releases():
            assert {row[5] for row in rows_of(lake, "history", release)} == {str(each) for each in range(200)}
            assert len(rows_of(lake, "change_event", release)) == 200
    with writing(lake, "collect", keep=2) as write:
        write.commit()
    named = {
        path.split("/")[2] for release in lake.releases() for table in release.tables.values() for path in table.files
    }
    assert tables_folders(lake) == named


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One whose parent has ended before it may be there as a zombie until somebody asks.
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:  # it has gone meanwhile, or this system has no /proc
        return not Path("/proc").is_dir()
