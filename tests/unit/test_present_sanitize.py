"""Tests of texts from outside: every character that a terminal would interpret is replaced, and widths are right."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.present.text import clean, fit, fit_middle, pad
from widgets import cells
from widgets.cells import ELLIPSIS, cell_width

anything = st.text(st.characters(), max_size=60)


@given(anything, st.integers(2, 80))
def test_what_comes_through_is_printable_and_short(text: str, limit: int) -> None:
    shown = clean(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for char in shown)
    assert not any(
        unicodedata.bidirectional(char) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI") for char in shown
    )


@given(anything)
def test_cleaning_twice_changes_nothing_and_two_texts_that_differ_do_not_look_alike(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    hidden = text + "\u200b"
    assert clean(hidden) != clean(text)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=80))
def test_plain_text_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200fb", "a\\u200fb"),
        ("two\nlines\tand\rmore", "two\\nlines\\tand\\rmore"),
        ("\x9b2J", "\\x9b2J"),
        ("non\xa0breaking", "non\\xa0breaking"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
        ("größe", "größe"),
        ("日本語", "日本語"),
        ("é with two marks e\u0301\u0302", "é with two marks e\u0301\u0302"),
        ("e\u0301\u0302\u0303", "e\u0301\u0302\\u0303"),
        ("\u0301first", "\\u0301first"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("braille\u2800blank", "braille\\u2800blank"),
    ],
)
def test_what_is_invisible_becomes_visible(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(anything, st.integers(0, 40))
def test_a_fitted_text_is_no_wider(text: str, width: int) -> None:
    shown = clean(text)
    assert cell_width(fit(shown, width)) <= width
    assert cell_width(fit_middle(shown, width)) <= width
    assert cell_width(pad(shown, width)) == width or cell_width(shown) > width


@given(st.text(st.sampled_from("abcß日本é_-.…"), max_size=40), st.integers(0, 60))
def test_padding_fills_exactly(text: str, width: int) -> None:
    assert cell_width(pad(text, width)) == width


def test_cuts_show_that_they_cut() -> None:
    assert fit("abcdef", 4) == "abc" + ELLIPSIS
    assert fit("abcd", 4) == "abcd"
    assert fit_middle("team-30.svc-80.orders", 11) == "team-" + ELLIPSIS + "rders"


@given(st.text(st.characters(max_codepoint=0x2FFF), max_size=40))
def test_widths_are_those_that_the_screen_is_drawn_with(text: str) -> None:
    shown = clean(text)
    assert cell_width(shown) == cell_len(shown)


def test_every_character_takes_the_cells_that_it_is_said_to_take() -> None:
    """Columns, cuts and the screen compute the same width for every character of Unicode; of ideographs and syllables
    each 97th is tested.
    """
    alike = (range(0x4E00, 0xA000), range(0xAC00, 0xD7A4), range(0x20000, 0x110000))
    for code in range(0x110000):
        if code % 97 and any(code in each for each in alike):
            continue
        shown = clean("a" + chr(code))
        if shown.isascii():
            continue  # an escape, or plain text
        assert cell_width(shown) == cell_len(shown), hex(code)
        assert sum(map(cell_width, shown)) == cell_width(shown), hex(code)


def test_there_is_one_cleaning_for_rows_and_for_what_draws_them() -> None:
    for code in range(0x3000):
        char = chr(code)
        assert cells.clean(char) == clean(char), hex(code)


@given(st.text(st.sampled_from("a日é\u0301👍🇩🇪가\u0e33ﾞ"), max_size=12), st.integers(0, 12))
def test_a_text_is_as_wide_as_its_characters(text: str, width: int) -> None:
    shown = clean(text)
    assert sum(map(cell_width, shown)) == cell_width(shown)
    assert cell_width(fit(shown, width)) <= width
