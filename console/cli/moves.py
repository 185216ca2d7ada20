"""``kac moves``: plans the partition moves for a goal, with their cost; begins and continues the operation that makes
them; lists operations and moves.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from console.cli.opening import DONE, FAILED, USAGE, throttle_rate, with_session
from console.model.numbers import natural_number, option
from console.model.parts import Part
from console.terminal import complain, leave, put

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from console.contexts import Context
    from console.model.snapshot import ReadFailure, Snapshot
    from console.operations.forecast import Forecast
    from console.operations.goals import Goal
    from console.operations.operation import Operation
    from console.operations.proposal import Proposal
    from console.session.operating import Operations
    from console.session.session import Session

WAITING = 4
"""The exit code if an operation, or some partitions of a plan, have to wait."""
_ENDED_SHOWN = 5
"""Maximum number of ended operations that are listed."""


def moves_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac moves``."""
    parser.add_argument(
        "goal",
        nargs="*",
        metavar="GOAL",
        help="drain ID[,ID…], replace ID by ID, balance, topic NAME to ID[,ID…], replication NAME N or back OPERATION; "
        "between directories of a broker: drain ID dir PATH or topic NAME [partition N] broker ID to dir PATH. "
        "Without a goal kac lists the operations and moves",
    )
    parser.add_argument(
        "--throttle",
        metavar="RATE",
        type=option(throttle_rate),
        help="how many bytes a second each broker copies at most, and others read from the broker, "
        "for example 50MB/s; 0: no limit",
    )
    parser.add_argument(
        "--give-up",
        action="store_true",
        help="with --operation: end the operation although brokers that do not answer still have its throttles. "
        "kac leftovers finds these throttles later",
    )
    parser.add_argument("--yes", action="store_true", help="with --run: do not ask")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--run",
        dest="begins",
        action="store_true",
        help="begin an operation with this goal, and work on it until the goal is reached",
    )
    form.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="work on the open operation, if no other process does; for cron",
    )
    form.add_argument(
        "--cancel", metavar="OPERATION", type=option(natural_number), help="cancel the operation and its running moves"
    )
    form.add_argument(
        "--operation",
        metavar="OPERATION",
        type=option(natural_number),
        help="change this operation, with --throttle or --give-up",
    )
    form.add_argument(
        "--script", action="store_true", help="print the commands for the moves, for kac run -f -; send nothing"
    )
    form.add_argument(
        "--output",
        choices=("text", "json", "kafka"),
        default="text",
        help="form of the result; kafka: the file for kafka-reassign-partitions --reassignment-json-file",
    )


def run_moves(options: argparse.Namespace) -> int:
    """Plan a goal and print the moves, begin or change an operation, or list operations.

    Returns:
        The exit code: 0 planned, listed, or the goal is reached; 4 the same, except that partitions or an operation
        have to wait; 1 failed; 2 no context, or no such goal.
    """
    wrong = misused(options)
    if wrong:
        return leave(USAGE, wrong)
    if options.cancel is not None or options.operation is not None or options.go_on:
        return with_session(options, "moves", lambda session: ask_operation(session, options))
    if not options.goal:
        from console.language.snapshot_parts import Needs
        from console.session.operating import read_operations
        from console.session.reading import read_needs

        found = with_session(
            options,
            "moves",
            lambda session: _read_moves(
                read_operations(session, ended=_ENDED_SHOWN), read_needs(session, Needs(parts=_LISTED))
            ),
        )
        return found if isinstance(found, int) else _show_moves(found, options.output)
    return _with_goal(options)


def misused(options: argparse.Namespace) -> str:
    """Return the reason why the options exclude each other, or lack another option or a goal; ``""`` if they
    are valid.
    """
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


# -- commands with a goal ----------------------------------------------------------------------------------------------


def _with_goal(options: argparse.Namespace) -> int:
    from console.operations.goals import goal_of

    try:
        goal = goal_of(options.goal)
    except ValueError as error:
        return leave(USAGE, f"{error}")
    return run_goal(options, "moves", goal, "the same with --run; or as commands: with --script | kac run -f -")


