"""The front ends that draw: the shell's line, the screen, the clipboard, a refused login, a lake's tables."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from console.admin.client import AdminClient
from console.cli.main import run
from console.contexts import Context
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.spec import ClusterSpec, SaslSpec
from console.language.completion import complete
from console.language.grammar import parse
from console.model.secret import Secret
from console.session.command_history import CommandHistory
from console.session.reading import read_everything
from console.session.session import Session
from console.shell.line import Line
from console.shell.shell import Shell
from console.tui.app import Console
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.hostile.test_output import FORGED, hostile_state, no_formulas
from tests.support import sample_lake, worlds
from tests.support.hostile_text import SENT, acted_upon
from tests.tui.console_app import Driven

OWN = re.compile(r"\x08|\x1b\[[0-9;?]*[A-Za-z]|\x1b[>=]|\r|\x07|\x1b\]2;[^\x07\x1b]*\x07")
"""Sequences that prompt_toolkit itself writes: colours, the cursor, modes. None of them stands in `SENT`'s form."""
TYPED = "list quotas 'x\u202ey\u200b\U000e0041'"


@pytest.fixture(scope="module")
def world() -> Iterator[HostileCluster]:
    with hostile_cluster(ClusterSpec(brokers=1, racks={1: SENT})) as cluster:
        cluster.embedded.call(hostile_state)
        yield cluster


@asynccontextmanager
async def session_on(cluster: HostileCluster) -> AsyncIterator[Session]:
    settings = worlds.settings(cluster)
    with AdminClient(settings) as client:
        yield Session(client, Context(f"here{SENT}", "test", settings), "tests")


async def test_the_shell_draws_nothing_that_acts(
    world: HostileCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    drawn = io.StringIO()
    output = Vt100_Output(drawn, lambda: Size(rows=24, columns=80), term="xterm", enable_cpr=False)  # type: ignore[arg-type]
    async with session_on(world) as session:
        with create_pipe_input() as keys:
            shell = Shell(
                session.context,
                lambda _: session,
                Given([session.context]),
                lambda completer, toolbar: Line(
                    completer, toolbar, history=CommandHistory(tmp_path / "commands"), input=keys, output=output
                ),
            )
            # Pasted, completed, and asked for again from the history.
            keys.send_text(f"\x1b[200~{TYPED}\x1b[201~\r")
            keys.send_text("list quotas\rlist acls\rdescribe topic orders\rlist users\r")
            keys.send_text("quota user \t\t\x15\x1b[A\x1b[A\x15")
            keys.send_text("\x04")
            await shell.run()
    text = drawn.getvalue()
    assert "list quotas 'x" in re.sub(OWN, "", text)
    assert acted_upon(OWN.sub("", text)) == ""
    captured = capsys.readouterr()
    for written in captured:
        assert acted_upon(written) == ""
        assert not any(line.strip().startswith(FORGED) for line in written.split("\n"))
    assert "\\x1b[2J" in captured.out


async def test_what_is_completed_is_visible_and_stands_for_the_name(world: HostileCluster) -> None:
    async with session_on(world) as session:
        await read_everything(session)
        names = set()
        for text in ("describe user ", "set user ", "quota user ", "set ip ", "allow ", "set user alice client "):
            for each in complete(text, len(text), session.snapshot):
                assert acted_upon(each.text) == ""
                assert acted_upon(each.display + each.meta + each.help) == ""
                if text == "set user ":
                    (statement,) = parse(f"{text}{each.text} producer_byte_rate=1")
                    names.add(repr(statement))
        assert any(repr(SENT)[1:-1] in name for name in names)


async def test_every_pane_shows_what_it_has_and_nothing_acts(world: HostileCluster) -> None:
    async with session_on(world) as session:
        app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.2))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = Driven(app, pilot, None)  # type: ignore[arg-type]  # a real client is behind it
            await screen.shows("orders")
            seen = ""
            for pane in "1234567890":
                await screen.press(pane)
                await screen.settle()
                for keys in (("j",), ("enter",), ("y",), ("escape",), ("question_mark",), ("escape",)):
                    await screen.press(*keys)
                    assert acted_upon(screen.text) == "", (pane, keys, [x for x in screen.lines if acted_upon(x)])
                    assert acted_upon(app.clipboard) == "", (pane, keys)
                    assert not any(line.strip().startswith(FORGED) for line in screen.lines)
                    seen += screen.text
            await screen.command("list quotas")
            await screen.command("describe broker 1")
            assert acted_upon(screen.text) == ""
            seen += screen.text
            assert "\\x1b" in seen


