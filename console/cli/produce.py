"""``kac produce``: writes records from files and pipes to a topic, from JSON lines as ``kac records`` prints them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from msgspec.structs import replace

from console.cli.opening import USAGE, leave, with_session
from console.model.new_records import MOST_BYTES, NewRecord, NotARecord, records_of_lines
from console.model.numbers import natural_number, option
from console.model.secret import Contents

STDIN = "-"
_EXAMPLES = """\
examples:
  kac records -c prod orders --from 2h --output jsonl | kac produce -c test orders --yes
  kac produce -c test orders --file orders.jsonl
  kac produce -c test orders --file orders.jsonl --by-key --accept writes-many=4000
  echo '{"key": "order-77", "value_json": {"state": "paid"}}' | kac produce -c test orders --schema orders-value --yes
"""


def produce_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac produce``."""
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("topic", metavar="TOPIC", help="write all records to this topic, whatever topic a line names")
    add(
        "--file",
        "-f",
        dest="files",
        metavar="FILE",
        action="append",
        help="a file of JSON lines (default: standard input)",
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--partition",
        "-p",
        metavar="N",
        type=option(natural_number),
        help="write all records to this partition, whatever a line says",
    )
    place.add_argument(
        "--by-key", action="store_true", help="write each record to the partition of its key, whatever a line says"
    )
    add(
        "--schema",
        metavar="SUBJECT",
        default="",
        help="values are JSON; kac encodes them by the subject's newest version",
    )
    add("--key-schema", metavar="SUBJECT", default="", help="the same for keys")
    add("--plan", action="store_true", help="show the forecast and the warnings, and write nothing")
    add("--yes", action="store_true", help="don't ask; a warning still needs --accept")
    add("--accept", metavar="NAME[=SUBJECT],…", default="", help="continue in spite of these warnings")
    add("--output", choices=("text", "json"), default="text", help="form of the results; json has each record")


def run_produce(options: argparse.Namespace) -> int:
    """Read the records, stage them, and apply the plan.

    Returns:
        The exit code: 0 written; 1 some were not written, or their outcome is unknown; 2 a file can't be read, a line
        is not a record, or there is no context, and nothing was done; 3 nothing was sent, because warnings are not
        accepted or --plan is given.
    """
    from console.answers.results import Printer
    from console.language.statements import Name
    from console.language.verbs.apply import Apply
    from console.language.verbs.plan import ShowPlan
    from console.language.verbs.produce import Produce
    from console.plan.risk_rules import accepted
    from console.session.script_runner import Runner

    by_schema = [part for part, given in (("key", options.key_schema), ("value", options.schema)) if given]
    try:
        found = [each for name in options.files or [STDIN] for each in _read(name, by_schema)]
    except (OSError, NotARecord) as error:
        return leave(USAGE, str(error))
    if options.by_key:
        found = [replace(each, partition=None) for each in found]
    wanted = Produce(
        Name(options.topic),
        options.partition,
        Contents(found),
        path=STDIN,
        key_schema=options.key_schema,
        value_schema=options.schema,
    )
    ends = ShowPlan() if options.plan else Apply(yes=options.yes, accept=accepted(options.accept))
    flags, left = ("--yes", "--accept"), "leave out --plan to write them"
    return with_session(
        options,
        "produce",
        lambda session: Runner(session, "", Printer(options.output), flags=flags, unapplied=left).to_the_end(
            (wanted, ends)
        ),
    )


def _read(name: str, by_schema: list[str]) -> tuple[NewRecord, ...]:
    """Return the records in a file, in order. Raises OSError: it can't be read; NotARecord: a line is not a record; the
    message has the file's name.

    Args:
        name: the path, or ``-`` for standard input.
        by_schema: the parts, ``key`` and ``value``, that are JSON to encode by a schema.
    """
    shown = "standard input" if name == STDIN else name
    if name == STDIN:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with Path(name).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise NotARecord(f"{shown} has more than {MOST_BYTES >> 20} MiB: write it in parts")
    try:
        return records_of_lines(data, by_schema)
    except NotARecord as error:
        raise NotARecord(f"{shown}, {error}; nothing was written") from None
