"""Fixtures that open the console."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from console.tui import watch
from tests.tui.console_app import Driven, driven, driven_on


@pytest.fixture(autouse=True)
def _without_lint_in_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lint start after an hour instead of ten seconds, so that no findings appear in Now on a busy host. The test
    of that row sets a shorter time.
    """
    monkeypatch.setattr(watch, "FIRST_AFTER", 3600.0)


@pytest.fixture
def console(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Driven]:
    """A context manager that opens the console on the module's fixture `cluster`, else on the model cluster."""
    try:
        return driven_on(request.getfixturevalue("cluster"))
    except pytest.FixtureLookupError:
        return driven()


@pytest.fixture
async def it(console: AbstractAsyncContextManager[Driven]) -> AsyncIterator[Driven]:
    """The open console."""
    async with console as opened:
        yield opened
