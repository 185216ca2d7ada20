"""Tests of the command bar: editing, completion, history, the marked place of an error, and secrets that it does not
show.
"""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Paste
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.stage import Stage, shown
from widgets import command_bar
from widgets.row_source import ListRows
from widgets.row_table import RowTable

MASK = "•"
KEYS = ["cleanup.policy", "retention.bytes", "retention.ms"]


def complete(text: str, cursor: int) -> Sequence[command_bar.Candidate]:
    """Return the candidates of completion: for the first word verbs, for the second one `topic`, then config keys."""
    start = text.rfind(" ", 0, cursor) + 1
    word, words = text[start:cursor], text[:start].split()
    choices = {0: ["set ", "show ", "unset "], 1: ["topic "]}.get(len(words), [f"{key}=" for key in KEYS])
    return [
        command_bar.Candidate(start, cursor, choice, choice.strip(), "long", f"help of {choice.strip()}")
        for choice in choices
        if choice.startswith(word) and choice != word
    ]


def highlight(text: str) -> Iterable[tuple[int, int, str]]:
    """Yield (start, end, style) of the first word, as a keyword, and of each number."""
    for match in re.finditer(r"^\w+|\d+", text):
        yield *match.span(), "number" if match[0].isdigit() else "keyword"


def make_bar() -> command_bar.CommandBar:
    histories = {"command": ["set topic a x=1", "show topic b", "set topic b x=2"], "filter": ["svc-8"]}
    return command_bar.CommandBar(highlight=highlight, complete=complete, histories=histories)


def make_table() -> RowTable:
    return RowTable([], ListRows(range(3), lambda row: row, lambda row: []))


def stage() -> Stage:
    return Stage(make_bar, make_table, hear=(command_bar.CommandBar.BarMessage,))


@asynccontextmanager
async def opened(
    mode: Any, text: str = "", *, prompt: str | None = None, size: tuple[int, int] = (60, 10)
) -> AsyncIterator[tuple[Stage, Pilot[Any], command_bar.CommandBar]]:
    """Show the command bar below a table, opened in a mode with this text; yield the app, its pilot and the bar."""
    async with shown(stage(), command_bar.CommandBar, size) as (app, pilot, bar):
        bar.open(mode, text, prompt=prompt)
        await pilot.pause()
        yield app, pilot, bar


def told(app: Stage, kind: type[Message]) -> list[tuple[str, str]]:
    return [
        (m.mode, m.text) for m in app.heard if isinstance(m, kind) and isinstance(m, command_bar.CommandBar.BarMessage)
    ]


async def type_in(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*({" ": "space", "=": "equals_sign", ".": "full_stop"}.get(char, char) for char in text))


# -- open, submit, close -----------------------------------------------------------------------------------------------


async def test_it_opens_with_the_focus_and_gives_it_back() -> None:
    app = stage()
    async with app.run_test(size=(60, 10)) as pilot:
        bar, table = app.query_one(command_bar.CommandBar), app.query_one(RowTable)
        table.focus()
        assert not bar.is_open
        bar.open(command_bar.COMMAND)
        await type_in(pilot, "show it")
        assert app.screen_lines()[0] == " : show it"
        await pilot.press("enter")
        assert told(app, command_bar.CommandBar.Submitted) == [("command", "show it")]
        assert bar.is_open
        await pilot.press("escape")
        assert not bar.is_open
        assert told(app, command_bar.CommandBar.Closed) == [("command", "show it")]
        assert app.focused is table
        bar.open(command_bar.COMMAND)
        await pilot.pause()
        assert app.screen_lines()[0] == " :"


async def test_a_filter_tells_every_change_and_completes_nothing() -> None:
    app = stage()
    async with app.run_test(size=(60, 10)) as pilot:
        app.query_one(command_bar.CommandBar).open(command_bar.FILTER)
        for char in ("s", "e", "backspace"):
            await pilot.press(char)
            await pilot.pause()
        assert app.screen_lines()[:3] == [" / s", "", "▸"]
        assert told(app, command_bar.CommandBar.Changed) == [("filter", "s"), ("filter", "se"), ("filter", "s")]
        await pilot.press("up")
        assert app.query_one(command_bar.CommandBar).text == "svc-8"


