"""``kac __complete``: what the shells' completion scripts ask, answered with argcomplete.

argcomplete reads the half-typed line and finds which option's value is being typed. What it would print is not safe for
every name (its bash script expands its own answer once more, its quoting leaves ``~``, ``#`` and newlines alone), so
the scripts are ours, and so is the quoting: a name is cut to what the shell replaces first, and quoted then.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from argcomplete.completers import SuppressCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.lexers import split_line

from console.manual.names import ENTITY_KINDS, Kind
from console.manual.parsers import CommandHelp, OptionHelp, commands, help_of, top
from console.present.sanitize import is_harmless
from console.terminal import drawn_on

FILES = ":files"
"""The only line where the shell itself is to complete the names of files."""

MOST = 500

_VALUE_KINDS = {
    "topic": Kind.TOPIC,
    "broker": Kind.BROKER,
    "broker-logger": Kind.BROKER,
    "group": Kind.GROUP,
    "client-metrics": Kind.METRICS,
    "user": Kind.USER,
    "client": Kind.CLIENT,
    "ip": Kind.IP,
    "principal": Kind.PRINCIPAL,
    "allow-principal": Kind.PRINCIPAL,
    "deny-principal": Kind.PRINCIPAL,
    "user-principal": Kind.PRINCIPAL,
    "context": Kind.CONTEXT,
    "c": Kind.CONTEXT,
    "add-config": Kind.ASSIGNMENT,
    "added-config": Kind.ASSIGNMENT,
    "add": Kind.ASSIGNMENT,
    "config": Kind.ASSIGNMENT,
    "delete-config": Kind.KEY,
    "deleted-config": Kind.KEY,
}
"""Option -> what its value is."""

Names = Callable[[Kind, Sequence[str], str], Iterable[str]]


def main(argv: Sequence[str], _options: argparse.Namespace) -> int:
    """``bash LINE WORD``: the line up to the cursor, and what bash will replace of it; ``zsh LINE``, ``fish LINE``.
    Prints a candidate in a line, for zsh and fish with a tab and what it is. Always 0: a completion that fails says
    nothing."""
    logging.disable()  # nothing may come between the prompt and what is typed
    shell, line, word = (*argv, "", "", "")[:3]
    from console.manual.names import names

    out = drawn_on("stdout")  # a tab parts a candidate from its help
    out.reconfigure(errors="surrogateescape")  # type: ignore[attr-defined]
    out.write("".join(f"{found}\n" for found in candidates(shell, line, word, names)))
    return 0


def candidates(shell: str, line: str, word: str, names: Names) -> list[str]:
    """Lines for the shell's script: `FILES` alone, or what the word can become. word: for bash, the part of the line
    that is replaced, as it was typed."""
    try:
        before = split_line(line)[3]
    except Exception:  # noqa: BLE001  # argcomplete's lexer has no promise for a line that no shell would run
        return []
    asked = _Line(before[1:], names)
    finder = _Finder()
    finder.line, finder.shell, finder.replaced = asked, shell, word
    # What argcomplete reads of the shell; its own variables in the environment belong to another program's completion.
    for name in [name for name in os.environ if name.startswith(("_ARGCOMPLETE", "_ARC_DEBUG"))]:
        del os.environ[name]
    os.environ.update(
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_IFS="\n",
        _ARGCOMPLETE_SUPPRESS_SPACE="1",
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
    )
    if shell != "bash":
        os.environ["_ARGCOMPLETE_DFS"] = "\t"
    out = io.StringIO()
    finder(
        asked.parser(),
        always_complete_options="long" if asked.command and not asked.listed else False,
        exit_method=lambda _code: None,
        output_stream=out,
        validator=lambda found, prefix: found == FILES or found.startswith(prefix),
        default_completer=SuppressCompleter(),
    )
    return [FILES] if asked.files else [found.removesuffix("\t") for found in out.getvalue().split("\n") if found]


class _Finder(CompletionFinder):
    """argcomplete's finder for a line. Only what a shell reads back as exactly it is offered."""

    line: _Line
    shell: str
    replaced: str

    def _init_debug_stream(self) -> None:
        """No debugging: its stream would be whatever is open as 9."""

    def collect_completions(
        self, active_parsers: list[argparse.ArgumentParser], parsed_args: argparse.Namespace, cword_prefix: str
    ) -> list[str]:
        """As the base class does, for a word that is remembered."""
        self.line.typed = cword_prefix
        return super().collect_completions(active_parsers, parsed_args, cword_prefix)

    def quote_completions(
        self,
        completions: list[str],
        cword_prequote: str,
        last_wordbreak_pos: int | None,  # noqa: ARG002  # bash says itself what it replaces
    ) -> list[str]:
        """What replaces the word: bash's own part of it, quoted; zsh and fish take names as they are and quote them."""
        found = [each for each in completions if is_harmless(each)][:MOST]
        if self.shell == "fish":
            # The one character that fish leaves unquoted: it would become a user's home.
            return [each for each in found if not each.startswith("~")]
        if self.shell != "bash":
            return found
        skip = _skipped(self.line.typed, self.replaced, cword_prequote)
        if skip is None:
            return []
        quoted = [_for_bash(each[skip:], cword_prequote) for each in found]
        return [each for each in quoted if each]


