"""Textual's app, imported without its command palette: a tenth of what Textual costs at the start, for a screen that
has none.
"""

from __future__ import annotations

import sys
from types import ModuleType

PALETTE = "textual.command"
"""It imports the input, the lists, the trees and the selects of `textual.widgets`."""


def import_app() -> None:
    """Import `textual.app` without the command palette, unless either was imported before.

    The palette's names stay empty classes in it and in `textual.theme`, so an app must not set
    `ENABLE_COMMAND_PALETTE`. A later import of the palette gets the real one.
    """
    if "textual.app" in sys.modules or PALETTE in sys.modules:
        return
    stand_in = ModuleType(PALETTE)
    vars(stand_in)["__getattr__"] = _empty_class
    sys.modules[PALETTE] = stand_in
    try:
        import textual.app  # noqa: F401
    finally:
        del sys.modules[PALETTE]


def _empty_class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__module__": PALETTE})
