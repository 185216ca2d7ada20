"""Reads records for a statement, as the context allows it. Contents go to the caller alone: to no snapshot, no log."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from msgspec.structs import replace

from console.contexts.context import HIDDEN, NEVER, Context
from console.language.verbs.records import Records
from console.model.failure import Failure
from console.model.record_decoding import PlainDecoder, RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.records import (
    First,
    FromOffset,
    FromTime,
    Last,
    OfGroup,
    Record,
    RecordsQuery,
    RecordsRead,
    Start,
)
from console.plan.amounts import moment
from console.session.snapshot_reader import Client, Refused


async def read_records(client: Client, context: Context, statement: Records, more: Start | None = None) -> RecordsRead:
    """Return the records that a statement asks for, as they may be shown: what is masked is not found either.

    Args:
        more: where to read on, instead of the statement's own start.

    Raises:
        Refused: the context says never, or a broker refuses it.
        AdminError: the cluster is lost.
    """
    from console.admin import records
    from console.admin.errors import BrokerError

    # Before any request: in such a context a topic's records are not even counted.
    refuse_if_never(context)
    wanted = RecordFilter(statement.text, statement.key, statement.json)
    query = records_query(statement, datetime.now(UTC), more)
    decoder = PlainDecoder(context.mask)

    def matches(record: Record) -> bool:
        return wanted.matches(decoder.readable(record))

    try:
        read: RecordsRead = await client.run(records.read_records, query, matches if wanted else None)
    except BrokerError as error:
        # This topic or group can't be read; the cluster is there.
        raise Refused(error.failure) from error
    return await asyncio.to_thread(_readable, read, decoder) if context.mask else read


def _readable(read: RecordsRead, decoder: RecordDecoder) -> RecordsRead:
    """Return what was read with its records as they may be shown."""
    return replace(read, records=tuple(map(decoder.readable, read.records)))


def refuse_if_never(context: Context) -> None:
    """Raise Refused in a context with records = "never"."""
    if context.records == NEVER:
        raise Refused(
            Failure(
                "RECORDS_NEVER",
                f'context {context.name} has records = "{NEVER}": no records are read in it',
                "Use another context, or change it in its file.",
            )
        )


def is_masked(context: Context, statement: Records) -> bool:
    """Return whether keys, values and headers are hidden."""
    return context.records == HIDDEN and not statement.reveal


def records_query(statement: Records, now: datetime, more: Start | None = None) -> RecordsQuery:
    """Return the query of a statement. now: from which relative times count."""
    start: Start
    match statement.start:
        case "first":
            start = First()
        case "offset":
            start = FromOffset(int(statement.at))
        case "time":
            # Negative timestamps are Kafka's words for the end and the beginning (ListOffsets): none may arise from a
            # date.
            start = FromTime(max(0, int(moment(statement.at, now).timestamp() * 1000)))
        case "group":
            start = OfGroup(statement.at)
        case _:
            start = Last()
    return RecordsQuery(statement.topic, statement.partition, more or start, statement.count, statement.committed)
