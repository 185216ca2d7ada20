"""`kac quotas`."""

from __future__ import annotations

import argparse

from console.commands.nouns.noun import Noun, OptionsError, Statements, add_config_options, alteration, need
from console.language.quoting import DEFAULT_NAME, quote, quote_pattern

_QUOTA_EXAMPLES = """\
examples:
  kac quotas -c prod --list --user alice
  kac quotas -c prod --effective --user alice --client checkout-7
  kac quotas -c prod --alter --user alice --client-defaults --add-config producer_byte_rate=10MB/s
  kac quotas -c prod --alter --ip 10.0.0.1 --delete-config connection_creation_rate
"""
_PARTS = ("user", "client", "ip")


def _quota_options(parser: argparse.ArgumentParser) -> None:
    for part in _PARTS:
        one = parser.add_mutually_exclusive_group()
        one.add_argument(f"--{part}", metavar="NAME", help=f"the {part}; with --list also a pattern")
        one.add_argument(f"--{part}-defaults", action="store_true", help=f"the default {part}")
    add_config_options(parser, "quotas")


def _quota_statements(given: argparse.Namespace, action: str) -> Statements:
    if action == "list":
        return (" ".join(["list quotas", *(f"{part}={name}" for part, name in _parts(given, pattern=True))]),)
    if action == "effective":
        if given.user_defaults or given.client_defaults:
            raise OptionsError("--effective is for a user and a client that there are, not for defaults")
        user, client = need(given.user, "--user", action), need(given.client, "--client", action)
        return (f"effective user {user} client {client}",)
    entity = " ".join(f"{part} {name}" for part, name in _parts(given))
    if not entity:
        raise OptionsError(f"--{action} needs --user, --client or --ip, or their defaults")
    if action == "describe":
        return (f"show {entity}",)
    return alteration(entity, given)


def _parts(given: argparse.Namespace, pattern: bool = False) -> list[tuple[str, str]]:
    found = []
    for part in _PARTS:
        name = getattr(given, part)
        if getattr(given, f"{part}_defaults"):
            found.append((part, DEFAULT_NAME))
        elif name is not None:
            found.append((part, quote_pattern(name) if pattern else quote(name)))
    return found


QUOTAS = Noun(
    "quotas",
    "list, describe and alter quotas, and tell which one counts",
    {
        "list": "the quotas that are set",
        "describe": "an entity's quotas",
        "effective": "what counts for a user and a client, and what it beats",
        "alter": "set or remove quotas of an entity",
    },
    _quota_options,
    _quota_statements,
    _QUOTA_EXAMPLES,
)
