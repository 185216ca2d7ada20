"""Measures the CPU seconds of a plan with 100,000 edits: staged on a snapshot, and compiled into requests.

``python -m benchmarks.plan [--edits 100000] [--rounds 3] [--profile]``
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.figures import load, report, report_ratio
from console.model.cluster import Broker, ClusterInfo, Partition, Topic
from console.model.codes import DEFAULT_CONFIG, ConfigType
from console.model.config import ConfigEntry, ConfigSet, Synonym, topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.compile import compile_plan
from console.plan.diff import diff
from console.plan.edits import Edit, SetConfig, SetQuota
from console.plan.plan import EMPTY, Plan, stage
from console.plan.requests import Facts
from console.plan.retention import retention_cuts
from console.plan.risks import effects, risks

LIMIT = 2.0
LONG, STRING, BOOLEAN = ConfigType(5), ConfigType(2), ConfigType(1)
KEYS = {
    "cleanup.policy": (STRING, "delete"),
    "compression.type": (STRING, "producer"),
    "max.message.bytes": (LONG, "1048588"),
    "min.insync.replicas": (LONG, "1"),
    "preallocate": (BOOLEAN, "false"),
    "retention.bytes": (LONG, "-1"),
    "retention.ms": (LONG, "604800000"),
    "segment.bytes": (LONG, "1073741824"),
    "segment.ms": (LONG, "604800000"),
    "unclean.leader.election.enable": (BOOLEAN, "false"),
}


def configs() -> ConfigSet:
    """Return the config set of a topic without overrides. All topics of the benchmark share it, as they do when the
    client decodes equal configs.
    """
    return ConfigSet(
        tuple(
            ConfigEntry(name, value, DEFAULT_CONFIG, type=type_, synonyms=(Synonym(name, value, DEFAULT_CONFIG),))
            for name, (type_, value) in KEYS.items()
        )
    )


def cluster(topics: int) -> Snapshot:
    """Return a snapshot with `topics` topics of three replicas, and their configs."""
    names = [f"team-{number % 40:02d}.service-{number:06d}.events" for number in range(topics)]
    partition = Partition(0, 1, (1, 2, 3), (1, 2, 3))
    shared = configs()
    return Snapshot(
        cluster=ClusterInfo("benchmark", 1, tuple(Broker(number, "localhost", 9092, None) for number in (1, 2, 3))),
        topics={name: Topic(name, (partition,)) for name in names},
        configs={topic_resource(name): shared for name in names},
        quotas={QuotaEntity.of({"user": "someone"}): {"producer_byte_rate": 1.0}},
    )


def of_topics(snapshot: Snapshot, count: int) -> Sequence[Edit]:
    """Return edits of two config keys of each topic in the snapshot, at most `count`."""
    keys = (("max.message.bytes", "2097152"), ("retention.ms", "86400000"))
    return [SetConfig(topic_resource(name), *key) for name in snapshot.topics for key in keys][:count]


def of_quotas(count: int) -> Sequence[Edit]:
    """Return edits of a quota for `count` clients of some users."""
    entities = ({"user": f"user-{number % 500:03d}", "client-id": f"client-{number:06d}"} for number in range(count))
    return [SetQuota(QuotaEntity.of(entity), "producer_byte_rate", 1_048_576.0) for entity in entities]


def seconds(work: Callable[[], object]) -> float:
    """Call a function, and return its CPU seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def made(edits: Sequence[Edit], snapshot: Snapshot) -> Plan:
    """Stage and compile edits, and return the plan. Raises RuntimeError if the plan lacks an edit."""
    plan = stage(EMPTY, edits, snapshot).plan
    steps = compile_plan(plan, Facts(configs=snapshot.configs))
    if len(plan) != len(edits) or not steps:
        raise RuntimeError(f"{len(plan)} of {len(edits)} edits were staged, in {len(steps)} requests")
    return plan


def main() -> None:
    """Stage and compile the edits, and print a line of JSON for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    options = parser.parse_args()
    snapshot = cluster(options.edits // 2)
    for what, edits in {
        "topics' configs": of_topics(snapshot, options.edits),
        "quotas": of_quotas(options.edits),
    }.items():
        taken = statistics.median(seconds(lambda e=edits: made(e, snapshot)) for _ in range(options.rounds))  # type: ignore[misc]
        report_ratio(f"{len(edits):,} {what}: staged and compiled, s of the processor", taken, LIMIT)
        plan = made(edits, snapshot)
        report(
            f"{what}: beside",
            diff=round(seconds(lambda p=plan: diff(p, snapshot)), 2),  # type: ignore[misc]
            effects=round(seconds(lambda p=plan: effects(p.staged, snapshot)), 2),  # type: ignore[misc]
            risks=round(seconds(lambda p=plan: risks(p.staged, snapshot)), 2),  # type: ignore[misc]
            cuts=round(seconds(lambda p=plan: retention_cuts(p.staged, snapshot)), 2),  # type: ignore[misc]
        )
        if options.profile:
            with cProfile.Profile() as profile:
                made(edits, snapshot)
            pstats.Stats(profile).sort_stats("tottime").print_stats(15)
    report("machine", **load())


if __name__ == "__main__":
    main()
