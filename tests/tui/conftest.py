"""Fixtures that open the console."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from console.tui import watch
from tests.tui.console_app import Driven, driven, driven_on


@pytest.fixture(autouse=True)
def _without_lint_in_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the console lint the cluster after an hour instead of ten seconds, so that on a busy host no findings appear
    in the pane Now. The test of this row sets a shorter time.
    """
    monkeypatch.setattr(watch, "FIRST_AFTER", 3600.0)


@pytest.fixture
def console(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Driven]:
    """Provide a context manager that opens the console on the fixture `cluster` of the test's module, or on the model
    cluster if the module has none.
    """
    try:
        return driven_on(request.getfixturevalue("cluster"))
    except pytest.FixtureLookupError:
        return driven()


@pytest.fixture
async def it(console: AbstractAsyncContextManager[Driven]) -> AsyncIterator[Driven]:
    """Provide the open console."""
    async with console as opened:
        yield opened
