"""Tests that the page of keys lists every key that has an effect, and that the pictures in the docs are those that the
script takes.
"""

import re
from pathlib import Path

import pytest
from textual.binding import Binding

from console.tui.key_help import help_lines, keys_page
from console.tui.keymap import EVERYWHERE, FIND, KEYS, KeyState
from console.tui.panes import sort_columns
from console.tui.screens import Confirm, TextScreen
from widgets.command_bar import BarInput, CommandBar
from widgets.lazy_tree import LazyTree
from widgets.line_view import LineView

SIGNS = {
    "asterisk": "*",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "space": "Space",
    "enter": "⏎",
    "escape": "Esc",
    "tab": "Tab",
    "backspace": "⌫",
    "delete": "Del",
}
ROOT = Path(__file__).parents[2]


def test_every_key_is_on_the_page_and_every_picture_is_taken_by_the_script() -> None:
    page = keys_page()
    assert all(f"`{key.id}`" in page for key in KEYS)
    from screenshots.take import pictures

    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    named = {name for page in pages for name in re.findall(r"screenshots/([\w-]+)\.svg", page.read_text("utf-8"))}
    assert "tour" in named
    assert named <= pictures()
    taken = {path.stem for path in (ROOT / "screenshots").glob("*.svg")}
    assert taken == pictures(), "run: make pictures"


def bound() -> list[str]:
    """Return each key that kac's widgets and screens handle outside of the keymap, in the page's spelling."""
    views = {view for key in KEYS for view in key.where} - {EVERYWHERE} | {FIND}
    places = (LineView, LazyTree, CommandBar, BarInput, Confirm, TextScreen)
    bindings = [each for place in places for each in place.BINDINGS if isinstance(each, Binding)]
    columns = [column for view in views for column in sort_columns(view)]
    return [key for each in bindings for key in each.key.split(",")] + [str(column.sort_key) for column in columns]


@pytest.mark.parametrize("key", sorted(set(bound())))
def test_every_key_that_is_handled_is_on_the_page(key: str) -> None:
    page = keys_page()
    modifier, _, rest = key.rpartition("+")
    name = SIGNS.get(rest, rest.upper() if modifier else rest)
    sign = {"ctrl": "^", "shift": "⇧", "alt": "Alt+", "": ""}[modifier] + name
    assert re.search(rf"(?<![\w^]){re.escape(sign)}(?!\w)", page), sign


@pytest.mark.parametrize("label", ["URP", "Off", "Over", "Memb", "Coord", "RF", "▴", "▾", "‹", "»", "·", "STALE"])
def test_what_needs_a_legend_has_one(label: str) -> None:
    state = KeyState(None, row=True, list_key=True, parts=True, staged=True, past=True, future=True)
    told = "\n".join("".join(text for text, _ in line) for line in help_lines(KEYS, state, lambda _: "", ()))
    assert label in keys_page()
    assert label in told
