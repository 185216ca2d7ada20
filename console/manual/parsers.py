"""Every command with its options, whichever parser it has."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from console.cli import COMMANDS, Command, command_parser, parser


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """An option as it is typed and explained. value: how its value is shown, ``""`` where it takes none; choices: its
    legal values where those are few; group: under which heading it stands."""

    names: tuple[str, ...]
    value: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """A command; ``""`` is what `kac` does without one. epilog: its examples, lines as they stand."""

    name: str
    help: str
    options: tuple[OptionHelp, ...]
    epilog: str = ""


def top() -> CommandHelp:
    """What may stand before a command."""
    made = parser()
    return CommandHelp("", made.description or "", tuple(_options(made)))


def commands() -> tuple[Command, ...]:
    """The commands that an operator types."""
    return tuple(command for command in COMMANDS if not command.name.startswith("_"))


def help_of(command: Command) -> CommandHelp:
    """A command's options; imports its module."""
    if command.name == "configs":
        from console.commands.kafka_configs.options import EXAMPLES

        return CommandHelp(command.name, command.help, tuple(_configs_options()), EXAMPLES)
    if command.own_parser:
        return CommandHelp(command.name, command.help, ())
    made = command_parser(command)
    return CommandHelp(command.name, command.help, tuple(_options(made)), made.epilog or "")


def _configs_options() -> Iterator[OptionHelp]:
    from console.commands.kafka_configs.options import ENTITY_TYPES, OPTIONS, OUTPUTS

    choices = {"entity-type": ENTITY_TYPES, "output": OUTPUTS}
    for option in OPTIONS:
        names = tuple(f"-{name}" if len(name) == 1 else f"--{name}" for name in (option.name, *option.aliases))
        yield OptionHelp(names, option.value, option.help, choices.get(option.name, ()), option.group)


def _options(made: argparse.ArgumentParser) -> Iterator[OptionHelp]:
    for action in made._actions:  # argparse has no other way to tell what it was given
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
