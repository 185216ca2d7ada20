"""The format of the journal's lines: what is written is read back, and its words are those of the product."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.model.changes import Status
from console.model.journal_lines import (
    FINAL,
    OPERATION_KINDS,
    STATUSES,
    BadLine,
    Closed,
    Decided,
    EditLine,
    EndedLine,
    IntentLine,
    Line,
    Mended,
    OperationLine,
    Origin,
    OutcomeLine,
    Place,
    Request,
    Sending,
    Settled,
    Told,
    Who,
    cluster_of,
    encoded,
    final_status,
    journal_name,
    line_of,
    read_line,
    segment_number,
    segment_path,
)

AT = datetime(2026, 11, 21, 10, 0, 0, 123_000, tzinfo=UTC)
WHO = Who("User:alice", "bob", "carol", "10.1.2.3")
EDIT = {"op": "set-config", "resource": ["TOPIC", "orders"], "key": "retention.ms", "value": "1"}
LINES: list[Line] = [
    IntentLine(
        7,
        AT,
        "prod",
        WHO,
        Origin("host-1", "run", 17, "boot-1"),
        (
            EditLine(EDIT, None),
            EditLine(EDIT, "unread", 60_000, AT, (3, 1), "jBoaEDhbVBKNssPD7v9pjw", True, {"retention.ms": "1"}),
        ),
        (Request("INCREMENTAL_ALTER_CONFIGS", None, (0, 1)), Request("CREATE_TOPICS", 3, ())),
        5,
    ),
    Sending(7, 0, AT),
    OutcomeLine(7, 0, AT, {0: EndedLine("applied", None, "id"), 1: EndedLine("failed", ("INVALID", "no", "do"))}),
    Settled(7, AT, {0: "applied"}, {0: "id"}),
    Decided(7, AT, {0: "not applied"}, WHO, "looked at it"),
    Told(7, AT),
    Closed(Place(7, 1), AT, "kept"),
    Mended(AT, WHO),
    *(OperationLine(5, kind, AT, {"state": "running"}) for kind in sorted(OPERATION_KINDS)),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: type(line).__name__)
def test_a_line_is_read_as_it_was_written(line: Line) -> None:
    data = encoded(line)
    assert data.endswith(b"\n")
    assert data.isascii()
    assert read_line(data, line_of) == line


def test_statuses_are_the_products() -> None:
    assert {status.value for status in Status} == STATUSES
    assert FINAL < STATUSES


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "it is no JSON"),
        (b"[]", "it is no JSON object"),
        (b'{"v": 2, "kind": "told"}', "its version is 2, this kac reads 1"),
        (b'{"v": 1, "kind": "sung"}', "its kind 'sung' is unknown to this release of kac"),
        (b'{"v": 1, "kind": "told"}', r"it is not in the journal's form \(ValidationError\)"),
        (b'{"v": 1, "kind": "told", "change": 1, "at": "now"}', r"it is not in the journal's form \(ValidationError\)"),
        (
            b'{"v": 1, "kind": "settled", "change": 1, "at": "2026-11-21T10:00:00Z", "edits": {"0": "sung"}}',
            r"it is not in the journal's form \(ValidationError\)",
        ),
    ],
)
def test_a_line_that_cannot_be_read_says_why(line: bytes, why: str) -> None:
    with pytest.raises(BadLine, match=f"^{why}$"):
        read_line(line, line_of)


def test_how_an_edit_stands_is_the_answer_then_what_was_found_then_whether_it_was_sent() -> None:
    assert final_status("failed", "applied", sent=True) == "failed"
    assert final_status("unknown", "applied", sent=True) == "applied"
    assert final_status(None, "not applied", sent=False) == "not applied"
    assert final_status("unknown", None, sent=True) == final_status(None, None, sent=True) == "unknown"
    assert final_status(None, None, sent=False) is None


def test_the_names_of_files_are_those_of_their_cluster_and_number(tmp_path: Path) -> None:
    first = tmp_path / journal_name("odd/id_1")
    assert first.name == "odd%2Fid_1.jsonl"
    assert cluster_of(first) == "odd/id_1"
    assert segment_path(first, 1) == first
    assert segment_path(first, 2) == tmp_path / "odd%2Fid_1.segments" / "00000002.jsonl"
    assert segment_number(segment_path(first, 12).name) == 12
    assert segment_number("open.json") is None
