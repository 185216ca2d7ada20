"""Tests of the statements `scram set` and `scram delete`."""

import pytest
from hypothesis import strategies as st
from pygments.token import Keyword, Literal, Operator, String
from pygments.token import Name as NameToken

from console.language.lexer import CommandLexer
from console.language.secret_values import nobody_to_ask
from console.language.statements import Asked, FromFile, OneEdit
from console.language.verbs import kind_of
from console.language.verbs.scram import ScramSet
from console.model.changes import ScramUser
from console.model.codes import ScramMechanism
from console.model.secret import Secret
from console.plan.edits import DeleteScram, UpsertScram
from tests.language.said import completes, edits, one, wrong
from tests.language.strategies import NAMES, read_back, secrets

mechanisms = st.sampled_from([ScramMechanism(1), ScramMechanism(2)])


test_what_is_written_reads_back = read_back(
    st.one_of(
        st.builds(ScramSet, NAMES, mechanisms, secrets, st.none() | st.integers(1, 99999)),
        st.builds(ScramUser, NAMES, mechanisms).map(DeleteScram).map(OneEdit),
    )
)


def test_scram():
    sha512 = ScramMechanism(2)
    assert one("scram set a SCRAM-SHA-512 password=?") == ScramSet("a", sha512, Asked())
    assert one("scram set a scram-sha-512 iterations=8192 password=@f") == ScramSet("a", sha512, FromFile("f"), 8192)
    assert one("scram set a SCRAM-SHA-512 password=@f iterations=8192").iterations == 8192
    assert one("scram delete a SCRAM-SHA-512") == OneEdit(DeleteScram(ScramUser("a", sha512)))
    assert "'delete'" in wrong("scram dlete a SCRAM-SHA-256").hint


@pytest.mark.parametrize(
    "tail",
    [
        "password=hunter2",
        "iterations=5000 password=hunter2",
        "password='?'hunter2",
        "password= hunter2",
        "password=? hunter2",
    ],
)
def test_a_password_is_never_bare_and_never_repeated(tail):
    error = wrong(f"scram set a SCRAM-SHA-512 {tail}")
    assert "hunter2" not in str(error)
    assert error.hint or error.message


def test_edits():
    user = ScramUser("alice", ScramMechanism(2))
    secret = Secret("hunter2")
    assert edits("scram set alice SCRAM-SHA-512 password=?", secrets={"password": secret}) == (
        UpsertScram(user, 4096, secret),
    )
    (found,) = edits("scram set alice SCRAM-SHA-512 iterations=8192 password=@f", secrets={"password": secret})
    assert found.iterations == 8192
    assert edits("scram delete alice SCRAM-SHA-512") == (DeleteScram(user),)


def test_the_prompt_says_whose_password_it_is():
    statement = one("scram set alice SCRAM-SHA-256 password=?")
    (slot,) = kind_of(statement).secrets(statement)
    assert slot.prompt == "SCRAM-SHA-256 password of alice"
    assert "password=@FILE" in str(nobody_to_ask(slot))


def test_colours():
    found = [
        (token, text)
        for token, text in CommandLexer().get_tokens("scram set a SCRAM-SHA-256 password=?")
        if text.strip()
    ]
    assert found == [
        (Keyword, "scram"),
        (Keyword.Pseudo, "set"),
        (NameToken.Entity, "a"),
        (String, "SCRAM-SHA-256"),
        (NameToken.Attribute, "password"),
        (Operator, "="),
        (Literal.Secret, "?"),
    ]


test_what_can_stand_at_the_cursor = completes(
    ("scram set alice SCRAM-SHA-5|", ["SCRAM-SHA-512"]),
    ("scram set alice SCRAM-SHA-512 |", ["iterations=", "password="]),
    ("scram set alice SCRAM-SHA-512 password=|", ["?", "@"]),
)
