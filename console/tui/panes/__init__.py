"""The panes: a module for each, imported when it is first shown."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from console.tui import keymap

if TYPE_CHECKING:
    from console.tui.panes.view import View
    from console.tui.tools import Tools
    from widgets.row_source import Column

_BESIDE_ANOTHER = {
    keymap.TOPIC: keymap.TOPICS,
    keymap.GROUP: keymap.GROUPS,
    **dict.fromkeys((*keymap.OF_CONNECT, *keymap.OF_CONNECTOR), keymap.CONNECTORS),
    keymap.MIRRORS: keymap.MIRRORS,
}
"""Name of a view -> the name of the module that defines it; any other view is in a module of its own name."""


def make_view(name: str, tools: Tools) -> View:
    """Create a view by its name in `console.tui.keymap`.

    Its module is imported only now, so that the first screen does not wait for the modules of other panes.
    """
    made: View = _view_class(name)(tools)
    return made


def _view_class(name: str) -> Any:
    module = import_module(f"console.tui.panes.{_BESIDE_ANOTHER.get(name, name)}")
    members = vars(module).values()
    return next(each for each in members if isinstance(each, type) and getattr(each, "NAME", None) == name)


def sort_columns(name: str) -> list[Column]:
    """Return the columns of a view that have a sort key. The page of keys lists them."""
    return [column for column in getattr(_view_class(name), "COLUMNS", ()) if column.sort_key is not None]
