"""What the options of kafka-share-groups and kafka-streams-groups mean, and which of them go together
(ShareGroupCommandOptions, StreamsGroupCommandOptions, 4.3)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from console.cli.kafka_tools.consumer_groups import (
    DELETE,
    DELETE_OFFSETS,
    DESCRIBE,
    LIST,
    RESET,
    TARGETS,
    check_states,
    given_targets,
)
from console.cli.kafka_tools.group_tools import SHARE, STREAMS, GroupTool
from console.cli.noun import OptionsError

SHARE_TARGETS = ("to-datetime", "to-earliest", "to-latest")


def check(given: argparse.Namespace, action: str, tool: GroupTool) -> None:
    """Raise OptionsError for what the tool refuses, in its words."""
    if action == DESCRIBE:
        _check_describe(given)
    if action == DELETE:
        _check_delete(given, tool)
    if action == DELETE_OFFSETS:
        _check_delete_offsets(given, tool)
    if action == RESET:
        _CHECK_RESET[tool.kind](given)
    if given.group and given.all_groups:
        raise OptionsError(_together("group", "all-groups"))
    if action == LIST:
        check_states(given, tool)
        if given.group:
            raise OptionsError(_together("group", LIST))
    if given.topic and action in (LIST, DESCRIBE):
        raise OptionsError(_together(tool.topic, action))
    for name in ("members", "offsets", "verbose", "state"):
        if getattr(given, name) not in (None, False) and action not in (DESCRIBE, *([LIST] if name == "state" else [])):
            raise OptionsError(f"Option(s) [{name}] are unavailable given other options on the command line")


def _check_describe(given: argparse.Namespace) -> None:
    if not (given.group or given.all_groups):
        raise OptionsError("Option [describe] takes one of these options: [all-groups], [group]")
    if sum((given.members, given.offsets, given.state is not None)) > 1:
        raise OptionsError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if given.state:
        raise OptionsError("Option [describe] does not take a value for [state]")


def _check_delete(given: argparse.Namespace, tool: GroupTool) -> None:
    if tool is SHARE:
        if not (given.group or given.all_groups):
            raise OptionsError("Option [delete] takes the options [group] or [all-groups]")
        if given.topic:
            raise OptionsError("Option [delete] does not take the option: [topic]")
    elif not (given.group or given.all_groups):
        raise OptionsError("Option [delete] takes one of these options: [all-groups], [group]")
    elif given.topic:
        raise OptionsError("Kafka Streams does not support topic-specific offset deletion from a streams group.")


def _check_delete_offsets(given: argparse.Namespace, tool: GroupTool) -> None:
    if not (given.group and given.topic):
        if tool is SHARE:
            raise OptionsError("Option [delete-offsets] takes the following options: [group], [topic]")
        raise OptionsError(
            "Option [delete-offsets] takes the [group] and one of these options: [all-input-topics], [input-topic]"
        )
    if len(given.group) > 1:
        raise OptionsError(f"Option [delete-offsets] supports only one [group] at a time, but found: {given.group}")


def _check_execution(given: argparse.Namespace) -> None:
    if given.dry_run and given.execute:
        raise OptionsError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not (given.dry_run or given.execute):
        raise OptionsError("Option [reset-offsets] takes the option: [execute] or [dry-run]")


def _check_share_reset(given: argparse.Namespace) -> None:
    _check_execution(given)
    if len(given.group) != 1:
        raise OptionsError("Option [reset-offsets] takes the option: [group]")
    if not (given.topic or given.all_topics):
        raise OptionsError("Option [reset-offsets] takes one of these options: [all-topics], [topic]")
    targets = [name for name in SHARE_TARGETS if getattr(given, name.replace("-", "_")) not in (None, False)]
    if not targets:
        names = ", ".join(f"[{name}]" for name in SHARE_TARGETS)
        raise OptionsError(f"Option [reset-offsets] takes one of these options: {names}")
    if len(targets) > 1:
        raise OptionsError(_together(*targets[:2]))


def _check_streams_reset(given: argparse.Namespace) -> None:
    _check_execution(given)
    if not (given.group or given.all_groups):
        raise OptionsError("Option [reset-offsets] takes one of these options: [all-groups], [group]")
    if not (given.topic or given.all_topics or given.from_file):
        raise OptionsError("One of the reset scopes should be defined: --all-topics, --topic.")
    targets = given_targets(given)
    if not targets:
        names = ", ".join(f"[{name}]" for name in TARGETS)
        raise OptionsError(f"Option '[reset-offsets]' requires one of the following scenarios: [{names}]")
    if len(targets) > 1:
        raise OptionsError(_together(*targets[:2]))


_CHECK_RESET: Mapping[str, Callable[[argparse.Namespace], None]] = {
    SHARE.kind: _check_share_reset,
    STREAMS.kind: _check_streams_reset,
}


def _together(one: str, other: str) -> str:
    return f'Option "[{one}]" can\'t be used with option "[{other}]"'
