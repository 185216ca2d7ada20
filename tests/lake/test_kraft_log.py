"""A metadata log's files: which records are read, once each, and what becomes of damage, cuts and transactions."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake import kraft
from tests.support import metadata_log
from tests.support.examples import examples

KEY = b"key of the lake"
BEGIN, END, ABORT = (metadata_log.value(f"{each}TransactionRecord") for each in ("Begin", "End", "Abort"))


def topic(name: str) -> bytes:
    return metadata_log.value("TopicRecord", name=name, topicId="A" * 22)


@dataclass(frozen=True)
class Read:
    """What was read of a log: names of topics by their offset, and all rows."""

    plan: kraft.LogPlan
    rows: list[dict[str, Any]]
    troubles: list[kraft.Trouble]

    @property
    def topics(self) -> dict[int, str]:
        return {row["log_offset"]: json.loads(row["payload"])["name"] for row in self.rows if row["api_key"] == 2}

    @property
    def reasons(self) -> list[str]:
        return [trouble.reason for trouble in self.troubles]


def read(*folders: Path, **options: Any) -> Read:
    troubles: list[kraft.Trouble] = []
    options.setdefault("cluster_id", "cluster-a")
    plan, batches = metadata_log.read_log([str(folder) for folder in folders], KEY, troubles.append, **options)
    return Read(plan, pa.Table.from_batches(list(batches), kraft.ROW_SCHEMA).to_pylist(), troubles)


def segment(folder: Path, data: bytes, offset: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{offset:020}.log"
    path.write_bytes(data)
    return path


def snapshot(folder: Path, end: int, values: Sequence[bytes], *, footer: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    data = metadata_log.control(0, metadata_log.SNAPSHOT_HEADER) + metadata_log.batch(1, values)
    path = folder / f"{end:020}-{1:010}.checkpoint"
    path.write_bytes(data + (metadata_log.control(len(values) + 1, metadata_log.SNAPSHOT_FOOTER) if footer else b""))
    return path


def chain(*batches: Sequence[bytes] | bytes, base: int = 0, epoch: int = 1) -> list[bytes]:
    """Batches that follow one another; a lone value is a leader change."""
    made, offset = [], base
    for values in batches:
        if isinstance(values, bytes):
            made.append(metadata_log.control(offset, metadata_log.LEADER_CHANGE, epoch=epoch))
            offset += 1
        else:
            made.append(metadata_log.batch(offset, values, epoch=epoch))
            offset += len(values)
    return made


def numbered(sizes: Sequence[int]) -> list[list[bytes]]:
    names = (topic(f"t{at}") for at in range(10**6))
    return [[next(names) for _ in range(size)] for size in sizes]


@pytest.fixture
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made) / "__cluster_metadata-0"


def test_the_log_directory_says_of_which_cluster_it_is(tmp_path: Path) -> None:
    segment(tmp_path / "__cluster_metadata-0", b"".join(chain(b"", [topic("orders")])))
    with pytest.raises(kraft.NoMetadataLogError, match=r"meta\.properties has no cluster\.id"):
        read(tmp_path, cluster_id=None)
    (tmp_path / "meta.properties").write_text("#x\nversion=1\ncluster.id=abc=d\n")
    for folder in (tmp_path, tmp_path / "__cluster_metadata-0"):
        told = read(folder, cluster_id=None)
        assert [(row["cluster_id"], row["log_offset"]) for row in told.rows] == [("abc=d", 1)]
        assert told.plan.next_offset == 2


def test_folders_without_a_log_are_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(kraft.NoMetadataLogError, match="no segments"):
        read(tmp_path)
    with pytest.raises(kraft.NoMetadataLogError, match="is not a folder"):
        read(tmp_path / "nowhere")


_SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=12)


@given(_SIZES, st.integers(1, 600), st.integers(0, 40), st.integers(0, 40))
@examples(20, at_length=60)
def test_however_it_is_split_the_rows_are_the_same(sizes: list[int], split: int, start: int, more: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        segment(folder, b"".join(chain(*numbered(sizes))))
        plan = kraft.plan_log([made], cluster_id="c", start_offset=start, end_offset=start + more, split_bytes=split)
        batches = [list(kraft.read_splits([each], KEY, pytest.fail)) for each in plan.splits]
        rows = pa.Table.from_batches([one for some in batches for one in some], kraft.ROW_SCHEMA)
        offsets = [offset for offset in range(sum(sizes)) if start <= offset < start + more]
        assert rows.column("log_offset").to_pylist() == offsets
        assert plan.next_offset == max(start, min(sum(sizes), start + more))
        assert rows == pa.Table.from_batches(
            list(
                metadata_log.read_log(
                    [made], KEY, pytest.fail, cluster_id="c", start_offset=start, end_offset=start + more
                )[1]
            ),
            kraft.ROW_SCHEMA,
        )


@given(_SIZES, st.data())
@examples(25, at_length=80)
def test_cut_anywhere_it_loses_no_more_than_its_tail(sizes: list[int], data: st.DataObject) -> None:
    batches = chain(*numbered(sizes))
    whole = b"".join(batches)
    cut = data.draw(st.integers(0, len(whole)))
    left, at = 0, 0
    for one, size in zip(batches, sizes, strict=True):
        at += len(one)
        left += size if at <= cut else 0
    with tempfile.TemporaryDirectory() as made:
        segment(Path(made), whole[:cut])
        told = read(Path(made))
        assert [row["log_offset"] for row in told.rows] == list(range(left))
        assert told.plan.next_offset == left
        assert told.troubles == []


def test_a_file_that_was_made_larger_than_what_is_written_ends_there(new_folder: Path) -> None:
    segment(new_folder, b"".join(chain(*numbered([2, 2]))) + bytes(5000))
    told = read(new_folder)
    assert sorted(told.topics) == [0, 1, 2, 3]
    assert told.troubles == []


@given(st.lists(st.integers(1, 4), min_size=2, max_size=8), st.data())
@examples(40, at_length=150)
def test_a_flipped_bit_costs_its_batch_alone_and_is_told(sizes: list[int], data: st.DataObject) -> None:
    batches = chain(*numbered(sizes))
    hit = data.draw(st.integers(0, len(sizes) - 1), label="batch")
    byte = data.draw(st.integers(0, len(batches[hit]) - 1), label="byte")
    bit = data.draw(st.integers(0, 7), label="bit")
    if hit == len(sizes) - 1 and byte in range(8, 16):
        return  # the last one's length, which may be a file that is being written, and epoch, which nothing follows
    damaged = bytearray(batches[hit])
    damaged[byte] ^= 1 << bit
    before = sum(sizes[:hit])
    with tempfile.TemporaryDirectory() as made:
        segment(Path(made), b"".join((*batches[:hit], bytes(damaged), *batches[hit + 1 :])))
        told = read(Path(made))
        expected = [at for at in range(sum(sizes)) if not before <= at < before + sizes[hit]]
        assert [row["log_offset"] for row in told.rows] == expected
        assert told.topics == {at: f"t{at}" for at in expected}
        (trouble,) = told.troubles
        assert trouble.byte_pos == sum(map(len, batches[:hit]))
        assert trouble.reason.startswith(f"batch at offset {before}: ")


def test_damage_over_several_batches_is_left_behind(new_folder: Path) -> None:
    batches = chain(*numbered([2] * 40))
    at = random.Random(3).randbytes(sum(map(len, batches[10:20])) - 7)
    segment(new_folder, b"".join((*batches[:10], at, *batches[20:])))
    told = read(new_folder)
    assert sorted(told.topics) == [*range(20), *range(40, 80)]
    assert told.troubles
    assert told.plan.next_offset == 80


def test_a_damaged_last_batch_is_tried_again(new_folder: Path) -> None:
    *before, last = chain(*numbered([2, 2]))
    segment(new_folder, before[0] + last[:-1] + b"?")
    told = read(new_folder)
    assert told.reasons == ["batch at offset 2: wrong checksum"]
    assert told.plan.next_offset == 2
    segment(new_folder, before[0] + last)
    assert sorted(read(new_folder, start_offset=2).topics) == [2, 3]


def test_batches_larger_than_what_is_held_at_once_are_read(new_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.lake.kraft.WINDOW", 400)
    sizes = [1, 30, 2, 50, 1, 1, 80]
    segment(new_folder, b"".join(chain(*numbered(sizes))))
    told = read(new_folder)
    assert told.troubles == []
    assert told.topics == {at: f"t{at}" for at in range(sum(sizes))}


def test_segments_follow_one_another_and_one_that_is_cut_is_told(new_folder: Path) -> None:
    first, second = chain(*numbered([2, 2]))
    segment(new_folder, first)
    segment(new_folder, second, 2)
    assert read(new_folder).topics == {0: "t0", 1: "t1", 2: "t2", 3: "t3"}
    segment(new_folder, first[:-3])
    told = read(new_folder)
    assert sorted(told.topics) == [2, 3]
    assert told.reasons == ["the file ends within a batch, though the log continues in the next file"]


def test_several_controllers_logs_are_one_and_make_good_for_each_other(tmp_path: Path) -> None:
    batches = chain(*numbered([2] * 6))
    broken = batches[2][:-1] + b"?"
    segment(tmp_path / "1", b"".join((*batches[:2], broken, *batches[3:5])))
    segment(tmp_path / "2", b"".join(batches))
    told = read(tmp_path / "1", tmp_path / "2")
    assert sorted(row["log_offset"] for row in told.rows) == list(range(12))
    assert told.topics == {at: f"t{at}" for at in range(12)}
    assert len(told.troubles) == 1


def test_clusters_are_kept_apart(tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b", 2)):
        segment(tmp_path / name / "__cluster_metadata-0", b"".join(chain(*numbered([size]))))
        (tmp_path / name / "meta.properties").write_text(f"cluster.id={name}\n")
    with pytest.raises(kraft.NoMetadataLogError, match="of several clusters, a, b: read each by itself"):
        read(tmp_path / "a", tmp_path / "b", cluster_id=None)


def test_a_compressed_batch_is_damage(new_folder: Path) -> None:
    one, two, three = (metadata_log.batch(at, [topic(f"t{at}")], attributes=2 if at == 1 else 0) for at in range(3))
    segment(new_folder, one + two + three)
    told = read(new_folder)
    assert sorted(told.topics) == [0, 2]
    assert told.reasons == ["batch at offset 1: compressed, as no batch of a metadata log is"]


@pytest.mark.parametrize("split", [1, 10**6])
def test_transactions_count_when_they_end_and_not_when_they_abort(new_folder: Path, split: int) -> None:
    t = [topic(f"t{at}") for at in range(30)]
    batches = chain(
        [t[0], BEGIN, t[2]],
        [t[3]],
        [END, t[5]],
        [BEGIN],
        [t[7], t[8]],
        b"",
        [t[10], ABORT, t[12]],
        [BEGIN, t[14]],
        [t[15]],
    )
    segment(new_folder, b"".join(batches))
    plan = kraft.plan_log([str(new_folder)], cluster_id="c", split_bytes=split)
    rows = [row for one in kraft.read_splits(plan.splits, KEY, pytest.fail) for row in one.to_pylist()]
    assert [row["log_offset"] for row in rows] == [0, 1, 2, 3, 4, 5, 12]
    assert plan.next_offset == 13
    assert plan.open_at == 13
    segment(new_folder, b"".join(batches) + metadata_log.batch(16, [END, t[17]]))
    told = read(new_folder, start_offset=13)
    assert [row["log_offset"] for row in told.rows] == [13, 14, 15, 16, 17]
    assert told.plan.open_at is None


@given(
    st.lists(st.lists(st.sampled_from("tttBEA"), min_size=1, max_size=4), min_size=1, max_size=8),
    st.integers(1, 400),
    st.integers(1, 3),
)
@examples(20, at_length=60)
def test_however_transactions_lie_what_counts_is_read(drawn: list[list[str]], split: int, pieces: int) -> None:
    """B, E, A: one begins, ends, aborts, where it can; t: a topic. What counts is found here one record at a time."""
    is_open, offset = False, 0
    batches: list[list[bytes]] = []
    counted: list[int] = []
    pending: list[int] = []
    for kinds in drawn:
        batches.append([])
        for kind in kinds:
            if (kind == "B") == is_open and kind != "t":
                kind = "t"
            batches[-1].append({"B": BEGIN, "E": END, "A": ABORT}.get(kind) or topic(f"t{offset}"))
            pending.append(offset)
            if kind == "B":
                pending, is_open = [offset], True
            elif kind in "EA":
                is_open = False
            if kind == "A":
                pending = []
            elif not is_open:
                counted, pending = counted + pending, []
            offset += 1
    with tempfile.TemporaryDirectory() as made:
        segment(Path(made), b"".join(chain(*batches)))
        plan = kraft.plan_log([made], cluster_id="c", split_bytes=split)
        told = [row for one in kraft.read_splits(plan.splits, KEY, pytest.fail) for row in one.to_pylist()]
        assert [row["log_offset"] for row in told] == counted
        assert plan.next_offset == pending[0] if is_open else offset
    following = pending[0] if is_open else offset
    assert fetched_in_pieces(chain(*batches), pieces) == (counted, following)


def fetched_in_pieces(batches: Sequence[bytes], pieces: int) -> tuple[list[int], int]:
    """Offsets, and what follows, of a log that is fetched some batches at a time, each time from the next offset on."""
    firsts = [int.from_bytes(each[:8], "big") for each in batches]
    end = firsts[-1] + int.from_bytes(batches[-1][23:27], "big") + 1
    start, found = 0, []
    while start < end:
        first = max(at for at, offset in enumerate(firsts) if offset <= start)
        following, upto = start, first
        while following == start and upto < len(batches):
            upto = min(upto + pieces, len(batches))
            until = firsts[upto] if upto < len(batches) else end
            whole = b"".join(batches[first:upto])
            plan = kraft.plan_fetched(whole, "controller", "c", start, until, is_snapshot=False)
            following = plan.next_offset
        if following == start:
            break
        assert plan.troubles == ()
        read = kraft.read_splits(plan.splits, KEY, pytest.fail)
        found += [row["log_offset"] for each in read for row in each.to_pylist()]
        start = following
    return found, start


def test_what_is_damaged_of_a_fetched_log_is_told_of_once() -> None:
    whole, damaged = metadata_log.batch(0, [topic("a"), topic("b")]), bytearray(metadata_log.batch(2, [topic("c")]))
    damaged[-1] ^= 1
    plan = kraft.plan_fetched(whole + damaged, "controller", "c", 1, 3, is_snapshot=False)
    rows = [row for each in kraft.read_splits(plan.splits, KEY, pytest.fail) for row in each.to_pylist()]
    assert [(row["log_offset"], row["file"]) for row in rows] == [(1, "controller")]
    assert [each.reason for each in plan.troubles] == ["batch at offset 2: wrong checksum"]
    assert plan.next_offset == 3
    assert kraft.plan_fetched(b"", "controller", "c", 3, 3, is_snapshot=False).next_offset == 3


def test_bytes_that_look_like_a_transaction_are_none(new_folder: Path) -> None:
    odd = [topic(f"x\x01{mark}\x00y") for mark in "\x17\x18\x19"]
    segment(new_folder, b"".join(chain(odd, [topic("t")], odd)))
    assert len(read(new_folder).rows) == 7


def test_a_transaction_without_its_beginning_is_told_by_its_end(new_folder: Path) -> None:
    segment(new_folder, b"".join(chain([topic("t"), ABORT, topic("u")], base=50)), 50)
    assert read(new_folder).topics == {52: "u"}
    segment(new_folder, b"".join(chain([topic("t"), END, topic("u")], base=50)), 50)
    assert sorted(read(new_folder).topics) == [50, 52]


def test_a_snapshot_is_rows_by_their_place_and_left_out_where_it_is_not_whole(new_folder: Path) -> None:
    values = [topic("a"), topic("b"), topic("c")]
    path = snapshot(new_folder, 40, values)
    (new_folder / f"{40:020}-{1:010}.checkpoint.part").write_bytes(b"half")
    told = read(new_folder)
    assert [(row["log_offset"], row["record_index"], row["in_snapshot"]) for row in told.rows] == [
        (40, 1, True),
        (40, 2, True),
        (40, 3, True),
    ]
    assert {row["file"] for row in told.rows} == {path.name}
    assert told.plan.next_offset == 40
    assert read(new_folder, start_offset=40).rows == []
    whole = path.read_bytes()
    for cut in (whole[:-5], whole[:100], whole[:100] + b"!" + whole[101:]):
        path.write_bytes(cut)
        told = read(new_folder)
        assert told.rows == []
        (reason,) = told.reasons
        assert reason.startswith("an incomplete snapshot, left out: ")
        assert told.plan.next_offset == 0
    snapshot(new_folder, 40, values, footer=False)
    assert read(new_folder).reasons == ["an incomplete snapshot, left out: it has no footer"]


def test_snapshots_in_several_copies_are_read_once(tmp_path: Path) -> None:
    for copy in ("1", "2"):
        snapshot(tmp_path / copy, 40, [topic("a")])
    assert len(read(tmp_path / "1", tmp_path / "2").rows) == 1
    broken = snapshot(tmp_path / "1", 40, [topic("a")], footer=False)
    told = read(tmp_path / "1", tmp_path / "2")
    assert len(told.rows) == 1
    assert [trouble.file for trouble in told.troubles] == [str(broken)]


def test_a_log_that_changes_while_it_is_read_gives_no_rows_and_says_so(new_folder: Path) -> None:
    path = segment(new_folder, b"".join(chain(*numbered([2, 2]))))
    plan = kraft.plan_log([str(new_folder)], cluster_id="c")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    for change in (bytes(data), bytes(data[:-1])):
        path.write_bytes(change)
        with pytest.raises(kraft.ChangedWhileReadError, match="run it again"):
            list(kraft.read_splits(plan.splits, KEY, pytest.fail))
    path.unlink()
    with pytest.raises(kraft.ChangedWhileReadError, match="was deleted"):
        list(kraft.read_splits(plan.splits, KEY, pytest.fail))


def test_only_segments_that_reach_are_looked_through(new_folder: Path) -> None:
    first, second = chain(*numbered([2, 2]))
    segment(new_folder, b"never looked at" * 20)
    segment(new_folder, second, 2)
    told = read(new_folder, start_offset=2)
    assert sorted(told.topics) == [2, 3]
    assert told.troubles == []
    assert first != second
