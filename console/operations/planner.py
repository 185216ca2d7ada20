"""Plans the replicas of each partition for a goal: by racks, with the fewest bytes to copy. Pure.

A replica that contradicts the goal is replaced at its position in the list; all others stay. A partition keeps its
number of racks, unless the brokers that accept new replicas are in fewer racks. If several brokers keep the same number
of racks, the planner takes the one with the fewest preferred leaders (for a first replica), then the fewest replicas,
then the fewest bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from console.model.nodes import holds_nothing
from console.model.snapshot import Snapshot
from console.operations import goals
from console.operations.balance import balanced
from console.operations.directories import propose_dirs
from console.operations.placement import Placed, Placement, replica_counts
from console.operations.proposal import Held, Proposal, Relocation, UnknownPlace


def propose(goal: goals.Goal, placement: Placement) -> Proposal:
    """Return the moves that lead from a placement to a goal, and the partitions that have to wait. Pure: the same
    placement gives the same moves.

    Args:
        placement: the present replicas; for running moves those after the move.

    Returns:
        Moves between brokers in the order of the placement's partitions, moves between directories the largest first.
        Partitions that can't move now are in `Proposal.held`, each with the reason.

    Raises:
        UnknownPlace: the goal names a broker, topic or directory that the cluster does not have.
    """
    check(goal, placement)
    if isinstance(goal, goals.DrainDir | goals.MoveIntoDir):
        return propose_dirs(goal, placement)
    found = _balance(placement) if isinstance(goal, goals.Balance) else _Filling(placement).proposal(goal)
    # Only goals with lists can have both replicas that leave their broker and replicas that change their directory.
    if not isinstance(goal, goals.Restore | goals.Reassign) or not goal.dirs:
        return Proposal(tuple(found.moves), tuple(found.held))
    within = propose_dirs(goal, placement)
    return Proposal(tuple(found.moves), (*found.held, *within.held), within.dirs, within.waits)


def check_named(goal: goals.Goal, snapshot: Snapshot) -> None:
    """Check, before an operation begins, that its goal names no controller in place of a broker, since controllers have
    no replicas.

    Args:
        snapshot: a snapshot with the quorum, if the goal names a node that is not a broker.

    Raises:
        UnknownPlace: the goal names a controller that is not also a broker.
    """
    for broker in sorted(goals.brokers_of(goal)):
        if what := holds_nothing(snapshot, broker):
            raise UnknownPlace(what)


def check(goal: goals.Goal, placement: Placement) -> None:
    """Check that a goal is possible in this cluster. Brokers to drain need not exist any more.

    Raises:
        UnknownPlace: the goal names a broker, topic or partition that the cluster does not have, or contradicts itself.
            The message is for the operator.
    """
    match goal:
        case goals.MoveTopic(brokers=brokers):
            named = {*brokers}
        case goals.Replace(by=by):
            named = {by}
        case goals.Reassign(replicas=wanted):
            named = {broker for _, _, brokers in wanted for broker in brokers}
            there = {(each.topic, each.number) for each in placement.partitions}
            if unknown := next(((topic, number) for topic, number, _ in wanted if (topic, number) not in there), None):
                raise UnknownPlace(f"there is no partition {unknown[0]}/{unknown[1]}")
        case _:
            named = set()
    for broker in sorted(named - placement.hosts.keys()):
        raise UnknownPlace(f"broker {broker} is not in the cluster")
    if isinstance(goal, goals.Replace) and goal.by == goal.broker:
        raise UnknownPlace(f"broker {goal.broker} can't replace itself")
    if isinstance(goal, goals.MoveTopic | goals.Replicate) and all(
        each.topic != goal.topic for each in placement.partitions
    ):
        raise UnknownPlace(f"there is no topic {goal.topic}")
    if isinstance(goal, goals.Replicate) and goal.replicas < 1:
        raise UnknownPlace("a partition has at least one replica")


class _Found(NamedTuple):
    moves: list[Relocation]
    held: list[Held]


class _NoPlace(Exception):
    """Raised for a partition that can't be moved now; the text is the reason."""


