"""Requests added up in one pass: the rows that are known by hand, and the same as a reading of each line by itself."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.requests import counted as counted_module
from console.lake.requests.counted import COUNTED, Whose, counted
from console.lake.requests.lines import NO_FIGURE, NO_JSON, TOO_DEEP
from tests.lake import request_lines
from tests.lake.known_requests import BEFORE, SALT, SALTED, expected, noise

WHOSE = Whose("lkc-1", 1, "request.log")
SIZES = st.integers(0, 1 << 20)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TWISTS = [
    ("topicData", '"none"'),
    ("replicaState", "7"),
    ("partitions", '[1,"x"]'),
    ("responses", "{}"),
    ("errorCode", '"bad"'),
    ("throttleTimeMs", "null"),
    ("localTimeMs", "3"),
    ("isForwarded", "null"),
]
REQUESTS = st.builds(
    lambda made, name, principal, seconds, forwarded: replace(
        made, client_id=name, principal=f"User:{principal}", forwarded=forwarded
    ).later(seconds),
    st.one_of(
        st.builds(
            lambda sizes, error: request_lines.produce(*sizes, error=error),
            st.lists(SIZES, max_size=3),
            st.sampled_from([0, 6]),
        ),
        st.builds(
            lambda sizes, replica, old, error: request_lines.fetch(*sizes, replica=replica, old=old, error=error),
            st.lists(SIZES, max_size=3),
            st.sampled_from([None, 2]),
            st.booleans(),
            st.sampled_from([0, 1]),
        ),
        st.builds(request_lines.metadata, error=st.sampled_from([0, 3])),
        NAMES.map(lambda value: request_lines.alter_configs([("retention.ms", 0, value)])),
        st.sampled_from(
            [request_lines.produce(5, response=""), request_lines.produce(5, throttle_ms=40, local_ms=0.25)]
        ),
    ),
    NAMES,
    NAMES,
    st.integers(0, 3),
    st.sampled_from([False, False, True]),
)


def rows(content: bytes, *, block: int = 1 << 20) -> dict[str, list[dict[str, Any]]]:
    """By kind; the counts are one."""
    blocks: list[tuple[int, bytes]] = []
    for line in content.splitlines(keepends=True):
        if blocks and len(blocks[-1][1]) < block:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + line)
        else:
            blocks.append((sum(len(text) for _, text in blocks), line))
    made: dict[str, list[dict[str, Any]]] = {"second": [], "alter": [], "quarantined": []}
    counts = {"lines": 0, "damaged": 0}
    for batch in counted(WHOSE, blocks):
        assert batch.schema.equals(COUNTED)
        for row in batch.to_pylist():
            there = [kind for kind in made if row[kind] is not None]
            assert len(there) <= (0 if row["lines"] else 1)
            for kind in made:
                made[kind] += [row[kind]] if row[kind] else []
            for name in counts:
                counts[name] += row[name]
    return made | {"counts": [counts]}


def sums(found: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[Any]]:
    """Rows of REQUEST_1S by second, principal, client and API; those of one key added up."""
    made: dict[tuple[Any, ...], list[Any]] = {}
    for row in found:
        assert (row.pop("cluster_id"), row.pop("broker_id")) == ("lkc-1", 1)
        *key, requests, errors, came, went, local, throttled, longest = row.values()
        was = made.setdefault(tuple(key), [0, 0, 0, 0, 0.0, 0, 0])
        new = (requests, errors, came, went, local, throttled)
        made[tuple(key)] = [*(a + b for a, b in zip(was, new, strict=False)), max(was[-1], longest)]
    return made


@pytest.mark.parametrize(("chunk", "block"), [(1, 1), (1 << 26, 1), (1, 5000), (1 << 26, 1 << 20)])
def test_the_rows_are_what_was_asked_whatever_else_stands_in_the_file(
    monkeypatch: pytest.MonkeyPatch, chunk: int, block: int
) -> None:
    monkeypatch.setattr(counted_module, "CHUNK_BYTES", chunk)
    found = rows(request_lines.log_of(BEFORE) + noise(), block=block)
    assert {(*key, *values) for key, values in sums(found["second"]).items()} == expected()
    assert found["counts"] == [{"lines": len(BEFORE) + 3, "damaged": 3}]
    assert len(found["quarantined"]) == 3
    assert [row["attr"] for row in found["alter"]] == [
        *["retention.ms", "cleanup.policy"] * 2,
        "SCRAM-SHA-256",
    ]
    assert not any(secret in str(found) for secret in (SALT, SALTED))


def test_of_nothing_comes_nothing() -> None:
    assert rows(b"") == {"second": [], "alter": [], "quarantined": [], "counts": [{"lines": 0, "damaged": 0}]}


def by_itself(line: str) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """A line's key and figures, of its JSON as Python reads it; None where it does not count."""
    at = datetime.strptime(line[1:20], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    read = json.loads(line[50:].rpartition(" (")[0])
    request, response = read["request"], read["response"] or {}
    replica = request.get("replicaState", request).get("replicaId", -1)
    if read["isForwarded"] or replica >= 0:
        return None
    api = read["requestHeader"]["requestApiKeyName"]
    answers = response.get("responses", [])
    came = [part for topic in request.get("topicData", []) for part in topic["partitionData"]]
    went = [part for topic in answers for part in topic.get("partitions", [])]
    told = went + [part for topic in answers for part in topic.get("partitionResponses", [])]
    codes = [part["errorCode"] for part in told] + [response.get("errorCode", 0)]
    failed = any(codes) if api in ("PRODUCE", "FETCH") else bool(re.search(r'(?<!\\)"errorCode":-?[1-9]', line))
    size = [sum(part.get("recordsSizeInBytes", 0) for part in parts) for parts in (came, went)]
    key = (at, read["principal"], read["requestHeader"]["clientId"], api)
    return key, (1, failed, *size, read["localTimeMs"], read["throttleTimeMs"], read["throttleTimeMs"])


@given(st.lists(REQUESTS, max_size=20), st.integers(1, 8000))
def test_the_sums_are_those_of_each_line_by_itself(asked: list[request_lines.Logged], block: int) -> None:
    wanted: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0] * 7)
    for each in asked:
        if (one := by_itself(each.line)) is not None:
            was = wanted[one[0]]
            wanted[one[0]] = [*(a + b for a, b in zip(was[:6], one[1][:6], strict=True)), max(was[6], one[1][6])]
    found = rows(request_lines.log_of(asked), block=block)
    assert found["counts"] == [{"lines": len(asked), "damaged": 0}]
    got = sums(found["second"])
    assert got.keys() == wanted.keys()
    for key, values in wanted.items():
        assert got[key][:4] == values[:4]
        assert math.isclose(got[key][4], values[4])
        assert got[key][5:] == values[5:]


