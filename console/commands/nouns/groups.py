"""`kac groups`."""

from __future__ import annotations

import argparse

from console.commands.nouns.noun import Noun, Statements, add_config_options, alteration, need

_GROUP_EXAMPLES = """\
examples:
  kac groups -b broker1:9092 --list --state Stable
  kac groups -c prod --describe --group billing
  kac groups -c prod --alter --group billing --add-config consumer.session.timeout.ms=50s
"""


def _group_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", metavar="NAME", help="its name")
    parser.add_argument("--state", metavar="STATE", help="with --list: only in this state")
    add_config_options(parser, "configs")


def _group_statements(given: argparse.Namespace, action: str) -> Statements:
    if action == "list":
        state = f" state={need(given.state, '--state', action)}" if given.state is not None else ""
        return (f"list groups{state}",)
    entity = f"group {need(given.group, '--group', action)}"
    return (f"describe {entity}",) if action == "describe" else alteration(entity, given)


GROUPS = Noun(
    "groups",
    "list, describe and configure groups",
    {
        "list": "the groups with their states",
        "describe": "a group's members and how far it is behind",
        "alter": "set or remove configs",
    },
    _group_options,
    _group_statements,
    _GROUP_EXAMPLES,
)
