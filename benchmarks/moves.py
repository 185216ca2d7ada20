"""Measures the CPU seconds of planning reassignments for each goal, against limits, and the bytes that a balancing plan
copies.

``python -m benchmarks.moves [--partitions 10000 100000] [--brokers 30]``
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

from benchmarks.figures import load, report, report_ratio
from console.operations import goals as operations_goals
from console.operations.forecast import forecast
from console.operations.placement import Host, Placed, Placement
from console.operations.planner import propose

LIMITS = {10_000: 2.0, 100_000: 20.0}
"""Number of partitions -> maximum CPU seconds for a plan and the forecast of its effect."""


def placement(partitions: int, brokers: int) -> Placement:
    """Return a placement of `partitions` partitions with three replicas in three racks. Each topic has ten partitions;
    the last three brokers have no replicas.
    """
    chance = random.Random(7)
    ids = range(1, brokers + 1)
    hosts = {each: Host(each, f"rack-{each % 3}", free=10**15) for each in ids}
    racks = [[each for each in ids[:-3] if each % 3 == rack] for rack in range(3)]
    placed = []
    for number in range(partitions):
        replicas = [chance.choice(rack) for rack in racks]
        chance.shuffle(replicas)
        size = int(chance.paretovariate(1.2) * 10**7)
        placed.append(
            Placed(f"topic-{number // 10}", number % 10, tuple(replicas), size, replicas[0], tuple(replicas), 2)
        )
    return Placement(hosts, tuple(placed))


def main(arguments: Sequence[str] | None = None) -> None:
    """Plan each goal once for each number of partitions, and report the CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, nargs="*", default=list(LIMITS))
    parser.add_argument("--brokers", type=int, default=30)
    options = parser.parse_args(arguments)
    report("host", **load())
    last = options.brokers
    goals: tuple[operations_goals.Goal, ...] = (
        operations_goals.Drain((1,)),
        operations_goals.Replace(1, last - 2),
        operations_goals.Balance(),
        operations_goals.MoveTopic("topic-1", (1, 2, 3)),
        operations_goals.Replicate("topic-1", 4),
    )
    for partitions in options.partitions:
        where = placement(partitions, options.brokers)
        for goal in goals:
            before = time.process_time()
            proposal = propose(goal, where)
            said = forecast(proposal, where, 50_000_000)
            seconds = time.process_time() - before
            shown = {"moves": said.partitions, "bytes": said.bytes, "held": len(proposal.held)}
            report(f"{goal}", partitions=partitions, cpu_seconds=round(seconds, 2), **shown)
            if partitions in LIMITS:
                report_ratio(f"{goal}, {partitions} partitions, CPU seconds", seconds, LIMITS[partitions])


if __name__ == "__main__":
    main()
