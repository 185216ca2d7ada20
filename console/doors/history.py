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
    shown,
    window,
)
from console.doors.opening import DONE, USAGE, complain

LIMIT = 500
_OF_A_LAKE = ("lake", "cluster", "since", "until", "key", "principal", "limit")
EXAMPLES = """examples:
  kac history --since 2h                          what changed in the last two hours
  kac history --key 'retention*' --principal alice
  kac history --journal -b broker1:9092           what was applied from this host alone
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac history``."""
    parser.epilog = EXAMPLES
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only changes with these words in them")
    add_window(parser)
    parser.add_argument("--key", metavar="KEY", help="only this key; * and ? stand for others")
    parser.add_argument("--principal", metavar="WHO", help="only what this principal did, or may have done")
    parser.add_argument("--limit", metavar="N", type=int, help=f"so many changes, the latest (default {LIMIT})")
    add_lake(parser)
    parser.add_argument("--journal", action="store_true", help="the changes applied from this host, from its journal")
    parser.add_argument("--mend", action="store_true", help="end the journal's last line where it was cut short")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """0 shown or mended, 1 failed, 2 no context, or not understood."""
    of_lake = [name for name in _OF_A_LAKE if getattr(options, name, None) is not None]
    if options.journal or options.mend:
        if of_lake:
            complain(f"--{of_lake[0]} is of a lake: leave it out, or --journal and --mend")
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
    from console.history.reader.timeline import Wanted, timeline
    from console.history.schema.gold import HISTORY

    since, until = window(options, opened.now)
    limit = max(1, options.limit or LIMIT)
    wanted = Wanted(opened.cluster, (), since, until, options.key, options.principal, options.text)
    found = timeline(opened.tables, wanted, limit + 1)
    more = ["older changes are not shown: --limit or --until shows them"] if len(found) > limit else []
    notes = shown([*more, *opened.fresh(HISTORY)], options.output)
    print_table(history_table(found[:limit], clusters=opened.cluster is None, notes=notes), options.output)
    return DONE


def _journal(options: argparse.Namespace) -> int:
    from console.commands.history_results import history_table
    from console.commands.outstanding import outstanding
    from console.commands.past import mend, read_history
    from console.commands.session import Session
    from console.doors.working import with_session

    async def work(session: Session) -> int:
        if options.mend:
            mended = await mend(session)
            complain("the line is ended; what it was to say is lost" if mended else "no line is cut")
            return DONE
        for line in (await outstanding(session)).lines:
            complain(line)
        past = await read_history(session)
        everything = options.output != "text"
        print_table(history_table(past, None, options.text, all_=everything), options.output)
        return DONE

    return with_session(options, "history", work)
