"""The commands ``kac topics``, ``quotas``, ``acls``, ``brokers``, ``groups`` and ``scram``: one way for each noun."""

from __future__ import annotations

import argparse
from functools import partial

from console.commands.nouns.options import add_options
from console.commands.nouns.registry import noun
from console.doors.opening import client_of, context_of, open_log_file


def noun_options(name: str, parser: argparse.ArgumentParser) -> None:
    """The options of a noun's command."""
    parser.set_defaults(run=partial(run_noun, name))
    add_options(parser, noun(name))


def run_noun(name: str, options: argparse.Namespace) -> int:
    """0 done, 1 failed, 2 not understood and nothing done."""
    from console.commands.nouns.command import NounCommand

    open_log_file()
    return NounCommand(noun(name), options).run(lambda: context_of(options), client_of)


topics_options = partial(noun_options, "topics")
quotas_options = partial(noun_options, "quotas")
acls_options = partial(noun_options, "acls")
brokers_options = partial(noun_options, "brokers")
groups_options = partial(noun_options, "groups")
scram_options = partial(noun_options, "scram")
