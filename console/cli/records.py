"""``kac records``: finds records in topics and writes them to a pipe, a file or the terminal; with --follow also new
ones.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from console.admin.errors import AdminError
from console.answers.record_forms import HEADER, KEY, STREAMS, VALUE
from console.cli.opening import DONE, FAILED, USAGE, with_session
from console.cli.status_line import StatusLine, signals_end, status_line
from console.language.quoting import quote, quote_pattern
from console.model.numbers import is_natural, natural_number, option, plural
from console.model.per_second import PerSecond
from console.model.records import Portion, Progress, Record, Search, Undecodable
from console.present.records import progress_text, stopped_text
from console.session.snapshot_reader import Refused
from console.terminal import complain, leave, stdout

if TYPE_CHECKING:
    from console.cli.record_export import About, Export
    from console.contexts import Context
    from console.language.verbs.records import Records
    from console.model.record_masks import MaskPath
    from console.session.record_reading import RecordReader

INTERRUPTED = 130
OUTPUTS = ("table", "json", *STREAMS)
LIVE_LINES = 100
"""Default maximum number of records per second that --follow prints on a terminal."""
SHOWN_EVERY = 0.2
"""Minimum number of seconds between two changes of the status line."""
LAST_WRITE = 1.0
"""Seconds that the reader of a pipe gets after Ctrl-C to accept the last records."""

_EXAMPLES = """\
examples:
  kac records -c prod orders                                     the last 10
  kac records -c prod orders --key order-77                      every record of a key
  kac records -c prod orders --from 2h --where 'value.state == "failed"' --output jsonl | jq .
  kac records -c prod orders,payments --text timeout --follow
  kac records -c prod 'audit-*' --from start --output jsonl --out audit.jsonl
  kac records -c prod orders --group billing --partition 3 --limit 1
  kac records -c prod images --partition 0 --from 41208 --limit 1 --output raw --separator '' > image.png
"""


def records_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac records``."""
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "topics",
        metavar="TOPIC",
        nargs="+",
        help="the topic's name, or a glob such as 'audit-*'; separate several by commas",
    )
    _add_places(parser.add_argument_group("where to look"))
    _add_conditions(parser.add_argument_group("what to find"))
    _add_outputs(parser.add_argument_group("what to write"))


