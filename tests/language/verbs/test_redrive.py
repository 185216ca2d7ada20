"""Tests of the statement ``redrive``: the topic, the dead letters, their destination, and the rate."""

import pytest

from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.statements import Where
from console.language.unparse import unparse
from console.language.verbs.operations import AskOfOperation
from console.language.verbs.redrive import BeginRedrive
from console.model.dead_letters import Redrive
from tests.language.said import mistaken


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("redrive topic orders.dlt", BeginRedrive(Redrive("orders.dlt"))),
        ("redrive orders.dlt", BeginRedrive(Redrive("orders.dlt"))),
        ("redrive topic 'where'", BeginRedrive(Redrive("where"))),
        ("redrive topic a to b", BeginRedrive(Redrive("a", to="b"))),
        ("redrive topic a max 50/s", BeginRedrive(Redrive("a"), 50)),
        ("redrive topic a max 50 where 'value.n < 3' to b", BeginRedrive(Redrive("a", "value.n < 3", "b"), 50)),
        ("operation 7 pause", AskOfOperation(7, pause=True)),
        ("operation 7 go-on", AskOfOperation(7, pause=False)),
    ],
)
def test_what_a_statement_means(text: str, statement: object) -> None:
    (parsed,) = parse(text, Where.BAR)
    assert parsed == statement
    assert parse(unparse(parsed), Where.BAR) == (parsed,)


test_errors_name_their_word = mistaken(
    ("redrive", "topic", 8),
    ("redrive topic ''", "can't be empty", 15),
    ("redrive topic a max 0", "letters a second", 21),
    ("redrive topic a max 1.5/s", "letters a second", 21),
    ("redrive topic a where 'value ='", "the condition is wrong", 30),
    ("redrive topic a to b to c", "not 'to'", 22),
    where=Where.BAR,
)


def test_scripts_have_the_command_instead() -> None:
    with pytest.raises(ParseError):
        parse("redrive topic a")


def test_the_group_is_that_of_the_selection_and_its_target() -> None:
    some = [Redrive("a"), Redrive("a", to="b"), Redrive("a", "true"), Redrive("b"), Redrive("a", "b")]
    assert len({each.group for each in some}) == len(some)
    assert Redrive("a", ends=((0, 5),)).group == Redrive("a").group
