"""Tests of batches of requests that are halved after an error: every member is read except those that cause the error
(spoilers); if all members fail, few requests follow.
"""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.errors import BadAnswer, BrokerError, Disconnected, Unsupported
from console.admin.halving import Halving, each_of
from console.model.failure import Failure

SPOILED = Failure("UNKNOWN_SERVER_ERROR", "", "")


class Server:
    """Answers batches. A batch with a spoiler fails: with a failure for every member or, if `raises`, with an
    exception.
    """

    def __init__(self, spoilers: frozenset[int], raises: bool, leaves_out: frozenset[int] = frozenset()) -> None:
        self.spoilers, self.raises, self.leaves_out = spoilers, raises, leaves_out
        self.asked: list[tuple[int, ...]] = []

    async def ask(self, members: Sequence[int]) -> Mapping[int, str | Failure]:
        self.asked.append(tuple(members))
        if not self.spoilers.isdisjoint(members):
            if self.raises:
                raise BrokerError(SPOILED)
            return dict.fromkeys(members, SPOILED)
        return {each: f"value of {each}" for each in members if each not in self.leaves_out}


@given(st.integers(1, 300), st.data(), st.booleans())
def test_all_but_the_spoilers_are_read(count: int, data: st.DataObject, raises: bool) -> None:
    spoilers = data.draw(st.frozensets(st.integers(0, count - 1), max_size=2))
    server = Server(spoilers, raises)
    found = asyncio.run(Halving().read(range(count), server.ask))
    assert found == {each: SPOILED if each in spoilers else f"value of {each}" for each in range(count)}
    assert len(server.asked) <= 1 + 2 * len(spoilers) * (count.bit_length() + 1)


@given(st.integers(1, 300), st.data())
def test_whatever_fails_each_member_has_an_answer(count: int, data: st.DataObject) -> None:
    members = st.frozensets(st.integers(0, count - 1))
    spoilers, left_out = data.draw(members), data.draw(members)
    server = Server(spoilers, raises=False, leaves_out=left_out)
    found = asyncio.run(Halving().read(range(count), server.ask))
    assert list(found) == list(range(count))
    for each, answer in found.items():
        if isinstance(answer, str):
            assert each not in spoilers | left_out
        elif each in left_out - spoilers and answer != SPOILED:
            assert (answer.name, str(each) in answer.message) == ("NOT_ANSWERED", True)


@given(st.integers(2, 300), st.data())
def test_members_with_errors_of_their_own_keep_no_other_from_being_read(count: int, data: st.DataObject) -> None:
    """If some members of a batch get errors because of missing rights, and a spoiler fails the batch for the rest,
    every member with the rights is still read, except the spoiler.
    """
    members = st.integers(0, count - 1)
    denied, spoilers = data.draw(st.frozensets(members)), data.draw(st.frozensets(members, max_size=2))
    server = Server(spoilers - denied, raises=False)
    refused = Failure("TOPIC_AUTHORIZATION_FAILED")

    async def ask(some: Sequence[int]) -> Mapping[int, str | Failure]:
        allowed = [each for each in some if each not in denied]
        return {**dict.fromkeys(some, refused), **(await server.ask(allowed) if allowed else {})}

    found = asyncio.run(Halving().read(range(count), ask))
    for each, answer in found.items():
        if each in denied:
            assert answer == refused
        elif each in spoilers:
            assert answer == SPOILED
        else:
            assert answer == f"value of {each}"


@given(st.integers(64, 300), st.integers(1, 20))
def test_who_may_read_nothing_is_asked_for_a_few_halves_once(count: int, batches: int) -> None:
    server = Server(frozenset(range(count)), raises=False)
    halving = Halving()

    async def read() -> None:
        for _ in range(batches):
            assert set((await halving.read(range(count), server.ask)).values()) == {SPOILED}

    asyncio.run(read())
    assert len(server.asked) <= batches + 2 * count.bit_length() + 3


@given(st.integers(1, 60), st.integers(0, 59), st.booleans())
def test_filters_have_their_answers_in_their_order(count: int, spoiler: int, raises: bool) -> None:
    """Each filter gets its answer, in the order of the filters, equal filters too, even if one filter fails the batch
    or makes the whole response unreadable.
    """
    filters = ["spoils" if place == spoiler else "abc"[place % 3] for place in range(count)]

    async def ask(some: Sequence[str]) -> Sequence[str | Failure]:
        if "spoils" in some and raises:
            raise BadAnswer(SPOILED)
        return [SPOILED if "spoils" in some else each.upper() for each in some]

    found = asyncio.run(each_of(filters, ask))
    assert found == [SPOILED if each == "spoils" else each.upper() for each in filters]


def test_different_errors_are_no_reason_to_ask_again() -> None:
    asked = []

    async def ask(members: Sequence[str]) -> Mapping[str, str | Failure]:
        asked.append(members)
        return {"a": Failure("TOPIC_AUTHORIZATION_FAILED"), "b": Failure("INVALID_CONFIG")}

    found = asyncio.run(Halving().read(("a", "b"), ask))
    assert {name: each.name for name, each in found.items() if isinstance(each, Failure)} == {
        "a": "TOPIC_AUTHORIZATION_FAILED",
        "b": "INVALID_CONFIG",
    }
    assert len(asked) == 1


@pytest.mark.parametrize("error", [Disconnected(SPOILED), Unsupported("describe_configs", "1.1")])
def test_a_lost_connection_and_a_missing_api_are_raised(error: Exception) -> None:
    async def ask(_: Sequence[str]) -> Mapping[str, str]:
        raise error

    with pytest.raises(type(error)):
        asyncio.run(Halving().read(("a", "b"), ask))


def test_an_answer_that_can_not_be_read_is_halved() -> None:
    async def ask(members: Sequence[str]) -> Mapping[str, str]:
        if "b" in members:
            raise BadAnswer(Failure("BAD_ANSWER"))
        return dict.fromkeys(members, "read")

    found = asyncio.run(Halving().read(("a", "b", "c", "d"), ask))
    assert {name for name, each in found.items() if each == "read"} == {"a", "c", "d"}
