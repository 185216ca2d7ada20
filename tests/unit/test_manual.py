"""Tests that the man page has every option, that half-typed lines are completed, and that the script for bash works."""

import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from console.cli.main import COMMANDS
from console.cli.manual.completion import FILES, Kind, _entity, candidates, names
from console.cli.manual.completion_scripts import SCRIPTS, script
from console.cli.manual.pages import commands, help_of, page
from console.model.entity_types import EntityType, of_kafka
from console.present.text import is_harmless
from tests.support.loaded_modules import loaded_by


def test_the_page_has_every_command_with_every_option() -> None:
    text = page().replace("\\-", "-")
    for command in commands():
        assert f".SS kac {command.name}\n" in text
        for option in help_of(command).options:
            assert all(name in text for name in option.names)
    assert "__complete" not in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed (Debian: apt install groff)")
def test_groff_has_nothing_against_it() -> None:
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the admin console for Apache Kafka" in done.stdout


CLUSTER = {
    Kind.TOPIC: ["alpha", "beta"],
    Kind.GROUP: ["billing"],
    Kind.USER: ["alice"],
    Kind.PRINCIPAL: ["User:alice"],
    Kind.CONTEXT: ["prod"],
    Kind.KEY: ["retention.ms", "retention.bytes", "b"],
    Kind.ASSIGNMENT: ["retention.ms", "retention.bytes"],
}


def completed(line: str, word: str = "", shell: str = "fish") -> list[str]:
    """Return the completions of a half-typed command line on a small cluster, without their descriptions."""
    found = candidates(shell, f"kac {line}", word, lambda kind, _words, _command: CLUSTER.get(kind, []))
    return [each.partition("\t")[0] for each in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("-c pr", ["prod"]),
        ("-b h:1 topics --to", ["--topic"]),
        ("topics --topic a", ["alpha"]),
        ("topics --topic=a", ["--topic=alpha"]),
        ("-b h:1 topics --topic ", ["alpha", "beta"]),
        ("topics --create --config retention.m", ["retention.ms="]),
        ("topics --create --config retention.ms=5", []),
        ("configs --add-config a=b,c=d,retention.m", ["a=b,c=d,retention.ms="]),
        ("configs --delete-config a,b", ["a,b"]),
        ("configs --entity-type users --entity-name a", ["alice"]),
        ("configs --entity-type groups --entity-name ", ["billing"]),
        ("configs --entity-name a", []),
        ("configs --add-config-file x", [FILES]),
        ("run -f x", [FILES]),
        ("run --file=x", [FILES]),
        ("acls --add --allow-principal User:", ["User:alice"]),
        ("acls --explain Us", ["User:alice"]),
        ("acls -c prod --explain User:alice READ topic al", ["alpha"]),
        ("acls --explain User:alice READ group bi", ["billing"]),
        ("acls --explain User:alice RE", []),
        ("nothing --topic a", []),
        ("snap", ["snapshot"]),
        ("topics --output=c", ["--output=csv"]),
        ("configs --entity-type broker", ["brokers", "broker-loggers"]),
        ("completion ", list(SCRIPTS)),
        ("lake d", ["doctor", "demo"]),
        ("", [command.name for command in COMMANDS if not command.name.startswith("_")]),
    ],
)
def test_what_a_line_can_go_on_with(line: str, found: list[str]) -> None:
    assert completed(line) == found


def test_options_come_with_their_help_and_a_quota_has_the_keys_of_its_entity() -> None:
    found = candidates("zsh", "kac groups --gr", "", lambda *_: [])
    assert found == ["--group\tthe group's name; may be repeated"]
    assert "--if-not-exists" in completed("topics --")
    found = candidates("fish", "kac quotas --user a --add-config pro", "", names)
    assert found == ["producer_byte_rate="]


@given(st.text("ab-=:'\" \\$(#\n", max_size=20), st.text("ab=:'\"\\", max_size=4), st.sampled_from(list(SCRIPTS)))
def test_any_line_is_completed_or_left(line: str, word: str, shell: str) -> None:
    for found in candidates(shell, f"kac groups --group={line}", word, lambda *_: ["ab", "a=b", "-", "b'a"]):
        assert found
        assert is_harmless(found.partition("\t")[0])


# kac cuts off the part of a name that bash keeps, and quotes the rest: a cut after quoting would remove a quote.
# No argument of a command has a null character, and a word that begins with "-" is an option.
PARTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6)


@given(PARTS, PARTS, st.sampled_from(["", "=", ":", "@"]))
def test_for_bash_the_rest_of_a_name_is_quoted(start: str, rest: str, part: str) -> None:
    name = f"{start}{part}{rest}"
    assume(not name.startswith("-"))
    typed = shlex.quote(f"{start}{part}") if start else part
    for found in candidates("bash", f"kac groups --group {typed}", typed if start else "", lambda *_: [name]):
        done = subprocess.run(
            ["bash", "-c", f"printf %s {found}"], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True
        )
        assert done.stdout.decode() == (name if start else name[len(part) :])


def test_completion_leaves_the_environment_as_it_was_and_starts_without_a_client() -> None:
    # argcomplete's variables would turn every program that uses it, such as pytest, into a completion.
    former = dict(os.environ)
    completed("topics --", shell="fish")
    assert dict(os.environ) == former
    loaded = loaded_by("__complete", "bash", "kac topics --output=", "")
    assert loaded.code == 0
    assert loaded.any_of("aiokafka", "kio", "textual", "prompt_toolkit", "cryptography") == set()
    assert loaded_by("--help").any_of("argcomplete") == set()


@pytest.mark.parametrize("type_", of_kafka(), ids=lambda type_: type_.word)
def test_keys_are_of_the_entity_that_is_named(type_: EntityType) -> None:
    word = type_.kafka_word
    assert _entity(["configs", f"--{word}", "1", "--add-config"], "configs") == (word, "1")
    assert _entity(["configs", f"--{word}=1", "--add-config"], "configs") == (word, "1")
    typed = ["configs", "--entity-type", type_.kafka_type, "--entity-name", "1", "--add-config"]
    assert _entity(typed, "configs") == (word, "1")


def test_bash_completes_the_first_word_without_a_start_of_python() -> None:
    """For the first word, the script for bash proposes the same names as kac, without running kac."""
    asked = script("bash") + "\nkac() { echo called >&2; return 1; }\n"
    asked += 'COMP_WORDS=(kac "$1"); COMP_CWORD=1; COMP_LINE="kac $1"; COMP_POINT=${#COMP_LINE}; _kac kac "$1" kac\n'
    asked += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", asked, "-", "to"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["topics", "tokens"]
    assert done.stderr == ""
