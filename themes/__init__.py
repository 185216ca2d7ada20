"""Themes whose colours have meanings; widgets use the meanings by name."""

from themes.meanings import ANSI, DARK, DEFAULTS, LIGHT, THEMES, suitable

__all__ = ["ANSI", "DARK", "DEFAULTS", "LIGHT", "THEMES", "suitable"]
