"""Tests of the planner of reassignments: properties of every proposal, and how many more bytes it copies than the
cheapest placement.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model import cluster
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, ConfigSet, topic_resource
from console.model.snapshot import Snapshot
from console.operations import goals as operations_goals
from console.operations.placement import Host, Placed, Placement, placement_of, replica_counts
from console.operations.planner import check_named, propose
from console.operations.proposal import Proposal, UnknownPlace

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}


Choices = Sequence[tuple[int, tuple[int, ...]]]
"""(bytes to copy, broker ids) of each possible placement of a partition, the cheapest first."""


def hosts(*brokers: int, racks: bool = True, **changed: Host) -> dict[int, Host]:
    found = {each: Host(each, RACKS[each] if racks else None) for each in brokers}
    return found | {each.id: each for each in changed.values()}


def partition(number: int, *replicas: int, size: int = 10) -> Placed:
    return Placed("t", number, replicas, size, replicas[0], replicas)


def after(placement: Placement, proposal: Proposal) -> Placement:
    """Return the placement after all moves of a proposal."""
    moves = {(each.topic, each.number): each.after for each in proposal.moves}
    done = (
        replace(each, replicas=new, isr=new, leader=new[0])
        if (new := moves.get((each.topic, each.number))) is not None
        else each
        for each in placement.partitions
    )
    return Placement(placement.hosts, tuple(done))


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    brokers = range(1, draw(st.integers(2, 6)) + 1)
    with_racks = draw(st.booleans())
    found = {
        each: Host(
            each,
            RACKS[each] if with_racks else None,
            draw(st.sampled_from((True, True, True, False))),
            draw(st.sampled_from((-1, -1, 15, 1000))),
        )
        for each in brokers
    }
    partitions = []
    for number in range(draw(st.integers(1, 6))):
        replicas = draw(st.permutations(list(brokers)))[: draw(st.integers(1, min(3, len(brokers))))]
        isr = tuple(each for each in replicas if found[each].takes)
        leader = next(iter(isr), -1)
        size, wanted = draw(st.integers(0, 40)), draw(st.integers(1, 2))
        moving = draw(st.integers(0, 9)) == 0
        topic = draw(st.sampled_from("tu"))
        partitions.append(Placed(topic, number, tuple(replicas), size, leader, isr, wanted, moving))
    return Placement(found, tuple(partitions))


@st.composite
def goals(draw: st.DrawFn) -> operations_goals.Goal:
    one, other, number = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    some = tuple(sorted(draw(st.sets(st.integers(1, 6), min_size=1, max_size=3))))
    return draw(
        st.sampled_from(
            (
                operations_goals.Drain(some),
                operations_goals.Replace(one, other),
                operations_goals.Balance(),
                operations_goals.MoveTopic("t", some),
                operations_goals.Replicate("t", number),
            )
        )
    )


@given(placements(), goals())
def test_every_proposal_is_valid(placement: Placement, goal: operations_goals.Goal) -> None:
    """In every proposal no partition has two replicas on one broker, new replicas are on brokers that accept replicas
    and have room, and the number of racks and min ISR are kept. No partition is moved whose reassignment is running.
    """
    try:
        proposal = propose(goal, placement)
    except UnknownPlace:
        assume(False)
    partitions = {(each.topic, each.number): each for each in placement.partitions}
    copied: Counter[int] = Counter()
    for move in proposal.moves:
        each = partitions[move.topic, move.number]
        assert move.before == each.replicas != move.after
        assert len(set(move.after)) == len(move.after) > 0
        assert not each.moving
        for broker in move.added:
            assert placement.hosts[broker].takes
            copied[broker] += each.size
        assert not move.added or each.leader >= 0
        if len(move.after) < len(move.before):
            assert sum(broker in each.isr for broker in move.after) >= each.min_isr
        elif isinstance(goal, operations_goals.Drain | operations_goals.Replace):
            gone = goal.brokers if isinstance(goal, operations_goals.Drain) else (goal.broker,)
            takers = {b for b, host in placement.hosts.items() if host.takes and b not in gone}
            most = placement.racks({*takers, *(b for b in move.before if b not in gone)})
            assert placement.racks(move.after) >= min(placement.racks(move.before), most, len(move.after))
            assert all(new == old for old, new in zip(move.before, move.after, strict=True) if old not in gone)
        elif isinstance(goal, operations_goals.Balance):
            assert placement.racks(move.after) >= placement.racks(move.before)
    for broker, size in copied.items():
        assert placement.hosts[broker].free < 0 or size <= placement.hosts[broker].free
    assert len({(each.topic, each.number) for each in (*proposal.moves, *proposal.held)}) == len(proposal.moves) + len(
        proposal.held
    )


@given(placements(), goals())
def test_what_is_not_held_reaches_the_goal(placement: Placement, goal: operations_goals.Goal) -> None:
    """After a proposal's moves the goal is reached, except for the partitions that the proposal held back. A second
    proposal for the same goal names no other partitions.
    """
    assume(not isinstance(goal, operations_goals.Balance))
    try:
        proposal = propose(goal, placement)
    except UnknownPlace:
        assume(False)
    again = propose(goal, after(placement, proposal))
    held = {(each.topic, each.number) for each in proposal.held}
    assert {(each.topic, each.number) for each in (*again.moves, *again.held)} <= held
    left = {each for each in after(placement, proposal).partitions if (each.topic, each.number) not in held}
    for each in left:
        if isinstance(goal, operations_goals.Drain):
            assert not set(goal.brokers) & set(each.replicas)
        elif isinstance(goal, operations_goals.Replace):
            assert goal.broker not in each.replicas
        elif isinstance(goal, operations_goals.MoveTopic) and each.topic == goal.topic:
            assert set(each.replicas) <= set(goal.brokers)
        elif isinstance(goal, operations_goals.Replicate) and each.topic == goal.topic:
            assert len(each.replicas) == goal.replicas


# -- the cheapest --------------------------------------------------------------------------------------------------


def cheapest(placement: Placement, goal: operations_goals.Goal) -> int | None:
    """Try all placements; return the fewest bytes to copy with which a goal is reached and the racks are kept, None if
    no placement does.
    """
    choices = [sorted(_choices(placement, goal, each)) for each in placement.partitions]
    if not all(choices):
        return None
    if not isinstance(goal, operations_goals.Balance):
        return sum(some[0][0] for some in choices)
    total = sum(len(each.replicas) for each in placement.partitions)
    return _balanced(choices, Counter(dict.fromkeys(_taking(placement), 0)), total)


def _taking(placement: Placement) -> list[int]:
    return [each.id for each in placement.hosts.values() if each.takes]


def _choices(placement: Placement, goal: operations_goals.Goal, each: Placed) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (bytes to copy, broker ids) of each placement of a partition on allowed brokers, in as many racks as it has
    now, or as the allowed brokers have.
    """
    allowed = set(_taking(placement))
    match goal:
        case operations_goals.Drain(brokers=gone):
            allowed -= set(gone)
        case operations_goals.MoveTopic(brokers=wanted):
            allowed &= set(wanted)
        case operations_goals.Replace(broker=old):
            allowed.discard(old)
    length = goal.replicas if isinstance(goal, operations_goals.Replicate) else len(each.replicas)
    racks = min(placement.racks(each.replicas), length, placement.racks(allowed))
    for replicas in combinations(sorted(allowed), length):
        if placement.racks(replicas) < racks:
            continue
        if isinstance(goal, operations_goals.Replace) and goal.broker in each.replicas and goal.by not in replicas:
            continue
        yield each.size * len(set(replicas) - set(each.replicas)), replicas


