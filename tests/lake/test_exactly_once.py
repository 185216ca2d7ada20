"""Tests of updates that fail or are killed with all their processes: the next update completes them, and then each line
and record is in the lake exactly once.
"""

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

from console.lake import app, files, plans, runs, schema, tables
from console.lake.lake import Lake
from tests.lake.dying_update import Told
from tests.lake.small_site import Site, no_session
from tests.lake.two_lakes import TwoLakes
from tests.support.children import Child
from tests.support.metadata_log import value
from tests.support.patience import LONG_PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark-two"), pytest.mark.timeout(1800)]
MOMENTS = tuple(f"{when}:{name}" for name in schema.TABLES for when in ("before", "after"))
CHOSEN = ("after:authorization", "before:history", "after:access")
"""Three moments at which an update is ended: right after a table of bronze was written, between tables of gold, and
when only the checkpoint is not yet written.
"""


def begun(lake: Lake, site: Site, deaths: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start an update of the lake as a process group of its own, which kills itself at the first of the moments
    `deaths`.
    """
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
    """Wait until an update ends; return its exit code and the last line that it printed."""
    try:
        said, _ = update_of.communicate(timeout=LONG_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(update_of.pid, signal.SIGKILL)
        raise
    return update_of.returncode, said.strip().rpartition("\n")[2]


@pytest.mark.takes(60)
def test_ended_three_times_a_lake_has_everything_once(two: TwoLakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lake whose update was ended at three moments has all rows once. At the first moment the update is killed. At
    the others it raises an exception, which leaves the same tables and checkpoints as a kill and does not start Java
    again.
    """
    two.go_on(3)
    first, *others = CHOSEN
    assert ended(begun(two.disturbed, two.site, [first])) == (-signal.SIGKILL, first)
    for moment in others:
        assert failed_at(two, monkeypatch, {moment}) == moment
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
    assert {moment.partition(":")[2] for moment in set(MOMENTS) - left} >= {table.name for table in schema.BRONZE} | {
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
    """A lake whose updates fail at every write, one after another, has all rows once. All updates run in one Spark
    session: an exception ends each in place of a kill, and the next one has a new application.
    """
    two.go_on()
    left = set(MOMENTS)
    for _ in range(len(MOMENTS) + 1):
        if (moment := failed_at(two, monkeypatch, left)) is None:
            break
        left.remove(moment)
    else:
        raise AssertionError("no update ended")
    assert {each.name for each in schema.BRONZE} | {"change_event", "history"} <= {
        moment.partition(":")[2] for moment in set(MOMENTS) - left
    }
    two.compare()


def failed_at(two: TwoLakes, monkeypatch: pytest.MonkeyPatch, moments: Collection[str]) -> str | None:
    """Update the disturbed lake, and raise an exception at the first of these moments that is reached. Return this
    moment; None if the update succeeds, because it reaches none.
    """
    failed: list[str] = []
    save = tables.Tables._save

    def at(moment: str) -> None:
        if moment in moments:
            failed.append(moment)
            raise Died

    def saving(self: tables.Tables, *given: object) -> None:
        at(f"before:{given[1].name}")  # type: ignore[attr-defined]
        save(self, *given)  # type: ignore[arg-type]
        at(f"after:{given[1].name}")  # type: ignore[attr-defined]

    with monkeypatch.context() as patch, suppress(Died), died_in_spark():
        patch.setattr(tables.Tables, "_save", saving)
        two.update(two.disturbed)
    return failed[0] if failed else None


class Died(Exception):
    """Raised within an update in place of a kill."""


@contextmanager
def died_in_spark() -> Iterator[None]:
    """If an error of Spark was caused by Died, raise Died in its place."""
    try:
        yield
    except runs.SparkFailed as wrong:
        if "Died" in str(wrong.__cause__):
            raise Died from wrong
        raise


def test_the_second_of_two_is_refused_by_name(two: TwoLakes) -> None:
    two.go_on()
    run_id = files.new_run_id()
    with two.disturbed.alone(run_id, "run"), pytest.raises(files.LakeBusy, match=re.escape(run_id)):
        app.update(two.site.plan(two.disturbed), no_session)


@pytest.mark.takes(40)
@pytest.mark.parametrize("news", [1, pytest.param(0, marks=pytest.mark.long)])
def test_lost_checkpoints_take_nothing_in_twice(two: TwoLakes, news: int) -> None:
    """If the checkpoints are lost, each source continues at the offset in bronze's last commit, and gold is built
    again; no row is in the lake twice. news: the number of rounds since the last update.
    """
    if not news or two.disturbed.version(schema.KRAFT_RECORD) < 1:
        two.compare()
    two.go_on(news)
    shutil.rmtree(Path(two.disturbed.where, "checkpoints"))
    assert {runs.committed(two.disturbed, name) for name in (*plans.SOURCES, runs.GOLD)} == {None}
    two.compare()


@pytest.fixture
def small_disk(two: TwoLakes) -> Iterator[Callable[[int], None]]:
    """Mount a separate disk with 64 KiB left for the rows of the disturbed lake. Provide a function that sets the size
    of this disk, in bytes.
    """
    if two.disturbed.version(schema.KRAFT_RECORD) < 1:
        two.go_on()
        two.update(two.disturbed)
    folder = Path(two.disturbed.folder(schema.KRAFT_RECORD))
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
    """Run the command mount with these options, and return its exit code."""
    return subprocess.run(["mount", *options], check=False, stderr=subprocess.DEVNULL).returncode


@pytest.mark.long
def test_a_full_disk_is_said_and_the_next_update_is_whole(two: TwoLakes, small_disk: Callable[[int], None]) -> None:
    """An update on a full disk fails with a message, and the next one on a larger disk completes it. The failed batch
    is the first of a new checkpoint; the next one still begins at the end of bronze.
    """
    shutil.rmtree(Path(two.disturbed.where, "checkpoints", "kraft_log"), ignore_errors=True)
    two.go_on()
    for number in range(1000):
        text = random.Random(number).randbytes(200).hex()
        two.site.record(value("ConfigRecord", resourceType=2, resourceName="orders", name=f"k{number}", value=text))
    with pytest.raises(files.LakeError, match=r"No space left on device: .* needs more room"):
        two.update(two.disturbed)
    report = next(two.disturbed.runs())
    assert (report["status"], report["message"][:23]) == ("failed", "No space left on device")
    small_disk(64 << 20)
    two.compare()
