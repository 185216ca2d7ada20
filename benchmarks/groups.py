"""Measures the Groups pane with 10,000 groups that read 40,000 partitions: the time until it can be used, and the
largest request and answer.

``python -m benchmarks.groups [--kac PATH] [--rounds 5]``: measures the reads of a first screen and of all groups,
compared with the same requests with undecoded answers; then the pane of `kac demo --scenario large` in a
pseudo-terminal, from its key to the lag in its rows. Seconds are CPU seconds of the console only, because the cluster
is another process.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.embedded import Started
from benchmarks.figures import load, report, report_ratio
from benchmarks.scale import PATIENCE, TOPICS, processor_seconds, terminal
from console.admin.groups import list_groups, poll_groups
from console.admin.link import ANY, Link, Route
from console.admin.settings import ConnectionSettings
from console.model import snapshot as refresh
from console.model.snapshot import Snapshot
from console.present.groups import GROUPS, GroupRow
from console.session.snapshot_reader import GROUPS_AT_ONCE
from console.wire import fields as wire_fields
from console.wire.aiokafka_request import Exchange

SCREEN = 36
"""Number of groups on a screen of 40 lines."""
USABLE, ALL = 2.0, 10.0
"""Maximum seconds of processor time until the pane can be used, and until all groups are read."""
SEEN, LATER = 20.0, 60.0
"""Seconds until the memory is measured, and until it is measured again; by then, all groups were polled in turn."""
GROWTH = 15
"""Maximum MiB by which the console's memory may grow between the two measurements of `memory`."""
LARGEST = 4 << 20
"""Maximum bytes that a request or an answer may have. kac refuses answers of more than 100 MiB."""


class Asked(NamedTuple):
    """A request that the client sent, with its route."""

    api: str
    request: Any
    to: Route


class WatchedLink(Link):
    """A link that keeps its requests, and the largest request and answer in bytes."""

    def __init__(self, settings: ConnectionSettings) -> None:
        super().__init__(settings, self._note)
        self.asked: list[Asked] = []
        self.largest = {"request": 0, "answer": 0}

    def _note(self, exchange: Exchange) -> None:
        sizes = {"request": len(exchange.request), "answer": len(exchange.response)}
        self.largest = {what: max(size, sizes[what]) for what, size in self.largest.items()}

    async def call(self, api: str, asked: wire_fields.Asked, *, to: Route = ANY, **options: Any) -> Any:
        """Send a request as `Link.call` does, and keep it. Return the answer."""

        def noted(kio: ModuleType) -> Any:
            request = wire_fields.payload(kio, api, asked)
            self.asked.append(Asked(api, request, to))
            return request

        return await super().call(api, noted, to=to, **options)


async def first_screen(link: Link) -> Snapshot:
    """Read the data that the pane needs before it can be used (all groups, and members and lag of those on the screen),
    and make their rows.
    """
    listing = await list_groups(link)
    snapshot = refresh.with_groups(Snapshot(), listing.groups, whole=True, at=datetime.now(UTC))
    snapshot = await polled(link, snapshot, list(listing.groups)[:SCREEN])
    for name, group in snapshot.groups.items():
        GROUPS.cells(GroupRow(group, snapshot.lags.get(name), snapshot.lag_trends.get(name)))
    return snapshot


async def everything(link: Link) -> Snapshot:
    """Read members and lag of all groups, as the pane does in turn. Raises AssertionError if a partition's lag is
    missing.
    """
    listing = await list_groups(link)
    snapshot = refresh.with_groups(Snapshot(), listing.groups, whole=True, at=datetime.now(UTC))
    names = list(listing.groups)
    for start in range(0, len(names), GROUPS_AT_ONCE):
        snapshot = await polled(link, snapshot, names[start : start + GROUPS_AT_ONCE])
    assert sum(len(lag.partitions) for lag in snapshot.lags.values()) == 4 * len(names)
    return snapshot


