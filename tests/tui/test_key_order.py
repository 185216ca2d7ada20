"""Tests of keys that are typed ahead: each acts on the screen as it is after the key before it, and arrives even if
waiting for that key's work fails.
"""

import asyncio
import logging

import pytest
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from console.tui.key_order import KeysInOrder
from tests.support.patience import PATIENCE

HEIGHT = 5
TIMES = 20


class Made(Widget):
    """A widget that a worker adds to the screen."""


class Hands(Widget, can_focus=True):
    """A widget in which the key `a` starts a worker that adds another widget, and the key `b` notes the height of that
    widget.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heights: asyncio.Queue[int] = asyncio.Queue()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key == "a":
            self.app.run_worker(self._mount())
        else:
            self.heights.put_nowait(self.app.query_one(Made).size.height)

    async def _mount(self) -> None:
        await self.app.query_one(Vertical).mount(Made())


class Mounting(KeysInOrder[None]):
    """An app with many widgets, as many as in a pane."""

    CSS = f"Hands {{ height: 1 }} Made {{ height: {HEIGHT} }}"

    def compose(self) -> ComposeResult:
        yield Hands()
        yield Vertical()
        yield from (Static(str(number)) for number in range(20))

    def is_busy(self, event: events.Event) -> bool:
        return any(not each.is_finished for each in self.workers)


class Line(KeysInOrder[None]):
    """An app with a line of typed text. is_full: an event that is set when the line is `abc`."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Input()

    def on_input_changed(self, message: Input.Changed) -> None:
        if message.value == "abc":
            self.is_full.set()


def type_in(app: KeysInOrder[None], keys: str) -> None:
    """Send keys to the app without pauses."""
    for key in keys:
        event = events.Key(key, key)
        event.set_sender(app)
        app.post_message(event)


async def test_a_key_finds_the_widgets_of_the_one_before_it_at_their_places() -> None:
    app = Mounting()
    async with app.run_test():
        hands = app.query_one(Hands)
        hands.focus()
        for _ in range(TIMES):
            type_in(app, "ab")
            assert await asyncio.wait_for(hands.heights.get(), PATIENCE) == HEIGHT
            await app.query_one(Made).remove()


async def test_keys_arrive_although_the_wait_before_them_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_pump: object) -> bool:
        raise AttributeError("ready_event")

    app = Line()
    async with app.run_test():
        app.query_one(Input).focus()
        monkeypatch.setattr("console.tui.key_order.waits", fails)
        type_in(app, "abc")
        await asyncio.wait_for(app.is_full.wait(), PATIENCE)
    assert (caplog.records[0].name, caplog.records[0].levelno) == ("console.tui.key_order", logging.ERROR)
