"""Tests of request logs: lines in files and in several formats, sums per second, the changes in a request, and
clocks.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import shutil
import subprocess
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake import app, plans, runs, streams
from console.lake.clocks import FURTHEST, fitting_zones, wrong_steps
from console.lake.files import Filesystem, LakeError
from console.lake.inputs import Inputs, MetadataLog, RequestLog, UnreadableInput
from console.lake.lake import Lake, Report
from console.lake.requests import counted as counted_module
from console.lake.requests import lines
from console.lake.requests import lines as forms
from console.lake.requests import log_files as files
from console.lake.requests.alters import ALTER_APIS, NO_ANSWER, Change, changes
from console.lake.requests.counted import COUNTED, Whose, counted
from console.lake.requests.lines import NO_FIGURE, NO_JSON, TOO_DEEP, altered, client_host
from console.lake.requests.log_files import (
    LONGEST_LINE,
    LONGEST_PART,
    PART_BYTES,
    PARTS,
    QUARTER,
    AmbiguousHourError,
    BrokerLog,
    LogChangedError,
    Part,
    Plan,
    Twice,
    fold_at,
    jump,
    opened,
    part_bytes,
    parts_of,
    plan,
    read_part,
    shown_twice,
)
from console.lake.requests.pieces import kept_together
from console.lake.runs import Plan as RunPlan
from console.session.request_log_tail import RequestLogTails
from tests.lake import known_requests, request_lines
from tests.lake.known_requests import BEFORE, SALT, SALTED, all_rows, expected, lines_in, lines_of, noise
from tests.lake.lake_tables import held
from tests.lake.request_lines import Logged, alter_configs, alter_scram, fetch, log_of, metadata, produce
from tests.support.expressions import cpu_seconds
from tests.support.metadata_log import batch, value

LATER = {
    (known_requests.S0, "User:alice", "app", "PRODUCE", 3, 0, 607, 0, 4.5, 81, 41),
    (known_requests.S0 + timedelta(hours=1), "User:alice", "app", "FETCH", 1, 0, 0, 8, 1.5, 0, 0),
}
"""The rows of `expected` that are new or different after the lines of `MORE` were added."""


class Rows:
    """The rows of all kinds that were read from parts of request logs."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.rows = [row for part in parts for batch in read_part(part) for row in batch.to_pylist()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [row[kind] for row in self.rows if row[kind] is not None]

    def seconds(self, *, broker: int = 1) -> set[tuple[Any, ...]]:
        """Return a broker's sums per second, without the columns of cluster and broker, with times in UTC."""
        rows = self.of("second")
        assert {row["cluster_id"] for row in rows} == {"lkc-1"}
        sums: dict[tuple[Any, ...], list[Any]] = {}
        for row in rows:
            if row["broker_id"] == broker:
                _, _, second, *names, most = row.values()
                key, figures = (second.astimezone(UTC), *names[:3]), names[3:]
                *known, highest = sums.get(key, [0] * (len(figures) + 1))
                sums[key] = [*map(sum, zip(known, figures, strict=True)), max(highest, most)]
        return {(*key, *figures) for key, figures in sums.items()}


def test_one_reading_gives_seconds_changes_and_damaged_lines(tmp_path: Path) -> None:
    middle = len(known_requests.BEFORE) // 2
    content = log_of(known_requests.BEFORE[:middle]) + known_requests.noise() + log_of(known_requests.BEFORE[middle:])
    logs = [
        known_requests.log(tmp_path / "request.log", content),
        known_requests.log(tmp_path / "request.log.2026-11-21-10.gz", content, broker=2),
    ]
    read = Rows(parts_of(logs, 9000))
    for broker in (1, 2):
        assert read.seconds(broker=broker) == known_requests.expected()
    damaged = read.of("quarantined")
    lines, bad = (sum(row[name] for row in read.rows) for name in ("lines", "damaged"))
    assert (lines, bad, len(damaged)) == (2 * (len(known_requests.BEFORE) + 3), 6, 6)
    begin = len(log_of(known_requests.BEFORE[:middle]))
    assert [(each["byte_pos"] - begin, each["reason"]) for each in damaged if each["file"] == "request.log"] == [
        (known_requests.noise().index(b"[2026", 10), "the end of the request is missing"),
        (known_requests.noise().index(b"[2026", 300), "not whole JSON of a request"),
        (known_requests.noise().rindex(produce(1).line[90:].encode()), "the beginning of the line is missing"),
    ]
    assert all(len(each["sha256"]) == 64 and len(each["sample"]) <= 200 for each in damaged)
    assert "alice" not in str([each["sample"] for each in damaged])
    told = [each for each in read.of("alter") if each["broker_id"] == 1]
    told.sort(key=lambda row: (row["byte_pos"], row["attr"]))
    assert [(each["entity_key"], each["attr"], each["op"], each["value"]) for each in told] == [
        ("orders", "cleanup.policy", "append", "compact"),
        ("orders", "retention.ms", "set", "86400000"),
        ("orders", "cleanup.policy", "append", "compact"),
        ("orders", "retention.ms", "set", "86400000"),
        ("carol", "SCRAM-SHA-256", "set", "iterations=8192"),
    ]
    assert [each["is_forwarded"] for each in told] == [False, False, True, True, False]
    assert [each["client_host"] for each in told] == ["10.0.0.7", "10.0.0.7", None, None, "10.0.0.7"]
    assert {(each["end_ts"] - each["start_ts"]).total_seconds() for each in told} == {0.00425}
    assert not any(secret in str(told) for secret in (known_requests.SALT, known_requests.SALTED))


def test_what_comes_later_adds_up_with_what_was_there(tmp_path: Path) -> None:
    live, turned = tmp_path / "request.log", tmp_path / "request.log.1"
    first = known_requests.log(live, log_of(known_requests.BEFORE) + b"[2026-11-21 10:00:0")
    progress = plan([str(live)], {}).progress
    # The log grew and was renamed: its first part is read from the former offset on.
    turned.write_bytes(log_of([*known_requests.BEFORE, *known_requests.MORE]))
    rest = BrokerLog("lkc-1", 1, plan([str(turned)], progress).spans)
    whole = BrokerLog("lkc-1", 1, plan([str(turned)], {}).spans)
    at_once = Rows(parts_of([whole]))
    by_and_by = Rows([*parts_of([first]), *parts_of([rest])])
    assert by_and_by.seconds() == at_once.seconds()
    assert by_and_by.seconds() - known_requests.expected() == LATER


@pytest.mark.parametrize("cut", [1500, 9000, 1 << 20])
def test_any_cut_into_parts_in_any_order_gives_the_same_sums(cut: int, tmp_path: Path) -> None:
    content = log_of([*known_requests.BEFORE, *known_requests.MORE]) + known_requests.noise()
    logs = [known_requests.log(tmp_path / f"{number}.log", content, broker=number) for number in (1, 2)]
    parts = parts_of(logs, cut)
    read = Rows([*parts[1:], *parts[:1]])
    assert read.seconds() == read.seconds(broker=2)
    assert read.seconds() - known_requests.expected() == LATER
    assert sum(row["lines"] for row in read.rows) == 2 * (len(known_requests.BEFORE) + len(known_requests.MORE) + 3)


def test_the_zone_of_a_broker_is_its_own(tmp_path: Path) -> None:
    clocks = ((1, 59), (2, 30), (2, 59), (2, 1), (2, 30), (3, 0))
    twice = [produce(1, at=datetime(2026, 10, 25, *clock)) for clock in clocks]
    berlin = known_requests.log(tmp_path / "a.log", log_of(twice), zone="Europe/Berlin")
    utc = known_requests.log(tmp_path / "b.log", log_of([produce(1, at=datetime(2026, 10, 25, 2, 30))]), broker=2)
    read = Rows(parts_of([berlin, utc], 4000))
    shown = sorted(row[0].strftime("%H:%M") for row in read.seconds())
    assert shown == ["00:30", "00:59", "01:01", "01:30", "02:00", "23:59"]
    assert [row[0].strftime("%H:%M") for row in read.seconds(broker=2)] == ["02:30"]


def test_a_log_that_is_gone_is_named(tmp_path: Path) -> None:
    parts = parts_of([known_requests.log(tmp_path / "request.log", log_of(known_requests.BEFORE * 20))], 9000)
    (tmp_path / "request.log").unlink()
    for part in parts:
        with pytest.raises(LogChangedError, match=r"request[.]log is not the file any more that was to be read"):
            Rows([part])


# -- lines in files: split anywhere, compressed, in other layouts, damaged; and the new part of a file -----------------

CLIENTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PIECES = st.one_of(
    CLIENTS.map(lambda name: produce(1, client_id=name).line.encode()),
    CLIENTS.map(lambda name: alter_configs([("a", 0, name)]).line.encode()),
    st.sampled_from(
        [
            b"\n",
            b"[2026-11-21 10:00:00,000] INFO up (kafka.server.KafkaServer)\n",
            b'"x"} (kafka.request.logger)\n',
            produce(2).line.replace(" 10:", "T10:").encode(),
            produce(3).line.replace("\n", "\r\n").encode(),
            produce(4).line.replace("11-21", "11-31").encode(),
            produce(5).line.encode().replace(b"alice", b"al\xffce"),
            produce(6).line.encode()[:200] + b"\n",
        ]
    ),
)


def whole(path: Path) -> list[lines.Line | lines.Damaged]:
    """Return all lines of a file, parsed."""
    parts = parts_of([BrokerLog("lkc-1", 1, plan([str(path)], {}).spans)])
    return [line for part in parts for line in lines_of(part)]


@given(st.integers(0, 1 << 44))
def test_few_parts_are_made_and_none_is_too_long_to_be_read_again(size: int) -> None:
    made = part_bytes(size)
    assert PART_BYTES <= made <= LONGEST_PART
    assert -(-size // made) <= PARTS or made == LONGEST_PART


@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 9000), max_size=6), st.booleans())
def test_a_file_split_anywhere_gives_each_line_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], cuts: list[int], packed: bool
) -> None:
    content = b"".join(pieces)
    path = tmp_path_factory.mktemp("split") / ("request.log.gz" if packed else "request.log")
    path.write_bytes(gzip.compress(content) if packed else content)
    end = len(content)
    edges = sorted({0, end, *(cut for cut in cuts if cut < end)})
    read: list[lines.Line | lines.Damaged] = []
    timed: list[tuple[int, datetime]] = []
    with opened(str(path)) as file:
        assert file.survey([]).end == end
        for start, stop in pairwise(edges):
            for at, text in file.blocks(start, stop):
                assert content[at : at + len(text)] == text
                read += lines_in(at, text)
                timed += lines.clocks(at, text)
    assert read == lines_in(0, content)
    times = dict(timed)
    for row in read:
        if isinstance(row, lines.Line):
            assert json.loads(row.json)["principal"] == "User:alice" == row.request.principal
            assert times[row.byte_pos] == row.second + timedelta(milliseconds=row.millis)


