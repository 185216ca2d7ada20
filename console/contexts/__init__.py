"""Contexts: which clusters are configured, by us and by other tools, and how to reach each."""

from __future__ import annotations

from console.contexts.context import BrokenContext, Context, ContextError
from console.contexts.load import Contexts, load
from console.contexts.resolve import resolve

__all__ = ["BrokenContext", "Context", "ContextError", "Contexts", "load", "resolve"]
