"""The options of ``kac configs``: those of kafka-configs, KIP-248 and KIP-21, parsed as Kafka's library joptsimple
does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from console.model import entity_types


class UsageError(Exception):
    """The command line is invalid. The text is kafka-configs' own if it has one; `hint` is a hint of kac.

    Attributes:
        usage: whether kafka-configs prints all of its options below the text.
        code: the exit code.
    """

    def __init__(self, message: str, hint: str = "", usage: bool = False, code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.usage = usage
        self.code = code


class Option(Struct, frozen=True):
    """An option of the command: its name without dashes, whether it has a value, and the value's placeholder in the
    help.
    """

    name: str
    value: str = ""
    help: str = ""
    aliases: tuple[str, ...] = ()
    group: str = ""


class Given(Struct, frozen=True):
    """An option on the command line: its main name, its value (None for an option without a value), and its name as
    typed.
    """

    name: str
    value: str | None
    spelled: str


class Arguments(Struct, frozen=True):
    """The options on the command line, in order, and the words that belong to no option."""

    given: tuple[Given, ...]
    words: tuple[str, ...] = ()

    def has(self, *names: str) -> bool:
        """Return whether the command line has an option with one of the names."""
        return any(each.name in names for each in self.given)

    def values(self, name: str) -> tuple[str, ...]:
        """Return all values of an option, in order."""
        return tuple(each.value for each in self.given if each.name == name and each.value is not None)

    def value(self, name: str) -> str | None:
        """Return the value of an option; None if it was not given. Raises UsageError if it was given several times."""
        found = self.values(name)
        if len(found) > 1:
            raise UsageError(f"Found multiple arguments for option {name}, but you asked for only one")
        return found[0] if found else None


def by_spelling(options: Sequence[Option]) -> dict[str, Option]:
    """Return name -> option, for every name and alias."""
    return {name: option for option in options for name in (option.name, *option.aliases)}


def read_arguments(argv: Sequence[str], options: Mapping[str, Option]) -> Arguments:
    """Parse the arguments. options: the result of `by_spelling`.

    An option is ``--name value`` or ``--name=value``, also with one dash; its value is the next argument, whatever that
    looks like; after ``--`` there are only words.

    Raises:
        UsageError: an option is unknown, or its value is missing.
    """
    given: list[Given] = []
    words: list[str] = []
    rest = iter(argv)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
            break
        if len(argument) < 2 or not argument.startswith("-"):
            words.append(argument)
            continue
        long = argument.startswith("--")
        spelled, is_assigned, value = argument[2 if long else 1 :].partition("=")
        option = options.get(spelled)
        if option is None:
            raise _unknown(spelled if long else spelled[:1], spelled, options)
        if not option.value:
            given.append(Given(option.name, None, spelled))
        elif is_assigned:
            given.append(Given(option.name, value, spelled))
        else:
            following = next(rest, None)
            if following is None:
                raise UsageError(f"Option {spelled} requires an argument")
            given.append(Given(option.name, following, spelled))
    return Arguments(tuple(given), tuple(words))


def _unknown(said: str, spelled: str, options: Mapping[str, Option]) -> UsageError:
    from difflib import get_close_matches  # imported late, only after an error

    near = get_close_matches(spelled, options, n=1)
    return UsageError(f"{said} is not a recognized option", f"did you mean --{near[0]}?" if near else "")


# The options of `kac configs`, and their meaning: kafka-configs' own, and those of KIP-248 and KIP-21.

TOPICS, CLIENTS, USERS, BROKERS = "topics", "clients", "users", "brokers"
IPS, GROUPS, BROKER_LOGGERS = "ips", "groups", "broker-loggers"
BY_TYPE = {each.kafka_type: each for each in entity_types.of_kafka()}
_OTHERS = tuple(each.kafka_type for each in entity_types.listed_alone())
ENTITY_TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, *_OTHERS, GROUPS, BROKER_LOGGERS)
"""The types of entities, in the order of kafka-configs' own list."""
TYPE_ALIASES = {each.kafka_word: type_ for type_, each in BY_TYPE.items() if each.kafka_word != type_}
"""Name of an entity type in KIP-21, in the singular -> the name in kafka-configs."""

ENTITY_FLAGS = {
    BY_TYPE[type_].kafka_word: type_
    for type_ in (TOPICS, CLIENTS, USERS, BROKERS, BROKER_LOGGERS, IPS, *_OTHERS, GROUPS)
}
"""Singular name of an option -> the entity type. The entries are in the order in which kafka-configs looks for these
options, because this order determines which of two entities is the first.
"""
DEFAULT_FLAGS = {f"{flag}-defaults": type_ for flag, type_ in ENTITY_FLAGS.items() if BY_TYPE[type_].has_default}

OUTPUTS = ("table", "kafka", "json", "yaml", "csv")

_CLUSTER, _WHAT, _ENTITY, _CHANGE, _FORM = "which cluster", "what to do", "which entity", "what to change", "output"

