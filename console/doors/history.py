"""``kac history``: what was changed, from a lake where there is one, else from the journal of this host."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.doors.lake_reading import (
    Opened,
    add_lake,
    add_output,
    add_window,
    lake_of,
    named_context,
    print_table,
    read_lake,
    window,
)
from console.doors.opening import DONE, USAGE, complain
from console.model.changes import Status
from console.model.numbers import is_natural, natural_number, option

LIMIT = 500
_OF_A_LAKE = ("lake", "cluster", "entity", "since", "until", "key", "principal", "limit")
_OUTCOMES = {"applied": Status.APPLIED, "not-applied": Status.NOT_APPLIED}
EXAMPLES = """examples:
  kac history --since 2h                          what changed in the last two hours
  kac history --key 'retention*' --principal alice
  kac history --journal -b broker1:9092           what was applied from this host alone
  kac history --settle 42 not-applied --why 'the topic is as before, the proxy was restarted'
"""


def history_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac history``."""
    parser.set_defaults(run=run_history)
    parser.epilog = EXAMPLES
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only changes with these words in them")
    parser.add_argument("--entity", metavar="TYPE:KEY", help="only of topic:orders, broker:2, quota:user=alice …")
    add_window(parser)
    parser.add_argument("--key", metavar="KEY", help="only this key; * and ? stand for others")
    parser.add_argument("--principal", metavar="WHO", help="only what this principal did, or may have done")
    parser.add_argument(
        "--limit", metavar="N", type=option(natural_number), help=f"so many changes, the latest (default {LIMIT})"
    )
    add_lake(parser)
    parser.add_argument("--journal", action="store_true", help="the changes applied from this host, from its journal")
    parser.add_argument(
        "--settle",
        nargs=2,
        metavar=("CHANGE", "OUTCOME"),
        help="say how a change of unknown outcome ended: applied or not-applied; kept in the journal with --why",
    )
    parser.add_argument("--why", metavar="TEXT", help="how you know, for --settle; asked for at a terminal")
    parser.add_argument("--mend", action="store_true", help="end the journal's last line where it was cut short")
    add_output(parser)


def run_history(options: argparse.Namespace) -> int:
    """0 shown, settled or mended, 1 failed, 2 no context, or not understood."""
    of_lake = [name for name in _OF_A_LAKE if getattr(options, name, None) is not None]
    if options.settle and options.settle[1] not in _OUTCOMES:
        complain(f"--settle takes the number of a change, and {' or '.join(_OUTCOMES)}: --settle 42 applied")
        return USAGE
    if options.settle and not _is_number(options.settle[0]):
        complain("--settle takes the number of a change first; kac history --journal shows them")
        return USAGE
    if options.why is not None and not options.settle:
        complain("--why says how you know what --settle says: give both")
        return USAGE
    if options.journal or options.mend or options.settle:
        if of_lake:
            complain(f"--{of_lake[0]} is of a lake: leave it out, or --journal, --settle and --mend")
            return USAGE
        return _journal(options)
    if not of_lake:
        context = named_context(options)
        if isinstance(context, int):
            return context
        if not _is_there(lake_of(options, context)):
            return _journal(options)
    return read_lake(options, lambda opened: _timeline(opened, options))


def _is_there(where: str) -> bool:
    return "://" not in where and Path(where, "lake.json").exists()


def _timeline(opened: Opened, options: argparse.Namespace) -> int:
    from console.commands.lake_tables import history_table
    from console.history.reader.queries import Wanted, first_looks, timeline, with_acls
    from console.history.schema import HISTORY

    since, until = window(options, opened.now)
    limit = max(1, options.limit or LIMIT)
    entities = () if options.entity is None else with_acls(*_entity(options.entity))
    wanted = Wanted(opened.cluster, entities, since, until, options.key, options.principal, options.text)
    found = timeline(opened.tables, wanted, limit + 1)
    more = ["older changes are not shown: --limit or --until shows them"] if len(found) > limit else []
    shown = found[:limit]
    table = history_table(shown, clusters=opened.cluster is None, first_looks=first_looks(opened.tables, shown))
    print_table(table, options.output, lambda: [*more, *opened.fresh(HISTORY)])
    return DONE


def _entity(text: str) -> tuple[str, str]:
    """Type and key. Raises ValueError with words for the operator."""
    type_, colon, key = text.partition(":")
    if not colon or not key:
        raise ValueError(f"{text!r} is no entity: they look like topic:orders, broker:2, quota:user=alice")
    return type_, key


def _is_number(text: str) -> bool:
    return is_natural(text) and len(text) < 19


async def _ask_why() -> str:
    from console.commands.asking import Terminal

    terminal = Terminal()
    return await terminal.line("How do you know? ") if terminal.answers else ""


def _journal(options: argparse.Namespace) -> int:
    from console.commands.history_results import read_history_table
    from console.commands.outstanding import outstanding
    from console.commands.past import decide, mend
    from console.commands.session import Session
    from console.doors.working import with_session
    from console.present.names import plural

    async def work(session: Session) -> int:
        if options.mend:
            mended = await mend(session)
            complain("the line is ended; what it was to say is lost" if mended else "no line is cut")
            return DONE
        if options.settle:
            number, outcome = options.settle
            why = options.why if options.why is not None else await _ask_why()
            if not why:
                complain("nothing was settled: say how you know it, with --why TEXT")
                return USAGE
            settled = await decide(session, int(number), _OUTCOMES[outcome], why)
            complain(f"change {number}: {plural(settled, 'edit')} settled as {outcome.replace('-', ' ')}")
            return DONE
        for line in (await outstanding(session)).lines:
            complain(line)
        everything = options.output != "text"
        table = await read_history_table(session, None, options.text, all_=everything)
        print_table(table, options.output, tuple)
        return DONE

    return with_session(options, "history", work)
