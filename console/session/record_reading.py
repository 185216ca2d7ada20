"""Read records for a statement, as far as the context allows it. The contents of records go only to the caller: they
are in no snapshot and no log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.contexts.context import HIDDEN, NEVER, Context
from console.language.seen_fields import SeenFields
from console.language.verbs.analyze import Analyze
from console.language.verbs.records import Records
from console.model import patterns, records
from console.model.failure import Failure
from console.model.internal_records import internal_decoders
from console.model.record_conditions import decoded_json
from console.model.record_decoding import OwnDecoder, RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.record_masks import MASKED
from console.model.schemas import MOST_MADE, Allowance, Schema, SchemaKey
from console.plan.amounts import moment
from console.sensitive import data_without_secrets
from console.session.snapshot_reader import Client, Refused

if TYPE_CHECKING:
    from console.admin.record_search import Halt
    from console.admin.schema_registry import SchemaRegistry

MOST_ASKED = 50
"""Maximum number of schemas to request from the registry for one result."""
SAMPLES, LARGEST_SAMPLE = 20, 64 << 10
"""Maximum number of records of an answer whose fields are kept for completion, and the maximum size of their key or
value in bytes."""
MOST_SECONDS = 20.0
"""Maximum seconds for decoding and masking the records of one result."""


class RecordReader:
    """A reader of one cluster's records, with a cache of the registry's schemas.

    Attributes:
        fields: the names of fields in the records that were read, for completion.
        decodes: whether keys and values are decoded by schemas.
    """

    def __init__(self, client: Client, context: Context) -> None:
        self._client = client
        self._context = context
        self._registry: SchemaRegistry | None = None
        own = own_decoders(context)
        self._decoder = RecordDecoder(context.mask, own=own)
        self.fields = SeenFields()
        self.decodes = context.schemas is not None or bool(context.decode)
        if context.schemas is not None:
            from console.admin.schema_registry import SchemaRegistry, registry_decoder

            self._registry = SchemaRegistry(context.schemas)
            self._decoder = registry_decoder(context.mask, self._registry, own)

    async def topics(self, statement: Records) -> tuple[str, ...]:
        """Return the topics of a statement. A glob is replaced by the existing topics that match it. It matches Kafka's
        internal topics only if it begins with their prefix.

        Raises:
            Refused: no topic matches.
            AdminError: the connection to the cluster is lost.
        """
        globs = [name for name in statement.topics if patterns.has_signs(name)]
        if not globs:
            return statement.topics
        from console.admin.topics import describe_topics

        refuse_if_never(self._context)
        known = sorted((await self._client.run(describe_topics)).topics)
        found = dict.fromkeys(name for name in statement.topics if name not in globs)
        for glob in globs:
            found |= dict.fromkeys(
                name for name in known if fnmatchcase(name, glob) and (glob[0] == "_" or not name.startswith("__"))
            )
        if not found:
            raise Refused(Failure("NO_TOPIC", f"no topic matches {', '.join(globs)}", "Topics are in the view topics."))
        return tuple(found)

    async def search(
        self, wanted: records.Search, only: RecordFilter | None = None, halt: Halt | None = None
    ) -> AsyncGenerator[records.Portion, None]:
        """Search records; see `console.admin.record_search.search`. Close the iterator if you leave it before its end.

        Records are fetched only as fast as the caller takes the portions. The portions have the records as the brokers
        sent them; `shown` decodes and masks records. The filter sees the masked form, so it can't find masked contents.

        Args:
            wanted: the topics, partitions, beginning and limits of the search.
            only: the filter; None for all records.
            halt: a switch that ends the search early, with the records found by then; None if it can't be ended early.

        Raises:
            Refused: the context forbids reading records, or a broker refuses the request.
            AdminError: the connection to the cluster is lost.
        """
        from console.admin import record_search
        from console.admin.errors import BrokerError

        # Refuse before any request: in such a context kac does not even count a topic's records.
        refuse_if_never(self._context)
        about = (wanted, only, self._decoder, self._registry, halt)
        portions = await self._client.run(record_search.begin, *about)
        try:
            while (portion := await self._client.run(record_search.advance, portions)) is not None:
                yield portion
        except BrokerError as error:
            # The brokers refuse this topic or group; the connection is intact.
            raise Refused(error.failure) from error
        finally:
            await self._client.run(record_search.end, portions)

    async def read(self, statement: Records, more: records.Start | None = None) -> records.RecordsRead:
        """Search the records of a statement to the end, and return all that were found, as the brokers sent them; see
        `search`.

        Args:
            more: the position at which to begin, such as the end of a former result; None for the statement's own
                beginning.
        """
        wanted = search_of(statement, await self.topics(statement), datetime.now(UTC), more)
        collected = Collected(wanted)
        async with aclosing(self.search(wanted, filter_of(statement))) as portions:
            async for portion in portions:
                collected.add(portion)
        return collected.read()

    async def shown(self, found: Sequence[records.Record]) -> Sequence[records.Record]:
        """Return records decoded by the schemas in the cache, and masked as the context requires."""
        allowance = Allowance()
        try:
            shown = await asyncio.to_thread(_shown, found, self._decoder, allowance)
        finally:
            allowance.ended = True  # the thread outlives a cancellation; this ends its decoding
        self._note_fields(shown)
        return shown

    async def readable(self, read: records.RecordsRead) -> records.RecordsRead:
        """Return a result with its records decoded by the schemas in the cache, and masked as the context requires."""
        allowance = Allowance()
        try:
            shown = await asyncio.to_thread(_readable, read, self._decoder, allowance)
        finally:
            allowance.ended = True  # the thread outlives a cancellation; this ends its decoding
        self._note_fields(shown.records)
        return shown

    def _note_fields(self, shown: Sequence[records.Record]) -> None:
        """Add the names of fields in the first `SAMPLES` (20) records to `fields`, for completion. Do nothing if the
        context masks records.
        """
        if self._context.records == HIDDEN:
            return
        for record in shown[:SAMPLES]:
            for part, data in (("key", record.key), ("value", record.value)):
                if data is not None and data[:1] == b"{" and len(data) <= LARGEST_SAMPLE:
                    with suppress(ValueError):
                        self.fields.learn(record.topic, part, decoded_json(data))

    async def learn(self, found: Sequence[records.Record]) -> bool:
        """Read from the registry the schemas that records name and that the cache lacks, at most `MOST_ASKED`.

        Returns:
            Whether any schema was missing; `readable` may then decode more than before.
        """
        if self._registry is None:
            return False
        from console.admin.schema_registry import look_up

        missing = dict.fromkeys(key for record in found for key in self._decoder.missing(record))
        if missing:
            await self._client.run(look_up, self._registry, list(missing)[:MOST_ASKED])
        return bool(missing)

    async def learn_all(self, found: Sequence[records.Record]) -> str:
        """Read from the registry all schemas that records name. Return the reason why one is still unknown; ``""``
        if each is in the cache, or is known to be missing from the registry.
        """
        if self._registry is None:
            return ""
        keys = list(dict.fromkeys(key for record in found for key in self._decoder.named(record)))
        for at in range(0, len(keys), MOST_ASKED):
            from console.admin.schema_registry import look_up

            await self._client.run(look_up, self._registry, keys[at : at + MOST_ASKED])
        for key in keys:
            known = self._registry.known(key)
            if known is None or (not isinstance(known, Schema) and known.may_come):
                return f"schema {key}: {'it was not kept' if known is None else known.why}"
        return ""

    async def newest_schema(self, subject: str) -> Schema:
        """Return the newest version of a subject. Raises Refused if the registry lacks the subject or does not answer,
        or if the context has no registry.
        """
        from console.admin.schema_registry import look_up

        why = "the context has no schema registry"
        if self._registry is not None:
            key = SchemaKey(subject=subject)
            await self._client.run(look_up, self._registry, [key])
            found = self._registry.known(key)
            if isinstance(found, Schema):
                return found
            why = found.why if found is not None else "the registry did not answer"
        raise Refused(Failure("NO_SCHEMA", f"schema {subject}: {why}", "list schemas shows the subjects."))


def own_decoders(context: Context) -> tuple[OwnDecoder, ...]:
    """Return the context's own decoders of keys and values, which need no registry."""
    internal = internal_decoders(partial(data_without_secrets, hidden=MASKED))
    if not context.decode:
        return internal
    from console.admin.rule_decoders import rule_decoder

    return (rule_decoder(context.decode), *internal)


