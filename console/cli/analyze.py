"""``kac analyze``: counts the records, keys and sizes in a topic and shows its progress; Ctrl-C ends it and prints the
counts so far.
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from console.cli.opening import DONE, FAILED, USAGE, leave, with_session
from console.cli.status_line import signals_end, status_line
from console.language.quoting import quote
from console.present.records import progress_text
from console.terminal import stdout

if TYPE_CHECKING:
    from console.admin.record_search import Halt
    from console.contexts import Context
    from console.language.verbs.analyze import Analyze
    from console.session.record_reading import RecordReader

INTERRUPTED = 130

_EXAMPLES = """\
examples:
  kac analyze -c prod orders                       all its records
  kac analyze -c prod orders --last 1h             those of the last hour
  kac analyze -c prod orders --sample 1%           one in a hundred, in ranges spread over each partition
  kac analyze -c prod orders --rate 10MB/s --output json
"""


def analyze_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac analyze``."""
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("topic", metavar="TOPIC", help="the topic's name")
    add("--last", metavar="DURATION", help="only records of the last so much time, for example 1h")
    add("--sample", metavar="N%%", help="only this share of each partition, in ranges spread over the partition")
    add("--rate", metavar="SIZE", help="read at most so many bytes a second, for example 10MB/s")
    add("--reveal", action="store_true", help="show keys and headers that the context hides")
    add("--output", choices=("text", "json"), default="text", help="form of the analysis")


def run_analyze(options: argparse.Namespace) -> int:
    """Analyze a topic and print the result.

    Returns:
        The exit code: 0 done; 1 a partition was not read to its end; 2 the arguments are invalid, nothing done; 130
        ended by Ctrl-C, after printing the counts so far.
    """
    from console.language.errors import LanguageError
    from console.language.grammar import parse
    from console.session.script_runner import say_error

    text = statement_text(options)
    try:
        (statement,) = parse(text)
    except LanguageError as error:
        say_error(error, text)
        return USAGE
    return with_session(
        options,
        "analyze",
        lambda session: _run(session.records, session.context, statement, options.output),  # type: ignore[arg-type]  # the text begins with `analyze`
    )


def statement_text(options: argparse.Namespace) -> str:
    """Return the statement of the command language for these options; the language's parser checks their values."""
    words = ["analyze topic", quote(options.topic)]
    words += [f"{name} {quote(value)}" for name in ("last", "sample", "rate") if (value := getattr(options, name))]
    return " ".join([*words, *(["--reveal"] if options.reveal else [])])


async def _run(reader: RecordReader, context: Context, statement: Analyze, output: str) -> int:
    from console.admin.record_search import Halt
    from console.answers.results import Printer
    from console.answers.topic_analysis import analysis_result
    from console.model.topic_analysis import Analysed
    from console.session.record_reading import is_masked
    from console.session.snapshot_reader import WALL
    from console.session.topic_analyzing import analyze, with_shown_keys

    stopping, halt, found = asyncio.Event(), Halt(), None
    with signals_end(stopping), status_line() as line:
        asking = asyncio.ensure_future(_ask_at(stopping, halt))
        try:
            async with aclosing(analyze(reader, statement, WALL, halt)) as results:
                async for found in results:
                    line.show(progress_text(found.facts.progress, finds=False))
        finally:
            asking.cancel()
    assert isinstance(found, Analysed)
    shown = await with_shown_keys(reader, found)
    masked = is_masked(context, statement)
    Printer(output, stdout())(analysis_result(statement, shown, masked=masked, fields=context.mask))
    if stopping.is_set():
        return leave(INTERRUPTED, "ended by Ctrl-C")
    return FAILED if found.facts.problems else DONE


async def _ask_at(stopping: asyncio.Event, halt: Halt) -> None:
    await stopping.wait()
    halt.ask()
