"""Tests of reading the metadata log: its files, its records, the keys of records, and secrets in them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import random
import struct
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from console.lake import kraft
from console.lake.kraft import ROW_SCHEMA
from console.lake.redact import MASKED_CHARS, hmac_hex, is_secret, mask
from console.lake.schema import KRAFT_RECORD, RECORD_COLUMNS, arrow_schema
from console.lake.transforms.change_event import NAMING, records_of, tagged
from console.lake.transforms.kraft_changes import placed_facts
from tests.lake import change_worlds as worlds
from tests.support import metadata_log
from tests.support.examples import examples
from tests.support.metadata_log import CONTROL, batch, record, uvarint, value
from tests.support.record_harmless_configs import SECTIONS, WRITTEN, as_text, definitions, harmless

KEY = b"key of the lake"
BEGIN, END, ABORT = (metadata_log.value(f"{each}TransactionRecord") for each in ("Begin", "End", "Abort"))


def topic(name: str) -> bytes:
    return metadata_log.value("TopicRecord", name=name, topicId="A" * 22)


@dataclass(frozen=True)
class Read:
    """The results of reading a metadata log. troubles: damage that was found."""

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
    """Return batches that follow each other from offset `base`. A value in place of a list of values gives a control
    batch with a leader change.
    """
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
        return  # A changed length may be that of a batch being written, and no later batch contradicts a changed epoch.
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
    """kac reads exactly the records that are in no transaction or in a completed one, and continues at the beginning of
    an open transaction. In `drawn`, B, E and A begin, end and abort a transaction if possible; t is a topic record.
    """
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
    following = pending[0] if is_open else offset
    assert plan.next_offset == following
    assert fetched_in_pieces(chain(*batches), pieces) == (counted, following)


def fetched_in_pieces(batches: Sequence[bytes], pieces: int) -> tuple[list[int], int]:
    """Fetch a log at most `pieces` batches at a time, each time from the next offset. Return the offsets of its
    records, and the final next offset. Raises AssertionError if a batch counts as damaged.
    """
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


# -- records of the metadata log, from bytes to rows: their contents, hidden values, and unreadable records ------------

ORIGIN = kraft.Origin("cluster-a", "/logs/00000000000000000000.log")
ALL = sorted(kraft.known_schemas().values(), key=lambda each: (each.api_key, each.version))


def rows(
    data: bytes, key: bytes | None = KEY, origin: kraft.Origin = ORIGIN
) -> tuple[list[dict[str, Any]], list[kraft.Trouble]]:
    troubles: list[kraft.Trouble] = []
    batches = list(kraft.Decoder(key, troubles.append).rows(data, origin))
    return pa.Table.from_batches(batches, kraft.ROW_SCHEMA).to_pylist(), troubles


def payload(*values: bytes) -> Any:
    (row,), troubles = rows(batch(0, values))
    assert troubles == []
    return json.loads(row["payload"])


def test_a_config_and_a_quota_as_real_brokers_write_them() -> None:
    config = bytes.fromhex("0104000204666f6f0d726574656e74696f6e2e6d73053130303000")
    quota = bytes.fromhex("010e0002057573657206616c696365001370726f64756365725f627974655f7261746541300000000000000000")
    told, troubles = rows(batch(17, [config, quota], epoch=3, stamp_ms=1_763_600_000_123))
    assert troubles == []
    assert told[0] == {
        "cluster_id": "cluster-a",
        "log_offset": 17,
        "record_index": 0,
        "in_snapshot": False,
        "leader_epoch": 3,
        "record_ts": told[0]["record_ts"],
        "record_type": "ConfigRecord",
        "api_key": 4,
        "version": 0,
        "payload": '{"resourceType":2,"resourceName":"foo","name":"retention.ms","value":"1000"}',
        "value_hmac": None,
        "file": "00000000000000000000.log",
    }
    assert told[0]["record_ts"].isoformat() == "2025-11-20T00:53:20.123000+00:00"
    assert told[1]["log_offset"] == 18
    assert json.loads(told[1]["payload"]) == {
        "entity": [{"entityType": "user", "entityName": "alice"}],
        "key": "producer_byte_rate",
        "value": 1048576.0,
        "remove": False,
    }


def test_a_controller_that_is_unregistered_as_kafka_4_4_writes_it() -> None:
    told, troubles = rows(batch(17, [bytes.fromhex("011d000000000200")]))
    assert troubles == []
    assert [(row["record_type"], row["payload"]) for row in told] == [
        ("UnregisterControllerRecord", '{"controllerId":2}')
    ]


def test_old_and_new_versions_are_known() -> None:
    assert len({schema.api_key for schema in ALL}) == 27
    assert {version for api_key, version in kraft.known_schemas() if api_key == 0} == {0, 1, 2, 3, 4}
    assert {schema.name for schema in ALL} >= {"ClearElrRecord", "ZkMigrationStateRecord"}


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_UUID = st.binary(min_size=16, max_size=16).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="))
_BOUNDS = {"int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}
_BOUNDS |= {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def _of_field(field: kraft.Field) -> st.SearchStrategy[Any]:
    if field.fields:
        one: st.SearchStrategy[Any] = _of_fields(field.fields)
    elif field.type in _BOUNDS:
        one = st.integers(*_BOUNDS[field.type])
    else:
        one = {"string": _TEXT, "bytes": st.binary(max_size=9), "uuid": _UUID, "bool": st.booleans()}.get(
            field.type, st.floats(allow_nan=False, allow_infinity=False)
        )
    made = st.lists(one, max_size=4) if field.is_array else one
    return made | st.none() if field.nullable else made


def _of_fields(fields: tuple[kraft.Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    placed = {field.name: _of_field(field) for field in fields if field.tag is None}
    tagged = {field.name: _of_field(field) for field in fields if field.tag is not None}
    return st.fixed_dictionaries(placed, optional=tagged)


_SOMETHING = st.sampled_from(ALL).flatmap(lambda known: st.tuples(st.just(known), _of_fields(known.fields)))


def _shown(known: kraft.RecordSchema, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as a row has them, with a placeholder for secrets."""
    if known.name == "UserScramCredentialRecord":
        return given | dict.fromkeys(("salt", "storedKey", "serverKey"), "[hidden]")
    if known.name == "ConfigRecord" and given["value"] is not None:
        return given | {"value": "[hidden]"}  # a random name is never that of a harmless config
    return given


