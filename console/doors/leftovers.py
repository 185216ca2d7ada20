"""``kac leftovers``: replication throttles that no reassignment uses any more."""

from __future__ import annotations

import argparse

from console.doors.opening import DONE
from console.doors.working import with_session
from console.terminal import put


def leftovers_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac leftovers``."""
    parser.set_defaults(run=run_leftovers)
    parser.add_argument("--script", action="store_true", help="print the commands that remove them, for kac run -f -")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_leftovers(options: argparse.Namespace) -> int:
    """0 looked, whatever was found; 1 failed, 2 no context."""
    from console.commands.leftovers import command, leftovers_table, read_leftovers
    from console.commands.printing import Printer
    from console.commands.session import Session

    async def work(session: Session) -> int:
        found = await read_leftovers(session)
        if options.script:
            put("".join(f"{command(each)}\n" for each in found))
            return DONE
        Printer(options.output)(leftovers_table(found, session.snapshot))
        if found and options.output == "text":
            put("\nto remove them: kac leftovers --script | kac run -f -   (and apply --yes after a look)\n")
        return DONE

    return with_session(options, "leftovers", work)