def _shown(found: Sequence[records.Record], decoder: RecordDecoder, allowance: Allowance) -> Sequence[records.Record]:
    shown: list[records.Record] = []
    for record in found:
        if allowance.ended:
            break
        if allowance.spent():
            allowance.renew()
        shown.append(decoder.readable(record, allowance))
    return shown


def _readable(read: records.RecordsRead, decoder: RecordDecoder, allowance: Allowance) -> records.RecordsRead:
    """Return a result with its records decoded and masked. If the decoded records exceed `MOST_MADE` bytes or take more
    than `MOST_SECONDS` (20 s), return only the first ones, with a note.
    """
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
    """Raise Refused if the context has records = "never", which forbids reading records."""
    if context.records == NEVER:
        raise Refused(
            Failure(
                "RECORDS_NEVER",
                f'context {context.name} has records = "{NEVER}": no records are read in it',
                "Use another context, or change it in its file.",
            )
        )


def is_masked(context: Context, statement: Records | Analyze) -> bool:
    """Return whether keys, values and headers are hidden, by the context or the statement."""
    return context.records == HIDDEN and not statement.reveal


def filter_of(statement: Records) -> RecordFilter:
    """Return the filter of a statement."""
    return RecordFilter(statement.text, statement.key, statement.key_only, statement.where, statement.without)


