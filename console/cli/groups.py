"""`kac groups`, `share-groups` and `streams-groups`: their own options, and those of Kafka's tools for groups."""

from __future__ import annotations

import argparse
from functools import partial

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
from console.cli.kafka_tools.group_tools import CONSUMERS, SHARE, STREAMS, GroupTool
from console.cli.noun import KAFKA, Carry, Noun, OptionsError, Statements, add_config_options, alteration, need
from console.language.quoting import quote, quote_pattern
from console.model.numbers import LONG_MAX, LONG_MIN, option, whole_number

_LONG = option(whole_number, LONG_MIN, LONG_MAX)

# -- options that the three have ---------------------------------------------------------------------------------------


def _add_choice(parser: argparse.ArgumentParser, tool: GroupTool, every: str, verbose: str) -> None:
    """Add which groups, and what of them is shown. every, verbose: what --all-groups and --verbose are about."""
    add = parser.add_argument
    add("--group", metavar="NAME", action="append", default=[], help="its name; may be repeated")
    add("--all-groups", action="store_true", help=f"every {every}")
    add("--state", metavar="STATE", nargs="?", const="", help="with --list: only in this state; with --describe: it")
    if tool is CONSUMERS:
        add(
            "--type", metavar="TYPE", nargs="?", const="", help="with --list: only of this type, as classic or consumer"
        )
    add("--members", action="store_true", help="with --describe: the members")
    add("--offsets", action="store_true", help="with --describe: the offsets, which is what is shown without it")
    add("--verbose", action="store_true", help=f"with --describe and --output kafka: {verbose} too")


