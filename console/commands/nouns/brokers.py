"""`kac brokers`."""

from __future__ import annotations

import argparse

from console.commands.nouns.noun import Noun, OptionsError, Statements, add_config_options, alteration
from console.language.quoting import DEFAULT_NAME, quote

_BROKER_EXAMPLES = """\
examples:
  kac brokers -b broker1:9092 --list
  kac brokers -c prod --describe --broker 2
  kac brokers -c prod --alter --broker-defaults --add-config log.retention.ms=7d --validate-only
"""


def _broker_options(parser: argparse.ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--broker", metavar="ID", help="its number")
    one.add_argument("--broker-defaults", action="store_true", help="what every broker inherits")
    add_config_options(parser, "configs")


def _broker_statements(given: argparse.Namespace, action: str) -> Statements:
    if action == "list":
        return ("list brokers",)
    if given.broker is None and not given.broker_defaults:
        raise OptionsError(f"--{action} needs --broker ID or --broker-defaults")
    entity = f"broker {DEFAULT_NAME if given.broker_defaults else quote(given.broker)}"
    return (f"describe {entity}",) if action == "describe" else alteration(entity, given)


BROKERS = Noun(
    "brokers",
    "list, describe and configure brokers",
    {
        "list": "the brokers, with the controller marked",
        "describe": "all configs of a broker, or the brokers' default",
        "alter": "set or remove configs",
    },
    _broker_options,
    _broker_statements,
    _BROKER_EXAMPLES,
)
