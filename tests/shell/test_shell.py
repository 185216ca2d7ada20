"""Tests of kac's shell at its prompt, on a small cluster: what typed entries print and change."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.configured import Given
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Delay, Fault
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.session.command_history import CommandHistory
from console.session.session import Session
from console.shell.line import Line, ShellCompleter
from console.shell.shell import DONE, FAILED, UNAPPLIED, Shell
from tests.support import worlds
from tests.support.patience import until

TOPIC = "checkout.orders"
ENTER, CTRL_D = "\r", "\x04"
PASSWORD = "correct-horse"

cluster = worlds.cluster(ClusterSpec(brokers=1, scenario="quiet"))


class Prompt:
    """A kac shell with a pipe as its keyboard.

    shell: the shell. history: its command history.
    """

    def __init__(self, shell: Shell, keys: PipeInput, history: CommandHistory) -> None:
        self.shell = shell
        self.history = history
        self._keys = keys

    def type(self, *texts: str) -> None:
        """Type texts, each ended by Enter."""
        for text in texts:
            self._keys.send_text(text + ENTER)

    def press(self, key: str) -> None:
        self._keys.send_text(key)


@pytest.fixture
def prompt(cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prompt]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    host, _, port = cluster.bootstrap.rpartition(":")
    settings = ConnectionSettings(((host, int(port)),))
    client = AdminClient(settings)
    client.start()
    contexts = [Context("here", "test", settings), Context("guarded", "test", settings, read_only=True)]
    history = CommandHistory(tmp_path / "commands")

    def connect(context: Context) -> Session:
        return Session(client, context, "shell")

    with create_pipe_input() as keys:
        shell = Shell(
            contexts[0],
            connect,
            Given(contexts),
            lambda completer, toolbar: Line(completer, toolbar, history=history, input=keys, output=DummyOutput()),
        )
        yield Prompt(shell, keys, history)
    client.close()


def retention(cluster: ThreadedCluster) -> str | None:
    return cluster.call(lambda one: one.state.configs.get(topic_resource(TOPIC), {}).get("retention.ms"))


async def test_what_is_asked_for_is_shown(prompt: Prompt, capsys: pytest.CaptureFixture[str]) -> None:
    prompt.type("list topics checkout.ord*", ":topics refunds", "help")
    prompt.press(CTRL_D)
    assert await prompt.shell.run() == DONE
    out = capsys.readouterr().out
    assert out.count("checkout.orders") == 2
    assert "checkout.refunds" in out
    assert "help WORD shows one of them" in out


async def test_an_edit_is_staged_asked_for_and_applied(
    prompt: Prompt, cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt.type(f"set topic {TOPIC} \\", "retention.ms=1d", "plan", "apply", "yes", "history")
    prompt.press(CTRL_D)
    assert await prompt.shell.run() == DONE
    assert retention(cluster) == "86400000"
    out = capsys.readouterr().out
    assert "1 request, 1 entity ok, 0 failed" in out
    assert "604800000 (topic)  86400000 (topic)  applied" in out.partition("change 1")[2]


async def test_leaving_with_edits_asks(prompt: Prompt, cluster: ThreadedCluster) -> None:
    before = retention(cluster)
    prompt.type(f"set topic {TOPIC} retention.ms=1d", "q", "no", "plan")
    prompt.press(CTRL_D)
    prompt.type("yes")
    assert await prompt.shell.run() == UNAPPLIED
    assert retention(cluster) == before


async def test_an_error_names_its_place_and_the_prompt_is_back(
    prompt: Prompt, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt.type("lsit topics")
    prompt.press(CTRL_D)
    assert await prompt.shell.run() == FAILED
    assert "did you mean 'list'" in capsys.readouterr().err


async def test_another_context_is_asked_for_by_its_name(prompt: Prompt, capsys: pytest.CaptureFixture[str]) -> None:
    prompt.type(":ctx nowhere", ":ctx guarded", f"set topic {TOPIC} retention.ms=1d")
    prompt.press(CTRL_D)
    assert await prompt.shell.run() == FAILED
    said = capsys.readouterr().err
    assert "there is no context 'nowhere'" in said
    assert "context guarded is read-only" in said
    assert any("RO" in text for _, text, *_ in prompt.shell.toolbar())


async def test_no_secret_is_shown_or_kept(
    prompt: Prompt, cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prompt.type(
        "scram set alice SCRAM-SHA-256 password=?",
        PASSWORD,
        f"scram set alice SCRAM-SHA-512 password={PASSWORD}",
        "apply",
        "yes",
    )
    prompt.press(CTRL_D)
    await prompt.shell.run()
    captured = capsys.readouterr()
    assert PASSWORD not in captured.out + captured.err
    written = texts(tmp_path)
    assert len(written) >= 2
    assert not [text for text in written if PASSWORD in text]
    assert "scram set alice SCRAM-SHA-256 password=?" in prompt.history.read()
    assert cluster.call(lambda one: any(key.user == "alice" for key in one.state.scram))


def texts(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*") if path.is_file()]


def wait_for(cluster: ThreadedCluster, fault: Fault) -> None:
    """Wait until a request was affected by the fault."""
    until(lambda: cluster.call(lambda one: one.faults.happened(fault)), rest=0.01)


async def interrupted(prompt: Prompt, cluster: ThreadedCluster, fault: Fault, *entries: str) -> int:
    """Type the entries, and press Ctrl-C when the request has arrived that the fault delays; return the shell's exit
    code.
    """
    cluster.call(lambda one: one.faults.add(fault))
    prompt.type(*entries)
    running = asyncio.ensure_future(prompt.shell.run())
    await asyncio.to_thread(wait_for, cluster, fault)
    os.kill(os.getpid(), signal.SIGINT)
    prompt.press(CTRL_D)
    return await running


async def test_ctrl_c_ends_a_read(prompt: Prompt, cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    fault = Fault(Delay(600.0), api="describe_configs")
    assert await interrupted(prompt, cluster, fault, f"show topic {TOPIC}") == FAILED
    assert "the reading was ended" in capsys.readouterr().err


async def test_ctrl_c_does_not_end_a_change(
    prompt: Prompt, cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = Fault(Delay(1.0), api="incremental_alter_configs", nth=2)
    code = await interrupted(prompt, cluster, fault, f"set topic {TOPIC} retention.ms=1d", "apply --yes")
    assert code == DONE
    assert retention(cluster) == "86400000"
    captured = capsys.readouterr()
    assert "is not answered yet; nothing more is sent; Ctrl-C once more gives up waiting" in captured.err
    assert "1 entity ok" in captured.out


async def test_completion_reads_what_it_lacks(prompt: Prompt) -> None:
    completer = ShellCompleter(lambda: prompt.shell.session.snapshot, prompt.shell._read_for_completion, ["here"])

    async def complete(text: str) -> list[str]:
        found = completer.get_completions_async(Document(text), CompleteEvent())
        return [each.text async for each in found]

    assert TOPIC in await complete("describe topic check")
    assert "retention.ms=" in await complete(f"set topic {TOPIC} retention")
    assert "compact" in await complete(f"set topic {TOPIC} cleanup.policy=")
    assert "compact" in completer.helps
    assert await complete(":ctx ") == ["here"]
