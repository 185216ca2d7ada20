"""A noun's options as a parser."""

from __future__ import annotations

import argparse

from console.commands.nouns.noun import Noun
from console.commands.nouns.output import FORMS


def add_options(parser: argparse.ArgumentParser, noun: Noun) -> None:
    """The noun's actions, its own options, and those that all nouns have."""
    parser.description = f"{noun.help[0].upper()}{noun.help[1:]}."
    parser.epilog = noun.examples
    parser.set_defaults(action="list")
    actions = parser.add_argument_group("what to do").add_mutually_exclusive_group()
    for action, help_ in noun.actions.items():
        also = [f"--{alias}" for alias, meant in noun.aliases if meant == action]
        actions.add_argument(f"--{action}", *also, dest="action", action="store_const", const=action, help=help_)
    noun.add_options(parser)
    parser.add_argument("--validate-only", action="store_true", help="let the brokers check it, change nothing")
    parser.add_argument("--yes", "--force", action="store_true", help="don't ask; a warning still needs --accept")
    parser.add_argument("--accept", metavar="NAME,…", default="", help="go on in spite of these warnings")
    parser.add_argument("--output", choices=FORMS, default=FORMS[0], help="form of the results")
