"""Tests of frames that are sent as differences from the previous frame: the terminal shows the same as if each frame
were sent in full.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import get_character_cell_size

from tests.support.examples import examples
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal
from widgets import terminal_diff
from widgets.lean_driver import MOUSE_MODES, erases_in_color

WIDTH, HEIGHT = 12, 8
TOKEN = re.compile(r"\x1b\[([\d;]*)([A-Za-z@])|(\n)|([^\x1b\n])", re.DOTALL)
ROOT = Path(__file__).parents[2]


class Cell(NamedTuple):
    """A character of the screen with its style. A blank has only the part of its style that is visible."""

    char: str
    pen: terminal_diff.Pen


class ScreenModel:
    """A model of a terminal without autowrap, as ECMA-48 and the VT102 define it. colored_erase: whether erased cells
    get the current background colour.
    """

    def __init__(self, *, colored_erase: bool) -> None:
        self.colored_erase = colored_erase
        self.rows = [[Cell("?", terminal_diff.PLAIN)] * WIDTH for _ in range(HEIGHT)]
        self.pen = terminal_diff.PLAIN
        self.x = self.y = 0
        self.top, self.bottom = 0, HEIGHT - 1

    @property
    def blank(self) -> Cell:
        return Cell(
            " ", terminal_diff.Pen(background=self.pen.background) if self.colored_erase else terminal_diff.PLAIN
        )

    def feed(self, data: str) -> None:
        assert "".join(match[0] for match in TOKEN.finditer(data)) == data
        for match in TOKEN.finditer(data):
            if match[2]:
                numbers = [int(number) if number else 0 for number in match[1].split(";")]
                getattr(self, f"do_{'at' if match[2] == '@' else match[2]}")(match[1], *numbers)
            elif match[3]:
                self.y = min(self.y + 1, HEIGHT - 1)
            else:
                self.put(match[4])

    def put(self, char: str) -> None:
        size = get_character_cell_size(char)
        row = self.rows[self.y]
        if size == 0:
            place = self.x - 1 if row[self.x - 1].char else self.x - 2
            row[place] = row[place]._replace(char=row[place].char + char)
            return
        pen = terminal_diff.on_blank(self.pen) if char == " " else self.pen
        for place in range(self.x, min(self.x + size, WIDTH)):
            self.part(row, place)
        row[self.x] = Cell(char, pen)
        if size == 2:
            row[self.x + 1] = Cell("", pen)
        self.x = min(self.x + size, WIDTH - 1) if self.x + size < WIDTH else WIDTH

    @staticmethod
    def part(row: list[Cell], place: int) -> None:
        """If one half of a wide character at this place is overwritten, replace its other half by a blank."""
        halves = [place - 1] if row[place].char == "" else []
        halves += [place + 1] if place + 1 < WIDTH and row[place + 1].char == "" else []
        for half in halves:
            row[half] = Cell(" ", terminal_diff.on_blank(row[half].pen))

    def do_H(self, _: str, row: int = 1, column: int = 1) -> None:  # noqa: N802
        self.y, self.x = max(1, row) - 1, max(1, column) - 1

    def do_C(self, _: str, count: int) -> None:  # noqa: N802
        self.x += count

    def do_m(self, parameters: str, *_: int) -> None:
        pen = self.pen
        joined = terminal_diff.read_pen(parameters)
        codes = parameters.split(";")
        if codes[0] in ("", "0"):
            self.pen = joined
            return
        foreground = "" if "39" in codes else joined.foreground or pen.foreground
        background = "" if "49" in codes else joined.background or pen.background
        self.pen = terminal_diff.Pen(pen.attributes | joined.attributes, foreground, background)

    def do_J(self, *_: object) -> None:  # noqa: N802
        self.rows = [[self.blank] * WIDTH for _ in range(HEIGHT)]

    def do_K(self, *_: object) -> None:  # noqa: N802
        self.rows[self.y][self.x :] = [self.blank] * (WIDTH - self.x)

    def do_X(self, _: str, count: int) -> None:  # noqa: N802
        self.rows[self.y][self.x : self.x + count] = [self.blank] * min(count, WIDTH - self.x)

    def do_r(self, _: str, top: int = 0, bottom: int = 0) -> None:
        self.top, self.bottom = max(1, top) - 1, (bottom or HEIGHT) - 1
        self.x = self.y = 0

    def do_M(self, _: str, count: int) -> None:  # noqa: N802
        region = self.rows[self.y : self.bottom + 1]
        new = [[self.blank] * WIDTH for _ in range(count)]
        self.rows[self.y : self.bottom + 1] = [*region[count:], *new]

    def do_P(self, _: str, count: int) -> None:  # noqa: N802
        row = self.rows[self.y]
        row[self.x :] = [*row[self.x + count :], *[self.blank] * count]

    def do_at(self, _: str, count: int) -> None:
        row = self.rows[self.y]
        row[self.x :] = [*[self.blank] * count, *row[self.x : WIDTH - count]]

    def do_L(self, _: str, count: int) -> None:  # noqa: N802
        region = self.rows[self.y : self.bottom + 1]
        new = [[self.blank] * WIDTH for _ in range(count)]
        self.rows[self.y : self.bottom + 1] = [*new, *region[: len(region) - count]]


# -- frames like Textual's ---------------------------------------------------------------------------------------------

styles = st.sampled_from(
    ["", "1", "7", "4;31", "38;2;1;2;3;48;2;9;9;9", "39;49", "33;48;2;9;9;9", "2;48;5;7", "97;104"]
)
line_texts = st.text(alphabet="ab  日é\u0301→", min_size=1, max_size=WIDTH)


@st.composite
def segments(draw: st.DrawFn) -> str:
    """Draw a text of segments, each with its colours and a reset after it, no longer than a line of the terminal."""
    parts, left = [], WIDTH
    for _ in range(draw(st.integers(1, 4))):
        text = ""
        for char in draw(line_texts).lstrip("\u0301"):
            size = get_character_cell_size(char)
            if size > left:
                break
            text, left = text + char, left - size
        style = draw(styles)
        if text:
            parts.append(f"\x1b[{style}m{text}\x1b[0m" if style else text)
    return "".join(parts)


@st.composite
def whole_lines(draw: st.DrawFn) -> str:
    return f"\x1b[{draw(st.integers(1, HEIGHT))};1H{draw(segments())}"


moved = st.tuples(st.integers(-4, 4), st.integers(0, 3), st.integers(0, 3))
"""Draws the arguments of a scroll: by how many lines, and how many lines above and below stay in place."""


@st.composite
def sessions(draw: st.DrawFn) -> list[str]:
    """Draw a full frame, and then partial frames and scrolls, like those that an app sends."""
    lines = [draw(segments()) for _ in range(HEIGHT)]
    frames = ["\n".join(f"\x1b[{y + 1};1H{line}" for y, line in enumerate(lines)) + "\x1b[1;1H"]
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            frames.append("\n".join(draw(st.lists(whole_lines(), min_size=1, max_size=4))) + "\x1b[3;2H")
            continue
        by, above, below = draw(moved)
        middle = lines[above : HEIGHT - below]
        fresh = [draw(segments()) for _ in range(abs(by))]
        kept = middle[by:] + fresh if by > 0 else fresh + middle[: len(middle) + by]
        lines[above : HEIGHT - below] = kept[: len(middle)]
        clean = "\x1b[0m" + " " * WIDTH
        frames.append(
            "\n".join(f"\x1b[{y + 1};1H{clean}\x1b[{y + 1};1H{line}" for y, line in enumerate(lines)) + "\x1b[1;1H"
        )
    return frames


@examples(60, at_length=300)
@given(sessions(), st.booleans(), st.sets(st.integers(0, 5)))
def test_the_terminal_shows_what_the_frames_draw(frames: list[str], colored_erase: bool, forgotten: set[int]) -> None:
    plain = ScreenModel(colored_erase=colored_erase)
    plain.feed("\x1b[m\x1b[2J")
    lean = ScreenModel(colored_erase=colored_erase)
    diff = terminal_diff.TerminalDiff(WIDTH, HEIGHT, erases_in_color=colored_erase)
    for number, frame in enumerate(frames):
        plain.feed(frame)
        if number in forgotten:
            diff.forget()
            lean.rows[HEIGHT // 2] = [Cell("#", terminal_diff.PLAIN)] * WIDTH
            lean.pen = terminal_diff.read_pen("7;31")
        lean.feed(diff.update(frame))
        assert lean.rows == plain.rows
        assert (lean.y, lean.x) == (plain.y, plain.x)
        assert diff.update(frame) == ""


graphs = st.lists(
    st.sampled_from(["\x1b[31m#\x1b[0m", "\x1b[32;44m:\x1b[0m", "\x1b[32m.\x1b[0m", "o"]), min_size=3, max_size=16
)


@examples(60, at_length=300)
@given(graphs, st.integers(1, 4), st.integers(0, 4), st.text("ab ", max_size=4), st.booleans())
def test_a_graph_that_moves_to_the_left_between_other_texts(
    cells: list[str], by: int, start: int, behind: str, colored_erase: bool
) -> None:
    """If a graph moves to the left, the terminal shows each of its frames, and the texts before and after it stay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal_diff, "LONG_LINE", 0)
        plain, lean = (ScreenModel(colored_erase=colored_erase) for _ in range(2))
        plain.feed("\x1b[m\x1b[2J")
        diff = terminal_diff.TerminalDiff(WIDTH, HEIGHT, erases_in_color=colored_erase)
        for number in range(len(cells)):
            shown = "".join(cells[number * by :][: WIDTH - start - len(behind)])
            frame = f"\x1b[3;1H\x1b[44m{'b' * start}\x1b[0m{shown}\x1b[3;{WIDTH - len(behind) + 1}H{behind}\x1b[1;1H"
            plain.feed(frame)
            lean.feed(diff.update(frame))
            assert lean.rows == plain.rows


