"""The format of the journal's lines: what is written is read back, and its words are those of the product."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.model import journal_lines
from console.model.changes import Status

AT = datetime(2026, 11, 21, 10, 0, 0, 123_000, tzinfo=UTC)
WHO = journal_lines.Who("User:alice", "bob", "carol", "10.1.2.3")
EDIT = {"op": "set-config", "resource": ["TOPIC", "orders"], "key": "retention.ms", "value": "1"}
LINES: list[journal_lines.Line] = [
    journal_lines.IntentLine(
        7,
        AT,
        "prod",
        WHO,
        journal_lines.Origin("host-1", "run", 17, "boot-1"),
        (
            journal_lines.EditLine(EDIT, None),
            journal_lines.EditLine(
                EDIT, "unread", 60_000, AT, (3, 1), "jBoaEDhbVBKNssPD7v9pjw", True, {"retention.ms": "1"}
            ),
        ),
        (
            journal_lines.Request("INCREMENTAL_ALTER_CONFIGS", None, (0, 1)),
            journal_lines.Request("CREATE_TOPICS", 3, ()),
        ),
        5,
    ),
    journal_lines.Sending(7, 0, AT),
    journal_lines.OutcomeLine(
        7,
        0,
        AT,
        {
            0: journal_lines.EndedLine("applied", None, "id"),
            1: journal_lines.EndedLine("failed", ("INVALID", "no", "do")),
        },
    ),
    journal_lines.Settled(7, AT, {0: "applied"}, {0: "id"}),
    journal_lines.Decided(7, AT, {0: "not applied"}, WHO, "looked at it"),
    journal_lines.Told(7, AT),
    journal_lines.Closed(journal_lines.Place(7, 1), AT, "kept"),
    journal_lines.Mended(AT, WHO),
    *(journal_lines.OperationLine(5, kind, AT, {"state": "running"}) for kind in sorted(journal_lines.OPERATION_KINDS)),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: type(line).__name__)
def test_a_line_is_read_as_it_was_written(line: journal_lines.Line) -> None:
    data = journal_lines.encoded(line)
    assert data.endswith(b"\n")
    assert data.isascii()
    assert journal_lines.read_line(data, journal_lines.line_of) == line


def test_statuses_are_the_products() -> None:
    assert {status.value for status in Status} == journal_lines.STATUSES
    assert journal_lines.FINAL < journal_lines.STATUSES


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
    with pytest.raises(journal_lines.BadLine, match=f"^{why}$"):
        journal_lines.read_line(line, journal_lines.line_of)


def test_how_an_edit_stands_is_the_answer_then_what_was_found_then_whether_it_was_sent() -> None:
    assert journal_lines.final_status("failed", "applied", sent=True) == "failed"
    assert journal_lines.final_status("unknown", "applied", sent=True) == "applied"
    assert journal_lines.final_status(None, "not applied", sent=False) == "not applied"
    assert (
        journal_lines.final_status("unknown", None, sent=True)
        == journal_lines.final_status(None, None, sent=True)
        == "unknown"
    )
    assert journal_lines.final_status(None, None, sent=False) is None


def test_the_names_of_files_are_those_of_their_cluster_and_number(tmp_path: Path) -> None:
    first = tmp_path / journal_lines.journal_name("odd/id_1")
    assert first.name == "odd%2Fid_1.jsonl"
    assert journal_lines.cluster_of(first) == "odd/id_1"
    assert journal_lines.segment_path(first, 1) == first
    assert journal_lines.segment_path(first, 2) == tmp_path / "odd%2Fid_1.segments" / "00000002.jsonl"
    assert journal_lines.segment_number(journal_lines.segment_path(first, 12).name) == 12
    assert journal_lines.segment_number("open.json") is None
