"""An update is killed with all its processes, or fails, and another one ends it: each line and record is there once."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from console.lake.app import update
from console.lake.files import LakeBusy, LakeError, new_run_id
from console.lake.lake import Lake
from console.lake.plans import SOURCES
from console.lake.runs import GOLD, SparkFailed, committed
from console.lake.schema import BRONZE, KRAFT_RECORD, TABLES
from console.lake.tables import Tables
from tests.lake.dying_update import Told
from tests.lake.small_site import Site, no_session
from tests.lake.two_lakes import TwoLakes
from tests.support.children import Child
from tests.support.metadata_log import value
from tests.support.patience import LONG_PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark-two"), pytest.mark.timeout(1800)]
MOMENTS = tuple(f"{when}:{name}" for name in TABLES for when in ("before", "after"))
CHOSEN = ("after:authorization", "before:history", "after:access")
"""Right after a table of bronze, in the middle of gold, and where but the checkpoint is missing."""


def begun(lake: Lake, site: Site, deaths: Sequence[str] = ()) -> subprocess.Popen[str]:
    """An update in a process group of its own."""
    file = Path(f"{lake.where}.json")
    file.write_bytes(msgspec.json.encode(Told(lake.where, site.inputs, tuple(deaths))))
    command = [sys.executable, "-m", "tests.lake.dying_update", str(file)]
    root = Path(__file__).parents[2]
    return Child(
        command,
        cwd=root,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def ended(update_of: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code, and the last line that it said."""
    try:
        said, _ = update_of.communicate(timeout=LONG_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(update_of.pid, signal.SIGKILL)
        raise
    return update_of.returncode, said.strip().rpartition("\n")[2]


@pytest.mark.takes(60)
def test_ended_three_times_a_lake_has_everything_once(two: TwoLakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a kill, and before and after it by an exception, which starts no Java; the next test kills at every write."""
    two.go_on(3)
    first, middle, last = CHOSEN
    assert failed_at(two, monkeypatch, {first}) == first
    assert ended(begun(two.disturbed, two.site, [middle])) == (-signal.SIGKILL, middle)
    two.go_on()
    assert failed_at(two, monkeypatch, {last}) == last
    two.go_on()
    two.compare()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_killed_at_every_write_a_lake_has_everything_once(two: TwoLakes) -> None:
    two.go_on()
    left = set(MOMENTS)
    while (found := ended(begun(two.disturbed, two.site, sorted(left)))) != (0, ""):
        code, moment = found
        assert (code, moment in left) == (-signal.SIGKILL, True), found
        left.discard(moment)
    assert {moment.partition(":")[2] for moment in set(MOMENTS) - left} >= {table.name for table in BRONZE} | {
        "change_event",
        "history",
    }
    two.compare()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_killed_at_a_hundred_moments_a_lake_has_everything_once(two: TwoLakes) -> None:
    dice = random.Random(4711)
    two.go_on()
    for _ in range(100):
        two.go_on(dice.randrange(2))
        run = begun(two.disturbed, two.site)
        try:
            run.wait(timeout=dice.uniform(2, 30))
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
        code, said = ended(run)
        assert code in (0, -signal.SIGKILL), said
    two.compare()


@pytest.mark.long
def test_what_fails_at_every_write_is_ended_by_the_next(two: TwoLakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one session: an exception in place of each death, with a new application after each."""
    two.go_on()
    left = set(MOMENTS)
    for _ in range(len(MOMENTS) + 1):
        if (moment := failed_at(two, monkeypatch, left)) is None:
            break
        left.remove(moment)
    else:
        raise AssertionError("no update ended")
    assert {each.name for each in BRONZE} | {"change_event", "history"} <= {
        moment.partition(":")[2] for moment in set(MOMENTS) - left
    }
    two.compare()


def failed_at(two: TwoLakes, monkeypatch: pytest.MonkeyPatch, moments: Collection[str]) -> str | None:
    """The moment at which an update of the disturbed lake failed: the first of these that came. None: it ended."""
    failed: list[str] = []
    save = Tables._save

    def at(moment: str) -> None:
        if moment in moments:
            failed.append(moment)
            raise Died

    def saving(self: Tables, *given: object) -> None:
        at(f"before:{given[1].name}")  # type: ignore[attr-defined]
        save(self, *given)  # type: ignore[arg-type]
        at(f"after:{given[1].name}")  # type: ignore[attr-defined]

    with monkeypatch.context() as patch, suppress(Died), died_in_spark():
        patch.setattr(Tables, "_save", saving)
        two.update(two.disturbed)
    return failed[0] if failed else None


class Died(Exception):
    """In place of a death."""


@contextmanager
def died_in_spark() -> Iterator[None]:
    """Raises Died where that is what Spark's error is about."""
    try:
        yield
    except SparkFailed as wrong:
        if "Died" in str(wrong.__cause__):
            raise Died from wrong
        raise


@pytest.mark.takes(40)
def test_lost_checkpoints_take_nothing_in_twice(two: TwoLakes) -> None:
    """Sources go on where bronze's commits say that they ended; gold is made again."""
    two.go_on()
    shutil.rmtree(Path(two.disturbed.where, "checkpoints"))
    assert {committed(two.disturbed, name) for name in (*SOURCES, GOLD)} == {None}
    two.compare()
    shutil.rmtree(Path(two.disturbed.where, "checkpoints"))
    two.compare()


def test_the_second_of_two_is_refused_by_name(two: TwoLakes) -> None:
    two.go_on()
    run_id = new_run_id()
    with two.disturbed.alone(run_id, "run"), pytest.raises(LakeBusy, match=re.escape(run_id)):
        update(two.site.plan(two.disturbed), no_session)


@pytest.fixture
def small_disk(two: TwoLakes) -> Iterator[Callable[[int], None]]:
    """The folder of the disturbed lake's records is on a disk of its own with 64 KiB left; what is called gives it
    another size, in bytes."""
    if two.disturbed.version(KRAFT_RECORD) < 1:
        two.go_on()
        two.update(two.disturbed)
    folder = Path(two.disturbed.folder(KRAFT_RECORD))
    kept = folder.with_name("kept")
    folder.rename(kept)
    folder.mkdir()
    if mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)):
        folder.rmdir()
        kept.rename(folder)
        pytest.skip("only root may mount a small disk")

    def resize(size: int) -> None:
        assert mount("-o", f"remount,size={size}", str(folder)) == 0

    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        resize(shutil.disk_usage(folder).used + (64 << 10))
        yield resize
        shutil.rmtree(kept)
        shutil.copytree(folder, kept)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()
        kept.rename(folder)


def mount(*options: str) -> int:
    """Its exit code."""
    return subprocess.run(["mount", *options], check=False, stderr=subprocess.DEVNULL).returncode


@pytest.mark.long
def test_a_full_disk_is_said_and_the_next_update_is_whole(two: TwoLakes, small_disk: Callable[[int], None]) -> None:
    """The batch that fails is the first of a new checkpoint: it still begins where bronze ends."""
    shutil.rmtree(Path(two.disturbed.where, "checkpoints", "kraft_log"), ignore_errors=True)
    two.go_on()
    for number in range(1000):
        text = random.Random(number).randbytes(200).hex()
        two.site.record(value("ConfigRecord", resourceType=2, resourceName="orders", name=f"k{number}", value=text))
    with pytest.raises(LakeError, match=r"No space left on device: .* needs more room"):
        two.update(two.disturbed)
    report = next(two.disturbed.runs())
    assert (report["status"], report["message"][:23]) == ("failed", "No space left on device")
    small_disk(64 << 20)
    two.compare()