def _balance(placement: Placement) -> _Found:
    found = _Found([], [])
    for each, after in zip(placement.partitions, balanced(placement), strict=True):
        if after == each.replicas:
            continue
        _add(found, each, after)
    return found


def _add(sums: _Found, each: Placed, after: tuple[int, ...]) -> None:
    """Add the move of a partition to the proposal, or the reason why the partition has to wait."""
    why = _hold(each, after)
    if why:
        sums.held.append(Held(each.topic, each.number, why))
    else:
        sums.moves.append(Relocation(each.topic, each.number, each.replicas, after, each.size))


def _hold(each: Placed, after: Sequence[int]) -> str:
    # Kafka replaces a move by a second one, which would waste the bytes that the first move has copied.
    if each.moving:
        return "another move of it is under way"
    if each.observers:
        return f"broker {', '.join(map(str, each.observers))} is an observer of it: its topic's own placement moves it"
    if each.leader < 0 and any(broker not in each.replicas for broker in after):
        return "it has no leader to copy from"
    if len(after) < each.min_isr and len(after) < len(each.replicas):
        return f"min.insync.replicas is {each.min_isr}"
    if len(after) < len(each.replicas) and sum(broker in each.isr for broker in after) < each.min_isr:
        return "the replicas that stay are not in sync yet"
    return ""


