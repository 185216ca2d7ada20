"""Themes that assign a colour to each meaning, such as failure or warning; widgets refer to a meaning by its name."""

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
