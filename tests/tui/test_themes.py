"""Tests of the themes: each defines all styles, and all texts are legible in it."""

import os
import re
import sys
import time
from pathlib import Path

import pytest
from textual.theme import Theme

from console.tui.text_lines import TextLines
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal
from tests.tui.stage import Stage
from themes import ANSI, ANSI_LIGHT, DARK, DEFAULTS, LIGHT, THEMES, native_ansi, suitable
from widgets.background import ASK
from widgets.command_bar import CommandBar
from widgets.diff_view import DiffView
from widgets.lazy_tree import LazyTree
from widgets.line_view import LineView
from widgets.row_table import RowTable

ROOT = Path(__file__).resolve().parents[2]
WIDGETS = (LineView, RowTable, LazyTree, DiffView, CommandBar)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_meaning_is_given(theme: Theme) -> None:
    assert theme.variables.keys() >= DEFAULTS.keys()


def test_widgets_use_nothing_that_the_themes_do_not_give() -> None:
    used = {name for widget in WIDGETS for name in re.findall(r"\$([\w-]+)", widget.DEFAULT_CSS)}
    textuals = {"background", "foreground", "panel"}
    assert used - textuals <= DEFAULTS.keys()
    assert {
        "override",
        "default",
        "sensitive",
        "read-only",
        "pending",
        "failed",
        "changed",
        "danger",
        "ok",
        "muted",
    } <= used


@pytest.mark.parametrize("theme", [ANSI, ANSI_LIGHT], ids=lambda theme: theme.name)
def test_ansi_uses_the_terminals_own_colours_only(theme: Theme) -> None:
    colors = {theme.primary, theme.background, theme.foreground, theme.surface, theme.panel, *theme.variables.values()}
    styles = {value for name, value in theme.variables.items() if name.endswith("-text-style")}
    assert all(color is not None and color.startswith("ansi_") for color in colors - styles)
    assert theme.variables["cursor-text-style"] == "reverse"
    assert "dim" not in styles  # "dim" would be too dark on the Linux console


@pytest.mark.parametrize(
    ("wanted", "color_system", "no_color", "name"),
    [
        (None, "truecolor", False, DARK.name),
        ("light", "256", False, LIGHT.name),
        ("ansi", "truecolor", False, ANSI.name),
        ("light", "standard", False, ANSI_LIGHT.name),
        (None, None, False, ANSI.name),
        ("dark", "truecolor", True, ANSI.name),
    ],
)
def test_the_theme_suits_the_terminal(wanted: str | None, color_system: str | None, no_color: bool, name: str) -> None:
    assert suitable(wanted, color_system=color_system, no_color=no_color) == name


@pytest.mark.parametrize("wanted", [None, "ansi"])
def test_sixteen_colours_suit_the_background(wanted: str | None) -> None:
    assert suitable(wanted, color_system="standard", no_color=False, is_light=True) == ANSI_LIGHT.name
    assert suitable(wanted, color_system="standard", no_color=False, is_light=False) == ANSI.name
    assert suitable("dark", color_system="standard", no_color=False, is_light=True) == ANSI.name


def test_no_color_is_told_to_textual() -> None:
    assert native_ansi({"NO_COLOR": ""}) is True
    assert native_ansi({"TERM": "xterm"}) is None


@pytest.mark.parametrize("theme", [*(theme.name for theme in THEMES), "textual-dark", "nord"])
async def test_widgets_can_be_shown_in_any_theme(theme: str) -> None:
    app = Stage(lambda: DiffView(), lambda: CommandBar(), theme=theme)
    async with app.run_test(size=(40, 6)):
        app.query_one(CommandBar).open()


async def test_a_new_theme_recolours_what_has_the_same_ground() -> None:
    """If the theme changes after lines were drawn, they get its colours, even if the background stays the same: a
    terminal with 16 colours may report a light background late.
    """
    bar = CommandBar(highlight=lambda text: [(0, len(text), "key")])
    lines = TextLines()
    app = Stage(lambda: lines, lambda: bar, theme=ANSI.name)
    async with app.run_test(size=(40, 6)) as pilot:
        lines.set([("refused", "failed")])
        bar.open(text="retention.ms")
        await pilot.pause()
        assert colors_of(app) >= {9, 11}  # bright red and bright yellow
        app.theme = ANSI_LIGHT.name
        await pilot.pause()
        await pilot.pause()
        assert colors_of(app) >= {1, 5}  # red and magenta
        assert not colors_of(app) & set(range(8, 16))


def colors_of(app: Stage) -> set[int | None]:
    """Return the numbers of the terminal's colours in which the screen's texts are drawn; None for a colour without a
    number.
    """
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.text.strip() and segment.style]
    return {style.color.number for style in styles if style.color is not None}


def written(terminal: Terminal, sequence: str) -> None:
    """Wait until a program has sent an escape sequence to the terminal. Fails after `PATIENCE` seconds."""
    deadline = time.monotonic() + PATIENCE
    while sequence.encode() not in terminal.written:
        assert time.monotonic() < deadline, terminal.text[-2000:]
        terminal.read_for(0.05)


@pytest.mark.usefixtures("own_home")
def test_a_light_terminal_is_asked_and_answers() -> None:
    """A real terminal's report of its background is not taken for keys, and the keys that are typed before and after it
    arrive.
    """
    white = "48;2;255;255;255"
    kept = {name: value for name, value in os.environ.items() if name not in ("COLORFGBG", "KAC_THEME", "NO_COLOR")}
    environment = {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "console", "demo", "--still", "--scenario", "quiet"]
    with Terminal(command, cwd=ROOT, environment=environment) as terminal:
        written(terminal, ASK)
        terminal.send("\x1b")  # a key, or the beginning of the terminal's report
        terminal.read_for(0.5)
        assert white.encode() not in terminal.written
        terminal.send("2\x1b]11;rgb:ffff/ffff/ffff\x1b\\/")
        written(terminal, white)
        terminal.send("payments\r\r")
        terminal.wait_for("2592000000")  # the retention of checkout.payments, the only topic that passes the filter
    with Terminal(command, cwd=ROOT, environment={**environment, "KAC_THEME": "light"}) as terminal:
        written(terminal, white)
        assert ASK.encode() not in terminal.written
