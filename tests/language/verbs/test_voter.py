"""Tests of the statements ``add voter`` and ``remove voter``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.errors import LanguageError
from console.language.grammar import parse
from console.language.unparse import unparse
from console.language.verbs.voter import AddVoter, RemoveVoter

ids = st.integers(0, 2**31 - 1)
texts = st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text)
hosts = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", min_size=1, max_size=30)
places = st.tuples(st.sampled_from(("CONTROLLER", "SSL_1")), hosts, st.integers(1, 65535))


@given(st.builds(AddVoter, ids, st.just("") | texts, st.none() | places))
def test_an_added_voter_goes_there_and_back(statement: AddVoter) -> None:
    assert parse(unparse(statement)) == (statement,)


@given(st.builds(RemoveVoter, ids, st.just("") | texts))
def test_a_removed_voter_goes_there_and_back(statement: RemoveVoter) -> None:
    assert parse(unparse(statement)) == (statement,)


def test_an_address_of_ip_6_stands_in_brackets() -> None:
    (statement,) = parse("add voter 4 at=CONTROLLER://[::1]:9093")
    assert statement == AddVoter(4, "", ("CONTROLLER", "::1", 9093))
    assert parse(unparse(statement)) == (statement,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("add voter", "the id of a controller is missing"),
        ("add voter x", "expected the id of a controller, not 'x'"),
        ("add voter 4 at=host:1", "at= is LISTENER://HOST:PORT"),
        ("add voter 4 at=C://host:0", "at= is LISTENER://HOST:PORT"),
        ("add voter 4 at=C://host:65536", "at= is LISTENER://HOST:PORT"),
        ("add voter 4 directory=", "directory= is empty"),
        ("add voter 4 directory=a directory=b", "directory= is given twice"),
        ("remove voter 4 at=C://host:1", "expected directory="),
        ("remove broker 4", "voter"),
    ],
)
def test_what_is_no_voter(text: str, words: str) -> None:
    with pytest.raises(LanguageError) as refused:
        parse(text)
    assert words in str(refused.value)
