"""Tests of the format of the journal's lines: each line is read back as it was written, and states are written as the
product's words for them.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.model import journal_lines as lines
from console.model.changes import Status

AT = datetime(2026, 11, 21, 10, 0, 0, 123_000, tzinfo=UTC)
WHO = lines.Who("User:alice", "bob", "carol", "10.1.2.3")
EDIT = {"op": "set-config", "resource": ["TOPIC", "orders"], "key": "retention.ms", "value": "1"}
LINES: list[lines.Line] = [
    lines.IntentLine(
        7,
        AT,
        "prod",
        WHO,
        lines.Origin("host-1", "run", 17, "boot-1"),
        (
            lines.EditLine(EDIT, None),
            lines.EditLine(EDIT, "unread", 60_000, AT, (3, 1), "jBoaEDhbVBKNssPD7v9pjw", True, {"retention.ms": "1"}),
        ),
        (lines.Request("INCREMENTAL_ALTER_CONFIGS", None, (0, 1)), lines.Request("CREATE_TOPICS", 3, ())),
        5,
    ),
    lines.Sending(7, 0, AT),
    lines.OutcomeLine(
        7, 0, AT, {0: lines.EndedLine("applied", None, "id"), 1: lines.EndedLine("failed", ("INVALID", "no", "do"))}
    ),
    lines.Settled(7, AT, {0: "applied"}, {0: "id"}),
    lines.Decided(7, AT, {0: "not applied"}, WHO, "looked at it"),
    lines.Told(7, AT),
    lines.Closed(lines.Place(7, 1), AT, "kept"),
    lines.Mended(AT, WHO),
    *(lines.OperationLine(5, kind, AT, {"state": "running"}) for kind in sorted(lines.OPERATION_KINDS)),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: type(line).__name__)
def test_a_line_is_read_as_it_was_written(line: lines.Line) -> None:
    data = lines.encoded(line)
    assert data.endswith(b"\n")
    assert data.isascii()
    assert lines.read_line(data, lines.line_of) == line


def test_statuses_are_the_products_and_an_edit_stands_as_it_was_answered_found_or_sent() -> None:
    assert {status.value for status in Status} == lines.STATUSES
    assert lines.FINAL < lines.STATUSES
    assert lines.final_status("failed", "applied", sent=True) == "failed"
    assert lines.final_status("unknown", "applied", sent=True) == "applied"
    assert lines.final_status(None, "not applied", sent=False) == "not applied"
    assert lines.final_status("unknown", None, sent=True) == lines.final_status(None, None, sent=True) == "unknown"
    assert lines.final_status(None, None, sent=False) is None


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
    with pytest.raises(lines.BadLine, match=f"^{why}$"):
        lines.read_line(line, lines.line_of)


def test_the_names_of_files_are_those_of_their_cluster_and_number(tmp_path: Path) -> None:
    first = tmp_path / lines.journal_name("odd/id_1")
    assert first.name == "odd%2Fid_1.jsonl"
    assert lines.cluster_of(first) == "odd/id_1"
    assert lines.segment_path(first, 1) == first
    assert lines.segment_path(first, 2) == tmp_path / "odd%2Fid_1.segments" / "00000002.jsonl"
    assert lines.segment_number(lines.segment_path(first, 12).name) == 12
    assert lines.segment_number("open.json") is None
