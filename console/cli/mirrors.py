"""``kac mirrors``: the flows of MirrorMaker 2 to the cluster."""

from __future__ import annotations

import argparse

from console.cli import noun as cli_noun
from console.language.quoting import quote_pattern

_EXAMPLES = """\
examples:
  kac mirrors -c prod
  kac mirrors -c prod list --mirror 'east->*' --output json
  kac mirrors -c prod groups --group orders-app
  kac mirrors -c prod topics --mirror 'east->prod'
"""


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--mirror", metavar="SOURCE->TARGET", help="which flow, by the aliases in MirrorMaker's settings; or a pattern")
    add("--group", metavar="NAME", help="of groups: only this one, or a pattern")
    add("--topic", metavar="NAME", help="of topics and groups: only this copy, or a pattern")


def _statements(given: argparse.Namespace, action: str) -> cli_noun.Statements:
    kinds = {"list": "mirrors", "groups": "mirror-groups", "topics": "mirror-topics"}
    for option in ("group", "topic"):
        if getattr(given, option) is not None and option not in _FILTERS[action]:
            raise cli_noun.OptionsError(f"--{option} is not for {action}")
    filters = [
        f" {name}={quote_pattern(value)}"
        for name in ("mirror", *_FILTERS[action])
        if (value := getattr(given, name)) is not None
    ]
    return (f"list {kinds[action]}{''.join(filters)}",)


_FILTERS = {"list": (), "groups": ("group", "topic"), "topics": ("topic",)}
"""Action -> the options that it takes next to --mirror; each is a column."""

NOUN = cli_noun.Noun(
    "mirrors",
    "list the flows of MirrorMaker 2 to the cluster",
    {},
    _options,
    _statements,
    _EXAMPLES,
    words={
        "list": "the flows: heartbeats, copies, groups",
        "groups": "the groups with translated offsets, by partition",
        "topics": "the copies with offset syncs, by partition",
    },
)