@given(st.lists(PIECES, max_size=12), st.integers(1, 9000))
def test_a_block_adds_up_to_what_each_of_its_lines_is_by_itself(pieces: list[bytes], size: int) -> None:
    content = b"".join(pieces)
    blocks, begin = [], 0
    while begin < len(content):
        end = content.find(b"\n", begin + size) + 1 or len(content)
        blocks.append((begin, content[begin:end]))
        begin = end
    found = pa.Table.from_batches(counted(Whose("lkc-1", 1, "request.log"), blocks)).to_pylist()
    wanted = lines_in(0, content)
    damaged = [line for line in wanted if isinstance(line, lines.Damaged)]
    assert sum(row["lines"] for row in found) == len(wanted)
    assert sum(row["damaged"] for row in found) == len(damaged)
    assert [row["quarantined"]["sha256"] for row in found if row["quarantined"]] == [line.sha256 for line in damaged]
    assert [row["quarantined"]["byte_pos"] for row in found if row["quarantined"]] == [
        line.byte_pos for line in damaged
    ]
    seconds = [line.second for line in wanted if isinstance(line, lines.Line)]
    summed = [row["second"] for row in found if row["second"]]
    assert {row["second"].replace(tzinfo=None) for row in summed} == {*seconds}
    assert sum(row["requests"] for row in summed) == len(seconds)


@given(CLIENTS)
def test_a_line_that_is_laid_out_otherwise_has_the_same_request(name: str) -> None:
    usual = produce(7, client_id=name).line.encode().rstrip(b"\n")
    others = [
        usual + b" ",
        usual + b"\r",
        usual.replace(b" (kafka", b" - (kafka"),
        usual.replace(b"] DEBUG", b"]  DEBUG"),
    ]
    wanted = lines.one_line(5, usual)
    assert isinstance(wanted, lines.Line)
    assert [lines.one_line(5, other) for other in others] == [wanted] * len(others)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (produce(1).line[90:].encode(), lines.NO_START),
        (produce(1).line[:-40].encode(), lines.NO_END),
        (produce(1).line[:-1].encode() + produce(1).line.encode(), lines.NO_END),
        (produce(1).line.replace('"principal":', '"principal"')[:-1].encode() + b"\r", lines.NO_JSON),
        (produce(1).line.replace("2026-11-21", "yesterday").encode(), lines.NO_TIME),
        (produce(1).line.replace("11-21", "11-31").encode(), lines.NO_TIME),
        (produce(1).line.encode().replace(b"alice", b"al\xffce"), lines.NO_TEXT),
    ],
)
def test_a_damaged_line_is_told_of_without_what_stands_in_it(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "request.log"
    path.write_bytes(fetch(1).line.encode() + line.rstrip(b"\n") + b"\n" + fetch(2).line.encode())
    good, bad, again = whole(path)
    assert isinstance(good, lines.Line)
    assert isinstance(again, lines.Line)
    assert isinstance(bad, lines.Damaged)
    assert bad.reason == reason
    assert bad.byte_pos == len(fetch(1).line)
    assert "alice" not in bad.sample
    assert len(bad.sample) <= 200


def test_a_client_that_calls_itself_like_the_end_of_a_line_hides_nothing(tmp_path: Path) -> None:
    path, name = tmp_path / "request.log", '"} (kafka.request.logger)[ Completed request:{'
    asked = [alter_configs([("a", 0, "b")], client_id=name), produce(1), alter_configs([("a", 0, name)])]
    path.write_bytes(log_of(asked))
    assert [row.json.decode() for row in whole(path) if isinstance(row, lines.Line)] == [each.text for each in asked]


def test_a_change_is_found_however_its_fields_are_ordered(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    odd = alter_configs([("a", 0, "b")])
    other_order = odd.line.replace('"isForwarded":false,', "").replace("{", '{"isForwarded":false,', 1)
    moved = odd.line.replace('"requestApiKey":44,', "").replace(
        '"requestApiKeyName"', '"requestApiKey":44,"requestApiKeyName"'
    )
    path.write_bytes(log_of([produce(1), odd, fetch(1)]) + other_order.encode() + moved.encode())
    found = all_rows([BrokerLog("lkc-1", 1, plan([str(path)], {}).spans)], "alter")
    edge = len(log_of([produce(1), odd, fetch(1)]))
    assert [row["byte_pos"] for row in found] == [len(produce(1).line), edge, edge + len(other_order)]
    assert {row["attr"] for row in found} == {"a"}


def read(plan_: Plan, zone: str = "UTC") -> list[tuple[str, int]]:
    """Return (name of the file, offset in bytes) of each line that a plan reads."""
    parts = parts_of([BrokerLog("lkc-1", 1, plan_.spans, zone)])
    return sorted((Path(part.path).name, line.byte_pos) for part in parts for line in lines_of(part))


def test_a_log_that_grows_turns_and_is_packed_is_read_once(tmp_path: Path) -> None:
    live, first = tmp_path / "request.log", produce(1).line.encode()
    live.write_bytes(first[:100])
    nothing = plan([str(live)], {})
    assert nothing == Plan((), {})
    live.write_bytes(first + first[:40])
    one = plan([str(live)], nothing.progress)
    assert read(one) == [("request.log", 0)]
    # The last line is complete and another one follows. Then the log rotates, and the former live file is compressed.
    with live.open("wb") as file:
        file.write(first * 3)
    turned = tmp_path / "request.log.1.gz"
    turned.write_bytes(gzip.compress(live.read_bytes()))
    live.write_bytes(fetch(1).line.encode())
    paths = [str(path) for path in (live, turned)]
    two = plan(paths, one.progress)
    assert read(two) == [("request.log", 0), ("request.log.1.gz", len(first)), ("request.log.1.gz", 2 * len(first))]
    three = plan(paths, json.loads(json.dumps(two.progress)))
    assert three == Plan((), two.progress)


def test_a_copy_of_a_file_is_the_file(tmp_path: Path) -> None:
    live, copy = tmp_path / "request.log", tmp_path / "copy.log"
    live.write_bytes(log_of([produce(1), produce(2)]))
    shutil.copy(live, copy)
    with live.open("ab") as file:
        file.write(produce(3).line.encode())
    both = plan([str(live), str(copy)], {})
    assert len(read(both)) == 3
    assert plan([str(copy)], both.progress).spans == ()
    assert len(plan([str(live)], {}, owner="lkc-1/1").spans) == 1
    assert plan([str(live)], {}, owner="lkc-1/1").progress.keys().isdisjoint(both.progress)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone\.log"):
        plan([str(tmp_path / "gone.log")], {})


def test_a_packed_file_that_is_cut_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "request.log.gz"
    path.write_bytes(gzip.compress(log_of([produce(size) for size in range(200)]))[:-20])
    with pytest.raises(EOFError, match=r"request\.log\.gz: "):
        plan([str(path)], {})
    path.write_bytes(b"no gzip at all")
    with pytest.raises(OSError, match=r"request\.log\.gz: damaged, or not gzip"):
        plan([str(path)], {})
    packed = bytearray(gzip.compress(log_of([produce(size) for size in range(200)])))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(OSError, match=r"request\.log\.gz: damaged, or not gzip"):
        plan([str(path)], {})


def test_a_file_without_lines_is_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "request.log"
    path.write_bytes(b"x" * 3_000_000 + b"\n")
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    with pytest.raises(OSError, match=r"request\.log: no end of a line in 1 MiB from byte 0 on"):
        whole(path)


@pytest.mark.parametrize("packed", [False, True])
def test_the_head_of_a_log_that_was_emptied_under_its_writer_is_skipped_and_said(packed: bool, tmp_path: Path) -> None:
    path, hole = tmp_path / "request.log", (20 if packed else 200) << 20
    with path.open("wb") as writer:
        writer.write(produce(1, client_id="before").line.encode())
        former = plan([str(path)], {}).progress
        # A writer without O_APPEND continues at its former position.
        writer.seek(hole)
        os.truncate(path, 0)
        writer.write(log_of([produce(size, client_id="after") for size in range(1, 500)]))
    if packed:
        unpacked, path = path, tmp_path / "request.log.1.gz"
        with unpacked.open("rb") as file, gzip.open(path, "wb", compresslevel=1) as to:
            shutil.copyfileobj(file, to)
        unpacked.unlink()
    log = BrokerLog("lkc-1", 1, plan([str(path)], former).spans)
    for at_most in (1 << 26, hole, 9_000_000):
        rows = all_rows([log], "second", at_most)
        assert [(row["client_id"], row["requests"]) for row in rows if row["requests"]] == [("after", 499)]
        assert sum(row["bytes_in"] for row in rows) == sum(range(1, 500))
        (said,) = all_rows([log], "quarantined", at_most)
        assert (said["byte_pos"], said["reason"]) == (0, f"{hole:,} {files.EMPTIED}")
    assert not plan([str(path)], plan([str(path)], former).progress).spans


def test_a_log_of_more_holes_than_any_writer_leaves_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    with path.open("wb") as file:
        file.seek(files.LONGEST_NULS + (1 << 20))
        file.write(log_of([produce(1)]))
    with pytest.raises(OSError, match="more than 16 GiB of NUL bytes: no log"):
        plan([str(path)], {})


@pytest.mark.parametrize(
    ("first", "said"),
    [(b"", "nothing but 268,435,456 NUL bytes"), (b"a line\n", "no end of a line in 64 MiB from byte 7 on")],
)
def test_a_packed_file_of_one_byte_repeated_is_no_log(first: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "request.log.gz"
    path.write_bytes(gzip.compress(first + bytes(4 * files.LONGEST_LINE)))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match=rf"gz: {said}: no log"):
            plan([str(path)], {})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < files.LONGEST_LINE


BERLIN = "Europe/Berlin"
NIGHT = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def in_berlin(begin: datetime, minutes: range) -> list[Logged]:
    """Return a request for each of these minutes after `begin`, with the local time in Berlin."""
    moments = [(begin + timedelta(minutes=each)).astimezone(ZoneInfo(BERLIN)) for each in minutes]
    return [alter_configs([("a", 0, "b")], at=moment.replace(tzinfo=None)) for moment in moments]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("begin", "end"), [(-60, 120), (-60, 20), (-200, -100), (40, 120), (-29, 80), (0, 25), (35, 85)], ids=str
)
def test_the_hour_that_clocks_show_twice_is_told_apart_by_the_order(
    tmp_path: Path, begin: int, end: int, packed: bool
) -> None:
    asked = in_berlin(NIGHT, range(begin, end, 5))
    path = tmp_path / ("request.log.gz" if packed else "request.log")
    path.write_bytes(gzip.compress(log_of(asked)) if packed else log_of(asked))
    written = (NIGHT + timedelta(minutes=end - 5)).timestamp()
    os.utime(path, (written, written))
    log = BrokerLog("lkc-1", 1, plan([str(path)], {}).spans, BERLIN)
    seconds = all_rows([log], "second", at_most=3000)
    assert sorted(row["second"] for row in seconds) == [
        NIGHT + timedelta(minutes=each) for each in range(begin, end, 5)
    ]
    got = sorted(row["end_ts"] for row in all_rows([log], "alter", at_most=3000))
    assert got == [NIGHT + timedelta(minutes=each) for each in range(begin, end, 5)]


def test_a_file_inside_the_hour_that_was_copied_later_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    path.write_bytes(log_of(in_berlin(NIGHT, range(35, 85, 5))))
    with opened(str(path)) as file, pytest.raises(AmbiguousHourError) as refused:
        fold_at(file, BERLIN, file.size)
    assert f"{path} lies as a whole between 2026-10-25 02:00 and 03:00, which clocks in {BERLIN}" in str(refused.value)
    assert "the time zone Etc/GMT-2 if it is of the first time, or Etc/GMT-1" in str(refused.value)
    # kac refuses such a file also where clocks go back by half an hour.
    path.write_bytes(log_of([produce(1, at=datetime(2026, 4, 5, 1, 45))] * 2))
    with opened(str(path)) as file, pytest.raises(AmbiguousHourError, match=r"Etc/GMT-11 if .* or Australia/\w+ if"):
        fold_at(file, "Australia/Lord_Howe", file.size)
    path.write_bytes(log_of(in_berlin(NIGHT, range(35, 85, 5))))
    for zone, minutes in (("Etc/GMT-2", -60), ("Etc/GMT-1", 0)):
        got = [row["end_ts"] for row in all_rows([BrokerLog("lkc-1", 1, plan([str(path)], {}).spans, zone)], "alter")]
        assert got[0] == NIGHT + timedelta(minutes=35 + minutes)


def test_hours_that_are_shown_twice() -> None:
    first, last = datetime(2026, 10, 1), datetime(2026, 11, 30)
    assert shown_twice(BERLIN, first, last) == Twice(
        datetime(2026, 10, 25, 2), datetime(2026, 10, 25, 3), timedelta(hours=1)
    )
    half = shown_twice("Australia/Lord_Howe", datetime(2026, 4, 1), datetime(2026, 4, 10))
    assert half == Twice(datetime(2026, 4, 5, 1, 30), datetime(2026, 4, 5, 2), timedelta(minutes=30))
    assert shown_twice("Asia/Kolkata", first, last) is None
    # When the clock goes forward, a time is left out and none is shown twice.
    assert shown_twice(BERLIN, datetime(2026, 3, 28), datetime(2026, 3, 30)) is None


def test_a_time_far_away_takes_no_time() -> None:
    first = datetime(2026, 11, 21)
    assert cpu_seconds(lambda: shown_twice("Asia/Kolkata", first, datetime(9000, 1, 1)) is None, 5.0) < 2


def test_lines_a_little_out_of_order_are_no_second_pass() -> None:
    twice = Twice(datetime(2026, 10, 25, 2), datetime(2026, 10, 25, 3), timedelta(hours=1))
    times = [datetime(2026, 10, 25, 1, 59), datetime(2026, 10, 25, 2, 10, 1), datetime(2026, 10, 25, 2, 10)]
    assert jump(enumerate(times), twice) == (None, None)
    assert jump(enumerate([*times, datetime(2026, 10, 25, 2, 50), datetime(2026, 10, 25, 2, 5)]), twice) == (4, None)


# -- requests summed in one pass ---------------------------------------------------------------------------------------

WHOSE = Whose("lkc-1", 1, "request.log")
SIZES = st.integers(0, 1 << 20)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TWISTS = [
    ("topicData", '"none"'),
    ("replicaState", "7"),
    ("partitions", '[1,"x"]'),
    ("responses", "{}"),
    ("errorCode", '"bad"'),
    ("throttleTimeMs", "null"),
    ("localTimeMs", "3"),
    ("isForwarded", "null"),
]
REQUESTS = st.builds(
    lambda made, name, principal, seconds, forwarded: replace(
        made, client_id=name, principal=f"User:{principal}", forwarded=forwarded
    ).later(seconds),
    st.one_of(
        st.builds(
            lambda sizes, error: request_lines.produce(*sizes, error=error),
            st.lists(SIZES, max_size=3),
            st.sampled_from([0, 6]),
        ),
        st.builds(
            lambda sizes, replica, old, error: request_lines.fetch(*sizes, replica=replica, old=old, error=error),
            st.lists(SIZES, max_size=3),
            st.sampled_from([None, 2]),
            st.booleans(),
            st.sampled_from([0, 1]),
        ),
        st.builds(request_lines.metadata, error=st.sampled_from([0, 3])),
        NAMES.map(lambda value: request_lines.alter_configs([("retention.ms", 0, value)])),
        st.sampled_from(
            [request_lines.produce(5, response=""), request_lines.produce(5, throttle_ms=40, local_ms=0.25)]
        ),
    ),
    NAMES,
    NAMES,
    st.integers(0, 3),
    st.sampled_from([False, False, True]),
)


def rows(content: bytes, *, block: int = 1 << 20) -> dict[str, list[dict[str, Any]]]:
    """Return kind -> rows that are read from the bytes of a log, and `counts` -> the sums of `lines` and `damaged`.
    block: the number of bytes that the reader gets at once.
    """
    blocks: list[tuple[int, bytes]] = []
    for line in content.splitlines(keepends=True):
        if blocks and len(blocks[-1][1]) < block:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + line)
        else:
            blocks.append((sum(len(text) for _, text in blocks), line))
    made: dict[str, list[dict[str, Any]]] = {"second": [], "alter": [], "quarantined": []}
    counts = {"lines": 0, "damaged": 0}
    for added in counted(WHOSE, blocks):
        assert added.schema.equals(COUNTED)
        for row in added.to_pylist():
            there = [kind for kind in made if row[kind] is not None]
            assert len(there) <= (0 if row["lines"] else 1)
            for kind in made:
                made[kind] += [row[kind]] if row[kind] else []
            for name in counts:
                counts[name] += row[name]
    return made | {"counts": [counts]}


