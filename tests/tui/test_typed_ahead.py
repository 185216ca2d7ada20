"""Tests of each sequence of keys in the docs: typed to a terminal in one write, it has the same effect as typed key by
key.
"""

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.tui.keymap import EVERYWHERE, KEYS, PANE_KEYS
from screenshots import take
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal
from widgets.lean_driver import EscapeKeys

ROOT = Path(__file__).parents[2]
WRITE_DOWN = "\x1b[24~"
"""The bytes of the key F12, which writes the screen to the file."""
NAMED = {"slash": "/", "colon": ":", "enter": "\r", "escape": "\x1b", "minus": "-", "tab": "\t", "plus": "+"}
CHANGES_BY_ITSELF = re.compile(r"\d\d:\d\d(:\d\d)?|127\.0\.0\.1:\d+|\d+ ms|▸")
STEPS = re.compile(r"(?<=[:/])[^\r\t\x1b]+|[^\r\t\x1b]|[\r\t\x1b]")
HOME = "\x1b\x1b\x1b2\x1bg"
"""The keys that lead from the end of any sequence to the state in which the next one begins."""
SET = ":set topic checkout.orders retention.ms=1d\r"


def _pictures() -> list[str]:
    """Return the keys for the README's pictures, without the steps from the conflict with another client on."""
    typed = ""
    for name, steps in take.WALKS["incident"].items():
        if name == "conflict":
            break
        for step in steps:
            kind, _, text = step.partition(":")
            typed += text if kind == "text" else "" if kind == "see" else NAMED.get(step, step)
    return [typed]


def _keys() -> list[str]:
    """Return, for each key of docs/keys.md and each pane that has it, the keys that open the pane, move the cursor
    down and press this key. A key of all panes is pressed in one pane only. Keys that end the console, and those
    that wait for text, are left out.
    """
    walks = []
    for number, pane in enumerate(PANE_KEYS[:-2], 1):  # the last ones, Now and the events, change by the clock
        names = {"configs": "entities"}
        for key in KEYS:
            first = key.keys.split(",")[0]
            typed = NAMED.get(first, first)
            here = names.get(pane, pane) in key.where or (EVERYWHERE in key.where and number == 2)
            if here and len(typed) == 1 and key.id not in ("quit", "command", "filter", "pause"):
                walks.append(f"{number % 10}j{typed}")
    return walks


WALKS = [
    *(
        "/gift\r\r",
        "/gift\r\rjjd",
        "/carts\r\r\x1b4j",
        "/carts\r\r\r\x1bd\x1b",
        f"{SET}7",
        f"{SET}7jx",
        f"{SET}7cAy2",
        f"{SET}u:redo\r7",
        "2/stock\rx\x1b6",
    ),
    *(":quotas alice\rjjf", "4jje5MB\x1b", "3/broker\r\r:unset log.retention.ms\r7", "2jj\r\t\t\x1b-"),
    *(
        ":set broker 1 ssl.keystore.password=?\rhidden\r7",
        "2  :set retention.ms=2d\r7",
        ":topics stock\r\rjj\r",
        "1j\rjj\r\x1b\x1b5",
    ),
    *(":set topic checkout.orders reten\t1d\r7", "2NNj\r", "?\x1b6j\r", "\x10quota\rj"),
    *_pictures(),
    *_keys(),
]


class Typist:
    """A console in a terminal, and the file to which it writes its screen."""

    def __init__(self, folder: Path) -> None:
        self._into = folder / "shown.jsonl"
        self._seen = 0
        environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(folder), "TZ": "UTC"}
        environment["KAC_LAKE"] = "/nowhere"
        command = [sys.executable, "-m", "tests.tui.typed_console", str(self._into)]
        self.terminal = Terminal(command, cwd=ROOT, environment=environment)

    def shown(self) -> dict[str, object]:
        """Wait until all work is done; return the content of the screen, without the values that change by
        themselves.
        """
        self.terminal.send(WRITE_DOWN)
        deadline = time.monotonic() + PATIENCE
        while not self._into.exists() or self._into.read_text().count("\n") <= self._seen:
            self.terminal.read_for(0.02)
            assert time.monotonic() < deadline, self.terminal.text[-2000:]
        last = self._into.read_text().splitlines()[self._seen]
        self._seen += 1
        return dict(json.loads(CHANGES_BY_ITSELF.sub("…", last)))

    def at_once(self, keys: str) -> dict[str, object]:
        """Type all keys in one write; return what the screen then shows."""
        self.terminal.send(keys)
        return self.shown()

    def slowly(self, keys: str) -> dict[str, object]:
        """Type key by key, each after the work of the one before is done; return what the screen then shows. Text for
        an open line of input is typed in one write.
        """
        shown: dict[str, object] = {}
        for step in STEPS.findall(keys):
            self.terminal.send(step)
            shown = self.shown()
        return shown


@pytest.mark.slow
@pytest.mark.parametrize("walks", [WALKS[::6], pytest.param(WALKS, marks=pytest.mark.long)], ids=["some", "all"])
def test_a_walk_typed_in_one_write_does_what_it_does_slowly(tmp_path: Path, walks: Sequence[str]) -> None:
    folders = [tmp_path / way for way in ("hasty", "patient")]
    for folder in folders:
        folder.mkdir()
    hasty, patient = map(Typist, folders)
    with hasty.terminal, patient.terminal:
        for one in (hasty, patient):
            one.terminal.wait_for("checkout.carts")
            one.shown()
        for keys in walks:
            shown, expected = hasty.at_once(keys), patient.slowly(keys)
            deadline = time.monotonic() + PATIENCE
            while shown != expected and time.monotonic() < deadline:
                # Background reads may end at any time.
                shown, expected = hasty.shown(), patient.shown()
            print(f"{keys!r:.70}", flush=True)
            assert (keys, shown) == (keys, expected)
            for one in (hasty, patient):
                one.at_once(HOME)


@pytest.mark.parametrize(
    ("read", "keys"),
    [
        (["\x1b7"], ["escape", "7"]),
        (["\x1b:se"], ["escape", "colon", "s", "e"]),
        (["\x1b\r\x1bj"], ["escape", "enter", "escape", "j"]),
        (["7\x1b\x1b4"], ["7", "escape", "escape", "4"]),
        (["\x1b", "4"], ["escape", "4"]),
        (["\x1b", "[A"], ["up"]),
        (["\x1b[A\x1b[24~q"], ["up", "f12", "q"]),
        (["\x1bb4", "\x1b", "f"], ["alt+b", "4", "alt+f"]),
        (["\x1b[200~a b\x1b[201~\x1b2"], [None, "escape", "2"]),
    ],
)
def test_esc_is_a_key_of_its_own_in_a_burst(read: list[str], keys: list[str | None]) -> None:
    parser = EscapeKeys()
    assert [getattr(event, "key", None) for data in read for event in parser.feed(data)] == keys
