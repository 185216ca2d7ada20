"""Tests of completion in bash, zsh and fish in a terminal: after TAB and Enter, kac gets exactly the completed name as
its argument.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from console.cli.manual.completion_scripts import script
from tests.support.children import Child
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HOSTILE = (
    "plain",
    "$(touch ran)",
    " $(touch ran) #",
    "`touch ran`",
    "; touch ran; #",
    "'; touch ran; '",
    '"; touch ran; "',
    "|touch ran",
    "&touch ran",
    ">ran",
    "$HOME",
    "${HOME}",
    "a b  c",
    "it's",
    'say "x"',
    "back\\slash",
    "\\",
    "=",
    "a=b=c",
    "a:b",
    "a=b:c@d,e",
    "@x",
    "~",
    "~root",
    "=ls",
    "-rf",
    "--help",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "!!",
    "!touch",
    "a!b",
    "^a^b",
    "#x",
    "%1",
    "(x)",
    "<(touch ran)",
    "日本 語",
    "\u00e9'\u20ac",
    "trailing ",
)
"""Unusual names that each shell has to complete, both from nothing and from their first letters."""
UNSAFE = ("a\nb", "a\n$(touch ran)\nb", "\x1b]0;x\x07", "\u202etouch", "a\tb", "\r", "\x01", "\x7f", "a\x0bb")
"""Names that no shell may offer as a completion, because the shell or the terminal would act on them."""
START = {
    "bash": ("bash", "--norc", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
SETUP = {
    "bash": "PS1='rea''dy>'; bind 'set enable-bracketed-paste off'; source ./kac.bash",
    "zsh": "PS1='rea''dy>'; autoload -Uz compinit; compinit -u -D; source ./kac.zsh",
    "fish": "set -g fish_autosuggestion_enabled 0; function fish_prompt; echo -n rea; echo -n 'dy>'; end; "
    "source ./kac.fish",
}
KAC = """\
#!/bin/sh
cd '{here}'
if [ "$1" = __complete ]; then printf '%s\\0' "$@" > asked; exec cat answered; fi
echo >> ran
printf '%s\\0' "$@" > got
echo "ended:$(wc -l < ran)."
"""
ANSWER = """\
import json, os, sys
sys.path.insert(0, {root!r})
from console.cli.manual.completion import candidates
while True:
    with open("asked", "rb") as asked:
        _, shell, line, word, *_ = (*map(os.fsdecode, asked.read().split(b"\\0")), "")
    with open("names.json") as file:
        names = json.load(file)
    with open("answered", "w") as answered:
        print("\\n".join(candidates(shell, line, word, lambda *_: names)), file=answered)
"""
"""A program that answers all TABs in one process: to start Python and kac for each would take most of the test's time.
"""


class Shell:
    """A shell in a terminal with kac's completion as it is installed, and with a `kac` that writes its arguments to a
    file.
    """

    def __init__(self, shell: str, where: Path, setup: str = "") -> None:
        self.name, self.where, self.work = shell, where, where / "work"
        self.work.mkdir()
        (where / "bin").mkdir()
        program = where / "bin" / "kac"
        program.write_text(KAC.format(here=str(where)), encoding="utf-8")
        program.chmod(0o755)
        for name in ("asked", "answered"):
            os.mkfifo(where / name)
        (self.work / f"kac.{shell}").write_text(script(shell), encoding="utf-8")
        environment = {
            "PATH": f"{where / 'bin'}:/usr/bin:/bin",
            "HOME": str(where),
            "XDG_CONFIG_HOME": str(where / "config"),
            "XDG_DATA_HOME": str(where / "data"),
            "TERM": "dumb" if shell == "bash" else "xterm",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.terminal = Terminal(
            ("setsid", "-c", *START[shell]), cwd=self.work, environment=environment, columns=200, rows=50
        )
        self.terminal.send((setup or SETUP[shell]) + "\r")
        self.terminal.wait_for("ready>")
        (self.work / f"kac.{shell}").unlink()
        self._ran = 0

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Run the shell, and the program that answers its completions, until the end of the block."""
        with self.terminal:
            answer = [sys.executable, "-c", ANSWER.format(root=str(ROOT))]
            environment = {"HOME": str(self.where), "LANG": "C.UTF-8"}
            process = Child(answer, cwd=self.where, env=environment)
            try:
                yield self
            finally:
                process.kill()
                process.wait()

    def got(self, typed: str, names: Sequence[str]) -> list[str]:
        """Type a text, TAB and Enter, in a cluster whose topics have these names; return the arguments that kac got."""
        (self.where / "names.json").write_text(json.dumps(list(names)), encoding="utf-8")
        self._ran += 1
        self.terminal.send(f"kac {typed}\t\r")
        self.terminal.wait_for(f"ended:{self._ran}.")
        assert list(self.work.iterdir()) == []
        return (self.where / "got").read_bytes().decode().split("\0")[:-1]


