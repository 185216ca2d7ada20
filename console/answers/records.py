"""The result of `records`: a table, and the records as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from console.answers.results import Row, Table, titles
from console.language.unparse import unparse
from console.language.verbs.records import Records
from console.model.record_masks import MaskPath
from console.model.records import RecordsRead
from console.model.snapshot import ReadFailure
from console.present import records


def records_result(statement: Records, read: RecordsRead, *, masked: bool, fields: Sequence[MaskPath] = ()) -> Table:
    """Return the records that were read for a statement, as a table.

    Args:
        masked: whether the records' contents are hidden.
        fields: the paths of the fields that the context masks.
    """
    rows, columns = records.record_rows(read, statement.form, masked=masked), records.columns_for(read)
    notes = [
        records.summary(read, filtered=statement.is_filtered),
        *records.record_notes(read),
        *([] if masked else records.decoding_notes(read)),
    ]
    if read.progress.stopped == "records" and statement.limit is None and statement.begins.word != "last":
        notes.append(f"there may be more than these {statement.most:,}: limit 0 goes on to the end")
    if masked and rows:
        notes.append("contents are hidden in this context: --reveal shows them")
    if fields and rows:
        notes.append(f"fields are masked in this context: {', '.join(path.text for path in fields)}")
    return Table(
        "records",
        titles(columns),
        tuple(Row(columns.texts(row), records.record_data(row)) for row in rows),
        unparse(statement),
        "none",
        tuple(notes),
        tuple(ReadFailure("records", statement.topic, problem) for problem in read.problems),
    )
