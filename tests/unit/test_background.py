"""Tests that kac detects a light terminal: from the environment, the terminal's answer, or the user's options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.contexts.console_settings import ConsoleSettings, with_theme
from themes import ANSI_LIGHT, DARK, LIGHT, suitable
from widgets.background import ASK, Listener, from_environment, is_light, may_be_asked

WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
BLACK = "\x1b]11;rgb:0000/0000/0000\x07"


@pytest.mark.parametrize(
    ("told", "light"),
    [
        ("0;15", True),
        ("15;0", False),
        ("0;default;7", True),
        ("12;8", False),
        ("", None),
        ("x;y", None),
        ("0;231", None),
    ],
)
def test_colorfgbg(told: str, light: bool | None) -> None:
    assert from_environment({"COLORFGBG": told}) is light


@pytest.mark.parametrize(
    ("answer", "light"),
    [
        ("rgb:ffff/ffff/ffff", True),
        ("rgb:fd/f6/e3", True),
        ("rgb:1e1e/1e1e/2e2e", False),
        ("rgba:ffff/ffff/ffff/ffff", True),
        ("#ffffff", None),
    ],
)
def test_what_a_terminal_answers(answer: str, light: bool | None) -> None:
    assert is_light(answer) is light


def test_who_is_asked() -> None:
    assert may_be_asked({"TERM": "xterm-256color"})
    assert may_be_asked({"TERM": "screen-256color", "TMUX": "/tmp/tmux"})
    assert not may_be_asked({"TERM": "linux"})
    assert not may_be_asked({"TERM": "screen"})
    assert ASK.startswith("\x1b]11;?")


@given(st.text("aj\r4", max_size=4), st.text("aj\r4", max_size=4), st.sampled_from([WHITE, BLACK]), st.data())
def test_what_is_typed_meanwhile_passes(before: str, behind: str, answer: str, data: st.DataObject) -> None:
    sent, listener, typed = before + answer + behind, Listener(), ""
    while sent:
        size = data.draw(st.integers(1, len(sent)))
        typed += listener.feed(sent[:size])
        sent = sent[size:]
    assert typed == before + behind
    assert listener.answer is (answer == WHITE)


def test_escape_is_a_key_also_while_an_answer_is_awaited() -> None:
    listener = Listener()
    assert listener.feed("j\x1b") == "j"
    assert listener.rest() == "\x1b"
    assert listener.feed("\x1b[A") == "\x1b[A"
    assert listener.rest() == ""


def test_an_answer_in_two_pieces_and_a_second_one_are_no_keys() -> None:
    listener = Listener()
    assert listener.feed(WHITE[:9]) == ""
    assert listener.rest() == ""
    assert listener.feed(f"{WHITE[9:]}x") == "x"
    assert listener.answer is True
    listener = Listener()
    assert listener.feed(WHITE) == ""
    assert listener.feed(f"j{BLACK}k\x1b") == "jk\x1b"
    assert listener.answer is True


def test_which_theme() -> None:
    def shown(wanted: str | None, is_light: bool | None, colors: str | None = "truecolor") -> str:
        return suitable(wanted, color_system=colors, no_color=False, is_light=is_light)

    assert shown(None, is_light=True) == LIGHT.name
    assert shown(None, is_light=False) == shown(None, is_light=None) == DARK.name
    assert shown("dark", is_light=True) == DARK.name
    assert shown("light", is_light=True, colors="standard") == ANSI_LIGHT.name


def test_the_option_is_before_the_variable_and_that_before_the_settings() -> None:
    settings = ConsoleSettings(theme="dark")
    assert with_theme(settings, {}, None) == (settings, "")
    assert with_theme(settings, {"KAC_THEME": "light"}, None)[0].theme == "light"
    assert with_theme(settings, {"KAC_THEME": "light"}, "ansi")[0].theme == "ansi"
    assert with_theme(settings, {"KAC_THEME": "pink"}, None) == (
        settings,
        "KAC_THEME is one of dark, light, ansi, not 'pink'",
    )
    assert with_theme(settings, {}, "pink")[1].startswith("--theme is one of")