@pytest.fixture(params=list(START))
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    """Provide each shell in turn. If the shell is not installed, skip the test, or fail it if KAC_REQUIRE_BROKERS is
    set.
    """
    if shutil.which(request.param) is None:
        assert not os.environ.get("KAC_REQUIRE_BROKERS"), f"{request.param} is not installed"
        pytest.skip(f"{request.param} is not installed")
    with Shell(request.param, tmp_path).running() as found:
        yield found


def test_a_name_behind_an_equals_sign_arrives_as_it_is(shell: Shell) -> None:
    for name in HOSTILE:
        assert shell.got("groups --group=", [name]) == ["groups", f"--group={name}"]


def test_a_name_that_is_a_word_arrives_as_it_is(shell: Shell) -> None:
    for name in HOSTILE:
        # A name like an option would be read as an option, and fish does not quote a ``~``.
        offered = not name.startswith("-") and not (shell.name == "fish" and name.startswith("~"))
        typed = ["groups", "--group", *([name] if offered else [])]
        assert shell.got("groups --group ", [name]) == typed


def test_a_name_of_which_a_part_is_typed_arrives_as_it_is(shell: Shell) -> None:
    for name in HOSTILE:
        assert shell.got("groups --group=zz", [f"zz{name}", "other"]) == ["groups", f"--group=zz{name}"]


def test_what_could_harm_a_terminal_or_end_a_line_is_not_offered(shell: Shell) -> None:
    for name in UNSAFE:
        assert shell.got("groups --group=zz", [f"zz{name}"]) == ["groups", "--group=zz"]
        assert shell.got("groups --group=", [name]) == ["groups", "--group="]


def test_what_is_typed_in_parts_and_in_quotes_goes_on(shell: Shell) -> None:
    names = ["zz$(touch ran) #", "other name", "a:b=c d"]
    for typed in ("--group=zz\\$", "--group='zz$(to", '--group="zz', "--group zz\\$\\(touch\\ ", "--group 'zz"):
        assert shell.got(f"groups {typed}", names)[-1].removeprefix("--group=") == names[0]
    assert shell.got("groups --group a:b=", names)[-1] == names[2]
    assert shell.got("groups --group=a:", names)[-1] == f"--group={names[2]}"
    assert shell.got("configs --entity-type groups --entity-name ot", names)[-1] == names[1]


def test_several_names_complete_to_what_they_share(shell: Shell) -> None:
    got = shell.got("groups --group=z", ["zz$(touch ran)a", "zz$(touch ran)b", "other"])
    assert got == ["groups", "--group=zz$(touch ran)"]


def test_a_pipe_and_a_context_before_it_do_not_confuse(shell: Shell) -> None:
    assert shell.got("-c prod groups --group zz", ["zz;touch ran"]) == [
        "-c",
        "prod",
        "groups",
        "--group",
        "zz;touch ran",
    ]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_loads_it_from_fpath(tmp_path: Path) -> None:
    """If the completion is in a directory of fpath, where packages install it, zsh loads it at the first TAB and
    completes.
    """
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "_kac").write_text(script("zsh"))
    setup = "PS1='rea''dy>'; fpath=($HOME/functions $fpath); autoload -Uz compinit; compinit -u -D"
    with Shell("zsh", tmp_path, setup).running() as shell:
        for name in HOSTILE[:3]:
            assert shell.got("groups --group=", [name]) == ["groups", f"--group={name}"]


def test_the_first_word_is_completed_without_a_start_of_python(shell: Shell) -> None:
    asking = f"if [ \"$1\" = __complete ]; then : > '{shell.where}/called'; exit 1; fi\n"
    kac = KAC.format(here=str(shell.where)).splitlines(keepends=True)
    assert "__complete" in kac[2]
    (shell.where / "bin" / "kac").write_text("".join([*kac[:2], asking, *kac[3:]]), encoding="utf-8")
    assert shell.got("topi", ()) == ["topics"]
    assert not (shell.where / "called").exists()
    assert shell.got("--vers", ()) == ["--vers"]
    assert (shell.where / "called").exists(), "an option is asked for"