def _balanced(choices: Sequence[Choices], counts: Counter[int], total: int) -> int | None:
    """Return the fewest bytes to copy with which the numbers of replicas on brokers differ by at most one; None if that
    is impossible. Branches that can't be cheaper are not searched.
    """
    most = -(-total // len(counts))
    best: list[int | None] = [None]

    def tried(place: int, cost: int) -> None:
        if best[0] is not None and cost >= best[0]:
            return
        if place == len(choices):
            if min(counts.values()) >= total // len(counts):
                best[0] = cost
            return
        for more, replicas in choices[place]:
            if all(counts[broker] < most for broker in replicas):
                counts.update(replicas)
                tried(place + 1, cost + more)
                counts.subtract(replicas)

    tried(0, 0)
    return best[0]


KINDS: tuple[operations_goals.Goal, ...] = (
    operations_goals.Drain((3,)),
    operations_goals.Drain((1, 2)),
    operations_goals.Replace(1, 4),
    operations_goals.Replace(2, 5),
    operations_goals.MoveTopic("t", (1, 4, 5)),
    operations_goals.Replicate("t", 1),
    operations_goals.Replicate("t", 3),
    operations_goals.Replicate("t", 4),
)
CASES = [
    *((seed, goal) for seed in range(10) for goal in KINDS),
    *((seed, operations_goals.Balance()) for seed in range(60)),
]


def random_placement(seed: int) -> Placement:
    """Return five or six brokers, in three racks or without racks, and six unevenly placed partitions of two or three
    replicas.
    """
    chance = random.Random(seed)
    brokers = hosts(*range(1, chance.choice((5, 6)) + 1), racks=seed % 2 == 0)
    skewed = [1, 1, 1, 2, 2, 3, *brokers]
    partitions = []
    for number in range(6):
        replicas: list[int] = []
        while len(replicas) < chance.choice((2, 2, 3)):
            racks = {brokers[each].rack for each in replicas if brokers[each].rack is not None}
            others = [each for each in skewed if each not in replicas and brokers[each].rack not in racks]
            replicas.append(chance.choice(others))
        partitions.append(partition(number, *replicas, size=chance.choice((1, 5, 20, 100, chance.randint(1, 500)))))
    return Placement(brokers, tuple(partitions))


@pytest.mark.parametrize(("seed", "goal"), CASES)
def test_a_proposal_copies_hardly_more_than_the_cheapest(seed: int, goal: operations_goals.Goal) -> None:
    """A proposal copies at most 1.05 times the bytes of the cheapest placement; if no placement reaches the goal, it
    holds partitions back.
    """
    placement = random_placement(seed)
    best = cheapest(placement, goal)
    proposal = propose(goal, placement)
    if best is None:
        assert proposal.held or isinstance(goal, operations_goals.Balance)
        return
    assert not proposal.held
    assert best <= proposal.bytes <= 1.05 * best
    if isinstance(goal, operations_goals.Balance):
        counts = replica_counts(after(placement, proposal).partitions)
        assert max(counts[b] for b in placement.hosts) - min(counts[b] for b in placement.hosts) <= 1


# -- each goal -----------------------------------------------------------------------------------------------------


@st.composite
def listed(draw: st.DrawFn) -> tuple[Placement, operations_goals.Reassign]:
    """Draw a placement, and a goal that lists new replicas for some of its partitions, as a file does."""
    placement = draw(placements())
    some = draw(st.sets(st.sampled_from(placement.partitions), min_size=1)) if placement.partitions else set()
    brokers = st.lists(st.sampled_from(sorted(placement.hosts)), min_size=1, max_size=3, unique=True).map(tuple)
    return placement, operations_goals.Reassign(
        tuple((each.topic, each.number, draw(brokers)) for each in sorted(some, key=lambda each: each.number))
    )


@given(listed())
def test_a_list_is_reached_where_it_is_not_held(case: tuple[Placement, operations_goals.Reassign]) -> None:
    placement, goal = case
    proposal = propose(goal, placement)
    wanted = {(topic, number): replicas for topic, number, replicas in goal.replicas}
    held = {(each.topic, each.number) for each in proposal.held}
    copied: Counter[int] = Counter()
    for each in after(placement, proposal).partitions:
        if (each.topic, each.number) in wanted.keys() - held:
            assert each.replicas == wanted[each.topic, each.number]
    for move in proposal.moves:
        assert move.after == wanted[move.topic, move.number] != move.before
        for broker in move.added:
            assert placement.hosts[broker].takes
            copied[broker] += move.size
    for broker, size in copied.items():
        assert placement.hosts[broker].free < 0 or size <= placement.hosts[broker].free
    # A partition that was held for its size may fit now: `after` leaves the free bytes as they were.
    again = propose(goal, after(placement, proposal)).moves
    assert {(each.topic, each.number) for each in again} <= held


def test_a_drained_replica_goes_where_its_rack_is_free_and_a_replacement_waits_for_one() -> None:
    """A drained replica is replaced at the same place in the list of replicas by a broker of the same rack, among equal
    brokers by the one that leads the fewest partitions. A replacement in another rack is held back if it reduces the
    racks.
    """
    placement = Placement(hosts(1, 2, 3, 4, 5, 6), (partition(0, 3, 1, 2), partition(1, 1, 3, 2), partition(2, 1, 2)))
    moves = propose(operations_goals.Drain((3,)), placement).moves
    assert [each.after for each in moves] == [(6, 1, 2), (1, 6, 2)]
    # Broker 6 is in the rack of broker 3, and broker 4 in that of broker 1; only broker 6 keeps the racks.
    placement = Placement(hosts(1, 2, 3, 4, 6), (partition(0, 2, 3, 1),))
    assert [each.after for each in propose(operations_goals.Replace(3, 6), placement).moves] == [(2, 6, 1)]
    refused = propose(operations_goals.Replace(3, 4), placement)
    assert refused.moves == ()
    assert refused.held[0].why == "it would be in 2 racks instead of 3"


def test_fewer_replicas_leave_the_leader_the_racks_and_min_isr() -> None:
    """If replicas are removed, those out of sync go first, and no replica that min.insync.replicas needs is removed."""
    brokers = hosts(1, 2, 3, 4)
    same = replace(partition(0, 1, 4, 2), leader=1)
    assert [each.after for each in propose(operations_goals.Replicate("t", 2), Placement(brokers, (same,))).moves] == [
        (1, 2)
    ]
    behind = replace(partition(0, 1, 2, 3), isr=(1, 3))
    assert [
        each.after for each in propose(operations_goals.Replicate("t", 2), Placement(brokers, (behind,))).moves
    ] == [(1, 3)]
    needed = replace(partition(0, 1, 2, 3), min_isr=2)
    held = propose(operations_goals.Replicate("t", 1), Placement(brokers, (needed,))).held
    assert [each.why for each in held] == ["min.insync.replicas is 2"]


@example("gone")
@given(st.sampled_from(["gone", "full", "moving", "leaderless"]))
def test_what_can_not_be_moved_says_what_it_waits_for(case: str) -> None:
    each = partition(0, 1, 2, size=100)
    brokers = hosts(1, 2, 3, racks=False)
    match case:
        case "gone":
            brokers, why = {**brokers, 3: Host(3, takes=False)}, "factor 2 needs 2 other brokers, 1 can take replicas"
        case "full":
            brokers, why = {**brokers, 3: Host(3, free=99)}, "no broker has 100 bytes left"
        case "moving":
            each, why = replace(each, moving=True), "another move of it is under way"
        case _:
            each, why = replace(each, leader=-1), "it has no leader to copy from"
    proposal = propose(operations_goals.Drain((2,)), Placement(brokers, (each,)))
    assert not proposal.moves
    assert not proposal.reached
    assert proposal.held[0].why.startswith(why)


@pytest.mark.parametrize(
    "goal",
    [
        operations_goals.Replace(1, 9),
        operations_goals.Replace(1, 1),
        operations_goals.MoveTopic("t", (1, 9)),
        operations_goals.MoveTopic("u", (1,)),
        operations_goals.Replicate("t", 0),
        operations_goals.Reassign((("t", 0, (1, 9)),)),
        operations_goals.Reassign((("t", 1, (1, 2)),)),
    ],
)
def test_a_goal_of_another_cluster_is_refused(goal: operations_goals.Goal) -> None:
    with pytest.raises(UnknownPlace):
        propose(goal, Placement(hosts(1, 2), (partition(0, 1, 2),)))


def test_a_placement_is_made_of_a_snapshot() -> None:
    """A placement made from a snapshot has the size of each partition's largest replica, the free bytes of directories
    that accept replicas, and the destinations of running reassignments.
    """
    replicas = cluster.ReplicaSizes(
        [cluster.ReplicaSize("t", 0, 70, 0, False), cluster.ReplicaSize("t", 0, 900, 0, True)]
    )
    cordoned = cluster.LogDir("/b", cluster.ReplicaSizes(), 100, 50, cordoned=True)
    snapshot = Snapshot(
        cluster=cluster.ClusterInfo(
            "c", 1, (cluster.Broker(1, "h", 1, "a"), cluster.Broker(2, "h", 2), cluster.Broker(3, "h", 3, fenced=True))
        ),
        topics={"t": cluster.Topic("t", (cluster.Partition(0, 1, (1, 2, 3), (1, 2)),))},
        configs={topic_resource("t"): ConfigSet((ConfigEntry("min.insync.replicas", "2", ConfigSource(5)),))},
        log_dirs={1: (cluster.LogDir("/a", replicas, 100, 30), cordoned), 2: (cordoned,)},
        reassignments=(cluster.Reassignment("t", 0, (1, 2, 3), (3,), (1,)),),
    )
    placement = placement_of(snapshot)
    assert placement.hosts == {1: Host(1, "a", True, 30), 2: Host(2, None, False, -1), 3: Host(3, None, False, -1)}
    assert placement.partitions == (Placed("t", 0, (2, 3), 70, 1, (1, 2), 2, True),)


def test_a_broker_that_votes_and_is_gone_may_be_drained() -> None:
    """Before Kafka 4.0, where brokers that are down are not described, a voter with replicas may be drained, because it
    may be a broker; a voter without replicas is refused as a controller.
    """
    voters = tuple(cluster.QuorumReplica(each, 9, 0) for each in (1, 2, 3, 4))
    snapshot = Snapshot(
        quorum=cluster.Quorum(1, 1, 9, voters, ()),
        cluster=cluster.ClusterInfo("c", 1, (cluster.Broker(1, "a", 1), cluster.Broker(2, "b", 1))),
        topics={"t": cluster.Topic("t", (cluster.Partition(0, 1, (1, 3), (1,)),))},
    )
    check_named(operations_goals.Drain((3,)), snapshot)
    with pytest.raises(UnknownPlace, match="node 4 is a controller, and no broker that is up: it holds no replicas"):
        check_named(operations_goals.Drain((3, 4)), snapshot)
    with pytest.raises(UnknownPlace, match="node 4 is a controller"):
        check_named(operations_goals.Reassign((), (("t", 0, 4, "/a"),)), snapshot)
