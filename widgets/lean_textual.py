"""Textual's app, imported without its command palette and its look-up of the downloads folder: more than a tenth of
Textual's start-up time, for a screen that uses neither.
"""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType

PALETTE = "textual.command"
"""The name of the palette's module, which imports the inputs, lists, trees and selects of `textual.widgets`."""
FOLDERS = "platformdirs"
"""The name of the module that looks up folders, which imports modules for temporary files and archives, with their
libraries."""


def import_app() -> None:
    """Import `textual.app` without the command palette and the folders, unless it or the palette was imported before.

    The palette's names stay empty classes in it and in `textual.theme`, so an app must not set
    `ENABLE_COMMAND_PALETTE`, nor deliver a file without a folder. A later import loads the real modules.
    """
    if "textual.app" in sys.modules or PALETTE in sys.modules:
        return
    left_out = [name for name in (PALETTE, FOLDERS) if name not in sys.modules]
    for name in left_out:
        stand_in = sys.modules[name] = ModuleType(name)
        vars(stand_in)["__getattr__"] = partial(_empty_class, name)
    try:
        import textual.app  # noqa: F401
    finally:
        for name in left_out:
            del sys.modules[name]


def _empty_class(module: str, name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__module__": module})