@given(st.lists(_SOMETHING, min_size=1, max_size=6))
def test_what_was_encoded_is_decoded(records: list[tuple[kraft.RecordSchema, dict[str, Any]]]) -> None:
    values = [value(known.name, known.version, **fields) for known, fields in records]
    told, troubles = rows(batch(0, values))
    assert troubles == []
    assert [(row["record_type"], row["api_key"], row["version"]) for row in told] == [
        (known.name, known.api_key, known.version) for known, _ in records
    ]
    assert [json.loads(row["payload"]) for row in told] == [_shown(known, fields) for known, fields in records]


def test_numbers_that_json_has_not_are_text() -> None:
    def shown(number: float) -> object:
        return payload(value("ClientQuotaRecord", entity=[], key="k", value=number, remove=False))["value"]

    assert [shown(number) for number in (math.nan, math.inf, -math.inf)] == ["NaN", "Infinity", "-Infinity"]


def test_text_that_is_no_utf_8_does_no_harm() -> None:
    told = payload(value("TopicRecord", name=b'a\xff\x00\x1b"', topicId="A" * 22))
    assert told["name"] == 'a�\x00\x1b"'


def test_secrets_are_hidden_and_told_apart_by_their_hmac() -> None:
    def config(type_: int, name: str, text: str | None) -> bytes:
        return value("ConfigRecord", resourceType=type_, resourceName="1", name=name, value=text)

    scram = {"salt": b"planted-salt", "storedKey": b"planted-stored", "serverKey": b"planted-server"}
    values = [
        config(4, "ssl.keystore.password", "planted-1"),
        config(4, "log.retention.ms", "1000"),
        config(4, "ssl.keystore.password", "planted-2"),
        config(4, "listener.name.sasl.plain.sasl.jaas.config", None),
        config(2, "nobody.knows.this", "planted-3"),
        config(99, "retention.ms", "planted-4"),
        value("UserScramCredentialRecord", name="alice", mechanism=1, iterations=8192, **scram),
    ]
    told, troubles = rows(batch(0, values))
    assert troubles == []
    payloads = [json.loads(row["payload"]) for row in told]
    assert [each.get("value") for each in payloads] == [
        "[hidden]",
        "1000",
        "[hidden]",
        None,
        "[hidden]",
        "[hidden]",
        None,
    ]
    assert payloads[-1] == {
        "name": "alice",
        "mechanism": 1,
        "salt": "[hidden]",
        "storedKey": "[hidden]",
        "serverKey": "[hidden]",
        "iterations": 8192,
    }
    joined = ":".join(base64.b64encode(each).decode() for each in scram.values())
    hidden = ["planted-1", None, "planted-2", None, "planted-3", "planted-4", joined]
    assert [row["value_hmac"] for row in told] == [each if each is None else hmac_hex(KEY, each) for each in hidden]
    assert "planted" not in str(told)
    assert [row["value_hmac"] for row in rows(batch(0, values), key=None)[0]] == [None] * 7


