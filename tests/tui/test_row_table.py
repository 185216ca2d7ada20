"""Tests of the table widget: its lines, its messages, and its cursor, which stays on the same row when the rows
change.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.strip import Strip

from tests.tui.stage import Stage, shown
from themes import ANSI
from widgets import cells as widgets_cells
from widgets.columns import GAP, MOST_BLANK, ColumnView, fold, lay_out
from widgets.cursor_anchor import NEIGHBOURS, find_again, hold
from widgets.line_view import LineView
from widgets.row_source import Cell, Column, ListRows
from widgets.row_table import BadQuery, RowTable, RowView, TextSearch

COLUMNS = [
    Column("state", width=2, gutter=True),
    Column("name", "Name", flex=1, min_width=10, sort_key="N"),
    Column("parts", "Parts", align="right", sort_key="P"),
    Column("size", "Size", align="right", width=8, priority=20),
]


def topic_cells(number: int) -> Sequence[Cell]:
    return [("!" if number % 10 == 3 else "", "failed"), f"topic-{number:04}", str(number % 12), f"{number} GiB"]


def topics(numbers: Sequence[int]) -> ListRows[int]:
    return ListRows(numbers, lambda number: number, topic_cells)


class Counted(RowTable):
    """A table that notes which lines it paints."""

    def __init__(self, columns: Sequence[Column], rows: ListRows[int]) -> None:
        super().__init__(columns, rows)
        self.painted: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.painted.append(y)
        return super().render_line(y)


def stage(rows: ListRows[int], empty: str = "") -> Stage:
    return Stage(lambda: RowTable(COLUMNS, rows, empty=empty), hear=(LineView.Highlighted, LineView.Selected))


# -- lines of the screen -----------------------------------------------------------------------------------------------


async def test_labels_cells_and_the_cursor_stand_in_their_columns() -> None:
    app = stage(topics(range(5)))
    async with app.run_test(size=(40, 8)):
        assert app.screen_lines() == [
            f"   {'Name':20}  {'Parts':>5}  {'Size':>8}",
            f"▸  {'topic-0000':20}  {'0':>5}  {'0 GiB':>8}",
            f"   {'topic-0001':20}  {'1':>5}  {'1 GiB':>8}",
            f"   {'topic-0002':20}  {'2':>5}  {'2 GiB':>8}",
            f" ! {'topic-0003':20}  {'3':>5}  {'3 GiB':>8}",
            f"   {'topic-0004':20}  {'4':>5}  {'4 GiB':>8}",
            "",
            "",
        ]


async def test_the_least_important_column_goes_first_and_can_be_reached() -> None:
    app = stage(topics(range(3)))
    async with app.run_test(size=(24, 4)) as pilot:
        assert app.screen_lines()[:2] == [f"   {'Name':12}  {'Parts':>5} ›", f"▸  {'topic-0000':12}  {'0':>5}"]
        await pilot.press("right")
        assert app.screen_lines()[:2] == [f"‹  {'Name':11}  {'Size':>8}", f"▸  {'topic-0000':11}  {'0 GiB':>8}"]
        await pilot.press("left")
        assert "Parts" in app.screen_lines()[0]


async def test_an_empty_table_says_so() -> None:
    app = stage(topics([]), empty="No topics match.\nEsc shows all.")
    async with app.run_test(size=(40, 5)) as pilot:
        assert app.screen_lines()[1:3] == ["  No topics match.", "  Esc shows all."]
        await pilot.press("j", "G", "enter", "space", "pagedown")
        table = app.query_one(RowTable)
        assert (table.cursor_key, table.cursor_index, table.marks) == (None, -1, frozenset())
        assert app.heard == []


@pytest.mark.parametrize(
    "name",
    [
        "[red]not markup[/]",
        "\x1b[31mred\x07",
        "a\nb\tc",
        "日本語のトピック名前です長い",
        "e\u0301\u0301tude",
        "👩‍🚀 rocket",
        "\u202eevil\u202c",
        "\ud800",
    ],
)
async def test_names_are_text_and_nothing_else(name: str) -> None:
    app = Stage(lambda: RowTable(COLUMNS, ListRows([name], lambda row: row, lambda row: ["", row, "1", "2"])))
    async with app.run_test(size=(30, 4)):
        line = app.screen_lines()[1]
        assert widgets_cells.clean(name)[:5] in line
        assert line.isprintable()
        assert app.widths() == {30}


async def test_without_colour_the_cursor_is_reversed_and_has_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Stage(lambda: RowTable(COLUMNS, topics(range(5))), theme=ANSI.name)
    async with app.run_test(size=(40, 6)):
        strips = app.screen._compositor.render_strips()
        styles = [[segment.style for segment in strip if segment.style] for strip in strips]
        assert all(style.reverse for style in styles[1])
        assert not any(style.reverse for line in styles[2:] for style in line)
        colors = {color.name for line in styles for style in line for color in (style.color, style.bgcolor) if color}
        assert colors <= {"default"}
        assert app.screen_lines()[1].startswith("▸")


@given(st.text(max_size=30), st.integers(0, 20), st.sampled_from(["left", "right"]))
def test_a_fitted_text_takes_exactly_its_cells(text: str, width: int, align: str) -> None:
    fitted = widgets_cells.fit(widgets_cells.clean(text), width, "left" if align == "left" else "right")
    assert widgets_cells.cell_width(fitted) == width
    assert fitted.isprintable()


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.integers(1, 20))
def test_a_cut_text_begins_as_the_text_and_says_that_it_was_cut(text: str, width: int) -> None:
    text = widgets_cells.clean(text)
    cut = widgets_cells.truncate(text, width)
    assert cut == text or (cut.endswith(widgets_cells.ELLIPSIS) and text.startswith(cut[:-1]))


@st.composite
def column_sets(draw: st.DrawFn) -> tuple[list[Column], list[int]]:
    count = draw(st.integers(1, 7))
    columns = [
        Column(
            str(index),
            width=draw(st.none() | st.integers(1, 12)),
            min_width=draw(st.integers(1, 10)),
            flex=draw(st.integers(0, 2)),
            priority=draw(st.integers(0, 3)),
            gutter=index == 0 and count > 1 and draw(st.booleans()),
        )
        for index in range(count)
    ]
    return columns, draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))


@given(column_sets(), st.integers(1, 120))
def test_columns_fit_their_width_and_the_important_ones_stay(
    given_columns: tuple[list[Column], list[int]], width: int
) -> None:
    columns, natural = given_columns
    layout = lay_out(columns, natural, width)
    shown = [place.column for place in layout.placed]
    always = {index for index, column in enumerate(columns) if column.gutter}
    always.add(next(index for index, column in enumerate(columns) if not column.gutter))
    assert shown == sorted(shown)
    assert layout.more_right == (len(shown) < len(columns))
    assert always <= set(shown)
    taken = sum(place.gap + place.width for place in layout.placed)
    assert taken <= width or set(shown) == always
    movable = [index for index in shown if index not in always]
    dropped = [index for index in range(len(columns)) if index not in shown]
    assert (
        not movable
        or not dropped
        or min(columns[i].priority for i in movable) >= max(columns[i].priority for i in dropped)
    )
    assert all(place.gap in (0, GAP) for place in layout.placed)


# -- messages, and moves of the cursor ---------------------------------------------------------------------------------


async def test_keys_move_the_cursor_and_each_place_is_told_once() -> None:
    async with shown(stage(topics(range(100))), RowTable, (40, 11)) as (app, pilot, table):
        for key, index in [
            ("j", 1), ("down", 2), ("k", 1), ("up", 0), ("up", 0), ("pagedown", 10), ("ctrl+d", 15), ("ctrl+u", 10),
            ("pageup", 0), ("G", 99), ("j", 99), ("g", 0), ("end", 99), ("home", 0),
        ]:  # fmt: skip
            await pilot.press(key)
            assert (key, table.cursor_index) == (key, index)
            assert index in table.visible_range
        told = [message.key for message in app.heard if isinstance(message, LineView.Highlighted)]
        assert told == [0, 1, 2, 1, 0, 10, 15, 10, 0, 99, 0, 99, 0]


async def test_one_line_further_scrolls_one_line() -> None:
    async with shown(stage(topics(range(100))), RowTable, (40, 11)) as (_, pilot, table):
        for _ in range(10):
            await pilot.press("j")
        assert table.visible_range == range(1, 11)
        assert table.cursor_index == 10


async def test_enter_and_double_click_select_and_a_click_moves() -> None:
    async with shown(stage(topics(range(100))), RowTable, (40, 11)) as (app, pilot, table):
        await pilot.press("j", "enter")
        await pilot.click(table, offset=Offset(5, 4))
        assert table.cursor_key == 3
        await pilot.double_click(table, offset=Offset(5, 6))
        selected = [message.key for message in app.heard if isinstance(message, LineView.Selected)]
        assert selected == [1, 5]
        await pilot.click(table, offset=Offset(5, 0))
        assert table.cursor_key == 5


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    from textual.events import MouseScrollDown

    async with shown(stage(topics(range(100))), RowTable, (40, 11)) as (_, pilot, table):
        await pilot._post_mouse_events([MouseScrollDown], table, button=0)
        assert table.visible_range == range(3, 13)
        assert table.cursor_key == 0
        table.set_rows(topics([-2, -1, *range(100)]))
        assert table.key_at(table.visible_range.start) == 3
        await pilot.press("j")
        assert (table.cursor_key, table.cursor_index in table.visible_range) == (1, True)


async def test_marks_stay_on_their_keys() -> None:
    app = Stage(lambda: RowTable(COLUMNS, topics(range(10))), hear=(LineView.MarksChanged,))
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.query_one(RowTable)
        await pilot.press("space", "space", "k", "space")
        assert table.marks == {0}
        assert [line[0] for line in app.screen_lines()[1:4]] == ["+", " ", "▸"]
        await pilot.press("g")
        assert app.screen_lines()[1].startswith("»")
        table.set_rows(topics([5, 6, 0]))
        await pilot.pause()
        assert [line[0] for line in app.screen_lines()[1:4]] == [" ", " ", "»"]
        table.set_rows(topics([5, 6]))
        table.set_marks([*table.marks, 5])
        await pilot.pause()
        assert table.marks == {0, 5}
        told = [message.marks for message in app.heard if isinstance(message, LineView.MarksChanged)]
        assert told == [{0}, {0, 1}, {0}, {0, 5}]


async def test_sorting_is_asked_for_by_key_and_by_click_and_shown() -> None:
    app = Stage(lambda: RowTable(COLUMNS, topics(range(3))), hear=(ColumnView.SortRequested,))
    async with app.run_test(size=(40, 5)) as pilot:
        table = app.query_one(RowTable)
        await pilot.press("P", "x")
        await pilot.click(table, offset=Offset(4, 0))
        assert [m.column for m in app.heard if isinstance(m, ColumnView.SortRequested)] == ["parts", "name"]
        table.sort = ("name", True)
        await pilot.pause()
        assert app.screen_lines()[0].startswith("   Name▾")


# -- painted lines -----------------------------------------------------------------------------------------------------


async def test_only_lines_that_changed_are_painted() -> None:
    values = dict.fromkeys(range(100), "1")
    rows = ListRows(range(100), lambda row: row, lambda row: ["", f"topic-{row}", values[row], ""])
    async with shown(Stage(lambda: Counted(COLUMNS, rows)), Counted, (40, 21)) as (_, pilot, table):
        await pilot.pause()
        table.painted.clear()
        await pilot.press("j")
        assert sorted(table.painted) == [1, 2]
        table.painted.clear()
        table.set_rows(ListRows(range(100), lambda row: row, rows.cells))
        await pilot.pause()
        assert table.painted == []
        values[9] = "3"
        table.set_rows(ListRows(range(100), lambda row: row, rows.cells))
        await pilot.pause()
        assert table.painted == [10]


async def test_only_rows_on_screen_are_asked_for() -> None:
    asked: set[int] = set()

    def cells(row: int) -> Sequence[Cell]:
        asked.add(row)
        return topic_cells(row)

    app = Stage(lambda: RowTable(COLUMNS, ListRows(range(1_000_000), lambda row: row, cells)))
    async with app.run_test(size=(40, 21)) as pilot:
        await pilot.press("G")
        assert app.query_one(RowTable).cursor_key == 999_999
        assert len(asked) < 300


# -- the cursor when rows change ---------------------------------------------------------------------------------------


async def test_the_cursor_comes_back_when_a_filter_goes() -> None:
    async with shown(stage(topics(range(100))), RowTable, (40, 11)) as (_, pilot, table):
        await pilot.press("G", "k", "k")
        table.set_rows(RowView(topics(range(100)), range(0, 100, 2)))
        assert table.cursor_key == 98
        table.set_rows(topics(range(100)))
        assert table.cursor_key == 97


async def test_the_cursor_does_not_jump_back_to_a_row_that_was_gone() -> None:
    async with shown(stage(topics(range(100))), RowTable, (40, 11)) as (_, pilot, table):
        await pilot.press("j", "j")
        table.set_rows(topics([0, 1, *range(3, 100)]))
        assert table.cursor_key == 3
        table.set_rows(topics(range(100)))
        assert table.cursor_key == 3


orders = st.permutations(range(40)).flatmap(lambda order: st.integers(0, 40).map(lambda count: order[:count]))


class Lines(NamedTuple):
    """Rows of text whose keys are the texts themselves."""

    keys: list[int]

    def line_count(self) -> int:
        return len(self.keys)

    def key_at(self, index: int) -> int:
        return self.keys[index]

    def index_of(self, key: object) -> int | None:
        return self.keys.index(key) if key in self.keys else None


@given(orders, orders, st.integers(0, 39), st.integers(0, 39), st.none() | st.integers(0, 39))
def test_a_held_place_is_found_by_key_or_by_its_neighbours(
    old: list[int], new: list[int], cursor: int, top: int, wanted: int | None
) -> None:
    cursor = min(cursor, max(0, len(old) - 1))
    screen = range(min(top, max(0, len(old) - 1)), min(top + 10, len(old)))
    index, found_top = find_again(hold(Lines(old), cursor, screen, wanted), Lines(new))
    if wanted in new:
        assert new[index] == wanted
    elif old and old[cursor] in new:
        assert new[index] == old[cursor]
    elif set(old) & set(new):
        near = sorted((abs(place - cursor), place) for place, key in enumerate(old) if key in new)
        if near[0][0] < NEIGHBOURS:
            assert new[index] in [old[place] for distance, place in near if distance == near[0][0]]
    else:
        assert 0 <= index <= max(0, len(new) - 1)
    if old and new:
        if cursor in screen:
            assert index - found_top == cursor - screen.start
        elif screen and old[screen.start] in new:
            assert new[found_top] == old[screen.start]


@settings(max_examples=5)
@given(
    st.lists(
        st.tuples(st.sampled_from(["j", "k", "pagedown", "G", "wheel", "nothing"]), orders), min_size=10, max_size=15
    )
)
async def test_cursor_and_place_stay_on_their_keys_through_any_changes(steps: list[tuple[str, list[int]]]) -> None:
    async with shown(stage(topics(range(40))), RowTable, (40, 11)) as (_, pilot, table):
        wanted: object = 0
        for key, order in steps:
            if key == "wheel":
                table._scroll_to_line(table._top + 3)
            elif key != "nothing":
                await pilot.press(key)
                if table.cursor_key is not None:
                    wanted = table.cursor_key
            before = table.cursor_key
            seen = table.cursor_index in table.visible_range
            row = table.cursor_index - table._top
            near = [table.key_at(i) for i in range(table.line_count()) if abs(i - table.cursor_index) < NEIGHBOURS]
            table.set_rows(topics(order))
            await pilot.pause()
            after = table.cursor_key
            if wanted in order:
                assert after == wanted
            elif before in order:
                assert after == before
            elif set(near) & set(order):
                assert after in near
            else:
                assert (after is None) == (not order)
            wanted = after
            if seen and order:
                assert table.cursor_index in table.visible_range
                freely = table.cursor_index >= row and len(order) - 10 >= table.cursor_index - row
                assert not freely or table.cursor_index - table._top == row


# -- views over rows ---------------------------------------------------------------------------------------------------

words = st.text(alphabet="abAB-. ", max_size=6)


def matches(query: str, text: str) -> bool:
    """Return whether a text matches a filter, by a simple implementation for comparison."""
    import re

    negated = query.startswith("!")
    rest = query.removeprefix("!")
    if rest.startswith("/"):
        source = rest[1:-1] if len(rest) > 2 and rest.endswith("/") else rest[1:]
        if not source:
            return True
        return bool(re.search(source, text, re.IGNORECASE)) != negated
    wanted = rest.lower().split()
    if not wanted:
        return True
    return all(word in text.lower() for word in wanted) != negated


@given(st.lists(words, max_size=20), st.lists(st.builds(str.__add__, st.sampled_from(["", "!", "/", "!/"]), words)))
def test_a_search_finds_the_same_however_it_came_there(texts: list[str], queries: list[str]) -> None:
    search = TextSearch(texts)
    for query in [*queries, *("ab-a"[:end] for end in range(5)), "ab"]:
        assert list(search.hits(query)) == [index for index, text in enumerate(texts) if matches(query, text)]


@pytest.mark.parametrize("query", ["/(", "!/[a", "/*"])
def test_a_broken_pattern_is_refused_and_the_last_hits_stay(query: str) -> None:
    search = TextSearch(["a", "b"])
    assert list(search.hits("a")) == [0]
    with pytest.raises(BadQuery, match="not a regular expression"):
        search.hits(query)
    assert list(search.hits("a")) == [0]


@given(st.permutations(range(20)), st.sets(st.integers(0, 19)))
def test_a_view_finds_what_it_shows(order: list[int], chosen: set[int]) -> None:
    source = topics(range(20))
    sorted_ = [row for row in order if row in chosen]
    for view, expected in [
        (RowView(source, sorted(chosen)), sorted(chosen)),
        (RowView(source, sorted_, ascending=False), sorted_),
    ]:
        assert [view.key(index) for index in range(len(view))] == expected
        assert [view.index_of(key) for key in expected] == list(range(len(expected)))
        assert all(view.index_of(key) is None for key in range(25) if key not in chosen)


# -- numbers ---------------------------------------------------------------------------------------------------------


def value_of(text: str) -> float:
    """Return the value of a rounded number with a unit prefix, such as ``1.5k``."""
    unit = "kMGTPEZY".find(text[-1])
    return float(text[:-1]) * 1000.0 ** (unit + 1) if unit >= 0 else float(text)


@given(st.integers(0, 10**24), st.integers(4, 12))
def test_a_number_is_rounded_and_never_cut(number: int, width: int) -> None:
    shown = widgets_cells.fit_number(f"{number:,}", width)
    assert widgets_cells.cell_width(shown) <= width
    assert widgets_cells.ELLIPSIS not in shown
    assert number == pytest.approx(value_of(shown.replace(",", "")), rel=0.5)


@given(st.integers(1, 400), st.integers(1, 12))
def test_a_number_of_absurd_size_is_told_to_be_one(digits: int, width: int) -> None:
    shown = widgets_cells.fit_number("9" * digits, width)
    assert widgets_cells.cell_width(shown) <= width
    assert shown == "9" * digits or set(shown) == {"#"} or shown[-1] in "kMGTPEZY"


def test_two_numbers_in_a_cell_are_both_kept() -> None:
    assert widgets_cells.fit_number("3000→6000", 9) == "3000→6000"
    assert widgets_cells.fit_number("3000→6000", 5) == "3k→6k"
    assert widgets_cells.fit_number("999999", 4) == "1M"
    assert widgets_cells.fit_number("123456", 1) == "#"


def test_a_sorted_column_shows_its_arrow_and_numbers_are_largest_first() -> None:
    table = RowTable([Column("n", "Name", flex=1), Column("p", "Part", width=4, align="right", sort_key="P")])
    for sort, arrow in ((("p", False), "▾"), (("p", True), "▴"), (("n", False), "▴")):
        table.sort = sort
        assert arrow in "".join(text for text, _ in table.header(40) or ())


# -- texts longer than their columns -----------------------------------------------------------------------------------

WHY = [Column("what", "What", flex=1, min_width=10), Column("times", "Times", width=5, align="right")]
REASONS = ("the disk of broker 2 is full", "short", "a/name/that/has/no/blank/at/all")


def reasons(count: int) -> Stage:
    rows = ListRows(range(count), lambda row: row, lambda row: [REASONS[row % len(REASONS)], str(row)])
    return Stage(lambda: RowTable(WHY, rows))


async def test_texts_are_folded_where_there_are_lines_to_spare() -> None:
    app = reasons(3)
    async with app.run_test(size=(25, 9)) as pilot:
        assert [line.rstrip() for line in app.screen_lines()] == [
            f" {'What':17}  Times",
            f"▸{'the disk of':17}      0",
            " broker 2 is full",
            f" {'short':17}      1",
            f" {'a/name/that/has/':17}      2",
            " no/blank/at/all",
            "",
            "",
            "",
        ]
        await pilot.press("down")
        assert [line[0] for line in app.screen_lines()[1:6]] == [" ", " ", "▸", " ", " "]
        await pilot.click(offset=Offset(3, 5))
        assert [line[0] for line in app.screen_lines()[1:6]] == [" ", " ", " ", "▸", " "]


async def test_what_does_not_fit_the_spare_lines_is_cut() -> None:
    app = reasons(3)
    async with app.run_test(size=(25, 5)):
        assert [line[1:18].rstrip() for line in app.screen_lines()[1:]] == [
            "the disk of",
            "broker 2 is full",
            "short",
            f"a/name/that/has/{widgets_cells.ELLIPSIS}",
        ]


@given(st.lists(st.text("ab,", min_size=1, max_size=6), min_size=1, max_size=12), st.integers(8, 20), st.integers(1, 4))
def test_a_folded_text_has_its_words_and_one_blank_between_them(words: list[str], width: int, most: int) -> None:
    *parts, rest = ("".join(text for text, _ in part) for part in fold([(" ".join(words), "")], width, most))
    assert len(parts) < most
    assert "  " not in rest
    assert " ".join((*(part.rstrip() for part in parts), rest)).split() == words


async def test_rows_that_fill_the_window_take_a_line_each() -> None:
    app = reasons(9)
    async with app.run_test(size=(25, 5)):
        assert app.screen_lines()[1].startswith(f"▸the disk of brok{widgets_cells.ELLIPSIS}")
        assert app.screen_lines()[2].startswith(" short")


def test_a_column_is_not_stretched_far_beyond_its_texts_and_one_long_text_cuts_no_other() -> None:
    """A column is not much wider than its texts, so that the eye does not lose the row on the way to the next column.
    One long text does not cut off those of other columns.
    """
    placed = lay_out(WHY, [30, 5], 190).placed
    assert placed[0].width == 30 + MOST_BLANK
    key = Column("key", "Key", min_width=28, max_width=60)
    value = Column("value", "Value", flex=1, min_width=20, max_width=80, priority=95)
    widths = [place.width for place in lay_out([key, value], [45, 80], 70, usual=[40, 24]).placed]
    assert widths == [40, 28]
    assert [place.width for place in lay_out([key, value], [45, 80], 70).placed] == [28, 40]
