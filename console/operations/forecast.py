"""Forecasts a proposal: bytes to copy, time, free bytes, racks, and what each broker has before and after. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from console.model.snapshot import dir_copies
from console.operations.directories import free_bytes
from console.operations.placement import Placed, Placement, replica_counts
from console.operations.proposal import DirMove, Proposal, Relocation


class BrokerForecast(NamedTuple):
    """A broker's numbers of replicas and leaders, and its bytes, before and after the moves."""

    id: int
    replicas: tuple[int, int]
    leads: tuple[int, int]
    """The numbers of partitions that the broker leads, before and after."""
    bytes: tuple[int, int]
    """The bytes of the broker's replicas, before and after."""
    copied: int
    """The bytes that the broker copies from other brokers."""
    read: int
    """The bytes that other brokers copy from this one."""
    free: int
    """The bytes that are free after all copies; -1 if unknown. The bytes of replicas that the broker deletes are not
    included, because it deletes them only afterwards.
    """


class DirForecast(NamedTuple):
    """The bytes of a log directory before and after the moves."""

    broker: int
    path: str
    replicas: tuple[int, int]
    bytes: tuple[int, int]
    """The bytes of the directory's replicas, before and after."""
    copied: int
    """The bytes that the broker copies into this directory from its other ones."""
    free: int
    """The bytes that are free after all copies; -1 if unknown. The bytes of replicas that the broker deletes are not
    included, because it deletes them only afterwards.
    """


class Forecast(Struct, frozen=True):
    """The cost and the result of a proposal's moves."""

    partitions: int
    """The number of partitions that get other replicas."""
    bytes: int
    """The number of bytes to copy."""
    seconds: float | None
    """The minimum seconds that the copies take at the throttle; None if there is no throttle or no size is known."""
    fewer_racks: tuple[tuple[str, int], ...]
    """(topic, partition number) of each partition that has replicas in fewer racks afterwards."""
    brokers: tuple[BrokerForecast, ...]
    """All brokers, sorted by id, including brokers that no longer exist but still are among replicas."""
    replicas: int = 0
    """The number of replicas that move to another directory of their broker."""
    dirs: tuple[DirForecast, ...] = ()
    """The directories of the brokers that move replicas between their directories."""


def forecast(proposal: Proposal, placement: Placement, throttle: int | None = None) -> Forecast:
    """Return the cost and the result of a proposal's moves.

    The time is a lower bound: that of the busiest broker if all moves run at once. Records that producers write
    meanwhile add to it, because the throttle limits their replication together with the copies.

    Args:
        throttle: the bytes per second that each broker may copy, and that may be read from each broker; None for no
            throttle.
    """
    copied, read = traffic(proposal.moves, placement)
    seconds = None
    if throttle and proposal.bytes:
        # Brokers copy at the same time, each with its own limit, so the busiest one decides.
        seconds = max((*copied.values(), *read.values(), *_within(proposal.dirs).values()), default=0) / throttle
    moved: Mapping[tuple[str, int], Relocation] = {(each.topic, each.number): each for each in proposal.moves}
    after = tuple(_moved(each, moved.get((each.topic, each.number))) for each in placement.partitions)
    return Forecast(
        len(proposal.moves),
        proposal.bytes,
        seconds,
        tuple(
            (each.topic, each.number)
            for each in proposal.moves
            if placement.racks(each.after) < placement.racks(each.before)
        ),
        _brokers(placement, after, copied, read),
        len(proposal.dirs),
        tuple(_dirs(proposal.dirs, placement)),
    )


def traffic(moves: tuple[Relocation, ...], placement: Placement) -> tuple[Counter[int], Counter[int]]:
    """Return broker -> the bytes that it copies, and broker -> the bytes that others copy from it as the leader."""
    leaders = {(each.topic, each.number): each.leader for each in placement.partitions}
    copied, read = Counter[int](), Counter[int]()
    for move in moves:
        for broker in move.added:
            copied[broker] += move.size
            read[leaders[move.topic, move.number]] += move.size
    return copied, read


def _within(dirs: tuple[DirMove, ...]) -> Counter[int]:
    """Return broker -> the bytes that it copies between its directories."""
    copied = Counter[int]()
    for move in dirs:
        copied[move.broker] += move.size
    return copied


def _dirs(moves: tuple[DirMove, ...], placement: Placement) -> Iterator[DirForecast]:
    count, size, copied = Counter[tuple[int, str]](), Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for move in moves:
        for path, by in ((move.before, -1), (move.after, 1)):
            count[move.broker, path] += by
            size[move.broker, path] += by * move.size
        copied[move.broker, move.after] += move.size
    copies = dir_copies(placement.log_dirs)
    for broker in sorted({move.broker for move in moves}):
        dirs = placement.log_dirs[broker]
        free = free_bytes(dirs, copies, broker)
        for each in dirs:
            at = broker, each.path
            whole = [replica.size for replica in each.replicas if not replica.is_future]
            # The broker drops leaving replicas only after their copy, so these do not count as free.
            left = free[each.path] - copied[at] if free[each.path] >= 0 else -1
            yield DirForecast(
                *at, (len(whole), len(whole) + count[at]), (sum(whole), sum(whole) + size[at]), copied[at], left
            )


def _moved(each: Placed, move: Relocation | None) -> Placed:
    """Return a partition as it is after its move; unchanged if `move` is None. Its preferred replica leads if it is in
    sync, because kac elects preferred replicas at the end.
    """
    if move is None:
        return each
    synced = [broker for broker in move.after if broker in each.isr or broker in move.added]
    leader = each.leader if each.leader in synced else next(iter(synced), -1)
    return replace(each, replicas=move.after, leader=move.after[0] if move.after[0] in synced else leader)


def _brokers(
    placement: Placement, after: tuple[Placed, ...], copied: Counter[int], read: Counter[int]
) -> tuple[BrokerForecast, ...]:
    counts = replica_counts(placement.partitions), replica_counts(after)
    leads = _leads(placement.partitions), _leads(after)
    held = _bytes(placement.partitions), _bytes(after)
    found = []
    for broker in sorted({*placement.hosts, *counts[0]}):
        host = placement.hosts.get(broker)
        free = host.free if host is not None else -1
        found.append(
            BrokerForecast(
                broker,
                (counts[0][broker], counts[1][broker]),
                (leads[0][broker], leads[1][broker]),
                (held[0][broker], held[1][broker]),
                copied[broker],
                read[broker],
                free - copied[broker] if free >= 0 else -1,
            )
        )
    return tuple(found)


def _leads(partitions: tuple[Placed, ...]) -> Counter[int]:
    return Counter(each.leader for each in partitions if each.leader >= 0)


def _bytes(partitions: tuple[Placed, ...]) -> Counter[int]:
    held = Counter[int]()
    for each in partitions:
        for broker in each.replicas:
            held[broker] += each.size
    return held
