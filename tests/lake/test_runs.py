"""Tests of how kac finds out from checkpoints whether a lake has new data; the tests write the checkpoints as Spark
does. Also tests of the messages of a run.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from console.lake import files, landing, plans, runs, schema
from console.lake.inputs import Inputs, Journals, RequestLog, UnreadableInput
from console.lake.lake import Lake, Report
from tests.lake.request_lines import log_of, produce

ALL = [*plans.SOURCES, runs.GOLD]


def plan_batch(lake: Lake, stream: str, batch: int, *offsets: plans.Offset, is_ended: bool = True) -> None:
    """Write a batch into the checkpoint of a stream, as Spark does: the planned offsets and, if `is_ended`, the
    commit.
    """
    folder = Path(lake.path(f"checkpoints/{stream}"))
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1_763_600_000_000, "conf": {}}
    lines = ["v1", json.dumps(metadata), *(json.dumps(each) for each in offsets)]
    for log, text in (("offsets", "\n".join(lines)), ("commits", 'v1\n{"nextBatchWatermarkMs":0}')):
        (folder / log).mkdir(parents=True, exist_ok=True)
        (folder / log / f".{batch}.crc").write_bytes(b"crc")
        if log == "offsets" or is_ended:
            (folder / log / str(batch)).write_text(text)


def commit(lake: Lake, table: schema.Table, version: int, **note: Any) -> None:
    """Write a version of a Delta table, with this note in its commit."""
    folder = Path(lake.folder(table)) / "_delta_log"
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {"numOutputRows": "7", "numOutputBytes": "70"}
    info = {"commitInfo": {"operation": "WRITE", "userMetadata": json.dumps(note), "operationMetrics": metrics}}
    (folder / f"{version:020}.json").write_text(json.dumps(info) + "\n")


def delta_offset(version: int) -> plans.Offset:
    """Return the offset of a Delta stream that has read all versions before this one."""
    return {
        "sourceVersion": 1,
        "reservoirId": "x",
        "reservoirVersion": version,
        "index": -1,
        "isStartingVersion": False,
    }


def to_do(lake: Lake, **inputs: Any) -> list[str]:
    with runs.settings_of(runs.Plan(lake, Inputs(**inputs))) as settings:
        return runs.news(lake, settings)


def up_to_date(lake: Lake) -> None:
    """Write version 0 of all bronze tables, and gold tables that are built from it, so that the lake has nothing to
    do.
    """
    for table in schema.BRONZE:
        commit(lake, table, 0)
    for table in (schema.HISTORY, schema.DRIFT, schema.POLICY_VIOLATION):
        commit(lake, table, 0, kac=runs.kac_version(), rules=runs.rules_of(lake).digests.get(table.name), history=0)
    plan_batch(lake, runs.GOLD, 0, *(delta_offset(1) for _ in schema.BRONZE))


def judged(lake: Lake, version: int, history: int) -> None:
    """Write a version of the table of violations, computed up to a version of the table `history`, with the present
    policies.
    """
    digest = runs.rules_of(lake).digests[schema.POLICY_VIOLATION.name]
    commit(lake, schema.POLICY_VIOLATION, version, kac=runs.kac_version(), rules=digest, history=history)


def test_a_new_lake_has_nothing_to_do(lake: Lake) -> None:
    assert to_do(lake) == []
    assert all(runs.committed(lake, name) is None for name in ALL)


def test_what_was_landed_is_to_do_until_it_is_in_the_lake(lake: Lake) -> None:
    path = Path(landing.deliver(lake, [landing.Landed("c", 7, [])], "a"))
    assert to_do(lake) == ["polls", runs.GOLD]
    plan_batch(lake, "polls", 0, {"files": [path.name]}, is_ended=False)
    assert to_do(lake) == ["polls", runs.GOLD], "a batch that was not ended is made again"
    assert path.exists()
    plan_batch(lake, "polls", 0, {"files": [path.name]})
    assert to_do(lake) == []
    assert not path.exists()
    other = Path(landing.deliver(lake, [landing.Landed("c", 8, [])], "b"))
    assert to_do(lake) == ["polls", runs.GOLD]
    assert other.exists()


def test_only_the_newest_batch_counts_and_its_number_is_no_text(lake: Lake) -> None:
    for number in range(11):
        plan_batch(lake, "polls", number, {"files": [str(number)]})
    assert runs.committed(lake, "polls") == [{"files": ["10"]}]
    plan_batch(lake, "polls", 11, {"files": ["11"]}, is_ended=False)
    assert runs.committed(lake, "polls") is None


def test_lines_of_a_log_are_to_do_once(lake: Lake, tmp_path: Path) -> None:
    log = tmp_path / "request.log"
    log.write_bytes(log_of([produce(1)]))
    logs: dict[str, Any] = {"request_logs": (RequestLog((str(log),), "c", 1),)}
    assert to_do(lake, **logs) == ["request_log", runs.GOLD]
    with runs.settings_of(runs.Plan(lake, Inputs(**logs))) as settings:
        source = plans.SOURCES["request_log"](settings)
        plan_batch(lake, "request_log", 0, json.loads(json.dumps(source.newest(source.initial()))))
    assert to_do(lake, **logs) == []
    log.write_bytes(log_of([produce(1), produce(2).later(1)]))
    assert to_do(lake, **logs) == ["request_log", runs.GOLD]
    log.unlink()
    with pytest.raises(UnreadableInput, match="No request log of broker 1"):
        to_do(lake, **logs)


def test_a_source_that_is_refused_keeps_no_other_one_from_its_work(lake: Lake, tmp_path: Path) -> None:
    up_to_date(lake)
    log = (RequestLog((str(tmp_path / "none.log"),), "c", 1),)
    with pytest.raises(UnreadableInput, match=r"No request log of broker 1 is at .*none\.log"):
        to_do(lake, request_logs=log)
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "c.jsonl").write_text("{}\n")
    found = to_do(lake, request_logs=log, journals=(Journals(str(tmp_path / "journal")),))
    assert found == ["request_log", "journals", runs.GOLD]


def test_a_source_that_lost_its_checkpoint_goes_on_where_bronze_ends(lake: Lake, tmp_path: Path) -> None:
    log = tmp_path / "request.log"
    log.write_bytes(log_of([produce(1)]))
    inputs = Inputs(request_logs=(RequestLog((str(log),), "c", 1),))
    with runs.settings_of(runs.Plan(lake, inputs)) as settings:
        source = plans.SOURCES["request_log"](settings)
        end: Mapping[str, Any] = json.loads(json.dumps(source.newest(source.initial())))
    commit(lake, schema.REQUEST, 0, stream="request_log", end={"read": {}, "parts": []})
    commit(lake, schema.REQUEST, 1, stream="request_log", end={**end, "parts": []})
    commit(lake, schema.REQUEST, 2, stream="another")
    with runs.settings_of(runs.Plan(lake, inputs)) as settings:
        assert settings.begin == {"request_log": {**end, "parts": []}}
        source = plans.SOURCES["request_log"](settings)
        assert source.newest(source.initial()) == source.initial()
    # Spark asks for the beginning of the first batch again until the batch has ended.
    for is_ended in (False, True):
        plan_batch(lake, "request_log", 0, dict(end), is_ended=is_ended)
        with runs.settings_of(runs.Plan(lake, inputs)) as settings:
            assert ("request_log" in settings.begin) is not is_ended
    landed = landing.deliver(lake, [landing.Landed("c", 7, [])], "a")
    commit(lake, schema.SNAPSHOT, 0, stream="polls", end={"files": [Path(landed).name]})
    with runs.settings_of(runs.Plan(lake, inputs)) as settings:
        runs.news(lake, settings)
    assert list(Path(lake.path(landing.POLLS)).iterdir()) == [], "it is in the lake"


def test_gold_is_to_do_where_bronze_went_on(lake: Lake) -> None:
    up_to_date(lake)
    assert to_do(lake) == []
    commit(lake, schema.SNAPSHOT, 1)
    assert to_do(lake) == [runs.GOLD]
    plan_batch(
        lake,
        runs.GOLD,
        1,
        *(delta_offset(2 if table is schema.SNAPSHOT else 1) for table in schema.BRONZE),
        is_ended=False,
    )
    assert to_do(lake) == [runs.GOLD]
    plan_batch(lake, runs.GOLD, 1, *(delta_offset(2 if table is schema.SNAPSHOT else 1) for table in schema.BRONZE))
    assert to_do(lake) == []


def test_a_checkpoint_of_gold_that_reads_other_tables_is_of_another_kac(lake: Lake) -> None:
    up_to_date(lake)
    assert not runs.is_of_another(lake)
    plan_batch(lake, runs.GOLD, 1, *(delta_offset(1) for _ in schema.BRONZE[1:]))
    assert runs.is_of_another(lake), "Spark can not go on with it"


@pytest.mark.parametrize("offsets", [[], [{}], [{} for _ in schema.BRONZE], [delta_offset(0) for _ in schema.BRONZE]])
def test_a_checkpoint_that_says_less_is_behind(lake: Lake, offsets: Sequence[plans.Offset]) -> None:
    up_to_date(lake)
    plan_batch(lake, runs.GOLD, 1, *offsets)
    assert to_do(lake) == [runs.GOLD]


def test_gold_is_to_do_without_its_checkpoint_and_of_another_kac(lake: Lake) -> None:
    up_to_date(lake)
    commit(lake, schema.HISTORY, 1, kac="0.0.1-other")
    assert to_do(lake) == [runs.GOLD]
    commit(lake, schema.HISTORY, 2, kac=runs.kac_version())
    assert to_do(lake) == [runs.GOLD], "it is not judged yet"
    judged(lake, 1, 2)
    assert to_do(lake) == []
    lake.files.remove(lake.path(f"checkpoints/{runs.GOLD}"))
    assert to_do(lake) == [runs.GOLD]


def test_gold_is_to_do_where_the_operators_files_differ(lake: Lake) -> None:
    up_to_date(lake)
    file = Path(lake.where) / "policies.yaml"
    file.write_text("version: 1\npolicies: []\n")
    assert to_do(lake) == [runs.GOLD]
    judged(lake, 1, 0)
    assert to_do(lake) == []
    file.unlink()
    assert to_do(lake) == [runs.GOLD]


def test_files_that_are_wrong_are_named(lake: Lake) -> None:
    (Path(lake.where) / "baseline.yaml").write_text("version: 7\n")
    with pytest.raises(UnreadableInput, match=r"baseline\.yaml:1"):
        runs.rules_of(lake)


# -- the messages of a run ---------------------------------------------------------------------------------------------

TRACE = """An exception was thrown from the Python Data Source [PYTHON_DATA_SOURCE_ERROR]:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    secret = "hunter2"
{error}