def _add_places(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--partition", "-p", metavar="N", type=option(natural_number), help="only this partition")
    start = group.add_mutually_exclusive_group()
    start.add_argument(
        "--from",
        dest="start",
        metavar="PLACE",
        help="begin at start, end, an offset, or a time such as 2h (ago) or 2026-11-20T14:05",
    )
    start.add_argument("--last", metavar="N", help="the newest N records that match (default: 10, without a condition)")
    start.add_argument("--group", metavar="NAME", help="begin at the first record that the group has not committed")
    add("--to", metavar="PLACE", help="end before an offset or a time; end: the present end")
    add("--follow", action="store_true", help="continue with the records that clients write")
    add("--uncommitted", action="store_true", help="also records of open and aborted transactions")


def _add_conditions(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--key", metavar="GLOB", help="records whose key matches")
    add("--only", action="store_true", help="read only the partitions in which partitioners put the --key")
    add("--text", metavar="TEXT", help="records whose key, value or a header contains the text")
    add(
        "--where",
        metavar="EXPR",
        help="records for which a condition in CEL holds: 'value.state == \"failed\" && size > 100'",
    )
    add("--without", choices=("value", "key"), help="records whose value (or key) is null")
    add("--latest-by-key", action="store_true", help="only the newest record of each key")
    add("--limit", metavar="N", type=option(natural_number), help="at most N records; 0: all")


def _add_outputs(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--output",
        choices=OUTPUTS,
        default=OUTPUTS[0],
        help="form of the records; table and json write at the end, the others at once",
    )
    add("--out", metavar="FILE", type=Path, help="write into a new private file, with FILE.manifest.json next to it")
    add("--as", dest="form", choices=("text", "json", "hex"), help="form of keys and values (default: kac guesses)")
    add("--reveal", action="store_true", help="show contents that the context hides")
    add(
        "--field", metavar="FIELD", default=VALUE, help="with --output raw: value, key, or header:NAME (default: value)"
    )
    add(
        "--separator",
        metavar="TEXT",
        default=r"\n",
        help="with --output raw: the text after each record, such as \\0 (default: \\n)",
    )
    add("--rate", metavar="SIZE", help="read at most so many bytes a second, for example 10MB/s")
    add(
        "--per-second",
        metavar="N",
        type=option(natural_number),
        help=f"with --follow: write at most N records a second (default: {LIVE_LINES} on a terminal, else all)",
    )


def run_records(options: argparse.Namespace) -> int:
    """Find records and write them.

    Returns:
        The exit code: 0 done; 1 a part was not searched, or the output can't be written; 2 the arguments are invalid,
        nothing done; 130 ended by Ctrl-C, except with --follow.
    """
    from console.language.errors import LanguageError
    from console.language.grammar import parse
    from console.session.script_runner import say_error

    if problem := _contradiction(options):
        return leave(USAGE, problem)
    text = statement_text(options)
    try:
        (statement,) = parse(text)
        rate = _rate(options.rate)
    except LanguageError as error:
        say_error(error, text)
        return USAGE
    except ValueError as error:
        return leave(USAGE, f"--rate: {error}")
    work = _Work(options, statement, rate)  # type: ignore[arg-type]  # the text begins with `records`

    return with_session(
        options,
        "records",
        lambda session: work.run(
            session.records, session.context, session.read_cluster, lambda: session.snapshot.cluster.cluster_id or ""
        ),
    )


def _contradiction(options: argparse.Namespace) -> str:
    """Return the reason why options exclude or lack each other; ``""`` if they are valid together."""
    if options.only and options.key is None:
        return "--only goes with --key"
    if options.output != "raw" and (options.field != VALUE or options.separator != r"\n"):
        return "--field and --separator go with --output raw"
    if options.field not in (VALUE, KEY) and not options.field.startswith(HEADER):
        return "--field is value, key or header:NAME"
    if options.follow and options.output == "json":
        return "--follow has no end, and --output json needs one: use --output jsonl"
    if options.out is not None and options.output not in STREAMS:
        return f"--out goes with --output {', '.join(STREAMS[:-1])} or {STREAMS[-1]}"
    if options.per_second is not None and not options.follow:
        return "--per-second goes with --follow"
    return ""


def statement_text(options: argparse.Namespace) -> str:
    """Return the `records` statement of the command language for these options; the language's parser checks their
    values.
    """
    topics = ",".join(map(quote_pattern, ",".join(options.topics).split(",")))
    words = ["records", "topic" if topics == "topic" else "", topics]
    words.append(f"partition {options.partition}" if options.partition is not None else "")
    if options.start is not None:
        words.append(f"from {_place(options.start)}")
    elif options.last is not None:
        words.append(f"last {quote(options.last)}")
    elif options.group is not None:
        words.append(f"from group {quote(options.group)}")
    words.append(f"to {_place(options.to)}" if options.to is not None else "")
    if options.key is not None:
        words.append(f"key {quote(options.key)}{' only' if options.only else ''}")
    words += [f"{name} {quote(value)}" for name in ("text", "where", "without") if (value := getattr(options, name))]
    words.append("latest by key" if options.latest_by_key else "")
    words.append(f"limit {options.limit}" if options.limit is not None else "")
    words += [name for name in ("follow", "uncommitted") if getattr(options, name)]
    words.append(f"as {options.form}" if options.form else "")
    words.append("--reveal" if options.reveal else "")
    return " ".join(word for word in words if word)


def _place(text: str) -> str:
    if text in ("start", "end"):
        return text
    return f"offset {text}" if is_natural(text) else f"time {quote(text)}"


def _rate(text: str | None) -> int:
    """Return the bytes per second in a text; 0 for None, which means no limit. Raises ValueError: the text is not a
    rate.
    """
    if text is None:
        return 0
    from console.plan.amounts import Unit, parse_amount

    return int(parse_amount(text, Unit.BYTES_PER_SECOND))


class _Work:
    """One run of ``kac records``."""

    def __init__(self, options: argparse.Namespace, statement: Records, rate: int) -> None:
        self._options = options
        self._statement = statement
        self._rate = rate
        self._shown_at = 0.0
        self._problems = 0

    async def run(
        self,
        reader: RecordReader,
        context: Context,
        read_cluster: Callable[[], Awaitable[None]],
        cluster_id: Callable[[], str],
    ) -> int:
        """Search, and write the found records.

        Args:
            read_cluster: reads the cluster, for the manifest.
            cluster_id: returns the cluster's id after that; ``""`` if it is unknown.

        Returns:
            The exit code.

        Raises:
            AdminError, Refused, BrokenPipeError: the search or the output failed.
        """
        from console.cli.record_export import About
        from console.cli.record_output import WriteError
        from console.session.record_reading import is_masked, refuse_if_never

        refuse_if_never(context)
        masked = is_masked(context, self._statement)
        masks = tuple(path.text for path in context.mask)
        if masked and self._options.output == "raw":
            return leave(FAILED, "contents are hidden in this context: --reveal shows them")
        stopping = asyncio.Event()
        with signals_end(stopping), status_line() as line:
            if self._options.output in STREAMS or self._statement.follow:
                try:
                    if self._options.out is not None:
                        await read_cluster()
                    about = About(context.name, cluster_id(), masked, masks)
                    return await self._stream(reader, about, stopping, line)
                except WriteError as error:
                    line.clear()
                    return leave(FAILED, str(error))
            return await self._collect(reader, context.mask, stopping, line, masked=masked)

    async def _stream(self, reader: RecordReader, about: About, stopping: asyncio.Event, line: StatusLine) -> int:
        """Write records as they are found, and return the exit code. stopping: set by Ctrl-C. Raises WriteError;
        AdminError and Refused as `_portions`.
        """
        from console.answers.record_forms import csv_head, separator_text, stream_form
        from console.cli.record_export import Export
        from console.cli.record_output import Output, WriteError

        options, follow = self._options, self._statement.follow
        # Records that are written at once take no memory, so only the operator's own limit applies.
        wanted = replace(await self._search(reader), limit=self._statement.limit or 0)
        export = Export(about, self._statement, wanted, Output(options.out), options.output)
        end = separator_text(options.separator)
        form = stream_form(options.output, options.form or "", masked=about.hidden, field=options.field, separator=end)
        live = LIVE_LINES if follow and sys.stdout.isatty() else 0
        cap = PerSecond(live if options.per_second is None else options.per_second)
        try:
            if options.output == "csv":
                await export.output.head(csv_head())
            async with aclosing(self._portions(reader, wanted, stopping)) as portions:
                async for portion in portions:
                    self._say(portion, line)
                    found: list[Record | Undecodable] = [*portion.undecodable, *portion.records]
                    items = cap.passed(found, time.monotonic())
                    if not await _done(export.write(items, form(items), portion), stopping):
                        break
                    self._show(portion.progress, line, cap.left_out)
        except (WriteError, AdminError, Refused) as error:
            line.clear()
            try:
                export.finish(str(error))
            except WriteError as also:
                complain(str(also))
            if export.output.count:
                complain(export.stands())
            raise
        line.clear()
        return self._ended(export, stopping, cap)

    async def _search(self, reader: RecordReader) -> Search:
        """Return the search that the statement describes. Raises AdminError, Refused."""
        from console.session.record_reading import search_of

        found = search_of(self._statement, await reader.topics(self._statement), datetime.now(UTC))
        return replace(found, rate=self._rate)

    async def _portions(
        self, reader: RecordReader, wanted: Search, stopping: asyncio.Event
    ) -> AsyncGenerator[Portion, None]:
        """Yield the portions of a search, with hidden and masked contents as the context requires, until the search or
        its time ends, or `stopping` is set.

        Raises:
            AdminError, Refused: as `RecordReader.search`.
        """
        from console.admin.record_search import Halt
        from console.session.record_reading import filter_of

        halt = Halt()

        async def end() -> None:
            await stopping.wait()
            halt.ask()

        ending = asyncio.create_task(end())
        try:
            async with aclosing(reader.search(wanted, filter_of(self._statement), halt)) as portions:
                async for portion in portions:
                    await reader.learn(portion.records)
                    yield portion._replace(records=await reader.shown(portion.records))
        finally:
            ending.cancel()

    def _ended(self, export: Export, stopping: asyncio.Event, cap: PerSecond) -> int:
        """Complete the manifest, and print how the search ended. Return the exit code: 130 after Ctrl-C, except with
        --follow; 1 after a problem; else 0.
        """
        interrupted = stopping.is_set() and not self._statement.follow
        why = "ended by Ctrl-C" if stopping.is_set() else stopped_text(export.progress)
        export.finish(why or (f"{plural(self._problems, 'problem')} on the way" if self._problems else ""))
        if cap.left_out:
            complain(f"{plural(cap.left_out, 'record')} more than --per-second came, and are not in this")
        if why or self._options.out is not None or sys.stderr.isatty():
            complain(f"{progress_text(export.progress)}{f'; {why}' if why else ''}")
        if self._options.out is not None:
            complain(f"{plural(export.output.count, 'record')} in {export.output.name}")
        return INTERRUPTED if interrupted else FAILED if self._problems else DONE

    async def _collect(
        self,
        reader: RecordReader,
        fields: Sequence[MaskPath],
        stopping: asyncio.Event,
        line: StatusLine,
        *,
        masked: bool,
    ) -> int:
        """Find all records first, then write them; return the exit code.

        Args:
            fields: the paths of masked fields.
            masked: whether contents are hidden.
        """
        from console.answers.data_forms import write
        from console.answers.records import records_result
        from console.session.record_reading import Collected

        wanted = await self._search(reader)
        found = Collected(wanted)
        async with aclosing(self._portions(reader, wanted, stopping)) as portions:
            async for portion in portions:
                try:
                    found.add(portion)
                except OSError as error:
                    line.clear()
                    return leave(
                        FAILED,
                        f"the file of found records can't be written: {error.strerror or error}; use --output jsonl",
                    )
                self._show(portion.progress, line)
        line.clear()
        read = found.read()
        result = records_result(self._statement, read, masked=masked, fields=fields)
        write([result], self._options.output, stdout())
        if stopping.is_set():
            return leave(INTERRUPTED, f"{progress_text(read.progress)}; ended by Ctrl-C")
        return FAILED if result.problems else DONE

    def _say(self, portion: Portion, line: StatusLine) -> None:
        """Print the notes and problems of a portion, a line each."""
        told = [*portion.notes, *map(str, portion.undecodable), *(each.told for each in portion.problems)]
        self._problems += len(portion.problems)
        if told:
            line.clear()
        for text in told:
            complain(text)

    def _show(self, progress: Progress, line: StatusLine, left_out: int = 0) -> None:
        """Show the progress in the status line, at most every `SHOWN_EVERY` seconds; not if the terminal shows records.
        left_out: the number of records that were found but not printed.
        """
        now = time.monotonic()
        if now - self._shown_at < SHOWN_EVERY or not line.is_terminal:
            return
        if sys.stdout.isatty() and self._options.out is None and progress.found:
            return
        self._shown_at = now
        more = f", {plural(left_out, 'record')} left out" if left_out else ""
        line.show(f"{progress_text(progress)}{more}")


async def _done(writing: Coroutine[Any, Any, None], stopping: asyncio.Event) -> bool:
    """Wait for a write. Return True once it has ended; False if `stopping` was set and it has not ended `LAST_WRITE` (1
    s) later.
    """
    task, stop = asyncio.ensure_future(writing), asyncio.ensure_future(stopping.wait())
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not task.done():
        await asyncio.wait({task}, timeout=LAST_WRITE)
    if not task.done():
        task.cancel()
        return False
    task.result()
    return True
