"""`abort transaction`."""

from hypothesis import given
from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.needs import needs
from console.language.verbs.abort import Abort
from console.plan.edits import EndTransaction
from tests.language.said import edits, one, refused
from tests.language.strategies import reads_back, topic_names

statements = st.builds(Abort, topic_names, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))


@given(statements)
def test_what_is_written_reads_back(statement):
    reads_back(statement)


def test_edits():
    text = "abort transaction topic orders partition 1 producer 4012"
    assert edits(text) == (EndTransaction("orders", 1, 4012),)
    assert command_of(EndTransaction("orders", 1, 4012)) == text
    assert "did you mean 'orders'?" in refused(text.replace("orders", "ordrs")).hint


def test_what_it_needs():
    found = needs(one("abort transaction topic a partition 1 producer 2"))
    assert (found.topics, found.transactions) == (frozenset({"a"}), frozenset({("a", 1)}))
