"""Tests of lines of styled text: if a table has more lines than fit, its rows are placed in several columns."""

from hypothesis import given
from hypothesis import strategies as st

from console.present.text import Line, in_columns, plain
from console.tui.text_lines import FOLDED_FROM, clipped, folded
from widgets.cells import cell_width

NAMES = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12), max_size=40)
HEAD: list[Line] = [[("Stable  3 members", "")], []]


def table(names: list[str]) -> list[Line]:
    """Return the lines of a table in columns; each row has a unique number."""
    return in_columns([[f"<{number:02}>", name] for number, name in enumerate(names)]) if names else []


@given(NAMES, st.integers(20, 200), st.integers(1, 60))
def test_each_row_is_there_once_in_its_order_next_to_as_many_as_are_needed(
    names: list[str], width: int, most: int
) -> None:
    lines = [*HEAD, *table(names), [("and 3 more partitions", "muted")]]
    found = folded(lines, width, most)
    text = "\n".join(map(plain, found))
    places = [text.index(f"<{number:02}>") for number in range(len(names))]
    assert text.count("<") == len(names)
    assert places == sorted(places)
    assert (found[:2], found[-1]) == (lines[:2], lines[-1])
    assert all(cell_width(plain(line)) <= max(width, *(cell_width(plain(each)) for each in lines)) for line in found)
    lines = [*HEAD, *table(names)]
    found = folded(lines, width, most)
    if len(lines) <= most or len(names) < FOLDED_FROM:
        assert found == lines
        return
    columns = max(plain(line).count("<") for line in found)
    room = most - len(HEAD)
    assert columns == 1 or -(-len(names) // (columns - 1)) > room
    cells = cell_width(plain(lines[2]))
    assert len(found) <= most or room < 1 or (columns + 1) * cells + columns * 4 > width


def test_twelve_rows_in_room_for_six() -> None:
    found = folded(table([f"topic-{number}" for number in range(10, 22)]), 40, 6)
    assert plain(found[0]) == "<00>  topic-10    <01>  topic-11"
    assert plain(found[5]) == "<10>  topic-20    <11>  topic-21"
    assert folded(table(["a long name"] * 12), 36, 6) == table(["a long name"] * 12), "two need 38 cells"


@given(NAMES, st.integers(-3, 60))
def test_no_more_lines_are_left_than_there_is_room_for(names: list[str], count: int) -> None:
    lines = table(names)
    found = clipped(lines, count)
    assert len(found) == max(0, min(len(lines), count))
    assert [plain(line) for line in found[:-1]] == [plain(line) for line in lines[: max(0, len(found) - 1)]]
    assert not found or plain(found[-1]).endswith(" …") == (len(lines) > count)
