"""Tests of the statement `skip group`."""

from hypothesis import strategies as st

from console.language.needs import needs
from console.language.statements import Name
from console.language.verbs.skip import SkipRecords
from tests.language.said import one, wrong
from tests.language.strategies import NAMES, read_back, topic_names

test_what_is_written_reads_back = read_back(
    st.builds(
        SkipRecords,
        topic_names,
        topic_names,
        st.integers(0, 2**31 - 1),
        st.integers(1, 2**63 - 1),
        to=st.none() | topic_names,
    )
    | st.builds(SkipRecords, topic_names, topic_names, st.just(3), keep=NAMES)
)


def test_grammar():
    assert one("skip group g topic t partition 1") == SkipRecords(Name("g"), Name("t"), 1)
    assert one("skip group g topic t partition 1 10").count == 10
    assert one("skip group g topic t partition 1 to topic dlt").to == Name("dlt")
    assert one("skip group g topic t partition 1 2 keep poison.jsonl").keep == "poison.jsonl"
    assert wrong("skip group g topic t partition 1 ten").column == len("skip group g topic t partition 1 ") + 1
    assert wrong("skip group g topic t partition 1 keep a to topic b").column == 41
    assert wrong("skip group g topic t partition 1 0").column == len("skip group g topic t partition 1 ") + 1


def test_what_it_needs():
    found = needs(one("skip group g topic t partition 1"))
    assert (found.group_positions, found.topics) == (frozenset({("g", None)}), frozenset({"t"}))
    assert found.log_ranges == found.topics
    assert needs(one("skip group g topic t partition 1 to topic d")).topics == frozenset({"t", "d"})
