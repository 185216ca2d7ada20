"""Tests of figures that are known only in part, such as a lag without one partition: data marks them, and a filter that
can't decide says so.
"""

import operator
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.lists import list_kind
from console.answers.results import Table, to_data
from console.language.grammar import parse
from console.language.verbs.listing import List
from console.model.cluster import Group, GroupLag, PartitionLag
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.present.columns import Columns
from console.present.groups import GROUPS, GroupRow
from console.present.kinds import KINDS

COMPARE = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}


def cluster(lags: Sequence[int | None], failure: Failure | None = None) -> Snapshot:
    """Return a snapshot of a group with these lags by partition, in records; None for an unknown lag. failure: the
    reason; None for none.
    """
    rows = tuple(
        PartitionLag("orders", n, -1 if lag is None else 0, 900, -1 if lag is None else lag)
        for n, lag in enumerate(lags)
    )
    return Snapshot(
        groups={"payments": Group("payments", "Stable", "consumer")},
        lags={"payments": GroupLag(rows, (failure,) if failure is not None else ())},
    )


def listed(text: str, snapshot: Snapshot) -> Table:
    (statement,) = parse(text)
    assert isinstance(statement, List)
    return list_kind(statement, snapshot)


def test_a_lag_of_eight_in_ten_partitions_is_a_part_in_data_too() -> None:
    table = listed("list groups", cluster([50] * 8 + [None] * 2))
    (row,) = table.rows
    assert "400 ?" in row.cells
    assert (row.data["lag"], row.data["lag_is_part"]) == (400, True)
    (whole,) = listed("list groups", cluster([50] * 8)).rows
    assert (whole.data["lag"], whole.data["lag_is_part"]) == (400, False)
    detail = GROUPS.detail(GroupRow(Group("g", "Stable", "classic"), cluster([5, None]).lags["payments"]))
    assert detail["lag_is_part"] is True


@pytest.mark.parametrize(("text", "is_listed", "is_said"), [("lag>500", False, True), ("lag>300", True, False)])
def test_a_filter_that_cannot_judge_says_so(text: str, *, is_listed: bool, is_said: bool) -> None:
    table = listed(f"list groups {text}", cluster([50] * 8 + [None] * 2))
    assert bool(table.rows) is is_listed
    errors = to_data(table)["errors"]
    assert isinstance(errors, list)
    assert [error["entity"] for error in errors if isinstance(error, dict)] == (["payments"] if is_said else [])
    assert table.empty == ("no groups are known to match" if is_said else "no groups match")


def test_a_lag_that_was_not_read_at_all_or_of_a_group_that_is_excluded_is_not_judged() -> None:
    """A filter can't decide about the lag of a group that was not read or is excluded; nor about rates, trends and
    stuck partitions, which need more than one poll.
    """
    nothing = Snapshot(groups={"payments": Group("payments", "Stable", "consumer")})
    for text in ("lag>500", "lag<500", "lag=0", "rate>5", "stuck>0", "trend=grows"):
        table = listed(f"list groups {text}", nothing)
        assert not table.rows
        assert "payments" in [problem.entity for problem in table.problems], text
    assert not listed("list groups state=Empty", nothing).problems, "what is known is judged"
    table = listed("list groups lag>500 state=Empty", cluster([50, None]))
    assert not table.rows
    assert not table.problems


lag = st.integers(0, 20)


@given(
    st.lists(st.one_of(lag, st.none()), min_size=1, max_size=5),
    st.sampled_from(sorted(COMPARE)),
    lag,
    st.lists(lag, min_size=5, max_size=5),
)
def test_whatever_is_not_known_a_filter_is_right_or_says_that_it_cannot_judge(
    lags: list[int | None], compare: str, limit: int, rest: list[int]
) -> None:
    """Whatever the unknown partitions' lag may be, a group that a filter lists meets the condition, and one that it
    leaves out without a problem does not.
    """
    table = listed(f"list groups lag{compare}{limit}", cluster(lags))
    whole = sum(each if each is not None else other for each, other in zip(lags, rest, strict=False))
    if table.rows:
        assert COMPARE[compare](whole, limit)
        assert not table.problems
    elif not table.problems:
        assert not COMPARE[compare](whole, limit)


def test_every_figure_that_is_marked_on_the_screen_is_marked_in_data() -> None:
    """Each figure that has a question mark on the screen, because it is known in part, is also marked in JSON."""
    row = GroupRow(Group("g", "Stable", "classic"), cluster([5, None]).lags["payments"])
    for column in GROUPS.all:
        if column.type == "number" and "?" in column.shown(row):
            assert column.part is not None, column.name
            assert column.part(row), column.name


@pytest.mark.parametrize("kind", KINDS)
def test_only_numbers_are_parts(kind: str) -> None:
    columns: Columns[object] = KINDS[kind].columns
    assert all(column.type == "number" for column in columns.all if column.part is not None)
