"""How tests drive the console: what does not come is said with what is on the screen instead."""

from __future__ import annotations

import pytest

from tests.tui import console_app
from tests.tui.console_app import Driven


async def test_what_does_not_come_is_said_with_the_screen(monkeypatch: pytest.MonkeyPatch, it: Driven) -> None:
    with monkeypatch.context() as impatient:
        impatient.setattr(console_app, "PATIENCE", 0.05)
        with pytest.raises(AssertionError, match=r"(?s)^'no such text' did not come in 0.05 s:\n.*payments"):
            await it.shows("no such text")
        with pytest.raises(AssertionError, match=r"(?s)^a mark did not come in 0.05 s:\n.*payments"):
            await it.until(lambda: "*" in it.line("no such line"), "a mark")
