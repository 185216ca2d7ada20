"""Tests of polls that hosts deliver into a lake: kac reads them unchanged, and ignores or refuses other files in the
directory.
"""

import gzip
import json
import os
import resource
import secrets
import socket
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake import entities, landing, schema
from console.lake import landing as lake_landing
from console.lake.lake import Lake

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MAYBE = st.none() | TEXT
ROWS = st.one_of(
    st.tuples(st.just("state"), TEXT, TEXT, TEXT, MAYBE, MAYBE, st.booleans()),
    st.tuples(st.just("absent"), TEXT, TEXT, st.none(), st.none(), st.none(), st.just(False)),
    st.tuples(st.just("heartbeat"), TEXT, st.none(), st.none(), st.none(), st.none(), st.just(False)),
    st.tuples(st.just("failed"), TEXT, MAYBE, st.none(), MAYBE, st.none(), st.just(False)),
)
POLLED = st.builds(
    lake_landing.Landed,
    TEXT.filter(lambda text: not entities.id_problem(text)),
    st.integers(0, 253_402_300_799_000_000),
    st.lists(ROWS, max_size=5),
)
GOOD: Any = ["c", 7, [["state", "topic", "t", "retention.ms", "1", None, False]]]


def folder_of(lake: Lake) -> Path:
    folder = Path(lake.path(lake_landing.POLLS))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def put(lake: Lake, packed: bytes, name: str = "x.json.gz") -> Path:
    path = folder_of(lake) / name
    path.write_bytes(packed)
    return path


def packed(*lines: Any) -> bytes:
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


@given(st.lists(POLLED, max_size=4))
def test_what_is_delivered_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, polls: list[lake_landing.Landed]
) -> None:
    lake = Lake.create(str(tmp_path_factory.mktemp("lake")))
    path = lake_landing.deliver(lake, polls, "20261121T101500Z-3f9a1c")
    assert lake_landing.landed_files(Path(lake.path(lake_landing.POLLS))) == [Path(path)]
    batches = list(lake_landing.read_polls(Path(path)))
    assert all(batch.schema == schema.arrow_schema(schema.SNAPSHOT) for batch in batches)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    expected = [(poll.cluster_id, epoch + timedelta(microseconds=poll.at), *row) for poll in polls for row in poll.rows]
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == expected


def test_no_line_is_lost_where_a_file_is_unpacked_piece_by_piece(lake: Lake) -> None:
    """kac reads all lines of a compressed file in order, however long they are, and also if a line ends at or across
    the end of a decompressed piece.
    """
    polls = [
        lake_landing.Landed(
            f"c{number}", number, [("state", "topic", "t", "a", "v" * (number * 997 % 70_000), None, False)]
        )
        for number in range(300)
    ]
    read = [
        row
        for batch in lake_landing.read_polls(Path(lake_landing.deliver(lake, polls, "x")))
        for row in batch.to_pylist()
    ]
    assert [(row["cluster_id"], len(row["value"])) for row in read] == [
        (poll.cluster_id, len(str(poll.rows[0][4]))) for poll in polls
    ]


