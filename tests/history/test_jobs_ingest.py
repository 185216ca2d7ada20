"""What is new is taken in once; late lines change their own hours; too much that can't be read fails the run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from console.history.jobs import processes, take
from console.history.jobs.ingest import ingest
from console.history.jobs.inputs import Inputs, Journals, MetadataLog, RequestLog
from console.history.jobs.progress import Progress
from console.history.jobs.record import Taken, TooMuchIsBad, UnreadableInput, judge
from console.history.jobs.status import status
from console.history.schema import TABLES
from console.history.store import Lake
from console.journal.records import Answered, Ended, Entry, Intent, intent_line, note_line
from console.model.changes import Status
from console.model.config import broker_resource
from console.model.journal_lines import Origin, Request, Sending, Who
from console.model.secret import Secret
from console.plan.edits import SetConfig
from console.plan.staged import UNREAD, Staged
from tests.history.lake_rows import rows_of
from tests.history.request_lines import Logged, alter_configs, alter_scram, fetch, log_of, produce
from tests.support.metadata_log import batch, uvarint, value

PLANTED = ("planted-in-the-log", "planted-salt", "planted-password", "planted-damage", "planted-in-journal")
TEN = datetime(2026, 11, 21, 10, 0, 0, 123000)
CLUSTER = "cluster-a"


def partitions(lake: Lake, table: str) -> Mapping[str, tuple[str, ...]]:
    return lake.current().tables[table].partitions


def seconds(lake: Lake) -> list[tuple[int, str, int, int]]:
    """(hour, client id, requests, bytes in) of `request_1s`."""
    return [(row[2].astimezone(UTC).hour, row[4], row[6], row[8]) for row in rows_of(lake, "request_1s")]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(str(tmp_path / "lake"))


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """A metadata log, the request log of a broker, a journal folder; secrets in each."""
    log = tmp_path / "meta" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log.parent / "meta.properties").write_text(f"cluster.id={CLUSTER}\n")
    secret = value("ConfigRecord", resourceType=4, resourceName="1", name="ssl.key.password", value=PLANTED[0])
    topics = [value("TopicRecord", name=f"orders-{number}", topicId="A" * 22) for number in range(4)]
    (log / f"{0:020}.log").write_bytes(batch(0, [*topics, secret]))
    requests = tmp_path / "requests"
    requests.mkdir()
    lines: list[Logged] = [produce(100), produce(100).later(1), fetch(50).later(2), produce(7).later(3600)]
    lines += [alter_configs([("retention.ms", 0, "1000")]), alter_scram("alice", PLANTED[1], PLANTED[2])]
    (requests / "kafka-request.log").write_bytes(log_of(lines))
    (tmp_path / "journal").mkdir()
    return Inputs(
        (MetadataLog(str(log)),),
        (RequestLog((str(requests / "kafka-request.log*"),), "", 1),),
        (Journals(str(tmp_path / "journal")),),
    )


def test_inputs_are_taken_in_once_and_what_is_new_later(
    lake: Lake, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ingest(None, lake, inputs)
    assert report.rows == {"kraft_record": 5, "request_1s": 6, "alter_request": 2}
    assert (report.quarantined, report.unchanged) == (0, 0)
    assert {row[0] for table in ("kraft_record", "request_1s", "alter_request") for row in rows_of(lake, table)} == {
        CLUSTER
    }
    first = {table: rows_of(lake, table) for table in report.rows}
    assert sum(row[2] for row in seconds(lake)) == 6

    # The same again is no change, also when a file was renamed and packed meanwhile.
    held = lake.current()
    log = Path(inputs.request_logs[0].paths[0].removesuffix("*"))
    again = ingest(None, lake, inputs)
    assert (again.rows, again.unchanged) == ({}, 2)
    text = log.read_bytes()
    log.unlink()
    log.with_name("kafka-request.log.1.gz").write_bytes(gzip.compress(text))
    assert ingest(None, lake, inputs).rows == {}
    assert {table: rows_of(lake, table) for table in report.rows} == first
    assert all(lake.current().tables[table] == held.tables[table] for table in report.rows)
    # The same inputs in another lake with the same key are the same rows.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "hmac.key").write_bytes(lake.key())
    other = Lake.create(str(tmp_path / "other"))
    ingest(None, other, inputs)
    assert {table: rows_of(other, table, without=("run_id", "file")) for table in first} == {
        table: rows_of(lake, table, without=("run_id", "file")) for table in first
    }

    # Late lines touch the hour that they are of, and add to its rows; the last line is not whole yet. Of the
    # metadata log what is new is read alone. A damaged batch and a damaged line are told, and too many fail the run.
    before = partitions(lake, "request_1s")
    late = [replace(produce(11), at=TEN.replace(second=1)), replace(produce(13), at=TEN.replace(hour=12))]
    damaged_line = (
        b'[2026-11-21 12:30:00,000] DEBUG Completed request:{"a":"%s" (kafka.request.logger)\n' % PLANTED[3].encode()
    )
    log.write_bytes(log_of(late) + damaged_line + b"[2026")
    damaged = batch(5, [value("TopicRecord", name="broken", topicId="A" * 22)])[:-1] + b"?"
    more = batch(6, [value("TopicRecord", name=f"new-{number}", topicId="A" * 22) for number in range(3)])
    with Path(inputs.metadata_logs[0].path, f"{0:020}.log").open("ab") as file:
        file.write(damaged + more)
    too_much = r"1 of 4 records and batches of the source kraft_log can't be read: 25.0%, and 1.0% may"
    with pytest.raises(TooMuchIsBad, match=too_much):
        ingest(None, lake, inputs)
    assert partitions(lake, "request_1s") == before
    assert "quarantine" not in lake.current().tables
    failed = status(lake).runs[0]
    assert (failed.status, failed.quarantined) == ("failed", 2)
    assert (failed.rows["quarantine"], failed.rows["kraft_record"]) == (2, 3)
    taken = ingest(None, lake, inputs, max_bad_ratio=0.5)
    assert (taken.quarantined, taken.rows["kraft_record"], taken.rows["quarantine"]) == (2, 3, 2)
    assert [row[1] for row in rows_of(lake, "quarantine")] == ["kraft_log", "request_log"]
    assert [row[1] for row in rows_of(lake, "kraft_record")] == [0, 1, 2, 3, 4, 6, 7, 8]
    after = partitions(lake, "request_1s")
    ten, eleven, twelve = (f"cluster_id={CLUSTER}/hour=2026-11-21T{hour}" for hour in (10, 11, 12))
    assert (set(before), set(after)) == ({ten, eleven}, {ten, eleven, twelve})
    assert (after[eleven], len(after[ten])) == (before[eleven], 1)
    assert after[ten] != before[ten]
    assert (10, "app", 2, 111) in seconds(lake)
    assert sum(row[2] for row in seconds(lake)) == 8
    assert ingest(None, lake, inputs).rows == {}

    # The journal: a change, and later how it ended.
    journal = Path(inputs.journals[0].path, f"{CLUSTER}.jsonl")
    change, done = change_and_end()
    journal.write_bytes(change)
    assert ingest(None, lake, inputs).rows == {"journal": 1}
    with journal.open("ab") as file:
        file.write(done)
    assert ingest(None, lake, inputs).rows == {"journal": 1}
    ended = TABLES["journal"].names.index("status")
    assert [row[ended] for row in rows_of(lake, "journal", without=())] == ["applied"]

    for place in Path(lake.where).rglob("*"):
        if place.is_file():
            assert not any(secret.encode() in place.read_bytes() for secret in PLANTED), place


def test_a_metadata_log_is_the_same_rows_by_processes_and_in_pieces(
    lake: Lake, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = Inputs(inputs.metadata_logs)
    folder = Path(logs.metadata_logs[0].path)
    with (folder / f"{0:020}.log").open("ab") as file:
        file.write(batch(5, [uvarint(1) + uvarint(99) + uvarint(0) + b"?" * 9]))
    (folder / f"{6:020}.log").write_bytes(batch(6, [value("TopicRecord", name="more", topicId="A" * 22)]))
    report = ingest(None, lake, logs, max_bad_ratio=0.5)
    assert report.rows == {"kraft_record": 7, "quarantine": 1}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "hmac.key").write_bytes(lake.key())
    other = Lake.create(str(tmp_path / "other"))
    monkeypatch.setattr(processes, "FEW_BYTES", 0)
    monkeypatch.setattr(processes, "processors", lambda: 2)
    monkeypatch.setattr(take, "MOST_BYTES", 1)
    told: list[Progress] = []
    assert ingest(None, other, logs, told.append, max_bad_ratio=0.5).rows == report.rows
    assert [(each.done, each.total) for each in told if each.total] == [(0, 2), (0, 2), (1, 2), (2, 2)]
    for table in report.rows:
        assert rows_of(other, table, without=("run_id",)) == rows_of(lake, table, without=("run_id",))


def change_and_end() -> tuple[bytes, bytes]:
    """Lines of a journal: that a change is sent; how it ended."""
    at = datetime.now(UTC).replace(microsecond=0)
    edit = SetConfig(broker_resource(2), "ssl.keystore.password", Secret(PLANTED[4]))
    entries, requests = (Entry(Staged(edit, UNREAD)),), (Request("INCREMENTAL_ALTER_CONFIGS", None, (0,)),)
    intent = Intent(
        at, "prod", Who("alice", "alice", "alice", "10.0.0.1"), Origin("host-1", "run", 17), entries, requests
    )
    answered = Answered(1, 0, at, {0: Ended(Status.APPLIED)})
    return intent_line(1, intent) + note_line(Sending(1, 0, at)), note_line(answered)


def test_an_input_that_is_none_is_said_to_be_none(lake: Lake, inputs: Inputs, tmp_path: Path) -> None:
    (log,) = inputs.request_logs
    named = partial(structs.replace, log, cluster_id="c")
    for wrong, said in (
        (Inputs((MetadataLog(str(tmp_path)),)), "__cluster_metadata-0"),
        (Inputs(request_logs=(log,)), "does not say whose it is"),
        (Inputs(request_logs=(named(paths=("/nowhere/*.log",)),)), "broker 1 is at /nowhere"),
        (Inputs(request_logs=(named(time_zone="Mars/Olympus"),)), "no time zone"),
    ):
        with pytest.raises(UnreadableInput, match=said):
            ingest(None, lake, wrong)
        assert lake.failed_runs()[0]["message"]
    cut = tmp_path / "cut.log.gz"
    cut.write_bytes(gzip.compress(log_of([produce(1)] * 50))[:-20])
    with pytest.raises(UnreadableInput, match="is cut"):
        ingest(None, lake, Inputs(request_logs=(named(paths=(str(cut),)),)))
    assert lake.releases() == ()


def test_how_much_may_be_bad() -> None:
    for good, bad, fails in ((99, 1, False), (98, 2, True), (0, 0, False), (0, 1, True), (1000, 0, False)):
        taken = [Taken("request_log", "lines", 10_000), Taken("journal", "lines", good, bad)]
        if fails:
            with pytest.raises(TooMuchIsBad, match=f"{bad} of {good + bad} lines of the source journal"):
                judge(taken, 0.01)
        else:
            judge(taken, 0.01)


def test_inputs_are_the_same_after_json(inputs: Inputs) -> None:
    assert msgspec.json.decode(msgspec.json.encode(inputs), type=Inputs) == inputs
    for wrong, said in (
        ({"logs": []}, "unknown field `logs`"),
        ({"journals": [{"path": "x", "file": "x"}]}, r"unknown field `file` - at `\$.journals\[0\]`"),
        ({"request_logs": [{"paths": ["x"]}]}, r"missing required field `cluster_id` - at `\$.request_logs\[0\]`"),
    ):
        with pytest.raises(ValueError, match=said):
            msgspec.json.decode(json.dumps(wrong), type=Inputs)
