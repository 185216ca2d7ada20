"""Generates pages of docs/ from the commands' parsers, the verbs and other records.

``python -m console.cli.manual.pages commands > docs/commands.md``, and ``… man > docs/kac.1``, ``… tables >
docs/lake-tables.md``, ``… lint > docs/lint.md``, ``… causes > docs/causes.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from msgspec import Struct

from console.cli.main import COMMANDS, EXAMPLES, Command, command_parser, parser
from console.cli.manual import lake_tables, lint_rules, triage_causes
from console.language.acl_words import operations_of
from console.language.arguments import ENTITY_USAGE
from console.language.statements import EVERYWHERE, Where
from console.language.verb import CHANGE, GO, LOOK, PLAN, Verb
from console.language.verbs import VERBS
from console.language.verbs.listing import KINDS
from console.model.authorizer import OPERATIONS_OF
from console.model.quota import CLIENT_KEYS, IP_KEYS
from console.present.kinds import filter_names
from console.terminal import put

# The page docs/commands.md.

_INTRODUCTION = """\
# Commands

The command bar (`:`), `kac run` and script files use the same language. `python -m console.cli.manual.pages` makes
this page from the registry of verbs; do not edit it by hand.

A script has statements, separated by `;` or line ends. kac parses the whole script before it runs the first statement.
If the script has a mistake, kac names its line and column, and runs no statement. A `#` at the start of a statement
begins a comment, which ends with the line.

A word may have these forms, also several of them next to each other:

- without quotes
- in `'single quotes'`, in which all characters are literal
- in `"double quotes"`, with `\\"`, `\\\\`, `\\n`, `\\t`, `\\r` and `\\u{HEX}`

Write keywords without quotes. `KEY=VALUE` is one word. Its first unquoted `=` separates the key from the value. Commas
and brackets have no meaning in the word.

The usage of a verb has its keywords in small letters, and names for your words in capitals. `[X]` may be left out.
`{X}` may be left out or repeated. `X | Y` means one of the two, and `…` means more of the same.
"""

_ENTITIES = """\
The word after an entity's keyword is always the entity's name, even if it looks like a keyword. `<default>` without
quotes is the default of all entities of the type. `'<default>'` in quotes is a name.

In the command bar you may leave out the entity. The statement then applies to the selected entity. In such a statement
quote a key that looks like an entity's keyword.
"""

_VALUES = """\
- A value may have a unit if the key's name or type says what it counts. Sizes: `10MB` is 10,000,000, and `10MiB` is
  10,485,760. Durations: `7d`, `12h`, `30min`, `90s`, `250ms`. Rates may end in `/s`. kac refuses a value that is not a
  whole number of the key's own unit. For other keys the text is the value.
- `KEY=` is the empty value.
- Write a sensitive value as `KEY=@FILE` or `KEY=?`, never as text. With `?` kac asks for the value, and does not show
  what you type.
"""


def reference() -> str:
    """Return the page of all commands, in Markdown."""
    return "\n".join(_page()) + "\n"


_GROUPS = {
    LOOK: """\
These verbs show parts of the cluster, and change nothing.
""",
    CHANGE: """\
These verbs stage edits: they add the edits to the plan, and `apply` sends the plan. A verb that begins an operation,
which is a job of many steps, stages nothing: kac asks, and then works on the operation.
""",
    PLAN: """\
The plan is the list of staged edits. The history has the changes that kac has sent.
""",
    GO: """\
