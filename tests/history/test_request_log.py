"""Request logs on their way into the lake: seconds, changes and damaged lines, whoever reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from console.history.jobs import request_rows
from console.history.jobs.processes import side_by_side
from console.history.jobs.record import UnreadableInput
from console.history.jobs.request_rows import RequestRows
from console.history.requests.files import LogChangedError
from console.history.requests.parts import BrokerLog, Part, parts_of, plan, read_part
from console.history.schema import TABLES
from console.history.store import Lake
from console.history.store.write import writing
from tests.history.known_requests import BEFORE, MORE, S0, SALT, SALTED, expected, log, noise
from tests.history.lake_rows import rows_of
from tests.history.request_lines import log_of, produce

# One session starts for all of them, and machines are busy.
pytestmark = pytest.mark.timeout(900)
LATER = {
    (S0, "User:alice", "app", "PRODUCE", 3, 0, 607, 0, 4.5, 81, 41),
    (S0 + timedelta(hours=1), "User:alice", "app", "FETCH", 1, 0, 0, 8, 1.5, 0, 0),
}
"""What `MORE` makes of `expected`."""


@pytest.fixture(params=["here", "by processes", pytest.param("by executors", marks=pytest.mark.slow)])
def read(request: pytest.FixtureRequest) -> Any:
    """What reads parts: this process, others of this machine, or Spark's executors."""
    if request.param == "by executors":
        from console.history.jobs.take import counted_there

        spark = request.getfixturevalue("spark")
        return lambda parts: counted_there(spark, parts)
    return lambda parts: side_by_side(read_part, parts, 1 if request.param == "here" else 2, ignored)


def ignored(*_: int) -> None:
    """Progress is of no interest."""


def here(parts: Sequence[Part]) -> Iterator[pa.RecordBatch]:
    return side_by_side(read_part, parts, 1, ignored)


def put(lake: Lake, batches: Iterator[pa.RecordBatch]) -> RequestRows:
    """Takes them in."""
    with writing(lake, "ingest") as write:
        rows = RequestRows(write)
        for each in batches:
            rows.add(each)
        rows.end()
        write.commit()
    return rows


def dicts(lake: Lake, table: str) -> list[dict[str, Any]]:
    """The rows in their order, without the run's id."""
    names = [name for name in TABLES[table].names if name != "run_id"]
    return [dict(zip(names, row, strict=True)) for row in rows_of(lake, table)]


def seconds(lake: Lake, *, broker: int = 1) -> set[tuple[Any, ...]]:
    """A broker's rows without the cluster and the broker, times in UTC; none may be there twice."""
    of_broker = [row for row in rows_of(lake, "request_1s") if row[:2] == ("lkc-1", broker)]
    found = [(second.astimezone(UTC), *rest) for _, _, second, *rest in of_broker]
    assert len(found) == len(set(found))
    return set(found)


def test_one_reading_gives_seconds_changes_and_damaged_lines(read: Any, tmp_path: Path) -> None:
    middle = len(BEFORE) // 2
    content = log_of(BEFORE[:middle]) + noise() + log_of(BEFORE[middle:])
    logs = [
        log(tmp_path / "request.log", content),
        log(tmp_path / "request.log.2026-11-21-10.gz", content, broker=2),
    ]
    lake = Lake.create(str(tmp_path / "lake"))
    read_of = put(lake, read(parts_of(logs, 9000)))
    for broker in (1, 2):
        assert seconds(lake, broker=broker) == expected()
    assert (read_of.lines, read_of.damaged, read_of.quarantined) == (2 * (len(BEFORE) + 3), 6, 6)
    damaged = dicts(lake, "quarantine")
    begin = len(log_of(BEFORE[:middle]))
    assert [(each["byte_pos"] - begin, each["reason"]) for each in damaged if each["file"] == "request.log"] == [
        (noise().index(b"[2026", 10), "the end of the request is missing"),
        (noise().index(b"[2026", 300), "not whole JSON of a request"),
        (noise().rindex(produce(1).line[90:].encode()), "the beginning of the line is missing"),
    ]
    assert all(len(each["sha256"]) == 64 and len(each["sample"]) <= 200 for each in damaged)
    assert "alice" not in str([each["sample"] for each in damaged])
    told = [each for each in dicts(lake, "alter_request") if each["broker_id"] == 1]
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
    assert not any(secret in str(told) for secret in (SALT, SALTED))


