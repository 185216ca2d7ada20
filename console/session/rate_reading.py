"""Read the values from which rates are computed: at each call, the end offsets of the partitions on the screen, and, in
turns, those of all other partitions and the log directories. The reads take at most a hundredth of a broker's time.

If triage has just read the same values, its read replaces a turn.
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
"""Maximum number of partitions whose end offsets are read in a turn, unless a single topic has more. The partitions
on the screen are read in addition, at most as many.
"""
REST = 100
PACE = Pace(every=1.5, rest=REST, from_begin=True, first=0.02)
"""The schedule of the turns. Their interval is shorter than that of calls, so that each call may have a turn. After a
turn comes a pause of `REST` (100) times its duration, so that turns take at most a hundredth of a broker's time. The
first turn also opens connections, so only a small part of its duration counts.
"""
OTHERS_EVERY = timedelta(seconds=15)
"""The time after a read by triage during which no turn is due: a bit longer than the interval of triage's reads."""


class RateReader:
    """A reader of end offsets and log directories for the rates of a session. Each call reads a part of them.

    Attributes:
        totals: the totals of the rates as last computed.
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
        """Read the end offsets of the partitions on the screen, and, if their turns are due, the next other end offsets
        and log directories. End offsets that can't be read become unknown. A lost connection is only logged. Do
        nothing if another call is still reading.

        Args:
            in_view: the partitions on the screen.
            silent: the ids of brokers that do not answer and therefore get no requests.
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
        """Return whether `totals` are those of this snapshot's rates. If the cluster has at most `MANY` topics, compute
        them first.
        """
        if len(snapshot.topics) <= MANY:
            self.totals = self.totals.after(snapshot.rates, snapshot.topics)
        return self.totals.rates is snapshot.rates and self.totals.made_of is snapshot.topics

    async def sum_up(self, snapshot: Snapshot) -> RateTotals:
        """Return the totals of a snapshot's rates, computed from the last totals and the differences since."""
        async with self._summing:
            if not self.is_summed_up(snapshot):
                self.totals = await asyncio.to_thread(self.totals.after, snapshot.rates, snapshot.topics)
            return self.totals

    def take_ends(self, ends: Mapping[Place, int]) -> None:
        """Use end offsets that triage has read, and delay the next turn by `OTHERS_EVERY` (15 s)."""
        reader = self._reader
        reader.learn(lambda snapshot, at: refresh.with_end_offsets(snapshot, (), ends, at))
        self._ends.put_off(OTHERS_EVERY.total_seconds())

    def _turn(self) -> Iterator[Place]:
        """Yield the partitions of the next turn: whole topics with at most `AT_ONCE` (2,000) partitions in total, or a
        single larger topic.
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
