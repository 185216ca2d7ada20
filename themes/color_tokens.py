"""The themes dark, light and ansi: each assigns a colour to every meaning of one list. ansi uses the terminal's own
sixteen colours, for dark and light terminals.

`DEFAULTS` makes the meanings available in an app with any other theme (return it from
`App.get_theme_variable_defaults`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual.color import Color
from textual.theme import Theme

_DARK: Final = {
    "override": "#e5c07b",
    "default": "#8b949e",
    "default-text-style": "none",
    "sensitive": "#c9a0dc",
    "read-only": "#8b949e",
    "read-only-text-style": "none",
    "pending": "#61afef",
    "failed": "#ea6860",
    "failed-text-style": "bold",
    "stale": "#ffa657",
    "stale-text-style": "reverse",
    "changed": "#56d4dd",
    "changed-text-style": "none",
    "danger": "#ea6860",
    "danger-text-style": "bold",
    "ok": "#8bf494",
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
    "pending": "#132c8e",
    "failed": "#ac0714",
    "failed-text-style": "bold",
    "stale": "#953800",
    "stale-text-style": "reverse",
    "changed": "#0b6e75",
    "changed-text-style": "none",
    "danger": "#ac0714",
    "danger-text-style": "bold",
    "ok": "#127053",
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


def _ansi(inks: dict[str, str], styles: dict[str, str]) -> dict[str, str]:
    """Return the variables of a theme in a terminal's own colours.

    Args:
        inks: meaning -> its colour; a meaning that is missing has the terminal's colour of text.
        styles: meaning -> its style of text, if it is not that of `_DARK`.
    """
    plain = {name: "none" if name.endswith("-text-style") else "ansi_default" for name in _DARK}
    cursor = {"cursor-text-style": "reverse", "cursor-blurred-text-style": "bold", "heading-text-style": "bold"}
    kept = {name: style for name, style in _DARK.items() if style in ("bold", "reverse")}
    return {**plain, **kept, **cursor, **inks, **{f"{name}-text-style": style for name, style in styles.items()}}


_ON_BLACK: Final = {
    "override": "ansi_bright_yellow",
    "sensitive": "ansi_bright_magenta",
    "pending": "ansi_bright_cyan",
    "failed": "ansi_bright_red",
    "stale": "ansi_bright_yellow",
    "changed": "ansi_bright_cyan",
    "danger": "ansi_bright_red",
    "ok": "ansi_bright_green",
    "marked": "ansi_bright_yellow",
    "graph": "ansi_bright_cyan",
    "name": "ansi_bright_cyan",
    "value": "ansi_bright_green",
}
"""Colours for a black background. They are bright, because normal red and blue are too dark on black. No style is dim,
because dim text is too dark on the Linux console.
"""
_ON_WHITE: Final = {
    "override": "ansi_magenta",
    "sensitive": "ansi_magenta",
    "pending": "ansi_blue",
    "failed": "ansi_red",
    "stale": "ansi_blue",
    "changed": "ansi_magenta",
    "danger": "ansi_red",
    "marked": "ansi_blue",
    "graph": "ansi_blue",
    "name": "ansi_blue",
    "value": "ansi_magenta",
}
"""Colours that are dark enough on a white background. Failures are not bold, as xterm makes bold red brighter."""
_NOT_BOLD: Final = {"failed": "none", "danger": "none"}

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
    error="#ea6860",
    success="#8bf494",
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
    error="#ac0714",
    success="#127053",
    dark=False,
    variables=dict(_LIGHT),
)


def _of_terminal(name: str, variables: dict[str, str], *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary="ansi_default",
        secondary="ansi_default",
        accent="ansi_default",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        warning=variables["pending"],
        error=variables["failed"],
        success=variables["ok"],
        dark=dark,
        ansi=True,
        variables={**variables, "ansi-background": "ansi_default", "ansi-foreground": "ansi_default"},
    )


ANSI: Final = _of_terminal("kac-ansi", _ansi(_ON_BLACK, {}), dark=True)
ANSI_LIGHT: Final = _of_terminal("kac-ansi-light", _ansi(_ON_WHITE, _NOT_BOLD), dark=False)

THEMES: Final = (DARK, LIGHT, ANSI, ANSI_LIGHT)


CONTEXTS: Final[Mapping[str, str]] = {
    "red": "#a8231f",
    "green": "#2b7a3d",
    "yellow": "#d9b13b",
    "blue": "#1f5cad",
    "magenta": "#85418f",
    "cyan": "#1a6f7c",
    "white": "#d5d9de",
}
"""Name of a context's colour -> its value on terminals with more than sixteen colours. The values are muted, because
the header shows them all day.
"""


_ON_BRIGHT: Final = frozenset({"green", "yellow", "cyan", "white"})
_NEITHER: Final = 0.179
"""The luminance of a background on which black and white text have the same contrast (WCAG 2.1)."""


def header_look(wanted: str, *, native: bool) -> tuple[Color, Color]:
    """Return the background and the text colour of a header in a context's colour: the text is black or white,
    whichever is more legible.

    Args:
        wanted: a name of `CONTEXTS`, or another colour that Textual knows.
        native: whether the terminal shows its own sixteen colours.

    Raises:
        ColorParseError: there is no such colour.
    """
    if native and wanted in CONTEXTS:
        # The normal yellow is brown on the Linux console, but not in xterm, so use the bright yellow, on which black
        # text is legible in both.
        ground = Color.parse("ansi_bright_yellow" if wanted == "yellow" else f"ansi_{wanted}")
        return ground, Color.parse("black" if wanted in _ON_BRIGHT else "white")
    ground = Color.parse(CONTEXTS.get(wanted, wanted))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in ground.normalized
    )
    return ground, Color.parse("black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > _NEITHER else "white")


def suitable(wanted: str | None, *, color_system: str | None, no_color: bool, is_light: bool | None = None) -> str:
    """Return the name of the theme to use.

    With 16 colours, or without colours, it is ansi, in a form for dark or for light backgrounds: the colours of the
    other themes would be rounded to the nearest of the sixteen.

    Args:
        wanted: ``dark``, ``light`` or ``ansi``; None to choose by the terminal's background. With 16 colours ``light``
            says that the background is light.
        color_system: Rich's name of the terminal's set of colours; None for a terminal without colours.
        no_color: whether NO_COLOR is set.
        is_light: whether the background is light; None if unknown.
    """
    ansi = (ANSI_LIGHT if is_light else ANSI).name
    if no_color or color_system in (None, "standard", "windows"):
        return {"light": ANSI_LIGHT.name, "dark": ANSI.name}.get(wanted or "", ansi)
    return {"light": LIGHT.name, "ansi": ansi}.get(wanted or ("light" if is_light else ""), DARK.name)


def native_ansi(environ: Mapping[str, str]) -> bool | None:
    """Return the `ansi_color` argument of `App`: True under NO_COLOR, else None.

    Under NO_COLOR (https://no-color.org) Textual removes colours only from an app that is native ANSI from the start;
    in other apps it turns them grey.
    """
    return True if "NO_COLOR" in environ else None