def _add_offsets(parser: argparse.ArgumentParser, tool: GroupTool) -> None:
    """Add which offsets are reset or deleted, and what they become: kafka-share-groups knows three ways of eight."""
    add = parser.add_argument_group("with --reset-offsets and --delete-offsets").add_argument
    topic = "an input topic" if tool is STREAMS else "a topic"
    names = {"dest": "topic", "metavar": "NAME[:P,P]", "action": "append", "default": []}
    add(f"--{tool.topic}", **names, help=f"{topic}, or some of its partitions")  # type: ignore[arg-type]
    every = "all partitions with an offset of the group"
    add(f"--all-{tool.topic}s", dest="all_topics", action="store_true", help=every)
    if tool is not SHARE:
        add("--from-file", metavar="FILE", help="offsets as --export writes them: topic,partition,offset")
    add("--to-earliest", action="store_true", help="to the first record")
    add("--to-latest", action="store_true", help="to the end")
    if tool is not SHARE:
        without = "; to the end where it has no offset" if tool is CONSUMERS else ""
        add("--to-current", action="store_true", help=f"to where the group is{without}")
        add("--to-offset", metavar="N", type=_LONG, help="to this offset")
        add("--shift-by", metavar="N", type=_LONG, help="so many records on, or back with a minus")
    add("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="to the first record of that time or later, UTC")
    if tool is not SHARE:
        add("--by-duration", metavar="PnDTnHnMnS", help="to the first record that is not older, as PT1H30M")
    alone = "; so it is without --execute" if tool is CONSUMERS else ""
    add("--dry-run", action="store_true", help=f"show the new offsets{alone}")
    add("--execute", action="store_true", help="reset them")
    if tool is not SHARE:
        add("--export", action="store_true", help="print the new offsets as CSV, which --from-file takes")
    add("--timeout", metavar="MS", help=argparse.SUPPRESS)  # kac has limits of its own
    if tool is SHARE:
        nothing = {"to_current": False, "to_offset": None, "shift_by": None, "by_duration": None}
        parser.set_defaults(**nothing, from_file=None, export=False)


# -- groups of consumers -----------------------------------------------------------------------------------------------

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


def _options(parser: argparse.ArgumentParser) -> None:
    _add_choice(parser, CONSUMERS, "group of consumers", "epochs and assignments")
    add_config_options(parser, "configs")
    _add_offsets(parser, CONSUMERS)


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


# -- share groups, groups of Kafka Streams' own protocol --------------------------------------------------------------

_SHARE_EXAMPLES = """\
examples:
  kac share-groups -b broker1:9092 --list --state Empty
  kac share-groups -c prod --describe --group refund-workers
  kac share-groups -c prod --reset-offsets --group refund-workers --topic refunds --to-earliest --execute
  kac share-groups -c prod --delete-offsets --group refund-workers --topic refunds --yes
  kac share-groups -b broker1:9092 --describe --all-groups --members --output kafka    # kafka-share-groups' form
"""

_STREAMS_EXAMPLES = """\
examples:
  kac streams-groups -b broker1:9092 --list --state NotReady
  kac streams-groups -c prod --describe --group fraud-scores --output json
  kac streams-groups -c prod --reset-offsets --group fraud-scores --input-topic payments --to-earliest --execute
  kac streams-groups -c prod --delete --group fraud-scores --yes
  kac streams-groups -b broker1:9092 --describe --all-groups --members --output kafka    # kafka-streams-groups' form
"""


def _newer_options(tool: GroupTool, verbose: str, parser: argparse.ArgumentParser) -> None:
    _add_choice(parser, tool, f"{tool.kind} group", verbose)
    _add_offsets(parser, tool)


def _newer_statements(tool: GroupTool, given: argparse.Namespace, action: str) -> Statements:
    from console.cli.kafka_tools import newer_group_options

    newer_group_options.check(given, action, tool)
    if action == LIST:
        states = [f" state={quote_pattern(state)}" for state in chosen_states(given, tool)] or [""]
        return tuple(f"list groups{state} type={tool.kind}" for state in states)
    return tuple(f"describe group {quote(name)}" for name in given.group)


def _newer_carried(tool: GroupTool, given: argparse.Namespace, action: str) -> Carry | None:
    """Return the function that carries out an action for which the language has no statement, or another output."""
    from console.cli.kafka_tools import newer_group_options

    if action in (LIST, DESCRIBE) and given.output != KAFKA and not given.all_groups:
        return None
    newer_group_options.check(given, action, tool)
    if action == RESET:
        from console.cli.kafka_tools.reset_command import reset

        return partial(reset, tool=tool)
    if action == DELETE or (action == DELETE_OFFSETS and tool is STREAMS):
        from console.cli.kafka_tools.group_deletion import delete_groups, delete_offsets

        return partial(delete_groups if action == DELETE else delete_offsets, tool=tool)
    from console.cli.kafka_tools import newer_group_command

    if action == DELETE_OFFSETS:
        return newer_group_command.delete_share_offsets
    return partial(newer_group_command.list_ if action == LIST else newer_group_command.describe, tool=tool)


def _newer_noun(tool: GroupTool, described: str, deleted: str, verbose: str, examples: str) -> Noun:
    """Return the noun of a tool. described, deleted: what --describe shows, and --delete does, for its help."""
    offsets = "start offsets" if tool is SHARE else "offsets"
    return Noun(
        f"{tool.kind}-groups",
        f"list and describe {tool.kind} groups, reset and delete their offsets",
        {
            LIST: f"the {tool.kind} groups with their states",
            DESCRIBE: described,
            RESET: f"show other {offsets} for a group without members, or set them with --execute",
            DELETE: deleted,
            DELETE_OFFSETS: f"delete a group's offsets of {'an input' if tool is STREAMS else 'a'} topic",
        },
        partial(_newer_options, tool, verbose),
        partial(_newer_statements, tool),
        examples,
        destructive=(DELETE, DELETE_OFFSETS),
        carried=partial(_newer_carried, tool),
        kafka=True,
    )


SHARE_GROUPS = _newer_noun(
    SHARE,
    "a group's members and how far it is behind",
    "delete groups without members",
    "epochs",
    _SHARE_EXAMPLES,
)
STREAMS_GROUPS = _newer_noun(
    STREAMS,
    "a group's members, tasks and topology, and how far it is behind",
    "delete groups without members; internal topics and stores stay",
    "epochs and targets",
    _STREAMS_EXAMPLES,
)