def sums(found: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[Any]]:
    """Return (second, principal, client id, API) -> the sums of these rows of the table `request_1s`."""
    made: dict[tuple[Any, ...], list[Any]] = {}
    for row in found:
        assert (row.pop("cluster_id"), row.pop("broker_id")) == ("lkc-1", 1)
        *key, requests, errors, came, went, local, throttled, longest = row.values()
        was = made.setdefault(tuple(key), [0, 0, 0, 0, 0.0, 0, 0])
        new = (requests, errors, came, went, local, throttled)
        made[tuple(key)] = [*(a + b for a, b in zip(was, new, strict=False)), max(was[-1], longest)]
    return made


@pytest.mark.parametrize(("chunk", "block"), [(1, 1), (1 << 26, 1), (1, 5000), (1 << 26, 1 << 20)])
def test_the_rows_are_what_was_asked_whatever_else_stands_in_the_file(
    monkeypatch: pytest.MonkeyPatch, chunk: int, block: int
) -> None:
    monkeypatch.setattr(counted_module, "CHUNK_BYTES", chunk)
    found = rows(request_lines.log_of(BEFORE) + noise(), block=block)
    assert {(*key, *values) for key, values in sums(found["second"]).items()} == expected()
    assert found["counts"] == [{"lines": len(BEFORE) + 3, "damaged": 3}]
    assert len(found["quarantined"]) == 3
    assert [row["attr"] for row in found["alter"]] == [
        *["retention.ms", "cleanup.policy"] * 2,
        "SCRAM-SHA-256",
    ]
    assert not any(secret in str(found) for secret in (SALT, SALTED))


def test_of_nothing_comes_nothing() -> None:
    assert rows(b"") == {"second": [], "alter": [], "quarantined": [], "counts": [{"lines": 0, "damaged": 0}]}


