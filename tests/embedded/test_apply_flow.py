"""Tests of each front end with each warning, a conflict, a refusal, a lost answer and without an operator: all front
ends use console.session.apply_flow.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.pilot import Pilot

from console.cli import main as cli
from console.embedded import faults, spec
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.scenarios.seed import seed_records
from console.log_file import state_directory
from console.model.acl import CLUSTER_NAME
from console.model.quota import QuotaEntity
from console.plan.edits import SetConfig
from console.plan.risk_rules import NAMES, Risk
from console.plan.risks import risks
from console.session.terminal_front import Terminal
from console.shell.shell import DONE, FAILED, UNAPPLIED
from tests.embedded.apply_fronts import (
    DAY,
    FRONTS,
    LOST,
    NEVER_CAME,
    ORDERS,
    OTHERS,
    PLAIN,
    REFUSED,
    RETENTION,
    RISK,
    RISKY,
    UNCLEAN,
    Case,
    Front,
    Gate,
    at_prompt,
    happens,
    meanwhile,
    of_topic,
    on_screen,
    put_topic,
    stage,
    until,
)
from tests.support import worlds
from tests.support.changing import apply_plan
from tests.support.children import Child
from tests.support.patience import PATIENCE
from tests.support.worlds import Kac

ROOT = Path(__file__).parents[2]
CONFIGS = next(front for front in FRONTS if front.name == "configs")
ALLOWED = worlds.acl("User:ops", "ALTER", "CLUSTER", CLUSTER_NAME)
CHANGES_UNCLEAN = of_topic(RISK, UNCLEAN, "true")

running = worlds.cluster(
    spec.ClusterSpec(brokers=2, static_configs={"allow.everyone.if.no.acl.found": "true"}),
    partial(put_topic, "orders"),
    partial(put_topic, "others"),
    scope="module",
)


@pytest.fixture
def cluster(running: ThreadedCluster) -> Iterator[ThreadedCluster]:
    running.call(clean)
    yield running
    running.call(lambda c: c.faults.clear())


def clean(cluster: EmbeddedCluster) -> None:
    """Restore the initial state: two topics, one of them with records, no configs and quotas, an ACL on the cluster."""
    state = cluster.state
    state.replace_config(ORDERS, {})
    state.replace_config(OTHERS, {})
    for entity, limits in list(state.quotas.items()):
        state.alter_quota(entity, dict.fromkeys(limits))
    for acl in list(state.acls):
        state.remove("acls", acl)
    state.add_acl(ALLOWED)
    seed_records(cluster, "orders")


def held(cluster: ThreadedCluster) -> Any:
    """Return the parts of the cluster's state that an edit of these tests can change."""
    return cluster.call(lambda c: (dict(c.state.configs), dict(c.state.quotas), set(c.state.acls)))


kac = worlds.commands()


def own(cluster: ThreadedCluster, key: str) -> str | None:
    return cluster.call(lambda c: c.state.configs.get(ORDERS, {}).get(key))


@pytest.fixture(params=FRONTS, ids=lambda front: front.name)
def front(request: pytest.FixtureRequest) -> Front:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Provide a list to which a test appends an operator's answers at the terminal, in order."""
    given: list[str] = []

    async def line(_self: Terminal, prompt: str) -> str:
        assert given, f"nobody expected to be asked: {prompt}"
        return given.pop(0)

    monkeypatch.setattr(Terminal, "answers", True)
    monkeypatch.setattr(Terminal, "line", line)
    return given


@pytest.fixture
def gate(cluster: ThreadedCluster) -> Iterator[Gate]:
    made = Gate(cluster)
    yield made
    made.opened.set()


# -- no operator -------------------------------------------------------------------------------------------------------


def _cells() -> Iterator[Any]:
    """Yield each warning with each front end that can express its edit, as test parameters. All but one front end of
    each warning are marked as long, because all use the same function for warnings.
    """
    for place, case in enumerate(RISKY):
        able = [front for front in FRONTS if case.configs or front is not CONFIGS]
        usual = able[place % len(able)]
        for front in able:
            marks = () if front is usual else (pytest.mark.long,)
            yield pytest.param(case, front, id=f"{case.risk}-{front.name}", marks=marks)


