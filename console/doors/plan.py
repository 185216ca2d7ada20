"""``kac plan``: what files would change, checked by the brokers, and kept in a file to apply later."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.diff import NO_CHANGES
from console.doors.file_options import CHANGES, add_file_options, prunes, read, staged
from console.doors.opening import FAILED, USAGE, complain
from console.doors.working import with_session

if TYPE_CHECKING:
    from console.commands.session import Session


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac plan``."""
    add_file_options(parser)
    parser.add_argument("--out", type=Path, metavar="PLAN", help="keep the plan in a file, for kac apply -f PLAN")
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 where something would change")


def run(options: argparse.Namespace) -> int:
    """0 told, 1 something can't be done or is refused, 2 the files or the context are no good, 3 with --exit-code."""
    prune = prunes(options)
    found = read(options.file) if prune is not None else None
    if found is None or prune is None:
        return USAGE
    from console.commands.plan_results import plan_table
    from console.commands.printing import Printer
    from console.commands.retention_estimate import deletions, read_retention

    async def work(session: Session) -> int:
        _, code = await staged(session, found, prune)
        if session.plan and not session.context.read_only:
            report = await session.check()
            code = code or (0 if report.ok else FAILED)
        await read_retention(session)
        table = plan_table(session.plan, session.snapshot, deletions=deletions(session))
        Printer(options.output)(replace(table, empty=NO_CHANGES))
        if options.out is not None and not _kept(session, options.out):
            return FAILED
        return code or (CHANGES if session.plan and options.exit_code else 0)

    return with_session(options, "plan", work)


def _kept(session: Session, path: Path) -> bool:
    from console.files.plan_file import write_plan

    try:
        path.write_text(write_plan(session.plan, session.snapshot.cluster.cluster_id or ""), encoding="utf-8")
    except OSError as error:
        complain(f"can't write {path}: {error.strerror or error}")
        return False
    except ValueError as error:
        complain(str(error))
        return False
    return True