def by_itself(line: str) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the key and the figures of a line, read from its JSON by plain Python; None for a forwarded request and
    for a request of a replica, which do not count.
    """
    at = datetime.strptime(line[1:20], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    read = json.loads(line[50:].rpartition(" (")[0])
    request, response = read["request"], read["response"] or {}
    replica = request.get("replicaState", request).get("replicaId", -1)
    if read["isForwarded"] or replica >= 0:
        return None
    api = read["requestHeader"]["requestApiKeyName"]
    answers = response.get("responses", [])
    came = [part for topic in request.get("topicData", []) for part in topic["partitionData"]]
    went = [part for topic in answers for part in topic.get("partitions", [])]
    told = went + [part for topic in answers for part in topic.get("partitionResponses", [])]
    codes = [part["errorCode"] for part in told] + [response.get("errorCode", 0)]
    failed = any(codes) if api in ("PRODUCE", "FETCH") else bool(re.search(r'(?<!\\)"errorCode":-?[1-9]', line))
    size = [sum(part.get("recordsSizeInBytes", 0) for part in parts) for parts in (came, went)]
    key = (at, read["principal"], read["requestHeader"]["clientId"], api)
    return key, (1, failed, *size, read["localTimeMs"], read["throttleTimeMs"], read["throttleTimeMs"])


@given(st.lists(REQUESTS, max_size=20), st.integers(1, 8000))
def test_the_sums_are_those_of_each_line_by_itself(asked: list[request_lines.Logged], block: int) -> None:
    wanted: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0] * 7)
    for each in asked:
        if (one := by_itself(each.line)) is not None:
            was = wanted[one[0]]
            wanted[one[0]] = [*(a + b for a, b in zip(was[:6], one[1][:6], strict=True)), max(was[6], one[1][6])]
    found = rows(request_lines.log_of(asked), block=block)
    assert found["counts"] == [{"lines": len(asked), "damaged": 0}]
    got = sums(found["second"])
    assert got.keys() == wanted.keys()
    for key, values in wanted.items():
        assert got[key][:4] == values[:4]
        assert math.isclose(got[key][4], values[4])
        assert got[key][5:] == values[5:]


@given(REQUESTS, st.sampled_from(TWISTS))
def test_a_field_of_another_form_counts_as_empty_and_the_request_counts(
    made: request_lines.Logged, twist: tuple[str, str]
) -> None:
    name, value = twist
    read = json.loads(made.text)

    def twisted(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: json.loads(value) if key == name else twisted(each) for key, each in node.items()}
        return [twisted(each) for each in node] if isinstance(node, list) else node

    text = json.dumps(twisted(read), ensure_ascii=False, separators=(",", ":"))
    found = rows(made.line.replace(made.text, text).encode())
    assert found["counts"] == [{"lines": 1, "damaged": 0}]
    assert sum(row["requests"] for row in found["second"]) <= 1
    if name not in ("isForwarded", "replicaState") and by_itself(made.line) is not None:
        assert len(found["second"]) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (request_lines.produce(1 << 40).line, NO_FIGURE),
        (request_lines.fetch(1 << 62, 1 << 62).line, NO_FIGURE),
        (request_lines.fetch(1 << 70).line, None),
        (request_lines.produce(1, throttle_ms=1 << 40).line, NO_FIGURE),
        (request_lines.produce(1, throttle_ms=-1).line, NO_FIGURE),
        (request_lines.produce(1, local_ms=1e300).line, NO_FIGURE),
        (request_lines.produce(1).line.replace('"User:alice"', "7"), NO_JSON),
        (request_lines.produce(1).line.replace('"requestApiKeyName":"PRODUCE"', '"requestApiKeyName":0'), NO_JSON),
        (request_lines.produce(1).line.replace('"acks":-1', '"acks":' + "[" * 100_000), TOO_DEEP),
        (request_lines.produce(1).line.replace('"timeoutMs":30000', '"timeoutMs":NaN'), NO_JSON),
        (request_lines.alter_configs([("a", 0, "\\ud800 half")]).line.replace("\\\\ud800", "\\ud800"), None),
    ],
    ids=range(11),
)
def test_a_hostile_line_is_damaged_or_counts_and_hides_nothing_else(line: str, reason: str | None) -> None:
    found = rows(request_lines.produce(1).line.encode() + line.encode() + request_lines.produce(2).line.encode())
    assert found["counts"] == [{"lines": 3, "damaged": int(bool(found["quarantined"]))}]
    produced = [row for row in found["second"] if row["api"] == "PRODUCE"]
    assert [row["bytes_in"] for row in produced][:1] == [3]
    if reason is not None:
        assert [row["reason"] for row in found["quarantined"]] == [reason]
        assert found["quarantined"][0]["byte_pos"] == len(request_lines.produce(1).line)
        assert "alice" not in found["quarantined"][0]["sample"]


def test_a_line_of_ten_megabytes_is_a_line() -> None:
    many = request_lines.produce(*[3] * 120_000)
    assert len(many.line) > 10_000_000
    found = rows(request_lines.log_of([many, request_lines.produce(1)]))
    assert [(row["requests"], row["bytes_in"]) for row in found["second"]] == [(2, 360_001)]


def test_a_clock_that_is_set_back_adds_to_the_seconds_that_were() -> None:
    found = rows(
        request_lines.log_of(
            [
                request_lines.produce(1).later(5),
                request_lines.produce(2),
                request_lines.produce(4).later(5),
                request_lines.produce(8),
            ]
        )
    )
    assert sorted((row["second"].second, row["bytes_in"]) for row in found["second"]) == [(0, 10), (5, 5)]


def test_a_second_that_goes_on_has_one_row_and_a_long_one_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    line = len(request_lines.produce(5).line)
    monkeypatch.setattr(counted_module, "CHUNK_BYTES", 4 * line)
    asked = [request_lines.produce(5).later(number / 3) for number in range(12)]
    found = rows(request_lines.log_of(asked), block=line)["second"]
    assert [row["requests"] for row in found] == [3] * 4, "chunks of four lines end within a second of three"
    held = [request_lines.produce(5, client_id=str(number)) for number in range(20)]
    blocks = [(place, each.line.encode()) for place, each in enumerate(held)]
    sizes = [batch.num_rows for batch in counted(WHOSE, blocks) if batch.column("second").null_count == 0]
    assert sum(sizes) == 20
    assert max(sizes) <= 2 * 5


# -- request logs in the forms of layouts, shippers and runtimes -------------------------------------------------------

ZONE = "Asia/Kolkata"
"""The configured time zone of the log. It would be wrong by hours for a line that has its own zone."""
Made = Callable[[Logged], str]


def local(asked: Logged) -> datetime:
    """Return the local time of a request in the time zone `ZONE`."""
    return asked.at + timedelta(hours=5, minutes=30)


def plain(asked: Logged) -> str:
    return f"[{local(asked):%Y-%m-%d %H:%M:%S},{asked.at.microsecond // 1000:03}] DEBUG {message(asked)} " + LOGGER


def logger_first(asked: Logged) -> str:
    """Return a plain line that has the logger's name before the message, so that nothing follows the request."""
    at = f"{local(asked):%Y-%m-%d %H:%M:%S},{asked.at.microsecond // 1000:03}"
    return f"{at} DEBUG [data-plane-kafka-request-handler-3] logger:249 - {message(asked)}"


def message(asked: Logged) -> str:
    return f"Completed request:{asked.text}"


LOGGER, MARK = "(kafka.request.logger)", forms.MESSAGE.decode()
# Times of a clock other than the logger's.
WRONG, WRONG_LOCAL, WRONG_MS = "2026-11-21T11:11:11.111Z", "2026-11-21 11:11:11,111", 1_795_259_471_111


def iso(asked: Logged, zone: tzinfo = UTC, digits: int = 3) -> str:
    at = asked.at.replace(tzinfo=UTC).astimezone(zone)
    end = "Z" if zone is UTC else at.strftime("%z")
    return f"{at:%Y-%m-%dT%H:%M:%S}.{f'{at.microsecond:06}000'[:digits]}{end}"


def millis(asked: Logged) -> int:
    return (asked.at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)


def ecs(asked: Logged) -> str:
    """Return a line in the format of log4j's EcsLayout.json or of logback's ECS encoder."""
    return json.dumps(
        {
            "@timestamp": iso(asked, digits=9),
            "ecs.version": "1.2.0",
            "log.level": "DEBUG",
            "message": message(asked),
            "process.thread.name": "data-plane-kafka-request-handler-3",
            "log.logger": "kafka.request.logger",
        }
    )


def logstash(asked: Logged) -> str:
    """Return a line in the format of LogstashJsonEventLayoutV1.json, of logback's encoder or of log4j 1's
    JSONEventLayoutV1, whose time has a UTC offset.
    """
    zone = timezone(timedelta(hours=-3))
    fields = {"@version": 1, "message": message(asked), "source_host": "b1", "@timestamp": iso(asked, zone)}
    return json.dumps(fields | {"logger_name": "kafka.request.logger", "level": "DEBUG"}, ensure_ascii=False)


def json_layout(asked: Logged) -> str:
    """Return a line in the format of JsonLayout.json of log4j 2, from 2.11 on: the time and then the message are in the
    middle of the fields.
    """
    seconds, rest = divmod(millis(asked), 1000)
    instant = {"epochSecond": seconds, "nanoOfSecond": rest * 1_000_000 + 789}
    fields = {"instant": instant, "thread": "request-handler-0", "level": "DEBUG", "message": message(asked)}
    return json.dumps(fields | {"loggerName": "kafka.request.logger", "contextMap": {"timestamp": WRONG}})


def json_layout_before(asked: Logged) -> str:
    return json.dumps({"timeMillis": millis(asked), "level": "DEBUG", "message": message(asked)})


def gelf(asked: Logged) -> str:
    return json.dumps(
        {"version": "1.1", "host": "b1", "short_message": message(asked), "timestamp": millis(asked) / 1e3}
    )


def gcp(asked: Logged) -> str:
    return json.dumps({"timestamp": iso(asked), "severity": "DEBUG", "message": message(asked)})


def logback(asked: Logged) -> str:
    """Return a line in the format of logback-contrib's JsonLayout, with a local time without a time zone."""
    at = f"{local(asked):%Y-%m-%d %H:%M:%S}.{asked.at.microsecond // 1000:03}"
    return json.dumps({"timestamp": at, "level": "DEBUG", "logger": "kafka.request.logger", "message": message(asked)})


def of_a_pod(asked: Logged) -> str:
    """Return a line of JSON with nested objects after the message, so that its end looks like the end of a request."""
    return json.dumps({"@timestamp": iso(asked), "message": message(asked), "kubernetes": {"pod": {"name": "b1"}}})


def in_docker(made: Made) -> Made:
    return lambda asked: json.dumps({"log": made(asked) + "\n", "stream": "stdout", "time": WRONG})


def in_filebeat(made: Made) -> Made:
    return lambda asked: json.dumps({"@timestamp": WRONG, "@metadata": {"beat": "filebeat"}, "message": made(asked)})


def behind(before: str, made: Made = plain) -> Made:
    return lambda asked: before + made(asked)


def with_zone(end: str, zone: tzinfo) -> Made:
    return lambda asked: (
        plain(asked)
        .replace(
            f"[{local(asked):%Y-%m-%d %H:%M:%S}",
            f"[{asked.at.replace(tzinfo=UTC).astimezone(zone):%Y-%m-%dT%H:%M:%S}",
            1,
        )
        .replace("] DEBUG", f"{end}] DEBUG", 1)
    )


RFC3164, RFC5424 = "<14>Nov 21 11:11:11 b1 kafka[77]: ", f"<14>1 {WRONG} b1 kafka 77 - - "
CRI = "2026-11-21T11:11:11.111222333Z stdout F "
FORMS: dict[str, Made] = {
    "ecs": ecs,
    "logstash": logstash,
    "json layout": json_layout,
    "json layout before 2.11": json_layout_before,
    "gelf": gelf,
    "gcp": gcp,
    "logback": logback,
    "docker": in_docker(plain),
    "docker of ecs": in_docker(ecs),
    "filebeat of docker of json": in_filebeat(in_docker(json_layout)),
    "journal": lambda asked: json.dumps({"__REALTIME_TIMESTAMP": str(WRONG_MS * 1000), "MESSAGE": plain(asked)}),
    "splunk": lambda asked: json.dumps({"time": millis(asked) / 1e3, "event": message(asked)}),
    "micros as text": lambda asked: json.dumps({"ts": str(millis(asked) * 1000), "msg": message(asked)}),
    "rfc 3164": behind(RFC3164),
    "rfc 3164 with json": behind(RFC3164, ecs),
    "rfc 5424": behind(RFC5424),
    "rfc 5424 with json": behind(RFC5424, gcp),
    "rfc 5424, its time alone": lambda asked: f"<14>1 {iso(asked, digits=6)} b1 kafka 77 - - {message(asked)}",
    "cri": behind(CRI),
    "cri with json": behind(CRI, logstash),
    "the logger first": logger_first,
    "cri with the logger first": behind(CRI, logger_first),
    "json of a pod": of_a_pod,
    "a thread behind": lambda asked: f"{plain(asked).removesuffix(LOGGER)}[data-plane-kafka-request-handler-3]",
    "braces behind": lambda asked: f"{plain(asked)} {{}} {{listener=SASL}}",
    "docker compose": behind("broker-1  | "),
    "kubectl": behind("[pod/kafka-0/kafka] "),
    "journalctl": behind("Nov 21 11:11:11 b1.example.com kafka-server-start.sh[77]: "),
    "journalctl with the year": behind("2026-11-21T11:11:11+0000 b1 kafka[77]: "),
    "the class that logs": lambda asked: (
        plain(asked)
        .replace(
            "DEBUG ",
            "DEBUG [data-plane-kafka-network-thread-1-ListenerName(SASL)-SASL_SSL-2] RequestChannel$:249 - ",
            1,
        )
        .removesuffix(LOGGER)
    ),
    "as jboss does": lambda asked: (
        plain(asked)
        .replace(
            "DEBUG ",
            "DEBUG [kafka.request.logger] (data-plane-kafka-network-thread-1-ListenerName(SASL)-SASL_SSL-2) ",
            1,
        )
        .removesuffix(LOGGER)
    ),
    "a short name of the logger": lambda asked: plain(asked).replace("DEBUG ", "DEBUG k.r.logger : ", 1) + " ",
    "fields": lambda asked: plain(asked).replace("DEBUG ", "level=DEBUG thread=7 logger=kafka.request.logger msg=", 1),
    "ecs with objects": lambda asked: json.dumps(
        {"@timestamp": iso(asked), "log": {"level": "DEBUG", "logger": "kafka.request.logger"}, "msg": message(asked)}
    ),
    "in colours": lambda asked: f"\x1b[32m{plain(asked)}\x1b[m",
    "in colours without a logger": lambda asked: f"\x1b[32m{plain(asked).removesuffix(LOGGER)}\x1b[m",
    "utc": with_zone("Z", UTC),
    "named utc": with_zone(" UTC", UTC),
    "an offset": with_zone("-0330", timezone(-timedelta(hours=3, minutes=30))),
    "an offset behind a blank": with_zone(" +02:00", timezone(timedelta(hours=2))),
    "an offset of hours": with_zone("+02", timezone(timedelta(hours=2))),
}

