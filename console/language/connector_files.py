"""Files with the config or the offsets of a connector, read into the statements that name them."""

from __future__ import annotations

from msgspec.structs import replace

from console.language.errors import CommandError
from console.language.offset_files import read_text
from console.language.verbs.connector import CreateConnector, ResetConnector
from console.model.connector_bodies import of_text, offsets_of
from console.model.secret import Secret
from console.present.text import clean


def with_config(statement: CreateConnector) -> CreateConnector:
    """Return a statement with the config in the file that it names. Raises CommandError if it can't be read."""
    if not statement.path:
        return statement
    text = read_text(statement.path, statement.span, "the config")
    try:
        found = of_text(text)
    except ValueError as error:
        raise _bad("config", statement.path, error, statement) from None
    # Secret until its keys are known: the file may have passwords.
    given = tuple((key, Secret(value)) for key, value in found.config.items())
    return replace(statement, given=given, state=statement.state or found.state)


def with_offsets(statement: ResetConnector) -> ResetConnector:
    """Return a statement with the offsets in the file that it names. Raises CommandError if it can't be read."""
    if not statement.path:
        return statement
    text = read_text(statement.path, statement.span)
    try:
        return replace(statement, offsets=offsets_of(text))
    except ValueError as error:
        raise _bad("offsets", statement.path, error, statement) from None


def _bad(what: str, path: str, error: ValueError, statement: CreateConnector | ResetConnector) -> CommandError:
    return CommandError(f"the {what} in '{clean(path, 200)}': {clean(str(error), 300)}", "", statement.span)
