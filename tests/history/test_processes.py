"""Logs that are read by processes of this machine: what is killed, interrupted or fails leaves the lake as it was."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from console.history.jobs import processes, take
from console.history.jobs.ingest import ingest
from console.history.jobs.inputs import Inputs, RequestLog
from console.history.jobs.processes import side_by_side
from console.history.requests.parts import Part, read_part
from console.history.store import Lake
from tests.history.lake_rows import rows_of
from tests.history.request_lines import log_of, produce
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
RUN = """
import sys
from console.cli.main import run
from console.history.jobs import processes, take
from tests.history.test_processes import endless
processes.FEW_BYTES, processes.processors = 0, lambda: 2
take.read_part = endless
if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
"""


def told(_: int, __: int) -> None:
    """Progress is of no interest."""


def squares(number: int) -> Iterator[int]:
    yield from (number, number * number)


def failing(number: int) -> Iterator[int]:
    yield number
    raise FileNotFoundError(2, "No such file or directory", "/the/log")


def killed(_: int) -> Iterator[int]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield 1


def killed_once(flag: str, part: Part) -> Iterator[pa.RecordBatch]:
    """The first to come is killed after it has given something."""
    yield from read_part(part)
    try:
        Path(flag).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def endless(part: Part) -> Iterator[pa.RecordBatch]:
    """What a part has, again and again; where its log lies the process leaves its id."""
    Path(f"{part.path}.{os.getpid()}.pid").touch()
    while True:
        yield from read_part(part)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_all_items_are_read(workers: int) -> None:
    seen: list[tuple[int, int]] = []
    found = list(side_by_side(squares, range(20), workers, lambda done, of: seen.append((done, of))))
    assert sorted(found) == sorted([*range(20), *(each * each for each in range(20))])
    assert seen[-1] == (20, 20)
    assert list(side_by_side(squares, (), workers, told)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_process_raises_is_raised_here(workers: int) -> None:
    with pytest.raises(FileNotFoundError) as wrong:
        list(side_by_side(failing, range(5), workers, told))
    assert wrong.value.filename == "/the/log"


def test_a_killed_process_is_said_to_be_killed() -> None:
    with pytest.raises(ChildProcessError, match=r"was killed \(SIGKILL\), as Linux does where memory is short"):
        list(side_by_side(killed, range(5), 2, told))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(str(tmp_path / "lake"))


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """The logs of two brokers."""
    for broker in (1, 2):
        (tmp_path / f"{broker}.log").write_bytes(log_of([produce(1).later(each) for each in range(50)]))
    return Inputs(request_logs=tuple(RequestLog((str(tmp_path / f"{each}.log"),), "c", each) for each in (1, 2)))


def test_after_a_killed_process_the_lake_is_as_it_was_and_the_next_run_takes_all_in(
    lake: Lake, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "kill"
    flag.touch()
    monkeypatch.setattr(processes, "FEW_BYTES", 0)
    monkeypatch.setattr(processes, "processors", lambda: 2)
    monkeypatch.setattr(take, "read_part", partial(killed_once, str(flag)))
    with pytest.raises(ChildProcessError):
        ingest(None, lake, inputs)
    assert lake.current().tables == {}
    assert not list(Path(lake.where).rglob("*.parquet"))
    assert "was killed" in lake.failed_runs()[0]["message"]
    assert ingest(None, lake, inputs).rows == {"request_1s": 100}
    assert ingest(None, lake, inputs).rows == {}
    assert len(rows_of(lake, "request_1s")) == 100


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_processes_end_with_the_run(by: signal.Signals, lake: Lake, inputs: Inputs, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(RUN)
    logs = [f"--request-log={each.broker_id}={each.paths[0]}" for each in inputs.request_logs]
    run = subprocess.Popen(
        [sys.executable, str(tmp_path / "run.py"), "lake", "ingest", "--lake", lake.where, "--cluster-id=c", *logs],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    watch = select.poll()
    for number in workers(tmp_path, run):
        watch.register(os.pidfd_open(number))
    if by is signal.SIGINT:
        os.killpg(run.pid, by)  # as the terminal does
    else:
        run.send_signal(by)
    _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == (130 if by is signal.SIGINT else -by)
    assert "Traceback" not in said, said
    assert ("interrupted: the lake is as it was" in said) is (by is signal.SIGINT)
    for _ in range(2):
        (ended,) = watch.poll(PATIENCE * 1000)[:1]
        watch.unregister(ended[0])
        os.close(ended[0])
    assert lake.current().tables == {}
    assert ingest(None, lake, inputs).rows == {"request_1s": 100}
    assert len(rows_of(lake, "request_1s")) == 100


def workers(folder: Path, run: subprocess.Popen[str]) -> list[int]:
    """The ids of both, once they read."""
    while run.poll() is None:
        found = list(folder.glob("*.pid"))
        if len(found) == 2:
            return [int(each.name.split(".")[-2]) for each in found]
    raise AssertionError(run.communicate()[1])
