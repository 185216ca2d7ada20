"""Masked and decoded records, with requests for the schemas that they need."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import TimeoutError as TooLate

from console.admin.link import Link
from console.admin.records import EndOfLook, read_records
from console.admin.schema_registry import Missing, SchemaRegistry
from console.model.record_decoding import OwnDecoder, RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.record_masks import MaskPath
from console.model.records import Record, RecordsQuery, RecordsRead
from console.model.schemas import Allowance, Schema, SchemaKey

WAITS = 6.0
"""Seconds that a filter waits for schemas, of the 10 s for a read."""
_GLANCE = 0.1
"""Seconds between two checks whether the read continues."""
MOST_ASKED = 50
"""Most schemas to request for one answer."""


def registry_decoder(
    mask: tuple[MaskPath, ...], registry: SchemaRegistry, own: Sequence[OwnDecoder] = ()
) -> RecordDecoder:
    """Return the decoder by the schemas of a registry. own: decoders that come before it."""

    def known(key: SchemaKey) -> Schema | str | None:
        found = registry.known(key)
        return found.why if isinstance(found, Missing) else found

    return RecordDecoder(mask, known, own)


async def find_records(
    link: Link, query: RecordsQuery, wanted: RecordFilter, decoder: RecordDecoder, registry: SchemaRegistry | None
) -> RecordsRead:
    """Return the records that pass a filter, which gets them masked and decoded; see `read_records`.

    A filter can't decide without the schema. So it waits for schemas, some seconds for all of them; afterwards it gets
    undecoded records as they are. If decoding exceeds the allowance of an answer, the read ends: an undecoded record
    could be the wanted one.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + WAITS
    asked: set[SchemaKey] = set()
    allowance = Allowance()

    def wait_for(keys: set[SchemaKey], of: SchemaRegistry) -> None:
        waiting = asyncio.run_coroutine_threadsafe(of.look_up(keys), loop)
        while not allowance.ended and loop.time() < ends:
            try:
                waiting.result(_GLANCE)
            except TooLate:
                continue
            return
        waiting.cancel()

    def matches(record: Record) -> bool:
        # Runs in its own thread, so the client continues meanwhile.
        keys = set(decoder.missing(record)) - asked if registry is not None else set()
        if keys and registry is not None and len(asked) < MOST_ASKED and loop.time() < ends:
            asked.update(keys)
            wait_for(keys, registry)
        shown = decoder.readable(record, allowance)
        if why := allowance.spent():
            raise EndOfLook(why)
        return wanted.matches(shown)

    try:
        return await read_records(link, query, matches)
    finally:
        allowance.ended = True