async def test_a_secret_is_neither_shown_nor_kept_nor_told_before_enter() -> None:
    async with opened(command_bar.SECRET, prompt="password of alice:") as (app, pilot, bar):
        await type_in(pilot, "hush")
        assert app.screen_lines()[0] == f" password of alice: {MASK * 4}"
        await pilot.press("up")
        await pilot.press("enter")
        await pilot.pause()
        assert told(app, command_bar.CommandBar.Submitted) == [("secret", "hush")]
        assert (bar.text, bar.history("secret")) == ("", ())
        await type_in(pilot, "again")
        await pilot.press("escape")
        assert told(app, command_bar.CommandBar.Changed) == []
        assert told(app, command_bar.CommandBar.Closed) == [("secret", "")]
        assert all("hush" not in entry for mode in ("command", "filter", "secret") for entry in bar.history(mode))
        assert "hush" not in repr(bar) + repr(app.heard)


@pytest.mark.parametrize(
    ("mode", "pasted", "text"),
    [
        (command_bar.COMMAND, "set topic a x=1\nset topic b x=2\n", "set topic a x=1; set topic b x=2"),
        (command_bar.FILTER, "svc\r\n-8\t\x1b[31m", "svc -8 [31m"),
        (command_bar.SECRET, "pa ss\n", "pa ss"),
    ],
)
async def test_what_is_pasted_becomes_one_harmless_line(mode: object, pasted: str, text: str) -> None:
    async with shown(stage(), command_bar.CommandBar, (60, 10)) as (app, pilot, bar):
        bar.open(mode if mode in (command_bar.COMMAND, command_bar.FILTER) else command_bar.SECRET)  # type: ignore[arg-type]
        await pilot.pause()
        app.post_message(Paste(pasted))
        await pilot.pause()
        assert bar.text == text


async def test_a_long_line_is_shifted_so_that_the_cursor_is_seen() -> None:
    async with opened(command_bar.FILTER, "0123456789" * 5, size=(24, 10)) as (app, pilot, _bar):
        assert app.screen_lines()[0] == " / 01234567890123456789"
        await pilot.press("home")
        assert app.screen_lines()[0] == " / 012345678901234567890"
        await pilot.press("end", "x")
        assert app.screen_lines()[0].endswith("56789x")


async def test_what_is_typed_unseen_is_copied_nowhere_and_told_to_nobody_else() -> None:
    app = Stage(make_bar, make_table, hear=(Input.Changed, Input.Submitted, Input.Blurred))
    async with app.run_test(size=(60, 10)) as pilot:
        bar = app.query_one(command_bar.CommandBar)
        bar.open(command_bar.SECRET, prompt="password of alice:")
        await type_in(pilot, "hush")
        await pilot.press("shift+home", "ctrl+c", "ctrl+x")
        assert (bar.text, app.clipboard) == ("hush", "")
        await pilot.press("end", "ctrl+w")
        assert bar.text == ""
        await type_in(pilot, "hush")
        app.query_one(RowTable).focus()
        await pilot.pause()
        bar.open(command_bar.SECRET)
        await pilot.press("enter")
        assert app.heard == []


async def test_what_was_copied_from_the_cluster_becomes_one_harmless_line() -> None:
    async with opened(command_bar.COMMAND, "show ") as (app, pilot, bar):
        app.copy_to_clipboard("evil\x1b[31m\u202e\nname\x07")
        await pilot.press("ctrl+v")
        assert bar.text == "show evil[31m; name"


async def test_a_paste_of_any_size_is_taken_and_typed_on() -> None:
    async with opened(command_bar.COMMAND) as (app, pilot, bar):
        app.post_message(Paste("x" * 100_000))
        await pilot.press("7")
        assert bar.text == "x" * 100_000 + "7"
        assert app.screen_lines()[0].endswith("xx7")


async def test_wide_characters_and_marks_keep_the_line_in_its_width() -> None:
    async with opened(command_bar.FILTER, "日本" * 10 + "e\u0301❤\ufe0f👍🏽" * 3, size=(24, 10)) as (app, pilot, bar):
        for key in (*["left"] * 30, "x", "home", "日", "end", *["backspace"] * 40):
            await pilot.press(key)
            assert app.widths() == {24}
        assert bar.text == ""


async def test_a_long_prompt_leaves_room_for_the_text() -> None:
    prompt = f"sasl.jaas.config of topic {'x' * 249}:"
    async with opened(command_bar.SECRET, prompt=prompt, size=(50, 10)) as (app, pilot, _):
        await type_in(pilot, "hush")
        assert app.screen_lines()[0] == f" sasl.jaas.config of topic xxx… {MASK * 4}"


async def test_the_cursor_is_seen_in_a_terminal_that_became_narrow() -> None:
    app = stage()
    async with app.run_test(size=(60, 10)) as pilot:
        app.query_one(command_bar.CommandBar).open(command_bar.FILTER, "0123456789" * 5)
        await pilot.resize_terminal(24, 10)
        await pilot.pause()
        assert app.screen_lines()[0] == " / 01234567890123456789"


