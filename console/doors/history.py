"""``kac history``: the changes that were applied from this host, and ending a line of the journal that was cut."""

from __future__ import annotations

import argparse

from console.doors.opening import DONE, complain
from console.doors.working import with_session


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac history``."""
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only edits with this text in their line")
    parser.add_argument("--mend", action="store_true", help="end the journal's last line where it was cut short")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run(options: argparse.Namespace) -> int:
    """0 shown or mended, 1 failed, 2 no context."""
    from console.commands.history_results import history_table
    from console.commands.outstanding import outstanding
    from console.commands.past import mend, read_history
    from console.commands.printing import Printer
    from console.commands.session import Session

    async def work(session: Session) -> int:
        if options.mend:
            mended = await mend(session)
            complain("the line is ended; what it was to say is lost" if mended else "no line is cut")
            return DONE
        for line in (await outstanding(session)).lines:
            complain(line)
        past = await read_history(session)
        everything = options.output == "json"
        Printer(options.output)(history_table(past, None, options.text, all_=everything))
        return DONE

    return with_session(options, "history", work)