EACH_CELL = pytest.mark.parametrize(("case", "front"), list(_cells()))


@EACH_CELL
def test_a_warning_is_refused_with_the_flag_and_taken_with_it(
    kac: Kac, cluster: ThreadedCluster, case: Case, front: Front, tmp_path: Path
) -> None:
    before = held(cluster)
    refused = kac(*front.command(tmp_path, case, *front.unasked))
    assert refused.code == (1 if case.refused else 3)
    assert held(cluster) == before
    other = next(name for name in NAMES if name != case.risk)
    assert kac(*front.command(tmp_path, case, *front.unasked, "--accept", other)).code == refused.code
    assert held(cluster) == before
    taken = kac(*front.command(tmp_path, case, *front.unasked, "--accept", case.risk))
    if case.refused:  # the refusal comes first, so the warning no longer matters
        assert taken.code == 1
        assert held(cluster) == before
        return
    assert f"! {case.risk}: " in refused.complaints
    assert re.search(rf"--accept (\S*,)?{case.risk}(,|$)", refused.complaints, re.MULTILINE), refused.complaints
    assert taken.code == 0, taken
    assert held(cluster) != before


def test_a_conflict_is_shown_and_not_overwritten(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path
) -> None:
    meanwhile(cluster)
    stopped = kac(*front.command(tmp_path, PLAIN, *front.unasked))
    assert stopped.code == 1
    assert "4711 (≈ 4.71 s, topic)" in stopped.out + stopped.complaints
    assert "were not overwritten" in stopped.complaints
    assert own(cluster, RETENTION) == "4711"


class Outcome(NamedTuple):
    """The outcome of an apply in which one request fails.

    Args:
        effect: the fault of the nth request; the first request is the check.
        reached: whether the change took effect on the cluster.
        said, shell, screen: the text that commands, the shell and the screen show.
        state: the state of the edit in the journal; ``""`` if the test does not check it.
    """

    name: str
    effect: faults.Fail | faults.Cut
    nth: int
    reached: bool
    said: str
    shell: str
    screen: str
    state: str = ""


UNKNOWN = "1 of them with an unknown outcome"
EACH_OUTCOME = pytest.mark.parametrize(
    "outcome",
    [
        Outcome("checked", REFUSED, 1, False, "not by our rules", "not by our rules", "1 failed"),
        Outcome("sent", REFUSED, 2, False, "not by our rules", "not by our rules", "1 failed"),
        Outcome("lost", LOST, 2, True, "", "1 entity ok, 0 failed", "applied: 1 entity", "applied"),
        Outcome("never came", NEVER_CAME, 2, False, "unknown", "change 1: outcome unknown", UNKNOWN, "unknown"),
    ],
    ids=lambda outcome: outcome.name,
)


@EACH_OUTCOME
def test_what_happens_to_a_change_is_reported(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path, outcome: Outcome
) -> None:
    happens(cluster, outcome.effect, outcome.nth)
    done = kac(*front.command(tmp_path, PLAIN, *front.unasked))
    assert done.code == (0 if outcome.reached else 1), done
    assert outcome.said in done.out + done.complaints
    assert own(cluster, RETENTION) == (DAY if outcome.reached else None)
    if outcome.state:
        assert states(kac) == [outcome.state]


def states(kac: Kac) -> list[str]:
    """Return the state of each edit in the journal."""
    return [row["state"] for row in json.loads(kac("history", "--journal", "--output", "json").out)["history"]]


def test_a_read_only_context_refuses(kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path) -> None:
    refused = kac(*front.command(tmp_path, PLAIN, *front.unasked), "--read-only")
    assert refused.code == 1
    assert "is read-only" in refused.complaints
    assert own(cluster, RETENTION) is None


def test_nothing_is_sent_without_the_journal(kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path) -> None:
    journal = state_directory(os.environ) / "journal"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text("")  # in place of the directory
    refused = kac(*front.command(tmp_path, PLAIN, *front.unasked))
    assert refused.code == 1
    assert "journal" in refused.complaints
    assert own(cluster, RETENTION) is None


@pytest.mark.parametrize("front", [each for each in FRONTS if each.yes], ids=lambda front: front.name, indirect=True)
def test_an_apply_that_asks_is_refused_with_the_flag(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path
) -> None:
    refused = kac(*front.command(tmp_path, PLAIN))
    assert refused.code == 1
    assert f"write {front.yes}\n" in refused.complaints
    assert own(cluster, RETENTION) is None


