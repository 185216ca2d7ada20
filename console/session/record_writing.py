"""The records that a statement writes: made of its words, read from a file or from topics, and encoded by schemas."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from console.contexts.context import Context
from console.language.errors import CommandError
from console.language.statements import EditStatement
from console.language.verbs.produce import CopyRecords, Produce, WriteStatement, typed_record
from console.model.failure import Failure
from console.model.new_records import MOST_BYTES, MOST_RECORDS, NewRecord, of_record
from console.model.numbers import plural
from console.model.schemas import NotDecoded, Schema
from console.model.secret import Contents, Secret
from console.session.record_reading import RecordReader, filter_of, refuse_if_never, search_of
from console.session.snapshot_reader import Refused

S = TypeVar("S", bound=EditStatement)


def refuse_to_write(context: Context) -> None:
    """Raise Refused in a context that forbids to read records, or that masks fields of them."""
    refuse_if_never(context)
    if context.mask:
        raise Refused(
            Failure(
                "RECORDS_MASKED",
                f"context {context.name} masks fields of records: no records are written in it",
                "Use another context, or change it in its file.",
            )
        )


async def with_records(reader: RecordReader, context: Context, statement: S, secrets: Mapping[str, Secret]) -> S:
    """Return a statement with the records that it writes; other statements unchanged.

    Args:
        reader: reads the records to copy, and the schemas.
        secrets: the keys and values that are not in the statement.

    Raises:
        Refused: the context forbids it, or a broker or the registry refuses to be read.
        CommandError: a record can't be written as the statement says.
        AdminError: the connection to the cluster is lost.
    """
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
    # In a thread: it waits for the process that encodes.
    try:
        encoded = await asyncio.to_thread(_encoded, found, by_schema)
    except NotDecoded as problem:
        raise CommandError(str(problem), "", statement.span) from None
    return replace(statement, records=Contents(encoded), schemas=", ".join(map(str, by_schema.values())))


def _encoded(records: Sequence[NewRecord], by_schema: Mapping[str, Schema]) -> list[NewRecord]:
    """Return records with the parts that schemas encode; null stays null. Raises NotDecoded for the first misfit."""
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
    """Return the records to copy, by time if they are of several partitions. Raises as `with_records`."""
    source = statement.source
    search = search_of(source, await reader.topics(source), datetime.now(UTC))
    if statement.topic.text in search.topics and source.limit == 0 and source.until is None and not source.is_filtered:
        raise CommandError("a topic is not copied into itself as a whole", "say which of its records", statement.span)
    made: list[NewRecord] = []
    size = 0
    async with aclosing(reader.search(search, filter_of(source))) as portions:
        async for portion in portions:
            made += [of_record(each) for each in portion.records]
            size += sum(each.size for each in made[-len(portion.records) :]) if portion.records else 0
            if portion.undecodable or portion.problems:
                why = [*map(str, portion.undecodable), *(each.told for each in portion.problems)][0]
                raise CommandError(f"not all of them can be copied: {why}", "", statement.span)
            if len(made) > MOST_RECORDS or size > MOST_BYTES:
                most = f"{plural(MOST_RECORDS, 'record')} and {MOST_BYTES >> 20} MiB"
                raise CommandError(f"more than {most} are not copied at once", "use limit and from", statement.span)
            await asyncio.sleep(0)
    for each in made:
        try:
            _ = [name.decode() for name, _ in each.headers]
        except UnicodeDecodeError:
            raise CommandError("the name of a header is no text, and can't be copied", "", statement.span) from None
    return made