@given(REQUESTS, st.sampled_from(TWISTS))
def test_a_field_of_another_form_counts_as_empty_and_the_request_counts(
    made: request_lines.Logged, twist: tuple[str, str]
) -> None:
    name, value = twist
    read = json.loads(made.text)

    def twisted(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: json.loads(value) if key == name else twisted(each) for key, each in node.items()}
        return [twisted(each) for each in node] if isinstance(node, list) else node

    text = json.dumps(twisted(read), ensure_ascii=False, separators=(",", ":"))
    found = rows(made.line.replace(made.text, text).encode())
    assert found["counts"] == [{"lines": 1, "damaged": 0}]
    assert sum(row["requests"] for row in found["second"]) <= 1
    if name not in ("isForwarded", "replicaState") and by_itself(made.line) is not None:
        assert len(found["second"]) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (request_lines.produce(1 << 40).line, NO_FIGURE),
        (request_lines.fetch(1 << 62, 1 << 62).line, NO_FIGURE),
        (request_lines.fetch(1 << 70).line, None),
        (request_lines.produce(1, throttle_ms=1 << 40).line, NO_FIGURE),
        (request_lines.produce(1, throttle_ms=-1).line, NO_FIGURE),
        (request_lines.produce(1, local_ms=1e300).line, NO_FIGURE),
        (request_lines.produce(1).line.replace('"User:alice"', "7"), NO_JSON),
        (request_lines.produce(1).line.replace('"requestApiKeyName":"PRODUCE"', '"requestApiKeyName":0'), NO_JSON),
        (request_lines.produce(1).line.replace('"acks":-1', '"acks":' + "[" * 100_000), TOO_DEEP),
        (request_lines.produce(1).line.replace('"timeoutMs":30000', '"timeoutMs":NaN'), NO_JSON),
        (request_lines.alter_configs([("a", 0, "\\ud800 half")]).line.replace("\\\\ud800", "\\ud800"), None),
    ],
    ids=range(11),
)
def test_a_hostile_line_is_damaged_or_counts_and_hides_nothing_else(line: str, reason: str | None) -> None:
    found = rows(request_lines.produce(1).line.encode() + line.encode() + request_lines.produce(2).line.encode())
    assert found["counts"] == [{"lines": 3, "damaged": int(bool(found["quarantined"]))}]
    produced = [row for row in found["second"] if row["api"] == "PRODUCE"]
    assert [row["bytes_in"] for row in produced][:1] == [3]
    if reason is not None:
        assert [row["reason"] for row in found["quarantined"]] == [reason]
        assert found["quarantined"][0]["byte_pos"] == len(request_lines.produce(1).line)
        assert "alice" not in found["quarantined"][0]["sample"]


def test_a_line_of_ten_megabytes_is_a_line() -> None:
    many = request_lines.produce(*[3] * 120_000)
    assert len(many.line) > 10_000_000
    found = rows(request_lines.log_of([many, request_lines.produce(1)]))
    assert [(row["requests"], row["bytes_in"]) for row in found["second"]] == [(2, 360_001)]


def test_a_clock_that_is_set_back_adds_to_the_seconds_that_were() -> None:
    found = rows(
        request_lines.log_of(
            [
                request_lines.produce(1).later(5),
                request_lines.produce(2),
                request_lines.produce(4).later(5),
                request_lines.produce(8),
            ]
        )
    )
    assert sorted((row["second"].second, row["bytes_in"]) for row in found["second"]) == [(0, 10), (5, 5)]


def test_a_second_that_goes_on_has_one_row_and_a_long_one_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    line = len(request_lines.produce(5).line)
    monkeypatch.setattr(counted_module, "CHUNK_BYTES", 4 * line)
    asked = [request_lines.produce(5).later(number / 3) for number in range(12)]
    found = rows(request_lines.log_of(asked), block=line)["second"]
    assert [row["requests"] for row in found] == [3] * 4, "chunks of four lines end within a second of three"
    held = [request_lines.produce(5, client_id=str(number)) for number in range(20)]
    blocks = [(place, each.line.encode()) for place, each in enumerate(held)]
    sizes = [batch.num_rows for batch in counted(WHOSE, blocks) if batch.column("second").null_count == 0]
    assert sum(sizes) == 20
    assert max(sizes) <= 2 * 5
