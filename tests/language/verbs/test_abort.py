"""Tests of the statement `abort transaction`."""

from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.needs import needs
from console.language.verbs.abort import Abort
from console.plan.edits import EndTransaction
from tests.language.said import edits, one, refused
from tests.language.strategies import read_back, topic_names

test_what_is_written_reads_back = read_back(
    st.builds(Abort, topic_names, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
)


def test_edits_and_what_they_need():
    text = "abort transaction topic orders partition 1 producer 4012"
    assert edits(text) == (EndTransaction("orders", 1, 4012),)
    assert command_of(EndTransaction("orders", 1, 4012)) == text
    assert "did you mean 'orders'?" in refused(text.replace("orders", "ordrs")).hint
    found = needs(one("abort transaction topic a partition 1 producer 2"))
    assert (found.topics, found.transactions) == (frozenset({"a"}), frozenset({("a", 1)}))
