"""A broker that hands its leaders over before it goes is restarted, not broken; one that falls silent first is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.snapshot import Snapshot
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from console.triage.severity import Severity
from console.triage.symptoms import Poll, Subject
from tests.unit.test_triage import START, healthy, named, with_quorum, without_broker

SECOND = timedelta(seconds=1)
STOPS = 5
"""The second in which the leaders of a broker are first seen elsewhere."""


def polled(
    seconds: int, *, silent: range, moved: range, behind: range = range(0), of: int = 3, refuses: bool = True
) -> list[Verdict]:
    """The verdict at each second of a broker that does not answer, is fenced with its leaders elsewhere, and whose
    replicas are out of sync although it is up, in these seconds."""
    observations: Observations | None = None
    verdicts = []
    for second in range(seconds):
        snapshot = healthy()
        if second in moved:
            snapshot = without_broker(snapshot, [of])
        elif second in behind:
            snapshot = answering(without_broker(snapshot, [of]))
        quiet = frozenset({of}) if second in silent else frozenset()
        poll = Poll(START + second * SECOND, snapshot, quiet, quiet if refuses else frozenset())
        observations = begin(poll) if observations is None else after(observations, poll)
        verdicts.append(diagnose(observations))
    return verdicts


def answering(snapshot: Snapshot) -> Snapshot:
    """The snapshot with every broker up: what is out of sync is only behind."""
    topic = snapshot.topics["orders"]
    behind = replace(topic, partitions=tuple(each._replace(offline=()) for each in topic.partitions))
    return replace(snapshot, cluster=healthy().cluster, topics={"orders": behind})


def test_a_restart_in_order_is_no_trouble_until_it_is_over() -> None:
    """It is away for 22 s, comes back, and catches up for 15 s."""
    verdicts = polled(60, behind=range(27, 42), moved=range(STOPS, 27), silent=range(STOPS + 1, 27))
    assert all(each.is_calm for each in verdicts), [named(each) for each in verdicts if not each.is_calm]
    texts = {claim.title for each in verdicts for claim in (one.claim for one in each.causes)}
    assert texts == {
        "broker 3 is away: it handed its leaders over, as in a restart",
        "broker 3 is back, and catches up: it handed its leaders over, as in a restart",
    }


def test_a_broker_that_leaves_while_it_is_still_up_is_leaving() -> None:
    verdicts = polled(STOPS + 2, behind=range(STOPS, 60), moved=range(0), silent=range(0))
    assert [each.claim.title for each in verdicts[-1].causes] == [
        "broker 3 leaves: it handed its leaders over, as in a restart"
    ]


@pytest.mark.parametrize("silent_for", [6, 9])
def test_a_broker_that_was_silent_before_its_leaders_moved_is_down(silent_for: int) -> None:
    """A crash: the controller moves the leaders after the session timed out."""
    fenced = STOPS + silent_for
    verdicts = polled(fenced + 3, silent=range(STOPS, 60), moved=range(fenced, 60))
    assert named(verdicts[-1]) == {("broker-down", Subject(broker=3))}
    assert verdicts[-1].causes[0].claim.severity is Severity.CRITICAL


def test_a_broker_that_hangs_is_down_however_late_its_silence_was_noticed() -> None:
    verdicts = polled(STOPS + 5, silent=range(STOPS - 1, 60), moved=range(STOPS, 60), refuses=False)
    assert named(verdicts[-1]) == {("broker-down", Subject(broker=3))}


def test_a_restart_that_takes_too_long_is_a_broker_that_is_down() -> None:
    verdicts = polled(200, silent=range(STOPS + 1, 200), moved=range(STOPS, 200))
    assert verdicts[180].is_calm
    assert ("broker-down", Subject(broker=3)) in named(verdicts[-1])


def test_a_broker_that_comes_back_and_stays_behind_is_broken() -> None:
    verdicts = polled(160, silent=range(STOPS + 1, 20), moved=range(STOPS, 20), behind=range(20, 160))
    assert verdicts[100].is_calm
    assert ("replication-broken", Subject(broker=3)) in named(verdicts[-1])


@given(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3, unique=True))
def test_a_rolling_restart_with_planned_elections_is_calm(brokers: list[int]) -> None:
    """Each broker in turn goes in order, and with each a controller resigns."""
    observations: Observations | None = None
    for second in range(10 + 40 * len(brokers)):
        turn, within = divmod(second, 40)
        snapshot = with_quorum(healthy(), leader_epoch=7 + min(turn + (within > 5), len(brokers)))
        silent: frozenset[int] = frozenset()
        if turn < len(brokers) and 5 <= within < 20:
            snapshot = with_quorum(without_broker(snapshot, [brokers[turn]]), leader_epoch=8 + turn)
            silent = frozenset(brokers[turn : turn + 1])
        poll = Poll(START + second * SECOND, snapshot, silent, silent)
        observations = begin(poll) if observations is None else after(observations, poll)
        verdict = diagnose(observations)
        assert verdict.is_calm, (second, named(verdict), verdict.unexplained)
