"""Statements that name files: reading these into them."""

from __future__ import annotations

from typing import Any, TypeVar

from console.language import connector_files, offset_files, record_files
from console.language.statements import Statement
from console.language.verbs.connector import CreateConnector, ResetConnector
from console.language.verbs.produce import Produce
from console.language.verbs.reset import ResetOffsets

S = TypeVar("S", bound=Statement)


def with_file(statement: S) -> S:
    """Return a statement with the contents of the file that it names; other statements unchanged.

    Raises CommandError for a file that can't be read.
    """
    found: Any = statement
    match statement:
        case ResetOffsets():
            found = offset_files.with_rows(statement)
        case CreateConnector():
            found = connector_files.with_config(statement)
        case ResetConnector():
            found = connector_files.with_offsets(statement)
        case Produce():
            found = record_files.with_lines(statement)
    result: S = found
    return result
