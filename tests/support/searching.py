"""Searches for records in tests: collected results, and a short form of a search of one topic."""

from contextlib import aclosing

from msgspec.structs import replace

from console.admin.link import Link
from console.admin.record_search import Halt, search
from console.model import records
from console.model.record_decoding import RecordDecoder
from console.model.record_filter import RecordFilter
from console.session.record_reading import Collected


def query(
    topic: str,
    partition: int | None = None,
    start: records.Start | None = None,
    count: int = records.DEFAULT_COUNT,
    committed: bool = True,
) -> records.Search:
    """Return a search of `count` records in a topic. partition: None for all. start: None for the newest records.
    committed: whether to leave out records of aborted and open transactions.
    """
    if start is None or isinstance(start, records.Last):
        return records.Search((topic,), partition, replace(start or records.Last(), count=count), committed=committed)
    return records.Search((topic,), partition, start, None, count, committed)


async def read_records(
    link: Link,
    wanted: records.Search,
    only: RecordFilter | None = None,
    decoder: RecordDecoder | None = None,
    halt: Halt | None = None,
) -> records.RecordsRead:
    """Run a search, and return all its records and problems as one result."""
    collected = Collected(wanted)
    async with aclosing(search(link, wanted, only, decoder, None, halt)) as portions:
        async for portion in portions:
            collected.add(portion)
    return collected.read()
