"""Three themes, dark, light and ansi, over one list of meanings.

Every theme defines every meaning; `DEFAULTS` makes them available in an app with any other theme
(return it from `App.get_theme_variable_defaults`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual.theme import Theme

_DARK: Final = {
    "override": "#e5c07b",
    "default": "#8b949e",
    "default-text-style": "none",
    "sensitive": "#c9a0dc",
    "read-only": "#8b949e",
    "read-only-text-style": "none",
    "pending": "#61afef",
    "failed": "#ff7b72",
    "stale": "#ffa657",
    "stale-text-style": "reverse",
    "changed": "#56d4dd",
    "changed-text-style": "none",
    "danger": "#ff7b72",
    "ok": "#7ee787",
    "muted": "#8b949e",
    "muted-text-style": "none",
    "heading": "#a5b1c2",
    "heading-text-style": "none",
    "marked": "#e5c07b",
    "graph": "#4f8ac4",
    "name": "#79c0ff",
    "value": "#a5d6a7",
    "cursor-foreground": "#ffffff",
    "cursor-background": "#264f78",
    "cursor-text-style": "none",
    "cursor-blurred-foreground": "#e6edf3",
    "cursor-blurred-background": "#21262d",
    "cursor-blurred-text-style": "none",
}

_LIGHT: Final = {
    "override": "#8a5a00",
    "default": "#5b6470",
    "default-text-style": "none",
    "sensitive": "#7a3e9d",
    "read-only": "#5b6470",
    "read-only-text-style": "none",
    "pending": "#0550ae",
    "failed": "#b3161b",
    "stale": "#953800",
    "stale-text-style": "reverse",
    "changed": "#0b6e75",
    "changed-text-style": "none",
    "danger": "#b3161b",
    "ok": "#1a6b2b",
    "muted": "#5b6470",
    "muted-text-style": "none",
    "heading": "#424a53",
    "heading-text-style": "none",
    "marked": "#8a5a00",
    "graph": "#2c68a5",
    "name": "#0b5394",
    "value": "#1a6b2b",
    "cursor-foreground": "#000000",
    "cursor-background": "#b6d4fe",
    "cursor-text-style": "none",
    "cursor-blurred-foreground": "#1f2328",
    "cursor-blurred-background": "#dfe3e8",
    "cursor-blurred-text-style": "none",
}

_ANSI: Final = {
    "override": "ansi_yellow",
    "default": "ansi_default",
    "default-text-style": "dim",
    "sensitive": "ansi_magenta",
    "read-only": "ansi_default",
    "read-only-text-style": "dim",
    "pending": "ansi_cyan",
    "failed": "ansi_red",
    "stale": "ansi_yellow",
    "stale-text-style": "reverse",
    "changed": "ansi_cyan",
    "changed-text-style": "none",
    "danger": "ansi_red",
    "ok": "ansi_green",
    "muted": "ansi_default",
    "muted-text-style": "dim",
    "heading": "ansi_default",
    "heading-text-style": "bold",
    "marked": "ansi_yellow",
    "graph": "ansi_cyan",
    "name": "ansi_cyan",
    "value": "ansi_green",
    "cursor-foreground": "ansi_default",
    "cursor-background": "ansi_default",
    "cursor-text-style": "reverse",
    "cursor-blurred-foreground": "ansi_default",
    "cursor-blurred-background": "ansi_default",
    "cursor-blurred-text-style": "bold",
}

DEFAULTS: Final[dict[str, str]] = _DARK

DARK: Final = Theme(
    name="kac-dark",
    primary="#61afef",
    secondary="#8b949e",
    accent="#61afef",
    foreground="#e6edf3",
    background="#0d1117",
    surface="#161b22",
    panel="#161b22",
    warning="#e5c07b",
    error="#ff7b72",
    success="#7ee787",
    dark=True,
    variables=dict(_DARK),
)

LIGHT: Final = Theme(
    name="kac-light",
    primary="#0550ae",
    secondary="#5b6470",
    accent="#0550ae",
    foreground="#1f2328",
    background="#ffffff",
    surface="#f6f8fa",
    panel="#f0f2f5",
    warning="#8a5a00",
    error="#b3161b",
    success="#1a6b2b",
    dark=False,
    variables=dict(_LIGHT),
)

ANSI: Final = Theme(
    name="kac-ansi",
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    dark=True,
    ansi=True,
    variables={**_ANSI, "ansi-background": "ansi_default", "ansi-foreground": "ansi_default"},
)

THEMES: Final = (DARK, LIGHT, ANSI)


CONTEXTS: Final[Mapping[str, str]] = {
    "red": "#a8231f",
    "green": "#2b7a3d",
    "yellow": "#d9b13b",
    "blue": "#1f5cad",
    "magenta": "#85418f",
    "cyan": "#1f7f8c",
    "white": "#d5d9de",
}
"""The colours of contexts by name, on terminals with more than sixteen colours: calm enough to be on top all day."""


def suitable(wanted: str | None, *, color_system: str | None, no_color: bool, is_light: bool | None = None) -> str:
    """Return the name of the theme to use.

    With 16 colours, or none, it is always ansi: other colours would be rounded to the nearest of the sixteen.

    Args:
        wanted: ``dark``, ``light`` or ``ansi``; None: the one for the terminal's background.
        color_system: as Rich names it, None for a terminal without colours.
        is_light: whether the background is light, None if unknown.
    """
    if no_color or color_system in (None, "standard", "windows"):
        return ANSI.name
    return {"light": LIGHT.name, "ansi": ANSI.name}.get(wanted or ("light" if is_light else ""), DARK.name)


def native_ansi(environ: Mapping[str, str]) -> bool | None:
    """Return the `ansi_color` argument of `App`.

    Under NO_COLOR (https://no-color.org) Textual removes colours only from an app that is native ANSI from the start;
    in other apps it turns them grey.
    """
    return True if "NO_COLOR" in environ else None