FORM_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ASKED = st.one_of(
    st.builds(
        lambda name, size, ms: produce(size, client_id=name, throttle_ms=ms),
        FORM_NAMES,
        st.integers(0, 9),
        st.integers(0, 5),
    ),
    st.builds(lambda name, value: alter_configs([("retention.ms", 0, value)], client_id=name), FORM_NAMES, FORM_NAMES),
    FORM_NAMES.map(lambda name: metadata(error=3, client_id=name)),
    st.just(fetch(7, replica=2)),
)
LATER_FORM = st.integers(0, 4000)


def rows_of(text: bytes) -> dict[str, list[Any]]:
    """Return kind -> rows that are read from a block of bytes, without their places in the file."""
    found = pa.Table.from_batches(counted(Whose("c", 1, "x", ZONE), [(0, text)])).to_pylist()
    seconds = sorted((tuple(row["second"].items()) for row in found if row["second"]), key=repr)
    alters = [{**row["alter"], "byte_pos": 0} for row in found if row["alter"]]
    return {"seconds": seconds, "alters": alters, "bad": [row["quarantined"] for row in found if row["quarantined"]]}


@given(st.lists(st.tuples(ASKED, LATER_FORM), min_size=1, max_size=5), st.sampled_from(sorted(FORMS)))
def test_a_request_in_any_form_gives_the_rows_of_the_plain_one(asked: list[tuple[Logged, int]], form: str) -> None:
    requests = [each.later(number * 0.25) for each, number in asked]
    wanted = rows_of("".join(f"{plain(each)}\n" for each in requests).encode())
    assert wanted["bad"] == []
    assert rows_of("".join(f"{FORMS[form](each)}\n" for each in requests).encode()) == wanted


def in_docker_pieces(line: str, size: int) -> list[str]:
    """Return the pieces into which Docker's json-file driver splits a line: at a number of bytes, even within an escape
    sequence of JSON in the message.
    """
    parts = [f"{line}\n"[at : at + size] for at in range(0, len(line) + 1, size)]
    return [json.dumps({"log": part, "stream": "stdout", "time": WRONG}, separators=(",", ":")) for part in parts]


def in_cri_pieces(line: str, size: int) -> list[str]:
    parts = [line[at : at + size] for at in range(0, len(line), size)]
    return [f"{CRI.replace(' F ', ' P ')}{part}" for part in parts[:-1]] + [f"{CRI}{parts[-1]}"]


IN_PIECES = st.sampled_from([in_docker_pieces, in_cri_pieces])
OF_STDERR = "2026-11-21T11:11:11.1Z stderr F up"


@given(st.lists(st.tuples(ASKED, st.sampled_from([plain, ecs])), min_size=1, max_size=4), IN_PIECES, st.data())
def test_pieces_of_a_runtime_are_joined_wherever_a_block_ends(
    asked: list[tuple[Logged, Made]], pieces: Callable[[str, int], list[str]], data: st.DataObject
) -> None:
    size = data.draw(st.integers(150, 3000))
    lines_ = [line for each, made in asked for line in [*pieces(made(each), size), OTHER]]
    ends = sorted(data.draw(st.sets(st.integers(1, len(lines_)), max_size=4)) | {len(lines_)})
    at, blocks = 0, []
    for start, end in pairwise((0, *ends)):
        blocks.append((at, "".join(f"{line}\n" for line in lines_[start:end]).encode()))
        at += len(blocks[-1][1])
    found = pa.Table.from_batches(counted(Whose("c", 1, "x", ZONE), kept_together(blocks))).to_pylist()
    wanted = rows_of("".join(f"{plain(each)}\n" for each, _ in asked).encode())
    assert [row["quarantined"] for row in found if row["quarantined"]] == []
    assert sorted((tuple(row["second"].items()) for row in found if row["second"]), key=repr) == wanted["seconds"]
    assert [{**row["alter"], "byte_pos": 0} for row in found if row["alter"]] == wanted["alters"]


@pytest.mark.parametrize("pieces", [in_docker_pieces, in_cri_pieces])
def test_a_file_of_pieces_gives_the_same_sums_however_it_is_cut_and_grows(
    pieces: Callable[[str, int], list[str]], tmp_path: Path
) -> None:
    asked = [fetch(*[number] * 9, client_id=f"app-{number}").later(number) for number in range(12)]
    (tmp_path / "plain.log").write_text("".join(f"{plain(each)}\n" for each in asked))
    made = [line for each in asked for line in pieces(plain(each), 700)]
    assert len(made) > 3 * len(asked)
    text, path = "".join(f"{line}\n" for line in made), tmp_path / "0.log"
    path.write_text(text)
    wanted = Rows(parts_of([BrokerLog("lkc-1", 1, plan([str(tmp_path / "plain.log")], {}).spans, ZONE)]))
    assert len(wanted.seconds()) == len(asked)
    log = BrokerLog("lkc-1", 1, plan([str(path)], {}).spans, ZONE)
    for cut in (300, 811, 2500, len(text)):
        found = Rows(parts_of([log], cut))
        assert (found.seconds(), found.of("quarantined")) == (wanted.seconds(), []), cut
    # A log in which each request is in pieces is not refused.
    path.write_text(text * 10)
    reading = source(path)
    assert len(reading.newest(reading.initial())["parts"]) == 1
    # In a log that grows piece by piece, the pieces of a request wait for the last one.
    progress: dict[str, Any] = {}
    path.write_text("")
    rows: list[dict[str, Any]] = []
    for line in made:
        with path.open("a") as file:
            file.write(f"{line}\n")
        found_new = plan([str(path)], progress)
        progress = dict(found_new.progress)
        rows += Rows(parts_of([BrokerLog("lkc-1", 1, found_new.spans, ZONE)])).rows
    assert [row["quarantined"] for row in rows if row["quarantined"]] == []
    grown = Rows([])
    grown.rows = rows
    assert grown.seconds() == wanted.seconds()


def test_a_line_whose_pieces_are_not_together_is_damaged_once() -> None:
    first, second, *_ = in_cri_pieces(plain(fetch(*[1] * 9)), 700)
    (bad,) = rows_of(f"{first}\n{second}\n{OF_STDERR}\n{plain(_ASKED)}\n".encode())["bad"]
    assert (bad["byte_pos"], bad["reason"]) == (0, forms.NO_END)
    # Pieces without an end are kept up to a limit, and take time in proportion to their length.
    text = f"{first}\n".encode() * 8_000
    blocks = [(at, text[at : at + len(first) * 100 + 100]) for at in range(0, len(text), len(first) * 100 + 100)]
    assert sum(len(block) for _, block in kept_together(blocks)) == len(text)
    assert cpu_seconds(lambda: [*counted(Whose("c", 1, "x", ZONE), kept_together(blocks))], 5.0) < 5


@pytest.mark.parametrize("form", FORMS)
def test_the_time_is_the_loggers_own(form: str) -> None:
    """In each format of a line, the change has the time that the logger wrote. The expected time is a constant, so the
    test does not depend on how plain lines are read.
    """
    asked = alter_configs([("a", 0, "b")])
    (row,) = rows_of(FORMS[form](asked).encode())["alters"]
    assert row["end_ts"] == datetime(2026, 11, 21, 10, 0, 0, 123000, UTC)
    assert row["principal"] == "User:alice"
    ((_, shown),) = lines.clocks(0, FORMS[form](asked).encode())
    assert shown in {row["end_ts"], local(asked)} if shown.tzinfo else shown == local(asked)


def test_forms_may_change_within_a_file(tmp_path: Path) -> None:
    path = tmp_path / "request.log.gz"
    made = [form(alter_configs([("a", 0, str(number))]).later(number)) for number, form in enumerate(FORMS.values())]
    path.write_bytes(gzip.compress("\n".join(made).encode() + b"\n"))
    log = BrokerLog("c", 1, plan([str(path)], {}).spans, ZONE)
    wanted = [datetime(2026, 11, 21, 10, 0, 0, 123000, UTC) + timedelta(seconds=number) for number in range(len(FORMS))]
    assert [row["end_ts"] for row in all_rows([log], "alter")] == wanted


def test_a_zone_of_the_line_is_right_in_the_hour_that_clocks_show_twice(tmp_path: Path) -> None:
    """In the hour that local clocks show twice, lines with a time zone of their own have the right time. kac would
    refuse a file of plain lines, because they do not say which of the two hours it is.
    """
    path = tmp_path / "request.log"
    nights = [alter_configs([("a", 0, "b")], at=datetime(2026, 10, 25, hour, 30)) for hour in (1, 0, 1)]
    path.write_text("".join(f"{ecs(each)}\n" for each in nights))
    log = BrokerLog("c", 1, plan([str(path)], {}).spans, "Europe/Berlin")
    assert [row["end_ts"].hour for row in all_rows([log], "alter")] == [1, 0, 1]


@pytest.mark.parametrize("form", ["ecs", "docker", "json layout", "rfc 5424"])
def test_a_record_of_a_topic_may_have_any_form(form: str) -> None:
    asked = alter_configs([("a", 0, "b")])
    text = FORMS[form](asked)
    spread = json.dumps(json.loads(text), indent=2) if text.startswith("{") else text
    columns = {"key": [b"3"] * 2, "value": [text.encode(), spread.encode()], "partition": [0, 0], "offset": [5, 6]}
    found = pa.Table.from_batches(
        streams.rows_of_records(pa.record_batch(columns), Whose("c", -1, "t", ZONE))
    ).to_pylist()
    made = [row["alter"] for row in found if row["alter"]]
    assert [(row["broker_id"], row["end_ts"].hour, row["byte_pos"]) for row in made] == [(3, 10, 5), (3, 10, 6)]


# -- the text of a request in a name that another logger writes ------------------------------------------------------

AT, TYPE = "[2026-11-21 10:00:00,123]", "kafka.coordinator.group.GroupCoordinator"


def of_another(key: str) -> Made:
    return lambda asked: json.dumps({"@timestamp": WRONG, key: TYPE, "msg": message(asked)})


