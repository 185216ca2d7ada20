"""Tests that replicas stored as columns behave like the same replicas in a tuple."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from console.model.cluster import ReplicaSize, ReplicaSizes

INT64 = st.integers(-1, 2**63 - 1)
REPLICAS = st.lists(
    st.builds(ReplicaSize, st.sampled_from(["a", "b", "ü"]), st.integers(0, 2**31 - 1), INT64, INT64, st.booleans())
)


@given(REPLICAS, REPLICAS)
def test_they_give_back_what_was_put_in(some: list[ReplicaSize], others: list[ReplicaSize]) -> None:
    sizes = ReplicaSizes(some)
    assert list(sizes) == some
    assert [sizes[place] for place in range(len(sizes))] == some
    assert list(sizes[1:]) == some[1:]
    assert (sizes == ReplicaSizes(others)) == (some == others)
    assert sizes == ReplicaSizes(iter(some))
    assert hash(sizes) == hash(ReplicaSizes(some))
    assert sizes.moving == any(replica.is_future for replica in some)
    assert sizes.by_topic() == {
        topic: sum(replica.size for replica in some if replica.topic == topic) for topic in {r.topic for r in some}
    }


def test_they_take_little() -> None:
    sizes = ReplicaSizes(ReplicaSize("t", number, number, 0, False) for number in range(10_000))
    taken = sum(sys.getsizeof(getattr(sizes, name)) for name in sizes.__slots__)
    assert taken < 32 * 10_000
