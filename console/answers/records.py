"""What `records` answers: a table, and the records as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from console.answers.results import Row, Table, titles
from console.language.unparse import unparse
from console.language.verbs.records import Records
from console.model.record_masks import MaskPath
from console.model.records import RecordsRead
from console.model.snapshot import ReadFailure
from console.present.records import RECORDS, decoding_notes, record_data, record_notes, record_rows, summary


def records_result(statement: Records, read: RecordsRead, *, masked: bool, fields: Sequence[MaskPath] = ()) -> Table:
    """Return the records that were read for a statement. masked: their contents are hidden. fields: those of the
    context that are masked."""
    filtered = bool(statement.text or statement.key or statement.json)
    rows = record_rows(read, statement.form, masked=masked)
    notes = [summary(read, filtered=filtered), *record_notes(read), *([] if masked else decoding_notes(read))]
    if masked and rows:
        notes.append("contents are hidden in this context: --reveal shows them")
    if fields and rows:
        notes.append(f"fields are masked in this context: {', '.join(path.text for path in fields)}")
    return Table(
        "records",
        titles(RECORDS),
        tuple(Row(RECORDS.texts(row), record_data(row)) for row in rows),
        unparse(statement),
        "none",
        tuple(notes),
        tuple(ReadFailure("records", statement.topic, problem) for problem in read.problems),
    )