def test_hmacs_stay_with_their_rows_when_others_are_left_out() -> None:
    values = [
        value("ConfigRecord", resourceType=4, resourceName="1", name="ssl.key.password", value=f"secret-{at}")
        for at in range(5)
    ]
    data = batch(0, [*values, value("NoOpRecord")])
    (told,) = kraft.Decoder(KEY, pytest.fail).rows(data, ORIGIN, [(0, 0), (2, 2), (4, 4)])
    assert told.column("log_offset").to_pylist() == [1, 3, 5]
    assert told.column("value_hmac").to_pylist() == [hmac_hex(KEY, "secret-1"), hmac_hex(KEY, "secret-3"), None]


def test_what_a_newer_release_writes_is_a_row_and_told_once() -> None:
    values = [b"\x01\x63\x00abc", b"\x01\x63\x00def", b"\x01\x04\x07xyz", value("NoOpRecord"), b"\x02\x04\x00"]
    told, troubles = rows(batch(5, values))
    assert [(row["record_type"], row["api_key"], row["version"], row["payload"]) for row in told] == [
        ("UNKNOWN(99)", 99, 0, "{}"),
        ("UNKNOWN(99)", 99, 0, "{}"),
        ("UNKNOWN(4)", 4, 7, "{}"),
        ("NoOpRecord", 20, 0, "{}"),
        ("UNKNOWN(-1)", -1, -1, "{}"),
    ]
    newer = "is newer than this release of kac; only the first is reported"
    assert [trouble.reason for trouble in troubles] == [
        f"record at offset 5: record type 99 (version 0) {newer}",
        f"record at offset 7: version 7 of ConfigRecord {newer}",
        "record at offset 9: unknown frame version 2",
    ]


@given(_SOMETHING.filter(lambda each: bool(each[0].fields)), st.data())
def test_a_record_cut_short_is_no_record_and_hides_nothing_wrongly(
    chosen: tuple[kraft.RecordSchema, dict[str, Any]], data: st.DataObject
) -> None:
    known, fields = chosen
    whole = value(known.name, known.version, **fields)
    cut = whole[: data.draw(st.integers(3, len(whole) - 1))]
    told, troubles = rows(batch(0, [cut, value("NoOpRecord")]))
    assert [row["record_type"] for row in told] == [f"UNKNOWN({known.api_key})", "NoOpRecord"]
    assert [row["value_hmac"] for row in told] == [None, None]
    assert len(troubles) == 1
    assert troubles[0].reason.startswith("record at offset 0: ")


@given(st.binary(max_size=60))
def test_no_bytes_in_a_batch_make_it_crash(noise: bytes) -> None:
    whole = batch(0, [noise, value("NoOpRecord")])
    told, _ = rows(whole)
    assert told[-1]["record_type"] == "NoOpRecord"
    body = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 3) + noise
    head = struct.pack(">qiiBI", 0, len(body) + 9, 0, 2, crc32c(body))
    rows(head + body)


def test_a_sample_shows_shapes_alone() -> None:
    _, (trouble,) = rows(batch(0, [b"\x01\x04\x00\x02\x04foo\x16ssl.key.password\x09planted"]))
    assert "planted" not in trouble.sample
    assert "x" in trouble.sample
    assert len(trouble.sample) <= 200
    assert trouble.byte_pos == 0
    assert trouble.file == ORIGIN.path