def search_of(
    statement: Records, topics: tuple[str, ...], now: datetime, more: records.Start | None = None
) -> records.Search:
    """Convert a statement to a search.

    Args:
        topics: the topics of the statement.
        now: the time from which the statement's relative times count.
        more: the position at which to begin, such as the end of a former result; None for the statement's own
            beginning.
    """
    start: records.Start
    word, at = statement.begins
    match word:
        case "start":
            start = records.First()
        case "end":
            start = records.FromEnd()
        case "offset":
            start = records.FromOffset(int(at))
        case "time":
            start = records.FromTime(_milliseconds(at, now))
        case "group":
            start = records.OfGroup(at)
        case _:
            start = records.Last(int(at))
    until: records.Until | None = None
    if statement.until is not None and statement.until.word == "offset":
        until = records.ToOffset(int(statement.until.at))
    elif statement.until is not None and statement.until.word == "time":
        until = records.ToTime(_milliseconds(statement.until.at, now))
    return records.Search(
        topics,
        statement.partition,
        more or start,
        until,
        statement.most,
        statement.committed,
        follow=statement.follow,
        latest_by_key=statement.latest,
    )


def _milliseconds(at: str, now: datetime) -> int:
    # Kafka uses negative timestamps for the end and the beginning (ListOffsets): no date may become one.
    return max(0, int(moment(at, now).timestamp() * 1000))


class Collected:
    """The records of a search, collected as its portions arrive. Above a size limit they are kept in a private file
    instead of memory.
    """

    def __init__(self, search: records.Search) -> None:
        from console.admin.record_file import FoundRecords

        self._search = search
        self._records = FoundRecords()
        self._places: set[records.Place] = set()
        self._undecodable: list[records.Undecodable] = []
        self._notes: dict[str, None] = {}
        self._problems: dict[Failure, None] = {}
        self.progress = records.Progress()

    def add(self, portion: records.Portion) -> None:
        """Add a portion. Raises OSError if the records exceed the limit for memory and the file can't be written."""
        self._records.extend(portion.records)
        self._places.update((record.topic, record.partition) for record in portion.records)
        self._undecodable += portion.undecodable
        self._notes |= dict.fromkeys(portion.notes)
        self._problems |= dict.fromkeys(portion.problems)
        self.progress = portion.progress

    def read(self) -> records.RecordsRead:
        """Return all records collected so far, in order."""
        found = self._records.in_order_of_time() if len(self._places) > 1 else self._records
        if not self._records.is_spilled:
            found = tuple(found)
        return records.RecordsRead(
            self._search,
            found,
            tuple(self._undecodable),
            self.progress,
            tuple(self._notes),
            tuple(self._problems),
        )