def test_only_whole_files_of_this_user_are_seen(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(lake)
    good = put(lake, packed(GOOD))
    put(lake, packed(GOOD), ".half.json.gz.1a2b")
    put(lake, packed(GOOD), ".hidden.json.gz")
    put(lake, packed(GOOD), "notes.txt")
    put(lake, packed(GOOD), "two\nlines.json.gz")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json.gz")).write_bytes(packed(GOOD))
    (folder / "link.json.gz").symlink_to(good)
    (folder / "nowhere.json.gz").symlink_to(tmp_path / "nothing")
    (folder / "loop.json.gz").symlink_to(folder / "loop.json.gz")
    (folder / "folder.json.gz").mkdir()
    os.mkfifo(folder / "pipe.json.gz")
    with socket.socket(socket.AF_UNIX) as ear:
        here = Path.cwd()
        os.chdir(folder)  # the name of a socket has to be short
        try:
            ear.bind("ear.json.gz")
        finally:
            os.chdir(here)
        assert lake_landing.landed_files(folder) == [good]
    assert lake_landing.landed_files(tmp_path / "not there") == lake_landing.landed_files(good) == []
    for name in ("link", "nowhere", "loop", "folder", "pipe", "ear"):
        with pytest.raises(lake_landing.BadLanding, match=f"{name}.json.gz"):
            list(lake_landing.read_polls(folder / f"{name}.json.gz"))
    assert list(lake_landing.read_polls(folder / "gone.json.gz")) == []
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    assert lake_landing.landed_files(folder) == []
    with pytest.raises(lake_landing.BadLanding, match="is not a file of this user"):
        list(lake_landing.read_polls(good))


def row(**other: Any) -> list[Any]:
    """Return a delivered poll of one row, in which the values of `other` replace valid ones."""
    names = ("kind", "entity_type", "entity_key", "attr", "value", "source", "is_sensitive")
    return ["c", 7, [list((dict(zip(names, GOOD[2][0], strict=True)) | other).values())]]


HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no gzip": lambda: json.dumps(GOOD).encode() + b"\n",
    "zlib": lambda: zlib.compress(json.dumps(GOOD).encode() + b"\n"),
    "cut": lambda: packed(GOOD)[:-5],
    "cut in its data": lambda: packed(*[GOOD] * 999)[:60],
    "wrong checksum": lambda: packed(GOOD)[:-8] + bytes(8),
    "damaged": lambda: packed(*[[f"c{n}", n, []] for n in range(999)])[:500] + b"\xff" * 999,
    "goes on": lambda: packed(GOOD) + b"x" * 99,
    "a second one": lambda: packed(GOOD) + packed(GOOD),
    "no last newline": lambda: gzip.compress(json.dumps(GOOD).encode()),
    "no JSON": lambda: gzip.compress(b"hello\n"),
    "an empty line": lambda: gzip.compress(b"\n"),
    "no UTF-8": lambda: gzip.compress(b'["\xff",7,[]]\n'),
    "half a surrogate": lambda: gzip.compress(b'["c",7,[["failed","\\ud800",null,null,null,null,false]]]\n'),
    "deep": lambda: gzip.compress(b"[" * 100_000 + b"\n"),
    "deep in a row": lambda: gzip.compress(b'["c",7,[' + b"[" * 100_000 + b"\n"),
    "deep behind it": lambda: gzip.compress(b'["c",7,[],' + b"[" * 100_000 + b"]" * 100_000 + b"]\n"),
    "an object": lambda: packed({"cluster_id": "c", "at": 7, "rows": []}),
    "short": lambda: packed(["c", 7]),
    "long": lambda: packed([*GOOD, 1]),
    "a number for a text": lambda: packed([1, 7, []]),
    "a text for a time": lambda: packed(["c", "7", []]),
    "before 1970": lambda: packed(["c", -1, []]),
    "behind the year 9999": lambda: packed(["c", 1 << 62, []]),
    "no integer": lambda: packed(["c", 1e300, []]),
    "a short row": lambda: packed(["c", 7, [["state", "topic"]]]),
    "an unknown kind": lambda: packed(row(kind="whatever\x1b[2J")),
    "a state of nothing": lambda: packed(row(entity_key=None)),
    "a state without attribute": lambda: packed(row(attr=None)),
    "nothing that is gone": lambda: packed(row(kind="absent", entity_key=None)),
    "no flag": lambda: packed(row(is_sensitive=1)),
    "no id": lambda: packed(["", 7, []]),
    "a blank id": lambda: packed(["  ", 7, []]),
    "a long id": lambda: packed(["x" * 999, 7, []]),
    "an id with escapes": lambda: packed(["\x1b[2J", 7, []]),
    "an id with a zero byte": lambda: packed(["a\0b", 7, []]),
    "a reserved id": lambda: packed(["__HIVE_DEFAULT_PARTITION__", 7, []]),
    "a good one before": lambda: packed(GOOD, ["", 7, []]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_file_of_polls_is_refused_and_named(lake: Lake, name: str) -> None:
    path = put(lake, HOSTILE[name]())
    with pytest.raises(lake_landing.BadLanding) as caught:
        list(lake_landing.read_polls(path))
    said = str(caught.value)
    assert str(path) in said
    assert "delete it" in said
    assert said.isprintable()
    assert len(said) < 500 + len(str(path))
    assert path.exists()


@pytest.mark.parametrize("cluster_id", ["..", "/", "a/../..", "%2e", "~", "a=b", "in_cluster_id=x", "é" * 60, "'; --"])
def test_odd_ids_are_ids(lake: Lake, cluster_id: str) -> None:
    (batch,) = lake_landing.read_polls(put(lake, packed([cluster_id, 7, GOOD[2]])))
    assert batch["cluster_id"].to_pylist() == [cluster_id]


@given(st.binary(max_size=300), st.booleans())
def test_nothing_else_comes_out_of_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, is_packed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json.gz"
    path.write_bytes(gzip.compress(data) if is_packed else data)
    try:
        read = list(lake_landing.read_polls(path))
    except lake_landing.BadLanding:
        return
    assert (read, data) == ([], b"")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=12,
)


@given(st.tuples(JSON, JSON, JSON) | st.tuples(st.just("c"), st.just(7), st.lists(st.lists(JSON, max_size=8))) | JSON)
def test_nothing_else_comes_out_of_any_json(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "json.json.gz"
    path.write_bytes(gzip.compress(msgspec.json.encode(data) + b"\n"))
    try:
        (batch,) = lake_landing.read_polls(path)
    except lake_landing.BadLanding:
        return
    assert batch.num_rows == len(data[2])


def pieces(size: int, piece: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """Return the gzip of `before`, of `piece` repeated to at most `size` bytes, and of `after`, without building the
    uncompressed data in memory.
    """
    packer = zlib.compressobj(wbits=31)

    def made() -> Iterator[bytes]:
        yield packer.compress(before)
        for _ in range(size // len(piece)):
            yield packer.compress(piece)
        yield packer.compress(after)
        yield packer.flush()

    return b"".join(made())


@pytest.mark.parametrize("of", ["one line", "many lines", "behind it"])
def test_what_unpacks_to_more_than_there_may_be_is_refused_in_little_memory(
    lake: Lake, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landing, "MOST_BYTES", 64 << 20)
    monkeypatch.setattr(landing, "MOST_LINE", 8 << 20)
    line = json.dumps(row(value="v" * 100_000)).encode() + b"\n"
    path = put(
        lake,
        {
            "one line": lambda: pieces(80 << 20, b"x" * (1 << 20)),
            "many lines": lambda: pieces(80 << 20, line),
            "behind it": lambda: packed(GOOD) + bytes(80 << 20),
        }[of](),
    )
    tracemalloc.start()
    try:
        with pytest.raises(lake_landing.BadLanding):
            for _ in lake_landing.read_polls(path):
                pass
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 40 << 20


def test_a_long_line_is_read_whole(lake: Lake) -> None:
    """kac reads a line of tens of megabytes whole."""
    rows: list[Any] = [("state", "topic", f"t{n}", "a", "v" * 1000, None, False) for n in range(40_000)]
    path = lake_landing.deliver(lake, [lake_landing.Landed("c", 7, rows)], "x")
    assert sum(batch.num_rows for batch in lake_landing.read_polls(Path(path))) == 40_000


@contextmanager
def full_disk(more: int) -> Iterator[None]:
    """Limit the size of each file to `more` further bytes within the block, so that a write fails in the middle, as on
    a full disk.
    """
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (more, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


def test_what_finds_no_room_is_not_delivered_and_leaves_nothing(lake: Lake) -> None:
    rows = [("state", "topic", f"t{number}", secrets.token_hex(40), None, None, False) for number in range(500)]
    lake_landing.deliver(lake, [lake_landing.Landed("c", 1, [])], "before")
    before = sorted(Path(lake.where, lake_landing.POLLS).iterdir())
    with full_disk(4096), pytest.raises(OSError, match="File too large"):
        lake_landing.deliver(lake, [lake_landing.Landed("c", 2, rows)], "torn")
    assert sorted(Path(lake.where, lake_landing.POLLS).iterdir()) == before
    lake_landing.deliver(lake, [lake_landing.Landed("c", 2, rows)], "whole")
    assert len(lake_landing.landed_files(Path(lake.where, lake_landing.POLLS))) == 2
