"""Tests of the parser of request logs, with lines as brokers write them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.request_log import RequestLog, parse_line


def line(at: str, *, api: str = "METADATA", forwarded: bool = False, client: str = "kac") -> str:
    logged: dict[str, Any] = {
        "isForwarded": forwarded,
        "requestHeader": {
            "requestApiKey": 3,
            "requestApiVersion": 12,
            "correlationId": 1,
            "clientId": client,
            "requestApiKeyName": api,
        },
        "request": {"topics": [{"name": "a} (kafka.request.logger)"}]},
        "response": {"throttleTimeMs": 0},
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
    }
    return f"[{at}] DEBUG Completed request:{json.dumps(logged)} (kafka.request.logger)\n"


def test_a_line_becomes_a_value_and_other_lines_nothing() -> None:
    entry = parse_line(2, line("2025-05-12 11:02:32,123").rstrip("\n"))
    assert entry is not None
    assert (entry.broker, entry.api, entry.version, entry.client_id) == (2, "METADATA", 12, "kac")
    assert entry.request == {"topics": [{"name": "a} (kafka.request.logger)"}]}
    assert parse_line(2, "\tat kafka.network.Processor.run(SocketServer.scala:1)") is None


def test_reading_merges_brokers_by_time_and_leaves_out_forwarded_copies(tmp_path: Path) -> None:
    first, second = tmp_path / "1.log", tmp_path / "2.log"
    log = RequestLog({1: first, 2: second})
    assert log.read() == ()
    first.write_text(line("10:00:00,300") + line("10:00:00,400", forwarded=True))
    mark = log.mark()
    second.write_text(line("10:00:00,200", client="other") + line("10:00:00,500")[:-20])
    assert [entry.at for entry in log.read()] == ["10:00:00,200", "10:00:00,300"]
    assert [entry.at for entry in log.read(forwarded=True)] == ["10:00:00,200", "10:00:00,300", "10:00:00,400"]
    assert [entry.at for entry in log.read(client_id="kac")] == ["10:00:00,300"]
    assert [entry.at for entry in log.read(since=mark)] == ["10:00:00,200"]
    assert log.read("FETCH") == ()


def test_waiting_for_what_never_comes_says_what_there_was(tmp_path: Path) -> None:
    path = tmp_path / "1.log"
    path.write_text(line("10:00:00,300"))
    with pytest.raises(TimeoutError, match="1 of 2 METADATA"):
        RequestLog({1: path}).wait_for(2, "METADATA", timeout=0)
