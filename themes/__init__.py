"""Themes whose colours have meanings; widgets use the meanings by name."""

from themes.color_tokens import (
    ANSI,
    ANSI_LIGHT,
    CONTEXTS,
    DARK,
    DEFAULTS,
    LIGHT,
    THEMES,
    header_look,
    native_ansi,
    suitable,
)

__all__ = [
    "ANSI",
    "ANSI_LIGHT",
    "CONTEXTS",
    "DARK",
    "DEFAULTS",
    "LIGHT",
    "THEMES",
    "header_look",
    "native_ansi",
    "suitable",
]
