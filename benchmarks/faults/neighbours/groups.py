"""Neighbours (healthy clusters that resemble a fault) of the faults of groups. Each function returns the snapshot at
a tick (the number of the poll) of the healthy cluster or, with `ill`, of the one with the fault.
"""

from __future__ import annotations

from msgspec.structs import replace

from benchmarks.faults.fault import cause
from benchmarks.faults.neighbours import Neighbour, modelled
from console.model.cluster import GroupLag, LogRange, PartitionLag
from console.model.snapshot import Snapshot
from tests.unit.test_triage import moved


def _deployed(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a member of a group leaves and its successor joins. If `ill` is true,
    rebalances never end.
    """
    moves = tick % 2 == 1 and (ill or tick < 5)
    state = "PreparingRebalance" if moves else "Stable"
    return moved(snapshot, {0: (100 + tick, 100 + tick)}, state=state)


def _dead(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: a group without members has committed offsets of records that are deleted. If `ill` is true,
    it has a member.
    """
    members = {"state": "Stable", "member": "m1"} if ill else {"state": "Empty", "member": ""}
    snapshot = moved(snapshot, {0: (0, 11), 1: (0, 10)}, **members)
    return replace(snapshot, log_ranges={("orders", 0): LogRange(10, 11), ("orders", 1): LogRange(10, 10)})


def _mirrored(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a group's offsets are copied from a cluster with longer logs, and
    advance. If `ill` is true, a member has the partition, and the offsets do not advance.
    """
    state, member = ("Stable", "m1") if ill else ("Empty", "")
    return moved(snapshot, {0: (50_000 + (0 if ill else 40 * min(tick, 4)), 100)}, state=state, member=member)


def _asleep(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a group without members lags behind a topic that grows. If `ill` is
    true, it had a member until a moment ago.
    """
    there = ill and tick < 2
    state, member = ("Stable", "m1") if there else ("Empty", "")
    return moved(snapshot, {0: (100, 150 + 50 * tick)}, state=state, member=member)


def _another_topic(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a group reads a topic, and has old offsets of another topic, which
    still grows. If `ill` is true, a member had the partition of the other topic until the third poll.
    """
    old = PartitionLag("retired", 0, 5, 900 + 90 * tick, 895 + 90 * tick, "m1" if ill and tick < 2 else "")
    now = PartitionLag("orders", 0, 100 + 9 * tick, 100 + 9 * tick, 0, "m1")
    snapshot = moved(snapshot, {0: (0, 0)})
    return replace(snapshot, lags={"billing": GroupLag((now, old))})


def _by_the_minute(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a group commits once per minute, as connectors do. If `ill` is true,
    it committed every 5 seconds before.
    """
    end = 100 + 50 * tick
    minute = 100 + 50 * (tick - tick % 12)
    commits = (100 + 50 * min(tick, 8), end) if ill else (minute, minute)
    return moved(snapshot, {0: (commits[0], end), 1: (commits[1], end)})


def _after_a_burst(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: many records arrive at once, and a group reads them in time. If `ill`
    is true, they keep arriving.
    """
    written = 100 + (2_000 * tick if ill else 4_000 * min(tick, 1))
    return moved(snapshot, {0: (min(written, 100 + 500 * tick), written)})


NEIGHBOURS = (
    Neighbour(
        name="a deployment",
        fault="group rebalancing",
        how="a member leaves and another joins: two rebalances",
        decides="they go on without an end",
        ill=cause("group-rebalancing", group="billing"),
        polls=modelled(_deployed, ticks=14),
    ),
    Neighbour(
        name="a dead group whose records are deleted",
        fault="offsets out of range",
        how="a group without members has commits of records that are deleted",
        decides="a member has the partitions",
        ill=cause("offsets-out-of-range", group="billing"),
        told=frozenset({"groups-without-members"}),
        polls=modelled(_dead),
    ),
    Neighbour(
        name="a mirror's commits",
        fault="offsets out of range",
        how="offsets beyond the end are copied from another cluster, and go on",
        decides="a member is at such an offset",
        ill=cause("offsets-out-of-range", group="billing", topic="orders", partition=0),
        told=frozenset({"offsets-ahead"}),
        polls=modelled(_mirrored),
    ),
    Neighbour(
        name="a group that was given up",
        fault="consumer stopped",
        how="a group without members, to whose topic records are written",
        decides="a member was seen a moment ago",
        ill=cause("group-stopped", group="billing"),
        told=frozenset({"groups-without-members"}),
        polls=modelled(_asleep),
    ),
    Neighbour(
        name="offsets of a topic that is read no more",
        fault="consumer slow",
        how="a group at work has offsets of a topic that it left, to which records are written",
        decides="a member had it a moment ago",
        ill=cause("consumer-slow", group="billing"),
        told=frozenset({"groups-without-members"}),
        polls=modelled(_another_topic),
    ),
    Neighbour(
        name="commits once a minute",
        fault="consumer stuck",
        how="a member commits once a minute, as connectors do, while records arrive",
        decides="it committed every 5 s before",
        ill=cause("consumer-stuck", group="billing"),
        polls=modelled(_by_the_minute, ticks=30),
    ),
    Neighbour(
        name="a burst of records",
        fault="consumer slow",
        how="4,000 records arrive at once, and are read within a minute",
        decides="they go on to arrive faster than they are read",
        ill=cause("consumer-slow", group="billing"),
        polls=modelled(_after_a_burst, ticks=12),
    ),
)