def test_what_comes_later_adds_up_with_what_was_there(tmp_path: Path) -> None:
    live, turned = tmp_path / "request.log", tmp_path / "request.log.1"
    first = log(live, log_of(BEFORE) + b"[2026-11-21 10:00:0")
    progress = plan([str(live)], {}).progress
    # Written on, and renamed: the first part of it is read from where it lay.
    turned.write_bytes(log_of([*BEFORE, *MORE]))
    rest = BrokerLog("lkc-1", 1, plan([str(turned)], progress).spans)
    whole = BrokerLog("lkc-1", 1, plan([str(turned)], {}).spans)
    lake, at_once = Lake.create(str(tmp_path / "lake")), Lake.create(str(tmp_path / "at once"))
    put(lake, here(parts_of([first])))
    put(lake, here(parts_of([rest])))
    put(at_once, here(parts_of([whole])))
    assert seconds(lake) == seconds(at_once)
    assert seconds(lake) - expected() == LATER
    assert [len(files) for files in lake.current().tables["request_1s"].partitions.values()] == [1, 1]


@pytest.mark.parametrize("cut", [1500, 9000])
@pytest.mark.parametrize("held", [0, 5000])
def test_any_cut_into_parts_and_runs_gives_the_same_sums(
    cut: int, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_rows, "MOST_BYTES", held)
    content = log_of([*BEFORE, *MORE]) + noise()
    logs = [log(tmp_path / f"{number}.log", content, broker=number) for number in (1, 2)]
    parts = parts_of(logs, cut)
    lake = Lake.create(str(tmp_path / "lake"))
    for some in (parts[1:], parts[:1]):
        put(lake, here(some))
    assert seconds(lake) == seconds(lake, broker=2)
    assert seconds(lake) - expected() == LATER
    assert all(len(files) == 1 for files in lake.current().tables["request_1s"].partitions.values())


def test_nothing_to_read_is_no_rows(read: Any, tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    assert put(lake, read(())).lines == 0
    assert set(lake.current().tables) == {"run"}


def test_the_zone_of_a_broker_is_its_own(read: Any, tmp_path: Path) -> None:
    clocks = ((1, 59), (2, 30), (2, 59), (2, 1), (2, 30), (3, 0))
    twice = [produce(1, at=datetime(2026, 10, 25, *clock)) for clock in clocks]
    berlin = log(tmp_path / "a.log", log_of(twice), zone="Europe/Berlin")
    utc = log(tmp_path / "b.log", log_of([produce(1, at=datetime(2026, 10, 25, 2, 30))]), broker=2)
    lake = Lake.create(str(tmp_path / "lake"))
    put(lake, read(parts_of([berlin, utc], 4000)))
    shown = sorted(row[0].strftime("%H:%M") for row in seconds(lake))
    assert shown == ["00:30", "00:59", "01:01", "01:30", "02:00", "23:59"]
    assert [row[0].strftime("%H:%M") for row in seconds(lake, broker=2)] == ["02:30"]


def test_a_log_that_is_gone_is_named(read: Any, tmp_path: Path) -> None:
    parts = parts_of([log(tmp_path / "request.log", log_of(BEFORE * 20))], 9000)
    (tmp_path / "request.log").unlink()
    with pytest.raises(LogChangedError, match=r"request[.]log is not the file any more that was to be read"):
        list(read(parts))


def test_executors_without_msgspec_are_named_with_what_to_install() -> None:
    from console.history.jobs.take import counted_there

    class Spark:
        """Whose executors have no msgspec."""

        defaultParallelism = 1  # noqa: N815 - Spark's

        def __getattr__(self, _: str) -> Any:
            return self

        def __call__(self, *_: object) -> Any:
            return self

        def count(self) -> NoReturn:
            text = "ModuleNotFoundError: No module named 'msgspec'"
            raise RuntimeError(f"Job aborted\n  File …\n{text}\n\tat org.apache.spark…")

    with pytest.raises(UnreadableInput, match=r"executors have no msgspec.*pip install msgspec"):
        list(counted_there(Spark(), ()))  # type: ignore[arg-type]