def test_control_batches_are_no_rows() -> None:
    data = batch(0, [b"\0\0"], attributes=CONTROL) + batch(1, [value("NoOpRecord")])
    assert [row["log_offset"] for row in rows(data)[0]] == [1]


def test_times_are_the_records_own() -> None:
    noop = value("NoOpRecord")
    body = struct.pack(">hiqqqhii", 0, 1, 1000, 9000, -1, -1, -1, 2) + record(noop, 0) + record(noop, 1, later_ms=250)
    head = struct.pack(">qiiBI", 0, len(body) + 9, 0, 2, crc32c(body))
    assert [row["record_ts"].timestamp() * 1000 for row in rows(head + body)[0]] == [1000, 1250]


def test_numbers_of_types_are_as_large_as_they_are() -> None:
    told, _ = rows(batch(0, [uvarint(1) + uvarint(300) + uvarint(200) + b"x", uvarint(1) + uvarint(1 << 40) + b"\0"]))
    assert [(row["record_type"], row["api_key"], row["version"]) for row in told] == [
        ("UNKNOWN(300)", 300, 200),
        ("UNKNOWN(-1)", -1, 0),
    ]


# -- the keys that find records of the metadata log again --------------------------------------------------------------

OTHERS = (
    ("BeginTransactionRecord", '{"name":null}'),
    ("NoOpRecord", "{}"),
    ("UnregisterControllerRecord", '{"controllerId":7}'),
    ("UNKNOWN(99)", "{}"),
    ("PartitionChangeRecord", '{"topicId":"unknown","partitionId":0,"replicas":null}'),
    ("PartitionChangeRecord", '{"topicId":"unknown","partitionId":0,"replicas":[1]}'),
    ("RemoveAccessControlEntryRecord", '{"id":"unknown"}'),
    ("UnregisterBrokerRecord", '{"brokerId":7,"brokerEpoch":1}'),
    ("FenceBrokerRecord", '{"id":7,"epoch":1}'),
)


def world(seed: int) -> pa.Table:
    """Return the metadata log of a random small cluster, with its snapshots, and with records about unknown entities
    and about none.
    """
    made = worlds.made(seed, 40)
    rows = [*worlds.log_rows(made), *worlds.checkpoint_rows(made, 20)]
    rows += [{**rows[0], "record_type": type_, "payload": payload, "value_hmac": None} for type_, payload in OTHERS]
    random.Random(seed).shuffle(rows)
    return pa.Table.from_pylist([{name: row[name] for name in RECORD_COLUMNS} for row in rows], schema=ROW_SCHEMA)


@pytest.mark.parametrize("seed", range(20))
def test_an_entitys_records_are_found_by_their_tags_alone(seed: int) -> None:
    decoded = world(seed)
    # Batches may be cut anywhere: the record that names an id may be in another batch.
    batches = [tagged(batch) for batch in decoded.to_batches(max_chunksize=random.Random(seed).randint(1, 9))]
    rows = pa.Table.from_batches(batches)
    assert rows.schema == arrow_schema(KRAFT_RECORD)
    assert rows.select(RECORD_COLUMNS) == decoded
    assert rows["quarantined"].null_count == len(rows)
    named: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows.to_pylist():
        if row["record_type"] in NAMING:
            assert None not in (row["entity_type"], row["entity_key"], row["entity_id"])
            named[row["entity_id"]].add((row["entity_type"], row["entity_key"]))
    of: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows.to_pylist()):
        key = row["entity_key"]
        keys = [(row["entity_type"], key)] if key is not None else named.get(row["entity_id"], ())
        for each in keys:
            of[each].append(place)
    (records,) = records_of(decoded).values()
    facts = placed_facts(records)
    assert {entity for entity, placed in facts.items() if placed} <= of.keys()
    assert {type_ for type_, _ in facts} >= {"topic", "broker"}
    for entity, placed in facts.items():
        mine = records_of(rows.take(of[entity]))
        (alone,) = mine.values() if mine else ([],)
        found = placed_facts(alone).get(entity, [])
        assert sorted(found, key=repr) == sorted(placed, key=repr), entity


