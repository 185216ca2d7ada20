"""``kac moves``: where replicas would go for a goal, what that costs, and the commands that move them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from console.cli.opening import DONE, FAILED, USAGE, with_session
from console.model.numbers import option
from console.terminal import complain, put

if TYPE_CHECKING:
    from console.session.session import Session

WAITING = 4
"""The exit code where partitions have to wait for something."""


def moves_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac moves``."""
    parser.set_defaults(run=run_moves)
    parser.add_argument(
        "goal",
        nargs="+",
        metavar="GOAL",
        help="drain ID[,ID…], replace ID by ID, balance, topic NAME to ID[,ID…], or replication NAME N",
    )
    parser.add_argument(
        "--throttle",
        metavar="RATE",
        type=option(_rate, 1),
        help="bytes per second that each broker copies, and is read, at most, as 50MB/s",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--script", action="store_true", help="print the commands that move them, for kac run -f -; nothing is sent"
    )
    form.add_argument(
        "--output",
        choices=("text", "json", "kafka"),
        default="text",
        help="form of the result; kafka: the file for kafka-reassign-partitions --reassignment-json-file",
    )


def _rate(text: str) -> float:
    from console.plan.amounts import parse_amount, unit_of

    return parse_amount(text, unit_of("leader.replication.throttled.rate"))


def run_moves(options: argparse.Namespace) -> int:
    """0 planned, 4 planned but for partitions that have to wait, 1 failed, 2 no context or no such goal."""
    from console.answers.moves import moves_json, moves_script, moves_tables
    from console.answers.results import Printer
    from console.language.needs import Needs
    from console.model.codes import TOPIC
    from console.operations.forecast import forecast
    from console.operations.goals import goal_of
    from console.operations.placement import PARTS, placement_of
    from console.operations.planner import UnknownPlace, propose
    from console.session.reading import read_needs

    try:
        goal = goal_of(options.goal)
    except ValueError as error:
        complain(f"{error}")
        return USAGE
    throttle = None if options.throttle is None else int(options.throttle)

    async def work(session: Session) -> int:
        await read_needs(session, Needs(parts=PARTS, every=frozenset({TOPIC})))
        problems = tuple(each for each in session.snapshot.failures if each.part in {*PARTS, "configs"})
        placement = placement_of(session.snapshot)
        try:
            proposal = propose(goal, placement)
        except UnknownPlace as error:
            complain(f"{error}. kac brokers --list and kac topics --list show what there is.")
            return FAILED
        said = forecast(proposal, placement, throttle)
        if options.script or options.output == "kafka":
            for failed in problems:
                complain(f"not read: {failed.part} {failed.entity}: {failed.failure}")
            for held in proposal.held:
                complain(f"{held.topic}/{held.number} has to wait: {held.why}")
            put(moves_script(proposal, throttle, said) if options.script else moves_json(proposal))
        else:
            tell = Printer(options.output)
            for table in moves_tables(goal, proposal, said, problems):
                tell(table)
            if proposal.moves and options.output == "text":
                put("\nto move them: the same with --script | kac run -f -   (and apply --yes after a look)\n")
        return WAITING if proposal.held else DONE

    return with_session(options, "moves", work)
