"""Tests that the forecast of a proposed reassignment equals the effect of its moves."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from console.embedded.replicas import caught_up, reassigned
from console.embedded.tables import Partition
from console.operations.forecast import forecast
from console.operations.goals import Drain, Goal
from console.operations.placement import Host, Placed, Placement
from console.operations.planner import propose
from console.operations.proposal import UnknownPlace
from console.operations.throttle import rate_of
from tests.unit.test_planner import after, goals, placements


@given(placements(), goals(), st.integers(1, 100))
def test_its_sums_are_those_of_the_placement_afterwards(placement: Placement, goal: Goal, throttle: int) -> None:
    """The forecast's replicas and bytes equal those of the placement after the moves, and its leaders equal those of
    a model cluster. Its time is the time that the busiest broker needs.
    """
    try:
        proposal = propose(goal, placement)
    except UnknownPlace:
        assume(False)
    said, then = forecast(proposal, placement, throttle), after(placement, proposal)
    targets = {(one.topic, one.number): one.after for one in proposal.moves}
    elected = (led_then(one, targets.get((one.topic, one.number))) for one in placement.partitions)
    leads = Counter(one.leader for one in placement.partitions), Counter(elected)
    for each in said.brokers:
        for index, what in enumerate((placement, then)):
            mine = [one for one in what.partitions if each.id in one.replicas]
            assert each.replicas[index] == len(mine)
            assert each.leads[index] == leads[index][each.id]
            assert each.bytes[index] == sum(one.size for one in mine)
        assert each.free >= -1
    assert sum(each.copied for each in said.brokers) == proposal.bytes == said.bytes
    assert sum(each.read for each in said.brokers) == said.bytes
    busiest = max((max(each.copied, each.read) for each in said.brokers), default=0)
    assert said.seconds == (busiest / throttle if said.bytes else None)
    assert len(said.brokers) == len({*placement.hosts, *(b for one in placement.partitions for b in one.replicas)})


def led_then(each: Placed, target: tuple[int, ...] | None) -> int:
    """Return the broker id of a partition's leader on an embedded cluster after its reassignment to `target` and the
    election of its preferred leader; for None, its present leader.
    """
    if target is None:
        return each.leader
    alive = frozenset(each.isr) | frozenset(target) - frozenset(each.replicas)
    moved = reassigned(Partition(each.replicas, each.isr or each.replicas, each.leader), target, alive)
    for broker in moved.adding:
        moved = caught_up(moved, broker, alive)
    return moved.replicas[0] if moved.replicas[0] in moved.isr and each.isr else moved.leader


def test_a_broker_that_is_lost_with_its_rack_shows() -> None:
    """If broker 3, alone in rack c, loses its replica of partition 0, the forecast shows only two racks for that
    partition, and broker 4 with free space left.
    """
    brokers = {1: Host(1, "a"), 2: Host(2, "b"), 4: Host(4, "a", free=1000)}
    placement = Placement(brokers, (Placed("t", 0, (1, 2, 3), 300, 1, (1, 2)), Placed("t", 1, (2, 1), 50, 2, (2, 1))))
    said = forecast(propose(Drain((3,)), placement), placement, 100)
    assert (said.partitions, said.bytes, said.seconds) == (1, 300, 3.0)
    assert said.fewer_racks == (("t", 0),)
    by_id = {each.id: each for each in said.brokers}
    assert by_id[3].replicas == (1, 0)
    assert by_id[4] == (4, (0, 1), (0, 0), (0, 300), 300, 0, 700)
    assert by_id[1].read == 300


@pytest.mark.parametrize(
    ("text", "rate"), [("0", 0), ("1000", 1000), ("50MB/s", 50_000_000), (f"{2**63 - 1}", 2**63 - 1)]
)
def test_a_rate_is_a_number_or_an_amount(text: str, rate: int) -> None:
    assert rate_of(text) == rate


@pytest.mark.parametrize("text", ["", "-1", "5x", "1.5", f"{2**63}", "5MB/h"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|amount|more than"):
        rate_of(text)
