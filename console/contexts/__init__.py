"""Contexts: the named clusters configured in kac's own file and in other tools' files, with the settings to connect to
each.
"""

from __future__ import annotations

from console.contexts.configured import Contexts, load, resolve
from console.contexts.context import BrokenContext, Context, ContextError

__all__ = ["BrokenContext", "Context", "ContextError", "Contexts", "load", "resolve"]
