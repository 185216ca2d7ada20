"""Which theme is shown: the chosen one, else the one for the terminal's background."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from themes import suitable
from widgets import background

if TYPE_CHECKING:
    from textual.app import App

    from console.contexts import Context
    from console.tui.text_lines import MessageLine


class ThemeChoice:
    """Shows the app in a theme. Terminals with few colours leave no choice."""

    def __init__(self, app: App[Context], chosen: str | None, message: MessageLine) -> None:
        """Create it; `show` shows the theme.

        Args:
            chosen: by the settings, None: by the terminal's background.
        """
        self._app, self._chosen, self._message = app, chosen, message
        self._is_light = background.from_environment(os.environ)

    @property
    def asks(self) -> bool:
        """Whether the terminal has to be asked for its background."""
        return self._chosen is None and self._is_light is None and background.may_be_asked(os.environ)

    def show(self) -> None:
        """Show the theme."""
        app = self._app
        colors = app.console.color_system
        app.theme = suitable(self._chosen, color_system=colors, no_color=app.no_color, is_light=self._is_light)

    def reported(self, is_light: bool) -> None:
        """Show the theme for the background that the terminal reported, unless one was chosen."""
        self._is_light = is_light
        if self._chosen is None:
            self.show()

    def choose(self, name: str) -> None:
        """Show a theme from now on, whatever the terminal reports."""
        self._chosen = name
        self.show()
        if self._app.theme.rpartition("-")[2] != name:
            self._message.say("this terminal has 16 colours or none: they are its own, in each theme", "muted")