def test_a_column_further_takes_a_few_bytes_for_each_line() -> None:
    """If a graph moves by one column, kac deletes a character in each of its lines, and does not send the lines again,
    although other texts are next to it.
    """
    diff = terminal_diff.TerminalDiff(200, 10, erases_in_color=True)

    def frame(first: int) -> str:
        signs = ["▁▂▃▄▅▆▇█"[(7 * at * at) % 8] for at in range(first, first + 120)]
        return "\n".join(
            f"\x1b[{y + 1};1H\x1b[37;40mwritten to {y:<4}\x1b[36m{''.join(signs)}\x1b[37m  beside it {y:<40}\x1b[0m"
            for y in range(10)
        )

    diff.update(frame(0))
    assert diff.update(frame(1)).count("\x1b[1P") == 10
    for number in range(2, 20):
        assert len(diff.update(frame(number))) < 10 * 50


@given(styles, styles)
def test_a_change_of_pen_leads_where_it_should(old: str, new: str) -> None:
    model = ScreenModel(colored_erase=True)
    model.pen = terminal_diff.read_pen(old)
    model.feed(terminal_diff.change(terminal_diff.read_pen(old), terminal_diff.read_pen(new)))
    assert model.pen == terminal_diff.read_pen(new)


def test_a_line_further_is_a_scroll_and_one_line() -> None:
    diff = terminal_diff.TerminalDiff(80, 24, erases_in_color=True)

    def frame(first: int) -> str:
        return "\n".join(f"\x1b[{y + 1};1H\x1b[37;40m{f'line {first + y} of many lines':80}\x1b[0m" for y in range(24))

    diff.update(frame(0))
    output = diff.update(frame(1))
    assert output.startswith("\x1b[1;24r\x1b[1;1H\x1b[1M\x1b[r")
    assert len(output) < 100


