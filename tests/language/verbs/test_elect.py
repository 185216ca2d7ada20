"""Tests of the statement `elect`."""

from hypothesis import strategies as st

from console.language.needs import needs
from console.language.snapshot_parts import Needs
from console.language.statements import Name
from console.language.verbs.elect import Elect
from console.model.cluster import Partition, Topic
from console.plan.edits import ElectPreferred, ElectUnclean
from console.plan.kinds.leaders import preferred_brokers
from tests.language.said import edits, one, refused, wrong
from tests.language.strategies import partition_numbers, read_back, topic_names

test_what_is_written_reads_back = read_back(
    st.one_of(
        st.builds(Elect, broker=st.none() | st.integers(0, 2**31 - 1)),
        st.builds(Elect, topic=topic_names, partition=partition_numbers),
        st.builds(Elect, st.just(True), topic=topic_names, partition=st.integers(0, 2**31 - 1)),
    )
)


def test_grammar():
    assert one("elect preferred all") == Elect()
    assert one("elect unclean topic a partition 2") == Elect(unclean=True, topic=Name("a"), partition=2)
    assert wrong("elect unclean topic a").column == len("elect unclean topic a") + 1


def test_edits_and_what_they_need():
    assert edits("elect preferred topic orders partition 1") == (ElectPreferred("orders", 1),)
    assert edits("elect unclean topic orders partition 1") == (ElectUnclean("orders", 1),)
    assert "there is no broker 9" in refused("elect preferred broker 9").message
    assert preferred_brokers([Topic("t", (Partition(0, 2, (1, 2), (2,)), Partition(1, -1, (), ())))]) == {1}
    assert needs(one("elect preferred all")) == Needs(frozenset({"topics"}))
    assert needs(one("elect unclean topic a partition 0")).replica_logs == frozenset({"a"})
