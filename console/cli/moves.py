"""``kac moves``: where replicas would go for a goal and what that costs; the operation that brings them there, from its
start to its last throttle; and all operations and moves."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from console.cli.opening import DONE, FAILED, USAGE, with_session
from console.model.numbers import natural_number, option
from console.terminal import complain, put

if TYPE_CHECKING:
    from console.contexts import Context
    from console.operations.forecast import Forecast
    from console.operations.goals import Goal
    from console.operations.proposal import Proposal
    from console.session.session import Session

WAITING = 4
"""The exit code where partitions, or an operation, have to wait for something."""
_ENDED_SHOWN = 5
"""Ended operations in the list, at most."""


def moves_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac moves``."""
    parser.set_defaults(run=run_moves)
    parser.add_argument(
        "goal",
        nargs="*",
        metavar="GOAL",
        help="drain ID[,ID…], replace ID by ID, balance, topic NAME to ID[,ID…], replication NAME N or back OPERATION; "
        "between directories of a broker: drain ID dir PATH or topic NAME [partition N] broker ID to dir PATH; "
        "without one the operations and moves are listed",
    )
    parser.add_argument(
        "--throttle",
        metavar="RATE",
        type=option(_rate),
        help="bytes per second that each broker copies, and is read, at most, as 50MB/s; 0 for none",
    )
    parser.add_argument(
        "--give-up",
        action="store_true",
        help="with --operation: leave its throttles on brokers that do not answer; kac leftovers finds them later",
    )
    parser.add_argument("--yes", action="store_true", help="with --run: do not ask")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--run",
        dest="begins",
        action="store_true",
        help="begin an operation with this goal, and work on it until it is reached",
    )
    form.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="work on the operation that is open, if no process does: from cron",
    )
    form.add_argument("--cancel", metavar="OPERATION", type=option(natural_number), help="cancel what it moves now")
    form.add_argument(
        "--operation", metavar="OPERATION", type=option(natural_number), help="change it: with --throttle or --give-up"
    )
    form.add_argument(
        "--script", action="store_true", help="print the commands that move them, for kac run -f -; nothing is sent"
    )
    form.add_argument(
        "--output",
        choices=("text", "json", "kafka"),
        default="text",
        help="form of the result; kafka: the file for kafka-reassign-partitions --reassignment-json-file",
    )


def _rate(text: str) -> int:
    from console.operations.throttle import rate_of

    return rate_of(text)


def run_moves(options: argparse.Namespace) -> int:
    """Plan a goal and print the moves, begin or change an operation, or list operations.

    Returns:
        The exit code: 0 planned, listed, or reached; 4 the same, but partitions have to wait, or the operation waits; 1
        failed; 2 no context or no such goal.
    """
    wrong = misused(options)
    if wrong:
        complain(wrong)
        return USAGE
    if options.cancel is not None or options.operation is not None:
        return with_session(options, "moves", lambda session: _ask(session, options))
    if options.go_on:
        return with_session(options, "moves", _go_on)
    if not options.goal:
        return with_session(options, "moves", lambda session: _list(session, options.output))
    return _with_goal(options)


def misused(options: argparse.Namespace) -> str:
    """Return why the options don't go together; ``""`` if they do."""
    if options.operation is not None and options.throttle is None and not options.give_up:
        return "--operation changes an operation: add --throttle RATE or --give-up"
    if options.give_up and options.operation is None:
        return "--give-up needs --operation OPERATION: of which the throttles are left"
    if options.goal and (options.go_on or options.cancel is not None or options.operation is not None):
        return "--continue, --cancel and --operation take no goal: the operation has one"
    if not options.goal and (options.begins or options.script or options.output == "kafka"):
        return "a goal is missing, as: kac moves drain 3 --run"
    if not options.goal and options.throttle is not None and options.operation is None:
        return "--throttle goes with a goal, or with --operation"
    return ""


# -- a goal ------------------------------------------------------------------------------------------------------------


def _with_goal(options: argparse.Namespace) -> int:
    from console.operations.goals import Restore, goal_of
    from console.operations.proposal import UnknownPlace

    try:
        goal = goal_of(options.goal)
    except ValueError as error:
        complain(f"{error}")
        return USAGE
    throttle = options.throttle or None

    async def work(session: Session) -> int:
        wanted = goal
        if isinstance(wanted, Restore):
            from console.session.operating import way_back

            wanted = await way_back(await session.journal(), wanted.operation)
        try:
            return await _plan(session, wanted, throttle, options)
        except UnknownPlace as error:
            complain(f"{error}. kac brokers --list and kac topics --list show what there is.")
            return FAILED

    return with_session(options, "moves", work)


async def _plan(session: Session, goal: Goal, throttle: int | None, options: argparse.Namespace) -> int:
    from console.answers.moves import held_lines, moves_json, moves_script, moves_tables
    from console.answers.results import Printer
    from console.operations.forecast import forecast
    from console.operations.placement import PARTS, placement_of
    from console.operations.planner import propose
    from console.session.operating import NEEDS
    from console.session.reading import read_needs

    await read_needs(session, NEEDS)
    problems = tuple(each for each in session.snapshot.failures if each.part in {*PARTS, "configs"})
    placement = placement_of(session.snapshot)
    proposal = propose(goal, placement)
    waits = bool(proposal.held or proposal.waits)
    said = forecast(proposal, placement, throttle)
    if options.script or options.output == "kafka":
        for failed in problems:
            complain(f"not read: {failed.part} {failed.entity}: {failed.failure}")
        for line in held_lines(proposal):
            complain(line)
        for line in proposal.waits:
            complain(f"has to wait: {line}")
        put(moves_script(proposal, throttle, said) if options.script else moves_json(proposal))
        return WAITING if waits else DONE
    tell = Printer(options.output)
    for table in moves_tables(goal, proposal, said, problems):
        tell(table)
    if options.begins:
        return await _run(session, goal, throttle, proposal, said, yes=options.yes)
    if (proposal.moves or proposal.dirs) and options.output == "text":
        put("\nto move them: the same with --run; or as commands: with --script | kac run -f -\n")
    return WAITING if waits else DONE