PLANTED: dict[str, Made] = {
    "the logger behind": lambda asked: f"{AT} DEBUG {message(asked)} in group g has failed ({TYPE})",
    "both loggers behind": lambda asked: f"{AT} DEBUG {message(asked)} {LOGGER} has failed ({TYPE})",
    "in brackets behind, in colours": lambda asked: f"\x1b[32m{AT} DEBUG {message(asked)} [{TYPE}]\x1b[m",
    "words": lambda asked: f"{AT} DEBUG [GroupCoordinator 1]: Member {message(asked)}",
    "a thread of words": lambda asked: f"{AT} DEBUG [GroupCoordinator 1]: {message(asked)}",
    "a time of its own": lambda asked: f"{AT} INFO Member 2020-01-01 00:00:00 {message(asked)}",
    "a whole line": lambda asked: f"{AT} INFO Member {plain(asked).removesuffix(LOGGER)}",
    "the logger in front": lambda asked: f"{AT} DEBUG {TYPE}: {message(asked)}",
    "the logger in front, in brackets": lambda asked: f"{AT} DEBUG [{TYPE}] {message(asked)}",
    "like syslog": lambda asked: f"2026-11-21T10:00:00,123 DEBUG {TYPE}: {message(asked)}",
    "in a container": lambda asked: f"{CRI}{AT} INFO Member {message(asked)} ({TYPE})",
    "an object": lambda asked: f"{AT} INFO [GroupCoordinator 1]: Member {ecs(asked)}",
    "json of words": lambda asked: ecs(asked).replace("Completed", "Member Completed"),
    **{f"json with {key}": of_another(key) for key in ("logger", "loggerName", "logger_name", "log.logger", "_logger")},
    "json with an object": lambda asked: json.dumps(
        {"@timestamp": WRONG, "log": {"logger": TYPE}, "message": message(asked)}
    ),
    "docker of json": lambda asked: in_docker(PLANTED["json with loggerName"])(asked),
}


@pytest.mark.parametrize("form", PLANTED)
def test_a_request_in_another_loggers_line_is_none_and_no_damage(form: str) -> None:
    text = PLANTED[form](alter_configs([("a", 0, "b")], principal="User:victim")).encode()
    assert lines.one_line(0, text) is None
    assert rows_of(text) == {"seconds": [], "alters": [], "bad": []}
    assert list(lines.clocks(0, text)) == []
    assert lines.form_of(text) is lines.OF_UNKNOWN


WORDS = st.from_regex(r"[A-Z][a-z]{3,9}( [a-z]{2,9}){0,3}", fullmatch=True)


@given(ASKED, WORDS, st.sampled_from(["", "2020-01-01 00:00:00 ", f"{AT} DEBUG ", f"{AT} DEBUG {{}} logger - "]))
def test_words_of_another_logger_before_a_planted_line_leave_no_request(asked: Logged, words: str, own: str) -> None:
    """If another logger's message contains a client's text that looks like a request, kac reads no request from it.
    own: the beginning of the client's text.
    """
    for head in (f"{AT} INFO ", f"{CRI}{AT} DEBUG [main] "):
        text = f"{head}{words} {own}{message(asked)}\n{plain(asked)}\n".encode()
        assert rows_of(text) == rows_of(plain(asked).encode())


# -- text that is no request in a known form, and other text ----------------------------------------------------------

OLD_LINE = (
    "[2020-03-01 10:00:00,123] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, clientId=app, "
    "correlationId=3) -- {replica_id=-1,max_wait_time=500,topics=[]},response:{throttle_time_ms=0} from connection "
    "10.0.0.1:9092-10.0.0.2:4000-1;totalTime:1.2,principal:User:alice (kafka.request.logger)"
)
OLDER_LINE = (
    "[2017-03-01 10:00:00,123] DEBUG Completed request:{api_key=3,api_version=1,correlation_id=7,client_id=app} -- "
    "{topics=[]} from connection 10.0.0.1:9092-10.0.0.2:4000;totalTime:1,principal:User:alice (kafka.request.logger)"
)
OTHER = (
    "[2026-11-21 10:00:00,123] INFO [GroupCoordinator 1]: Stabilized group (kafka.coordinator.group.GroupCoordinator)"
)
_ASKED = produce(5)
_XML_LINE = (
    f'<Event xmlns="http://logging.apache.org/log4j/2.0/events" timeMillis="{millis(_ASKED)}" level="DEBUG">'
    f"<Message>{escape(message(_ASKED), quote=True)}</Message></Event>"
)
_XML_SPREAD = f'<Event timeMillis="1">\n  <Message><![CDATA[{message(_ASKED)}]]></Message>\n</Event>'
UNREAD: dict[str, tuple[str, lines.Form]] = {
    "before 2.8": (OLD_LINE, forms.OF_OLD),
    "before 1.0": (OLDER_LINE, forms.OF_OLD),
    "before 2.8 in docker": (json.dumps({"log": OLD_LINE + "\n", "time": WRONG}), forms.OF_OLD),
    "other loggers": (OTHER, forms.OF_OTHERS),
    "other loggers' json": (json.dumps({"@timestamp": WRONG, "message": "up"}), forms.OF_OTHERS),
    "xml": (_XML_LINE, forms.OF_XML),
    "xml of several lines": (_XML_SPREAD, forms.OF_XML),
    "json of several lines": (json.dumps(json.loads(ecs(_ASKED)), indent=2), forms.OF_SPREAD),
    "json without a time": (json.dumps({"level": "DEBUG", "message": message(_ASKED)}), forms.OF_JSON_WITHOUT_TIME),
    "json of another field": (json.dumps({"@timestamp": WRONG, "payload": message(_ASKED)}), forms.OF_CUT_JSON),
    "docker's cut": (json.dumps({"log": plain(_ASKED)[:200], "time": WRONG}), forms.OF_CUT_JSON),
    "syslog without a year": (RFC3164 + message(_ASKED), forms.OF_SYSLOG),
    "no time": (f"DEBUG {message(_ASKED)}", forms.OF_NO_TIME),
    "the clock alone": (f"10:00:00,123 DEBUG {message(_ASKED)}", forms.OF_NO_TIME),
    "cut": (plain(_ASKED)[:150], forms.OF_CUT),
    "stern": (f"kafka-0 kafka {plain(_ASKED)}", forms.OF_WORDS),
    "logcli": (f'{WRONG} {{app="kafka", pod="kafka-0"}} {plain(_ASKED)}', forms.OF_WORDS),
    "fluentd": (f"{WRONG}\tkube.kafka-0\t{plain(_ASKED)}", forms.OF_WORDS),
    "stern without a logger": (f"kafka-0 kafka {plain(_ASKED).removesuffix(LOGGER)}", forms.OF_UNKNOWN),
    "no text": ("\0\1\2" * 30, forms.OF_BINARY),
}


def source(path: Path, bad: float = 0.01) -> plans.RequestLogs:
    return plans.RequestLogs(plans.Settings("", Inputs(request_logs=(RequestLog((f"{path}*",), "c", 1),)), "", bad))


@pytest.mark.parametrize("name", UNREAD)
def test_a_log_of_which_no_line_can_be_read_is_refused_with_its_form(tmp_path: Path, name: str) -> None:
    line, form = UNREAD[name]
    assert lines.form_of(line.encode()) is form
    path = tmp_path / "request.log"
    path.write_text(f"{line}\n" * 120)
    reading = source(path)
    with pytest.raises(UnreadableInput) as refused:
        reading.newest(reading.initial())
    said = str(refused.value)
    assert said.count(f"The request log of c/1 (cluster/broker) at {path}* is in the form of {form.what}: ") == 1
    assert said.endswith(form.remedy)
    tails = RequestLogTails([path])
    for _ in range(2):
        failure = tails.read().unread[str(path)]
        assert failure.name == "FORM"
        assert form.what in failure.message
        assert failure.remedy == form.remedy
    with path.open("a") as file:
        file.write(f"{plain(_ASKED)}\n")
    assert tails.read().unread == {}
    with path.open("a") as file:
        file.write(f"{OTHER}\n")
    assert tails.read().unread == {}


@pytest.mark.parametrize("name", ["stern", "logcli", "fluentd"])
def test_the_remedy_for_words_before_a_request_gives_lines_that_can_be_read(name: str) -> None:
    found = re.search(r"sed '([^']*)' FILE", forms.OF_WORDS.remedy)
    assert found is not None
    made = subprocess.run(["sed", found[1]], input=UNREAD[name][0].encode(), capture_output=True, check=True)
    assert made.stdout.decode() == plain(_ASKED)


def test_each_log_that_is_refused_has_a_line(tmp_path: Path) -> None:
    logs = []
    for broker, name in enumerate(("stern", "docker's cut", "before 2.8")):
        (tmp_path / f"{broker}.log").write_text(f"{UNREAD[name][0]}\n" * 120)
        logs.append(RequestLog((str(tmp_path / f"{broker}.log"),), "c", broker))
    reading = plans.RequestLogs(plans.Settings("", Inputs(request_logs=tuple(logs)), ""))
    with pytest.raises(UnreadableInput) as refused:
        reading.newest(reading.initial())
    said = str(refused.value).split("\n")
    assert [forms.OF_WORDS.what in said[0], "jq -j .log FILE" in said[1], forms.OF_OLD.what in said[2]] == [True] * 3
    assert [line.split("request log of ")[1][:3] for line in said] == ["c/0", "c/1", "c/2"]
    # kac takes the whole message out of an error from Spark, too.
    trace = f'Traceback:\n  File "x"\nconsole.lake.inputs.UnreadableInput: {refused.value}\n\n\tat org.x'
    assert runs.message_of(RuntimeError(trace)) == str(refused.value)


def test_the_reason_and_a_place_of_too_many_lines_that_can_not_be_read_are_told(tmp_path: Path) -> None:
    path, good = tmp_path / "request.log", f"{plain(_ASKED)}\n"
    cut = f"{plain(_ASKED)[:150]}\n"
    path.write_text(good * 90 + cut + OLD_LINE + "\n" + good * 90 + cut * 2)
    reading = source(path)
    (part,) = reading.parts(reading.initial(), reading.newest(reading.initial()))
    with pytest.raises(plans.TooMuchIsBad) as refused:
        _read(reading, part)
    said = str(refused.value)
    assert said.startswith(f"4 of 184 lines of {path} can't be read: 2.2%, and 1.0% may be. Nothing was taken in. ")
    assert f"{forms.NO_END} (3 of them, the first in {path} at byte {90 * len(good):,})" in said
    assert forms.CUTTERS in said
    assert "\n" not in said
    (tmp_path / "away").mkdir()
    path.rename(tmp_path / "away" / path.name)
    (lost,) = [row["quarantined"] for row in _read(reading, part) if row["quarantined"]]
    assert lost["reason"].startswith(f"{part.end:,} bytes are lost")
    path.write_text(good * 90 + f"{OLD_LINE}\n" * 10)
    reading = source(path)
    (part,) = reading.parts(reading.initial(), reading.newest(reading.initial()))
    with pytest.raises(plans.TooMuchIsBad, match=forms.OLD) as old:
        _read(reading, part)
    assert forms.CUTTERS not in str(old.value)


