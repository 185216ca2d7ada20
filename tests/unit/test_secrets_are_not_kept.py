"""Tests that no secret from a user or a broker is stored: in the history, in the log, or in a plan's script."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.interpret import command_of as command
from console.language.secret_values import redact
from console.log_file import open_log
from console.model.config import broker_resource
from console.plan.edits import SetConfig
from console.sensitive import seems_sensitive
from console.session.command_history import CommandHistory

SECRET = "hunter2"
KEYS = (
    "password", "ssl.keystore.password", "sasl.jaas.config", "my.token", "auth_token", "apiKey", "api-key", "x.api.key",
    "client.secret", "PASSWD", "db.passphrase", "aws.access.key", "private-key", "credentials", "github.token",
    "aws.secret.access.key", "Password",
)  # fmt: skip
FORMS = (
    "{k}={v}",
    "{k} = {v}",
    "{k}= {v}",
    "{k} ={v}",
    "{k}: {v}",
    "{k} {v}",
    "--{k} {v}",
    "--{k}={v}",
    "'{k}'={v}",
    "{k}='{v}'",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", ["", "set broker 1 ", "nonsense ", "list topics; "])
def test_no_spelling_of_a_secret_is_kept(key: str, form: str, before: str) -> None:
    assert SECRET not in redact(before + form.format(k=key, v=SECRET))


@given(st.sampled_from(KEYS), st.sampled_from(FORMS), st.text(max_size=12), st.text(max_size=12))
def test_what_is_kept_is_kept_once_more_as_it_is(key: str, form: str, before: str, behind: str) -> None:
    kept = redact(f"{before} {form.format(k=key, v=SECRET)} {behind}")
    assert redact(kept) == kept


def test_a_kafka_config_that_is_no_secret_is_none() -> None:
    for key in (
        "password.encoder.iterations",
        "delegation.token.max.lifetime.ms",
        "ssl.keystore.location",
        "retention.ms",
    ):
        assert not seems_sensitive(key)


def test_the_history_file_holds_no_secret_also_of_former_versions(tmp_path: Path) -> None:
    path = tmp_path / "kac" / "commands"
    path.parent.mkdir()
    path.write_text("set broker 1 my.token=hunter2\nlist topics\n")
    history = CommandHistory(path)
    assert history.read() == ["set broker 1 my.token=······", "list topics"]
    history.add("scram set a SCRAM-SHA-256 password hunter3")
    assert "hunter3" not in path.read_text()
    with path.open("a") as file:
        file.writelines(f"list topics {number}\n" for number in range(600))
    history.add("list topics")
    assert SECRET not in path.read_text()
    # Also if the secret is among the kept lines.
    path.write_text("list topics\n" * 400 + "set broker 1 my.token=hunter2\n" + "list topics\n" * 200)
    history.add("list topics")
    assert SECRET not in path.read_text()


def test_the_log_holds_no_secret_that_a_broker_repeats(tmp_path: Path) -> None:
    assert open_log({"XDG_STATE_HOME": str(tmp_path)}) is None
    try:
        raise ValueError("Invalid value my.token=hunter2 for url http://bob:hunter2@host/")
    except ValueError:
        logging.getLogger("console.x").exception("refused: ssl.key.password=%s", SECRET)
    written = (tmp_path / "kac" / "kac.log").read_text()
    assert "refused: ssl.key.password=…" in written
    assert SECRET not in written


def test_the_plan_as_a_script_asks_for_what_looks_secret() -> None:
    assert command(SetConfig(broker_resource(1), "my.token", SECRET)).endswith("=?")
