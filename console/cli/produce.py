"""``kac produce``: writes the records of files and pipes, in JSON lines as ``kac records`` writes them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.cli.opening import DONE, FAILED, UNAPPLIED, USAGE, complain, with_session
from console.model.new_records import MOST_BYTES, Contents, NewRecord, NotARecord, records_of_lines
from console.model.numbers import natural_number, option

if TYPE_CHECKING:
    from console.language.verbs.produce import Produce
    from console.plan.reconcile import ApplyReport
    from console.session.session import Session

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
    add("topic", metavar="TOPIC", help="where all of them go, whatever topic a line names")
    add("--file", "-f", dest="files", metavar="FILE", action="append", help="with JSON lines (default: standard input)")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--partition", "-p", metavar="N", type=option(natural_number), help="all of them go there, whatever a line says"
    )
    place.add_argument("--by-key", action="store_true", help="each to the partition of its key, whatever a line says")
    add("--schema", metavar="SUBJECT", default="", help="values are JSON, encoded by its newest version")
    add("--key-schema", metavar="SUBJECT", default="", help="the same for keys")
    add("--plan", action="store_true", help="show the forecast and the warnings, and write nothing")
    add("--yes", action="store_true", help="don't ask; a warning still needs --accept")
    add("--accept", metavar="NAME[=SUBJECT],…", default="", help="go on in spite of these warnings")
    add("--output", choices=("text", "json"), default="text", help="form of the results; json has each record")


def run_produce(options: argparse.Namespace) -> int:
    """Read the records, stage them, and apply the plan.

    Returns:
        The exit code: 0 written; 1 some were not, or not all is known; 2 a line is no record, and nothing was done; 3
        warnings are not accepted, and nothing was sent.
    """
    from console.language.statements import Name
    from console.language.verbs.produce import Produce

    by_schema = [part for part, given in (("key", options.key_schema), ("value", options.schema)) if given]
    try:
        found = [each for name in options.files or [STDIN] for each in _read(name, by_schema)]
    except (OSError, NotARecord) as error:
        complain(str(error))
        return USAGE
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
    return with_session(options, "produce", lambda session: _written(session, wanted, options))


async def _written(session: Session, statement: Produce, options: argparse.Namespace) -> int:
    """Stage a statement, and apply it or show its forecast. Return the exit code. Raises AdminError, Refused."""
    from console.answers.plan_results import plan_table, report_tables, stage_table
    from console.answers.results import Printer
    from console.language.errors import CommandError
    from console.language.interpret import to_edits
    from console.language.needs import needs
    from console.plan.reconcile import ApplyOptions
    from console.plan.risk_rules import accepted
    from console.session.apply_flow import Asks, Flags, NotApplied, apply_flow
    from console.session.plan_facts import read_for_risks
    from console.session.reading import read_needs
    from console.session.record_writing import with_records
    from console.session.terminal_front import Terminal, TerminalFront

    printer = Printer(options.output)
    session.refuse_if_read_only()
    await read_needs(session, needs(statement))
    try:
        statement = await with_records(session.records, session.context, statement, {})
        staged = session.stage(to_edits(statement, session.snapshot, plan=session.staging()))
    except CommandError as error:
        complain(f"{error.message}; {error.hint}" if error.hint else error.message)
        return FAILED
    if staged.refused:
        printer(stage_table(staged, session.staging().draft))
        return FAILED
    if options.plan:
        facts = await read_for_risks(session, session.plan.staged)
        printer(plan_table(session.plan, session.snapshot, facts=facts))
        return DONE

    def show(report: ApplyReport) -> None:
        for table in report_tables(report, "apply"):
            printer(table)

    front = TerminalFront(session.context.name, Terminal(), show, complain)
    apply_options = ApplyOptions(risks=frozenset(accepted(options.accept)))
    try:
        reports = await apply_flow(session, front, apply_options, Asks(silent=options.yes), Flags("--yes", "--accept"))
    except NotApplied as refused:
        complain(f"{refused.message}; {refused.hint}" if refused.hint else refused.message)
        return UNAPPLIED if refused.risks else FAILED
    return DONE if reports[-1].ok else FAILED


def _read(name: str, by_schema: list[str]) -> tuple[NewRecord, ...]:
    """Return the records of a file. Raises OSError, NotARecord with the file's name."""
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
