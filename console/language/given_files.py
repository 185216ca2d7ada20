"""Reading of the files that statements name; the contents become a part of the statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from console.language import offset_files
from console.language.errors import CommandError
from console.language.statements import Statement
from console.language.verbs.connector import CreateConnector, ResetConnector
from console.language.verbs.produce import Produce
from console.language.verbs.reset import ResetOffsets
from console.model.connector_bodies import of_text, offsets_of
from console.model.new_records import MOST_BYTES, NotARecord, records_of_lines
from console.model.secret import Contents, Secret
from console.present.text import clean

S = TypeVar("S", bound=Statement)


def with_file(statement: S) -> S:
    """Return a statement together with the contents of the file that it names; any other statement unchanged.

    Raises CommandError: the file can't be read, or has invalid contents.
    """
    found: Any = statement
    match statement:
        case ResetOffsets():
            found = offset_files.with_rows(statement)
        case CreateConnector():
            found = _with_config(statement)
        case ResetConnector():
            found = _with_offsets(statement)
        case Produce():
            found = _with_lines(statement)
    result: S = found
    return result


def _with_config(statement: CreateConnector) -> CreateConnector:
    """Return a statement together with the config in the file that it names; unchanged if it names none. Raises
    CommandError: the file can't be read or parsed.
    """
    if not statement.path:
        return statement
    text = offset_files.read_text(statement.path, statement.span, "the config")
    try:
        found = of_text(text)
    except ValueError as error:
        raise _bad("config", statement.path, error, statement) from None
    # Treat all values as secrets until their keys are known: the file may contain passwords.
    given = tuple((key, Secret(value)) for key, value in found.config.items())
    return replace(statement, given=given, state=statement.state or found.state)


def _with_offsets(statement: ResetConnector) -> ResetConnector:
    """Return a statement together with the offsets in the file that it names; unchanged if it names none. Raises
    CommandError: the file can't be read or parsed.
    """
    if not statement.path:
        return statement
    text = offset_files.read_text(statement.path, statement.span)
    try:
        return replace(statement, offsets=offsets_of(text))
    except ValueError as error:
        raise _bad("offsets", statement.path, error, statement) from None


def _bad(what: str, path: str, error: ValueError, statement: CreateConnector | ResetConnector) -> CommandError:
    return CommandError(f"the {what} in '{clean(path, 200)}': {clean(str(error), 300)}", "", statement.span)


def _with_lines(statement: Produce) -> Produce:
    """Return a statement together with the records in the file that it names; unchanged if it names none, or has its
    records already. Raises CommandError: they can't be read.
    """
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
