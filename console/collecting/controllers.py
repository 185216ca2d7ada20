"""The metadata log over the network, from the controllers' own listener, as a source of the lake's streams (KIP-595,
KIP-630). The driver and the executors need all of kac, and a configured context.

Controllers write an empty record twice a second (metadata.max.idle.interval.ms). If the new records are all empty, they
count as new data only after `IDLE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from console.admin.client_loop import ClientLoop
from console.admin.errors import AdminError
from console.admin.link import Link
from console.admin.metadata_log import ControllerLog, Snapshot
from console.contexts import ContextError, load, resolve
from console.contexts.context import check_schemes, parse_bootstrap
from console.lake.inputs import Controllers, UnreadableInput
from console.lake.kraft import LogPlan, Trouble, plan_fetched, read_splits
from console.lake.plans import SOURCES, Offset, RecordSource, Settings
from console.lake.transforms.change_event import tagged

IDLE_SECONDS = 300.0
"""Seconds after the last new data at which empty records alone count as new data."""
_IDLE = "NoOpRecord"
_PART_BYTES = 64 << 20
"""Approximate number of bytes of a log that are fetched and planned together."""
_MOST_BYTES = 512 << 20
"""Maximum number of bytes that are fetched for one transaction, which has to be read as a whole."""


class _Log(NamedTuple):
    """An open connection to the metadata log of a cluster, with its event loop."""

    loop: asyncio.AbstractEventLoop
    link: Link
    log: ControllerLog


class ControllerLogs(RecordSource):
    """The metadata logs of `Settings.inputs.controllers`. Its offset has cluster id -> the next offset in the cluster's
    log.
    """

    name = given = "controllers"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._open: dict[str, _Log] = {}
        self._idle_since = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that tasks get: without connections, which can't be pickled."""
        return {**super().__getstate__(), "_open": {}}

    def newest(self, start: Offset) -> Offset:
        """Return the offset after the last completed transaction of each log. A log keeps its offset in `start` if
        its new records are all empty and came within `IDLE_SECONDS` (300) seconds after the last new data. Raises
        UnreadableInput: a cluster's controllers can't be read.
        """
        now = dict(start)
        for each in self._settings.inputs.controllers:
            at = int(start.get(each.cluster_id, 0))
            plan = self._fetch(each, at)
            if plan.next_offset > at and (not at or not self._is_idle(plan)):
                now[each.cluster_id] = plan.next_offset
        if now != start:
            self._idle_since = time.monotonic()
        return now

    def _is_idle(self, plan: LogPlan) -> bool:
        """Return whether the new records are all empty and undamaged, and at most `IDLE_SECONDS` have passed since
        the last new data.
        """
        if time.monotonic() > self._idle_since + IDLE_SECONDS:
            return False
        troubles = list(plan.troubles)
        batches = read_splits(plan.splits, None, troubles.append)
        types = {type_ for batch in batches for type_ in batch.column("record_type").to_pylist()}
        return not troubles and types <= {_IDLE}

    def parts(self, start: Offset, end: Offset) -> Sequence[tuple[str, int, int]]:
        """Return (cluster id, start offset, end offset) of each log that has new records."""
        return [(of, int(start.get(of, 0)), upto) for of, upto in end.items() if start.get(of) != upto]

    def most_rows(self, start: Offset, end: Offset) -> int:
        """Return the number of offsets between the two, which is an upper bound of the number of rows."""
        return sum(upto - since for _, since, upto in self.parts(start, end))

    def read(self, part: tuple[str, int, int]) -> Iterator[pa.RecordBatch]:
        """Yield the records of a log between two offsets, and one row for each damaged place; no rows if `inputs` no
        longer names the cluster. Raises UnreadableInput: the controllers can't be read.
        """
        of, start, end = part
        named = next((each for each in self._settings.inputs.controllers if each.cluster_id == of), None)
        if named is None:
            return
        troubles: list[Trouble] = []
        try:
            while start < end:
                plan = self._fetch(named, start, end)
                troubles += plan.troubles
                yield from map(tagged, read_splits(plan.splits, self._key, troubles.append))
                if plan.next_offset <= start:
                    break
                start = plan.next_offset
        finally:
            self.close()
        yield from self._damaged(troubles)

    def close(self) -> None:
        """Close the connections."""
        for loop, link, log in self._open.values():
            loop.run_until_complete(_closed(link, log))
            loop.close()
        self._open = {}

    def _fetch(self, of: Controllers, start: int, end: int | None = None) -> LogPlan:
        """Return the plan of a log from an offset on (`_read`), with a connection that is opened at the first call.
        Raises UnreadableInput: the controllers can't be reached, refuse a request, or the context can't be used.
        """
        try:
            if of.cluster_id not in self._open:
                context = resolve(load(os.environ, Path.home()), name=of.context, environ=os.environ)
                named = ",".join(of.addresses)
                check_schemes(named, context.settings.security_protocol)
                made = ClientLoop(context.settings.route)
                link = Link(context.settings)
                self._open[of.cluster_id] = _Log(made, link, ControllerLog(link, parse_bootstrap(named), of.cluster_id))
            loop, _, log = self._open[of.cluster_id]
            return loop.run_until_complete(_read(log, of.cluster_id, start, end))
        except (AdminError, ContextError, ValueError) as wrong:
            said = wrong.failure if isinstance(wrong, AdminError) else wrong
            raise UnreadableInput(f"the controllers of {of.cluster_id}: {said}") from wrong


async def _closed(link: Link, log: ControllerLog) -> None:
    await log.close()
    await link.close()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def _read(log: ControllerLog, cluster_id: str, start: int, end: int | None) -> LogPlan:
    """Fetch a log from the offset `start` on, and return the plan to read it.

    The plan ends at `end` or at the committed offset, and has at most about `_PART_BYTES`. If all of these bytes belong
    to an unfinished transaction, more are fetched, at most `_MOST_BYTES` in total. If the controller answers with a
    snapshot, the whole snapshot is planned, whatever `end` is.
    """
    found = await log.read(start)
    fetched = partial(plan_fetched, source=ControllerLogs.name, cluster_id=cluster_id, start=start)
    if isinstance(found, Snapshot):
        return fetched(found.data, end=found.end, is_snapshot=True)
    data = bytearray(found.data)
    while found.next < found.high_watermark and len(data) < _MOST_BYTES:
        if len(data) >= _PART_BYTES and fetched(bytes(data), end=found.next, is_snapshot=False).next_offset > start:
            break
        more = await log.read(found.next)
        if isinstance(more, Snapshot):
            break  # the records were deleted meanwhile; the next round reads the snapshot
        data += more.data
        found = more
    return fetched(bytes(data), end=found.next if end is None else min(found.next, end), is_snapshot=False)


SOURCES[ControllerLogs.name] = ControllerLogs
