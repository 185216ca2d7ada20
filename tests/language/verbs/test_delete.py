"""Tests of the statements `delete topic`, `delete records` and `delete group`."""

from hypothesis import strategies as st

from console.language.statements import Name, OneEdit
from console.language.verbs.delete import Delete, DeleteGroupOffsets, DeleteRecords
from console.model.snapshot import Snapshot
from console.plan.edits import DeleteConnector, DeleteTopic
from tests.language.said import edits, one, refused, texts, wrong
from tests.language.strategies import NAMES, partition_numbers, read_back, topic_names

test_what_is_written_reads_back = read_back(
    st.one_of(
        st.builds(Delete, topic_names),
        st.sampled_from(("tmp-*", "?", "a[bc]*", "'*'*")).map(lambda text: one(f"delete topic {text}")),
        st.builds(DeleteRecords, topic_names, partition_numbers, st.integers(0, 2**63 - 1)),
        st.builds(DeleteRecords, topic_names, partition_numbers, st.none(), st.none() | st.integers(0, 4 * 10**12)),
        st.builds(DeleteRecords, topic_names, partition_numbers, st.just(7), to=topic_names),
        st.builds(DeleteRecords, topic_names, partition_numbers, keep=NAMES),
        st.builds(DeleteGroupOffsets, topic_names),
        st.builds(DeleteGroupOffsets, topic_names, topic_names, partition_numbers),
    )
)


def test_grammar():
    assert one("delete topic delete").name == Name("delete")
    assert one("delete connector main/x") == OneEdit(DeleteConnector("main/x"))
    assert edits("delete connector main/x", Snapshot()) == (DeleteConnector("main/x"),)
    assert wrong("delete connector x")
    assert wrong("delete topic").column == len("delete topic") + 1
    assert wrong("delete topic a b").column == len("delete topic a ") + 1


def test_edits():
    assert edits("delete topic orders") == (DeleteTopic("orders"),)
    assert "did you mean 'orders'?" in refused("delete topic ordrs").hint
    assert edits("delete topic orders*") == (DeleteTopic("orders"), DeleteTopic("orders-dlq"))
    assert "no topic matches 'nope-*'" in refused("delete topic nope-*").message
    assert "is no regular expression: ord?*" in refused("delete topic ord.+").hint
    assert "without quotes it is a pattern: ord*" in refused("delete topic 'ord*'").hint


def test_what_can_stand_at_the_cursor():
    assert texts("delete |") == ["topic", "records", "group", "connector", "schema"]
    assert texts("delete records topic orders before 3|") == ["30min"]
