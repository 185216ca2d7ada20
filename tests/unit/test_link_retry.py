"""Tests of the delays between retries: exponential backoff with full jitter."""

from itertools import islice, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.link import delays, until_settled


@given(st.floats(0.001, 1), st.floats(1, 10), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_delay_is_any_part_of_a_bound_that_doubles(first: float, longest: float, jitter: list[float]) -> None:
    parts = iter(jitter)
    waits = list(islice(delays(first, longest, lambda: next(parts)), len(jitter)))
    bounds = [min(first * 2**turn, longest) for turn in range(len(jitter))]
    assert waits == pytest.approx([bound * part for bound, part in zip(bounds, jitter, strict=True)])


class Answers:
    def __init__(self, *answers: int) -> None:
        self.left = list(answers)

    async def read(self) -> int:
        return self.left.pop(0)


AT_ONCE = repeat(0.0)


async def test_reads_until_settled_or_no_try_is_left_or_would_be_too_late() -> None:
    answers = Answers(41, 41, 0, 99)
    assert await until_settled(answers.read, lambda code: code == 41, within=5, waits=AT_ONCE) == 0
    assert answers.left == [99]
    answers = Answers(41, 14, 15, 0)
    assert await until_settled(answers.read, bool, within=5, attempts=3, waits=AT_ONCE) == 15
    answers = Answers(41, 0)
    assert await until_settled(answers.read, bool, within=5, waits=repeat(6.0)) == 41
