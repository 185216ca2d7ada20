"""Tests of a log that is rotated during a read: each line is read once, or the run fails and the next run reads it."""

import gzip
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from msgspec import structs

from console.lake.inputs import Inputs, RequestLog, UnreadableInput
from console.lake.plans import RequestLogs, Settings, plan_broker_logs
from console.lake.requests import log_files as files
from console.lake.requests.log_files import (
    BrokerLog,
    CutInPlaceError,
    LogChangedError,
    Part,
    opened_as_planned,
    parts_of,
    plan,
    read_part,
)
from tests.lake.request_lines import produce


def line(number: int) -> bytes:
    """Return a line of a request log whose time and client id differ for each number."""
    minute, milli = divmod(number * 7, 60_000)
    text = produce(1, client_id=f"c{number}").line.replace(
        "10:00:00,123", f"1{minute // 60 % 10}:{minute % 60:02}:00,000"
    )
    return text.replace(":00,000", f":{milli // 1000:02},{milli % 1000:03}").encode()


class Broker:
    """A broker's log directory, whose files are written, rotated, compressed, copied, truncated and deleted at
    random.
    """

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.live = folder / "kafka-request.log"
        self.live.write_bytes(b"")
        self.written = 0
        self.rotations = 0
        self.held = b""
        self.committed: Counter[str] = Counter()

    def write(self) -> None:
        """Append some lines to the log; the last one may be incomplete."""
        text = self.held
        for _ in range(self.chance.randrange(1, 9)):
            text += line(self.written)
            self.written += 1
        cut = self.chance.choice([0, 0, self.chance.randrange(1, 300)])
        text, self.held = (text[:-cut], text[-cut:]) if cut else (text, b"")
        with self.live.open("ab") as file:
            file.write(text)

    def finish(self) -> None:
        """Complete the last line, if it is incomplete."""
        with self.live.open("ab") as file:
            file.write(self.held)
        self.held = b""

    def rotate(self) -> None:
        """Rotate by renaming, as log4j does: .1 becomes .2, and so on."""
        self.finish()
        if not self.live.stat().st_size:
            return
        turned = sorted(self.turned(), key=lambda path: -int(path.name.split(".")[2]))
        for path in turned:
            number, _, packed = path.name.removeprefix("kafka-request.log.").partition(".")
            path.rename(path.with_name(f"kafka-request.log.{int(number) + 1}{'.' if packed else ''}{packed}"))
        self.live.rename(self.folder / "kafka-request.log.1")
        self.live.write_bytes(b"")

    def copy_and_empty(self) -> None:
        """Copy and truncate the log, as logrotate's copytruncate does; the copy has a new name."""
        self.finish()
        if not self.live.stat().st_size:
            return
        self.rotations += 1
        shutil.copy(self.live, self.folder / f"kafka-request.log-{self.rotations}")
        with self.live.open("r+b") as file:
            file.truncate(0)

    def copy(self) -> None:
        """Copy any file of the directory, as an operator may do."""
        path = self.chance.choice([*self.turned(), self.live])
        self.rotations += 1
        suffix = ".gz" if path.name.endswith(".gz") else ""
        shutil.copy(path, self.folder / f"kafka-request.log-{self.rotations}{suffix}")

    def pack(self) -> None:
        """Compress a rotated file as gzip does: write another file, then delete the first one. Sometimes stop after
        half of the other file. Do nothing if no rotated file is uncompressed.
        """
        plain = [path for path in self.turned() if not path.name.endswith(".gz")]
        if plain:
            path = self.chance.choice(plain)
            whole = gzip.compress(path.read_bytes())
            beside = path.with_name(f"{path.name}.gz")
            if self.chance.random() < 0.3:
                beside.write_bytes(whole[: len(whole) // 2])  # visible before it is complete
            else:
                beside.write_bytes(whole)
                path.unlink()

    def delete(self) -> None:
        """Delete some files whose lines are all committed."""
        for path in [*self.turned(), *self.folder.glob("kafka-request.log-*")]:
            if self.clients(path) <= self.committed.keys() and self.chance.random() < 0.5:
                path.unlink()

    def turned(self) -> list[Path]:
        return list(self.folder.glob("kafka-request.log.*"))

    def clients(self, path: Path) -> set[str]:
        try:
            text = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        except EOFError:
            return {"cut"}
        return set(re.findall(r'"clientId":"(c\d+)"', text.decode()))

    def disturb(self) -> None:
        """Make up to two random changes of the files: write, rotate, copy, empty, compress or delete."""
        deeds: list[Callable[[], None]] = [
            self.write,
            self.write,
            self.rotate,
            self.copy_and_empty,
            self.copy,
            self.pack,
            self.delete,
        ]
        for deed in self.chance.choices(deeds, k=self.chance.choice([0, 0, 1, 1, 2])):
            deed()

    def run(self, progress: dict[str, Any], *, quiet: bool = False) -> dict[str, Any]:
        """Read as a source does: plan, cut the plan into parts, read each part twice, and commit. Return the new
        progress. Raises AssertionError if the two reads differ. quiet: whether the files do not change meanwhile.
        """
        between: Callable[[], None] = (lambda: None) if quiet else self.disturb
        patterns = (str(self.folder / "kafka-request.log*"),)
        between()
        found = glob(patterns[0])  # noqa: PTH207 - as the source does it
        between()
        made = plan(found, progress, owner="c/1")
        between()
        parts = parts_of([BrokerLog("c", 1, made.spans, "UTC", patterns)], at_most=3000)
        first, second = ([name for part in parts for name in names(part, between)] for _ in range(2))
        assert first == second
        self.committed.update(first)
        kept: dict[str, Any] = json.loads(json.dumps(made.progress))
        return kept


class Stream:
    """Reads a broker's log as Spark does: it keeps a plan, and reads it again until a read succeeds."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        log = RequestLog((str(broker.folder / "kafka-request.log*"),), "c", 1)
        self.source = RequestLogs(Settings("", Inputs(request_logs=(log,)), ""))
        self.at = self.source.initial()
        self.planned: dict[str, Any] | None = None

    def take(self, *, quiet: bool = False) -> None:
        """Read the next batch, if there is one. quiet: whether the files do not change meanwhile."""
        between: Callable[[], None] = (lambda: None) if quiet else self.broker.disturb
        between()
        self.planned = self.planned or json.loads(json.dumps(self.source.newest(self.at)))
        between()
        found: list[str] = []
        for part in self.source.parts(self.at, self.planned):
            between()
            for batch in self.source.read(part):
                found += names_in(batch)
                between()
        self.broker.committed.update(found)
        self.at, self.planned = self.planned, None


@pytest.mark.parametrize("seed", range(30))
def test_what_is_planned_is_read_in_the_end_whatever_happens_to_the_files(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 2000)
    monkeypatch.setattr("console.lake.requests.log_files.parts_of", lambda logs: parts_of(logs, at_most=3000))
    broker = Broker(tmp_path, random.Random(seed))
    stream = Stream(broker)
    while broker.written < 6:
        broker.write()
    for _ in range(8):
        with suppress(LogChangedError, FileNotFoundError, EOFError, UnreadableInput):
            stream.take()
    broker.finish()
    for path in tmp_path.glob("*.gz"):
        if "cut" in broker.clients(path):
            path.unlink()  # gzip starts again
    for _ in range(2):
        stream.take(quiet=True)
    assert broker.committed == Counter(f"c{number}" for number in range(broker.written))


def names(part: Part, between: Callable[[], None]) -> Iterator[str]:
    between()
    for batch in read_part(msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(part))), Part)):
        between()
        yield from names_in(batch)


def names_in(batch: pa.RecordBatch) -> Iterator[str]:
    """Yield the client id of each request in a batch, and the reason for each unreadable line."""
    for row in batch.to_pylist():
        # A file that is truncated during the read looks damaged; then the read fails.
        if row["quarantined"]:
            yield row["quarantined"]["reason"]
        if row["second"]:
            yield from [row["second"]["client_id"]] * row["second"]["requests"]


# Forty histories are read at each commit, the others by the long tests.
@pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.long if n >= 40 else ()) for n in range(100)])
def test_every_line_once_whatever_happens_to_the_files(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 2000)
    broker = Broker(tmp_path, random.Random(seed))
    progress: dict[str, Any] = {}
    for _ in range(8):
        try:
            progress = broker.run(progress)
        except (LogChangedError, FileNotFoundError, EOFError):
            continue  # none of it is committed
    broker.finish()
    for path in tmp_path.glob("*.gz"):
        if "cut" in broker.clients(path):
            path.unlink()  # gzip starts again
    broker.run(progress, quiet=True)
    assert broker.committed == Counter(f"c{number}" for number in range(broker.written))
    assert broker.written > 5


def taken(progress: dict[str, Any], *paths: Path) -> tuple[list[str], dict[str, Any]]:
    """Read the new lines of these files; return the client ids of their requests, and the new progress."""
    made = plan([str(path) for path in paths], progress, owner="c/1")
    parts = parts_of([BrokerLog("c", 1, made.spans, "UTC")], at_most=3000)
    return sorted(name for part in parts for name in names(part, lambda: None)), json.loads(json.dumps(made.progress))


def clients(*numbers: int) -> list[str]:
    return sorted(f"c{number}" for number in numbers)


def text(*numbers: int) -> bytes:
    return b"".join(map(line, numbers))


def test_files_that_begin_with_the_same_line_are_two(tmp_path: Path) -> None:
    one, other = tmp_path / "a.log", tmp_path / "b.log"
    one.write_bytes(text(0, *range(1, 40)))
    other.write_bytes(text(0, *range(50, 80)))
    got, progress = taken({}, one, other)
    assert got == clients(0, 0, *range(1, 40), *range(50, 80))
    assert taken(progress, one, other)[0] == []
    other.write_bytes(text(0, *range(50, 90)))
    got, progress = taken(progress, other)
    assert got == clients(*range(80, 90))
    # A third file that is shorter than the known part of either.
    third = tmp_path / "c.log"
    third.write_bytes(text(0, 100, 101))
    assert taken(progress, one, other, third)[0] == clients(0, 100, 101)


def test_a_file_that_is_emptied_and_begins_with_the_same_line_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    path.write_bytes(text(*range(50)))
    _, progress = taken({}, path)
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(text(0, *range(50, 79)))
    assert taken(progress, path)[0] == clients(0, *range(50, 79))


def test_a_file_that_is_cut_and_goes_on_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    path.write_bytes(text(*range(50)))
    _, progress = taken({}, path)
    for more in ((), range(50, 55), range(50, 99)):
        with path.open("r+b") as file:
            file.truncate(len(text(*range(20))))
            file.seek(0, os.SEEK_END)
            file.write(text(*more))
        with pytest.raises(CutInPlaceError, match=f"{path} was cut"):
            taken(progress, path)


def test_an_older_copy_is_no_news_and_a_younger_one_is(tmp_path: Path) -> None:
    live, older, younger = tmp_path / "request.log", tmp_path / "older.log", tmp_path / "younger.log.gz"
    older.write_bytes(text(*range(20)))
    live.write_bytes(text(*range(50)))
    _, progress = taken({}, live)
    younger.write_bytes(gzip.compress(text(*range(60))))
    got, progress = taken(progress, live, older, younger)
    assert got == clients(*range(50, 60))
    assert taken(progress, live, older, younger)[0] == []


def test_what_is_packed_while_it_is_planned_waits(tmp_path: Path) -> None:
    plain, packed = tmp_path / "request.log.1", tmp_path / "request.log.1.gz"
    plain.write_bytes(text(*range(30)))
    packed.write_bytes(gzip.compress(plain.read_bytes())[:300])
    got, progress = taken({}, plain, packed)
    assert got == clients(*range(30))
    plain.unlink()
    with pytest.raises(EOFError):
        taken(progress, packed)


def test_a_file_is_found_where_it_was_rotated_to_and_else_it_is_an_error(tmp_path: Path) -> None:
    live = tmp_path / "request.log"
    live.write_bytes(text(*range(30)))
    (span,) = plan([str(live)], {}).spans
    elsewhere = tmp_path / "old" / "2026.gz"
    elsewhere.parent.mkdir()
    live.unlink()
    with (
        pytest.raises(LogChangedError, match=f"{live} is not the file any more"),
        opened_as_planned(str(live), span.checks),
    ):
        pass
    live.write_bytes(text(*range(40, 90)))
    elsewhere.write_bytes(gzip.compress(text(*range(30))))
    with opened_as_planned(str(live), span.checks, (str(tmp_path / "old" / "*"),)) as file:
        assert file.path == str(elsewhere)
    with (
        pytest.raises(LogChangedError, match="changed while it was read"),
        opened_as_planned(str(live), plan([str(live)], {}).spans[0].checks),
    ):
        live.write_bytes(b"")


def log_of_broker(path: Path, address: str, minutes: range) -> RequestLog:
    from datetime import timedelta

    first = produce(1, connection=f"{address}-10.0.0.7:40652-3-0")
    path.write_text("".join(replace(first, at=first.at + timedelta(minutes=each)).line for each in minutes))
    return RequestLog((str(path),), "c", 1)


def test_two_brokers_logs_under_one_id_are_refused(tmp_path: Path) -> None:
    one = log_of_broker(tmp_path / "a.log", "10.0.0.1:9092", range(60))
    other = log_of_broker(tmp_path / "b.log", "10.0.0.2:9092", range(30, 90))
    with pytest.raises(UnreadableInput, match=r"a\.log and .*b\.log are both given as the request log of broker 1"):
        plan_broker_logs({}, [one, other])
    with pytest.raises(UnreadableInput, match="both given"):
        plan_broker_logs({}, [RequestLog((str(tmp_path / "*.log"),), "c", 1)])
    assert len(plan_broker_logs({}, [one, structs.replace(other, broker_id=2)]).logs) == 2
    # Logs one after the other in time may be of the same broker, with two listeners.
    after = log_of_broker(tmp_path / "b.log", "10.0.0.2:9092", range(60, 90))
    assert len(plan_broker_logs({}, [one, after]).logs) == 2


def test_a_file_of_two_brokers_is_refused(tmp_path: Path) -> None:
    one = log_of_broker(tmp_path / "a.log", "10.0.0.1:9092", range(60))
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    with pytest.raises(UnreadableInput, match="request log of c/1 and of c/2"):
        plan_broker_logs({}, [one, structs.replace(one, broker_id=2, paths=(str(tmp_path / "link.log"),))])


@pytest.mark.parametrize("planned", [False, True], ids=["while it is planned", "before it is read"])
def test_a_source_while_the_log_rotates(planned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kac reads each line exactly once, although the log is rotated after the plan was made, or after the plan was
    cut into parts.
    """
    live = tmp_path / "request.log"
    source = RequestLogs(Settings("", Inputs(request_logs=(RequestLog((f"{live}*",), "c", 1),)), ""))
    at = source.initial()
    found: Counter[str] = Counter()
    lost: list[str] = []
    deeds: list[Callable[[], object]] = []
    written = 0

    def write(lines: int) -> None:
        nonlocal written
        with live.open("ab") as file:
            file.write(text(*range(written, written + lines)))
        written += lines

    def disturb() -> None:
        for deed in deeds:
            deed()
        deeds.clear()

    def parts_later(*given: Any) -> Any:
        if not planned:
            disturb()
        return parts_of(*given)

    def take() -> None:
        nonlocal at
        end = json.loads(json.dumps(source.newest(at)))
        parts = source.parts(at, end)
        disturb()
        for part in parts:
            for batch in source.read(part):
                for row in batch.to_pylist():
                    if row["second"]:
                        found[row["second"]["client_id"]] += row["second"]["requests"]
                    if row["quarantined"]:
                        lost.append(row["quarantined"]["reason"])
        at = end

    def rotated() -> None:
        live.rename(f"{live}.1")
        write(30)

    def emptied() -> None:
        shutil.copy(live, f"{live}.2")
        os.truncate(live, 0)
        write(25)

    def packed() -> None:
        Path(f"{live}.3.gz").write_bytes(gzip.compress(live.read_bytes()))
        live.unlink()
        write(20)

    monkeypatch.setattr("console.lake.requests.log_files.parts_of", parts_later)
    for deed in (rotated, emptied, packed):
        write(40)
        deeds.append(deed)
        take()
    take()
    assert found == Counter(f"c{number}" for number in range(written))
    assert not lost
    # The read fails if a file is deleted while its parts are planned; a file that is deleted later is reported once.
    write(10)
    deeds.append(live.unlink)
    if planned:
        take()
    else:
        with pytest.raises(LogChangedError, match=f"{live} is not the file any more"):
            take()
    assert found == Counter(f"c{number}" for number in range(written - 10))
    assert len(lost) == planned
    assert not planned or f"bytes are lost: {live} is not the file any more" in lost[0]
    take()
    assert len(lost) == planned
