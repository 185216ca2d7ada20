"""`kac share-groups`: groups of consumers that share partitions, with the options of kafka-share-groups."""

from __future__ import annotations

import argparse
from functools import partial

from console.cli.kafka_tools.consumer_groups import DELETE, DELETE_OFFSETS, DESCRIBE, LIST, RESET, chosen_states
from console.cli.kafka_tools.group_tools import SHARE
from console.cli.kafka_tools.newer_group_options import check
from console.cli.noun import KAFKA, Carry, Noun, Statements
from console.language.quoting import quote, quote_pattern

_EXAMPLES = """\
examples:
  kac share-groups -b broker1:9092 --list --state Empty
  kac share-groups -c prod --describe --group refund-workers
  kac share-groups -c prod --reset-offsets --group refund-workers --topic refunds --to-earliest --execute
  kac share-groups -c prod --delete-offsets --group refund-workers --topic refunds --yes
  kac share-groups -b broker1:9092 --describe --all-groups --members --output kafka    # kafka-share-groups' form
"""


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--group", metavar="NAME", action="append", default=[], help="its name; may be repeated")
    add("--all-groups", action="store_true", help="every share group")
    add("--state", metavar="STATE", nargs="?", const="", help="with --list: only in this state; with --describe: it")
    add("--members", action="store_true", help="with --describe: the members")
    add("--offsets", action="store_true", help="with --describe: the offsets, which is what is shown without it")
    add("--verbose", action="store_true", help="with --describe and --output kafka: epochs too")
    offsets = parser.add_argument_group("with --reset-offsets and --delete-offsets")
    add = offsets.add_argument
    add("--topic", metavar="NAME[:P,P]", action="append", default=[], help="a topic, or some of its partitions")
    add("--all-topics", action="store_true", help="all partitions with an offset of the group")
    add("--to-earliest", action="store_true", help="to the first record")
    add("--to-latest", action="store_true", help="to the end")
    add("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="to the first record of that time or later, UTC")
    add("--dry-run", action="store_true", help="show the new offsets")
    add("--execute", action="store_true", help="reset them")
    add("--timeout", metavar="MS", help=argparse.SUPPRESS)  # kac has limits of its own
    # What resetting knows beyond kafka-share-groups' own options.
    parser.set_defaults(to_current=False, to_offset=None, shift_by=None, by_duration=None, from_file=None, export=False)


def _statements(given: argparse.Namespace, action: str) -> Statements:
    check(given, action, SHARE)
    if action == LIST:
        states = [f" state={quote_pattern(state)}" for state in chosen_states(given, SHARE)] or [""]
        return tuple(f"list groups{state} type={SHARE.kind}" for state in states)
    return tuple(f"describe group {quote(name)}" for name in given.group)


def _carried(given: argparse.Namespace, action: str) -> Carry | None:
    """Return the function that carries out an action for which the language has no statement, or another output."""
    if action in (LIST, DESCRIBE) and given.output != KAFKA and not given.all_groups:
        return None
    check(given, action, SHARE)
    if action == RESET:
        from console.cli.kafka_tools.reset_command import reset

        return partial(reset, tool=SHARE)
    if action == DELETE:
        from console.cli.kafka_tools.group_deletion import delete_groups

        return partial(delete_groups, tool=SHARE)
    from console.cli.kafka_tools import newer_group_command

    if action == DELETE_OFFSETS:
        return newer_group_command.delete_share_offsets
    return partial(newer_group_command.list_ if action == LIST else newer_group_command.describe, tool=SHARE)


NOUN = Noun(
    "share-groups",
    "list and describe share groups, reset and delete their offsets",
    {
        LIST: "the share groups with their states",
        DESCRIBE: "a group's members and how far it is behind",
        RESET: "show other start offsets for a group without members, or set them with --execute",
        DELETE: "delete groups without members",
        DELETE_OFFSETS: "delete a group's offsets of a topic",
    },
    _options,
    _statements,
    _EXAMPLES,
    destructive=(DELETE, DELETE_OFFSETS),
    carried=_carried,
    kafka=True,
)
