"""Functions that return the statement, the mistake, the edits or the completions of a text, and functions that make a
test from a list of cases.
"""

import pytest

from console.language.completion import Completer
from console.language.errors import CommandError, ParseError
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.statements import Where
from console.model.quota import QuotaEntity
from tests.unit.command_cluster import SNAPSHOT


def one(text, where=Where.RUN):
    (statement,) = parse(text, where)
    return statement


def wrong(text, where=Where.RUN):
    with pytest.raises(ParseError) as caught:
        parse(text, where)
    return caught.value


def assigned(text):
    return {assign.key.name: assign.value for assign in one(text).assigns}


def user(name, **more):
    return QuotaEntity.of({"user": name, **{key.replace("_", "-"): value for key, value in more.items()}})


def edits(text, snapshot=SNAPSHOT, **more):
    (statement,) = parse(text)
    return to_edits(statement, snapshot, **more)


def refused(text, snapshot=SNAPSHOT, **more):
    with pytest.raises(CommandError) as caught:
        edits(text, snapshot, **more)
    return caught.value


def at(text, snapshot=SNAPSHOT, **more):
    """Return the completions that the language offers at the place of ``|`` in a text."""
    cursor = text.index("|")
    return Completer(contexts=("prod", "dev")).complete(text.replace("|", ""), cursor, snapshot, **more)


def texts(text, snapshot=SNAPSHOT, **more):
    return [completion.text for completion in at(text, snapshot, **more)]


# -- tests made of cases alone -----------------------------------------------------------------------------------------


def completes(*cases):
    """Return a test function: for each case, the completions at ``|`` in the text are the expected ones."""

    @pytest.mark.parametrize(("text", "expected"), cases)
    def test(text, expected):
        found = texts(text)
        assert found == expected, found

    return test


def refuses(*cases):
    """Return a test function: the language refuses each text with the expected message."""

    @pytest.mark.parametrize("text", cases)
    def test(text):
        assert wrong(text).message

    return test


def mistaken(*cases, where=Where.RUN):
    """Return a test function: for each text, the message of the mistake and the column to which it points are the
    expected ones.
    """

    @pytest.mark.parametrize(("text", "message", "column"), cases)
    def test(text, message, column):
        error = wrong(text, where)
        assert message in error.message, error
        assert error.span is not None
        assert error.span.column == column, error

    return test
