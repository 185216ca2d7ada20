"""Measures the cost of rates for the brokers, and of `find` and `!` for the console, with `--scenario large`.

``python -m benchmarks.rates [--seconds 120] [--partitions 40000]``: reads every two seconds as a screen does. Prints a
broker's share of CPU time for these reads (the cluster is another process), the number of partitions that have a rate
at the end, and the CPU seconds of a search in all panes and of listing all troubles, over all topics. Log directories
are described with all 300,000 partitions, so their part of the cost is larger than for so few partitions.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice

from msgspec.structs import replace

from benchmarks.embedded import Started
from benchmarks.figures import load, report, report_ratio
from benchmarks.scale import processor_seconds
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.plan.plan import EMPTY
from console.present.find import Known, find
from console.session.session import Session
from console.triage.symptoms import Poll
from console.triage.trouble import troubles

TICK = 2.0
"""Seconds between reads of the rates."""
SHARE = 0.01
"""Maximum share (0 to 1) of a broker's CPU time that the reads of rates may take."""
CPU = 3.0
"""Maximum CPU seconds for a search in 100,000 topics, 100,000 ACLs and a million quotas, while the screen runs."""


async def watched(session: Session, cluster: int, seconds: float, partitions: int) -> None:
    """Read the rates of about `partitions` partitions, three in each topic, for `seconds` seconds. Report the cost for
    the brokers.

    cluster: the process id of the cluster.
    """
    await session.read_cluster()
    await session.read_topics()
    every = session.snapshot.topics
    session.learn(lambda snapshot, _at: replace(snapshot, topics=dict(islice(every.items(), partitions // 3))))
    await session.rates.read()  # do not count this read, which imports modules and opens connections
    brokers = len(session.snapshot.cluster.brokers)
    began, busy, ours = time.monotonic(), processor_seconds(cluster), time.process_time()
    while (passed := time.monotonic() - began) < seconds:
        await session.rates.read()
        await asyncio.sleep(TICK)
    share = (processor_seconds(cluster) - busy) / passed / brokers
    rates, topics = session.snapshot.rates, session.snapshot.topics
    report(
        "rates",
        partitions=sum(len(topic.partitions) for topic in topics.values()),
        with_records=sum(each.rate is not None for each in rates.ends.values()),
        with_bytes=sum(each.rate is not None for each in rates.sizes.values()),
        seconds=round(passed),
        our_share=round((time.process_time() - ours) / passed, 4),
    )
    report_ratio("rates: share of a broker's time", share, SHARE)
    session.learn(lambda snapshot, _at: replace(snapshot, topics=every))


async def searched(session: Session) -> None:
    """Search the whole snapshot and list all its troubles, and report the CPU seconds."""
    await asyncio.gather(session.read_groups(), session.read_acls(), session.read_quotas())
    snapshot = session.snapshot
    for text in ("audit", "no-such-thing"):
        began = time.process_time()
        found = list(find(text, Known(snapshot, EMPTY)))
        taken = time.process_time() - began
        report("find", text=text, hits={hits.pane: hits.total for hits in found})
        report_ratio(f"find {text}: processor, s", taken, CPU)
    began = time.process_time()
    troubles(Poll(datetime.now(UTC), snapshot))
    report_ratio("all that is in trouble: processor, s", time.process_time() - began, CPU)


async def measured(addresses: Sequence[tuple[str, int]], cluster: int, seconds: float, partitions: int) -> None:
    """Measure and report the rates and the searches of a cluster. cluster: the process id of the cluster."""
    settings = ConnectionSettings(tuple(addresses), request_timeout=120.0)
    client = AdminClient(settings)
    client.start()
    try:
        session = Session(client, Context("benchmark", "benchmark", settings, journal=False))
        await watched(session, cluster, seconds, partitions)
        await searched(session)
    finally:
        client.close()


def main() -> None:
    """Run the cluster, read its rates and search its snapshot, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--partitions", type=int, default=40_000)
    options = parser.parse_args()
    report("machine", **load())
    cluster = Started("console", "cluster", "--scenario", "large", "--port", "0")
    try:
        hosts = (text.rpartition(":") for text in cluster.bootstrap.split(","))
        places = [(host, int(port)) for host, _, port in hosts]
        asyncio.run(measured(places, cluster.process.pid, options.seconds, options.partitions))
    finally:
        cluster.process.terminate()
        cluster.process.wait()


if __name__ == "__main__":
    main()
