"""Tests of a screen's workers: one that is cancelled before its first step runs no code, and leaves no coroutine that
was never awaited.
"""

import ast
import gc
import warnings
from functools import partial
from pathlib import Path

import pytest
from textual.app import App

from console.tui.reading import start

ROOT = Path(__file__).parents[2]


async def noting(began: list[int]) -> None:
    began.append(1)


async def test_a_worker_that_is_cancelled_before_its_first_step_leaves_nothing() -> None:
    began: list[int] = []
    app: App[None] = App()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with app.run_test():
            start(app, partial(noting, began), group="g", name="n")
            app.workers.cancel_all()
        gc.collect()
    assert began == []
    assert [str(each.message) for each in caught if "never awaited" in str(each.message)] == []


async def test_a_worker_works() -> None:
    began: list[int] = []
    app: App[None] = App()
    async with app.run_test():
        await start(app, partial(noting, began), group="g", name="n").wait()
    assert began == [1]


@pytest.mark.parametrize("room", ["console", "widgets"])
def test_workers_are_started_in_one_place(room: str) -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / room).rglob("*.py"))
        if "run_worker" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "run_worker"
    ]
    assert found == (["console/tui/reading.py"] if room == "console" else [])
