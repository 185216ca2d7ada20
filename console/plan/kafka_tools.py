"""Commands of Kafka's own tools for a runbook: kafka-topics, kafka-configs and kafka-acls of Kafka 4.

kafka-configs removes all brackets from a value and trims it, so values that it would change are written with
--add-config-file. No command contains a secret: it names a file into which the operator puts the secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from console.model.numbers import json_text

SECRETS = "secret.properties"
"""The name of the file for secrets in commands."""
STDIN = "/dev/stdin"
CONFIG_OPTION = "--command-config"
"""The option by which most tools read a file with the settings of the connection."""
_ADDED_KEY = re.compile(r"[$a-zA-Z0-9._-]+")
_TRIMMED = "".join(map(chr, range(0x21)))


class Command(NamedTuple):
    """A command of one of Kafka's tools, and a note on it."""

    words: tuple[str, ...]
    """The program and its arguments; empty if no command of Kafka's tools can make the change."""
    stdin: str = ""
    """The standard input of the program; ``""`` if it reads none."""
    note: str = ""
    """A remark for the operator; ``""`` if there is none."""
    connection_at: int | None = None
    """The index in `words` at which the options of the connection are inserted; None to append them."""
    config_option: str = CONFIG_OPTION
    """The option by which this program reads a file with the settings of the connection."""


def option(name: str, value: str) -> tuple[str, ...]:
    """Return an option and its value as two arguments; as one, joined by ``=``, if the value begins with a hyphen."""
    # A parser may take a separate word with a leading hyphen for the next option.
    return (f"{name}={value}",) if value.startswith("-") else (name, value)


def entity_words(type_: str, name: str | None) -> list[str]:
    """Return the arguments by which kafka-configs names an entity. name: None for the default entity."""
    named = ["--entity-default"] if name is None else option("--entity-name", name)
    return ["--entity-type", type_, *named]


def alter_configs(entity: Sequence[str], *options: str) -> Command:
    """Return the command ``kafka-configs --alter`` for an entity, with these options."""
    return Command(("kafka-configs", "--alter", *entity, *options))


def alter_with_secrets(entity: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Command:
    """Return the command ``kafka-configs --alter`` for an entity, with a note on the values that the operator has to
    put into the file `SECRETS`.
    """
    content = "; ".join(f"{key}={value}" for key, value in pairs)
    note = f"{SECRETS}, readable by you alone, has to hold: {content}"
    return alter_configs(entity, "--add-config-file", SECRETS)._replace(note=note)


def reassignment(partitions: Sequence[Mapping[str, Any]], *action: str) -> Iterator[Command]:
    """Yield kafka-reassign-partitions with these partitions as JSON on its standard input; nothing if there are no
    partitions. action: the options that select the action.
    """
    words = ("kafka-reassign-partitions", *action, "--reassignment-json-file", STDIN)
    if partitions:
        yield Command(words, json_text({"version": 1, "partitions": partitions}) + "\n")


def needs_file(value: str) -> bool:
    """Return whether kafka-configs would change the value if it were on the command line, where it removes brackets and
    trims (ConfigCommand.parseConfigsToBeAdded).
    """
    return "[" in value or "]" in value or not is_trimmed(value)


def can_name_key(key: str, *, added: bool) -> bool:
    """Return whether kafka-configs accepts the key unchanged (ConfigCommand.parseConfigsToBeAdded, …ToBeDeleted).
    added: whether the key is set; otherwise it is deleted.
    """
    return _ADDED_KEY.fullmatch(key) is not None if added else "," not in key and key != "" and is_trimmed(key)


def is_trimmed(value: str) -> bool:
    """Return whether a value has no blanks that Java's String.trim would remove."""
    return value == value.strip(_TRIMMED)


def bracketed(value: str) -> str:
    """Return a value in brackets for --add-config, which otherwise splits it at commas and ``=``."""
    return f"[{value}]" if "," in value or "=" in value else value


def property_line(key: str, value: str) -> str:
    """Return a key and its value as a line of a Java properties file (java.util.Properties.load), in ASCII."""
    return f"{_escaped(key, ' :=#!')}={_escaped(value)}"


def _escaped(text: str, also: str = "") -> str:
    names = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
    result: list[str] = []
    for place, char in enumerate(text):
        if char in names:
            result.append(names[char])
        elif char in also or (char == " " and not place):
            result.append(f"\\{char}")
        elif " " <= char <= "~":
            result.append(char)
        else:
            # Properties files escape UTF-16 code units: a character outside the BMP has two.
            units = char.encode("utf-16-be")
            result += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
    return "".join(result)
