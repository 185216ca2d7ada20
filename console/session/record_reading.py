"""Read records for a statement, as far as the context allows it. Contents go only to the caller: to no snapshot, no
log."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.contexts.context import HIDDEN, NEVER, Context
from console.language.sensitive import data_without_secrets
from console.language.verbs.records import Records
from console.model import records
from console.model.failure import Failure
from console.model.internal_records import internal_decoders
from console.model.record_decoding import OwnDecoder, RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.record_masks import MASKED
from console.model.schemas import MOST_MADE, Allowance
from console.plan.amounts import moment
from console.session.snapshot_reader import Client, Refused

if TYPE_CHECKING:
    from console.admin.schema_registry import SchemaRegistry

MOST_SECONDS = 20.0
"""Most seconds for decoding and masking the records of one answer."""


class RecordReader:
    """A reader of records of one cluster, with a cache of schemas from the registry."""

    def __init__(self, client: Client, context: Context) -> None:
        self._client = client
        self._context = context
        self._registry: SchemaRegistry | None = None
        own = own_decoders(context)
        self._decoder = RecordDecoder(context.mask, own=own)
        if context.schemas is not None:
            from console.admin.readable_records import registry_decoder
            from console.admin.schema_registry import SchemaRegistry

            self._registry = SchemaRegistry(context.schemas)
            self._decoder = registry_decoder(context.mask, self._registry, own)

    async def read(self, statement: Records, more: records.Start | None = None) -> records.RecordsRead:
        """Return the records of a statement as the brokers sent them; `readable` masks and decodes them.

        A filter searches the masked form, so masked contents are not found.

        Args:
            more: where to continue, instead of the statement's own start.

        Raises:
            Refused: the context says never, or a broker refuses it.
            AdminError: the connection to the cluster is lost.
        """
        from console.admin.errors import BrokerError
        from console.admin.readable_records import find_records
        from console.admin.records import read_records

        # Before any request: in such a context a topic's records are not even counted.
        refuse_if_never(self._context)
        wanted = RecordFilter(statement.text, statement.key, statement.json)
        query = records_query(statement, datetime.now(UTC), more)
        try:
            if wanted:
                return await self._client.run(find_records, query, wanted, self._decoder, self._registry)
            return await self._client.run(read_records, query, None)
        except BrokerError as error:
            # This topic or group can't be read; the connection is intact.
            raise Refused(error.failure) from error

    async def readable(self, read: records.RecordsRead) -> records.RecordsRead:
        """Return the records in the form that may be shown, decoded with the schemas known now."""
        allowance = Allowance()
        try:
            return await asyncio.to_thread(_readable, read, self._decoder, allowance)
        finally:
            allowance.ended = True  # after a cancellation nothing more is decoded

    async def learn(self, read: records.RecordsRead) -> bool:
        """Read the missing schemas of records from the registry.

        Returns:
            Whether any were missing, so that `readable` may decode more.
        """
        if self._registry is None:
            return False
        from console.admin.readable_records import MOST_ASKED
        from console.admin.schema_registry import look_up

        missing = dict.fromkeys(key for record in read.records for key in self._decoder.missing(record))
        if missing:
            await self._client.run(look_up, self._registry, list(missing)[:MOST_ASKED])
        return bool(missing)


def own_decoders(context: Context) -> tuple[OwnDecoder, ...]:
    """Return the decoders of a context that need no registry."""
    internal = internal_decoders(partial(data_without_secrets, hidden=MASKED))
    if not context.decode:
        return internal
    from console.admin.rule_decoders import rule_decoder

    return (rule_decoder(context.decode), *internal)


def _readable(read: records.RecordsRead, decoder: RecordDecoder, allowance: Allowance) -> records.RecordsRead:
    """Return the records in the form that may be shown, up to `MOST_MADE` bytes of them, and MOST_SECONDS."""
    kept: list[records.Record] = []
    size, ends = 0, time.monotonic() + MOST_SECONDS
    for record in read.records:
        if allowance.ended:
            break
        shown = decoder.readable(record, allowance)
        size += sum(len(part or b"") for part in (shown.key, shown.value, *(value for _, value in shown.headers)))
        kept.append(shown)
        limit = f"{MOST_MADE >> 20} MiB as text" if size > MOST_MADE else ""
        limit = limit or (f"{MOST_SECONDS:g} s to make them readable" if time.monotonic() > ends else "")
        if limit and len(kept) < len(read.records):
            note = f"the first {len(kept):,} are shown: more than {limit}; ask for fewer"
            return replace(read, records=tuple(kept), notes=(*read.notes, note))
    return replace(read, records=tuple(kept))


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


def records_query(statement: Records, now: datetime, more: records.Start | None = None) -> records.RecordsQuery:
    """Return the query of a statement. now: the base of relative times."""
    start: records.Start
    match statement.start:
        case "first":
            start = records.First()
        case "offset":
            start = records.FromOffset(int(statement.at))
        case "time":
            # Kafka uses negative timestamps for the end and the beginning (ListOffsets): no date may become one.
            start = records.FromTime(max(0, int(moment(statement.at, now).timestamp() * 1000)))
        case "group":
            start = records.OfGroup(statement.at)
        case _:
            start = records.Last()
    return records.RecordsQuery(
        statement.topic, statement.partition, more or start, statement.count, statement.committed
    )
