"""Tests of the statement `move`: the edits that it stages, and the operations that it starts."""

from hypothesis import strategies as st

from console.language.operation_words import BeginOperation
from console.language.statements import Where
from console.language.verbs.move import MovePartition, MoveToDir
from console.operations.goals import MoveIntoDir, MoveTopic
from console.plan.edits import MoveReplicaDir, MoveReplicas
from tests.language.said import edits, one, refused, wrong
from tests.language.strategies import NAMES, partition_numbers, read_back, replicas, topic_names

numbers = st.integers(0, 2**31 - 1)


test_what_is_written_reads_back = read_back(
    st.one_of(
        st.builds(MovePartition, topic_names, numbers, replicas, st.booleans()),
        st.builds(MoveToDir, topic_names, numbers, numbers, NAMES),
        st.builds(
            BeginOperation,
            st.builds(MoveTopic, NAMES, replicas) | st.builds(MoveIntoDir, NAMES, numbers, NAMES, partition_numbers),
            st.none() | st.integers(1, 2**63 - 1),
        ),
    )
)


def test_edits():
    assert edits("move topic orders partition 1 to 3,1") == (MoveReplicas("orders", 1, (3, 1)),)
    assert edits("move topic orders partition 1 broker 1 to dir /a") == (MoveReplicaDir("orders", 1, 1, "/a"),)
    assert "no partition 99" in refused("move topic orders partition 99 to 1").message


def test_a_whole_topic_takes_an_operation():
    assert "kac moves" in wrong("move topic orders to 1,2").hint
    assert one("move topic orders to 1,2", Where.BAR) == BeginOperation(MoveTopic("orders", (1, 2)))