def test_a_source_with_any_line_that_can_be_read_is_not_refused_as_a_form(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{OTHER}\n" * 5000 + f"{plain(_ASKED)}\n" + f"{OTHER}\n" * 5000)
    reading = source(path)
    end = reading.newest(reading.initial())
    found = [row for part in reading.parts(reading.initial(), end) for row in _read(reading, part)]
    assert sum(row["lines"] for row in found) == 1
    # The next lines are all of other loggers.
    with path.open("a") as file:
        file.write(f"{OTHER}\n" * 500)
    later = reading.newest(end)
    assert [row["lines"] for part in reading.parts(end, later) for row in _read(reading, part)] == [0]
    # Then the form changes.
    with path.open("a") as file:
        file.write(f"{_XML_LINE}\n" * 500)
    last = reading.newest(later)
    (part,) = reading.parts(later, last)
    with pytest.raises(plans.TooMuchIsBad, match="in the form of an XML layout: no line of it can be read"):
        _read(reading, part)


def test_few_lines_and_a_damage_that_is_known_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "request.log"
    path.write_text(f"{OLD_LINE}\n" * 99)
    reading = source(path)
    (part,) = reading.parts(reading.initial(), reading.newest(reading.initial()))
    assert {row["quarantined"]["reason"] for row in _read(reading, part) if row["quarantined"]} == {lines.OLD}
    path.write_text(f"{OLD_LINE}\n" * 200)
    reading = source(path, bad=1.0)
    (part,) = reading.parts(reading.initial(), reading.newest(reading.initial()))
    assert sum(row["damaged"] for row in _read(reading, part)) == 200


def _read(reading: plans.RequestLogs, part: Any) -> list[dict[str, Any]]:
    return [row for batch in reading.read(part) for row in batch.to_pylist()]


def _wrapped(levels: int) -> str:
    made = plain(_ASKED)
    for _ in range(levels):
        made = json.dumps({"log": made})
    return made


_DEEP, _HALF = "[" * 200_000 + "]" * 200_000, '"\\ud800"'
ODD_TIMES = [
    '"2026-02-30T10:00:00Z"', '"2026-11-21T25:00:00Z"', '"0001-01-01T00:00:00+14:00"', '"9999-12-31T23:59:59-12:00"',
    '"2026-11-21T10:00:00+99:00"', "1e400", "-1e300", "1" * 400, "99999999999999999999999", '{"epochSecond":1e99}',
    '{"epochSecond":9223372036854775807}', '{"epochSecond":"1"}', "true", "null", "[]", '""', _HALF, _DEEP,
    '"' + "9" * 100_000 + '"', '"0001-01-01 00:00:00"', '"9999-12-31 23:30:00"', "99999999999999", "-1e9",
]  # fmt: skip


@pytest.mark.parametrize("time", ODD_TIMES, ids=range(len(ODD_TIMES)))
def test_odd_times_are_no_times_and_no_errors(time: str) -> None:
    line = f'{{"@timestamp":{time},"message":{json.dumps(message(_ASKED))}}}'.encode()
    assert isinstance(found := lines.one_line(0, line), lines.Damaged)
    assert found.reason == lines.NO_TIME
    assert list(lines.clocks(0, line)) == []
    lines.form_of(line)
    line = f'{{"x":{time},"@timestamp":"{iso(_ASKED)}","message":{json.dumps(message(_ASKED))}}}'.encode()
    assert isinstance(lines.one_line(0, line), lines.Line) == (time not in (_DEEP, _HALF))


def test_a_time_that_can_not_be_read_leaves_the_next_one() -> None:
    line = json.dumps({"@timestamp": "yesterday", "time": iso(_ASKED), "message": message(_ASKED)}).encode()
    found = lines.one_line(0, line)
    assert isinstance(found, lines.Line)
    assert (found.second, found.millis) == (datetime(2026, 11, 21, 10, tzinfo=UTC), 123)


def test_wrappers_are_opened_a_few_deep() -> None:
    assert isinstance(lines.one_line(0, _wrapped(4).encode()), lines.Line)
    assert isinstance(lines.one_line(0, _wrapped(6).encode()), lines.Damaged)


_HUGE = ['{"a":' * 300_000, "[" * 1_000_000, '{"message":"', f'{{"message":"{MARK}', "{" * 1_000_000 + MARK]


@pytest.mark.parametrize("begin", _HUGE, ids=range(len(_HUGE)))
def test_a_huge_line_takes_time_by_its_length(begin: str) -> None:
    line = (begin + "2026-11-21 10:00:00" * 100_000 + MARK + '{"' * 500_000).encode()
    assert len(line) < LONGEST_LINE
    assert cpu_seconds(lambda: isinstance(lines.one_line(0, line), lines.Damaged) and lines.form_of(line), 5.0) < 2


# -- the changes in each API's logged request; the bodies are in the form of real brokers' logs ------------------------

END = datetime(2026, 11, 21, 10)


def change(type_: str, key: str, attr: str, op: str, value: str | None = None, error: int = 0) -> Change:
    return Change(type_, key, attr, op, value, False, error)


def named(kind: int, name: str, **more: Any) -> dict[str, Any]:
    """Return the JSON of a resource in a request or in an answer."""
    return {"resourceType": kind, "resourceName": name, **more}


def placed(partition: int, brokers: list[int] | None, key: str = "replicas") -> dict[str, Any]:
    return {"partitionIndex": partition, key: brokers}


def quota_of(*parts: tuple[str, str | None]) -> list[dict[str, Any]]:
    return [{"entityType": kind, "entityName": name} for kind, name in parts]


USER_AND_CLIENT = "user=%3Cdefault%3E,client-id=<default>"
ACL = {
    "resourceType": 2,
    "resourceName": "ord:ers",
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permissionType": 3,
}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[Change]]] = [
    (
        "CREATE_TOPICS",
        {
            "topics": [
                {
                    "name": "cfg",
                    "numPartitions": 3,
                    "replicationFactor": -1,
                    "assignments": [],
                    "configs": [{"name": "retention.ms", "value": "1000"}],
                },
                {
                    "name": "put",
                    "numPartitions": -1,
                    "replicationFactor": -1,
                    "assignments": [placed(0, [1, 2], "brokerIds"), placed(1, [2, 1], "brokerIds")],
                    "configs": [],
                },
            ]
        },
        {"topics": [{"name": "put", "errorCode": 17}, {"name": "cfg", "errorCode": 0}]},
        [
            change("topic", "cfg", ":partitions", "set", "3"),
            change("topic", "cfg", ":replication", "set", "-1"),
            change("topic", "cfg", "retention.ms", "set", "1000"),
            change("topic", "put", ":partitions", "set", "2", 17),
            change("topic", "put", ":replication", "set", "2", 17),
        ],
    ),
    (
        "DELETE_TOPICS",
        {"topicNames": ["gone", "nothere"]},
        {"responses": [{"name": "nothere", "errorCode": 3}, {"name": "gone", "errorCode": 0}]},
        [change("topic", "nothere", ":topic_id", "delete", error=3), change("topic", "gone", ":topic_id", "delete")],
    ),
    (
        "DELETE_TOPICS",
        {"topics": [{"name": None, "topicId": "P1f9caSbSwenu8Sh8M4B-A"}]},
        {"responses": [{"name": "gone", "topicId": "P1f9caSbSwenu8Sh8M4B-A", "errorCode": 0}]},
        [change("topic", "gone", ":topic_id", "delete")],
    ),
    (
        "CREATE_PARTITIONS",
        {"topics": [{"name": "orders", "count": 4, "assignments": None}]},
        {"results": [{"name": "orders", "errorCode": 37}]},
        [change("topic", "orders", ":partitions", "set", "4", 37)],
    ),
    (
        "INCREMENTAL_ALTER_CONFIGS",
        {
            "resources": [
                named(4, "", configs=[{"name": "log.cleaner.threads", "configOperation": 0, "value": "2"}]),
                named(
                    2,
                    "t",
                    configs=[
                        {"name": "segment.ms", "configOperation": 1, "value": None},
                        {"name": "cleanup.policy", "configOperation": 3, "value": "compact"},
                    ],
                ),
            ]
        },
        {"responses": [named(2, "t", errorCode=40), named(4, "", errorCode=0)]},
        [
            change("broker", "<default>", "log.cleaner.threads", "set", "2"),
            change("topic", "t", "segment.ms", "delete", error=40),
            change("topic", "t", "cleanup.policy", "subtract", "compact", 40),
        ],
    ),
    (
        "ALTER_CONFIGS",
        {"resources": [named(32, "g", configs=[{"name": "consumer.session.timeout.ms", "value": "7"}])]},
        {"responses": [named(32, "g", errorCode=0)]},
        [change("group", "g", "consumer.session.timeout.ms", "set", "7")],
    ),
    (
        "ALTER_CLIENT_QUOTAS",
        {
            "entries": [
                {
                    "entity": quota_of(("client-id", None), ("user", "<default>")),
                    "ops": [
                        {"key": "producer_byte_rate", "value": 20000.0, "remove": False},
                        {"key": "request_percentage", "value": 12.5, "remove": False},
                        {"key": "consumer_byte_rate", "value": 0.0, "remove": True},
                    ],
                }
            ]
        },
        {"entries": [{"errorCode": 0, "entity": quota_of(("user", "<default>"), ("client-id", None))}]},
        [
            change("quota", USER_AND_CLIENT, "producer_byte_rate", "set", "20000"),
            change("quota", USER_AND_CLIENT, "request_percentage", "set", "12.5"),
            change("quota", USER_AND_CLIENT, "consumer_byte_rate", "delete"),
        ],
    ),
    (
        "CREATE_ACLS",
        {"creations": [ACL | {"resourcePatternType": 3}, ACL | {"resourcePatternType": 4}]},
        {"results": [{"errorCode": 0}, {"errorCode": 42}]},
        [
            change("acl", "TOPIC:LITERAL:ord%3Aers", "ALLOW READ User:alice from *", "set", "set"),
            change("acl", "TOPIC:PREFIXED:ord%3Aers", "ALLOW READ User:alice from *", "set", "set", 42),
        ],
    ),
    (
        "DELETE_ACLS",
        {"filters": [{"resourceTypeFilter": 2}, {"resourceTypeFilter": 3}]},
        {
            "filterResults": [
                {"errorCode": 0, "matchingAcls": [ACL | {"patternType": 4, "errorCode": 0}]},
                {"errorCode": 0, "matchingAcls": []},
            ]
        },
        [change("acl", "TOPIC:PREFIXED:ord%3Aers", "ALLOW READ User:alice from *", "delete")],
    ),
    (
        "ALTER_PARTITION_REASSIGNMENTS",
        {"topics": [{"name": "t", "partitions": [placed(0, [3, 1]), placed(1, None)]}]},
        {
            "errorCode": 0,
            "responses": [
                {
                    "name": "t",
                    "partitions": [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 85}],
                }
            ],
        },
        [
            change("topic", "t", ":reassignment/0", "set", "3,1"),
            change("topic", "t", ":reassignment/1", "delete", error=85),
        ],
    ),
    (
        "UPDATE_FEATURES",
        {
            "featureUpdates": [
                {"feature": "group.version", "maxVersionLevel": 1},
                {"feature": "x", "maxVersionLevel": 0},
            ]
        },
        {"errorCode": 0, "results": [{"feature": "group.version", "errorCode": 95}, {"feature": "x", "errorCode": 0}]},
        [change("feature", "group.version", ":level", "set", "1", 95), change("feature", "x", ":level", "delete")],
    ),
    (
        "UPDATE_FEATURES",
        {"featureUpdates": [{"feature": "group.version", "maxVersionLevel": 1}]},
        {"errorCode": 95},
        [change("feature", "group.version", ":level", "set", "1", 95)],
    ),
    (
        "UNREGISTER_BROKER",
        {"brokerId": 3},
        {"errorCode": 0},
        [change("broker", "3", attr, "delete") for attr in (":endpoints", ":rack", ":fenced")],
    ),
    ("METADATA", {"topics": None}, {"topics": []}, []),
]


