"""Import of Textual's app without its command palette and without platformdirs, which finds the downloads folder:
together more than a tenth of Textual's start-up time, and kac uses neither.
"""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType

PALETTE = "textual.command"
"""The name of the palette's module; it imports the inputs, lists, trees and selects of `textual.widgets`."""
FOLDERS = "platformdirs"
"""The name of the package that finds a user's folders; it imports modules for temporary files and archives."""


def import_app() -> None:
    """Import `textual.app` without the command palette and platformdirs. No-op if the app or the palette was imported
    before.

    In the imported app the names from both modules are empty classes, so an app must not set `ENABLE_COMMAND_PALETTE`,
    nor deliver a file without a folder. A later import elsewhere loads the real modules.
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
