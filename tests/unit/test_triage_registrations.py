"""Tests of the row about brokers that have replicas but are not registered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.observations import after, begin
from console.triage.symptoms import Poll
from tests.unit.test_triage import PARTS, START, TICK, Change, each_of_orders, healthy, watched, without_broker


def claim_of(change: Change, *, shows_fenced: bool = True, first: Snapshot | None = None, silent: int = 0) -> Claim:
    """Return the only claim on a cluster that `change` alters.

    Args:
        shows_fenced: whether the cluster lists all registrations, as since Kafka 4.0.
        first: the snapshot of the first poll; None for a healthy one.
        silent: the broker that does not answer; 0 for none.
    """

    def listed(snapshot: Snapshot) -> Snapshot:
        return replace(snapshot, cluster=replace(snapshot.cluster, shows_fenced=shows_fenced))

    def changed(snapshot: Snapshot, tick: int) -> Snapshot:
        return listed(change(snapshot, tick))

    before = listed(first or healthy())
    verdict = diagnose(watched(changed, before=before, silent=[silent] if silent else ()))
    assert not verdict.unexplained
    (found,) = (each.claim for each in verdict.causes)
    return found


def unregistered(snapshot: Snapshot, tick: int) -> Snapshot:
    return without_broker(snapshot, [3], fenced=False) if tick >= 3 else snapshot


def fenced_first(snapshot: Snapshot, tick: int) -> Snapshot:
    if tick in (2, 3):
        return without_broker(snapshot, [3])
    return unregistered(snapshot, tick)


def test_a_broker_that_is_unregistered_while_it_runs_is_no_broker_that_is_down() -> None:
    claim = claim_of(unregistered)
    assert (claim.cause, claim.severity) == ("broker-unregistered", Severity.CRITICAL)
    assert claim.certainty is Certainty.CERTAIN
    assert claim.title == "broker 3 was unregistered at 03:00:15 while it ran, and has replicas of 6 partitions"
    assert claim.next[0].text.startswith("restart broker 3 (127.0.0.1:9003)")


@pytest.mark.parametrize("silent", [0, 3])
def test_one_that_was_fenced_or_silent_before_did_not_run(silent: int) -> None:
    claim = claim_of(unregistered if silent else fenced_first, silent=silent)
    assert claim.cause == "broker-unregistered"
    assert "while it ran" not in claim.title
    assert claim.next[0].text.startswith("start broker 3 (127.0.0.1:9003) again")


def test_one_that_was_never_listed_is_only_not_registered() -> None:
    claim = claim_of(
        lambda s, _: without_broker(s, [3], fenced=False), first=without_broker(healthy(), [3], fenced=False)
    )
    assert claim.title == "broker 3 is not registered, and has replicas of 6 partitions"


def test_before_kafka_4_0_a_broker_that_is_not_listed_is_down() -> None:
    assert claim_of(unregistered, shows_fenced=False).cause in {"broker-down", "broker-restarting"}


def test_a_broker_that_registers_again_is_no_trouble() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        now = snapshot if tick >= 6 else unregistered(snapshot, tick)
        return replace(now, cluster=replace(now.cluster, shows_fenced=True))

    assert not diagnose(watched(change, 20, before=change(healthy(), 0))).causes


def test_polls_that_are_far_apart_do_not_show_whether_it_ran() -> None:
    """If no poll was made for 10 minutes, in which a broker was stopped and unregistered, the row does not say that the
    broker was running.
    """
    observations = None
    for second, gone in ((0, False), (1, False), (600, True), (601, True)):
        known = without_broker(healthy(), [3], fenced=False) if gone else healthy()
        at = START + timedelta(seconds=second)
        listed = replace(known, cluster=replace(known.cluster, shows_fenced=True), read_at=dict.fromkeys(PARTS, at))
        poll = Poll(at, listed)
        observations = begin(poll) if observations is None else after(observations, poll)
    assert observations is not None
    (claim,) = (each.claim for each in diagnose(observations).causes)
    assert claim.cause == "broker-unregistered"
    assert "while it ran" not in claim.title


@pytest.mark.parametrize(("listing", "is_named"), [(2, False), (3, True)])
def test_a_listing_that_is_older_than_the_topics_may_lack_a_new_broker(listing: int, *, is_named: bool) -> None:
    """A broker with replicas is not named as unregistered if the list of brokers was read before the topics: partition
    0 gets a replica on broker 4 at tick 3.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        read_at = {**snapshot.read_at, Part.CLUSTER: START + min(tick, listing) * TICK}
        known = replace(snapshot, read_at=read_at, cluster=replace(snapshot.cluster, shows_fenced=True))
        if tick < 3:
            return known
        return each_of_orders(known, lambda p: p if p.number else p._replace(replicas=(*p.replicas, 4)))

    found = {each.claim.cause for each in diagnose(watched(change, 3, before=change(healthy(), 0))).causes}
    assert ("broker-unregistered" in found) is is_named
