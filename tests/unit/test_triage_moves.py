"""Tests of reassignments that do not progress: the replica that they wait for, the steps that help, and the edits that
a key stages.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.interpret import command_of
from console.model.cluster import Partition, Reassignment, destination, original
from console.model.codes import ConfigSource
from console.model.config import broker_resource
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import CancelMove
from console.plan.kinds.moves import is_unclean_to_cancel
from console.session.staged_steps import first_step, staging_of
from console.triage.cause import Claim, Next
from console.triage.diagnosis import diagnose
from tests.support import samples
from tests.unit.test_triage import healthy, watched, without_broker


def moving(snapshot: Snapshot, move: Reassignment, isr: tuple[int, ...]) -> Snapshot:
    """Return the snapshot with this reassignment and this ISR of orders/0."""
    topic = snapshot.topics[move.topic]
    first = topic.partitions[0]._replace(replicas=move.replicas, isr=isr, leader=isr[0] if isr else -1)
    topics = {move.topic: replace(topic, partitions=(first, *topic.partitions[1:]))}
    return replace(snapshot, topics=topics, reassignments=(move,))


def claimed(move: Reassignment, isr: tuple[int, ...], down: tuple[int, ...] = (), ticks: int = 8) -> Claim:
    """Return the claim about a reassignment. down: the brokers that are down from the first tick on."""

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return moving(without_broker(snapshot, down) if down else snapshot, move, isr)

    verdict = diagnose(watched(change, ticks, before=healthy(brokers=6, racks=2)))
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause.startswith("reassignment-")]
    return claim


@pytest.mark.parametrize(
    ("move", "isr", "down", "waits"),
    [
        (Reassignment("orders", 0, (4, 5, 2), (5,), (2,)), (5, 2), (4,), "4"),  # [2,4] → [4,5]
        (Reassignment("orders", 0, (4, 5, 6, 1), (5, 6), (1,)), (1, 5, 6), (), "4"),  # up, but out of sync for long
        (Reassignment("orders", 0, (3, 1, 2), (), (1, 2)), (1, 2), (3,), "3"),  # fewer replicas, broker 3 is down
        (Reassignment("orders", 0, (4, 3, 1, 2), (4,), (1, 2)), (1, 2, 4), (3,), "3"),
    ],
)
def test_it_waits_for_a_replica_that_stays(
    move: Reassignment, isr: tuple[int, ...], down: tuple[int, ...], waits: str
) -> None:
    claim = claimed(move, isr, down)
    assert (claim.cause, claim.severity, claim.certainty) == (
        "reassignment-stalled",
        Severity.HIGH,
        Certainty.CERTAIN,
    )
    assert claim.title == f"orders/0: all is copied, its move waits for broker {waits}, which stays and is not in sync"
    assert claim.next[0].text.startswith(f"bring broker {waits} back into sync")
    assert claim.next[-1].edits == (CancelMove("orders", 0),)


@pytest.mark.parametrize(
    ("move", "isr", "ticks"),
    [
        (Reassignment("orders", 0, (4, 5, 2), (5,), (2,)), (2,), 8),  # it still copies
        (Reassignment("orders", 0, (4, 5, 2), (5,), (2,)), (2, 5), 1),  # 4 was seen out of sync a moment ago
        (Reassignment("orders", 0, (4, 5, 2), (5,), (2,)), (4, 5, 2), 8),  # it is about to end
        (Reassignment("orders", 0, (4, 5, 2), (5,), (2,)), (4, 5), 8),  # the removed replica has left
    ],
)
def test_work_is_no_trouble(move: Reassignment, isr: tuple[int, ...], ticks: int) -> None:
    claim = claimed(move, isr, ticks=ticks)
    assert (claim.cause, claim.severity) == ("reassignment-running", Severity.INFO)


def test_a_cancellation_that_would_lose_records_is_no_next_step() -> None:
    """If all former replicas are down and only added ones are in sync, triage does not propose to cancel the
    reassignment, but to start the former brokers.
    """
    for move, isr, down in (
        (Reassignment("orders", 0, (3, 4, 1), (3, 4), (1,)), (3,), (1, 4)),
        (Reassignment("orders", 0, (1, 4, 2), (4,), (2,)), (4,), (1, 2)),
    ):
        claim = claimed(move, isr, down)
        assert claim.cause == "reassignment-stalled"
        assert [command_of(edit) for step in claim.next for edit in step.edits] == []
        assert claim.next[0].text.startswith("bring back broker ")
        assert all(str(broker) in claim.next[0].text for broker in down)


brokers = st.integers(1, 6)
some = st.lists(brokers, unique=True, min_size=1, max_size=4).map(tuple)


@given(some, some, st.sets(brokers))
def test_a_way_back_that_is_offered_keeps_a_replica_in_sync(
    before: tuple[int, ...], wanted: tuple[int, ...], in_sync: set[int]
) -> None:
    """For any reassignment and any ISR, a cancellation is called unclean exactly if no former replica is in sync and
    another one is.
    """
    adding = tuple(each for each in wanted if each not in before)
    removing = tuple(each for each in before if each not in wanted)
    move = Reassignment("orders", 0, (*wanted, *removing), adding, removing)
    isr = tuple(each for each in move.replicas if each in in_sync)
    snapshot = moving(healthy(brokers=6, racks=2), move, isr)
    assert set(original(move)) == set(before)
    assert destination(move) == wanted
    assert is_unclean_to_cancel(move, snapshot) == (bool(isr) and not set(isr) & set(before))


RAISE = Next("raise the throttle", "set broker 3 follower.replication.throttled.rate=50000000 for 2h")
CANCEL = Next("cancel it", edits=(CancelMove("orders", 0),))
OUTSIDE = Next("look at the disk")


@pytest.mark.parametrize(
    ("steps", "first"),
    [
        ((RAISE, CANCEL), RAISE),
        ((CANCEL, RAISE), CANCEL),
        ((OUTSIDE, RAISE, CANCEL), RAISE),
        ((OUTSIDE,), None),
        ((), None),
    ],
)
def test_a_key_stages_the_first_step_and_the_others_are_shown(steps: tuple[Next, ...], first: Next | None) -> None:
    assert first_step(steps) == first
    staging = staging_of(steps, healthy())
    if first is None:
        assert staging is None
    else:
        assert staging is not None
        assert staging.text == first.text
        rest = [each.text for each in steps if each not in (first, OUTSIDE)]
        assert [each.partition(":")[0] for each in staging.others] == rest


def test_all_edits_of_a_step_are_staged_together() -> None:
    """The key stages all edits of a step at once, and the line on the screen says how many there are."""
    step = Next("cancel them", edits=tuple(CancelMove("orders", n) for n in range(3)))
    staging = staging_of((step, CANCEL), healthy())
    assert staging is not None
    assert staging.command == "cancel move topic orders partition 0; and 2 more"


def test_a_partition_without_a_leader_is_no_unclean_way_back() -> None:
    """If the ISR is empty and there are eligible leader replicas, cancelling a reassignment is not called unclean,
    because it is unknown which replica has which records.
    """
    move = Reassignment("orders", 0, (3, 4, 1), (3, 4), (1,))
    snapshot = moving(healthy(brokers=6, racks=2), move, ())
    assert isinstance(snapshot.topics["orders"].partitions[0], Partition)
    assert not is_unclean_to_cancel(move, snapshot)


@pytest.mark.parametrize(("set_at", "is_named"), [(0, True), (4, False)])
def test_a_throttle_is_left_behind_only_once_its_tool_had_time_for_it(set_at: int, *, is_named: bool) -> None:
    """Triage names a throttle as left behind only some polls after it was set, because a tool sets it before its
    reassignments and removes it after them. Polls are 5 s apart. set_at: the tick from which the throttle exists.
    """
    resource, key = broker_resource(2), "leader.replication.throttled.rate"

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        values = {key: "1024"} if tick >= set_at else {}
        return replace(snapshot, configs={resource: samples.config_set(values, ConfigSource(2))})

    def named(ticks: int) -> bool:
        observed = watched(change, ticks, before=change(healthy(), 0))
        return "replication-throttled" in {each.claim.cause for each in diagnose(observed).causes}

    assert named(6) == is_named
    assert named(20)
