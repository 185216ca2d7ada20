"""Tests of entries of several lines: when an entry counts as complete, and how the language reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.grammar import parse
from console.language.statements import Where
from console.language.unparse import unparse
from console.shell.line import is_complete, joined


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("list topics", True),
        ("", True),
        ("set topic a k='x", False),
        ("set topic a k='x\ny'", True),
        ('set topic a k="x\\"', False),
        ("list topics \\", False),
        ("list topics \\\n svc*", True),
        ("list topics # '", False),  # no comment: a comment stands at the beginning of a statement
        ("# it's", True),
    ],
)
def test_enter_ends_what_is_whole(text: str, whole: bool) -> None:
    assert is_complete(text) is whole


def test_a_continued_line_is_one_statement() -> None:
    text = joined("set topic a \\\nretention.ms=1d \\\ncleanup.policy=compact\nlist topics")
    assert [unparse(one) for one in parse(text, Where.SHELL)] == [
        "set topic a retention.ms=1d cleanup.policy=compact",
        "list topics",
    ]


def test_a_backslash_in_quotes_is_data() -> None:
    assert joined("set topic a k='x\\\ny' \\\nz=1") == "set topic a k='x\\\ny'  z=1"


@given(st.text(alphabet="ab \\\n'\"", max_size=30))
def test_joining_twice_is_joining_once(text: str) -> None:
    assert joined(joined(text)) == joined(text)
