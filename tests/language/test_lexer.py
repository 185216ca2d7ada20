"""Tests of the colours and the history of entries: they follow the same grammar as statements, also for text that is
not complete.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Operator, Punctuation, String

from console.language.lexer import TOKENS, CommandLexer
from console.language.reader import Role
from console.language.secret_values import redact
from console.language.statements import Where
from tests.language.strategies import ANY_TEXT


def tokens(text, **options):
    found = CommandLexer(**options).get_tokens(text)
    return [(token, value) for token, value in found if value.strip()]


def test_every_role_has_a_token():
    assert set(TOKENS) == set(Role)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "set topic orders retention.ms=1d for 1h",
            [
                (Keyword, "set"),
                (Keyword.Pseudo, "topic"),
                (Name.Entity, "orders"),
                (Name.Attribute, "retention.ms"),
                (Operator, "="),
                (String, "1d"),
                (Keyword.Pseudo, "for"),
                (String, "1h"),
            ],
        ),
        ("# note\ncheck", [(Comment, "# note"), (Keyword, "check")]),
        ("check; apply --yes", [(Keyword, "check"), (Punctuation, ";"), (Keyword, "apply"), (Name.Decorator, "--yes")]),
        ("sett topic", [(Error, "sett")]),
        ("list topcs a", [(Keyword, "list"), (Error, "topcs")]),
        ("set topic ord", [(Keyword, "set"), (Keyword.Pseudo, "topic"), (Name.Entity, "ord")]),
        ("set topic 'a b", [(Keyword, "set"), (Keyword.Pseudo, "topic"), (Name.Entity, "'a b")]),
        ("set topic a ret", [(Keyword, "set"), (Keyword.Pseudo, "topic"), (Name.Entity, "a"), (Error, "ret")]),
        (":plan x", [(Keyword, ":plan"), (String, "x")]),
    ],
)
def test_colours(text, expected):
    found = tokens(text)
    rest = found[len(expected) :]
    assert found[: len(expected)] == expected
    assert all(token not in (Error, Keyword) for token, _ in rest)


def test_views_are_no_commands_of_a_script():
    assert tokens("topics", where=Where.RUN) == [(Error, "topics")]


@given(ANY_TEXT)
def test_every_character_is_coloured_once_in_its_place(text):
    at = 0
    for start, _, value in CommandLexer().get_tokens_unprocessed(text):
        assert start == at
        assert value == text[start : start + len(value)]
        assert value
        at += len(value)
    assert at == len(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("scram set a SCRAM-SHA-256 password=hunter2", "scram set a SCRAM-SHA-256 password=······"),
        ("sett broker 1 ssl.key.password='hunter 2' x=y", "sett broker 1 ssl.key.password=······ x=y"),
        ("set broker 1 sasl.jaas.config= hunter2", "set broker 1 sasl.jaas.config= ······"),
        ("scram set a SCRAM-SHA-256 password=? ; check", "scram set a SCRAM-SHA-256 password=? ; check"),
        ("scram set a SCRAM-SHA-256 password=@/run/x", "scram set a SCRAM-SHA-256 password=@/run/x"),
        ("set topic a retention.ms=1d", "set topic a retention.ms=1d"),
        ("x password='never closed", "x password=······"),
        ("scram set a SCRAM-SHA-256 password hunter2", "scram set a SCRAM-SHA-256 password ······"),
        ("scram set a SCRAM-SHA-256 password = hunter2", "scram set a SCRAM-SHA-256 password = ······"),
        ("set broker 1 my.token=abc other=1", "set broker 1 my.token=······ other=1"),
        ("set broker 1 x=http://bob:hunter2@host/", "set broker 1 x=http://bob:······@host/"),
        ("curl -H 'Authorization: Bearer hunter2'", "curl -H 'Authorization: Bearer ······'"),
        ("set topic user-token retention.ms=1d", "set topic user-token retention.ms=1d"),
        ("set broker 1 password.encoder.iterations=5", "set broker 1 password.encoder.iterations=5"),
        ("allow User:token-service READ on topic a", "allow User:token-service READ on topic a"),
    ],
)
def test_a_history_keeps_no_secret(text, kept):
    assert redact(text) == kept


@given(st.text(), ANY_TEXT)
def test_what_is_kept_without_secret_keys_is_what_was_typed(text, more):
    if "=" not in text + more:
        assert redact(text + more) == text + more
