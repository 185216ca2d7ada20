"""Records as they may be shown, with the schemas that they need asked for."""

from __future__ import annotations

import asyncio
from concurrent.futures import TimeoutError as TooLate

from console.admin.link import Link
from console.admin.records import EndOfLook, read_records
from console.admin.schema_registry import Missing, SchemaRegistry
from console.model.record_decoding import RecordDecoder
from console.model.record_filter import RecordFilter
from console.model.record_masks import MaskPath
from console.model.records import Record, RecordsQuery, RecordsRead
from console.model.schemas import Allowance, Schema, SchemaKey

WAITS = 6.0
"""Seconds that a filter waits for schemas, of the 10 that a read may take."""
_GLANCE = 0.1
"""Seconds after which a thread checks whether the look goes on."""
MOST_ASKED = 50
"""Schemas that are asked for of one answer."""


def registry_decoder(mask: tuple[MaskPath, ...], registry: SchemaRegistry) -> RecordDecoder:
    """Return the decoder by the schemas of a registry."""

    def known(key: SchemaKey) -> Schema | str | None:
        found = registry.known(key)
        return found.why if isinstance(found, Missing) else found

    return RecordDecoder(mask, known)


async def find_records(
    link: Link, query: RecordsQuery, wanted: RecordFilter, decoder: RecordDecoder, registry: SchemaRegistry | None
) -> RecordsRead:
    """Return the records that pass a filter, which sees them as they may be shown; see `read_records`.

    A filter can't tell without the schema. So it waits for schemas, some seconds for all of them; what is not decoded
    by then is looked at as it is. Where decoding takes more than an answer may, the look ends: a record that is not
    decoded could be the one that is sought.
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
        # In a thread of its own: the client goes on meanwhile.
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
