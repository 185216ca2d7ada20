"""The choice of the theme: the configured one, or else the one that suits the terminal's background."""

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
    """Applies a theme to the app. A terminal with 16 colours or none always gets the theme in its own colours."""

    def __init__(self, app: App[Context], chosen: str | None, message: MessageLine) -> None:
        """Create the choice; `show` applies the theme.

        Args:
            app: the app.
            chosen: name of the configured theme; None to choose by the terminal's background.
            message: the message line.
        """
        self._app, self._chosen, self._message = app, chosen, message
        self._is_light = background.from_environment(os.environ)

    @property
    def asks(self) -> bool:
        """Whether the theme depends on the terminal's background, and kac has to query the terminal for its colour."""
        return self._chosen in (None, "ansi") and self._is_light is None and background.may_be_asked(os.environ)

    def show(self) -> None:
        """Apply the theme to the app."""
        app = self._app
        colors = app.console.color_system
        app.theme = suitable(self._chosen, color_system=colors, no_color=app.no_color, is_light=self._is_light)

    def reported(self, is_light: bool) -> None:
        """Apply the theme for the background that the terminal reported, unless the operator chose dark or light."""
        self._is_light = is_light
        if self._chosen in (None, "ansi"):
            self.show()

    def choose(self, name: str) -> None:
        """Apply the theme with this name; a later report of the terminal's background does not change it to another
        one. On a terminal with 16 colours or none, show a message that its own colours stay.
        """
        self._chosen = name
        self.show()
        if not self._app.theme.startswith(f"kac-{name}"):
            self._message.say("this terminal has 16 colours or none: they are its own, in each theme", "muted")
