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

LIMIT = 500
_OF_A_LAKE = ("lake", "cluster", "entity", "since", "until", "key", "principal", "limit")
EXAMPLES = """examples:
  kac history --since 2h                          what changed in the last two hours
  kac history --key 'retention*' --principal alice
  kac history --journal -b broker1:9092           what was applied from this host alone
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac history``."""
    parser.epilog = EXAMPLES
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only changes with these words in them")
    parser.add_argument("--entity", metavar="TYPE:KEY", help="only of topic:orders, broker:2, quota:user=alice …")
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
    from console.history.reader.timeline import Wanted, first_looks, timeline, with_acls
    from console.history.schema.gold import HISTORY

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
        print_table(history_table(past, None, options.text, all_=everything), options.output, tuple)
        return DONE

    return with_session(options, "history", work)
