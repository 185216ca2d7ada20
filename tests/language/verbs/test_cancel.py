"""Tests of the statement `cancel move`."""

from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.needs import needs
from console.language.verbs.cancel import CancelMoves
from console.plan.edits import CancelMove
from tests.language.said import edits, one, refused
from tests.language.strategies import partition_numbers, read_back, topic_names

test_what_is_written_reads_back = read_back(st.builds(CancelMoves, topic_names, partition_numbers))


def test_edits_and_what_they_need():
    assert edits("cancel move topic orders partition 1") == (CancelMove("orders", 1),)
    assert command_of(CancelMove("orders", 1)) == "cancel move topic orders partition 1"
    assert "did you mean 'orders'?" in refused("cancel move topic ordrs").hint
    found = needs(one("cancel move topic a"))
    assert (found.topics, found.replica_logs, found.parts) == ({"a"}, {"a"}, {"reassignments"})