@pytest.mark.parametrize(
    ("api", "request_", "response", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_an_api_changes(
    api: str, request_: dict[str, Any], response: dict[str, Any], expected: list[Change]
) -> None:
    assert list(changes(api, request_, response)) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("my.plugin.token", "x"), ("sasl.jaas.config", "[hidden]"), ("a", "[hidden]")]
)
def test_a_secret_is_named_and_not_told(name: str, value: str) -> None:
    text = alter_configs([(name, 0, value)], resource=(4, "1")).text
    ((*_, key, attr, op, told, sensitive, error),) = altered(text, END)
    assert (key, attr, op, told, sensitive, error) == ("1", name, "set", None, True, 0)


def test_of_a_credential_only_the_iterations_are_told() -> None:
    ((*_, type_, key, attr, op, value, sensitive, error),) = altered(
        alter_scram("carol", "U0FMVA", "U0FMVEVE").text, END
    )
    assert (type_, key, attr, op, value, sensitive, error) == (
        "scram",
        "carol",
        "SCRAM-SHA-256",
        "set",
        "iterations=8192",
        False,
        0,
    )


def test_an_answer_that_says_nothing_of_a_thing_does_not_say_done() -> None:
    told = changes("CREATE_PARTITIONS", {"topics": [{"name": "t", "count": 2}]}, {"throttleTimeMs": 0, "results": []})
    assert [each.error_code for each in told] == [NO_ANSWER]


def test_who_asked_and_when() -> None:
    logged = alter_configs(
        [("retention.ms", 1, None)], validate_only=True, correlation_id=9, client_id="", total_ms=1500.5
    )
    ((*head, _, _, _, _, _, _, _),) = altered(logged.text, END)
    assert head == [
        END - timedelta(milliseconds=1500.5),
        "INCREMENTAL_ALTER_CONFIGS",
        9,
        "",
        "10.0.0.7",
        "User:alice",
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("connection", "host"),
    [
        ("127.0.0.1:22858-127.0.0.1:49126-1-0", "127.0.0.1"),
        ("127.0.0.1:16823-10.1.2.3:46622-8", "10.1.2.3"),
        ("0:0:0:0:0:0:0:1:9092-fe80:0:0:0:1:2:3:4%eth0:40000-1-0", "fe80:0:0:0:1:2:3:4%eth0"),
        ("somewhere", None),
    ],
)
def test_where_a_client_is(connection: str, host: str | None) -> None:
    assert client_host(connection) == host


@given(st.integers(0, 2000))
def test_a_cut_request_gives_nothing(cut: int) -> None:
    text = alter_configs([("retention.ms", 0, "1")]).text
    assert altered(text[: min(cut, len(text) - 1)], END) == []


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
)
def test_bodies_of_any_form_are_no_error(body: Any) -> None:
    logged = json.loads(alter_configs([("retention.ms", 0, "1")]).text)
    for field in ("request", "response", "requestHeader", "connection"):
        altered(json.dumps(logged | {field: body}), END)
    altered(json.dumps(body), END)


def test_a_change_of_another_form_is_not_passed_over() -> None:
    logged = json.loads(alter_configs([("retention.ms", 0, "1")]).text)
    logged["request"] = {"resources": [{"kind": "topic", "called": "orders"}]}
    ((_, api, *_, principal, _, _, type_, _, attr, _, value, _, error),) = altered(json.dumps(logged), END)
    assert (api, principal, type_, attr, value) == (
        "INCREMENTAL_ALTER_CONFIGS",
        "User:alice",
        "cluster",
        ":unread",
        None,
    )
    assert error == NO_ANSWER


def test_produce_changes_nothing() -> None:
    assert altered(produce(1).text, END) == []
    assert isinstance(produce(1), Logged)


def test_the_names_of_the_apis_are_kafkas() -> None:
    from kio.index import api_key_map

    assert {name.upper() for name in api_key_map.values() if isinstance(name, str)} | {
        name.upper() for name in api_key_map if isinstance(name, str)
    } >= ALTER_APIS


@pytest.mark.parametrize("number", [1 << 70, -(1 << 31) - 1, 40_000])
def test_a_number_that_kafka_has_not_is_no_error(number: int) -> None:
    request = alter_configs([("a", 0, "b")], error=number)
    assert [row[-1] for row in altered(request.text, END)] == [NO_ANSWER]
    assert len(altered(alter_configs([("a", 0, "b")], correlation_id=number).text, END)) == (number == 40_000)


# -- a wrong time zone of a request log: the metadata log shows it, and the message names the zone that fits -----------

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Kathmandu"]
)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@given(ZONES, ZONES, st.lists(st.integers(0, 500), min_size=2, max_size=6, unique=True))
def test_the_zone_that_fits_is_found(true: str, given_zone: str, minutes: list[int]) -> None:
    moments = [NOON + timedelta(minutes=each) for each in minutes]
    shown = [each.astimezone(ZoneInfo(true)).replace(tzinfo=None) for each in moments]
    read = [each.replace(tzinfo=ZoneInfo(given_zone)).astimezone(UTC) for each in shown]
    (steps,) = {(moment - one) // QUARTER for moment, one in zip(moments, read, strict=True)}
    assert abs(steps) <= FURTHEST
    assert true in fitting_zones(given_zone, read, steps)
    assert wrong_steps({steps: len(minutes)}) == (steps or None)


def test_a_few_chances_make_no_zone_wrong() -> None:
    assert wrong_steps({}) is None
    assert wrong_steps({0: 5, 4: 5}) is None
    assert wrong_steps({4: 1}) is None
    assert wrong_steps({0: 20, 4: 55}) is None
    assert wrong_steps({0: 1, 4: 55, 8: 3}) == 4
    assert fitting_zones("Europe/Berlin", [NOON], 4)[0] == "UTC"


@pytest.mark.xdist_group("spark-two")
@pytest.mark.long
def test_a_wrong_zone_is_refused_with_the_one_that_fits(
    spark: SparkSession, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kac refuses a wrong time zone of a request log and names the one that fits, also after an update died between
    writing a batch and undoing it. Every quarter of an hour a client sets a key to the same value again, which
    fits any zone; only every fifth time it also sets another key to a new value, which shows the right zone.
    """
    meta = tmp_path / "meta" / "__cluster_metadata-0"
    meta.mkdir(parents=True)
    (meta.parent / "meta.properties").write_text("cluster.id=c\n")
    records, lines = b"", []
    for number in range(20):
        at = NOON + timedelta(minutes=15 * number)
        changes = [("retention.ms", "1000")] + ([("segment.ms", str(number))] if number % 5 == 0 else [])
        for key, text in changes:
            record = value("ConfigRecord", resourceType=2, resourceName="orders", name=key, value=text)
            records += batch(records.count(b"orders"), [record], stamp_ms=int(at.timestamp() * 1000))
            lines.append(asked(at + timedelta(milliseconds=3), key, text))
    (meta / f"{0:020}.log").write_bytes(records)
    log = tmp_path / "request.log"
    log.write_bytes(log_of(lines))

    def update_as(zone: str) -> Report:
        inputs = Inputs((MetadataLog(str(meta)),), (RequestLog((str(log),), "c", 1, zone),))
        return app.update(RunPlan(lake, inputs), lambda: nullcontext(spark))

    monkeypatch.setattr("console.lake.app.check_clocks", dies("before the look at the clocks"))
    with pytest.raises(runs.SparkFailed) as died:
        update_as("UTC")
    assert "died before the look at the clocks" in str(died.value.__cause__)
    monkeypatch.undo()
    assert len(held(lake, "request")) > 0
    for zone, off in (("UTC", "1:00 h earlier"), ("Asia/Kolkata", "4:30 h later")):
        with pytest.raises(LakeError) as refused:
            update_as(zone)
        said = str(refused.value)
        assert f"broker 1 of c is wrong: the metadata log has what 4 of its requests changed {off}" in said
        assert "write timezone: Europe/Berlin in sources.yaml" in said
        assert f"read as {zone}" in said
        assert next(lake.runs())["message"] == said
        assert held(lake, "request") == []
    assert len(held(lake, "kraft_record")) == 24
    assert {row["principal"] for row in held(lake, "history")} == {None}, "the other source is in gold all the same"
    remove = Filesystem.remove
    dead = dies("with the checkpoint still there")
    monkeypatch.setattr(
        Filesystem, "remove", lambda files, path: (dead if Path(path).exists() else remove)(files, path)
    )
    with pytest.raises(LakeError) as refused:
        update_as("UTC")
    assert "died with the checkpoint still there" in str(refused.value.__cause__)
    monkeypatch.undo()
    assert held(lake, "request") == []
    assert update_as("Europe/Berlin").taken["request_log"] == {"good": 24, "bad": 0}
    # The first update read the metadata log; gold is built from it once the zones are right.
    for _ in range(2):
        assert sum(row["alter"] is not None for row in held(lake, "request")) == 24
        assert sum(row["lines"] for row in held(lake, "request")) == 24
        found = [row for row in held(lake, "history") if row["attr"] == "segment.ms"]
        assert [(row["new_value"], row["principal"]) for row in sorted(found, key=lambda row: row["valid_from"])] == [
            (str(number), "User:alice") for number in (0, 5, 10, 15)
        ]
        assert update_as("Europe/Berlin").taken == {}


def dies(where: str) -> Callable[..., None]:
    """Return a function that raises RuntimeError with the text ``died WHERE``, in place of a kill."""

    def die(*_: object) -> None:
        raise RuntimeError(f"died {where}")

    return die


def asked(at: datetime, key: str, text: str) -> Logged:
    shown = at.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
    return alter_configs([(key, 0, text)], at=shown, correlation_id=int(at.timestamp()) % 100_000)
