"""Test of docs/start.md: if its keys are pressed on the demo, the screen shows the texts that the page promises."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.cli.demo import context_of, demo_options
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import run_in_thread
from console.embedded.cluster_command import cluster_specs
from console.embedded.scenarios.incident import FLAPPING
from console.session.session import Session
from console.tui.app import Console
from screenshots.take import seen

PAGE = Path(__file__).parents[2] / "docs" / "start.md"
NAMED = {"/": "slash", ":": "colon", ".": "full_stop", "?": "question_mark", "Enter": "enter", "Esc": "escape"}


def steps() -> Iterator[tuple[list[str], list[str]]]:
    """Yield, for each row of the page's table, the keys to press and the texts that the screen must then show."""
    for press, shown in re.findall(r"^\| ([^|]*) ?\| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        if press.strip() == "press":
            continue
        keys: list[str] = []
        for is_typed, text, name in re.findall(r"(type )?`([^`]+)`|(Enter|Esc)", press):
            keys += list(text) if is_typed else [NAMED.get(text or name, text or name)]
        yield keys, re.findall(r"`([^`]+)`", shown)


@pytest.mark.parametrize("begins", ["whole", "with a broker down"])
async def test_every_key_shows_what_the_page_says_while_things_go_wrong(begins: str) -> None:
    """The texts are also shown on the cluster of `make demo`, on which a broker goes down and comes back again and
    again, other clients change configs, and each pane polls.
    """
    (spec,) = cluster_specs(demo_parser().parse_args([])).values()
    walk = list(steps())
    assert spec.live
    assert len(walk) == 15
    with run_in_thread(spec) as cluster:
        if begins == "with a broker down":
            cluster.run(lambda c: c.broker_down(FLAPPING))
        context = context_of("incident", cluster.bootstrap, 1)
        with AdminClient(context.settings) as client:
            app = Console(Session(client, context), ConsoleSettings(), contexts=Given([context]))
            async with app.run_test(size=(80, 24)) as pilot:
                for keys, texts in walk:
                    for key in keys:
                        await pilot.press({" ": "space"}.get(key, key))
                    for text in texts:
                        await seen(app, text, pilot.pause)
                await pilot.press("escape")


def demo_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    demo_options(parser)
    return parser