def test_links_are_left_out_and_what_is_not_known_is_refused() -> None:
    diff = terminal_diff.TerminalDiff(20, 2, erases_in_color=True)
    assert "text" in diff.update("\x1b[1;1H\x1b]8;id=1;https://example.org\x1b\\text\x1b]8;;\x1b\\")
    with pytest.raises(terminal_diff.UnreadableFrame):
        diff.update("\x1b[1;1Htext\x1b[5n")


@pytest.mark.parametrize(
    ("term", "erases"),
    [
        ("xterm-256color", True),
        ("tmux-256color", True),
        ("screen.xterm-256color", False),
        ("screen-bce", True),
        ("", False),
    ],
)
def test_terminals_that_erase_in_colour_are_known(term: str, erases: bool) -> None:
    assert erases_in_color(term) == erases


# -- in a real pseudo-terminal -----------------------------------------------------------------------------------------

FRAME_END = b"\x1b[1;1H"
"""The escape sequence at the end of each frame, which sets the position of the cursor."""

APP = """
from textual.app import App
from textual.binding import Binding
from themes import DARK, DEFAULTS
from widgets.row_source import Column
from widgets.lean_driver import LeanDriver
from widgets.row_source import ListRows
from widgets.row_table import RowTable

values = {}
COLUMNS = [Column("name", "Name", flex=1, min_width=10), *(Column(c, c, align="right", width=9) for c in "abcd")]


def cells(row):
    return [f"team-{row}.orders", (values.get(row, "1"), "override"), (str(row), "ok"), "", ("x", "failed")]


class Table(App):
    BINDINGS = [Binding("x", "change")]

    def __init__(self):
        super().__init__(driver_class=LeanDriver)
        self.animation_level = "none"
        self.register_theme(DARK)
        self.theme = DARK.name

    def get_theme_variable_defaults(self):
        return DEFAULTS

    def compose(self):
        yield RowTable(COLUMNS, ListRows(range(4000), lambda row: row, cells))

    def action_change(self):
        table = self.query_one(RowTable)
        values[table.cursor_key] = "22"
        table.set_rows(ListRows(range(4000), lambda row: row, cells))


Table().run()
"""


