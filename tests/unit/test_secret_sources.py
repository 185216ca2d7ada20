"""Tests of secrets from commands, a keyring and the operator: kac fetches them only for the context in use, and never
shows them.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.contexts import ContextError, load, resolve
from console.contexts.context import Context
from console.contexts.secret_sources import is_locked, unlocked
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
SECRET = "öpen ${env:HOME} sesame"
Configure = Callable[[str], Context]


def toml(name: str, password: str) -> str:
    """Return the TOML of a context whose SCRAM password is written as `password`."""
    jaas = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="ops" password="{password}";'
    return (
        f'[contexts.{name}]\n"bootstrap.servers" = "127.0.0.1:1"\n"security.protocol" = "SASL_PLAINTEXT"\n'
        f"\"sasl.mechanism\" = \"SCRAM-SHA-512\"\n\"sasl.jaas.config\" = '''{jaas}'''\n"
    )


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Provide a function that returns a context from kac's own file, whose password is not fetched yet."""

    def made(password: str) -> Context:
        file = tmp_path / "config.toml"
        file.write_text(toml("prod", password))
        file.chmod(0o600)
        return resolve(load({"KAC_CONFIG": str(file), "P": "pass"}, tmp_path), name="prod", unlock=False)

    return made


def password(context: Context) -> str:
    assert context.settings.sasl is not None
    assert context.settings.sasl.password is not None
    return context.settings.sasl.password.reveal()


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Provide a function that writes lines of Python as a program, in a folder with a blank in its name, and returns
    its command line.
    """

    def made(code: str) -> str:
        script = tmp_path / "of mine.py"
        script.write_text(f"import sys, time\n{code}\n")
        return f"{sys.executable} '{script}'"

    return made


def test_a_command_is_run_for_the_context_in_use(
    configure: Configure, program: Callable[[str], str], tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    command = program(f"open({str(ran)!r}, 'a').write('x')\nprint({SECRET!r})")
    context = configure(f"${{exec:{command}}}")
    assert is_locked(context.settings)
    assert not ran.exists()
    with pytest.raises(LookupError, match="not fetched"):
        password(context)
    assert SECRET not in repr(context)
    opened = unlocked(context, ask=False)
    assert password(opened) == SECRET, "and it is no reference itself"
    assert ran.read_text() == "x"
    assert unlocked(opened, ask=False) is opened
    assert SECRET not in repr(opened)


def test_a_reference_may_be_a_part_of_the_secret_and_a_command_that_hangs_is_ended(configure: Configure) -> None:
    assert password(unlocked(configure("<${env:P}${exec:echo a}-${exec:echo b}>"), ask=False)) == "<passa-b>"
    with pytest.raises(ContextError, match=r"no secret: sleep does not end: nothing within 0\.2 s$"):
        unlocked(configure("${exec:sleep 300}"), ask=False, limit=0.2)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program --now", "no secret: no-such-program can't be run: No such file or directory"),
        ("", "it names no command"),
        ("cat 'open", "No closing quotation"),
        ("true", "no secret: true wrote nothing"),
        ("sh -c 'echo locked >&2; exit 3'", "no secret: sh ended with 3: locked"),
        ("printf '\\\\377'", "no secret: what printf wrote is not text in UTF-8"),
    ],
)
def test_what_a_command_fails_by_is_one_line(configure: Configure, command: str, message: str) -> None:
    with pytest.raises(ContextError) as caught:
        unlocked(configure(f"${{exec:{command}}}"), ask=False)
    assert str(caught.value).endswith(f"sasl.jaas.config: password: {message}")
    assert "config.toml:5" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_command_that_others_may_have_written_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    ran = tmp_path / "ran"
    file.write_text(
        "bootstrap.servers=a:1\nsecurity.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=keys.p12\n"
        f"ssl.keystore.password=${{exec:touch {ran}}}\n"
    )
    (tmp_path / "keys.p12").touch()
    file.chmod(0o602)
    with pytest.raises(ContextError, match=r"ssl\.keystore\.password: it is not run: others may write .*chmod go-w"):
        resolve(load({}, tmp_path), command_config=file)
    assert not ran.exists()


def test_it_stands_for_secrets_alone(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=${exec:echo a:1}\n")
    with pytest.raises(ContextError, match=r"bootstrap\.servers: .*stand for passwords and keys alone"):
        resolve(load({}, tmp_path), command_config=file)


def test_a_store_s_password_is_fetched_too(tmp_path: Path) -> None:
    (tmp_path / "keys.p12").touch()
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=a:1\nsecurity.protocol=SSL\nssl.keystore.type=PKCS12\n"
        f"ssl.keystore.location={tmp_path / 'keys.p12'}\nssl.keystore.password=${{exec:echo one}}\n"
    )
    found = resolve(load({}, tmp_path), command_config=file).settings.tls
    assert found is not None
    assert found.key_store is not None
    assert found.key_store.password is not None
    assert found.key_store.password.reveal() == "one"


def test_listing_contexts_fetches_nothing(tmp_path: Path, program: Callable[[str], str]) -> None:
    ran = tmp_path / "ran"
    file = tmp_path / "config.toml"
    code = f"open({str(ran)!r}, 'w'); print(1)"
    file.write_text(toml("a", f"${{exec:{program(code)}}}") + toml("b", "${prompt}") + toml("c", "plain"))
    found = load({"KAC_CONFIG": str(file)}, tmp_path)
    assert [context.name for context in found.contexts] == ["a", "b", "c"]
    assert password(resolve(found, name="c")) == "plain"
    assert not ran.exists()


def test_the_keyring_by_secret_tool(configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "secret-tool"
    tool.write_text('#!/bin/sh\n[ "$*" = "lookup service kafka prod username ops" ] && printf sesame\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setitem(sys.modules, "keyring", None)  # as if not installed
    assert password(unlocked(configure("${keyring:kafka prod:ops}"), ask=False)) == "sesame"
    with pytest.raises(ContextError, match=r"secret-tool ended with 1; store it: secret-tool store service x user"):
        unlocked(configure("${keyring:x:ops}"), ask=False)
    with pytest.raises(ContextError, match="is \\$\\{keyring:SERVICE:USER\\}"):
        unlocked(configure("${keyring:x}"), ask=False)
    monkeypatch.setenv("PATH", "/no")
    with pytest.raises(ContextError, match="neither the Python package keyring nor secret-tool"):
        unlocked(configure("${keyring:x:ops}"), ask=False)


def test_the_operator_is_asked_on_the_terminal_alone(configure: Configure, tmp_path: Path) -> None:
    context = configure("${prompt:Password of prod}")
    with pytest.raises(ContextError, match="can be asked for only at the start, and on a terminal"):
        unlocked(context, ask=False)
    command = ["setsid", "--ctty", "--wait", sys.executable, "-m", "console", "run", "-c", "prod", "-e", "list brokers"]
    environment = {"KAC_CONFIG": str(tmp_path / "config.toml"), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment["PATH"] = os.environ["PATH"]
    with Terminal(command, cwd=tmp_path, environment=environment) as terminal:
        terminal.wait_for("Password of prod: ")
        terminal.send("sesame\n")
        terminal.wait_for("nothing listens there")
        assert terminal.wait_for_end() == 1
        assert "sesame" not in terminal.text
    with Terminal(command, cwd=tmp_path, environment=environment) as terminal:
        terminal.wait_for("Password of prod: ")
        terminal.send("\n")
        terminal.wait_for("no secret was typed")
        assert terminal.wait_for_end() == 2