def run_goal(options: argparse.Namespace, front_end: str, goal: Goal, begin: str, moves: int = DONE) -> int:
    """Plan a goal and print the moves; begin an operation if the options request it.

    Args:
        options: the options, of which throttle, script, output, begins and yes are used.
        front_end: the command, for the journal.
        begin: the command line with which the operator begins the operation, for a message.
        moves: the exit code if replicas would move.

    Returns:
        The exit code, see `run_moves`.
    """
    from console.operations.goals import Restore
    from console.operations.proposal import UnknownPlace

    async def work(session: Session) -> int:
        from console.session.operating import needs_of, way_back
        from console.session.reading import read_needs

        wanted = goal
        if isinstance(wanted, Restore):
            wanted = await way_back(await session.journal(), wanted.operation)
        await read_needs(session, needs_of(wanted))
        try:
            planned = _planned(wanted, session.snapshot, options.throttle or None)
            if options.begins:
                _show(planned, options.output)
                return await _run(session, planned, yes=options.yes)
            return _show_or_write(planned, options, begin, moves)
        except UnknownPlace as error:
            return leave(FAILED, f"{error}. kac brokers --list and kac topics --list show what there is.")

    return with_session(options, front_end, work)


class _Planned(NamedTuple):
    """A goal, the moves that reach it, and their cost."""

    goal: Goal
    proposal: Proposal
    forecast: Forecast
    throttle: int | None
    """The limit of the moves in bytes per second; None for no limit."""
    problems: tuple[ReadFailure, ...]
    """The reads of the cluster that failed."""


def _planned(goal: Goal, known: Snapshot, throttle: int | None) -> _Planned:
    """Return the plan for a goal. throttle: bytes per second; None for no limit. Raises UnknownPlace: the goal names a
    broker or folder that does not exist.
    """
    from console.operations.forecast import forecast
    from console.operations.placement import PARTS, placement_of
    from console.operations.planner import check_named, propose

    check_named(goal, known)
    problems = tuple(each for each in known.failures if each.part in {*PARTS, Part.CONFIGS})
    placement = placement_of(known)
    proposal = propose(goal, placement)
    return _Planned(goal, proposal, forecast(proposal, placement, throttle), throttle, problems)


def _show(planned: _Planned, output: str) -> None:
    from console.answers.moves import moves_tables
    from console.answers.results import Printer

    tell = Printer(output)
    for table in moves_tables(planned.goal, planned.proposal, planned.forecast, planned.problems):
        tell(table)


def _show_or_write(planned: _Planned, options: argparse.Namespace, begin: str, moves: int) -> int:
    """Print the moves in the form that the options choose, and return the exit code: `WAITING` if partitions have to
    wait or can't move now; otherwise 0 for a script, for Kafka's JSON and if the goal is reached; otherwise `moves`.

    Args:
        begin, moves: see `run_goal`.
    """
    from console.answers.moves import held_lines, moves_json, moves_script

    proposal = planned.proposal
    if options.script or options.output == "kafka":
        for failed in planned.problems:
            complain(f"not read: {failed.what}: {failed.failure}")
        for line in held_lines(proposal):
            complain(line)
        for line in proposal.waits:
            complain(f"has to wait: {line}")
        script = moves_script(proposal, planned.throttle, planned.forecast) if options.script else moves_json(proposal)
        put(script)
    else:
        _show(planned, options.output)
        if (proposal.moves or proposal.dirs) and options.output == "text":
            put(f"\nto move them: {begin}\n")
    if proposal.held or proposal.waits:
        return WAITING
    return DONE if proposal.reached or options.script or options.output == "kafka" else moves


async def _run(session: Session, planned: _Planned, *, yes: bool) -> int:
    """Ask for confirmation, begin the operation and work on it, and return the exit code; do nothing if the goal is
    reached already. yes: whether to skip the question.
    """
    from console.answers.moves import moved_text
    from console.plan.amounts import byte_count
    from console.session.operating import begin, work_on

    session.refuse_if_read_only()  # refuse before the user answers questions
    if planned.proposal.reached:
        return DONE
    said = planned.forecast
    asked = f"Move {moved_text(said)}, {byte_count(said.bytes)}, on {session.context.name}?"
    if why := await confirmed(session.context, asked, yes=yes):
        return leave(FAILED, f"nothing was sent: {why}")
    goal = planned.goal
    number = await begin(session, goal, planned.throttle)
    complain(f"operation {number}: {goal}. Ctrl-C leaves it; kac moves --continue goes on, --cancel {number} ends it")
    return left(await work_on(session, number, complain))