@contextmanager
def table_in(folder: Path, *, mouse: bool = True) -> Iterator[Terminal]:
    """Run the table in a terminal of 100 columns and 30 lines; yield the terminal after the table is drawn."""
    script = folder / "table.py"
    script.write_text(APP.replace("run()", f"run(mouse={mouse})"))
    environment = {"PYTHONPATH": str(ROOT), "COLORTERM": "truecolor", "PATH": os.environ["PATH"], "HOME": str(folder)}
    command = [sys.executable, str(script)]
    with Terminal(command, cwd=ROOT, environment=environment, columns=100, rows=30) as terminal:
        terminal.wait_for("team-28.orders")
        yield terminal


def written_for(terminal: Terminal, key: str) -> int:
    before = len(terminal.written)
    terminal.send(key)
    deadline = time.monotonic() + PATIENCE
    while FRAME_END not in terminal.written[before:] and terminal._read(deadline):
        pass
    assert FRAME_END in terminal.written[before:]
    return len(terminal.written) - before


def test_keys_and_changes_cost_few_bytes(tmp_path: Path) -> None:
    with table_in(tmp_path) as terminal:
        assert len(terminal.written) < 8000
        steps = [written_for(terminal, "j") for _ in range(45)]
        assert max(steps) <= 700
        assert written_for(terminal, "x") <= 60
        terminal.send("gx")
        terminal.wait_for("▸team-0.orders")


def test_the_mouse_is_reported_where_it_does_something(tmp_path: Path) -> None:
    """The terminal is asked to report presses and the wheel of the mouse, but not its moves: each cell that the pointer
    passes would take 11 bytes.
    """
    with table_in(tmp_path) as terminal:
        assert b"\x1b[?1002h" in terminal.written
        assert b"\x1b[?1003h" not in terminal.written
        assert written_for(terminal, "\x1b[<0;5;7M\x1b[<0;5;7m") <= 700
        terminal.wait_for("▸team-5.orders")
        terminal.send("\x1b[<65;5;7M")
        terminal.wait_for("team-31.orders")


def test_a_mouse_that_is_off_is_not_asked_for(tmp_path: Path) -> None:
    with table_in(tmp_path, mouse=False) as terminal:
        assert not [mode for mode in MOUSE_MODES if f"\x1b[?{mode}h".encode() in terminal.written]
