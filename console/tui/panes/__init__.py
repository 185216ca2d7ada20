"""A module for each pane."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from console.tui import keymap

if TYPE_CHECKING:
    from console.tui.panes.view import View
    from console.tui.tools import Tools
    from widgets.row_source import Column

_BESIDE_ANOTHER = {keymap.TOPIC: keymap.TOPICS, keymap.GROUP: keymap.GROUPS}
"""A view that stands in the module of another one; all others have a module of their name."""


def make_view(name: str, tools: Tools) -> View:
    """Create the view of a name of `console.tui.keymap`.

    Its module is imported only now, so that the first screen does not wait for the other panes.
    """
    made: View = _view_class(name)(tools)
    return made


def _view_class(name: str) -> Any:
    module = import_module(f"console.tui.panes.{_BESIDE_ANOTHER.get(name, name)}")
    members = vars(module).values()
    return next(each for each in members if isinstance(each, type) and getattr(each, "NAME", None) == name)


def sort_columns(name: str) -> list[Column]:
    """Return the columns of a view that a key sorts by, for the documentation."""
    return [column for column in getattr(_view_class(name), "COLUMNS", ()) if column.sort_key is not None]
