"""What a proposal costs and leaves: bytes, time, room, racks, and what each broker has before and after. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from console.operations.placement import Placed, Placement, replica_counts
from console.operations.planner import Proposal, Relocation


class BrokerForecast(NamedTuple):
    """A broker before and after. leads: partitions of which it is the first replica. bytes: that its replicas hold.
    copied: bytes that it copies. read: bytes that others copy from it. free: bytes left once all is copied, -1 if
    unknown; what it drops afterwards is not counted."""

    id: int
    replicas: tuple[int, int]
    leads: tuple[int, int]
    bytes: tuple[int, int]
    copied: int
    read: int
    free: int


class Forecast(Struct, frozen=True):
    """What a proposal does.

    partitions: that move. bytes: to copy. seconds: at the throttle, None without one or if no size is known.
    fewer_racks: (topic, partition) of those that are in fewer racks afterwards. brokers: all of them, in the order of
    their ids, those that are not in the cluster any more too.
    """

    partitions: int
    bytes: int
    seconds: float | None
    fewer_racks: tuple[tuple[str, int], ...]
    brokers: tuple[BrokerForecast, ...]


def forecast(proposal: Proposal, placement: Placement, throttle: int | None = None) -> Forecast:
    """What the moves of a proposal do. throttle: bytes per second that each broker copies, and is read, at most.

    The time is that of the busiest broker, if all moves run at once: less is impossible; what producers write meanwhile
    comes on top, since the throttle limits it together with the copies.
    """
    copied, read = traffic(proposal.moves, placement)
    seconds = None
    if throttle and proposal.bytes:
        seconds = max((*copied.values(), *read.values()), default=0) / throttle
    moved: Mapping[tuple[str, int], Relocation] = {(each.topic, each.number): each for each in proposal.moves}
    left = tuple(_moved(each, moved.get((each.topic, each.number))) for each in placement.partitions)
    return Forecast(
        len(proposal.moves),
        proposal.bytes,
        seconds,
        tuple(
            (each.topic, each.number)
            for each in proposal.moves
            if placement.racks(each.after) < placement.racks(each.before)
        ),
        _brokers(placement, left, copied, read),
    )


def traffic(moves: tuple[Relocation, ...], placement: Placement) -> tuple[Counter[int], Counter[int]]:
    """Bytes by broker: that it copies, and that are copied from it, which leads."""
    leaders = {(each.topic, each.number): each.leader for each in placement.partitions}
    copied, read = Counter[int](), Counter[int]()
    for move in moves:
        for broker in move.added:
            copied[broker] += move.size
            read[leaders[move.topic, move.number]] += move.size
    return copied, read


def _moved(each: Placed, move: Relocation | None) -> tuple[tuple[int, ...], int]:
    return (each.replicas if move is None else move.after), each.size


def _brokers(
    placement: Placement, after: tuple[tuple[tuple[int, ...], int], ...], copied: Counter[int], read: Counter[int]
) -> tuple[BrokerForecast, ...]:
    before = replica_counts(placement.partitions)
    leads = Counter(each.replicas[0] for each in placement.partitions if each.replicas)
    held, now, leads_now, held_now = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for each in placement.partitions:
        for broker in each.replicas:
            held[broker] += each.size
    for replicas, size in after:
        leads_now.update(replicas[:1])
        for broker in replicas:
            now[broker] += 1
            held_now[broker] += size
    found = []
    for broker in sorted({*placement.hosts, *before}):
        host = placement.hosts.get(broker)
        free = host.free if host is not None else -1
        found.append(
            BrokerForecast(
                broker,
                (before[broker], now[broker]),
                (leads[broker], leads_now[broker]),
                (held[broker], held_now[broker]),
                copied[broker],
                read[broker],
                free - copied[broker] if free >= 0 else -1,
            )
        )
    return tuple(found)
