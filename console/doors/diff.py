"""``kac diff``: what would change for a cluster to be as files want it."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from console.doors.file_options import CHANGES, add_file_options, prunes, read, staged
from console.doors.opening import FAILED, USAGE
from console.doors.working import with_session

if TYPE_CHECKING:
    from console.commands.session import Session

NO_CHANGES = "no changes"


def diff_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac diff``."""
    parser.set_defaults(run=run_diff)
    add_difference_options(parser)


def run_diff(options: argparse.Namespace) -> int:
    """0 told, 1 something can't be done or read, 2 the files or the context are no good, 3 with --exit-code."""

    async def unchecked(_: Session) -> bool:
        return True

    return tell_difference(options, "diff", unchecked, lambda _: True)


def add_difference_options(parser: argparse.ArgumentParser) -> None:
    """The files, and whether a difference is an exit code."""
    add_file_options(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 where something would change")


def tell_difference(
    options: argparse.Namespace,
    door: str,
    check: Callable[[Session], Awaitable[bool]],
    keep: Callable[[Session], bool],
) -> int:
    """Stage what the files want and print it. check: before it is printed, keep: afterwards; False is a failure. The
    exit code: as `run`."""
    prune = prunes(options)
    found = read(options.file) if prune is not None else None
    if found is None or prune is None:
        return USAGE
    from console.commands.plan_results import plan_table
    from console.commands.printing import Printer
    from console.commands.retention_estimate import deletions, read_retention

    async def work(session: Session) -> int:
        _, code = await staged(session, found, prune)
        if not await check(session):
            code = code or FAILED
        await read_retention(session)
        table = plan_table(session.plan, session.snapshot, deletions=deletions(session))
        Printer(options.output)(replace(table, empty=NO_CHANGES))
        if not keep(session):
            return FAILED
        return code or (CHANGES if session.plan and options.exit_code else 0)

    return with_session(options, door, work)
