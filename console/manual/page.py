"""The man page, from the commands' parsers: ``python -m console.manual.page > docs/kac.1``."""

from __future__ import annotations

from collections.abc import Iterator

from console.cli import EXAMPLES
from console.manual.parsers import CommandHelp, OptionHelp, commands, help_of, top
from console.terminal import put

_FILES = (
    ("~/.config/kac/config.toml", "contexts: which clusters there are; kac contexts lists them"),
    ("~/.local/state/kac/", "the journal of changes, one file for a cluster, and the log"),
)
_ENVIRONMENT = (
    ("KAC_CONTEXT", "the context where none is given"),
    ("KAC_BOOTSTRAP", "brokers to ask first where none are given"),
    ("USE_OLD_COMMAND", "with true, kac configs becomes the kafka-configs on PATH"),
    ("NO_COLOR", "where it is set the console has no colours"),
)
_EXITS = (
    ("0", "done"),
    ("1", "something failed"),
    ("2", "the command line was not understood, and nothing was done; kac configs exits with 1 then, as kafka-configs"),
    ("3", "edits were left unapplied"),
)


def page() -> str:
    """The page in roff's man macros."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield '.\\" Made by python -m console.manual.page; do not edit.'
    yield '.TH KAC 1 "" "kac" "User Commands"'
    yield ".SH NAME"
    yield "kac \\- the admin console for Apache Kafka"
    yield ".SH SYNOPSIS"
    yield ".B kac"
    yield "[\\fIoptions\\fR] [\\fICOMMAND\\fR ...]"
    yield ".SH DESCRIPTION"
    yield _text(top().help)
    yield ".SH OPTIONS"
    for option in top().options:
        yield from _option(option)
    yield ".SH COMMANDS"
    for command in commands():
        yield from _command(help_of(command))
    yield from _table("EXIT STATUS", _EXITS)
    yield from _table("ENVIRONMENT", _ENVIRONMENT)
    yield from _table("FILES", _FILES)
    yield ".SH EXAMPLES"
    yield from _verbatim(EXAMPLES)


def _command(help_: CommandHelp) -> Iterator[str]:
    yield f".SS kac {_text(help_.name)}"
    yield _text(f"{help_.help[0].upper()}{help_.help[1:]}.")
    shared = {option.names for option in top().options}
    for option in help_.options:
        if option.names not in shared:
            yield from _option(option)
    if help_.epilog:
        yield ".PP"
        yield from _verbatim(help_.epilog)


def _option(option: OptionHelp) -> Iterator[str]:
    yield ".TP"
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in option.names)
    value = f" \\fI{_text(option.value)}\\fR" if option.value else ""
    yield f"{names}{value}"
    yield _text(option.help) if option.help else "\\&"


def _table(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows:
        yield ".TP"
        yield f"\\fB{_text(name)}\\fR"
        yield _text(meaning)


def _verbatim(text: str) -> Iterator[str]:
    yield ".nf"
    yield from (_text(line) for line in text.rstrip("\n").split("\n"))
    yield ".fi"


def _text(text: str) -> str:
    """As roff prints it: its own characters escaped, a dot or quote at the start of a line no request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    put(page())
