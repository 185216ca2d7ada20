"""Tests of ``--plain``, the console as lines of text, in a terminal and in a pipe: it draws no screen, and its output
is only text.
"""

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest

from console.contexts.console_settings import read_settings
from console.tui import keymap
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
DEMO = [sys.executable, "-m", "console", "demo", "--still"]
DRAWN = re.compile("[\u2500-\u259f\u2800-\u28ff]")
PANES = ("topics", "groups", "brokers", "configs", "quotas", "acls", "plan", "events", "history", "drift", "usage")
OTHERS = ("overview", "moves", "connectors", "schemas", "tokens", "transactions", "lint")


def surroundings(**more: str) -> Mapping[str, str]:
    """Return the environment variables for a console that runs from this source tree. more: further variables."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def piped(lines: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the demo in ``--plain`` with these lines on standard input; return its result. options: further arguments.
    more: further environment variables.
    """
    return subprocess.run(
        [*DEMO, *options],
        input=lines,
        cwd=ROOT,
        env=surroundings(**more),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def without_controls(text: str) -> bool:
    """Return whether a text has no control characters other than line ends."""
    return not any(unicodedata.category(char) == "Cc" and char not in "\r\n" for char in text)


@pytest.mark.slow
@pytest.mark.takes(8)
@pytest.mark.usefixtures("own_home")
def test_a_trouble_is_heard_understood_mended_and_heard_to_be_gone() -> None:
    command = [*DEMO, "--plain", "--scenario", "incident"]
    with Terminal(command, cwd=ROOT, environment=surroundings(COLUMNS="400"), columns=400) as terminal:
        terminal.wait_for("What is wrong now; ")
        terminal.wait_for("min ISR 3, 2 replicas: ")
        terminal.read_for(0.5)
        row = re.search(r"(\d+)[.:] high: checkout\.gift-cards: min ISR 3", terminal.text)
        assert row is not None, terminal.text
        terminal.send(f"{row[1]}\n")
        terminal.wait_for("the topic has 2 replicas")
        assert "F stages: a min ISR that can be met" in terminal.text
        terminal.send("fix\n")
        terminal.wait_for("the last is: set topic checkout.gift-cards min.insync.replicas=2")
        terminal.send("plan\n")
        terminal.wait_for("1. topic checkout.gift-cards, min.insync.replicas, from 3 (topic) to 2 (topic)")
        terminal.send("check\n")
        terminal.wait_for("checked: 1 entity in 1 request")
        terminal.send("apply\n")
        terminal.wait_for("yes: checks the plan, and sends it")
        terminal.send("what?\n")
        terminal.wait_for("yes: checks the plan, and sends it", times=2)
        terminal.send("yes\n")
        terminal.wait_for("applied: 1 entity in 1 request; change 1")
        terminal.wait_for("gone, high: checkout.gift-cards: min ISR 3, 2 replicas")

        terminal.send("scram set carol SCRAM-SHA-256 password=?\n")
        terminal.wait_for("type it; it is not shown")
        terminal.read_for(0.3)
        terminal.send("a-password-1\n")
        terminal.wait_for("staged: ")
        terminal.send("quit\n")
        terminal.wait_for("1 staged edit is not kept")
        terminal.wait_for("yes: leaves; no: goes back")
        terminal.send("yes\n")
        assert terminal.wait_for_end() == 0
    told = bytes(terminal.written).decode()
    assert without_controls(told)
    assert not DRAWN.search(told)
    assert "a-password-1" not in told


@pytest.mark.slow
@pytest.mark.takes(16)
@pytest.mark.usefixtures("own_home")
def test_every_pane_is_a_numbered_list() -> None:
    """Each pane is printed as a numbered list. In a pipe, the console waits for the work of each line before it reads
    the next.
    """
    steps = [f"{pane}\n1\n" for pane in (*PANES, *OTHERS)]
    done = piped("".join([*steps, "topics\n/payments\n1\nenter\nback\nmore\nkeys\nkeys all\ngraphs\n"]), "--plain")
    assert done.returncode == 0, done.stderr
    assert without_controls(done.stdout)
    assert not DRAWN.search(done.stdout)
    lines = done.stdout.splitlines()
    for view in (*PANES, *OTHERS):
        title = keymap.VIEWS["entities" if view == "configs" else view][0]
        assert any(line == title or line.startswith(f"{title}; ") for line in lines), view
    assert any(line.startswith("1. broker 1") or line.startswith("2. broker 1") for line in lines)
    assert any(line.startswith("Topics; only rows with payments; ") for line in lines)
    assert any(line.startswith("1. checkout.payments, partitions 24, replication 3, ") for line in lines)
    assert "the word enter: open" in lines
    assert any(re.match(r"F or fix: ", line) for line in lines) is False  # the pane does not have this key
    assert any(line.startswith("D or delete: ") for line in lines)


@pytest.mark.slow
@pytest.mark.takes(6)
@pytest.mark.usefixtures("own_home")
def test_a_record_is_read_in_an_editor(tmp_path: Path) -> None:
    """While an editor shows a record, it alone has the terminal: it gets the line that is typed then, and kac gets the
    next one.
    """
    seen, editor = tmp_path / "seen", tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho opened\nread typed\necho "$typed" > {seen}\ncat "$1" >> {seen}\n')
    editor.chmod(0o700)
    command = [*DEMO, "--plain", "--scenario", "quiet"]
    surrounding = surroundings(COLUMNS="400", VISUAL="", EDITOR=str(editor))
    with Terminal(command, cwd=ROOT, environment=surrounding, columns=400) as terminal:
        terminal.wait_for("What is wrong now")
        terminal.send("records checkout.orders limit 3\n")
        terminal.wait_for("kind json")
        terminal.send("1\neditor\n")
        terminal.wait_for("opened")
        terminal.send("now\n")
        terminal.wait_for("the file of the editor is gone")
        terminal.send("E\n")
        terminal.wait_for("opened", times=2)
        terminal.send("a\n")
        terminal.wait_for("the file of the editor is gone", times=2)
        terminal.send("quit\n")
        assert terminal.wait_for_end() == 0
    typed, _, record = seen.read_text().partition("\n")
    assert (typed, json.loads(record)["topic"]) == ("a", "checkout.orders")


@pytest.mark.slow
@pytest.mark.takes(8)
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("mode", ["--plain", ""])
def test_keys_that_interrupt_the_editor_do_not_end_kac(tmp_path: Path, mode: str) -> None:
    r"""Ctrl-C and Ctrl-\ in the editor do not end kac, although the terminal sends their signals to kac too, both in
    --plain and on the screen.
    """
    editor = tmp_path / "editor"
    # "read" fails when a signal comes.
    wait = "until read typed; do :; done"
    editor.write_text(
        f"#!/bin/sh\ntrap 'echo it was interrupted' INT\ntrap 'echo it quits not' QUIT\necho opened\n{wait}\n"
    )
    editor.chmod(0o700)
    command = ["setsid", "--ctty", "--wait", *DEMO, *([mode] if mode else []), "--scenario", "quiet"]
    surrounding = surroundings(COLUMNS="400", VISUAL="", EDITOR=str(editor))
    with Terminal(command, cwd=ROOT, environment=surrounding, columns=400, rows=50) as terminal:
        if mode:
            terminal.wait_for("What is wrong now")
            terminal.send("records checkout.orders limit 3\n")
            terminal.wait_for("kind json")
            terminal.send("1\neditor\n")
        else:
            terminal.wait_for("checkout")
            terminal.send(":records checkout.orders limit 3\r")
            terminal.wait_for("3 records")
            terminal.send("E")
        terminal.wait_for("opened")
        for key, said in (("\x03", "it was interrupted"), ("\x1c", "it quits not")):
            terminal.send(key)
            terminal.wait_for(said)
        terminal.send("a\n")
        terminal.wait_for("the file of the editor is gone")
        # If the editor can't be run, kac has the terminal, and Ctrl-C reaches it again.
        editor.write_text("#!/no/interpreter\n")
        terminal.send("E\n" if mode else "E")
        terminal.wait_for("editor can't be run: No such file or directory")
        terminal.send("\x03" if mode else "q")
        assert terminal.wait_for_end() == 0


@pytest.mark.usefixtures("own_home")
def test_a_pipe_has_no_editor() -> None:
    done = piped("records checkout.orders limit 3\n1\nE\n", "--plain", "--scenario", "quiet", EDITOR="cat")
    assert done.returncode == 0, done.stderr
    assert "an editor needs a terminal, and there is none here" in done.stdout


@pytest.mark.usefixtures("own_home")
def test_what_a_pipe_stages_is_not_kept() -> None:
    lines = (
        "set topic checkout.orders retention.ms=1d\nset topic checkout.orders nonsense=1\n"
        "set topic checkout.orders ret\t\nmark 99\nno such words\nplan\n"
    )
    done = piped(lines, "--plain", "--scenario", "quiet")
    assert done.returncode == 3
    assert "staged: topic checkout.orders retention.ms" in done.stdout
    assert "not done: " in done.stdout
    assert "can follow: retention.ms= " in done.stdout
    assert "there is no row 99 here" in done.stdout
    assert "1. topic checkout.orders, retention.ms, from 7 d (topic) to 1 d (topic), warning" not in done.stdout
    assert "1. topic checkout.orders, retention.ms, from 7 d (topic) to 1 d (topic)" in done.stdout
    assert done.stdout.rstrip().endswith("1 staged edit is not kept\nleft")


@pytest.mark.usefixtures("own_home")
def test_rows_are_sorted_by_the_names_that_are_told() -> None:
    """`sort` accepts the names that kac prints, and the titles of the screen's columns. For a wrong name kac lists the
    right ones, and does not print the pane.
    """
    lines = "topics\nsort partitions\nsort part\nsort nonsense\ngroups\nsort behind\nsort lag\n"
    done = piped(lines, "--plain", "--scenario", "quiet")
    assert done.returncode == 0, done.stderr
    _, *told = re.split(r"^(?:Topics|Groups); .*\n", done.stdout, flags=re.MULTILINE)
    assert len(told) == 6
    opened, by_name, by_title = ([int(each) for each in re.findall(r"partitions (\d+)", part)] for part in told[:3])
    assert by_name == sorted(opened, reverse=True) != opened
    assert by_title == sorted(opened)
    assert "sort by one of: name, partitions, " in told[2]
    # The lag in records and the lag in seconds are two columns.
    assert "sort by one of" not in told[4]
    lags = [int(each.replace(",", "")) for each in re.findall(r"lag ([\d,]+)", told[5])]
    assert len(lags) >= 4
    assert lags == sorted(lags, reverse=True)
    # The lag in seconds is known once the group was read twice.
    with Terminal(
        [*DEMO, "--plain", "--scenario", "quiet"], cwd=ROOT, environment=surroundings(COLUMNS="400")
    ) as terminal:
        terminal.send("groups\n")
        terminal.wait_for("behind")


def test_the_settings_ask_for_lines(own_home: Path) -> None:
    config = own_home / ".config" / "kac" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[settings]\naccessible = true\n")
    done = piped("quit\n", "--scenario", "quiet", XDG_CONFIG_HOME=str(own_home / ".config"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("demo, read and write. help says what can be typed, quit leaves.\n")


@pytest.mark.parametrize("name", ["accessible", "slow_link"])
def test_a_switch_is_true_or_false(name: str) -> None:
    settings, problems = read_settings({name: "yes"}, lambda *_: "config.toml:2")
    assert not getattr(settings, name)
    assert problems == (f"config.toml:2: {name} is true or false, not 'yes'",)
