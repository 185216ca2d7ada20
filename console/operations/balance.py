"""Balances the numbers of replicas of all brokers, with the fewest bytes to copy. Pure.

The problem is a minimum-cost flow: brokers are nodes, and the move of a replica from one broker to another is an arc
that costs the replica's bytes. First the smallest replicas are moved; then, if the cluster is small enough, cycles of
negative cost are cancelled until there is none (Klein's algorithm), which makes the flow the cheapest. Racks, and the
rule that a broker has at most one replica of a partition, can't be expressed in a flow, so in rare cases the result
costs slightly more than the optimum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from console.operations.placement import Placement

MOST_WORK = 6_000
"""Maximum product of replicas and brokers for which cycles are searched, because each search looks at every move of
a replica to another broker.
"""
MOST_CYCLES = 200
"""Maximum number of cycles that are cancelled."""
_HUB = -1
"""The number of an additional node of the graph, at which chains of moves begin and end."""
_OUT_OF_RANGE = 1 << 62
"""The cost of one replica too many or too few on a broker: more than the cost of copying all bytes."""


def balanced(placement: Placement) -> list[tuple[int, ...]]:
    """Return the replicas of each partition after balancing, in the order of the placement. Partitions that are
    moving or have no leader are not changed, nor are replicas on brokers that take no new replicas.
    """
    return _Flow(placement).solved()


class _Arc(NamedTuple):
    """An arc of the graph: the move of a replica to another broker, where `place` is the index of its partition in
    the placement; or an arc from or to the hub, with -1 as `place`.
    """

    cost: int
    """The bytes of the replica plus 1 if the move adds a copy; the negative of that if it makes an earlier copy
    unnecessary; otherwise 0. For an arc of the hub, the cost of one more or one fewer replica on its broker.
    """
    place: int
    source: int
    to: int


class _Flow:
    """The state of the search: where replicas are at present, and which moves are possible."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self.brokers = sorted(each.id for each in placement.hosts.values() if each.takes)
        self.now = [list(each.replicas) for each in placement.partitions]
        self.racks = [placement.racks(each.replicas) for each in placement.partitions]
        self.free = {each.id: each.free for each in placement.hosts.values()}
        taking = set(self.brokers)
        self.count = Counter(dict.fromkeys(self.brokers, 0))
        self.at: dict[int, set[int]] = {broker: set() for broker in self.brokers}
        for index, each in enumerate(placement.partitions):
            for broker in each.replicas:
                if broker in taking:
                    self.count[broker] += 1
                    self.at[broker].add(index)
        total = sum(self.count.values())
        # At the end every broker has `low` or `high` replicas: numbers that differ by one at most.
        self.low = total // len(self.brokers) if self.brokers else 0
        self.high = self.low + bool(self.brokers and total % len(self.brokers))
        self.banned: set[tuple[int, int, int]] = set()

    def solved(self) -> list[tuple[int, ...]]:
        """Run the search, and return the replicas of each partition after it. The search ends if no move improves the
        result, or at the limits `MOST_WORK` and `MOST_CYCLES`.
        """
        self._smallest_first()
        if len(self.brokers) * sum(self.count.values()) <= MOST_WORK:
            for _ in range(MOST_CYCLES):
                if not self._improve():
                    break
        return [tuple(each) for each in self.now]

    def _smallest_first(self) -> None:
        """Move the smallest replicas of brokers that have too many to the brokers that have the fewest."""
        partitions = self.placement.partitions
        for source in self.brokers:
            if self.count[source] <= self.low:
                continue
            # Any replica improves the counts, so begin with the smallest one, which needs the fewest bytes to copy.
            for index in sorted(self.at[source], key=lambda i: partitions[i].size):
                needed = self.count[source] > self.high
                if not needed and (
                    self.count[source] <= self.low or min(self.count[b] for b in self.brokers) >= self.low
                ):
                    break
                most = self.high if needed else self.low
                takers = (b for b in self.brokers if self.count[b] < most and self._fits(index, source, b))
                to = min(takers, key=lambda b: (self.count[b], b), default=None)
                if to is not None:
                    self._go(index, source, to)

    def _fits(self, index: int, source: int, to: int) -> bool:
        """Return whether a replica can move to a broker: its partition has a leader and is not moving, the broker has
        no replica of the partition and enough free bytes, and the partition does not lose a rack.
        """
        each, now = self.placement.partitions[index], self.now[index]
        # A partition without a leader has no source that a new replica could copy from.
        if to in now or source not in now or each.moving or each.leader < 0:
            return False
        # A broker that had the replica before the search already has the bytes.
        if to not in each.replicas and 0 <= self.free[to] < each.size:
            return False
        rack = self.placement.rack
        # A move within a rack does not change the number of racks, so there is no need to count them.
        if rack(source) == rack(to):
            return True
        return self.placement.racks(to if broker == source else broker for broker in now) >= self.racks[index]

    def _go(self, index: int, source: int, to: int) -> None:
        each, now = self.placement.partitions[index], self.now[index]
        now[now.index(source)] = to
        self.count[source] -= 1
        self.count[to] += 1
        self.at[source].discard(index)
        self.at[to].add(index)
        for broker, by in ((source, each.size), (to, -each.size)):
            if broker not in each.replicas and self.free[broker] >= 0:
                self.free[broker] += by

    # -- cycles ----------------------------------------------------------------------------------------------------

    def _improve(self) -> bool:
        """Find a cycle of moves with a negative cost and make its moves; return whether one was made."""
        # A replica that was banned in one state of the brokers may fit in the next state.
        self.banned.clear()
        while cycle := self._cycle(self._arcs()):
            done: list[_Arc] = []
            for arc in cycle:
                if arc.place < 0:
                    continue
                if not self._fits(arc.place, arc.source, arc.to):
                    # Two moves of the cycle were in conflict, as they are of the same partition: undo the cycle, and
                    # search without this move.
                    for before in reversed(done):
                        self._go(before.place, before.to, before.source)
                    self.banned.add((arc.place, arc.source, arc.to))
                    break
                self._go(arc.place, arc.source, arc.to)
                done.append(arc)
            else:
                return True
        return False

    def _arcs(self) -> list[_Arc]:
        """Return the cheapest possible move for each pair of brokers, and the arcs between brokers and the hub."""
        best: dict[tuple[int, int], _Arc] = {}
        for arc in self._possible():
            place = arc.source, arc.to
            if place not in best or arc < best[place]:
                best[place] = arc
        arcs = list(best.values())
        for broker in self.brokers:
            count = self.count[broker]
            gives = -_OUT_OF_RANGE if count > self.high else 0 if count > self.low else _OUT_OF_RANGE
            takes = -_OUT_OF_RANGE if count < self.low else 0 if count < self.high else _OUT_OF_RANGE
            # Arcs to and from the hub let a chain of moves end at a broker that may have one replica more or less: they
            # close the cycle.
            arcs += (_Arc(gives, -1, _HUB, broker), _Arc(takes, -1, broker, _HUB))
        return arcs

    def _possible(self) -> Iterator[_Arc]:
        for source in self.brokers:
            for index in self.at[source]:
                each = self.placement.partitions[index]
                for to in self.brokers:
                    if (index, source, to) not in self.banned and self._fits(index, source, to):
                        # A move back to the former broker saves the copy. The added 1 gives the move of an empty
                        # replica a cost.
                        by = (to not in each.replicas) - (source not in each.replicas)
                        yield _Arc((each.size + 1) * by, index, source, to)

    def _cycle(self, arcs: list[_Arc]) -> list[_Arc]:
        """Return a cycle of arcs with a negative cost; empty if there is none (algorithm of Bellman and Ford)."""
        distance = dict.fromkeys((_HUB, *self.brokers), 0)
        came: dict[int, _Arc] = {}
        last = None
        for _ in distance:
            last = None
            for arc in arcs:
                if distance[arc.source] + arc.cost < distance[arc.to]:
                    distance[arc.to] = distance[arc.source] + arc.cost
                    came[arc.to] = arc
                    last = arc.to
            if last is None:
                return []
        assert last is not None
        for _ in distance:
            # The relaxed node may only lead to the cycle: a walk of as many steps as there are nodes ends on the cycle.
            last = came[last].source
        cycle = [came[last]]
        while cycle[-1].source != last:
            cycle.append(came[cycle[-1].source])
        return cycle[::-1]