def test_a_drop_in_says_the_warning_and_goes_on(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    done = kac(*CONFIGS.command(tmp_path, CHANGES_UNCLEAN), "--output", "kafka")
    assert (done.code, done.out) == (0, "Completed updating config for topic orders.\n")
    assert f"kac: ! {RISK}: " in done.complaints
    assert own(cluster, UNCLEAN) == "true"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> str:
    """Let every warning require that its subject is typed; return the subject."""

    def of_any(*of: Any) -> tuple[Risk, ...]:
        return tuple(each._replace(subject="4,711") for each in risks(*of))

    for module in ("apply_flow", "applying"):
        monkeypatch.setattr(f"console.session.{module}.risks", of_any)
    return "4,711"


@EACH_CELL
def test_a_warning_that_is_typed_is_passed_by_its_subject_alone(
    kac: Kac, cluster: ThreadedCluster, case: Case, front: Front, tmp_path: Path, typed: str
) -> None:
    """For all edits and front ends, a warning whose subject has to be typed is accepted only by `--accept
    NAME=SUBJECT`, not by --yes or the warning's name.
    """
    if case.refused:
        return
    before = held(cluster)
    flag = "--force" if front is CONFIGS else "--yes"
    for accept in ((), ("--accept", case.risk), ("--accept", f"{case.risk}=1")):
        refused = kac(*front.command(tmp_path, case, flag, *accept))
        assert refused.code == 3
        assert f"{case.risk}={typed}" in refused.complaints
        assert held(cluster) == before
    accept = ("--accept", f"{case.risk}={typed},first-acl")
    assert kac(*front.command(tmp_path, case, flag, *accept)).code == 0
    assert held(cluster) != before


@pytest.mark.parametrize(
    "case", [case for case in RISKY if case.configs and not case.refused], ids=lambda case: case.risk
)
def test_a_drop_in_is_no_way_past_a_warning_that_is_typed(
    kac: Kac, cluster: ThreadedCluster, case: Case, typed: str
) -> None:
    before = held(cluster)
    refused = kac(*case.configs, "--output", "kafka", "--force")
    assert refused.code == 3, refused
    assert f"{case.risk}={typed}" in refused.complaints
    assert held(cluster) == before


def test_what_is_due_is_no_way_past_a_warning_that_is_typed(kac: Kac, cluster: ThreadedCluster, typed: str) -> None:
    case = CHANGES_UNCLEAN._replace(safe=f"set topic orders {UNCLEAN}=false")
    assert kac("run", "-e", f"{case.statement}; apply --yes --accept {case.risk}={typed}").code == 0
    assert kac("run", "-e", f"{case.safe} for 1ms; apply --yes").code == 0
    refused = kac("due", "--apply", "--accept", case.risk)
    assert refused.code == 3
    assert f"kac due --apply --accept {case.risk},{case.risk}={typed}" in refused.complaints
    assert own(cluster, UNCLEAN) == "false"
    assert kac("due", "--apply", "--accept", f"{case.risk}={typed}").code == 0
    assert own(cluster, UNCLEAN) == "true"


# -- an operator who answers -------------------------------------------------------------------------------------------


def test_a_warning_is_asked_about(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path, answers: list[str]
) -> None:
    words = front.command(tmp_path, CHANGES_UNCLEAN)
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
    words = front.command(tmp_path, PLAIN)
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


def test_yes_is_no_answer_to_a_warning(
    kac: Kac, cluster: ThreadedCluster, front: Front, tmp_path: Path, answers: list[str]
) -> None:
    flag = "--force" if front is CONFIGS else "--yes"
    assert kac(*front.command(tmp_path, CHANGES_UNCLEAN, flag)).code == 3
    assert own(cluster, UNCLEAN) is None


def test_a_context_wants_its_name_typed(
    cluster: ThreadedCluster,
    front: Front,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    contexts = tmp_path / "config.toml"
    contexts.write_text(f'[contexts.prod]\n"bootstrap.servers" = "{cluster.bootstrap}"\nconfirm = true\n')
    monkeypatch.setenv("KAC_CONFIG", str(contexts))
    command, *rest = front.command(tmp_path, PLAIN)
    assert cli.run([command, "-c", "prod", *rest]) == 1
    assert "context prod wants its name typed" in capsys.readouterr().err
    assert own(cluster, RETENTION) is None
    given = request.getfixturevalue("answers")
    given[:] = ["dev"]
    assert cli.run([command, "-c", "prod", *rest]) == 1
    assert own(cluster, RETENTION) is None
    given[:] = ["prod"]
    assert cli.run([command, "-c", "prod", *rest]) == 0
    assert not given
    assert own(cluster, RETENTION) == DAY


# -- warnings do not depend on earlier reads ---------------------------------------------------------------------------


def test_a_warning_does_not_depend_on_what_was_read(kac: Kac, cluster: ThreadedCluster) -> None:
    edit = "set broker <default> min.insync.replicas=2; apply --yes"
    for script in (edit, f"list topics; {edit}"):
        refused = kac("run", "-e", script)
        assert refused.code == 3
        assert "! isr-above-replication: broker <default> min.insync.replicas: 2 topics" in refused.complaints


# -- edits that are due ------------------------------------------------------------------------------------------------


FOR_A_TIME = [case for case in RISKY if case.safe]


@pytest.mark.parametrize("case", FOR_A_TIME, ids=lambda case: case.risk)
def test_what_is_due_is_warned_about_too(kac: Kac, cluster: ThreadedCluster, case: Case) -> None:
    assert kac("run", "-e", f"{case.statement}; apply --yes --accept {case.risk}").code == 0
    before = held(cluster)
    assert kac("run", "-e", f"{case.safe} for 1ms; apply --yes").code == 0
    safe = held(cluster)
    refused = kac("due", "--apply")
    assert refused.code == 3
    assert f"! {case.risk}: " in refused.complaints
    assert f"kac due --apply --accept {case.risk}" in refused.complaints
    assert held(cluster) == safe
    assert kac("due", "--apply", "--accept", case.risk).code == 0
    assert held(cluster) == before


def due(kac: Kac) -> None:
    """Set a key for a time that ends at once, so that its revert is due."""
    assert kac("run", "-e", f"{PLAIN.statement} for 1ms; apply --yes").code == 0


def test_what_is_due_and_was_changed_is_not_overwritten(kac: Kac, cluster: ThreadedCluster) -> None:
    due(kac)
    meanwhile(cluster)
    stopped = kac("due", "--apply")
    assert stopped.code == 1
    assert "4711 (≈ 4.71 s, topic)" in stopped.out
    assert "kac due --forget lets it stay" in stopped.complaints
    assert own(cluster, RETENTION) == "4711"


@EACH_OUTCOME
def test_what_happens_to_what_is_due_is_reported(kac: Kac, cluster: ThreadedCluster, outcome: Outcome) -> None:
    due(kac)
    happens(cluster, outcome.effect, outcome.nth)
    done = kac("due", "--apply")
    assert done.code == (0 if outcome.reached else 1)
    assert outcome.said in done.out
    assert own(cluster, RETENTION) == (None if outcome.reached else DAY)
    if outcome.effect is not NEVER_CAME:
        again = kac("due", "--apply")
        assert again.code == 0
        assert (again.out == "") is outcome.reached
        assert own(cluster, RETENTION) is None


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
        assert kac("due", "--apply").code == (3 if obstacle == "risky" else 1)
        assert own(cluster, RETENTION) is None
        left = json.loads(kac("due", "--output", "json").out)["due"]
        assert {row["entity"] for row in left} == {"topic others"}
        kept = {"deleted": {UNCLEAN, RETENTION}, "changed": {RETENTION}, "risky": {UNCLEAN}}
        assert {row["key"] for row in left} <= kept[obstacle]
    finally:
        if obstacle == "deleted":
            cluster.call(partial(put_topic, "others"))


# -- the shell ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("case", RISKY, ids=lambda case: case.risk)
async def test_the_shell_asks_about_each_warning(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    before = held(cluster)
    async with at_prompt(cluster) as (shell, types, keys):
        types(case.statement, "apply", "no")
        keys.send_text("\x04")
        types("yes")
        assert await shell.run() == UNAPPLIED
        assert f"! {case.risk}: " in capsys.readouterr().err
        assert held(cluster) == before
    async with at_prompt(cluster) as (shell, types, keys):
        types(case.statement, "apply", "accept", "yes")
        keys.send_text("\x04")
        types("yes")
        assert await shell.run() == (UNAPPLIED if case.refused else DONE)
        assert (held(cluster) == before) is case.refused


@EACH_OUTCOME
async def test_the_shell_reports_what_happens(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], outcome: Outcome
) -> None:
    async with at_prompt(cluster) as (shell, types, keys):
        happens(cluster, outcome.effect, outcome.nth)
        types(PLAIN.statement, "apply --yes", *(() if outcome.reached else ("discard",)))
        keys.send_text("\x04")
        assert await shell.run() == DONE
        assert outcome.shell in capsys.readouterr().out
        assert own(cluster, RETENTION) == (DAY if outcome.reached else None)


async def test_ctrl_c_twice_in_the_shell_gives_up_waiting(
    cluster: ThreadedCluster, gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    async with at_prompt(cluster) as (shell, types, keys):
        types("set topic orders retention.ms=1d", "apply --yes")
        running = asyncio.ensure_future(shell.run())
        assert await asyncio.to_thread(gate.arrived.wait, 60)
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: shell.session.work.stopping)
        os.kill(os.getpid(), signal.SIGINT)
        types(":ctx here")
        keys.send_text("\x04")
        types("yes")
        assert await running == FAILED
    said = capsys.readouterr().err
    assert "is not answered yet; nothing more is sent; Ctrl-C once more gives up waiting" in said
    assert "outcome unknown: change 1, `kac history` settles it" in said
    assert "stay until it is" in said


# -- signals to a command ----------------------------------------------------------------------------------------------

TWICE = f"{PLAIN.statement}; apply --yes; set topic orders retention.ms=2d; apply --yes"


def start(cluster: ThreadedCluster, words: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "console", words[0], "-b", cluster.bootstrap, *words[1:]]
    return Child(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def _ended() -> Iterator[Any]:
    """Yield each signal with each front end, as test parameters. All but one signal of each front end are marked as
    long.
    """
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for place, front in enumerate(FRONTS):
        for number in signals:
            marks = () if number is signals[place % len(signals)] else (pytest.mark.long,)
            yield pytest.param(front, number, id=f"{front.name}-{number.name}", marks=marks)


@pytest.mark.parametrize(("front", "number"), _ended())
def test_a_command_that_is_ended_says_how_what_was_sent_went(
    cluster: ThreadedCluster, gate: Gate, front: Front, tmp_path: Path, number: signal.Signals
) -> None:
    words = ["run", "-e", TWICE] if front.name == "run" else front.command(tmp_path, PLAIN, *front.unasked)
    process = start(cluster, words)
    assert gate.arrived.wait(PATIENCE)
    process.send_signal(number)
    assert process.stderr is not None
    told = process.stderr.readline()
    gate.opened.set()
    out, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, (out, complaints)
    assert "is not answered yet; nothing more is sent" in told
    assert "orders" in out + complaints
    assert "applied" in out + complaints
    assert own(cluster, RETENTION) == DAY


def test_a_command_that_is_ended_twice_does_not_wait(cluster: ThreadedCluster, gate: Gate) -> None:
    process = start(cluster, ["run", "-e", TWICE])
    assert gate.arrived.wait(PATIENCE)
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    told = process.stderr.readline()
    assert "is not answered yet; nothing more is sent" in told
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "outcome unknown: change 1, `kac history` settles it" in complaints


# -- the screen --------------------------------------------------------------------------------------------------------


async def test_the_screen_asks_about_a_warning_and_a_conflict(cluster: ThreadedCluster) -> None:
    async with on_screen(cluster) as it:
        await stage(it, UNCLEAN, "true")
        # A key typed ahead, before or after the plan's effects were read, does not accept a warning.
        await it.press("7", "A", "y", shows="Type accept, for 1 warning")
        assert own(cluster, UNCLEAN) is None
        if "name: y" in it.text:
            await it.press("backspace")
        await it.type("accept", "enter", shows="applied: 1 entity")
        assert own(cluster, UNCLEAN) == "true"
        await stage(it, RETENTION, DAY)
        meanwhile(cluster)
        await it.press("A", "y", shows="Another client changed 1 place")
        await it.press("y", shows="applied: 1 entity")
        assert own(cluster, RETENTION) == DAY


async def test_the_screen_asks_about_each_warning(cluster: ThreadedCluster) -> None:
    before = held(cluster)
    async with on_screen(cluster) as it:
        for case in RISKY:
            await it.command(case.statement, shows="staged: ")
            await it.press("7", "A", shows="Type accept, for 1 warning")
            assert f"! {case.risk}: " in it.text
            await it.press("escape", shows="nothing was sent")
            assert held(cluster) == before
            await it.press("A", shows="Type accept, for 1 warning")
            await it.type("accept", "enter", shows="1 failed" if case.refused else "applied: 1 entity")
            assert (held(cluster) == before) is case.refused
            await it.command("discard")
            cluster.call(clean)
            before = held(cluster)


@pytest.mark.parametrize("stages", [True, False])
async def test_the_screen_says_that_something_was_sent_before_a_conflict(
    cluster: ThreadedCluster, stages: bool
) -> None:
    user = QuotaEntity.of({"user": "u"})
    theirs = faults.Meanwhile(lambda state: state.alter_quota(user, {"producer_byte_rate": 4711.0}))
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.command("set user u producer_byte_rate=1MB/s", shows="staged: ")
        happens(cluster, theirs, 2)
        await it.press("7", "A", "y", shows="Another client changed 1 place")
        assert own(cluster, RETENTION) == DAY
        if stages:
            it.app.session.stage([SetConfig(ORDERS, "retention.bytes", "1")])
            await it.press("y", shows="the plan changed while the question stood: what was sent stands above")
        else:
            await it.press("escape", shows="another client's changes stay; the plan shows what is there now")
        assert "nothing was sent" not in it.text
        assert cluster.call(lambda each: each.state.quotas[user]) == {"producer_byte_rate": 4711.0}


@EACH_OUTCOME
async def test_the_screen_reports_what_happens(cluster: ThreadedCluster, outcome: Outcome) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        happens(cluster, outcome.effect, outcome.nth)
        await it.press("7", "A", "y", shows=outcome.screen)
        assert own(cluster, RETENTION) == (DAY if outcome.reached else None)


async def keys_at_once(pilot: Pilot[object], *keys: str) -> None:
    """Press keys without waiting for the work that they start."""
    for key in keys:
        await pilot.press(key)


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
async def test_leaving_waits_for_what_is_on_its_way(
    cluster: ThreadedCluster, gate: Gate, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7", "A", shows="checks the plan")
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
        await it.press("7", "A", shows="checks the plan")
        await keys_at_once(it.pilot, "y", "q")
        await it.shows("IncrementalAlterConfigs with 1 edit was sent at")
        await keys_at_once(it.pilot, key)
        await it.until(lambda: not it.app.is_running)
    assert it.app.return_code == 1
    assert "outcome unknown: change 1, `kac history` settles it" in capsys.readouterr().err


async def test_another_context_waits_too(cluster: ThreadedCluster, gate: Gate) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7", "A", shows="checks the plan")
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
        await it.press("7", "A", shows="checks the plan")
        await keys_at_once(it.pilot, "y")
        assert await asyncio.to_thread(gate.arrived.wait, 60)
        os.kill(os.getpid(), signal.SIGHUP)
        await it.until(lambda: it.app.session.work.stopping)
        gate.opened.set()
        await it.until(lambda: not it.app.is_running)
    assert own(cluster, RETENTION) == DAY
    assert it.app.return_code == 128 + signal.SIGHUP


# -- no apply without the flow -----------------------------------------------------------------------------------------


async def test_what_applies_without_a_front_end_is_refused_all_the_same(cluster: ThreadedCluster) -> None:
    """A plan with an unaccepted warning is refused by the session itself, so that a front end without the common flow
    can't ignore the warning.
    """
    async with on_screen(cluster) as it:
        session = it.app.session
        session.stage([SetConfig(ORDERS, UNCLEAN, "true")])
        report = await apply_plan(session)
        assert [risk.name for risk in report.risks] == [RISK]
        assert not report.sent
        assert RISK in NAMES