async def test_the_terminals_own_cursor_is_in_the_line() -> None:
    async with shown(Stage(make_table, make_bar), command_bar.CommandBar, (60, 10)) as (app, pilot, bar):
        for text, row in (("show it", 9), ("s", 6), ("show it", 9)):
            bar.open(command_bar.COMMAND, text)
            await pilot.pause()
            assert f" : {text}" == app.screen_lines()[row]
            assert app.cursor_position == bar.query_one(command_bar.BarInput).cursor_screen_offset
            assert app.cursor_position.y == row


async def test_a_click_puts_the_cursor_there() -> None:
    async with opened(command_bar.COMMAND, "show it") as (app, pilot, bar):
        await pilot.click(offset=(4, 0))
        await pilot.press("x")
        assert bar.text == "sxhow it"
        await pilot.hover(command_bar.BarInput)
        assert app.screen._pointer_shape == "default"


# -- highlighting, completing, errors ----------------------------------------------------------------------------------


async def test_words_are_highlighted_as_the_owner_says() -> None:
    async with opened(command_bar.COMMAND, "set 42") as (app, _pilot, bar):
        bold = {
            segment.text
            for segment in app.screen._compositor.render_strips()[0]
            if segment.style and segment.style.bold
        }
        assert "set" in {text.strip() for text in bold}
        colors = {s.text.strip(): s.style.color for s in app.screen._compositor.render_strips()[0] if s.style}
        assert colors["42"] == bar.get_component_rich_style("bar--number").color


async def test_candidates_stand_under_the_word_with_the_help_of_the_first() -> None:
    app = stage()
    async with app.run_test(size=(60, 10)) as pilot:
        app.query_one(command_bar.CommandBar).open(command_bar.COMMAND, "set topic ret")
        await pilot.pause()
        assert app.screen_lines()[:4] == [
            " : set topic ret",
            "             retention.bytes=  long",
            "             retention.ms=     long",
            "  help of retention.bytes=",
        ]


async def test_tab_goes_round_and_typing_goes_on_from_there() -> None:
    async with opened(command_bar.COMMAND, "set topic ret") as (app, pilot, bar):
        texts = []
        for key in ["tab", "tab", "tab", "shift+tab", "shift+tab"]:
            await pilot.press(key)
            texts.append(bar.text)
        first, second = "set topic retention.bytes=", "set topic retention.ms="
        assert texts == [first, second, first, second, first]
        assert [line.strip()[:1] for line in app.screen_lines()[1:3]] == [">", "r"]
        await pilot.press("escape")
        assert (bar.text, bar.is_open) == ("set topic ret", True)
        await pilot.press("shift+tab")
        await type_in(pilot, "7")
        assert bar.text == "set topic retention.ms=7"


async def test_a_single_candidate_is_taken_at_once_and_right_takes_the_first() -> None:
    async with opened(command_bar.COMMAND, "un") as (_, pilot, bar):
        await pilot.press("tab")
        assert bar.text == "unset "
        await pilot.press("right", "right")
        assert bar.text == "unset topic cleanup.policy="
        await pilot.press("left", "right")
        assert bar.text == "unset topic cleanup.policy="


async def test_a_window_of_many_candidates_follows_the_chosen_one() -> None:
    many = [command_bar.Candidate(0, 0, f"topic-{number:02}") for number in range(20)]
    app = Stage(lambda: command_bar.CommandBar(complete=lambda text, cursor: many))
    async with app.run_test(size=(40, 12)) as pilot:
        app.query_one(command_bar.CommandBar).open(command_bar.COMMAND)
        await pilot.press(*["tab"] * (command_bar.ROWS + 2))
        lines = app.screen_lines()
        assert lines[1 : command_bar.ROWS + 1] == [
            f"{'  >' if number == 7 else '   '}topic-{number:02}" for number in range(2, 8)
        ]
        assert lines[command_bar.ROWS + 1].endswith("8/20")


async def test_an_error_stands_under_its_column_until_the_text_changes() -> None:
    async with opened(command_bar.COMMAND, "set topic a bad=1", size=(40, 10)) as (app, pilot, bar):
        bar.show_error("unknown key 'bad'", 12)
        await pilot.pause()
        assert app.screen_lines()[:2] == [" : set topic a bad=1", f"{'':15}^ unknown key 'bad'"]
        bar.show_error("no such key on this broker", 17)
        await pilot.pause()
        assert app.screen_lines()[1:3] == [f"{'':20}^", " no such key on this broker"]
        bar.show_error("x [red]y", None)
        await pilot.pause()
        assert app.screen_lines()[1] == " x [red]y"
        await pilot.press("backspace")
        assert "red" not in "".join(app.screen_lines())


