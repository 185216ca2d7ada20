"""The records that a statement writes: made from its words, or read from a file or from topics; encoded by schemas if
it names any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from console.answers.record_forms import stream_form
from console.contexts.context import HIDDEN, Context
from console.language.errors import CommandError
from console.language.interpret import to_edits
from console.language.statements import EditStatement
from console.language.tokenizer import Span
from console.language.verbs.passed_over import PassingStatement, passed_over
from console.language.verbs.produce import CopyRecords, Produce, WriteStatement, typed_record
from console.model.dead_letters import letter_of
from console.model.failure import Failure
from console.model.new_records import MOST_BYTES, MOST_RECORDS, NewRecord, of_record
from console.model.numbers import plural
from console.model.record_filter import RecordFilter
from console.model.records import FromOffset, Progress, Record, Search, ToOffset
from console.model.schemas import NotDecoded, Schema
from console.model.secret import Contents, Secret
from console.model.snapshot import Snapshot
from console.plan.amounts import byte_count
from console.present.records import AUTO
from console.present.text import clean
from console.safe_files import PRIVATE, create_whole, read_regular, why_unread
from console.session.record_reading import RecordReader, filter_of, refuse_if_never, search_of
from console.session.snapshot_reader import Refused

S = TypeVar("S", bound=EditStatement)
P = TypeVar("P", bound=PassingStatement)


def refuse_to_write(context: Context) -> None:
    """Raise Refused if the context forbids reading records, or masks fields in them."""
    refuse_if_never(context)
    if context.mask:
        raise Refused(
            Failure(
                "RECORDS_MASKED",
                f"context {context.name} masks fields of records: no records are written in it",
                "Use another context, or change it in its file.",
            )
        )


async def with_records(
    reader: RecordReader,
    context: Context,
    statement: S,
    secrets: Mapping[str, Secret],
    snapshot: Snapshot,
    tell: Callable[[str], None],
) -> S:
    """Return the statement with the records that it writes; return a statement that writes no records unchanged. If the
    statement saves records to a file, write this file, too.

    Args:
        reader: the reader of the records to copy, and of schemas.
        secrets: the keys and values of records that the operator typed separately from the statement.
        snapshot: a snapshot with everything read that the statement needs.
        tell: function called with a line about a file that was written.

    Raises:
        Refused: the context forbids reading or writing records, or a broker or the registry refuses a read.
        CommandError: a record can't be written as the statement says.
        AdminError: the connection to the cluster is lost.
    """
    if isinstance(statement, PassingStatement) and statement.keeps:
        refuse_to_write(context)
        return await _with_letters(reader, context, statement, snapshot, tell)
    if not isinstance(statement, WriteStatement):
        return statement
    refuse_to_write(context)
    if isinstance(statement, CopyRecords):
        return replace(statement, records=Contents(await _copied(reader, statement)))
    if not isinstance(statement, Produce):
        return statement
    given = statement.records
    found = (typed_record(statement, secrets),) if given is None else given.reveal()
    if not statement.by_schema:
        return replace(statement, records=Contents(found))
    by_schema = {part: await reader.newest_schema(subject) for part, subject in statement.by_schema.items()}
    # Encode in a thread: the function blocks until the process that encodes has answered.
    try:
        encoded = await asyncio.to_thread(_encoded, found, by_schema)
    except NotDecoded as problem:
        raise CommandError(str(problem), "", statement.span) from None
    return replace(statement, records=Contents(encoded), schemas=", ".join(map(str, by_schema.values())))


def _encoded(records: Sequence[NewRecord], by_schema: Mapping[str, Schema]) -> list[NewRecord]:
    """Return the records with their keys and values encoded by schemas; null stays null. by_schema: ``key`` or
    ``value`` -> the schema. Raises NotDecoded for the first record that does not fit.
    """
    made = []
    for number, record in enumerate(records, 1):
        parts = {part: getattr(record, part) for part in by_schema}
        try:
            data = {part: by_schema[part].framed(each) for part, each in parts.items() if each is not None}
        except NotDecoded as problem:
            raise NotDecoded(f"record {number} does not fit its schema: {problem}") from None
        made.append(replace(record, **data))
    return made


async def _copied(reader: RecordReader, statement: CopyRecords) -> list[NewRecord]:
    """Read the records to copy and return them; records of several partitions are sorted by time. Raises as
    `with_records`.
    """
    source = statement.source
    search = search_of(source, await reader.topics(source), datetime.now(UTC))
    if statement.topic.text in search.topics and source.limit == 0 and source.until is None and not source.is_filtered:
        raise CommandError("a topic is not copied into itself as a whole", "say which of its records", statement.span)
    found, _ = await _read(reader, search, filter_of(source), statement.span, _Room("use limit and from"))
    return [of_record(each) for each in _with_plain_headers(found, statement.span)]


class _Room(Struct):
    """The number of records and of bytes that may still be read into memory."""

    remedy: str
    """Advice for the operator if there are more records."""
    records: int = MOST_RECORDS
    bytes: int = MOST_BYTES

    def take(self, found: Sequence[Record], span: Span) -> None:
        """Subtract the number and the sizes of records that were read. Raises CommandError if more were read than
        allowed.
        """
        self.records -= len(found)
        self.bytes -= sum(of_record(each).size for each in found)
        if self.records < 0 or self.bytes < 0:
            most = f"{plural(MOST_RECORDS, 'record')} and {MOST_BYTES >> 20} MiB"
            raise CommandError(f"more than {most} are not taken at once", self.remedy, span)


async def _read(
    reader: RecordReader, search: Search, only: RecordFilter | None, span: Span, room: _Room
) -> tuple[list[Record], Progress]:
    """Return all records of a search, and its final progress. Raises CommandError if a record can't be read, or if
    there are more than `room`.
    """
    made: list[Record] = []
    progress = Progress()
    async with aclosing(reader.search(search, only)) as portions:
        async for portion in portions:
            made += portion.records
            progress = portion.progress
            if portion.undecodable or portion.problems:
                why = [*map(str, portion.undecodable), *(each.told for each in portion.problems)][0]
                raise CommandError(f"not all of the records can be read: {why}", "", span)
            room.take(portion.records, span)
            await asyncio.sleep(0)
    return made, progress


def _with_plain_headers(found: Sequence[Record], span: Span) -> Sequence[Record]:
    """Return the records unchanged. Raises CommandError if a header's name is not valid UTF-8, since kac could not
    write it again.
    """
    for each in found:
        try:
            _ = [name.decode() for name, _ in each.headers]
        except UnicodeDecodeError:
            where = f"{each.topic}/{each.partition} offset {each.offset}"
            raise CommandError(f"{where}: the name of a header is no text, and can't be written", "", span) from None
    return found


# -- records that are passed over --------------------------------------------------------------------------------------


async def _with_letters(
    reader: RecordReader, context: Context, statement: P, snapshot: Snapshot, tell: Callable[[str], None]
) -> P:
    """Return the statement with dead letters made from the records that a group will skip; or write these records to
    the statement's file.

    Raises:
        CommandError: some of the records can't be read, are held back by an open transaction, or are too many.
        Refused: the context hides records, and the statement would write them to a file.
    """
    span = statement.span
    if statement.keep and context.records == HIDDEN:
        raise Refused(
            Failure(
                "RECORDS_HIDDEN",
                f"context {context.name} hides records: none are written into a file by a skip or a deletion",
                "Write them with kac records --reveal --out FILE, or send them first, with to topic NAME.",
            )
        )
    ranges = passed_over(to_edits(replace(statement, to=None, keep=""), snapshot), snapshot)
    room = _Room("write them with kac records --output jsonl --out FILE, or pass over fewer")
    letters: list[NewRecord] = []
    kept: list[Record] = []
    for (topic, number), (group, begin, end) in ranges.items():
        search = Search((topic,), number, FromOffset(begin), ToOffset(end))
        found, progress = await _read(reader, search, None, span, room)
        # Don't rely on the end of the search: an open transaction makes it stop before the records that the transaction
        # holds back.
        reached = next((each.next for each in progress.scanned if each.partition == number), None)
        if reached is None or reached < end:
            what = f"records of {topic}/{number} before offset {end:,}"
            if reached is None:
                raise CommandError(f"{what} were not read", "try again", span)
            raise CommandError(f"an open transaction holds back {what}", "wait for its end", span)
        if statement.to is not None:
            letters += [letter_of(each, group) for each in _with_plain_headers(found, span)]
        else:
            kept += _with_plain_headers(found, span)
    if statement.to is not None:
        return replace(statement, letters=Contents(letters))
    tell(await asyncio.to_thread(_written, kept, statement))
    return statement


def _written(records: Sequence[Record], statement: PassingStatement) -> str:
    """Write records to the statement's new file; return a line about it. If the file exists with exactly this content,
    write nothing. Raises CommandError if the file exists with another content, or can't be written.
    """
    data = b"".join(stream_form("jsonl", AUTO, masked=False)(records))
    path, shown = Path(statement.keep), f"'{clean(statement.keep, 200)}'"
    try:
        path = path.expanduser()
        try:
            create_whole(path, data, PRIVATE)
        except FileExistsError:
            if path.stat().st_size != len(data) or read_regular(path, len(data)) != data:
                raise CommandError(f"{shown} exists already", "give another name", statement.span) from None
    except (OSError, ValueError, RuntimeError) as error:
        why = why_unread(error) if isinstance(error, OSError) else "its name is no path"
        raise CommandError(f"{shown} can't be written: {why}; nothing is staged", "", statement.span) from None
    return f"{plural(len(records), 'record')} kept in {shown}, {byte_count(len(data))}"
