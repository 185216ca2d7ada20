"""Tests of command lines that kac writes for a shell: with any names of a cluster's entities, the shell passes exactly
the intended words.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.quoting import shell_comment, shell_text, shell_word
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.config import ConfigResource, topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.edits import AddAcl, SetConfig, SetQuota
from console.plan.kafka_tools import Command
from console.plan.plan import EMPTY, stage
from console.present.text import is_harmless
from tests.support.examples import examples
from tests.support.patience import PATIENCE

SHELLS = {
    "dash": ("dash",),
    "bash": ("bash", "--norc"),
    "bash, posix": ("bash", "--norc", "--posix"),
    "zsh": ("zsh", "-f"),
    "zsh, as some have it": ("zsh", "-f", "-o", "rcquotes", "-o", "magicequalsubst", "-o", "extendedglob"),
}
HOSTILE = (
    "$(touch ran)",
    "`touch ran`",
    "'; touch ran; '",
    '"; touch ran; "',
    "''",
    "it's",
    "a' 'b''c",
    "=touch",
    "a==touch",
    "~",
    "~root",
    "-rf",
    "--topic=x",
    "*",
    "[a]?{b,c}",
    "!!",
    "!touch",
    "^a^b",
    "#",
    "a #b",
    "",
    " ",
    "a\nb",
    "\na",
    "\x1b]0;t\x07",
    "\u202eabc\u202c",
    "\r",
    "\\",
    "a\\'",
    "\\n\\033",
    "%s%d",
    "&",
    "a;b|c>d<e",
    "$HOME",
    "\x7f\x80",
    "\u0301",
    "\x0012".replace("\0", "\x01"),
    "\x1b7",
    "日本",
    "\t",
)
words = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12), st.text("'\"$`\\!=~ \n\x1bx", max_size=8)))


def installed(shell: str) -> tuple[str, ...]:
    command = SHELLS[shell]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return command


def run(command: Sequence[str], script: str, where: Path, locale: str = "C.UTF-8") -> bytes:
    """Run a script with a shell in an empty folder, and return its standard output. Raises AssertionError if it fails
    or leaves a file.
    """
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": locale, "HOME": str(where)}
    done = subprocess.run(
        command, input=script.encode(), capture_output=True, cwd=where, env=env, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(where.iterdir()) == []
    return done.stdout


def sayable(text: str) -> bool:
    return "\0" not in text and not text.endswith("\n")


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_each_hostile_word_as_it_is(shell: str, locale: str, tmp_path: Path) -> None:
    said = run(installed(shell), f"printf '%s\\0' {' '.join(map(shell_word, HOSTILE))}\n", tmp_path, locale)
    assert said.decode().split("\0")[:-1] == list(HOSTILE)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_any_word_as_it_is(shell: str, tmp_path: Path) -> None:
    command = installed(shell)

    @examples(20, at_length=60)
    @given(words.map(lambda found: list(filter(sayable, found))))
    def law(found: list[str]) -> None:
        line = " ".join(map(shell_word, ["x", *found]))
        assert is_harmless(line)
        assert run(command, f"printf '%s\\0' {line}\n", tmp_path).decode().split("\0")[1:-1] == found

    law()


@pytest.mark.parametrize("text", ["a\0b", "a\n", "\ud800"])
def test_what_no_word_can_hold_is_refused_and_named_in_a_comment(text: str) -> None:
    with pytest.raises(ValueError, match=r"NUL|newline|surrogate"):
        shell_word(text)
    (line,) = shell_text([Command(("kafka-configs", "--entity-name", text))]).split("\n")
    assert line.startswith("# 'not for a shell")
    assert "kafka-configs --entity-name" in line


@pytest.mark.parametrize("shell", [("bash", "--norc", "-i"), ("zsh", "-f", "-i"), ("dash", "-i")], ids=" ".join)
@pytest.mark.parametrize(
    "note", ["it's", "a; touch ran", "$(touch ran)", "`touch ran`", "x > ran", "a\ntouch ran", "=ls"]
)
def test_a_comment_that_is_pasted_at_a_prompt_does_nothing(shell: tuple[str, ...], note: str, tmp_path: Path) -> None:
    """A comment that is pasted into an interactive shell has no effect, even in zsh, which runs the text after a
    ``#``.
    """
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    script = f"{shell_comment(note)}\nprintf 'still %s' here\n"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HISTFILE": ""}
    done = subprocess.run(
        [*shell, "-s"],
        input=script,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        check=False,
        timeout=PATIENCE,
    )
    assert "still here" in done.stdout
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_whole_runbook_gives_the_tools_exactly_its_words(shell: str, tmp_path: Path) -> None:
    command = installed(shell)
    names = [name for name in HOSTILE if name and sayable(name)]
    edits = [SetQuota(QuotaEntity.of({"user": name, "client-id": name}), "producer_byte_rate", 5.0) for name in names]
    acls = [
        AddAcl(Acl(AclResourceType(3), name, PatternType(3), f"User:{name}", "*", AclOperation(3), Permission(3)))
        for name in names
    ]
    configs = [SetConfig(topic_resource("a"), f"plugin.{place}.classes", value) for place, value in enumerate(HOSTILE)]
    snapshot = Snapshot()
    report = stage(EMPTY, [*edits, *acls, *configs], snapshot)
    commands = runbook(diff(report.plan, snapshot), ("--bootstrap-server", "h:1"))
    tools = {each.words[0] for each in commands if each.words}
    assert tools == {"kafka-configs", "kafka-acls"}
    taken = """
        taken() { printf '%s\\0' "$@"; for last; do :; done; printf '\\n\\0'; }
        kafka_configs() { taken kafka-configs "$@"; }
        kafka_acls() { taken kafka-acls "$@"; }
    """
    # POSIX allows no hyphen in the name of a function.
    text = shell_text(commands).replace("kafka-configs -", "kafka_configs -").replace("kafka-acls -", "kafka_acls -")
    said = run(command, f"{taken}\n{text}\n", tmp_path).decode()
    heard = [tuple(words.split("\0")[:-1]) for words in said.split("\n\0") if words]
    assert heard == [each.words for each in commands if each.words]
    assert isinstance(configs[0].resource, ConfigResource)
