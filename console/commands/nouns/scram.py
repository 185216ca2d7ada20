"""`kac scram`: credentials, whose passwords are read from a file or asked for, never given as an argument."""

from __future__ import annotations

import argparse

from console.commands.nouns.noun import Noun, Statements, need
from console.language.quoting import quote
from console.model.numbers import natural_number, option

_SCRAM_EXAMPLES = """\
examples:
  kac scram -b broker1:9092 --list
  kac scram -c prod --create --user alice --mechanism SCRAM-SHA-512                      # asks, hidden
  kac scram -c prod --create --user alice --mechanism SCRAM-SHA-256 --password-file pw
  kac scram -c prod --delete --user alice --mechanism SCRAM-SHA-256 --yes
"""


def _scram_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", metavar="NAME", help="whose")
    parser.add_argument("--mechanism", choices=("SCRAM-SHA-256", "SCRAM-SHA-512"), type=str.upper, help="which")
    parser.add_argument("--iterations", metavar="N", type=option(natural_number), help="4096 to 16384; without it 4096")
    parser.add_argument("--password-file", metavar="FILE", help="the password is its text; without it you are asked")


def _scram_statements(given: argparse.Namespace, action: str) -> Statements:
    if action in ("list", "describe"):
        if action == "list" and given.user is None:
            return ("list scram",)
        return (f"list scram user={need(given.user, '--user', action)}",)
    user, mechanism = need(given.user, "--user", action), need(given.mechanism, "--mechanism", action)
    if action == "delete":
        return (f"scram delete {user} {mechanism}",)
    iterations = f" iterations={given.iterations}" if given.iterations is not None else ""
    source = "?" if given.password_file is None else f"@{quote(given.password_file)}"
    return (f"scram set {user} {mechanism}{iterations} password={source}",)


SCRAM = Noun(
    "scram",
    "list, set and delete SCRAM credentials",
    {
        "list": "who has which",
        "describe": "a user's",
        "create": "set a credential, or another password",
        "delete": "delete a credential",
    },
    _scram_options,
    _scram_statements,
    _SCRAM_EXAMPLES,
    destructive=("delete",),
    aliases=(("alter", "create"),),
)
