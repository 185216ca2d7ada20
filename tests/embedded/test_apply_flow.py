"""Every front end × a warning, a conflict and nobody to ask: all go one way (console.session.apply_flow)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from textual.pilot import Pilot

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Fault, Meanwhile
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.embedded.state import ClusterState
from console.model.config import topic_resource
from console.plan.edits import SetConfig
from console.plan.risk_rules import NAMES
from console.session.applying import apply_plan
from console.session.session import Session
from console.session.terminal_front import Terminal
from console.shell.line import Line
from console.shell.shell import DONE, FAILED, Shell
from console.tui.app import Console
from tests.tui.console_app import Driven

ROOT = Path(__file__).parents[2]
ORDERS, OTHERS = topic_resource("orders"), topic_resource("others")
UNCLEAN, RETENTION = "unclean.leader.election.enable", "retention.ms"
RISK = "unclean-election"
DAY = "86400000"
ALTER = "incremental_alter_configs"


class Ran(NamedTuple):
    code: int
    out: str
    complaints: str


Kac = Callable[..., Ran]


def put_topic(name: str, cluster: EmbeddedCluster) -> None:
    """One partition on both brokers."""
    cluster.state.put_topic(new_topic(name, striped([1, 2], 1, 2), [1, 2]))


@pytest.fixture(scope="module")
def running() -> Iterator[ThreadedCluster]:
    with run_in_thread(ClusterSpec(brokers=2)) as started:
        for name in ("orders", "others"):
            started.call(partial(put_topic, name))
        yield started


@pytest.fixture
def cluster(running: ThreadedCluster) -> Iterator[ThreadedCluster]:
    running.call(lambda c: (c.state.replace_config(ORDERS, {}), c.state.replace_config(OTHERS, {})))
    yield running
    running.call(lambda c: c.faults.clear())


@pytest.fixture
def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> Kac:
    def run(command: str, *arguments: str) -> Ran:
        code = cli.run([command, "-b", cluster.bootstrap, *arguments])
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run


def own(cluster: ThreadedCluster, key: str) -> str | None:
    return cluster.call(lambda c: c.state.configs.get(ORDERS, {}).get(key))


class Front(NamedTuple):
    """A front end that has a command line. words: of a change of a key. yes: how its hint
    writes the flag that answers whether to apply at all; ``""`` where it does not ask."""

    name: str
    words: Callable[[Path, str, str], list[str]]
    yes: str = ""


def by_file(folder: Path, key: str, value: str) -> list[str]:
    file = folder / "wanted.yaml"
    file.write_text(f'version: 1\ntopics:\n  orders:\n    configs:\n      {key}: "{value}"\n')
    return ["apply", "-f", str(file)]


FRONTS = [
    Front("run", lambda _, key, value: ["run", "-e", f"set topic orders {key}={value}; apply"], yes="apply --yes"),
    Front("noun", lambda _, key, value: ["topics", "--alter", "--topic", "orders", "--config", f"{key}={value}"]),
    Front(
        "configs",
        lambda _, key, value: ["configs", "--alter", "--topic", "orders", "--add-config", f"{key}={value}"],
    ),
    Front("file", by_file, yes="--yes"),
]


def with_flags(words: list[str], *flags: str) -> list[str]:
    """Where a front end has its flags: in the language behind the verb, else behind the rest."""
    if words[0] == "run":
        return [*words[:-1], " ".join((words[-1], *flags))]
    return [*words, *flags]


@pytest.fixture(params=FRONTS, ids=lambda front: front.name)
def front(request: pytest.FixtureRequest) -> Front:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Somebody at the terminal, who gives these answers in their order."""
    given: list[str] = []

    async def line(_self: Terminal, prompt: str) -> str:
        assert given, f"nobody expected to be asked: {prompt}"
        return given.pop(0)

    monkeypatch.setattr(Terminal, "answers", True)
    monkeypatch.setattr(Terminal, "line", line)
    return given