def test_records_of_unknown_things_have_the_id_and_others_no_tag() -> None:
    rows = tagged(world(3).to_batches()[0]).to_pylist()
    tags = {
        (row["record_type"], row["payload"]): tuple(row[name] for name in ("entity_type", "entity_key", "entity_id"))
        for row in rows
    }
    assert [tags[each] for each in OTHERS] == [
        (None, None, None),
        (None, None, None),
        (None, None, None),
        (None, None, None),
        (None, None, None),
        ("topic", None, "unknown"),
        ("acl", None, "unknown"),
        ("broker", "7", None),
        ("broker", "7", None),
    ]
    assert {row["entity_id"] is not None for row in rows if row["record_type"] == "PartitionRecord"} == {True}


# -- secrets: their definition, and that the text in their place shows nothing of them ---------------------------------


def test_the_harmless_names_are_what_the_releases_define_now() -> None:
    assert WRITTEN.read_text() == as_text(harmless())


def test_every_password_of_every_release_is_secret_behind_any_listener_too() -> None:
    passwords = set()
    for section, names in definitions().items():
        passwords |= {(SECTIONS[section], name) for name, types in names.items() if "PASSWORD" in types}
    assert len(passwords) > 10
    for entity_type, name in passwords:
        assert is_secret(entity_type, name)
        assert is_secret("broker", f"listener.name.external.{name}")
        assert is_secret("broker", f"listener.name.external.scram-sha-256.{name}")


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("topic", "retention.ms"),
        ("topic", "leader.replication.throttled.replicas"),
        ("broker", "log.retention.ms"),
        ("broker", "follower.replication.throttled.rate"),
        ("broker", "listener.name.external.ssl.keystore.location"),
        ("broker", "listener.name.external.plain.sasl.login.class"),
        ("group", "consumer.session.timeout.ms"),
        ("client-metrics", "interval.ms"),
        ("quota", "producer_byte_rate"),
        ("acl", "ALLOW READ User:a from *"),
        ("topic", ":partitions"),
        ("broker-logger", "kafka.server"),
    ],
)
def test_what_everybody_may_see(entity_type: str, name: str) -> None:
    assert not is_secret(entity_type, name)


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("topic", "ssl.keystore.password"),
        ("topic", "log.retention.ms"),
        ("broker", "my.plugin.token"),
        ("broker", "listener.name.external.my.plugin.token"),
        ("topic", "listener.name.external.ssl.keystore.location"),
        ("broker", "password.encoder.secret"),
        ("broker", "zookeeper.ssl.keystore.password"),
        ("satellite", "retention.ms"),
    ],
)
def test_what_kafka_hides_or_does_not_know(entity_type: str, name: str) -> None:
    assert is_secret(entity_type, name)


@given(st.binary(min_size=1), st.text(st.characters(exclude_categories=["Cs"])))
def test_the_hmac_is_the_standards(key: bytes, value: str) -> None:
    assert hmac_hex(key, value) == hmac.new(key, value.encode(), hashlib.sha256).hexdigest()


def test_a_value_that_is_no_unicode_has_an_hmac_too() -> None:
    assert len(hmac_hex(b"k", "\ud800")) == 64


@given(st.text())
def test_a_blot_has_the_lines_length_and_none_of_its_letters(text: str) -> None:
    shape = mask(text)
    assert len(shape) == min(len(text), MASKED_CHARS)
    assert set(shape) <= set("x9? []{}():,.\"'=-_/\\")


def test_of_a_request_line_the_frame_stays() -> None:
    line = (
        '[2026-11-21 10:00:00,123] DEBUG Completed request:{"isForwarded":true,"principal":"User:ali\x1bce","salt":"c2'
    )
    assert mask(line) == (
        '[9999-99-99 99:99:99,999] DEBUG Completed request:{"isForwarded":xxxx,"principal":"xxxx:xxx?xx","xxxx":"x9'
    )


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8), st.integers(0, 40))
def test_a_secret_never_shows_wherever_the_line_is_cut(secret: str, cut: int) -> None:
    frame = '{"request":{"users":[{"saltedPassword":"', '","principal":'
    line = f"{frame[0]}{secret}{frame[1]}{secret}"[cut:]
    assert secret not in mask(line) or set(secret) <= {"x", "9"} or secret in "".join(frame)
