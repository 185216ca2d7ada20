"""Tests of ``kac contexts add``: it adds a context at the end of kac's own file, which only the owner can read."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import main as cli
from console.contexts import load
from console.contexts.adding import add_context, with_context
from console.contexts.context import Context, ContextError, Surroundings
from console.contexts.jaas import login
from console.contexts.own_file import own_text
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
VISIBLE = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=30)


def surroundings(folder: Path) -> Surroundings:
    return Surroundings({"XDG_CONFIG_HOME": str(folder)}, folder, folder)


def test_what_stands_there_stays_and_the_context_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "kac" / "config.toml"
    file.parent.mkdir()
    file.write_text('# mine\ncurrent_context = "old"\n[contexts.old]\n"bootstrap.servers" = "a:1"')
    assert cli.run(["contexts", "add", "new", "-b", "b:2,c:3", "--read-only", "--confirm"]) == 0
    assert file.read_text().startswith("# mine\ncurrent_context")
    found = {each.name: each for each in load(os.environ, tmp_path).contexts}
    assert found["new"].settings.bootstrap == (("b", 2), ("c", 3))
    assert (found["new"].read_only, found["new"].confirm) == (True, True)
    before = file.read_text()
    assert cli.run(["contexts", "add", "new", "-b", "d:4"]) == 2
    assert cli.run(["contexts", "add", "broken", "-b", "no port:x"]) == 2
    assert cli.run(["contexts", "add", "nowhere"]) == 2
    assert file.read_text() == before


def test_a_name_is_said_as_the_word_that_a_shell_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert cli.run(["contexts", "add", "my prod", "-b", "b:2"]) == 0
    assert capsys.readouterr().out.endswith("kac -c 'my prod'\n")


@given(VISIBLE, VISIBLE, VISIBLE)
def test_a_name_and_a_password_come_back_as_they_were(name: str, user: str, password: str) -> None:
    entries = {"bootstrap.servers": "a:1", "sasl.mechanism": "SCRAM-SHA-512", "security.protocol": "SASL_PLAINTEXT"}
    entries["sasl.jaas.config"] = login("SCRAM-SHA-512", {"username": user, "password": password})
    text = with_context("", name, entries)
    (context,) = own_text(text, Path("/c.toml"), surroundings(Path("/"))).found.items
    if "${" in user + password:
        return  # a provider's reference, as in any property
    assert isinstance(context, Context)
    sasl = context.settings.sasl
    assert sasl is not None
    assert (context.name, sasl.username, sasl.password.reveal()) == (name, user, password)  # type: ignore[union-attr]


def test_no_password_is_written_where_others_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "kac" / "config.toml"
    file.parent.mkdir()
    file.write_text("# mine\n")
    file.chmod(0o644)
    entries = {"bootstrap.servers": "a:1", "sasl.mechanism": "PLAIN"}
    entries["sasl.jaas.config"] = login("PLAIN", {"username": "u", "password": "p"})
    with pytest.raises(ContextError, match="chmod 600"):
        add_context("new", entries, surroundings(tmp_path))
    assert file.read_text() == "# mine\n"


def test_a_password_is_asked_for_hidden(tmp_path: Path) -> None:
    words = ("contexts", "add", "prod", "-b", "a:1", "--security-protocol", "SASL_SSL")
    words += ("--sasl-mechanism", "SCRAM-SHA-512", "--username", "ops")
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    with Terminal([sys.executable, "-m", "console", *words], cwd=ROOT, environment=environment) as terminal:
        terminal.wait_for("password (hidden)")
        terminal.send("s3cret\r")
        assert terminal.wait_for_end() == 0
        assert "s3cret" not in terminal.text
    file = tmp_path / "kac" / "config.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "s3cret" in file.read_text()
