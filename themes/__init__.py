"""Themes whose colours have meanings; widgets use the meanings by name."""

from themes.color_tokens import ANSI, CONTEXTS, DARK, DEFAULTS, LIGHT, THEMES, native_ansi, suitable

__all__ = ["ANSI", "CONTEXTS", "DARK", "DEFAULTS", "LIGHT", "THEMES", "native_ansi", "suitable"]