async def polled(link: Link, snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    """Return the snapshot after reading members and lag of the groups `names`."""
    polls = await poll_groups(link, names, {name: snapshot.groups[name].type for name in names})
    at = datetime.now(UTC)
    trends = refresh.trends_after(snapshot.lag_trends, polls.lags, at)
    return refresh.with_group_polls(snapshot, polls, trends, at)


async def undecoded(link: Link, asked: Sequence[Asked]) -> None:
    """Send these requests again, without decoding the answers."""
    for each in asked:

        def again(_: ModuleType, request: Any = each.request) -> Any:
            return request

        await link.call_raw(each.api, again, to=each.to)


async def timed(work: Awaitable[Any]) -> float:
    """Await the work, and return the CPU seconds of this process meanwhile."""
    began = time.process_time()
    await work
    return time.process_time() - began


async def reads(addresses: Sequence[tuple[str, int]], rounds: int) -> None:
    """Report the CPU seconds, the requests and the largest message of the reads for the first screen and for all
    groups, without the pane.
    """
    settings = ConnectionSettings(tuple(addresses), request_timeout=120.0)
    for what, read, limit in (("first screen", first_screen, USABLE), ("all groups", everything, ALL)):
        ours, bare = [], []
        link = WatchedLink(settings)
        try:
            await read(link)  # do not count the first read, which imports modules
            for _ in range(rounds):
                link.asked.clear()
                ours.append(await timed(read(link)))
                bare.append(await timed(undecoded(link, tuple(link.asked))))
            report(what, requests=len(link.asked), bytes=link.largest, cpu=[round(each, 2) for each in ours])
        finally:
            await link.close()
        report_ratio(f"{what}: processor, s", statistics.median(ours), limit)
        report_ratio(
            f"{what}: beside the same answers undecoded", statistics.median(ours) / statistics.median(bare), 60
        )
        report_ratio(f"{what}: largest message, bytes", max(link.largest.values()), LARGEST)


def pane(command: Sequence[str]) -> tuple[float, float]:
    """Run the console, and open the Groups pane. Return the seconds from its key to the lag in its first row, and the
    CPU seconds.
    """
    with terminal(command) as screen:
        screen.until(TOPICS, PATIENCE)
        screen.settle(2.0, 30.0)
        began, busy, at = len(screen.written), processor_seconds(screen.pid), time.perf_counter()
        screen.press(b"6")
        screen.until(b"group-000030", PATIENCE, since=began)
        screen.until(b"28,000", PATIENCE, since=began)  # the lag of group-000000
        return time.perf_counter() - at, processor_seconds(screen.pid) - busy


def memory(command: Sequence[str]) -> tuple[float, float]:
    """Run the console, and open the Groups pane. Return its memory in MiB SEEN seconds after the first rows, and LATER
    seconds after that.
    """
    with terminal(command) as screen:
        screen.until(TOPICS, PATIENCE)
        began = len(screen.written)
        screen.press(b"6")
        screen.until(b"group-000030", PATIENCE, since=began)
        screen.listen(SEEN)
        first = screen.memory() / 2**20
        screen.listen(LATER)
        return first, screen.memory() / 2**20


def main() -> None:
    """Measure the reads without the pane, and then the pane, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kac", help="an installed program; this checkout where it is left out")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    report("machine", **load())
    cluster = Started("console", "cluster", "--scenario", "large", "--port", "0")
    try:
        hosts = (text.rpartition(":") for text in cluster.bootstrap.split(","))
        asyncio.run(reads([(host, int(port)) for host, _, port in hosts], options.rounds))
    finally:
        cluster.process.terminate()
        cluster.process.wait()
    program = [options.kac] if options.kac else [sys.executable, "-m", "console"]
    taken = [pane([*program, "demo", "--scenario", "large"]) for _ in range(options.rounds)]
    report("the pane, from its key to the lag of its rows", wall=[round(wall, 2) for wall, _ in taken])
    report_ratio("the pane: processor, s", statistics.median(busy for _, busy in taken), USABLE)
    first, later = memory([*program, "demo", "--scenario", "large"])
    report("the pane: memory, MiB", first=round(first, 1), later=round(later, 1))
    report_ratio("the pane: MiB that a minute adds", later - first, GROWTH)


if __name__ == "__main__":
    main()
