"""A half-typed command line: what is wanted where the cursor is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from console.manual.parsers import CommandHelp, OptionHelp, commands, help_of, top


class Kind(Enum):
    """What the last word is."""

    LISTED = "one of the words that come with it"
    FILE = "a file"
    TOPIC = "a topic"
    BROKER = "a broker's id"
    GROUP = "a group"
    METRICS = "client metrics"
    USER = "a user"
    CLIENT = "a client id"
    IP = "an ip"
    PRINCIPAL = "a principal"
    CONTEXT = "a context"
    KEY = "a config's key"
    ASSIGNMENT = "a config's key, and = behind it"
    NOTHING = "nothing that can be told"


VALUE_KINDS = {
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
ENTITY_KINDS = {
    "topics": Kind.TOPIC,
    "brokers": Kind.BROKER,
    "broker-loggers": Kind.BROKER,
    "groups": Kind.GROUP,
    "client-metrics": Kind.METRICS,
    "users": Kind.USER,
    "clients": Kind.CLIENT,
    "ips": Kind.IP,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to complete. start: what stays of the word as it is; typed: what has been typed of the rest; listed: what
    it may be, with a word of help each; command: whose option it is."""

    kind: Kind
    start: str
    typed: str
    listed: tuple[tuple[str, str], ...] = ()
    command: str = ""


def wanted(words: Sequence[str]) -> Wanted:
    """What is wanted in the place of the last of the words behind ``kac``."""
    *before, word = words or ("",)
    command, rest = _command(before)
    if command is None:
        return _of_options(top(), before, word, _commands())
    known = next((each for each in commands() if each.name == command), None)
    if known is None:
        return Wanted(Kind.NOTHING, "", word)
    return _of_options(help_of(known), rest, word, (), command)


def _command(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The command, and the words behind it."""
    takes_value = {name for option in top().options if option.value for name in option.names}
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in takes_value
        else:
            return word, words[place + 1 :]
    return None, words


def _commands() -> tuple[tuple[str, str], ...]:
    return tuple((command.name, command.help) for command in commands())


def _of_options(
    help_: CommandHelp, before: Sequence[str], word: str, also: tuple[tuple[str, str], ...], command: str = ""
) -> Wanted:
    spelled = {name: option for option in help_.options for name in option.names}
    last = before[-1] if before else ""
    name, equals, value = word.partition("=")
    if equals and name.startswith("-") and name in spelled:
        return _value(spelled[name], name, f"{name}=", value, before, command)
    if last in spelled and spelled[last].value:
        return _value(spelled[last], last, "", word, before[:-1], command)
    options = tuple((name, option.help) for option in help_.options for name in option.names if name.startswith("--"))
    if word.startswith("-"):
        return Wanted(Kind.LISTED, "", word, options, command)
    bare = (option for option in help_.options if not option.names[0].startswith("-"))
    listed = also or tuple((choice, "") for option in bare for choice in option.choices)
    return Wanted(Kind.LISTED, "", word, listed or options, command)


def _value(option: OptionHelp, name: str, start: str, typed: str, before: Sequence[str], command: str) -> Wanted:
    if option.choices:
        return Wanted(Kind.LISTED, start, typed, tuple((choice, "") for choice in option.choices), command)
    bare = name.lstrip("-")
    if bare == "entity-name":
        types = [word for word in before if word in ENTITY_KINDS]
        return Wanted(ENTITY_KINDS[types[-1]] if types else Kind.NOTHING, start, typed, (), command)
    if option.value == "FILE" or bare in ("command-config", "config.properties", "add-config-file"):
        return Wanted(Kind.FILE, start, typed, (), command)
    kind = VALUE_KINDS.get(bare, Kind.NOTHING)
    if kind in (Kind.KEY, Kind.ASSIGNMENT):
        done, comma, rest = typed.rpartition(",")
        return Wanted(Kind.NOTHING if "=" in rest else kind, start + done + comma, rest, (), command)
    return Wanted(kind, start, typed, (), command)
