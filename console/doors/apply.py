"""``kac apply``: makes a cluster as files want it, or carries out a plan that was kept."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.diff import NO_CHANGES
from console.doors.file_options import add_file_options, prunes, read, staged
from console.doors.opening import DONE, FAILED, USAGE, complain
from console.doors.working import with_session

if TYPE_CHECKING:
    from console.commands.session import Session
    from console.files.plan_file import PlanFile


def apply_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac apply``."""
    parser.set_defaults(run=run_apply)
    add_file_options(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--valid-only", action="store_true", help="send the rest where something can't be or is refused"
    )
    parser.add_argument("--accept", metavar="NAME,…", default="", help="go on in spite of these warnings")
    parser.add_argument(
        "--force", action="store_true", help="go over what another client changed meanwhile, and name it"
    )


def run_apply(options: argparse.Namespace) -> int:
    """0 applied, or nothing to apply; 1 something failed or was refused; 2 the files or the context are no good."""
    try:
        kept = _plan_file(options.file)
    except ValueError as problem:
        complain(str(problem))
        return USAGE
    prune = prunes(options)
    found = read(options.file) if kept is None and prune is not None else None
    if prune is None or (kept is None and found is None):
        return USAGE

    async def work(session: Session) -> int:
        code, blocked = DONE, False
        if kept:
            code = await _stage_plan(session, kept, options.output, force=options.force)
            blocked = bool(code)
        elif found is not None:
            staging, code = await staged(session, found, prune)
            blocked = staging.blocked
        if blocked and not options.valid_only:
            complain("nothing was sent; --valid-only sends the rest")
            return code
        return await _apply(session, options) or code

    return with_session(options, "apply", work)


async def _apply(session: Session, options: argparse.Namespace) -> int:
    from console.commands.plan_results import plan_table
    from console.commands.printing import Printer
    from console.commands.retention_estimate import deletions, read_retention
    from console.commands.run import Runner
    from console.commands.statements import Apply
    from console.session.risk_reading import read_for_risks

    await read_retention(session)
    facts = await read_for_risks(session, session.plan.staged)
    table = plan_table(session.plan, session.snapshot, deletions=deletions(session), facts=facts)
    Printer(options.output)(replace(table, empty=NO_CHANGES))
    if not session.plan:
        return DONE
    runner = Runner(session, "", Printer(options.output))
    accept = tuple(name for name in options.accept.split(",") if name)
    wish = Apply(yes=options.yes, valid_only=options.valid_only, force=options.force, accept=accept)
    await runner.carry_out((wish,))
    return FAILED if runner.failed else DONE


def _plan_file(names: list[str]) -> PlanFile | None:
    """The plan where a single file is one; None where it is none, or can't be read as a text at all. Raises
    FileProblem, a ValueError."""
    from console.files.plan_file import is_plan, read_plan
    from console.files.reading import LARGEST
    from console.safe_files import read_text

    if len(names) != 1 or not Path(names[0]).is_file():
        return None
    try:
        text = read_text(Path(names[0]), LARGEST)
    except (OSError, ValueError):
        return None
    return read_plan(text, names[0]) if is_plan(text) else None


async def _stage_plan(session: Session, kept: PlanFile, output: str, *, force: bool) -> int:
    """Stage its edits again. What moved since the plan was made is named and left out of it, unless it is forced.
    Returns the exit code so far."""
    from console.commands.plan_results import conflict_table
    from console.commands.printing import Printer
    from console.commands.snapshot import read_everything
    from console.files.plan_file import moved_since
    from console.plan.plan import without
    from console.present import names

    await read_everything(session)
    if session.snapshot.cluster.cluster_id != kept.cluster_id:
        complain(f"the plan was made for cluster {kept.cluster_id}; this is {session.snapshot.cluster.cluster_id}")
        return FAILED
    report = session.stage([staged_.edit for staged_ in kept.staged])
    for refused in report.refused:
        complain(f"{refused.reason}. {refused.remedy}".rstrip(". ") + ".")
    moved = moved_since(kept, session.plan, session.snapshot)
    if moved:
        Printer(output)(conflict_table("moved", moved, "changed since the plan was made:"))
    if moved and not force:
        # What is sent stands on what the plan was made upon, also with --valid-only.
        session.replan(without(session.plan, {conflict.staged.edit.slot for conflict in moved}))
        for target in dict.fromkeys(conflict.staged.edit.target for conflict in moved):
            keys = ", ".join(c.staged.edit.key or "all of it" for c in moved if c.staged.edit.target == target)
            complain(f"left out, changed since the plan was made: {names.target(target)}: {keys}; --force goes over it")
    return FAILED if report.refused or (moved and not force) else DONE
