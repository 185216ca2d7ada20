"""Tests of the statement `clone group`."""

from hypothesis import strategies as st

from console.language.needs import needs
from console.language.statements import Name
from console.language.verbs.clone import CloneGroup
from tests.language.said import one, wrong
from tests.language.strategies import read_back, topic_names

test_what_is_written_reads_back = read_back(st.builds(CloneGroup, topic_names, topic_names))


def test_grammar_and_needs():
    assert one("clone group a to b") == CloneGroup(Name("a"), Name("b"))
    assert wrong("clone group a b").column == len("clone group a ") + 1
    found = needs(one("clone group a to b"))
    assert found.group_positions == frozenset({("a", None), ("b", None)})