def meanwhile(cluster: ThreadedCluster) -> None:
    """When the check arrives, somebody changes the same key."""
    change = Meanwhile(lambda state: state.alter_config(ORDERS, {RETENTION: "4711"}))
    cluster.call(lambda c: c.faults.add(Fault(change, api=ALTER, nth=1, times=1)))


class Gate:
    """Holds the cluster where it has the request that changes something, until it is opened."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self.arrived, self.opened = threading.Event(), threading.Event()
        fault = Fault(Meanwhile(self._hold), api=ALTER, nth=2, times=1)
        cluster.call(lambda c: c.faults.add(fault))

    def _hold(self, _state: ClusterState) -> None:
        self.arrived.set()
        assert self.opened.wait(60)


@pytest.fixture
def gate(cluster: ThreadedCluster) -> Iterator[Gate]:
    made = Gate(cluster)
    yield made
    made.opened.set()


# -- nobody to ask -----------------------------------------------------------------------------------------------------


def test_a_warning_is_refused_with_the_flag_and_taken_with_it(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path
) -> None:
    words = with_flags(front.words(tmp_path, UNCLEAN, "true"), *(["--yes"] if front.yes else []))
    refused = kac(*words)
    assert refused.code == 1
    assert f"! {RISK}: topic orders {UNCLEAN}: " in refused.complaints
    assert f"--accept {RISK}" in refused.complaints
    assert own(cluster, UNCLEAN) is None
    assert kac(*with_flags(words, "--accept", "needs-restart")).code == 1
    assert own(cluster, UNCLEAN) is None
    assert kac(*with_flags(words, "--accept", RISK)).code == 0
    assert own(cluster, UNCLEAN) == "true"


def test_a_conflict_is_shown_and_not_gone_over(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path
) -> None:
    words = with_flags(front.words(tmp_path, RETENTION, DAY), *(["--yes"] if front.yes else []))
    meanwhile(cluster)
    stopped = kac(*words)
    assert stopped.code == 1
    assert "4711 (≈ 4.71 s, topic)" in stopped.out + stopped.complaints
    assert "were not overwritten" in stopped.complaints
    assert own(cluster, RETENTION) == "4711"


@pytest.mark.parametrize("front", [each for each in FRONTS if each.yes], ids=lambda front: front.name, indirect=True)
def test_an_apply_that_asks_is_refused_with_the_flag(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path
) -> None:
    refused = kac(*front.words(tmp_path, RETENTION, DAY))
    assert refused.code == 1
    assert f"write {front.yes}\n" in refused.complaints
    assert own(cluster, RETENTION) is None


def test_a_drop_in_says_the_warning_and_goes_on(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    done = kac(*FRONTS[2].words(tmp_path, UNCLEAN, "true"), "--output", "kafka")
    assert (done.code, done.out) == (0, "Completed updating config for topic orders.\n")
    assert f"kac: ! {RISK}: " in done.complaints
    assert own(cluster, UNCLEAN) == "true"


# -- somebody to ask ---------------------------------------------------------------------------------------------------


def test_a_warning_is_asked_about(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path, answers: list[str]
) -> None:
    words = front.words(tmp_path, UNCLEAN, "true")
    answers[:] = ["no"]
    refused = kac(*words)
    assert refused.code == 1
    assert f"! {RISK}: " in refused.complaints
    assert own(cluster, UNCLEAN) is None
    answers[:] = ["accept", *(["yes"] if front.yes else [])]
    assert kac(*words).code == 0
    assert not answers
    assert own(cluster, UNCLEAN) == "true"


def test_a_conflict_is_asked_about(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path, answers: list[str]
) -> None:
    words = front.words(tmp_path, RETENTION, DAY)
    first = ["yes"] if front.yes else []
    meanwhile(cluster)
    answers[:] = [*first, "no"]
    assert kac(*words).code == 1
    assert own(cluster, RETENTION) == "4711"
    cluster.call(lambda c: c.state.replace_config(ORDERS, {}))
    meanwhile(cluster)
    answers[:] = [*first, "over"]
    assert kac(*words).code == 0
    assert not answers
    assert own(cluster, RETENTION) == DAY


def test_yes_is_no_answer_to_a_warning(kac: Kac, cluster: ThreadedCluster, tmp_path: Path, answers: list[str]) -> None:
    for each in FRONTS:
        flag = "--force" if each.name == "configs" else "--yes"
        assert kac(*with_flags(each.words(tmp_path, UNCLEAN, "true"), flag)).code == 1
        assert own(cluster, UNCLEAN) is None


# -- what is read ------------------------------------------------------------------------------------------------------


def test_a_warning_does_not_depend_on_what_was_read(kac: Kac, cluster: ThreadedCluster) -> None:
    edit = "set broker <default> min.insync.replicas=2; apply --yes"
    for script in (edit, f"list topics; {edit}"):
        refused = kac("run", "-e", script)
        assert refused.code == 1
        assert "! isr-above-replication: broker <default> min.insync.replicas: 2 topics" in refused.complaints


# -- what is due -------------------------------------------------------------------------------------------------------


def test_what_is_due_is_warned_about_too(kac: Kac, cluster: ThreadedCluster) -> None:
    cluster.call(lambda c: c.state.alter_config(ORDERS, {UNCLEAN: "true"}))
    assert kac("run", "-e", f"set topic orders {UNCLEAN}=false for 1ms; apply --yes").code == 0
    refused = kac("due", "--apply")
    assert refused.code == 1
    assert f"kac due --apply --accept {RISK}" in refused.complaints
    assert own(cluster, UNCLEAN) == "false"
    assert kac("due", "--apply", "--accept", RISK).code == 0
    assert own(cluster, UNCLEAN) == "true"


def test_what_is_due_is_asked_about(kac: Kac, cluster: ThreadedCluster, answers: list[str]) -> None:
    cluster.call(lambda c: c.state.alter_config(ORDERS, {UNCLEAN: "true"}))
    assert kac("run", "-e", f"set topic orders {UNCLEAN}=false for 1ms; apply --yes").code == 0
    answers[:] = ["no"]
    assert kac("due", "--apply").code == 1
    answers[:] = ["accept"]
    assert kac("due", "--apply").code == 0
    assert own(cluster, UNCLEAN) == "true"


@pytest.mark.parametrize("obstacle", ["deleted", "changed", "risky"])
def test_one_that_can_not_be_taken_back_blocks_no_other(kac: Kac, cluster: ThreadedCluster, obstacle: str) -> None:
    cluster.call(lambda c: c.state.alter_config(OTHERS, {UNCLEAN: "true"}))
    script = f"set topic others retention.ms=3d {UNCLEAN}=false for 1ms; set topic orders retention.ms=1d for 1ms"
    assert kac("run", "-e", f"{script}; apply --yes").code == 0
    if obstacle == "deleted":
        cluster.call(lambda c: c.state.remove_topic("others"))
    elif obstacle == "changed":
        cluster.call(lambda c: c.state.alter_config(OTHERS, {RETENTION: "4711", UNCLEAN: "true"}))
    try:
        assert kac("due", "--apply").code == 1
        assert own(cluster, RETENTION) is None
        left = json.loads(kac("due", "--output", "json").out)["due"]
        assert {row["entity"] for row in left} == {"topic others"}
        kept = {"deleted": {UNCLEAN, RETENTION}, "changed": {RETENTION}, "risky": {UNCLEAN}}
        assert {row["key"] for row in left} <= kept[obstacle]
    finally:
        if obstacle == "deleted":
            cluster.call(partial(put_topic, "others"))


# -- the shell ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def at_prompt(cluster: ThreadedCluster):  # type: ignore[no-untyped-def]
    host, _, port = cluster.bootstrap.partition(",")[0].rpartition(":")
    settings = ConnectionSettings(((host, int(port)),))
    client = AdminClient(settings)
    client.start()
    context = Context("here", "test", settings)
    with create_pipe_input() as keys:
        shell = Shell(
            context,
            lambda chosen: Session(client, chosen, "shell"),
            Given([context]),
            lambda completer, toolbar: Line(completer, toolbar, input=keys, output=DummyOutput()),
        )
        try:
            yield shell, lambda *lines: [keys.send_text(line + "\r") for line in lines], keys
        finally:
            client.close()


async def test_the_shell_asks_about_a_warning_and_a_conflict(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    async with at_prompt(cluster) as (shell, types, keys):
        types(f"set topic orders {UNCLEAN}=true", "apply --yes", "apply", "accept", "yes")
        keys.send_text("\x04")
        assert await shell.run() == DONE
        assert own(cluster, UNCLEAN) == "true"
        assert f"write apply --accept {RISK}" in capsys.readouterr().err
    async with at_prompt(cluster) as (shell, types, keys):
        meanwhile(cluster)
        types("set topic orders retention.ms=1d", "apply", "yes", "over")
        keys.send_text("\x04")
        assert await shell.run() == DONE
        assert own(cluster, RETENTION) == DAY


async def test_ctrl_c_twice_in_the_shell_gives_up_waiting(
    cluster: ThreadedCluster, gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    async with at_prompt(cluster) as (shell, types, keys):
        types("set topic orders retention.ms=1d", "apply --yes")
        running = asyncio.ensure_future(shell.run())
        assert await asyncio.to_thread(gate.arrived.wait, 60)
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: shell.session.stopping)
        os.kill(os.getpid(), signal.SIGINT)
        types(":ctx here")
        keys.send_text("\x04")
        types("yes")
        assert await running == FAILED
    said = capsys.readouterr().err
    assert "is not answered yet; nothing more is sent; Ctrl-C once more gives up waiting" in said
    assert "outcome unknown: change 1, `kac history` settles it" in said
    assert "stay until it is" in said


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


# -- a command that is ended -------------------------------------------------------------------------------------------

ENDED = {
    "run": [
        "run",
        "-e",
        "set topic orders retention.ms=1d; apply --yes; set topic orders retention.ms=2d; apply --yes",
    ],
    "noun": ["topics", "--alter", "--topic", "orders", "--config", "retention.ms=1d"],
    "configs": ["configs", "--alter", "--topic", "orders", "--add-config", f"retention.ms={DAY}"],
}


def start(cluster: ThreadedCluster, words: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "console", words[0], "-b", cluster.bootstrap, *words[1:]]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", list(ENDED))
def test_a_command_that_is_ended_says_how_what_was_sent_went(
    cluster: ThreadedCluster, gate: Gate, name: str, number: signal.Signals
) -> None:
    process = start(cluster, ENDED[name])
    assert gate.arrived.wait(60)
    process.send_signal(number)
    assert process.stderr is not None
    told = process.stderr.readline()
    gate.opened.set()
    out, complaints = process.communicate(timeout=60)
    assert process.returncode == 128 + number, (out, complaints)
    assert "is not answered yet; nothing more is sent" in told
    assert "orders" in out + complaints
    assert "applied" in out + complaints
    assert own(cluster, RETENTION) == DAY


def test_a_command_that_is_ended_twice_does_not_wait(cluster: ThreadedCluster, gate: Gate) -> None:
    process = start(cluster, ENDED["run"])
    assert gate.arrived.wait(60)
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    told = process.stderr.readline()
    assert "is not answered yet; nothing more is sent" in told
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "outcome unknown: change 1, `kac history` settles it" in complaints


# -- the screen --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def on_screen(cluster: ThreadedCluster):  # type: ignore[no-untyped-def]
    addresses = tuple((host, int(port)) for host, _, port in (a.rpartition(":") for a in cluster.bootstrap.split(",")))
    settings = ConnectionSettings(addresses)
    client = AdminClient(settings)
    client.start()
    contexts = [Context("here", "test", settings), Context("there", "test", settings)]
    app = Console(Session(client, contexts[0]), ConsoleSettings(refresh=0.2), contexts=Given(contexts))
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("orders")
            yield it
    finally:
        client.close()


async def stage(it: Driven, key: str, value: str) -> None:
    await it.command(f"set topic orders {key}={value}")
    await it.shows("staged: topic orders")


async def test_the_screen_asks_about_a_warning_and_a_conflict(cluster: ThreadedCluster) -> None:
    async with on_screen(cluster) as it:
        await stage(it, UNCLEAN, "true")
        # Typed ahead, before or after what the plan means was read: that is no answer to a warning.
        await it.press("7", "A", "y")
        await it.shows("Type accept, accept, for 1 warning")
        assert own(cluster, UNCLEAN) is None
        if "name: y" in it.text:
            await it.press("backspace")
        await it.type("accept")
        await it.press("enter")
        await it.shows("applied: 1 entity")
        assert own(cluster, UNCLEAN) == "true"
        await stage(it, RETENTION, DAY)
        meanwhile(cluster)
        await it.press("A", "y")
        await it.shows("Another client changed 1 place")
        await it.press("y")
        await it.shows("applied: 1 entity")
        assert own(cluster, RETENTION) == DAY


async def keys_at_once(pilot: Pilot[object], *keys: str) -> None:
    """Press keys without waiting for what they start."""
    for key in keys:
        await pilot.press(key)


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
async def test_leaving_waits_for_what_is_on_its_way(
    cluster: ThreadedCluster, gate: Gate, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7", "A")
        await it.shows("checks the plan")
        await keys_at_once(it.pilot, "y", key, "y")
        await it.shows("IncrementalAlterConfigs with 1 edit was sent at")
        gate.opened.set()
        await it.until(lambda: not it.app.is_running)
    assert own(cluster, RETENTION) == DAY
    assert it.app.return_code == 0
    assert "applied: 1 entity" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c", "ctrl+d"])
async def test_leaving_without_the_answer_is_an_unknown_outcome(
    cluster: ThreadedCluster, gate: Gate, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7", "A")
        await it.shows("checks the plan")
        await keys_at_once(it.pilot, "y", "q")
        await it.shows("IncrementalAlterConfigs with 1 edit was sent at")
        await keys_at_once(it.pilot, key)
        await it.until(lambda: not it.app.is_running)
    assert it.app.return_code == 1
    assert "outcome unknown: change 1, `kac history` settles it" in capsys.readouterr().err


async def test_another_context_waits_too(cluster: ThreadedCluster, gate: Gate) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7", "A")
        await it.shows("checks the plan")
        await keys_at_once(it.pilot, "y")
        assert await asyncio.to_thread(gate.arrived.wait, 60)
        it.app.applying.ask_and_switch("there")
        await it.shows("IncrementalAlterConfigs with 1 edit was sent at")
        gate.opened.set()
        await it.until(lambda: not it.app.is_running)
    assert own(cluster, RETENTION) == DAY
    assert it.app.return_value is not None
    assert it.app.return_value.name == "there"


async def test_a_signal_waits_and_asks_nothing(cluster: ThreadedCluster, gate: Gate) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7", "A")
        await it.shows("checks the plan")
        await keys_at_once(it.pilot, "y")
        assert await asyncio.to_thread(gate.arrived.wait, 60)
        os.kill(os.getpid(), signal.SIGHUP)
        await it.until(lambda: it.app.session.stopping)
        gate.opened.set()
        await it.until(lambda: not it.app.is_running)
    assert own(cluster, RETENTION) == DAY
    assert it.app.return_code == 128 + signal.SIGHUP


# -- no way beside it --------------------------------------------------------------------------------------------------


async def test_what_applies_without_a_front_end_is_refused_all_the_same(cluster: ThreadedCluster) -> None:
    """The session itself judges: a front end that forgot the flow could not go over a warning."""
    async with on_screen(cluster) as it:
        session = it.app.session
        session.stage([SetConfig(ORDERS, UNCLEAN, "true")])
        report = await apply_plan(session)
        assert [risk.name for risk in report.risks] == [RISK]
        assert not report.sent
        assert RISK in NAMES