async def _run(
    session: Session, goal: Goal, throttle: int | None, proposal: Proposal, said: Forecast, *, yes: bool
) -> int:
    """Ask, begin the operation, and work on it. Returns the exit code."""
    from console.answers.moves import moved_text
    from console.plan.amounts import byte_count
    from console.session.operating import begin

    session.refuse_if_read_only()
    if proposal.reached:
        return DONE
    asked = f"Move {moved_text(said)}, {byte_count(said.bytes)}, on {session.context.name}?"
    if why := await _confirmed(session.context, asked, yes=yes):
        complain(f"nothing was sent: {why}")
        return FAILED
    number = await begin(session, goal, throttle)
    complain(f"operation {number}: {goal}. Ctrl-C leaves it; kac moves --continue goes on, --cancel {number} ends it")
    return await _work(session, number)


async def _confirmed(context: Context, asked: str, *, yes: bool = False) -> str:
    """Ask the operator on the terminal. Returns ``""`` for consent, else why there was none.

    Args:
        yes: asks for no plain yes. A context that wants its name typed asks for the name all the same.
    """
    from console.session.apply_flow import Flags
    from console.session.terminal_front import Terminal

    operator = Terminal()
    if yes and not context.confirm:
        return ""
    if not operator.answers and context.confirm:
        return f"context {context.name} wants its name typed, and there is no terminal; {Flags().confirm}"
    if not operator.answers:
        return "it asks first, and there is no terminal; write --yes"
    if context.confirm:
        typed = await operator.line(f"{asked} Type the name of the context: ")
        return "" if typed == context.name else "that was not the name of the context"
    return "" if (await operator.line(f"{asked} Type yes: ")).lower() == "yes" else "the answer was not yes"


# -- operations --------------------------------------------------------------------------------------------------------


async def _work(session: Session, number: int) -> int:
    from console.operations.operation import State
    from console.session.operating import work_on

    operation = await work_on(session, number, complain)
    if operation.ended is not None:
        return DONE
    if operation.state is State.STALLED:
        complain(f"operation {number} ({operation.goal}) is stalled. kac moves --continue goes on once that is mended.")
    return WAITING


async def _go_on(session: Session) -> int:
    from console.session.operating import read_operations

    known = await read_operations(session)
    if not known.open:
        return DONE
    if known.holder is not None:
        by = known.holder.by
        complain(f"process {by.pid} on {by.host} works on operation {known.open[0].number}: nothing to do here")
        return DONE
    return await _work(session, known.open[0].number)


async def _ask(session: Session, options: argparse.Namespace) -> int:
    """Request a change of an operation, its end or its throttle, and return the exit code.

    The process that works on the operation carries it out; where there is none, only an end is carried out here.
    """
    from console.session.operating import ask_of, read_operations

    asked = f"Cancel operation {options.cancel}, on {session.context.name}?"
    if options.cancel is not None and (why := await _confirmed(session.context, asked, yes=True)):
        complain(f"nothing was sent: {why}")
        return FAILED
    number = options.cancel if options.cancel is not None else options.operation
    cancel, give_up = options.cancel is not None, options.give_up
    operation = await ask_of(session, number, cancel=cancel, throttle=options.throttle, give_up=give_up)
    holder = (await read_operations(session)).holder
    if holder is not None:
        by = holder.by
        complain(f"process {by.pid} on {by.host} works on operation {number}, and does it with its next look")
        return DONE
    if not cancel:
        complain(f"no process works on operation {number}; kac moves --continue does")
        return DONE
    code = await _work(session, operation.number)
    if code == DONE and operation.has_moves:
        complain(f"what it had moved before stays; the way back is: kac moves back {number} --run")
    return code


async def _list(session: Session, output: str) -> int:
    """Print all open operations and moves, and the last operations that ended."""
    from console.answers.operations import dir_copies_table, operations_table, running_moves_table
    from console.answers.results import Printer
    from console.language.snapshot_parts import Needs
    from console.session.operating import read_operations
    from console.session.reading import read_needs

    known = await read_operations(session, ended=_ENDED_SHOWN)
    parts = frozenset({"cluster", "reassignments", "log_dirs"})
    await read_needs(session, Needs(parts=parts))
    tell = Printer(output)
    tell(operations_table((*known.open, *known.ended), known.holder.by if known.holder is not None else None))
    problems = tuple(each for each in session.snapshot.failures if each.part in parts)
    tell(running_moves_table(session.snapshot, known.open, problems))
    unread = tuple(each for each in problems if each.part == "log_dirs")
    copies = dir_copies_table(session.snapshot, known.open, unread)
    if copies.rows or output == "json":
        tell(copies)
    return WAITING if known.open and known.open[0].progress and known.open[0].progress.waits else DONE
