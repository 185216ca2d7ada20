"""Tests of how kac finds throttled clients in lines of request logs: other lines are ignored, and memory is limited."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import throttling
from console.session import request_log_tail
from console.session.request_log_tail import (
    CURRENT_SECONDS,
    LONGEST_LINE,
    RequestLogTails,
    clients_requests,
    requests_in,
)

AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)


def line(
    client: str, throttle: int = 0, second: float = 0, api: str = "PRODUCE", replica: int = -1, copy: bool = False
) -> bytes:
    """Return a request log's line as Kafka's own logging configuration writes it. throttle: ms. second: of its time.
    replica: id of a fetching broker, -1 for a client. copy: whether it is the forwarded copy.
    """
    at = AT + timedelta(seconds=second)
    body = {
        "isForwarded": copy,
        "requestHeader": {"requestApiKey": 0, "requestApiKeyName": api, "clientId": client, "correlationId": 1},
        "request": {"replicaId": replica, "topicData": [{"name": "orders", "partitionData": []}]},
        "response": {"throttleTimeMs": throttle},
        "throttleTimeMs": throttle,
        "principal": "User:alice",
    }
    text = json.dumps(body, separators=(",", ":"))
    return f"[{at:%Y-%m-%d %H:%M:%S},123] DEBUG Completed request:{text} (kafka.request.logger)".encode()


def after(known: throttling.LogThrottles, *lines: bytes) -> throttling.LogThrottles:
    return known.after(clients_requests(requests_in(b"\n".join(lines))))


def test_the_requests_of_a_client_are_counted_by_api_within_bounds() -> None:
    lines = [line("a", 20), line("a", 0, 1), line("a", 700, 2), line("b"), line("a", 5, 2, "FETCH")]
    assert throttling.throttled_clients([after(throttling.LogThrottles(), *lines)]) == {
        throttling.Client("a", "User:alice", "PRODUCE"): throttling.Throttled(3, 2, 700),
        throttling.Client("a", "User:alice", "FETCH"): throttling.Throttled(1, 1, 5),
    }
    lines = [line(f"{number}" + "x" * 1000, 5) for number in range(throttling.MOST_CLIENTS + 50)]
    found = throttling.throttled_clients([after(throttling.LogThrottles(), *lines)])
    assert len(found) == throttling.MOST_CLIENTS
    assert max(len(client.client_id) for client in found) == throttling.LONGEST_NAME


def test_what_is_older_than_the_window_counts_no_more() -> None:
    known = after(throttling.LogThrottles(), line("a", 20), line("a", 20, 30))
    assert (
        throttling.throttled_clients([after(known, line("b", 0, 59))])[
            throttling.Client("a", "User:alice", "PRODUCE")
        ].requests
        == 2
    )
    assert (
        throttling.throttled_clients([after(known, line("b", 0, 75))])[
            throttling.Client("a", "User:alice", "PRODUCE")
        ].requests
        == 1
    )
    assert throttling.throttled_clients([after(known, line("b", 0, 200))]) == {}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        line("a", 20, replica=2),
        line("a", 20, copy=True),
        line("a", 20)[:-60],
        line("a", 20).replace(b"2026-03-01", b"2026-13-99"),
        line("a", 20).replace(b'"throttleTimeMs":20,', b'"throttleTimeMs":1e400,'),
        line("a", 20).replace(b"Completed", b"Begun"),
        b"[2026-03-01 03:00:00,000] Completed request:" + b"[" * 100_000,
    ],
    ids=["empty", "a replica", "a copy", "cut off", "no time", "no number", "another message", "deep"],
)
def test_other_lines_say_nothing(text: bytes) -> None:
    whole = line("b", 30)
    assert [each.client.client_id for each in clients_requests(requests_in(b"\n".join((text, whole))))] == ["b"]


@given(st.binary(max_size=300), st.integers(0, 400))
def test_no_line_is_an_error(noise: bytes, at: int) -> None:
    whole = line("a", 20)
    for text in (noise, whole[:at] + noise + whole[at:], whole[:at] + noise):
        assert all(found.throttle_ms >= 0 for found in clients_requests(requests_in(text)))


def test_a_log_is_read_on_through_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "request.log"
    one, two = line("a", 20) + b"\n", line("a", 30, 1) + b"\n"
    log.write_bytes(one + two[:50])
    tails = RequestLogTails([log])
    assert [each.requests for each in tails.read().throttled.values()] == [1]
    with log.open("ab") as file:
        file.write(two[50:])
    assert [each.requests for each in tails.read().throttled.values()] == [2]
    assert [each.requests for each in tails.read().throttled.values()] == [2]
    log.rename(tmp_path / "request.log.1")
    log.write_bytes(line("a", 40, 2) + b"\n")
    assert [each.requests for each in tails.read().throttled.values()] == [3]
    log.write_bytes(b"")
    log.write_bytes(line("a", 50, 3)[:40])
    assert [each.most_ms for each in tails.read().throttled.values()] == [40]


def test_of_a_line_without_an_end_and_of_a_long_log_so_much_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "request.log"
    log.write_bytes(line("a", 20) + b"\n" + line("b" * LONGEST_LINE, 20))
    tails = RequestLogTails([log])
    assert [client.client_id for client in tails.read().throttled] == ["a"]
    with log.open("ab") as file:
        file.write(b"\n" + line("c", 20, 1) + b"\n")
    assert [client.client_id for client in tails.read().throttled] == ["a", "c"]
    log = tmp_path / "request.log"
    last = line("last", 20) + b"\n"
    monkeypatch.setattr(request_log_tail, "MOST_BYTES", len(last) + 10)
    log.write_bytes((line("first", 20) + b"\n") * 50 + last)
    assert [client.client_id for client in RequestLogTails([log]).read().throttled] == ["last"]


def test_a_log_that_says_nothing_of_now_is_said(tmp_path: Path) -> None:
    old, pipe, good = tmp_path / "old.log", tmp_path / "pipe", tmp_path / "good.log"
    for log in (old, good):
        log.write_bytes(line("a", 20) + b"\n")
    os.mkfifo(pipe)
    before = time.time() - CURRENT_SECONDS - 60
    os.utime(old, (before, before))
    found = RequestLogTails([old, tmp_path / "missing", pipe, good]).read()
    assert [each.requests for each in found.throttled.values()] == [1]
    assert found.unread[str(old)].name == "OLD"
    assert set(found.unread) == {str(old), str(tmp_path / "missing"), str(pipe)}
