"""The open console that most tests of this folder begin with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from console.tui import watch
from tests.tui.console_app import Driven, driven, driven_on


@pytest.fixture(autouse=True)
def _without_lint_in_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Now counts findings after ten seconds, which a test lasts only on a busy host: they have a row only in the tests
    of that row."""
    monkeypatch.setattr(watch, "FIRST_AFTER", 3600.0)


@pytest.fixture
def console(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Driven]:
    """The console on the cluster of a module that has a fixture of that name, else over the model cluster."""
    try:
        return driven_on(request.getfixturevalue("cluster"))
    except pytest.FixtureLookupError:
        return driven()


@pytest.fixture
async def it(console: AbstractAsyncContextManager[Driven]) -> AsyncIterator[Driven]:
    """The open console."""
    async with console as opened:
        yield opened
