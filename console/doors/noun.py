"""``kac topics``, ``quotas``, ``acls``, ``brokers``, ``groups`` and ``scram``: the same door for each noun."""

from __future__ import annotations

import argparse

from console.commands.nouns import options as noun_options
from console.commands.nouns.registry import noun
from console.doors.opening import client_of, context_of, open_log_file


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """The options of one of them."""
    noun_options.add_options(parser, noun(name))


def run(options: argparse.Namespace, name: str) -> int:
    """0 done, 1 failed, 2 not understood and nothing done."""
    from console.commands.nouns.command import NounCommand

    open_log_file()
    return NounCommand(noun(name), options).run(lambda: context_of(options), client_of)
