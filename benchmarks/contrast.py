"""Measures the contrast of each text of a theme with each background, and the difference of colours as colour-blind
people see them.

``python -m benchmarks.contrast`` prints the lowest contrast and the smallest difference of each theme;
`tests/unit/test_contrast.py` has the limits. Contrast is WCAG 2.1's (1.4.3), differences are CIEDE2000, and colour
blindness is simulated as by Machado, Oliveira and Fernandes (2009), at full severity; coloraide computes all three.
Colours are rounded to those of a terminal as Rich does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

from coloraide import Color
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from textual.theme import Theme

from themes import ANSI, ANSI_LIGHT, CONTEXTS, DARK, LIGHT, header_look

LEGIBLE: Final = 4.5
"""The least contrast ratio of text with its background (WCAG 2.1, level AA)."""
APART: Final = 15.0
"""The least difference (CIEDE2000) of two colours with different meanings that are not also shown with different signs.
"""

INKS: Final = (
    *("override", "default", "sensitive", "read-only", "pending", "failed", "stale", "changed", "danger", "ok"),
    *("muted", "heading", "marked", "graph", "name", "value"),
)
"""The meanings, such as failed or stale, that kac shows by the colour of the text."""
PAIRS: Final = (
    *(("ok", "pending"), ("ok", "danger"), ("muted", "pending"), ("muted", "danger"), ("pending", "danger")),
    *(("override", "default"), ("changed", "danger")),
)
"""Pairs of meanings that a reader must not confuse: calm or information, a warning, and danger; added and removed; a
default and its override; another client's change, and a failure."""
SIGNS: Final[Mapping[str, str]] = {
    "override": "O",
    "default": "D",
    "sensitive": "S",
    "read-only": "R",
    "pending": "*",
    "failed": "✗",
    "danger": "!",
    "ok": "✓",
    "muted": "info",
    "stale": "STALE",
    "marked": "+",
}
"""Meaning -> the sign that kac shows next to the colour. Two meanings with different signs need no different colours;
this holds also in terminals with sixteen colours.
"""
BLINDNESSES: Final = {"protan": "protanopia", "deutan": "deuteranopia", "tritan": "tritanopia"}
DEPTHS: Final = {"true colours": ColorSystem.TRUECOLOR, "256 colours": ColorSystem.EIGHT_BIT}


class Palette(NamedTuple):
    """The sixteen colours of a terminal, from black to white and then the bright ones, and its default text colour and
    background.

    brightens: whether bold text gets the bright colour of the same name.
    """

    name: str
    colors: tuple[str, ...]
    text: str
    ground: str
    brightens: bool


XTERM = (
    *("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"),
    *("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"),
)
LINUX = (
    *("#000000", "#aa0000", "#00aa00", "#aa5500", "#0000aa", "#aa00aa", "#00aaaa", "#aaaaaa"),
    *("#555555", "#ff5555", "#55ff55", "#ffff55", "#5555ff", "#ff55ff", "#55ffff", "#ffffff"),
)
PALETTES: Final[Mapping[str, tuple[Palette, ...]]] = {
    ANSI.name: (
        Palette("the Linux console", LINUX, "#aaaaaa", "#000000", brightens=True),
        Palette("xterm, white on black", XTERM, "#e5e5e5", "#000000", brightens=True),
    ),
    ANSI_LIGHT.name: (Palette("xterm, black on white", XTERM, "#000000", "#ffffff", brightens=True),),
}
"""Name of a theme that uses the terminal's colours -> the palettes of terminals for which it is meant (XTerm-col.ad;
drivers/tty/vt/vt.c).
"""
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_BOLD = frozenset({"pending", "failed", "danger", "stale", "marked"})
"""Meanings whose text is bold, unless the theme defines otherwise."""


class Text(NamedTuple):
    """A text as a terminal shows it: its meaning, the name of its background, and both colours as ``#rrggbb``."""

    theme: str
    depth: str
    meaning: str
    ground: str
    ink: str
    paper: str

    @property
    def contrast(self) -> float:
        """The contrast ratio of the text with its background, 1 to 21."""
        return float(Color(self.ink).contrast(self.paper, method="wcag21"))


class Difference(NamedTuple):
    """The difference (CIEDE2000) between the colours of two meanings for a colour-blind reader."""

    theme: str
    depth: str
    blindness: str
    pair: tuple[str, str]
    delta: float


