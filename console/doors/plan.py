"""``kac plan``: what files would change, checked by the brokers, and kept in a file to apply later."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.diff import add_difference_options, tell_difference
from console.doors.file_options import written
from console.doors.opening import complain
from console.safe_files import PRIVATE

if TYPE_CHECKING:
    from console.commands.session import Session


def plan_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac plan``."""
    parser.set_defaults(run=run_plan)
    add_difference_options(parser)
    parser.add_argument("--out", type=Path, metavar="PLAN", help="keep the plan in a file, for kac apply -f PLAN")


def run_plan(options: argparse.Namespace) -> int:
    """0 told, 1 something can't be done or is refused, 2 the files or the context are no good, 3 with --exit-code."""

    async def check(session: Session) -> bool:
        return not session.plan or session.context.read_only or (await session.check()).ok

    def keep(session: Session) -> bool:
        return options.out is None or _kept(session, options.out)

    return tell_difference(options, "plan", check, keep)


def _kept(session: Session, path: Path) -> bool:
    from console.files.plan_file import write_plan

    try:
        text = write_plan(session.plan, session.snapshot.cluster.cluster_id or "")
    except ValueError as error:
        complain(str(error))
        return False
    return written(path, text, PRIVATE)