\tat org.apache.spark.api.python.BasePythonRunner
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("console.lake.plans.TooMuchIsBad: 2 of 100 lines", "2 of 100 lines"),
        ("console.lake.inputs.UnreadableInput: a packed log is cut.", "a packed log is cut."),
        (
            "console.lake.requests.log_files.LogChangedError: /l is gone: it was rotated",
            "/l is gone: it was rotated",
        ),
        ("console.lake.kraft.ChangedWhileReadError: /m was deleted", "/m was deleted"),
        ("console.lake.landing.BadLanding: /l/x is cut; delete it", "/l/x is cut; delete it"),
        ("UnreadableInput: first\nmore\nLakeError: last: of all", "last: of all"),
        ("ValueError: hunter2", None),
        ("org.apache.spark.SparkException: UnreadableInputs: x", None),
    ],
)
def test_what_the_lake_says_comes_out_of_a_traceback_of_spark(error: str, said: str | None) -> None:
    assert runs.message_of(RuntimeError(TRACE.format(error=error))) == said


def test_what_is_wrong_with_a_lake_is_said_as_it_is() -> None:
    assert runs.message_of(files.LakeError("It is busy.")) == "It is busy."
    assert runs.message_of(plans.TooMuchIsBad("2 of 3")) == "2 of 3"
    assert runs.message_of(OSError("hunter2")) is None