Most of these verbs open a pane of the console. In the shell they print the rows of the pane. FILTER shows only rows
that contain a text. In the console `!text` shows rows without the text, and `/regex` takes a regular expression.
""",
}
"""Group of verbs -> the introduction of its section."""


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield "## Entities\n"
    yield from (f"- `{usage}`" for usage in ENTITY_USAGE)
    yield f"\n{_ENTITIES}"
    yield f"## Values\n\n{_VALUES}"
    group = ""
    for verb in VERBS.values():
        if verb.group != group:
            group = verb.group
            yield f"## {group}\n\n{_GROUPS[group]}"
        yield from _verb(verb)
    yield "## Columns that filters of list can use\n"
    yield from (f"- `{kind}`: {_codes(filter_names(kind))}" for kind in KINDS)
    yield "\n## Quotas\n"
    yield f"- users and clients: {_codes(CLIENT_KEYS)}"
    yield f"- ips: {_codes(IP_KEYS)}"
    yield "\n## Operations of ACLs\n"
    for type_ in OPERATIONS_OF:
        yield f"- {type_.name.lower().replace('_', '-')}: {_codes(operations_of(type_))}"
    yield "\n## Exit codes of `kac run`\n"
    yield "| code | meaning |\n|---|---|"
    yield "| 0 | kac applied everything, or there was nothing to apply |"
    yield "| 1 | something failed, or kac could not read it; kac still reports everything else |"
    yield "| 2 | the script or the command line is invalid, and kac did nothing |"
    yield "| 3 | edits were staged and not applied at the end |"


_WHERE = {EVERYWHERE: "", Where.BAR: " In the console only."}


def _verb(verb: Verb) -> Iterator[str]:
    yield f"### {verb.name}\n"
    where = _WHERE.get(verb.where, " In the console and the shell only.")
    yield f"{verb.summary}.{where}\n"
    yield "```"
    yield from verb.usage
    yield "```\n"
    if verb.about:
        yield f"{verb.about}\n"
    if verb.examples:
        yield "For example:\n\n```"
        yield from verb.examples
        yield "```\n"


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{each}`" for each in names)


# The man page.


class OptionHelp(Struct, frozen=True):
    """An option as the help shows it."""

    names: tuple[str, ...]
    value: str = ""
    """The placeholder of its value; ``""`` for an option without one."""
    help: str = ""
    choices: tuple[str, ...] = ()
    """The valid values if there are few."""
    group: str = ""
    """The heading above the option."""


class CommandHelp(Struct, frozen=True):
    """A command as the help shows it; the name ``""`` means `kac` without a command."""

    name: str
    help: str
    options: tuple[OptionHelp, ...]
    epilog: str = ""
    """The examples, which are printed verbatim."""


def top() -> CommandHelp:
    """Return the help of `kac` without a command: the options before a command."""
    made = parser()
    return CommandHelp("", made.description or "", tuple(_options(made)))


def commands() -> tuple[Command, ...]:
    """Return the commands that operators use, without internal ones."""
    return tuple(command for command in COMMANDS if not command.name.startswith("_"))


def help_of(command: Command) -> CommandHelp:
    """Return the help of a command with its options; a command with its own parser has no options here, except for `kac
    configs`. Imports the command's module.
    """
    if command.name == "configs":
        from console.cli.kafka_configs.command_line import EXAMPLES

        return CommandHelp(command.name, command.help, tuple(_configs_options()), EXAMPLES)
    if command.own_parser:
        return CommandHelp(command.name, command.help, ())
    made = command_parser(command)
    return CommandHelp(command.name, command.help, tuple(_options(made)), made.epilog or "")


def _configs_options() -> Iterator[OptionHelp]:
    from console.cli.kafka_configs.command_line import ENTITY_TYPES, OPTIONS, OUTPUTS

    choices = {"entity-type": ENTITY_TYPES, "output": OUTPUTS}
    for option in OPTIONS:
        names = tuple(f"-{name}" if len(name) == 1 else f"--{name}" for name in (option.name, *option.aliases))
        yield OptionHelp(names, option.value, option.help, choices.get(option.name, ()), option.group)


def _options(parser: argparse.ArgumentParser) -> Iterator[OptionHelp]:
    for action in parser._actions:  # argparse has no public access to the options of a parser
        if action.help == argparse.SUPPRESS:
            continue
        choices = tuple(map(str, action.choices)) if action.choices is not None else ()
        value = ""
        if action.nargs != 0:
            metavar = action.metavar or ("|".join(choices) if choices else action.dest.upper())
            value = metavar if isinstance(metavar, str) else " ".join(metavar)
        names = tuple(action.option_strings) or (value,)
        yield OptionHelp(names, value if action.option_strings else "", _plain(action), choices)


def _plain(action: argparse.Action) -> str:
    text = action.help or ""
    return text.replace("%(default)s", str(action.default)).replace("%%", "%")


_FILES = (
    ("~/.config/kac/config.toml", "contexts, one for each cluster; kac contexts lists them"),
    ("~/.local/state/kac/", "the journals of changes, one for each cluster, and the log"),
)
_ENVIRONMENT = (
    ("KAC_CONTEXT", "the context, if no option names one"),
    ("KAC_BOOTSTRAP", "addresses of brokers, if no option names any"),
    ("USE_OLD_COMMAND", "with true, kac configs becomes the kafka-configs on PATH"),
    ("KAC_THEME", "the screen's colours: dark, light or ansi"),
    ("NO_COLOR", "if it is set, the console has no colours"),
)
_EXITS = (
    ("0", "done"),
    ("1", "something failed, or kac could not read it"),
    ("2", "the command line is invalid, and kac did nothing; kac configs then exits with 1, as kafka-configs does"),
    ("3", "edits were not applied"),
)


def page() -> str:
    """Return the man page docs/kac.1, in roff with the man macros."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield '.\\" Made by python -m console.cli.manual.pages; do not edit.'
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
    """Return a text escaped for roff: its special characters, and a dot or quote at the beginning, which would be a
    request.
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    pages = {
        "commands": reference,
        "man": page,
        "tables": lake_tables.page,
        "lint": lint_rules.page,
        "causes": triage_causes.page,
    }
    put(pages[sys.argv[1]]())
