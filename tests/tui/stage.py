"""A Textual app that shows only the widgets under test, for tests of their lines and their messages."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from themes import DARK, DEFAULTS, THEMES, native_ansi

W = TypeVar("W", bound=Widget)


class Stage(App[None]):
    """Shows the widgets that the functions `make` return, and keeps those of their messages whose types are in
    `hear`.
    """

    def __init__(
        self, *make: Callable[[], Widget], hear: tuple[type[Message], ...] = (), theme: str = DARK.name
    ) -> None:
        super().__init__(ansi_color=native_ansi(os.environ))
        self._make = make
        self._hear = hear
        self.heard: list[Message] = []
        self.animation_level = "none"
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the variables that the console's themes define."""
        return DEFAULTS

    def compose(self) -> ComposeResult:
        """Yield a new widget from each of the functions `make`."""
        for make in self._make:
            yield make()

    async def _dispatch_message(self, message: Message) -> None:
        if isinstance(message, self._hear):
            self.heard.append(message)
        await super()._dispatch_message(message)

    def screen_lines(self) -> list[str]:
        """Return all lines of the screen, without trailing blanks."""
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]

    def widths(self) -> set[int]:
        """Return the set of the widths of all lines of the screen, in cells."""
        return {strip.cell_length for strip in self.screen._compositor.render_strips()}


@asynccontextmanager
async def shown(app: Stage, kind: type[W], size: tuple[int, int]) -> AsyncIterator[tuple[Stage, Pilot[Any], W]]:
    """Run the app with this screen size (columns, lines); yield the app, its pilot, and its widget of class `kind`."""
    async with app.run_test(size=size) as pilot:
        yield app, pilot, app.query_one(kind)
