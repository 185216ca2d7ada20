"""Read the base of rates: the end offsets of the partitions in view on each tick, those of all others and the log
directories in turn, so that it takes a broker at most a hundredth of its time.

Reads of triage also count, and replace turns.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta

from console.model import snapshot as refresh
from console.model.elections import by_leader
from console.model.name_order import in_order
from console.model.parts import Part
from console.model.rates import Place, RateTotals
from console.model.snapshot import Snapshot
from console.session.scheduler import Pace, Turns
from console.session.snapshot_reader import MANY, SnapshotReader, read_end_offsets

log = logging.getLogger(__name__)

AT_ONCE = 2_000
"""Maximum number of partitions whose ends are read in a turn, unless a single topic has more; the same limit applies to
partitions in view."""
REST = 100
PACE = Pace(every=1.5, rest=REST, from_begin=True, first=0.02)
"""The pace of turns: shorter than a tick, so that each tick may have one, and taking at most a hundredth of a broker's
time. The first turn also opens connections, which takes no time of the broker."""
OTHERS_EVERY = timedelta(seconds=15)
"""The time for which a read by triage replaces turns: a bit longer than the interval of triage's reads."""


class RateReader:
    """Reads the end offsets and the log directories of a session in turn, a few on each call.

    Attributes:
        totals: the latest totals of the rates.
    """

    def __init__(self, reader: SnapshotReader) -> None:
        self._reader = reader
        self._next_topic = ""
        self._next_broker = -1
        self._ends, self._dirs = Turns(PACE), Turns(PACE)
        self._reads = False
        self._dirs_at: datetime | None = None
        self.totals = RateTotals()
        self._summing = asyncio.Lock()

    async def read(self, in_view: Iterable[Place] = (), silent: Collection[int] = ()) -> None:
        """Read the end offsets of partitions in view, and the next ones in turn. Values that can't be read stay
        unknown; a call during another one does nothing. silent: the brokers that get no requests, since they would not
        answer.
        """
        from console.admin.errors import AdminError

        # Skip the tick while a read is under way: slow brokers must not get more load.
        if self._reads:
            return
        self._reads = True
        try:
            await self._read_ends(in_view, silent)
            await self._read_dirs(silent)
        except AdminError as error:  # reads that depend on the cluster report a lost connection
            log.info("rates: %s", error.failure)
        finally:
            self._reads = False

    async def _read_ends(self, in_view: Iterable[Place], silent: Collection[int]) -> None:
        wanted, turn = _some(in_view), self._ends.is_due()
        if turn:
            wanted |= dict.fromkeys(self._turn())
        leaders = by_leader(self._reader.snapshot.topics, wanted)
        asked = {broker: places for broker, places in leaders.items() if broker not in silent}
        with self._ends if turn else nullcontext():
            if asked:
                await self._reader.keep(read_end_offsets(self._reader.client, asked))

    async def _read_dirs(self, silent: Collection[int]) -> None:
        reader = self._reader
        brokers = sorted(
            each.id for each in reader.snapshot.cluster.brokers if not each.fenced and each.id not in silent
        )
        if not brokers or Part.TOPICS not in reader.snapshot.read_at or not self._dirs.is_due():
            return
        at = reader.snapshot.read_at.get(Part.LOG_DIRS)
        # Read all brokers at once the first time: the sizes of some would look like those of the whole cluster.
        if at is None:
            with self._dirs:
                await reader.read_log_dirs()
            self._dirs_at = reader.snapshot.read_at.get(Part.LOG_DIRS)
            return
        if at != self._dirs_at and timedelta() <= reader.clock.now() - at < OTHERS_EVERY:
            return  # triage has read the log directories just now
        self._next_broker = next((each for each in brokers if each > self._next_broker), brokers[0])
        # A turn reads one of n brokers, and every broker also rests during the n-1 turns of the others: the rest after
        # a turn is therefore divided by n.
        self._dirs.pace = PACE._replace(rest=REST / len(brokers))
        with self._dirs:
            await reader.read_log_dirs(self._next_broker)
        self._dirs_at = reader.snapshot.read_at.get(Part.LOG_DIRS)

    def is_summed_up(self, snapshot: Snapshot) -> bool:
        """Return whether the totals match a snapshot's rates. For at most `MANY` topics, compute the totals first."""
        if len(snapshot.topics) <= MANY:
            self.totals = self.totals.after(snapshot.rates, snapshot.topics)
        return self.totals.rates is snapshot.rates and self.totals.made_of is snapshot.topics

    async def sum_up(self, snapshot: Snapshot) -> RateTotals:
        """Return the totals of a snapshot's rates: the last ones, updated with the differences."""
        async with self._summing:
            if not self.is_summed_up(snapshot):
                self.totals = await asyncio.to_thread(self.totals.after, snapshot.rates, snapshot.topics)
            return self.totals

    def take_ends(self, ends: Mapping[Place, int]) -> None:
        """Keep end offsets that triage read; no turn is due for 15 s (`OTHERS_EVERY`)."""
        reader = self._reader
        reader.learn(lambda snapshot, at: refresh.with_end_offsets(snapshot, (), ends, at))
        self._ends.put_off(OTHERS_EVERY.total_seconds())

    def _turn(self) -> Iterator[Place]:
        """Yield the next partitions in turn, whole topics at a time: at most `AT_ONCE` (2,000) partitions, or a single
        larger topic.
        """
        topics = self._reader.snapshot.topics
        names, count = in_order(topics), 0
        start = bisect_right(names, self._next_topic)
        for index in range(start, start + len(names)):
            name = names[index % len(names)]
            partitions = topics[name].partitions
            if count and count + len(partitions) > AT_ONCE:
                return
            self._next_topic = name
            count += len(partitions)
            yield from ((name, each.number) for each in partitions)


def _some(places: Iterable[Place]) -> dict[Place, None]:
    first: dict[Place, None] = {}
    for place in places:
        if len(first) >= AT_ONCE:
            break
        first[place] = None
    return first