async def test_the_clipboard_is_one_line_of_visible_text(world: HostileCluster) -> None:
    async with session_on(world) as session:
        app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.2))
        async with app.run_test(size=(80, 24)):
            app.copy_to_clipboard(f"{SENT}\nsecond\n")
            assert acted_upon(app.clipboard) == ""
            assert app.clipboard.endswith("\nsecond")
            app.view.copied = lambda: SENT  # type: ignore[method-assign]
            await app.screen_keys.do_copy()
            assert acted_upon(app.clipboard) == ""
            assert "\n" not in app.clipboard


Words = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kac(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Words:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*words: str) -> tuple[int, str, str]:
        code = run(words)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = (each.decode("utf-8") for each in capfdbinary.readouterr())
        for text in (out, err):
            assert acted_upon(text) == "", text[:2_000]
            assert not any(line.strip().startswith(FORGED) for line in text.split("\n")), text[:2_000]
        return code, out, err

    return call


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_refused_login_is_told_harmlessly(mechanism: str, tmp_path: Path, kac: Words) -> None:
    properties = tmp_path / "client.properties"
    module = "scram.ScramLoginModule" if mechanism != "PLAIN" else "plain.PlainLoginModule"
    properties.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.{module} required username=a password=b;\n"
    )
    properties.chmod(0o600)
    with hostile_cluster(ClusterSpec(brokers=1, sasl=SaslSpec({"x": Secret("y")}, {"x": Secret("y")}))) as cluster:
        cluster.rewrite(
            "sasl_authenticate",
            lambda _, honest: replace(honest, error_code=type(honest.error_code)(58), error_message=SENT),
        )
        for words in (("run", "-e", "list topics"), ("topics", "--list"), ("export",), ("configs", "--describe",
                      "--entity-type", "topics"), ("snapshot",), ("diff", "-f", str(_wanted(tmp_path)))):  # fmt: skip
            code, _, err = kac(words[0], "-b", cluster.bootstrap, "--command-config", str(properties), *words[1:])
            assert code == 1
            assert "\\x1b[2J" in err, err
        cluster.rewrite(
            "sasl_handshake",
            lambda _, honest: replace(honest, error_code=type(honest.error_code)(33), mechanisms=(SENT,)),
        )
        code, _, err = kac("run", "-b", cluster.bootstrap, "--command-config", str(properties), "-e", "list topics")
        assert code == 1
        assert "\\x1b[2J" in err, err


def _wanted(folder: Path) -> Path:
    (folder / "wanted.yaml").write_text("version: 1\ntopics:\n  a: {partitions: 1, replication: 1}\n")
    return folder / "wanted.yaml"


def hostile_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The same rows with hostile text in every text that is no cluster's id, type, state or source."""
    fixed = {row[place] for row in rows for place in (0, 1)} | {"kraft_log", "snapshot", "journal", "request_log"}
    return [tuple(SENT if isinstance(cell, str) and cell not in fixed else cell for cell in row) for row in rows]


def test_the_rows_of_a_lake_are_harmless(tmp_path: Path, kac: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("history", "drift", "usage", "access"):
        honest = getattr(sample_lake, table)
        monkeypatch.setattr(
            sample_lake, table, lambda *a, honest=honest, **k: [*honest(*a, **k), *hostile_rows(honest(*a, **k))]
        )
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    where = getattr(lake, "where", str(tmp_path / "lake"))
    seen = ""
    for command in ("history", "drift", "usage", "denied"):
        for form in ("text", "json", "csv"):
            code, out, err = kac(command, "--lake", where, "--cluster", "all", "--output", form)
            assert code == 0, err
            seen += out
            if form == "json":
                assert all(json.loads(line) for line in out.splitlines())
            if form == "csv":
                no_formulas(out)
                assert len(list(csv.reader(io.StringIO(out)))) == out.count("\n")
    assert "\\x1b[2J" in seen
    page = tmp_path / "report.html"
    code, _, err = kac("lake", "report", "--lake", where, "--html", str(page))
    assert code == 0, err
    assert acted_upon(page.read_text(encoding="utf-8").replace("\t", " ")) == ""
