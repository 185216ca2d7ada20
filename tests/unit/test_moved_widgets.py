"""Tests that widgets that moved are painted at their new places, even if code read their sizes before the layout."""

import pytest
from rich.console import RenderableType
from textual._compositor import ChopsUpdate
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from widgets.line_painting import MovedWidgets


class Two(App[None]):
    """An app of two widgets of one line each. painted: the numbers of the screen's lines that were painted."""

    painted: set[int]

    def get_default_screen(self) -> Screen[object]:
        screen: Screen[object] = super().get_default_screen()
        screen._compositor = MovedWidgets()
        return screen

    def compose(self) -> ComposeResult:
        yield Static("above", id="above")
        yield Static("below", id="below")

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate):
            self.painted |= {y for y, _, _ in renderable.spans}
        super()._display(screen, renderable)


@pytest.mark.parametrize("reads", [False, True])
async def test_what_moved_is_painted_where_it_is(reads: bool) -> None:
    app = Two()
    app.painted = set()
    async with app.run_test(size=(20, 4)) as pilot:
        await pilot.pause()
        app.painted.clear()
        below = app.query_one("#below")
        app.query_one("#above").display = False
        if reads:
            # After a scroll, for example, the next read of a size makes the map again.
            app.screen._compositor._full_map_invalidated = True
            assert below.region.y == 0
        await pilot.pause()
        assert below.region.y == 0
        assert {0, 1} <= app.painted
