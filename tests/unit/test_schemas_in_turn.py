"""Tests of the order in which schemas are sent: a registration after the schemas that it refers to, a deletion after
those that refer to it.
"""

from datetime import UTC, datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from console.model.snapshot import Snapshot, with_schemas
from console.model.subjects import SchemaListing, SchemaReference, SchemaVersion, Subject
from console.plan.compile import compile_plan
from console.plan.kinds.schemas import AddSchema, DropSchema
from console.plan.plan import EMPTY as NO_PLAN
from console.plan.plan import stage
from console.plan.requests import Facts, Step

AT = datetime(2026, 11, 20, tzinfo=UTC)
BELOW = st.integers(0, 7).flatmap(
    lambda count: st.tuples(*(st.sets(st.integers(0, max(n - 1, 0)), max_size=3) for n in range(count)))
)
"""Draws, for each number, the set of lower numbers that its schema refers to; schema 0 may refer to itself."""


def references(below: set[int]) -> tuple[SchemaReference, ...]:
    return tuple(SchemaReference("r", str(each), 1) for each in sorted(below))


def check(steps: tuple[Step, ...], before: dict[str, set[str]]) -> None:
    """Raise AssertionError unless each step waits for exactly the earlier steps that it needs, and is marked unchecked
    if it waits for any.

    before: subject -> the subjects whose steps it needs.
    """
    places = {step.staged[0].edit.subject: place for place, step in enumerate(steps)}  # type: ignore[attr-defined]
    assert len(places) == len(steps) == len(before)
    for name, place in places.items():
        wanted = {places[each] for each in before[name] - {name}}
        assert set(steps[place].after) == wanted
        assert all(each < place for each in wanted)
        assert steps[place].unchecked == bool(wanted)


@given(BELOW, st.randoms())
def test_registrations_follow_what_they_refer_to_and_deletions_what_refers_to_them(
    below: tuple[set[int], ...], shuffle: Random
) -> None:
    order = list(range(len(below)))
    shuffle.shuffle(order)
    edits = [AddSchema(str(n), "JSON", "{}", references(below[n])) for n in order]
    report = stage(NO_PLAN, edits, with_schemas(Snapshot(), SchemaListing(), AT))
    check(compile_plan(report.plan, Facts()), {str(n): {str(m) for m in each} for n, each in enumerate(below)})
    order = list(range(len(below)))
    shuffle.shuffle(order)
    there = {
        str(n): Subject(str(n), (SchemaVersion(1, n + 1, "JSON", references=references(each)),))
        for n, each in enumerate(below)
    }
    edits = [DropSchema(str(n)) for n in order]
    report = stage(NO_PLAN, edits, with_schemas(Snapshot(), SchemaListing(there), AT))
    users = {str(n): {str(m) for m, each in enumerate(below) if n in each} for n in range(len(below))}
    check(compile_plan(report.plan, Facts()), users)