class _Line:
    """A half-typed line: its command, as a parser whose options know what their values are. typed: its last word;
    files: whether that is the name of a file."""

    def __init__(self, words: Sequence[str], names: Names) -> None:
        self.typed = ""
        self.files = False
        self._words = words
        self._names = names
        self.command, self._help = _command(words)
        self.listed = tuple(c for option in self._help.options if _is_positional(option) for c in option.choices)

    def parser(self) -> argparse.ArgumentParser:
        """Flat: what a broken line has before its end counts too."""
        made = argparse.ArgumentParser(prog="kac", add_help=False, allow_abbrev=False, conflict_handler="resolve")
        positional = made.add_argument("command", help=argparse.SUPPRESS)
        if self.command:
            positional.completer = SuppressCompleter()  # type: ignore[attr-defined]
            for option in top().options:
                self._add(made, option, hidden=True)
        else:
            positional.completer = lambda **_: {each.name: each.help for each in commands()}  # type: ignore[attr-defined]
        for option in self._help.options:
            self._add(made, option)
        if self.listed:
            made.add_argument("listed", nargs="?", choices=self.listed)
        if self.command:
            rest = made.add_argument("rest", nargs="*")
            rest.completer = SuppressCompleter()  # type: ignore[attr-defined]
        return made

    def _add(self, parser: argparse.ArgumentParser, option: OptionHelp, hidden: bool = False) -> None:
        if _is_positional(option):
            return
        help_ = argparse.SUPPRESS if hidden else option.help.replace("%", "%%")
        if not option.value:
            parser.add_argument(*option.names, action="store_true", help=help_)
            return
        action = parser.add_argument(*option.names, help=help_, choices=option.choices or None)
        if not option.choices:
            action.completer = self._completer(option)  # type: ignore[attr-defined]

    def _completer(self, option: OptionHelp) -> Callable[..., list[str]]:
        def complete(prefix: str, **_: Any) -> list[str]:
            name = next((n for n in reversed([*self._words, self.typed.partition("=")[0]]) if n in option.names), "")
            kind = self._kind(option, name.lstrip("-"))
            if kind is Kind.FILE:
                self.files = True
                return []
            return self._named(kind, prefix)

        return complete

    def _kind(self, option: OptionHelp, name: str) -> Kind:
        if name == "entity-name":
            types = [word for word in self._words if word in ENTITY_KINDS]
            return ENTITY_KINDS[types[-1]] if types else Kind.NOTHING
        if option.value == "FILE" or name in ("command-config", "config.properties", "add-config-file"):
            return Kind.FILE
        return _VALUE_KINDS.get(name, Kind.NOTHING)

    def _named(self, kind: Kind, prefix: str) -> list[str]:
        start, end = "", ""
        if kind in (Kind.KEY, Kind.ASSIGNMENT):
            done, comma, last = prefix.rpartition(",")
            if "=" in last:
                return []
            start, end = done + comma, "=" if kind is Kind.ASSIGNMENT else ""
        if kind is Kind.NOTHING:
            return []
        # A name like an option would be read as one, unless it stands behind the = of its own.
        alone = not self.typed.startswith("-")
        found = self._names(kind, self._words, self.command)
        return [f"{start}{name}{end}" for name in found if name and not (alone and not start and name.startswith("-"))]


def _is_positional(option: OptionHelp) -> bool:
    return not option.names[0].startswith("-")


def _command(words: Sequence[str]) -> tuple[str, CommandHelp]:
    """The command that a line names and its options; what may stand before one where there is none."""
    takes_value = {name for option in top().options if option.value for name in option.names}
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in takes_value
        else:
            known = next((each for each in commands() if each.name == word), None)
            return word, help_of(known) if known is not None else CommandHelp(word, "", ())
    return "", top()


def _skipped(typed: str, replaced: str, quote: str) -> int | None:
    """How much of the word stays on the line, because bash parts words at ``=`` and ``:`` too. typed: the whole word,
    unquoted; replaced: what bash replaces, as it stands on the line behind an open quote. None where they differ."""
    try:
        parts = shlex.split(f"{quote}{replaced}{quote}")
    except ValueError:
        return None
    text = "".join(parts)
    return len(typed) - len(text) if len(parts) < 2 and typed.endswith(text) else None


def _for_bash(text: str, quote: str) -> str:
    """The text as bash takes it where a quote is open, or none; ``""`` where it can't stand there."""
    if quote == "'":
        return "" if "'" in text else text
    if quote == '"':
        # In double quotes a backslash does not keep ! from the history.
        return "" if "!" in text else "".join(f"\\{char}" if char in '"$`\\' else char for char in text)
    return "".join(
        char if char.isalnum() or char in "-_.=:,/@%+" or not char.isascii() else f"\\{char}" for char in text
    )
