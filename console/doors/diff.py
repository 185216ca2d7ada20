"""``kac diff``: what would change for a cluster to be as files want it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from console.doors.file_options import CHANGES, add_file_options, prunes, read, staged
from console.doors.opening import USAGE
from console.doors.working import with_session

if TYPE_CHECKING:
    from console.commands.session import Session

NO_CHANGES = "no changes"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac diff``."""
    add_file_options(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 where something would change")


def run(options: argparse.Namespace) -> int:
    """0 told, 1 something can't be done or read, 2 the files or the context are no good, 3 with --exit-code."""
    prune = prunes(options)
    found = read(options.file) if prune is not None else None
    if found is None or prune is None:
        return USAGE
    from console.commands.plan_results import plan_table
    from console.commands.printing import Printer
    from console.commands.retention_estimate import deletions, read_retention

    async def work(session: Session) -> int:
        _, code = await staged(session, found, prune)
        await read_retention(session)
        table = plan_table(session.plan, session.snapshot, deletions=deletions(session))
        Printer(options.output)(replace(table, empty=NO_CHANGES))
        return code or (CHANGES if session.plan and options.exit_code else 0)

    return with_session(options, "diff", work)