def texts() -> Iterator[Text]:
    """Yield every text on each of its backgrounds, in every theme and colour depth."""
    for theme, (depth, system) in product((DARK, LIGHT), DEPTHS.items()):
        for meaning, ground, ink, paper in _looks(theme):
            yield Text(theme.name, depth, meaning, ground, _rounded(ink, system), _rounded(paper, system))
    for theme in (ANSI, ANSI_LIGHT):
        for palette, meaning in product(PALETTES[theme.name], (*INKS, "foreground", "cursor-foreground")):
            ink = ansi_color(theme, meaning, palette)
            yield Text(theme.name, palette.name, meaning, "background", ink, palette.ground)
    for depth, system in DEPTHS.items():
        for name, paper in CONTEXTS.items():
            _, text = header_look(name, native=False)
            yield Text("the header", depth, "foreground", name, _rounded(text.hex, system), _rounded(paper, system))
    for colors, name in product((LINUX, XTERM), CONTEXTS):
        behind, text = header_look(name, native=True)
        assert behind.ansi is not None
        ink = colors[15 if text.brightness else 0]
        yield Text("the header", "16 colours", "foreground", name, ink, colors[behind.ansi])


def differences() -> Iterator[Difference]:
    """Yield the colour difference of each of `PAIRS`, in the themes that define their own colours."""
    for theme, (depth, system) in product((DARK, LIGHT), DEPTHS.items()):
        for blindness, pair in product(BLINDNESSES, PAIRS):
            first, second = (
                Color(_rounded(theme.variables[each], system)).filter(blindness, method="machado") for each in pair
            )
            delta = first.delta_e(second, method="2000")
            yield Difference(theme.name, depth, BLINDNESSES[blindness], pair, float(delta))


def ansi_color(theme: Theme, meaning: str, palette: Palette) -> str:
    """Return the colour of a meaning, as ``#rrggbb``, in a theme that uses the terminal's colours."""
    name = theme.foreground if meaning == "foreground" else theme.variables[meaning]
    assert name is not None
    if name == "ansi_default":
        return palette.text
    bright = name.startswith("ansi_bright_")
    style = theme.variables.get(f"{meaning}-text-style", "bold" if meaning in _BOLD else "none")
    bright |= palette.brightens and "bold" in style
    return palette.colors[_NAMES.index(name.rpartition("_")[2]) + 8 * bright]


def _looks(theme: Theme) -> Iterator[tuple[str, str, str, str]]:
    """Yield meaning, name of the background, text colour and background colour of each text of a theme."""
    inks = {"foreground": theme.foreground, **{name: theme.variables[name] for name in INKS}}
    grounds = {"background": theme.background, "surface": theme.surface, "panel": theme.panel}
    for (meaning, ink), (ground, paper) in product(inks.items(), grounds.items()):
        assert ink is not None
        assert paper is not None
        yield meaning, ground, ink, paper
    for state in ("cursor", "cursor-blurred"):
        yield "foreground", state, theme.variables[f"{state}-foreground"], theme.variables[f"{state}-background"]


def _rounded(color: str, system: ColorSystem) -> str:
    return TerminalColor.parse(color).downgrade(system).get_truecolor().hex


def main() -> None:
    """Print the text with the lowest contrast, and the pair with the smallest difference, of each theme and depth."""
    worst: dict[tuple[str, str], Text] = {}
    for text in texts():
        known = worst.get((text.theme, text.depth))
        if known is None or text.contrast < known.contrast:
            worst[text.theme, text.depth] = text
    print(f"{'theme':<15}{'colours':<24}{'least contrast':>14}  text")
    for (theme, depth), text in worst.items():
        fails = "" if text.contrast >= LEGIBLE else f"  below {LEGIBLE}"
        print(f"{theme:<15}{depth:<24}{text.contrast:>14.2f}  {text.meaning} on {text.ground}{fails}")
    print(f"\n{'theme':<15}{'colours':<16}{'seen with':<16}{'least difference':>16}  pair")
    least: dict[tuple[str, str, str], Difference] = {}
    for each in differences():
        key = each[:3]
        if key not in least or each.delta < least[key].delta:
            least[key] = each
    for each in least.values():
        fails = "" if each.delta >= APART else f"  below {APART:g}"
        print(f"{each.theme:<15}{each.depth:<16}{each.blindness:<16}{each.delta:>16.1f}  {', '.join(each.pair)}{fails}")


if __name__ == "__main__":
    main()
