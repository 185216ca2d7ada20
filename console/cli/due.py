"""``kac due``: what was set for a time, and taking back what is due; for cron too."""

from __future__ import annotations

import argparse

from console.cli.opening import DONE, FAILED, with_session
from console.model.numbers import natural_number, option


def due_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac due``."""
    parser.set_defaults(run=run_due)
    parser.add_argument("--apply", action="store_true", help="take back everything that is due")
    parser.add_argument("--accept", metavar="NAME,…", default="", help="with --apply: go on in spite of these warnings")
    parser.add_argument(
        "--forget", metavar="CHANGE", type=option(natural_number), help="what this change set for a time is to stay"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_due(options: argparse.Namespace) -> int:
    """0 done, or nothing was due; 1 something could not be taken back; 2 no context."""
    from datetime import UTC, datetime

    from console.answers.history_results import ahead_lines
    from console.answers.text import Printer
    from console.session.due import due_table, forget, take_back
    from console.session.journal_changes import read_open, settle_unfinished
    from console.session.session import Session
    from console.session.terminal_front import Terminal
    from console.terminal import complain

    tell = Printer(options.output)

    async def work(session: Session) -> int:
        await settle_unfinished(session, await read_open(session))
        session.former_told = True
        if options.forget is not None:
            kept = await forget(session, options.forget)
            complain(f"{kept} edits of change {options.forget} are to stay")
            return DONE if kept else FAILED
        if options.apply:
            accept = [name for name in options.accept.split(",") if name]
            return DONE if await take_back(session, tell, Terminal(), accept) else FAILED
        past = await read_open(session)
        for line in (*past.problems, *ahead_lines(past.changes.values(), datetime.now(UTC))):
            complain(line)
        tell(due_table(past.expiring(), datetime.now(UTC)))
        return DONE

    return with_session(options, "due", work)
