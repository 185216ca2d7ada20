"""What kafka-consumer-groups' options mean, and which of them go together (ConsumerGroupCommandOptions, 4.3)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from console.cli.kafka_tools.group_tools import CONSUMERS, GroupTool
from console.cli.noun import OptionsError

LIST, DESCRIBE, ALTER = "list", "describe", "alter"
DELETE, RESET, DELETE_OFFSETS = "delete", "reset-offsets", "delete-offsets"
TYPES = ("Classic", "Consumer")
TARGETS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
"""Options of --reset-offsets, of which exactly one is needed."""


def given_targets(given: argparse.Namespace) -> list[str]:
    """Return which of `TARGETS` were given."""
    return [name for name in TARGETS if getattr(given, name.replace("-", "_")) not in (None, False)]


def check(given: argparse.Namespace, action: str) -> None:
    """Raise OptionsError for what kafka-consumer-groups refuses, in its words
    (ConsumerGroupCommandOptions.checkArgs).
    """
    if action in (DESCRIBE, DELETE, RESET) and not (given.group or given.all_groups):
        raise OptionsError(f"Option [{action}] takes one of these options: [group], [all-groups]")
    if action == DESCRIBE:
        if sum((given.members, given.offsets, given.state is not None)) > 1:
            raise OptionsError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if given.state:
            raise OptionsError("Option [describe] does not take a value for [state]")
    if action == DELETE and given.topic:
        raise OptionsError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if action == DELETE_OFFSETS and not (given.group and given.topic):
        raise OptionsError("Option [delete-offsets] takes the following options: [group], [topic]")
    if action == RESET:
        _check_reset(given)
    if given.group and given.all_groups:
        raise OptionsError(_together("group", "all-groups"))
    if given.group and action == LIST:
        raise OptionsError(_together("group", LIST))
    if given.topic and action in (LIST, DESCRIBE):
        raise OptionsError(_together("topic", action))
    _check_belonging(given, action)


def _check_reset(given: argparse.Namespace) -> None:
    if given.dry_run and given.execute:
        raise OptionsError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    targets = given_targets(given)
    if len(targets) > 1:
        raise OptionsError(_together(*targets[:2]))
    if not (given.all_topics or given.topic or given.from_file):
        raise OptionsError("One of the reset scopes should be defined: --all-topics, --topic.")
    if not targets:
        names = ", ".join(f"[{name}]" for name in TARGETS)
        raise OptionsError(f"Option '[reset-offsets]' requires one of the following scenarios: [{names}]")


_BELONGING = (
    ("verbose", (DESCRIBE,)),
    ("members", (DESCRIBE,)),
    ("offsets", (DESCRIBE,)),
    ("state", (DESCRIBE, LIST)),
    ("type", (LIST,)),
)
"""Options that kafka-consumer-groups accepts with some actions only."""


def _check_belonging(given: argparse.Namespace, action: str) -> None:
    for name, actions in _BELONGING:
        if getattr(given, name) not in (None, False) and action not in actions:
            raise OptionsError(f"Option(s) [{name}] are unavailable given other options on the command line")


def _together(one: str, other: str) -> str:
    return f'Option "[{one}]" can\'t be used with option "[{other}]"'


def _spelled(text: str, known: Iterable[str]) -> str:
    """Return a word as Kafka spells it, whatever its case; unknown words unchanged."""
    word = text.strip()
    return {each.lower(): each for each in known}.get(word.lower(), word)


def chosen_states(given: argparse.Namespace, tool: GroupTool) -> tuple[str, ...]:
    """Return the states of --state, empty for all."""
    return tuple(_spelled(text, tool.states) for text in (given.state or "").split(",") if text.strip())


def chosen_types(given: argparse.Namespace) -> tuple[str, ...]:
    """Return the types of --type, empty for all."""
    return tuple(_spelled(text, TYPES) for text in (given.type or "").split(",") if text.strip())


def check_states(given: argparse.Namespace, tool: GroupTool) -> None:
    """Raise OptionsError for states that the tool's groups don't have."""
    if set(chosen_states(given, tool)) - set(tool.states):
        raise OptionsError(f"Invalid state list '{given.state}'. Valid states are: {', '.join(tool.states)}")


def check_kafka_filters(given: argparse.Namespace) -> None:
    """Raise OptionsError for states and types that groups of consumers don't have."""
    check_states(given, CONSUMERS)
    if set(chosen_types(given)) - set(TYPES):
        raise OptionsError(f"Invalid types list '{given.type}'. Valid types are: {', '.join(TYPES)}")