def test_a_run_is_kept_with_what_it_wrote_also_where_it_fails(lake: Lake) -> None:
    commit(lake, schema.SNAPSHOT, 0)
    report = Report(files.new_run_id(), "update", datetime.now(UTC))

    def fail() -> None:
        with runs.recorded(lake, report):
            assert [each["status"] for each in lake.runs()] == ["running"]
            commit(lake, schema.SNAPSHOT, 1)
            commit(lake, schema.SNAPSHOT, 2)
            commit(lake, schema.HISTORY, 0)
            raise ValueError("hunter2")

    with pytest.raises(ValueError, match="hunter2"):
        fail()
    (kept,) = lake.runs()
    assert (kept["status"], kept["message"]) == ("failed", "ValueError")
    assert kept["rows"] == {"snapshot": 14, "history": 7}
    assert (kept["bytes"], kept["ended"] >= kept["started"]) == (210, True)
    later = Report(files.new_run_id(), "run", datetime.now(UTC))
    with runs.recorded(lake, later):
        pass
    assert [(each["job"], each["status"], each["rows"]) for each in lake.runs()] == [
        ("run", "done", {}),
        ("update", "failed", kept["rows"]),
    ]


def test_the_key_is_for_this_user_alone_and_goes_with_the_run(lake: Lake) -> None:
    with runs.settings_of(runs.Plan(lake, Inputs())) as settings:
        file = Path(settings.key_file)
        assert file.read_bytes() == lake.key()
        assert file.stat().st_mode & 0o777 == 0o600
        assert not file.is_relative_to(lake.where)
        assert lake.key().hex() not in repr(settings)
    assert not file.exists()
