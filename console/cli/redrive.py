"""``kac redrive``: shows dead letters by original topic, exception and age; with --run sends each again, once."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from console.cli.moves import ask_operation, confirmed, left
from console.cli.opening import DONE, FAILED, USAGE, with_session
from console.cli.status_line import status_line
from console.language.quoting import quote
from console.model.numbers import natural_number, option, plural
from console.terminal import complain, leave

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.language.verbs.redrive import BeginRedrive
    from console.operations.goals import Goal
    from console.operations.operation import Operation, Progress
    from console.session.redriving import Desk

NOT_SENT = 3
"""The exit code if no letter was sent, because warnings are not accepted or --run is missing."""
_EXAMPLES = """\
examples:
  kac redrive -c prod orders.dlt                              what is in it, and what would be sent
  kac redrive -c prod orders.dlt --where 'value.total < 100' --max 50/s --run
  kac redrive -c prod connect-dlq --to orders --run --accept read-again=orders
  kac redrive -c prod --continue                              after a kill, from any shell of this host
"""


def redrive_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac redrive``."""
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("topic", metavar="TOPIC", nargs="?", help="the dead-letter topic")
    add(
        "--where",
        metavar="CONDITION",
        default="",
        help="only letters for which a condition in CEL holds, as in kac records",
    )
    add(
        "--to", metavar="TOPIC", default="", help="send all letters to this topic (default: each to its original topic)"
    )
    add("--max", metavar="N/s", default="", help="send at most so many letters a second")
    add("--reveal", action="store_true", help="show exceptions although the context hides contents")
    add("--yes", action="store_true", help="with --run: don't ask; a warning still needs --accept")
    add("--accept", metavar="NAME[=SUBJECT],…", default="", help="continue in spite of these warnings")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--run", dest="begins", action="store_true", help="begin the operation, and work on it")
    form.add_argument("--continue", dest="go_on", action="store_true", help="work on the open operation")
    form.add_argument(
        "--cancel", metavar="OPERATION", type=option(natural_number), help="end the operation; sent letters stay"
    )
    form.add_argument(
        "--pause", metavar="OPERATION", type=option(natural_number), help="let the operation wait until --go-on"
    )
    form.add_argument("--go-on", dest="resume", metavar="OPERATION", type=option(natural_number), help="end the pause")
    add("--output", choices=("text", "json"), default="text", help="form of the table")


def run_redrive(options: argparse.Namespace) -> int:
    """Show the letters in a topic; or begin, continue or change the operation that sends them.

    Returns:
        The exit code: 0 all are sent, or shown; 1 failed; 2 invalid arguments; 3 nothing was sent, as warnings are not
        accepted; 4 the operation waits.
    """
    from console.language.errors import LanguageError
    from console.language.grammar import parse
    from console.language.statements import Where
    from console.session.script_runner import say_error

    asked = options.go_on or any(each is not None for each in (options.cancel, options.pause, options.resume))
    if asked == (options.topic is not None):
        return leave(USAGE, "name a TOPIC, or one of --continue, --cancel, --pause and --go-on")
    if asked:
        options.operation, options.throttle, options.give_up = None, None, False
        return with_session(options, "redrive", lambda session: ask_operation(session, options))
    text = statement_text(options)
    try:
        (statement,) = parse(text, Where.BAR)
    except LanguageError as error:
        say_error(error, text)
        return USAGE

    from console.session.operating import begin, work_on
    from console.session.redriving import desk_of

    return with_session(
        options,
        "redrive",
        lambda session: _run(
            desk_of(session),
            statement,  # type: ignore[arg-type]  # the text begins with `redrive`
            options,
            partial(begin, session),
            lambda number, show: work_on(session, number, complain, None, show),
        ),
    )


def statement_text(options: argparse.Namespace) -> str:
    """Return the statement of the command language for these options; the language's parser checks their values."""
    words = ["redrive topic", quote(options.topic)]
    words += [f"{name} {quote(value)}" for name in ("where", "to", "max") if (value := getattr(options, name))]
    return " ".join(words)


async def _run(
    desk: Desk,
    statement: BeginRedrive,
    options: argparse.Namespace,
    begin: Callable[[Goal, int | None], Awaitable[int]],
    work_on: Callable[[int, Callable[[Progress], None]], Awaitable[Operation]],
) -> int:
    """Show the letters and the forecast; with --run ask, begin the operation, and work on it. Return the exit code, as
    `run_redrive`.
    """
    from console.answers.redrive import letters_table, warning_lines
    from console.answers.results import Printer
    from console.contexts.context import HIDDEN
    from console.plan.reconcile import ApplyOptions
    from console.plan.risk_rules import accepted
    from console.session.redriving import judged, survey, with_ends

    goal = await with_ends(desk, statement.goal)
    with status_line() as line:
        found, _ = await survey(desk, goal, lambda found: line.show(f"{found.count:,} letters"))
    said = await judged(desk, goal, found)
    wrong = (*found.in_the_way, *said.refused)
    masked = desk.context.records == HIDDEN and not options.reveal
    notes = (*said.effects, *warning_lines(said.risks), *(f"! can't be sent: {each}" for each in wrong))
    Printer(options.output)(letters_table(goal, found, statement.most, notes, masked=masked))
    if not options.begins:
        return DONE
    if wrong:
        return leave(FAILED, "nothing was sent: choose other letters with --where, or name their topic with --to")
    if not found.chosen:
        return leave(DONE, "nothing was sent: no letter is chosen")
    if hindering := ApplyOptions(risks=frozenset(accepted(options.accept))).hindering(said.risks):
        names = ",".join(dict.fromkeys(each.accepted_as for each in said.risks))
        complain(f"nothing was sent: {plural(len(hindering), 'warning')} not accepted; if meant, --accept {names}")
        return NOT_SENT
    question = f"Send {plural(found.chosen, 'letter')} of {goal.topic} again, on {desk.context.name}?"
    if why := await confirmed(desk.context, question, yes=options.yes):
        return leave(FAILED, f"nothing was sent: {why}")
    number = await begin(goal, statement.most)
    complain(f"operation {number}: {goal}. Ctrl-C leaves it; kac redrive --continue goes on, --cancel {number} ends it")
    with status_line() as line:
        return left(await work_on(number, lambda progress: line.show(f"{progress.letters}")))