async def confirmed(context: Context, asked: str, *, yes: bool = False) -> str:
    """Ask the operator on the terminal. Return ``""`` for consent, else the reason why there is no consent.

    Args:
        asked: the question.
        yes: whether to skip the plain question. A context that requires its name typed still asks for the name.
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


def left(operation: Operation) -> int:
    """Return the exit code for an operation on which this process has stopped working; if it is stalled, print that."""
    from console.operations.operation import State

    if operation.ended is not None:
        return DONE
    if operation.state is State.STALLED:
        stalled = f"operation {operation.number} ({operation.goal}) is stalled"
        complain(f"{stalled}. kac moves --continue goes on once that is mended.")
    return WAITING


def _to_go_on(known: Operations) -> Operation | None:
    """Return the open operation. If there is none, or another process works on it, print that and return None."""
    if not known.open:
        complain("no operation is open: nothing to do here")
    elif known.holder is not None:
        by = known.holder.by
        complain(f"process {by.pid} on {by.host} works on operation {known.open[0].number}: nothing to do here")
    return known.open[0] if known.open and known.holder is None else None


async def ask_operation(session: Session, options: argparse.Namespace) -> int:
    """Record the operator's request about the open operation: its end, another throttle, a pause or the end of a pause;
    or continue the operation. Return the exit code.

    The process that works on the operation carries the request out. If no process does, only the request to end it is
    carried out here.
    """
    from console.session.operating import ask_of, goes_on_text, read_operations, work_on

    if options.go_on:
        operation = _to_go_on(await read_operations(session))
        if operation is None:
            return DONE
        complain(goes_on_text(operation))
        return left(await work_on(session, operation.number, complain))
    # Stopping a move is always safe and needs no consent; but if the context requires typing its name, this applies
    # here too.
    asked = f"Cancel operation {options.cancel}, on {session.context.name}?"
    if options.cancel is not None and (why := await confirmed(session.context, asked, yes=True)):
        return leave(FAILED, f"nothing was sent: {why}")
    pause, resume = getattr(options, "pause", None), getattr(options, "resume", None)
    number = next(each for each in (options.cancel, options.operation, pause, resume) if each is not None)
    cancel, give_up = options.cancel is not None, options.give_up
    pauses = None if pause is None and resume is None else pause is not None
    operation = await ask_of(session, number, cancel=cancel, throttle=options.throttle, give_up=give_up, pause=pauses)
    holder = (await read_operations(session)).holder
    if holder is not None:
        by = holder.by
        return leave(DONE, f"process {by.pid} on {by.host} works on operation {number}, and does it with its next look")
    if not cancel:
        return leave(DONE, f"no process works on operation {number}; kac moves --continue does")
    code = left(await work_on(session, operation.number, complain))
    if code == DONE and operation.has_moves:
        complain(f"what it had moved before stays; the way back is: kac moves back {number} --run")
    return code


_LISTED = frozenset({Part.CLUSTER, Part.REASSIGNMENTS, Part.LOG_DIRS})


class _Moves(NamedTuple):
    """The operations in this host's journal, and the cluster with the moves that run in it."""

    operations: Operations
    cluster: Snapshot


async def _read_moves(operations: Awaitable[Operations], cluster: Awaitable[Snapshot]) -> _Moves:
    return _Moves(await operations, await cluster)


def _show_moves(moves: _Moves, output: str) -> int:
    """Print all open operations and running moves, and the last ended operations. Return the exit code: `WAITING` if
    the first open operation waits, else 0.
    """
    from console.answers.operations import dir_copies_table, operations_table, running_moves_table
    from console.answers.results import Printer

    known, snapshot = moves
    tell = Printer(output)
    tell(operations_table((*known.open, *known.ended), known.holder.by if known.holder is not None else None))
    problems = tuple(each for each in snapshot.failures if each.part in _LISTED)
    tell(running_moves_table(snapshot, known.open, problems))
    unread = tuple(each for each in problems if each.part == Part.LOG_DIRS)
    copies = dir_copies_table(snapshot, known.open, unread)
    if copies.rows or output == "json":
        tell(copies)
    return WAITING if known.open and known.open[0].progress and known.open[0].progress.waits else DONE
