"""Files with records, read into the statements that name them."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from console.language.errors import CommandError
from console.language.verbs.produce import Produce
from console.model.new_records import MOST_BYTES, NotARecord, records_of_lines
from console.model.secret import Contents
from console.present.text import clean


def with_lines(statement: Produce) -> Produce:
    """Return a statement with the records in the file that it names. Raises CommandError if they can't be read."""
    if not statement.path or statement.records is not None:
        return statement
    shown = f"'{clean(statement.path, 200)}'"
    try:
        with Path(statement.path).expanduser().open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its name is no path"
        raise CommandError(f"the records in {shown} can't be read: {why}", "", statement.span) from None
    if len(data) > MOST_BYTES:
        raise CommandError(f"{shown} has more than {MOST_BYTES >> 20} MiB", "write it in parts", statement.span)
    try:
        return replace(statement, records=Contents(records_of_lines(data, statement.by_schema)))
    except NotARecord as error:
        raise CommandError(f"{shown}: {error}", "", statement.span) from None
