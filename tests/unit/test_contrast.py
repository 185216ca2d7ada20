"""Tests that texts in all themes are legible, and that colour-blind people can distinguish the colours' meanings."""

from itertools import combinations

import pytest
from coloraide import Color
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import contrast
from themes import ANSI, ANSI_LIGHT, DARK, LIGHT, THEMES, header_look


def test_every_text_is_legible_and_what_must_not_be_confused_is_told_apart() -> None:
    faint = [(text, round(text.contrast, 2)) for text in contrast.texts() if text.contrast < contrast.LEGIBLE]
    assert not faint
    near = [(each, round(each.delta, 1)) for each in contrast.differences() if each.delta < contrast.APART]
    assert not near
    # In the sixteen colours of a terminal, only the signs are certain to differ.
    for first, second in contrast.PAIRS:
        assert contrast.SIGNS.get(first) != contrast.SIGNS.get(second)
    assert all(one != other for one, other in combinations(contrast.SIGNS.values(), 2))


def test_every_theme_depth_and_colour_is_looked_at() -> None:
    seen = {(text.theme, text.depth) for text in contrast.texts()}
    own = {(theme.name, depth) for theme in (DARK, LIGHT) for depth in contrast.DEPTHS}
    ansi = {(theme.name, each.name) for theme in (ANSI, ANSI_LIGHT) for each in contrast.PALETTES[theme.name]}
    assert seen == own | ansi | {("the header", depth) for depth in (*contrast.DEPTHS, "16 colours")}
    assert {theme.name for theme in THEMES} == {name for name, _ in own | ansi}
    for theme in THEMES:
        colored = {
            name for name in theme.variables if not name.startswith(("cursor-", "ansi-")) and "style" not in name
        }
        assert colored == set(contrast.INKS)


@given(st.integers(0, 0xFFFFFF).map("#{:06x}".format))
def test_any_colour_of_a_context_has_a_legible_header(color: str) -> None:
    ground, text = header_look(color, native=False)
    assert Color(text.hex).contrast(ground.hex, method="wcag21") >= contrast.LEGIBLE


@pytest.mark.parametrize(
    ("first", "second", "delta"),
    [
        # Sharma, Wu and Dalal: The CIEDE2000 Color-Difference Formula (2005), from table 1.
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
        ((50.0, 2.5, 0.0), (50.0, 3.2592, 0.335), 1.0),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
    ],
)
def test_differences_are_those_of_the_paper(
    first: tuple[float, float, float], second: tuple[float, float, float], delta: float
) -> None:
    one, other = (Color("lab-d65", list(values)) for values in (first, second))
    assert one.delta_e(other, method="2000") == pytest.approx(delta, abs=1e-4)


def test_what_a_dark_red_on_green_is_to_a_protanope() -> None:
    """The simulated colour equals the one that follows from the matrix of Machado, Oliveira and Fernandes (2009) for
    severity 1.0, in linear light.
    """
    seen = Color("srgb-linear", [1.0, 0.0, 0.0]).filter("protan", method="machado")
    assert seen.convert("srgb-linear").coords() == pytest.approx([0.152286, 0.114503, -0.003882], abs=1e-5)


def test_rounding_is_that_of_the_screen() -> None:
    """In 256 colours, the dark theme's backgrounds are dark. They are the colours to which Rich rounds the theme's,
    because Textual draws with Rich.
    """
    dark = {text.paper for text in contrast.texts() if text.theme == DARK.name and text.depth == "256 colours"}
    assert DARK.background not in dark
    assert all(Color(paper).luminance() < 0.12 for paper in dark)
