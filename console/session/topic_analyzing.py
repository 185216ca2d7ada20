"""Analyze a topic: read its records by a search, and count their properties.

The contents of records go only to the caller and to the session's own results; the snapshot gets counts only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from console.extras import how_to_add
from console.language.verbs.analyze import Analyze
from console.model import records
from console.model.failure import Failure
from console.model.schemas import SchemaKey
from console.model.snapshot import with_analysis
from console.model.topic_analysis import Analysed, Counting, references
from console.session.snapshot_reader import Clock, Learned, Refused

if TYPE_CHECKING:
    from console.admin.record_search import Halt
    from console.session.record_reading import RecordReader

SHOWN_EVERY = 0.5
"""Minimum seconds between two intermediate results."""
FIRST_TRIES, TRIES, IN_A_PORTION = 100, 1_000, 20
"""Numbers of records of one schema that are decoded to try it: IN_A_PORTION of each portion until FIRST_TRIES are
reached, then one of each portion until TRIES, so that they are spread over the topic."""


async def analyze(
    reader: RecordReader, statement: Analyze, clock: Clock, halt: Halt | None = None
) -> AsyncGenerator[Analysed, None]:
    """Yield the analysis so far at intervals, and finally the whole analysis. Close the generator if you leave it
    before its end.

    Args:
        halt: a switch that ends the analysis early, with the counts so far as its result; None if it can't be ended
            early.

    Raises:
        Refused: the context forbids reading records, the extra is not installed, or a broker refuses the read.
        AdminError: the connection to the cluster is lost.
    """
    now = clock.now()
    since = statement.since_ms(now)
    search = statement.search(now)
    try:
        counting = Counting(statement.topic, now, search.sample, -1 if since is None else since)
    except ImportError:
        raise Refused(
            Failure("NO_EXTRA", "analyze needs a package that is not installed", f"Add it: {how_to_add('analyze')}")
        ) from None
    undecodable = problems = 0
    due = clock.monotonic() + SHOWN_EVERY
    progress = records.Progress()
    async with aclosing(reader.search(search, halt=halt)) as portions:
        async for portion in portions:
            undecodable += len(portion.undecodable)
            problems += len(portion.problems)
            progress = portion.progress
            if portion.records:
                await asyncio.to_thread(counting.add, portion.records, round(clock.now().timestamp() * 1000))
                if halt is None or not halt.asked:
                    await _decode(reader, counting, portion.records)
            if clock.monotonic() >= due:
                yield counting.result(progress, undecodable, problems)
                due = clock.monotonic() + SHOWN_EVERY
    yield counting.result(progress, undecodable, problems)


async def _decode(reader: RecordReader, counting: Counting, found: Sequence[records.Record]) -> None:
    """Decode some records of each schema, if the reader decodes records, and count those that can't be decoded."""
    if not reader.decodes:
        return
    chosen: list[tuple[records.Record, str, SchemaKey]] = []
    taken: dict[tuple[str, SchemaKey], int] = {}
    for record in found:
        for part, key in references(record):
            before, now = counting.tried(part, key), taken.get((part, key), 0)
            if now < (1 if before >= FIRST_TRIES else IN_A_PORTION) and before + now < TRIES:
                taken[part, key] = now + 1
                chosen.append((record, part, key))
    if not chosen:
        return
    wanted = [record for record, _, _ in chosen]
    await reader.learn(wanted)
    for (_, part, key), shown in zip(chosen, await reader.shown(wanted), strict=False):
        encoding = shown.key_encoding if part == "key" else shown.value_encoding
        counting.learn(part, key, encoding.why if encoding is not None and not encoding.form else "")


async def with_shown_keys(reader: RecordReader, found: Analysed) -> Analysed:
    """Return an analysis in which the records' keys are decoded, and masked as the context requires."""
    topic, batch = found.facts.topic, records.BatchFacts(0)
    keys = [records.Record(topic, each.partition, -1, -1, key, None, (), batch) for each, key in found.named()]
    shown = await reader.shown(keys)
    return found._replace(keys=tuple(each.key or b"" for each in shown))


async def analyzed(reader: RecordReader, statement: Analyze, clock: Clock) -> Analysed:
    """Analyze a topic to the end and return the whole analysis, with keys as in `with_shown_keys`. See `analyze`."""
    found: Analysed | None = None
    async with aclosing(analyze(reader, statement, clock)) as results:
        async for each in results:
            found = each
    assert found is not None
    return await with_shown_keys(reader, found)


def kept(found: Analysed) -> Learned:
    """Return the function that enters the counts of an analysis into a snapshot, for its topic."""
    return lambda snapshot, _at: with_analysis(snapshot, found.facts)
