"""Request logs as rows of bronze: seconds, changes and damaged lines, however they are cut into parts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from console.lake.requests.log_files import BrokerLog, LogChangedError, Part, parts_of, plan, read_part
from tests.lake import known_requests
from tests.lake.request_lines import log_of, produce

LATER = {
    (known_requests.S0, "User:alice", "app", "PRODUCE", 3, 0, 607, 0, 4.5, 81, 41),
    (known_requests.S0 + timedelta(hours=1), "User:alice", "app", "FETCH", 1, 0, 0, 8, 1.5, 0, 0),
}
"""What `MORE` makes of `expected`."""


class Rows:
    """What is read of parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.rows = [row for part in parts for batch in read_part(part) for row in batch.to_pylist()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [row[kind] for row in self.rows if row[kind] is not None]

    def seconds(self, *, broker: int = 1) -> set[tuple[Any, ...]]:
        """A broker's sums without the cluster and the broker, times in UTC."""
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
    # Written on, and renamed: the first part of it is read from where it lay.
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
