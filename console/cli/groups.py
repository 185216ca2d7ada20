"""`kac groups`: its own options, and those of kafka-consumer-groups."""

from __future__ import annotations

import argparse

from console.cli.kafka_tools.consumer_groups import (
    ALTER,
    DELETE,
    DELETE_OFFSETS,
    DESCRIBE,
    LIST,
    RESET,
    check,
    check_kafka_filters,
    chosen_states,
    chosen_types,
)
from console.cli.kafka_tools.group_tools import CONSUMERS
from console.cli.noun import KAFKA, Carry, Noun, OptionsError, Statements, add_config_options, alteration, need
from console.language.quoting import quote, quote_pattern
from console.model.numbers import LONG_MAX, LONG_MIN, option, whole_number

_EXAMPLES = """\
examples:
  kac groups -b broker1:9092 --list --state Stable
  kac groups -c prod --describe --group billing
  kac groups -c prod --alter --group billing --add-config consumer.session.timeout.ms=50s
  kac groups -c prod --reset-offsets --group billing --topic orders:0,1 --to-datetime 2026-01-31T08:00:00.000
  kac groups -c prod --reset-offsets --group billing --all-topics --shift-by -100 --execute
  kac groups -c prod --delete --group billing --yes
  kac groups -b broker1:9092 --describe --all-groups --members --verbose --output kafka    # kafka-consumer-groups' form
"""

_LONG = option(whole_number, LONG_MIN, LONG_MAX)


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--group", metavar="NAME", action="append", default=[], help="its name; may be repeated")
    add("--all-groups", action="store_true", help="every group of consumers")
    add("--state", metavar="STATE", nargs="?", const="", help="with --list: only in this state; with --describe: it")
    add("--type", metavar="TYPE", nargs="?", const="", help="with --list: only of this type, as classic or consumer")
    add("--members", action="store_true", help="with --describe: the members")
    add("--offsets", action="store_true", help="with --describe: the offsets, which is what is shown without it")
    add("--verbose", action="store_true", help="with --describe and --output kafka: epochs and assignments too")
    add_config_options(parser, "configs")
    offsets = parser.add_argument_group("with --reset-offsets and --delete-offsets")
    add = offsets.add_argument
    add("--topic", metavar="NAME[:P,P]", action="append", default=[], help="a topic, or some of its partitions")
    add("--all-topics", action="store_true", help="all partitions with an offset of the group")
    add("--from-file", metavar="FILE", help="offsets as --export writes them: topic,partition,offset")
    add("--to-earliest", action="store_true", help="to the first record")
    add("--to-latest", action="store_true", help="to the end")
    add("--to-current", action="store_true", help="to where the group is; to the end where it has no offset")
    add("--to-offset", metavar="N", type=_LONG, help="to this offset")
    add("--shift-by", metavar="N", type=_LONG, help="so many records on, or back with a minus")
    add("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="to the first record of that time or later, UTC")
    add("--by-duration", metavar="PnDTnHnMnS", help="to the first record that is not older, as PT1H30M")
    add("--dry-run", action="store_true", help="show the new offsets; so it is without --execute")
    add("--execute", action="store_true", help="reset them")
    add("--export", action="store_true", help="print the new offsets as CSV, which --from-file takes")
    add("--timeout", metavar="MS", help=argparse.SUPPRESS)  # kac has limits of its own


def _statements(given: argparse.Namespace, action: str) -> Statements:
    check(given, action)
    if action == LIST:
        filters = [f" state={quote_pattern(state)}" for state in chosen_states(given, CONSUMERS)] or [""]
        types = [f" type={quote_pattern(type_.lower())}" for type_ in chosen_types(given)] or [""]
        return tuple(f"list groups{state}{type_}" for state in filters for type_ in types)
    if action == DESCRIBE:
        return tuple(f"describe group {quote(name)}" for name in given.group)
    if action == ALTER and len(given.group) > 1:
        raise OptionsError("--alter is of one --group")
    return alteration(f"group {need(given.group[0] if given.group else None, '--group', action)}", given)


def _carried(given: argparse.Namespace, action: str) -> Carry | None:
    """Return the function that carries out an action for which the language has no statement, or another output."""
    if action == ALTER or (action in (LIST, DESCRIBE) and given.output != KAFKA and not given.all_groups):
        return None
    if action == DELETE and given.topic and given.output != KAFKA:
        action = DELETE_OFFSETS
    check(given, action)
    if action == LIST:
        check_kafka_filters(given)
    if action == RESET:
        from console.cli.kafka_tools.reset_command import reset

        return reset
    if action in (DELETE, DELETE_OFFSETS):
        from console.cli.kafka_tools.group_deletion import delete_groups, delete_offsets

        return delete_groups if action == DELETE else delete_offsets
    from console.cli.kafka_tools import group_command

    return {LIST: group_command.list_, DESCRIBE: group_command.describe}[action]


NOUN = Noun(
    "groups",
    "list, describe and configure groups, reset and delete their offsets",
    {
        LIST: "the groups with their states",
        DESCRIBE: "a group's members and how far it is behind",
        ALTER: "set or remove configs",
        RESET: "show other offsets for a group without members, or set them with --execute",
        DELETE: "delete groups without members; with --topic only offsets",
        DELETE_OFFSETS: "delete a group's offsets of a topic",
    },
    _options,
    _statements,
    _EXAMPLES,
    destructive=(DELETE, DELETE_OFFSETS),
    carried=_carried,
    kafka=True,
)
