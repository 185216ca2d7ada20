"""The scenario `quiet` with groups of all types: members that have not reached their target assignment, tasks of a
streams group, a share group, and a group that is stuck in one partition, at a record that is not in the format of
the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from zlib import crc32

from console.embedded import newer_groups
from console.embedded.context import Cluster
from console.embedded.groups import Committed, Group
from console.embedded.scenarios import quiet
from console.embedded.scenarios.incident import produce_load
from console.embedded.scenarios.seed import Scenario, add_topic, change_as_others, commit_later_offset, seed_poison

ORDERS, PAYMENTS, SHIPMENTS, REFUNDS = (
    "checkout.orders",
    "checkout.payments",
    "logistics.shipments",
    "checkout.refunds",
)
SCORES = "fraud-scores-score-store-changelog"
"""The changelog topic of a state store in a streams group."""
STUCK = ("dispatch", SHIPMENTS, 2)
"""A group whose offset does not advance, with the topic and the partition number."""
READ_EVERY = 2.0
"""Seconds between two commits of the group in `STUCK`."""
_ALL = 100_000


def _member(
    client: str, place: int, epoch: int, topic: str, has: tuple[int, ...], wants: tuple[int, ...]
) -> newer_groups.NewerMember:
    return newer_groups.NewerMember(
        f"{client}-{place:022}",
        client,
        f"/10.0.4.{10 + place}",
        epoch,
        (topic,),
        {topic: has} if has else {},
        {topic: wants} if wants else {},
    )


def _streams_member(
    client: str, place: int, epoch: int, tasks: newer_groups.Tasks, target: newer_groups.Tasks
) -> newer_groups.NewerMember:
    return newer_groups.NewerMember(
        f"{client}-{place:022}",
        client,
        f"/10.0.5.{10 + place}",
        epoch,
        (PAYMENTS,),
        tasks=tasks,
        target_tasks=target,
    )


def _tasks(
    active: newer_groups.Partitions,
    standby: newer_groups.Partitions | None = None,
    warmup: newer_groups.Partitions | None = None,
) -> newer_groups.Tasks:
    return newer_groups.Tasks(active, standby or {}, warmup or {})


NEWER: Mapping[str, tuple[newer_groups.NewerGroup, str, int]] = {
    "order-events": (
        newer_groups.NewerGroup(
            "consumer",
            "Reconciling",
            8,
            8,
            (
                _member("orders-1", 1, 8, ORDERS, (0, 1, 2, 3), (0, 1, 2, 3)),
                _member("orders-2", 2, 7, ORDERS, tuple(range(4, 12)), (4, 5, 6, 7)),
                _member("orders-3", 3, 8, ORDERS, (), (8, 9, 10, 11)),
            ),
            "uniform",
        ),
        ORDERS,
        90,
    ),
    STUCK[0]: (
        newer_groups.NewerGroup(
            "consumer",
            "Stable",
            3,
            3,
            (_member("dispatch-1", 1, 3, SHIPMENTS, tuple(range(12)), tuple(range(12))),),
            "uniform",
        ),
        SHIPMENTS,
        5,
    ),
    "refund-workers": (
        newer_groups.NewerGroup(
            "share",
            "Stable",
            4,
            4,
            (
                _member("worker-1", 1, 4, REFUNDS, (0, 1), ()),
                _member("worker-2", 2, 4, REFUNDS, (0, 1), ()),
                _member("worker-3", 3, 4, REFUNDS, (2, 3, 4, 5), ()),
            ),
            "simple",
            acknowledged=7,
        ),
        REFUNDS,
        60,
    ),
    "fraud-scores": (
        newer_groups.NewerGroup(
            "streams",
            "Reconciling",
            12,
            12,
            (
                _streams_member(
                    "scores-1",
                    1,
                    12,
                    _tasks({"0": tuple(range(12))}, {"0": (12, 13)}),
                    _tasks({"0": tuple(range(12))}, {"0": (12, 13)}),
                ),
                _streams_member(
                    "scores-2",
                    2,
                    11,
                    _tasks({"0": tuple(range(12, 23))}, {"0": (0, 1)}, {"0": (23,)}),
                    _tasks({"0": tuple(range(12, 24))}, {"0": (0, 1)}),
                ),
            ),
            topology_epoch=2,
            subtopologies={"0": newer_groups.Subtopology((PAYMENTS,), changelogs=(SCORES,))},
        ),
        PAYMENTS,
        200,
    ),
    "old-workers": (newer_groups.NewerGroup("share", "Empty", 9, 9), REFUNDS, 5_000),
}
"""Group -> its state, the topic that it reads, and its approximate lag in each partition as a number of offsets."""


def seed(cluster: Cluster) -> None:
    """Fill the cluster as the scenario `quiet` does, and add the groups whose protocols the release has."""
    quiet.seed(cluster)
    if cluster.release.number < newer_groups.NEWER_FROM:
        return
    state, now = cluster.state, cluster.clock.time()
    add_topic(state, SCORES, 24, 3)
    for name, (newer, topic, lag) in NEWER.items():
        group = Group(name, protocol_type=newer.type, written=True, newer=newer)
        for number in range(len(state.topics[topic].partitions)):
            log = state.logs[topic, number]
            behind = lag * (80 + crc32(f"{name}-{number}".encode()) % 41) // 100
            group.offsets[topic, number] = Committed(max(log.end - behind, log.start), at=now)
        state.groups[name] = group
    stuck, topic, partition = STUCK
    state.groups[stuck].offsets[topic, partition] = Committed(seed_poison(cluster, topic, partition), at=now)


async def live(cluster: Cluster) -> None:
    """Write to two partitions that a group reads, until cancelled. The group keeps up in the first partition, and is
    stuck in the second.
    """
    await asyncio.gather(
        produce_load(cluster, "shipping", SHIPMENTS, 0),
        produce_load(cluster, "shipping", SHIPMENTS, STUCK[2]),
        _read(cluster),
        change_as_others(cluster),
    )


async def _read(cluster: Cluster) -> None:
    while True:
        await cluster.clock.sleep(READ_EVERY)
        commit_later_offset(cluster, STUCK[0], SHIPMENTS, _ALL)


SCENARIO = Scenario(seed, live=live)
