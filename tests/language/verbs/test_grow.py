"""Tests of the statement `grow topic`."""

from hypothesis import strategies as st

from console.language.verbs.grow import Grow
from console.plan.edits import GrowTopic
from tests.language.said import completes, edits, one, refused, wrong
from tests.language.strategies import read_back, topic_names

test_what_is_written_reads_back = read_back(st.builds(Grow, topic_names, st.integers(1, 2**31 - 1)))


def test_grammar_and_edits():
    assert one("grow topic a partitions=4").partitions == 4
    assert wrong("grow topic a").column == len("grow topic a") + 1
    assert wrong("grow topic a partition=4").column == len("grow topic a ") + 1
    assert edits("grow topic orders partitions=24") == (GrowTopic("orders", 24),)
    assert "did you mean 'orders'?" in refused("grow topic ordrs partitions=24").hint


test_what_can_stand_at_the_cursor = completes(("grow topic orders |", ["partitions="]))