async def test_candidates_and_errors_follow_the_cursor_and_the_shifted_line() -> None:
    async with opened(command_bar.COMMAND, "set topic ret", size=(24, 10)) as (app, pilot, bar):
        await pilot.press("home")
        assert [line.split()[0] for line in app.screen_lines()[1:4]] == ["set", "show", "unset"]
        bar.open(command_bar.COMMAND, "x" * 40)
        await pilot.pause()
        bar.show_error("no", 25)
        await pilot.pause()
        assert app.screen_lines()[1] == f"{'':8}^ no"
        await pilot.press("home")
        assert app.screen_lines()[1] == f"{'':19}no ^"
        await pilot.press("end")
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert app.screen_lines()[1] == f"{'':28}^ no"
        await pilot.resize_terminal(24, 10)
        await pilot.pause()
        assert app.screen_lines()[1] == f"{'':8}^ no"


async def test_a_candidate_that_stands_there_already_is_taken_back_once() -> None:
    app = Stage(
        lambda: command_bar.CommandBar(
            complete=lambda text, cursor: [command_bar.Candidate(0, 3, "set"), command_bar.Candidate(0, 3, "show")]
        )
    )
    async with app.run_test(size=(40, 12)) as pilot:
        bar = app.query_one(command_bar.CommandBar)
        bar.open(command_bar.COMMAND, "set")
        await pilot.press("tab", "escape")
        assert (bar.text, bar.is_open) == ("set", True)
        await pilot.press("escape")
        assert not bar.is_open


# -- history -----------------------------------------------------------------------------------------------------------


async def test_up_and_down_look_for_what_begins_so() -> None:
    async with opened(command_bar.COMMAND, "set") as (_, pilot, bar):
        texts = []
        for key in ["up", "up", "up", "down", "down", "down"]:
            await pilot.press(key)
            texts.append(bar.text)
        newest, oldest = "set topic b x=2", "set topic a x=1"
        assert texts == [newest, oldest, oldest, newest, "set", "set"]
        await pilot.press("up", "enter")
        assert bar.history("command")[-1] == newest
        assert len(bar.history("command")) == 3


@given(st.lists(st.sampled_from(["a", "ab", "b", "ba", ""]), max_size=8), st.sampled_from(["", "a", "b", "x"]))
def test_looking_back_visits_what_begins_so_and_returns_to_what_was_typed(entries: list[str], typed: str) -> None:
    history = command_bar.LineHistory()
    for entry in entries:
        history.add(entry)
    fitting = [entry for entry in history.entries if entry.startswith(typed)]
    shown, seen = typed, []
    while (found := history.older(shown)) is not None:
        assert found != shown
        seen.append(shown := found)
    assert set(seen) == set(fitting) - {typed} | (set(seen) & {typed})
    back = []
    while (found := history.newer(shown)) is not None:
        back.append(shown := found)
    assert shown == typed
    assert not seen or back[-1] == typed


# -- editing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        (["ctrl+w"], "set topic a ", 12),
        (["ctrl+u"], "", 0),
        (["home", "delete"], "et topic a x.y=1", 0),
        (["ctrl+a", "ctrl+k"], "", 0),
        (["alt+b", "alt+b", "ctrl+k"], "set topic a x.", 14),
        (["home", "alt+f", "ctrl+u"], "topic a x.y=1", 0),
        (["home", "alt+d"], "topic a x.y=1", 0),
        (["alt+backspace"], "set topic a x.y=", 16),
        (["home", "end", "left", "backspace"], "set topic a x.y1", 15),
        (["ctrl+left", "ctrl+right", "ctrl+h"], "set topic a x.y=", 16),
        (["ctrl+b", "ctrl+b", "ctrl+f", "ctrl+d"], "set topic a x.y=", 16),
        (["alt+left", "alt+right", "ctrl+e", "x"], "set topic a x.y=1x", 18),
        (["space", "space", "ctrl+w"], "set topic a ", 12),
        (["shift+left", "shift+left", "2"], "set topic a x.y2", 16),
        (["shift+home", "ctrl+x", "ctrl+v", "ctrl+v"], "set topic a x.y=1" * 2, 34),
    ],
)
async def test_lines_are_edited_as_in_a_shell(keys: list[str], text: str, cursor: int) -> None:
    async with opened(command_bar.COMMAND, "set topic a x.y=1") as (_, pilot, bar):
        await pilot.press(*keys)
        assert (bar.text, bar.query_one(command_bar.BarInput).cursor_position) == (text, cursor)
