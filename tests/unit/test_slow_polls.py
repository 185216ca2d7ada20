"""Tests that partitions' offsets are read in turns, over several polls, if they are too many for one poll."""

from collections.abc import Awaitable
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.errors import BrokerError, Failure
from console.admin.recorded import NotRecorded
from console.model.cluster import Partition, Topic
from console.model.parts import Part
from console.session import slow_polls
from console.session.session import Session
from console.session.slow_polls import SlowPolls, places_after

NAMES = st.text("ab.", min_size=1, max_size=2)
TOPICS = st.dictionaries(NAMES, st.integers(1, 4), max_size=6)


@given(TOPICS, NAMES | st.just(""), st.integers(-1, 4), st.integers(1, 9))
def test_the_places_after_one_are_the_next_in_order(sizes: dict[str, int], name: str, number: int, most: int) -> None:
    topics = {
        each: Topic(each, tuple(Partition(at, 1, (1,), (1,)) for at in range(size))) for each, size in sizes.items()
    }
    every = sorted((each, at) for each, size in sizes.items() for at in range(size))
    assert places_after(topics, (name, number), most) == [place for place in every if place > (name, number)][:most]


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        pytest.param(NotRecorded("DescribeUserScramCredentials"), 2, id="a record has it later"),
        pytest.param(BrokerError(Failure("CLUSTER_AUTHORIZATION_FAILED")), 1, id="brokers refuse"),
    ],
)
async def test_a_part_that_brokers_refuse_is_read_no_more(
    error: BrokerError, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = []

    async def refuse(_client: object, part: Part) -> None:
        parts.append(part)
        raise error

    async def keep(read: Awaitable[None]) -> None:
        await read

    monkeypatch.setattr(slow_polls, "read_listed", refuse)
    settings = SimpleNamespace(sasl=None, tls=None)
    session = SimpleNamespace(client=None, poll_quotas=None, keep=keep, context=SimpleNamespace(settings=settings))
    read = SlowPolls(cast("Session", session)).reads[Part.SCRAM]
    for _ in range(2):
        await read()
    assert parts == [Part.SCRAM] * asked