OPTIONS = (
    Option(
        "bootstrap-server",
        "HOST:PORT,…",
        "addresses of brokers to connect to first",
        ("bootstrap-servers", "broker-list", "b"),
        _CLUSTER,
    ),
    Option(
        "bootstrap-controller", "HOST:PORT,…", "addresses of controllers, for their configs and loggers", (), _CLUSTER
    ),
    Option("context", "NAME", "a context, see `kac contexts`", ("c",), _CLUSTER),
    Option("command-config", "FILE", "a client.properties", ("config.properties",), _CLUSTER),
    Option("read-only", "", "refuse every change", (), _CLUSTER),
    Option("no-journal", "", "don't write changes into the journal", (), _CLUSTER),
    Option("zookeeper", "HOST:PORT", "ignored with a warning: kac connects to the brokers", (), _CLUSTER),
    Option("describe", "", "show configs", ("describe-config",), _WHAT),
    Option("alter", "", "change configs", ("alter-config",), _WHAT),
    Option("all", "", "with --describe: also inherited configs", (), _WHAT),
    Option("validate-only", "", "with --alter: let the brokers check the change, change nothing", (), _WHAT),
    Option("entity-type", "TYPE", f"one of {', '.join(ENTITY_TYPES)}", (), _ENTITY),
    Option("entity-name", "NAME", "its name", (), _ENTITY),
    Option("entity-default", "", "the default of clients, users, brokers or ips", (), _ENTITY),
    *(Option(flag, "NAME", f"the same as --entity-type {type_}", (), _ENTITY) for flag, type_ in ENTITY_FLAGS.items()),
    *(Option(flag, "", f"the default of {type_}", (), _ENTITY) for flag, type_ in DEFAULT_FLAGS.items()),
    Option("add-config", "K=V,K=[V,V]", "keys to set; brackets keep commas together", ("added-config",), _CHANGE),
    Option("add-config-file", "FILE", "keys to set, in a Java properties file", (), _CHANGE),
    Option("delete-config", "K,K", "keys to remove", ("deleted-config",), _CHANGE),
    Option("force", "", "ask nothing; a warning still needs --accept", (), _CHANGE),
    Option("accept", "NAME,…", "with --alter: continue in spite of these warnings", (), _CHANGE),
    Option("output", "FORM", f"one of {', '.join(OUTPUTS)}; else table on a terminal, kafka elsewhere", (), _FORM),
    Option("help", "", "show this text", ("h",), _FORM),
    Option("version", "", "the version of kac", (), _FORM),
)

EXAMPLES = """\
examples:
  kac configs -b broker1:9092 --topic orders --describe
  kac configs -b broker1:9092 --topic orders --alter --add-config retention.ms=86400000,cleanup.policy=[compact,delete]
  kac configs -c prod --user alice --client-defaults --alter --add-config producer_byte_rate=1048576
  kac configs -c prod --broker-defaults --alter --delete-config log.retention.ms --validate-only
  kac configs -c prod --user alice --alter --add-config-file alice.properties     # SCRAM-SHA-256=password=…
  USE_OLD_COMMAND=true kac configs …                                             # runs the kafka-configs on PATH
"""


def usage() -> str:
    """Return the help text of the command."""
    lines = ["usage: kac configs (--describe | --alter) ENTITY [options]", ""]
    others = ", ".join(each.spoken for each in entity_types.listed_alone())
    lines.append(f"Show or change configs of topics, brokers, users, clients, ips, groups, {others} and loggers.")
    group = ""
    for option in OPTIONS:
        if option.group != group:
            group = option.group
            lines += ["", f"{group}:"]
        lines.append(_line(option))
    return "\n".join([*lines, "", EXAMPLES])


def _line(option: Option) -> str:
    names = ", ".join(f"-{name}" if len(name) == 1 else f"--{name}" for name in (option.name, *option.aliases))
    head = f"  {names} {option.value}".rstrip()
    return f"{head:<38}{option.help}" if len(head) < 37 else f"{head}\n{'':<38}{option.help}"


# The values of --add-config and --delete-config (ConfigCommand.parseConfigsToBeAdded, parseConfigsToBeDeleted).

_BRACKETS = re.compile(r"[\[\]]")
_KEY = re.compile(r"[$a-zA-Z0-9._-]*")
_TRIMMED = "".join(map(chr, range(0x21)))
"""The characters that Java's String.trim removes."""

NOT_PAIRS = (
    "requirement failed: Invalid entity config: all configs to be added must be in the format "
    '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
)


def _outside_brackets(text: str, separator: str) -> list[str]:
    """Split a text at each separator outside of brackets. A separator is outside if the next bracket after it is an
    opening one, or if no bracket follows.
    """
    pieces, begins, at = [], 0, 0
    ends = [(found.start(), found[0]) for found in _BRACKETS.finditer(text)]
    for end, bracket in (*ends, (len(text), "[")):
        while bracket == "[" and (found := text.find(separator, at, end)) >= 0:
            pieces.append(text[begins:found])
            begins = at = found + 1
        at = end
    return [*pieces, text[begins:]]


def parse_added(text: str) -> dict[str, str]:
    """Parse ``k1=v1,k2=[v1,v2]`` into key -> value, without the brackets; the last value of a key counts.

    Raises:
        UsageError: a part is not KEY=VALUE. The message names the part by its number, since its text may be a piece of
            a secret.
    """
    parts = _outside_brackets(text, ",")
    while len(parts) > (0 if "," in text else 1) and not parts[-1]:
        parts.pop()  # Java's split drops empty parts at the end, too
    added: dict[str, str] = {}
    for place, part in enumerate(parts, start=1):
        pair = _outside_brackets(part, "=")
        if len(pair) != 2:
            # Name the part by its number: its text may be a piece of a secret.
            raise UsageError(NOT_PAIRS, f"look at part {place} of {len(parts)}")
        added[pair[0].strip(_TRIMMED)] = _BRACKETS.sub("", pair[1]).strip(_TRIMMED)
    return added


def check_keys(added: dict[str, str]) -> None:
    """Raise UsageError for a key with characters that no config's key may have."""
    for key in added:
        if not _KEY.fullmatch(key):
            raise UsageError(f"Invalid character found for config key: {key}")


def parse_deleted(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Parse texts like ``k1, k2`` into the keys, in order; a repeated key stays repeated."""
    keys: list[str] = []
    for text in texts:
        tokens = [token for token in text.split(",") if token]
        keys += tokens or [text]
    return tuple(key.strip(_TRIMMED) for key in keys)