class _Filling:
    """The state of planning: the totals of each broker (replicas, preferred leaders, bytes), with the partitions
    planned so far at their new places.
    """

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self.taking = tuple(sorted(each.id for each in placement.hosts.values() if each.takes))
        self.count = replica_counts(placement.partitions)
        self.leads = Counter(each.replicas[0] for each in placement.partitions if each.replicas)
        self.held = Counter[int]()
        for each in placement.partitions:
            for broker in each.replicas:
                self.held[broker] += each.size
        self.free = {each.id: each.free for each in placement.hosts.values()}
        self.listed: dict[tuple[str, int], tuple[int, ...]] = {}

    def proposal(self, goal: goals.Goal) -> _Found:
        found = _Found([], [])
        if isinstance(goal, goals.Restore | goals.Reassign):
            self.listed = {(topic, number): replicas for topic, number, replicas in goal.replicas}
        for each in self.placement.partitions:
            try:
                after = self._after(goal, each)
            except _NoPlace as error:
                # The running move may end in the wanted place, so the present obstacle does not count.
                why = "another move of it is under way" if each.moving else str(error)
                found.held.append(Held(each.topic, each.number, why))
                continue
            if after != each.replicas:
                _add(found, each, after)
                self._take(each, after)
        return found

    def _take(self, each: Placed, after: tuple[int, ...]) -> None:
        """Add a partition with its new replicas to the totals."""
        for broker in each.replicas:
            self.count[broker] -= 1
            self.held[broker] -= each.size
        for broker in after:
            self.count[broker] += 1
            self.held[broker] += each.size
            # A broker that loses a replica gains no room, as it drops the replica only after the copy.
            if broker not in each.replicas and self.free.get(broker, -1) >= 0:
                self.free[broker] -= each.size
        self.leads[each.replicas[0]] -= 1
        self.leads[after[0]] += 1

    def _after(self, goal: goals.Goal, each: Placed) -> tuple[int, ...]:
        """Return the replicas that a partition has once the goal is reached.

        Raises:
            _NoPlace: the partition can't be moved now.
        """
        match goal:
            case goals.Drain(brokers=brokers):
                if not any(broker in each.replicas for broker in brokers):
                    return each.replicas
                others = [b for b in self.taking if b not in brokers]
                return self._filled(each, each.replicas, brokers, others, others)
            case goals.Replace(broker=old, by=new):
                if old not in each.replicas:
                    return each.replicas
                others = [b for b in self.taking if b != old]
                # A broker can't hold a partition twice: if the new broker already has a replica, any other broker may
                # take the place of the old one.
                by = others if new in each.replicas else [b for b in others if b == new]
                return self._filled(each, each.replicas, (old,), by, others)
            case goals.MoveTopic(topic=topic, brokers=brokers) if topic == each.topic:
                gone = [broker for broker in each.replicas if broker not in brokers]
                among = [b for b in self.taking if b in brokers]
                return self._filled(each, each.replicas, gone, among, among)
            case goals.Replicate(topic=topic, replicas=wanted) if topic == each.topic:
                more = wanted - len(each.replicas)
                if more < 0:
                    return self._fewer(each, -more)
                # Negative ids are placeholders for the replicas to add, as no broker has such an id.
                places = range(-more, 0)
                return self._filled(each, (*each.replicas, *places), places, self.taking, self.taking)
            case goals.Restore() | goals.Reassign():
                return self._as_listed(each)
            case _:
                return each.replicas

    def _filled(
        self,
        each: Placed,
        order: Sequence[int],
        gone: Collection[int],
        allowed: Sequence[int],
        others: Sequence[int],
    ) -> tuple[int, ...]:
        """Return `order` with a broker of `allowed` in place of each broker of `gone`.

        Args:
            order: the replicas of the partition, in order.
            others: the brokers that determine the number of racks that the partition can be in.

        Raises:
            _NoPlace: there are too few brokers with enough free bytes, or the partition would be in fewer racks.
        """
        kept = [broker for broker in order if broker not in gone]
        after: list[int] = []
        racks = {self.placement.rack(broker) for broker in kept}
        for place, broker in enumerate(order):
            if broker in gone:
                left = [b for b in allowed if b not in kept and b not in after]
                if not left and len(able := {*kept, *allowed}) < len(order):
                    other = "other " if any(b in each.replicas for b in gone) else ""
                    needed = f"factor {len(order)} needs {len(order)} {other}brokers"
                    raise _NoPlace(f"{needed}, {len(able)} can take replicas")
                broker = self._best(each, place, racks, left)
                # Add the rack now, so that the next replica of the partition avoids it.
                racks.add(self.placement.rack(broker))
            after.append(broker)
        before = self.placement.racks(each.replicas)
        if len(racks) < min(before, len(after), self.placement.racks((*others, *kept))):
            raise _NoPlace(f"it would be in {len(racks)} racks instead of {before}")
        return tuple(after)

    def _best(self, each: Placed, place: int, racks: Collection[str], brokers: Sequence[int]) -> int:
        if not brokers:
            raise _NoPlace("no broker is left that is alive, takes replicas and has none of it")
        roomy = [broker for broker in brokers if not 0 <= self.free[broker] < each.size]
        if not roomy:
            raise _NoPlace(f"no broker has {each.size:,} bytes left")
        rack, count, held = self.placement.rack, self.count, self.held
        # The first replica is the preferred leader, so the number of leaders matters only for the first place.
        leads = self.leads if place == 0 else Counter[int]()
        return min(roomy, key=lambda b: (rack(b) in racks, leads[b], count[b], held[b], b))

    def _as_listed(self, each: Placed) -> tuple[int, ...]:
        """Return the replicas that the goal lists for the partition, such as its former ones; its present replicas if
        the goal does not list the partition.

        Raises:
            _NoPlace: one of the listed brokers is not alive, or has too few free bytes.
        """
        wanted = self.listed.get((each.topic, each.number), each.replicas)
        for broker in wanted:
            if broker in each.replicas:
                continue
            if broker not in self.taking:
                raise _NoPlace(f"broker {broker} is not alive, or takes no replicas")
            if 0 <= self.free[broker] < each.size:
                raise _NoPlace(f"broker {broker} has no {each.size:,} bytes left")
        return wanted

    def _fewer(self, each: Placed, gone: int) -> tuple[int, ...]:
        """Return the partition's replicas without `gone` of them. Replicas out of sync are removed first, then those
        whose removal keeps the most racks, then the last in the list; the leader stays.
        """
        left = list(each.replicas)
        for _ in range(gone):
            candidates = [broker for broker in left if broker != each.leader] or left
            worst = max(
                candidates,
                key=lambda b: (
                    b not in each.isr,
                    self.placement.racks(other for other in left if other != b),
                    left.index(b),
                ),
            )
            left.remove(worst)
        return tuple(left)
