"""Lines found in files: split anywhere, packed, laid out otherwise, damaged; and what of a file is new."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tracemalloc
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.requests import lines
from console.lake.requests import log_files as files
from console.lake.requests.counted import Whose, counted
from console.lake.requests.log_files import (
    LONGEST_PART,
    PART_BYTES,
    PARTS,
    AmbiguousHourError,
    BrokerLog,
    Plan,
    Twice,
    fold_at,
    jump,
    opened,
    part_bytes,
    parts_of,
    plan,
    shown_twice,
)
from tests.lake.known_requests import all_rows, lines_in, lines_of
from tests.lake.request_lines import Logged, alter_configs, fetch, log_of, produce
from tests.support.expressions import cpu_seconds

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
    """All lines of a file."""
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
    """(file's name, byte) of all that a plan has read."""
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
    # The tail is whole now, another line is there; and the log has turned: what was live is packed.
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
        # As a writer without O_APPEND goes on where it was.
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
    """A request in each of these minutes after `begin`, at the time that clocks in Berlin show."""
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
    # Where the clock goes back by half an hour, too.
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
    # Put forward: a time is left out, none is shown twice.
    assert shown_twice(BERLIN, datetime(2026, 3, 28), datetime(2026, 3, 30)) is None


def test_a_time_far_away_takes_no_time() -> None:
    first = datetime(2026, 11, 21)
    assert cpu_seconds(lambda: shown_twice("Asia/Kolkata", first, datetime(9000, 1, 1)) is None, 5.0) < 2


def test_lines_a_little_out_of_order_are_no_second_pass() -> None:
    twice = Twice(datetime(2026, 10, 25, 2), datetime(2026, 10, 25, 3), timedelta(hours=1))
    times = [datetime(2026, 10, 25, 1, 59), datetime(2026, 10, 25, 2, 10, 1), datetime(2026, 10, 25, 2, 10)]
    assert jump(enumerate(times), twice) == (None, None)
    assert jump(enumerate([*times, datetime(2026, 10, 25, 2, 50), datetime(2026, 10, 25, 2, 5)]), twice) == (4, None)
