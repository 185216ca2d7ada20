"""Tests that partitions' offsets are read in turns, over several polls, if they are too many for one poll."""

from hypothesis import given
from hypothesis import strategies as st

from console.model.cluster import Partition, Topic
from console.session.slow_polls import places_after

NAMES = st.text("ab.", min_size=1, max_size=2)
TOPICS = st.dictionaries(NAMES, st.integers(1, 4), max_size=6)


@given(TOPICS, NAMES | st.just(""), st.integers(-1, 4), st.integers(1, 9))
def test_the_places_after_one_are_the_next_in_order(sizes: dict[str, int], name: str, number: int, most: int) -> None:
    topics = {
        each: Topic(each, tuple(Partition(at, 1, (1,), (1,)) for at in range(size))) for each, size in sizes.items()
    }
    every = sorted((each, at) for each, size in sizes.items() for at in range(size))
    assert places_after(topics, (name, number), most) == [place for place in every if place > (name, number)][:most]
