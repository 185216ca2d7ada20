"""Tests of the planner that places replicas in a broker's log directories: properties that hold for every proposal."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from console.model.cluster import LogDir, ReplicaSize, ReplicaSizes
from console.model.failure import Failure
from console.model.snapshot import dir_copies
from console.operations.forecast import forecast
from console.operations.goals import DrainDir, Goal, MoveIntoDir, Reassign, Restore
from console.operations.placement import Host, Placed, Placement
from console.operations.planner import propose
from console.operations.proposal import DirMove, Proposal, UnknownPlace

PATHS = ("/a", "/b", "/c")
BROKER = 1
GONE = Failure("KAFKA_STORAGE_ERROR", "the disk is gone", "")


def placement(*dirs: LogDir, moving: frozenset[int] = frozenset()) -> Placement:
    """Return the placement of a broker with these directories, and of two topics with eight partitions each. moving:
    partitions that are being copied.
    """
    partitions = tuple(
        Placed(topic, number, (1, 2), 10, 1, (1, 2), moving=number in moving) for topic in "tu" for number in range(8)
    )
    return Placement({1: Host(1), 2: Host(2)}, partitions, {BROKER: dirs})


def log_dir(path: str, *replicas: ReplicaSize, usable: int = 100, **more: object) -> LogDir:
    return LogDir(path, ReplicaSizes(replicas), 1_000, usable, **more)  # type: ignore[arg-type]


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    held: dict[str, list[ReplicaSize]] = {path: [] for path in PATHS}
    for topic, number in draw(st.sets(st.tuples(st.sampled_from("tu"), st.integers(0, 7)), max_size=9)):
        path, size = draw(st.sampled_from(PATHS)), draw(st.integers(0, 60))
        held[path].append(ReplicaSize(topic, number, size, 0, False))
        if draw(st.integers(0, 5)) == 0:
            to = draw(st.sampled_from([each for each in PATHS if each != path]))
            held[to].append(ReplicaSize(topic, number, draw(st.integers(0, size)), 3, True))
    dirs = []
    for path in PATHS:
        if draw(st.integers(0, 7)) == 0:
            dirs.append(log_dir(path, usable=-1, failure=GONE))
        else:
            usable, cordoned = draw(st.sampled_from((-1, 0, 50, 1_000))), draw(st.integers(0, 5)) == 0
            dirs.append(log_dir(path, *held[path], usable=usable, cordoned=cordoned))
    return placement(*dirs, moving=frozenset(draw(st.sets(st.integers(0, 7), max_size=1))))


PATH = st.sampled_from(PATHS)
GOALS: st.SearchStrategy[Goal] = st.one_of(
    PATH.map(lambda path: DrainDir(BROKER, path)),
    st.builds(MoveIntoDir, st.sampled_from("tu"), st.just(BROKER), PATH, st.none() | st.integers(0, 7)),
    st.lists(
        st.tuples(st.sampled_from("tu"), st.integers(0, 7), st.just(BROKER), PATH),
        max_size=4,
        unique_by=lambda p: p[:2],
    ).map(lambda dirs: Restore(1, (), tuple(dirs))),
)


def after(before: Placement, proposal: Proposal) -> Placement:
    """Return the placement after all moves of a proposal."""
    to = {each.place: each.after for each in proposal.dirs}
    there: dict[str, list[ReplicaSize]] = {path: [] for path in PATHS}
    for each in before.log_dirs[BROKER]:
        for replica in each.replicas:
            place = replica.topic, replica.partition, BROKER
            there[each.path if replica.is_future else to.get(place, each.path)].append(replica)
    dirs = (
        LogDir(each.path, ReplicaSizes(there[each.path]), each.total_bytes, -1, each.failure, each.cordoned)
        for each in before.log_dirs[BROKER]
    )
    return Placement(before.hosts, before.partitions, {BROKER: tuple(dirs)})


@given(placements(), GOALS)
def test_every_proposal_is_valid(before: Placement, goal: Goal) -> None:
    """Each proposed move leads from the replica's present directory to a usable one, which has room for the replica and
    for the running copies.
    """
    try:
        proposal = propose(goal, before)
    except UnknownPlace:
        assume(False)
    dirs = {each.path: each for each in before.log_dirs[BROKER]}
    copied: Counter[str] = Counter()
    for copy in dir_copies(before.log_dirs).values():
        copied[copy.after] += copy.size - copy.copied
    moving = {(each.topic, each.number) for each in before.partitions if each.moving}
    for move in proposal.dirs:
        assert any(not one.is_future and one[:2] == move.place[:2] for one in dirs[move.before].replicas)
        assert move.after != move.before
        assert dirs[move.after].failure is None
        assert not dirs[move.after].cordoned
        assert (move.topic, move.number) not in moving
        assert move.place not in dir_copies(before.log_dirs)
        copied[move.after] += move.size
        assert dirs[move.after].usable_bytes < 0 or copied[move.after] <= dirs[move.after].usable_bytes or not move.size
    assert len({each.place for each in proposal.dirs}) == len(proposal.dirs)
    said = forecast(proposal, before, 10)
    assert said.bytes == sum(each.copied for each in said.dirs) == sum(each.size for each in proposal.dirs)
    assert said.seconds == (said.bytes / 10 if said.bytes else None)
    if proposal.dirs:
        then = after(before, proposal).log_dirs[BROKER]
        assert [each.replicas[1] for each in said.dirs] == [
            sum(not one.is_future for one in each.replicas) for each in then
        ]


@given(placements(), GOALS)
def test_what_is_not_held_reaches_the_goal(before: Placement, goal: Goal) -> None:
    try:
        proposal = propose(goal, before)
    except UnknownPlace:
        assume(False)
    then = after(before, proposal)
    again = propose(goal, then)
    held = {(each.topic, each.number) for each in proposal.held}
    assert {(each.topic, each.number) for each in (*again.dirs, *again.held)} <= held
    if not proposal.reached and (proposal.held or proposal.waits):
        return
    where = {
        (one.topic, one.partition): each.path
        for each in then.log_dirs[BROKER]
        for one in each.replicas
        if not one.is_future
    }
    match goal:
        case DrainDir(path=path):
            assert path not in where.values()
        case MoveIntoDir(topic=topic, path=path, partition=number):
            assert all(there == path for (t, n), there in where.items() if t == topic and number in (None, n))
        case Restore(dirs=wanted):
            assert all(where.get((t, n), path) == path for t, n, _, path in wanted)


def replica(number: int, size: int, *, future: bool = False) -> ReplicaSize:
    return ReplicaSize("t", number, size, 0, future)


def test_the_largest_goes_where_most_is_free() -> None:
    """The largest replica moves first, to the directory with the most free space; each move reduces the free space that
    the next moves see.
    """
    dirs = (
        log_dir("/a", replica(0, 10), replica(1, 60), replica(2, 30)),
        log_dir("/b", usable=100),
        log_dir("/c", usable=80),
    )
    moves = propose(DrainDir(1, "/a"), placement(*dirs)).dirs
    assert [(each.number, each.after) for each in moves] == [(1, "/b"), (2, "/c"), (0, "/c")]
    assert moves[0] == DirMove("t", 1, 1, "/a", "/b", 60, (1, 2))


@pytest.mark.parametrize(
    ("dirs", "why"),
    [
        ((log_dir("/a", failure=GONE), log_dir("/b")), "/a of broker 1 is offline"),
        ((log_dir("/a", replica(0, 1)), log_dir("/b", cordoned=True)), "no other log directory of broker 1 is online"),
        ((log_dir("/a", replica(0, 9)), log_dir("/b", usable=8)), "broker 1 has no 9 bytes left in /b"),
        ((log_dir("/a", replica(0, 9)), log_dir("/b", replica(0, 1, future=True))), "copies it into /b already"),
        ((log_dir("/a", replica(0, 9, future=True)), log_dir("/b", replica(0, 9))), "copies it into /a, which has to"),
        ((), "the log directories of broker 1 are unknown"),
    ],
)
def test_what_it_waits_for_is_said(dirs: tuple[LogDir, ...], why: str) -> None:
    proposal = propose(DrainDir(1, "/a"), placement(*dirs))
    assert not proposal.reached
    assert not proposal.dirs
    assert why in " ".join((*proposal.waits, *(each.why for each in proposal.held)))


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        (DrainDir(9, "/a"), "broker 9 is not in the cluster"),
        (DrainDir(1, "/x"), "broker 1 has no log directory /x; it has /a"),
        (MoveIntoDir("v", 1, "/a"), "broker 1 has no replica of topic v"),
        (MoveIntoDir("t", 1, "/a", 7), "broker 1 has no replica of t/7"),
        (Reassign((), (("t", 0, 1, "/x"),)), "broker 1 has no log directory /x; it has /a"),
    ],
)
def test_a_goal_of_another_cluster_is_refused(goal: Goal, why: str) -> None:
    with pytest.raises(UnknownPlace, match=why):
        propose(goal, placement(log_dir("/a", replica(0, 1))))
