"""`kac streams-groups`: groups of Kafka Streams' own protocol, with the options of kafka-streams-groups."""

from __future__ import annotations

import argparse
from functools import partial

from console.cli.kafka_tools.consumer_groups import DELETE, DELETE_OFFSETS, DESCRIBE, LIST, RESET, chosen_states
from console.cli.kafka_tools.group_tools import STREAMS
from console.cli.kafka_tools.newer_group_options import check
from console.cli.noun import KAFKA, Carry, Noun, Statements
from console.language.quoting import quote, quote_pattern
from console.model.numbers import LONG_MAX, LONG_MIN, option, whole_number

_EXAMPLES = """\
examples:
  kac streams-groups -b broker1:9092 --list --state NotReady
  kac streams-groups -c prod --describe --group fraud-scores --output json
  kac streams-groups -c prod --reset-offsets --group fraud-scores --input-topic payments --to-earliest --execute
  kac streams-groups -c prod --delete --group fraud-scores --yes
  kac streams-groups -b broker1:9092 --describe --all-groups --members --output kafka    # kafka-streams-groups' form
"""

_LONG = option(whole_number, LONG_MIN, LONG_MAX)


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--group", metavar="NAME", action="append", default=[], help="its name; may be repeated")
    add("--all-groups", action="store_true", help="every streams group")
    add("--state", metavar="STATE", nargs="?", const="", help="with --list: only in this state; with --describe: it")
    add("--members", action="store_true", help="with --describe: the members")
    add("--offsets", action="store_true", help="with --describe: the offsets, which is what is shown without it")
    add("--verbose", action="store_true", help="with --describe and --output kafka: epochs and targets too")
    offsets = parser.add_argument_group("with --reset-offsets and --delete-offsets")
    add = offsets.add_argument
    topics = {"dest": "topic", "metavar": "NAME[:P,P]", "action": "append", "default": []}
    add("--input-topic", **topics, help="an input topic, or some of its partitions")  # type: ignore[arg-type]
    add("--all-input-topics", dest="all_topics", action="store_true", help="all partitions with an offset of the group")
    add("--from-file", metavar="FILE", help="offsets as --export writes them: topic,partition,offset")
    add("--to-earliest", action="store_true", help="to the first record")
    add("--to-latest", action="store_true", help="to the end")
    add("--to-current", action="store_true", help="to where the group is")
    add("--to-offset", metavar="N", type=_LONG, help="to this offset")
    add("--shift-by", metavar="N", type=_LONG, help="so many records on, or back with a minus")
    add("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="to the first record of that time or later, UTC")
    add("--by-duration", metavar="PnDTnHnMnS", help="to the first record that is not older, as PT1H30M")
    add("--dry-run", action="store_true", help="show the new offsets")
    add("--execute", action="store_true", help="reset them")
    add("--export", action="store_true", help="print the new offsets as CSV, which --from-file takes")
    add("--timeout", metavar="MS", help=argparse.SUPPRESS)  # kac has limits of its own


def _statements(given: argparse.Namespace, action: str) -> Statements:
    check(given, action, STREAMS)
    if action == LIST:
        states = [f" state={quote_pattern(state)}" for state in chosen_states(given, STREAMS)] or [""]
        return tuple(f"list groups{state} type={STREAMS.kind}" for state in states)
    return tuple(f"describe group {quote(name)}" for name in given.group)


def _carried(given: argparse.Namespace, action: str) -> Carry | None:
    """Return the function that carries out an action for which the language has no statement, or another output."""
    if action in (LIST, DESCRIBE) and given.output != KAFKA and not given.all_groups:
        return None
    check(given, action, STREAMS)
    if action == RESET:
        from console.cli.kafka_tools.reset_command import reset

        return partial(reset, tool=STREAMS)
    if action in (DELETE, DELETE_OFFSETS):
        from console.cli.kafka_tools.group_deletion import delete_groups, delete_offsets

        return partial(delete_groups, tool=STREAMS) if action == DELETE else delete_offsets
    from console.cli.kafka_tools import newer_group_command

    return partial(newer_group_command.list_ if action == LIST else newer_group_command.describe, tool=STREAMS)


NOUN = Noun(
    "streams-groups",
    "list and describe streams groups, reset and delete their offsets",
    {
        LIST: "the streams groups with their states",
        DESCRIBE: "a group's members, tasks and topology, and how far it is behind",
        RESET: "show other offsets for a group without members, or set them with --execute",
        DELETE: "delete groups without members; internal topics and stores stay",
        DELETE_OFFSETS: "delete a group's offsets of an input topic",
    },
    _options,
    _statements,
    _EXAMPLES,
    destructive=(DELETE, DELETE_OFFSETS),
    carried=_carried,
    kafka=True,
)
