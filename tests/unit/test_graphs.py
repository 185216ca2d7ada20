"""Tests of graphs: the columns that values and changes give, and the drawn lines."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.half_hour import EVERY, OWN_EVERY, SLOTS
from console.present import graphs
from console.present.text import Line

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NEWEST = int(NOW.timestamp()) // EVERY
"""The number of the sample whose interval begins at NOW."""
WIDTHS = st.integers(55, 240)
known_values = st.dictionaries(st.integers(NEWEST - SLOTS + 1, NEWEST), st.floats(0, 1e9), min_size=1)


def text(line: Line) -> str:
    return "".join(part for part, _ in line)


def charted(
    values: dict[int, float], width: int = 120, *marks: graphs.Mark, what: str = "lag", every: int = EVERY
) -> graphs.Chart:
    found = graphs.chart_of([graphs.Graph("k", "title", what, values, every)], marks, int(NOW.timestamp()), width)
    assert found is not None
    return found


def drawn(chart: graphs.Chart, rows: int = 1, width: int = 120) -> list[str]:
    """Return the lines of the graph without their titles."""
    lines = graphs.graph_lines(chart, chart.graphs[0], rows, width)
    return [text(line)[-chart.axis.columns :] for line in lines]


@given(known_values, st.sampled_from([EVERY, OWN_EVERY]), st.sampled_from(graphs.COLUMN_SECONDS))
def test_no_value_is_lost_and_none_is_made_up(values: dict[int, float], every: int, seconds: int) -> None:
    found = graphs.resampled(values, every, seconds)
    assert max(found.values()) == max(values.values())
    assert set(found.values()) <= set(values.values())
    for slot, value in values.items():
        times = range(slot * every, (slot + 1) * every)
        assert all(found[at // seconds] >= value for at in times)
    covered = {at // seconds for slot in values for at in range(slot * every, (slot + 1) * every)}
    assert found.keys() == covered


@given(st.lists(st.integers(0, 1790)), WIDTHS)
def test_each_change_stands_in_the_column_of_its_time(seconds_ago: list[int], width: int) -> None:
    marks = [graphs.Mark(NOW - timedelta(seconds=ago), ago % 2 == 0) for ago in seconds_ago]
    chart = charted({NEWEST: 1.0}, width, *marks)
    axis = chart.axis
    shown = [each for each in marks if each.at >= axis.begins(axis.first)]
    assert sum(chart.changes.values()) == len(shown)
    for each in shown:
        column = int(each.at.timestamp() // axis.seconds)
        assert axis.begins(column) <= each.at < axis.begins(column + 1)
        assert chart.changes[column]
        assert column in chart.trouble or not each.is_trouble
    assert chart.trouble <= chart.changes.keys()


@given(WIDTHS)
def test_the_right_edge_is_now_and_the_width_is_used(width: int) -> None:
    chart = charted({NEWEST: 1.0}, width)
    axis = chart.axis
    assert axis.begins(axis.last) <= NOW < axis.begins(axis.last + 1)
    assert drawn(chart, width=width)[0][-1] in graphs.BLOCKS
    cells = 1 + len(text(graphs.axis_line(chart, width)))
    assert cells == width or axis.columns * axis.seconds == SLOTS * EVERY
    assert axis.seconds == graphs.COLUMN_SECONDS[-1] or axis.columns * axis.seconds >= graphs.LEAST_DRAWN


def test_a_place_too_narrow_has_no_graph_and_unknown_is_blank() -> None:
    assert graphs.chart_of([], (), int(NOW.timestamp()), 36) is None
    (line,) = drawn(charted({NEWEST - 3: 0.0, NEWEST - 2: 0.0, NEWEST: 4.0}, 200))
    assert line.endswith(" ▁▁ █")


@given(known_values, st.sampled_from([80, 120, 200]), st.integers(1, 6))
def test_a_column_later_all_stands_one_cell_to_the_left(values: dict[int, float], width: int, rows: int) -> None:
    """One column later, every cell of a graph is one place further left. The test does not compare the newest column
    and the column that disappears, nor graphs whose scale changes.
    """
    before = charted(values, width)
    seconds = before.axis.seconds
    found = graphs.chart_of([graphs.Graph("k", "title", "lag", values)], (), int(NOW.timestamp()) + seconds, width)
    assert found is not None
    if found.graphs[0].top != before.graphs[0].top:
        return
    for old, new in zip(drawn(before, rows, width), drawn(found, rows, width), strict=True):
        assert new[:-1] == old[1:]
    assert text(graphs.axis_line(found, width)).count(":") >= 4


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 6))
def test_more_is_drawn_higher_and_the_least_bit_is_not_nothing(one: float, other: float, rows: int) -> None:
    top = graphs.scale("lag", max(one, other))
    low, high = sorted((one, other))
    assert graphs.eighths(low, top, rows) <= graphs.eighths(high, top, rows) <= 8 * rows
    assert (graphs.eighths(low, top, rows) == 1) is (low <= 0)


@given(known_values, st.integers(1, 6), st.sampled_from([80, 120, 200]))
def test_every_line_has_the_width_of_its_place(values: dict[int, float], rows: int, width: int) -> None:
    chart = charted(values, width, graphs.Mark(NOW - timedelta(minutes=5)))
    shown = graphs.graph_lines(chart, chart.graphs[0], rows, width, moment=chart.axis.last - 3)
    shown += [graphs.axis_line(chart, width), graphs.changes_line(chart, width)]
    assert {len(text(line)) for line in shown} == {len(text(shown[0]))}
    assert len(text(shown[0])) < width


def test_a_tall_graph_has_its_scale_and_its_newest_value() -> None:
    top, *_, last = (
        text(line) for line in graphs.graph_lines(charted({NEWEST: 250.0}), charted({NEWEST: 250.0}).graphs[0], 3, 120)
    )
    assert top.split()[:2] == ["title", "300"]
    assert last.split()[:2] == ["250", "0"]
    assert [line[-1] for line in drawn(charted({NEWEST: 250.0}), 3)] == ["▅", "█", "█"]


def test_the_cursor_shows_the_value_of_its_time() -> None:
    chart = charted({NEWEST - 40: 7.0, NEWEST: 9.0})
    moment = (NEWEST - 40) * EVERY // chart.axis.seconds
    shown = text(graphs.graph_lines(chart, chart.graphs[0], 1, 120, moment)[0])
    assert shown.split()[:2] == ["title", "7"]
    axis = text(graphs.axis_line(chart, 120, moment))
    assert f"{chart.axis.begins(moment).astimezone():%H:%M:%S}" in axis
    assert axis.index(graphs.MOMENT) == len(axis) - (chart.axis.last - moment) - 1


@given(known_values, st.integers(0, SLOTS - 1), WIDTHS, WIDTHS)
def test_the_cursor_is_at_the_same_time_in_charts_of_any_width(
    values: dict[int, float], back: int, width: int, other: int
) -> None:
    """In charts of any width, the axis marks the column of the cursor's time, and the values next to the graphs are
    those of that column.
    """
    one, two = (charted(values, each) for each in (width, other))
    newest = NEWEST * EVERY
    moment = graphs.Moment(newest, one.axis.seconds).moved(-back, one.axis.seconds, newest)
    for chart, cells in ((one, width), (two, other)):
        column = moment.column(chart.axis)
        axis, *rest = (text(line) for line, _ in graphs.laid_out(chart, 3, cells, cursor=moment))
        if column is None:
            assert graphs.MOMENT not in axis
            continue
        assert column * chart.axis.seconds <= moment.at < (column + 1) * chart.axis.seconds
        assert axis[-chart.axis.columns :].index(graphs.MOMENT) == column - chart.axis.first
        shown = graphs.value_text("lag", chart.graphs[0].values.get(column))
        assert any(shown in line for line in rest)


@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(-300, 300), st.sampled_from(graphs.COLUMN_SECONDS))))
def test_the_cursor_never_leaves_the_half_hour(later: int, steps: list[tuple[int, int]]) -> None:
    newest = NEWEST * EVERY
    moment = graphs.Moment(newest, EVERY)
    for step, seconds in steps:
        moment = moment.moved(step, seconds, newest)
        assert newest - SLOTS * EVERY - seconds < moment.at <= newest
        assert moment.at % seconds == 0
    assert moment.moved(0, EVERY, newest + later).at > newest + later - SLOTS * EVERY


def test_a_bad_value_is_red_only_where_it_is_bad() -> None:
    chart = charted({NEWEST - 20: 4.0, NEWEST: 0.0}, what="offline")
    (line,) = graphs.graph_lines(chart, chart.graphs[0], 1, 120)
    assert [name for part, name in line if set(part) & set(graphs.BLOCKS)] == ["failed", "muted"]
    disk = charted({NEWEST: 0.95}, what="disk")
    assert graphs.graph_lines(disk, disk.graphs[0], 1, 120)[0][-1][1] == "danger"


@given(st.lists(st.sampled_from([0.0, 5.0]), min_size=1, max_size=12), st.integers(1, 60))
def test_graphs_share_the_lines_and_flat_ones_have_one(values: list[float], room: int) -> None:
    chart = graphs.chart_of(
        [graphs.Graph(str(n), str(n), "lag", {NEWEST: v, NEWEST - 9: 0.0}) for n, v in enumerate(values)],
        (),
        int(NOW.timestamp()),
        120,
    )
    assert chart is not None
    found = graphs.heights(chart.graphs, room)
    assert sum(found) <= max(room, len(values))
    assert all(1 <= each <= graphs.TALLEST for each in found)
    assert all(each == 1 for each, value in zip(found, values, strict=True) if not value)
    tall = [each for each, value in zip(found, values, strict=True) if value]
    assert not tall or max(tall) - min(tall) <= 1


def test_what_has_no_space_is_counted() -> None:
    chart = graphs.chart_of(
        [graphs.Graph(str(n), f"graph {n}", "lag", {NEWEST: 1.0}) for n in range(9)], (), int(NOW.timestamp()), 80
    )
    assert chart is not None
    lines = [text(line) for line, _ in graphs.laid_out(chart, 6, 80, "^G")]
    assert len(lines) == 6
    assert lines[-1].strip() == "… 5 more: ^G"
    assert len(graphs.laid_out(chart, 6, 80)) == 6
    assert graphs.laid_out(chart, 1, 80) == []


@pytest.mark.parametrize(
    ("what", "value", "shown"),
    [
        ("written", 3 * 2**20, "3.0 MiB/s"),
        ("records in", 12_345.0, "12,345/s"),
        ("behind", 90.0, "90 s"),
        ("disk", 0.5, "50 %"),
        ("throttled", 4.0, "4/min"),
        ("offline", None, "–"),
    ],
)
def test_values_have_their_unit(what: str, value: float | None, shown: str) -> None:
    assert graphs.value_text(what, value) == shown


@given(st.sampled_from(["lag", "written", "behind", "disk"]), st.floats(0, 1e12))
def test_the_scale_is_round_and_not_much_more_than_the_highest(what: str, highest: float) -> None:
    top = graphs.scale(what, highest)
    if what == "disk":
        assert top == 1.0
    else:
        assert highest <= top
        assert top <= max(1.0, 3.1 * highest)
