"""Tests of symptoms that fade: a row stays while its trouble may go on, and ends once the repair is a fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.triage import fading
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.observations import after
from console.triage.symptoms import COMMIT_STANDS_STILL, LAG_GROWS, Subject
from tests.unit.test_triage import healthy, moved, watched

BILLING = Subject(group="billing")


def lagging(lag: Callable[[int], int]) -> Callable[[Snapshot, int], Snapshot]:
    """Return a change in which 50 records are written in a tick of 5 s. lag: tick -> the lag of the group."""
    return lambda snapshot, tick: moved(snapshot, {0: (100 + 50 * tick - lag(tick), 100 + 50 * tick)})


def rows(change: Callable[[Snapshot, int], Snapshot], ticks: int) -> Sequence[Claim]:
    """Return the claims about the group billing after so many ticks, or those without a subject of a group."""
    verdict = diagnose(watched(change, ticks, before=change(healthy(), 0)))
    assert not verdict.unexplained
    return [each.claim for each in verdict.causes if each.claim.subject.group == "billing"]


def to(peak: int, back: int, at: int = 16) -> Callable[[int], int]:
    """Return a lag that grows by 40 records a tick from tick 4 on. From tick `at` on it falls from `peak` by `back`."""
    return lambda tick: 10 + 40 * max(0, tick - 4) if tick < at else max(10, peak - back * (tick - at + 1))


def test_a_lag_that_shrinks_for_some_seconds_keeps_its_row_and_says_so() -> None:
    change = lagging(to(450, 30))
    (growing,) = rows(change, 15)
    assert growing.severity is Severity.HIGH
    (shrinking,) = rows(change, 20)
    assert (shrinking.cause, shrinking.subject) == (growing.cause, growing.subject)
    assert shrinking.severity is Severity.WARNING
    assert "has not grown since" in shrinking.evidence[-1].fact
    assert not rows(change, 28), "it shrank for as long as it takes to prove a lag"


def test_a_lag_at_its_usual_level_ends_the_row_at_once() -> None:
    change = lagging(to(450, 440))
    assert rows(change, 15)
    assert not rows(change, 17)


def test_a_lag_of_a_moment_fades_for_no_longer_than_it_grew() -> None:
    change = lagging(to(200, 20, at=9))
    observations = watched(change, 30, before=change(healthy(), 0))
    intervals = observations.intervals.get((LAG_GROWS, BILLING), ())
    for each in intervals:
        assert each.ended is not None
    assert not observations.fading
    assert not rows(change, 20)


def test_members_that_leave_again_and_again_keep_a_row_for_two_minutes() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        snapshot = lagging(to(450, 10))(snapshot, tick)
        group = snapshot.groups["billing"]
        member = (group.members or ())[0]
        changing = replace(group, members=(replace(member, member_id=f"m{tick // 3}"),) if tick % 3 else ())
        return replace(snapshot, groups={"billing": changing})

    found = watched(change, 30, before=change(healthy(), 0)).fading[LAG_GROWS, BILLING]
    assert found.is_restless
    assert found.stood < fading.RESTLESS


def with_members(snapshot: Snapshot, *ids: str) -> Snapshot:
    """Return the snapshot in which group billing has these members, each on a host of its own, and is empty without
    any.
    """
    group = snapshot.groups["billing"]
    members = tuple(cluster.GroupMember(each, "app", f"/{each[:1]}", (("orders", 0),)) for each in ids)
    state = "Stable" if members else "Empty"
    return replace(snapshot, groups={"billing": replace(group, members=members, state=state)})


def test_a_deployment_that_repairs_a_group_does_not_keep_its_row() -> None:
    """From tick 16 on, three members are replaced one after the other, and read a bit more than is written."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        ids = (f"{each}{int(tick >= 16 + n)}" for n, each in enumerate("abc"))
        return with_members(lagging(to(450, 10))(snapshot, tick), *ids)

    assert rows(change, 15)
    found = watched(change, 19, before=change(healthy(), 0)).fading
    assert not found[LAG_GROWS, BILLING].is_restless
    assert not rows(change, 26)


def test_members_that_stay_at_last_let_the_row_fade() -> None:
    """A member restarts every 15 s until tick 16, and then stays and catches up slowly."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return with_members(lagging(to(450, 10, at=18))(snapshot, tick), f"a{min(tick, 17) // 3}")

    assert rows(change, 17)
    assert watched(change, 19, before=change(healthy(), 0)).fading[LAG_GROWS, BILLING].is_restless
    assert not rows(change, 28)


@pytest.mark.parametrize("every", [12, 60])
def test_the_commit_of_a_job_without_members_ends_the_growth_of_its_lag(every: int) -> None:
    """A job assigns its partitions itself, and commits every minute or every five minutes up to 20 s before."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = max(0, tick // every * every - 4) if tick >= every else -every
        return with_members(moved(snapshot, {0: (10_000 + 50 * at, 10_000 + 50 * tick)}, member=""))

    known = watched(change, 4 * every + 1, before=change(healthy(), 0))
    assert not known.fading
    assert (LAG_GROWS, BILLING) in known.intervals
    for ticks in range(4 * every, 5 * every, 3):
        verdict = diagnose(watched(change, ticks, before=change(healthy(), 0)))
        assert verdict.is_calm, (ticks, verdict)


def test_a_lag_of_a_few_seconds_ends_the_row_of_a_group_whose_members_left() -> None:
    """A member leaves at tick 4. Others read all but the last seconds at tick 16 and leave at tick 17."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = min(tick, 4) if tick < 16 else 15
        members = ("a1",) if tick < 4 else ("a2",) if tick == 16 else ()
        return with_members(moved(snapshot, {0: (100 + 50 * at, 110 + 50 * tick)}), *members)

    assert (LAG_GROWS, BILLING) in watched(change, 15, before=change(healthy(), 0)).seen
    assert (LAG_GROWS, BILLING) not in watched(change, 16, before=change(healthy(), 0)).seen


def test_a_group_with_members_is_not_called_stopped_while_its_lag_shrinks() -> None:
    """A deployment stops all members for 30 s, and the new ones catch up slowly."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lag = 10 if tick < 8 else 10 + 50 * (tick - 8) if tick < 14 else max(10, 310 - 10 * (tick - 14))
        members = () if 8 <= tick < 14 else (("a1", "b1", "c1") if tick < 8 else ("a2", "b2", "c2"))
        return with_members(lagging(lambda _: lag)(snapshot, tick), *members)

    verdict = None
    for ticks in range(1, 30):
        verdict = diagnose(watched(change, ticks, before=change(healthy(), 0)), before=verdict)
        if ticks >= 16:
            assert all(each.claim.cause != "group-stopped" for each in verdict.causes), ticks


@pytest.mark.parametrize("is_read", [False, True])
def test_a_stuck_partition_whose_member_is_unknown_in_a_rebalance_is_stuck_still(*, is_read: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = 100 + 50 * min(tick, 3) + (60 if is_read and tick > 20 else 0)
        rows = {0: (at, 200 + 50 * tick), 1: (100 + 50 * tick, 100 + 50 * tick)}
        return moved(snapshot, rows, "PreparingRebalance" if tick > 20 else "Stable", "" if tick > 20 else "m1")

    key = COMMIT_STANDS_STILL, Subject(group="billing", topic="orders", partition=0)
    assert key in watched(change, 20, before=change(healthy(), 0)).seen
    later = watched(change, 22, before=change(healthy(), 0))
    assert (key in later.seen) is not is_read


def test_a_lag_that_grew_before_a_broker_was_late_is_still_seen() -> None:
    change = lagging(to(0, 0, at=10**3))
    for ticks, is_old in ((16, True), (8, False)):
        observations = watched(change, ticks, before=change(healthy(), 0))
        assert (LAG_GROWS, BILLING) in observations.seen
        last = observations.last
        fresh = replace(last, at=last.at + timedelta(seconds=1), silent=frozenset({2}))
        assert ((LAG_GROWS, BILLING) in after(observations, fresh).seen) is is_old


def test_many_groups_that_recover_at_once_do_not_fade() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        one = lagging(to(450, 30))(snapshot, tick)
        names = [f"g{n}" for n in range(fading.MOST + 1)]
        groups = {name: replace(one.groups["billing"], name=name) for name in names}
        lags: dict[str, cluster.GroupLag] = dict.fromkeys(names, one.lags["billing"])
        return replace(one, groups=groups, lags=lags)

    assert watched(change, 15, before=change(healthy(), 0)).seen
    assert not watched(change, 20, before=change(healthy(), 0)).seen


def test_a_lag_that_grows_on_more_slowly_keeps_its_row() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        early, late = min(tick, 16), max(0, tick - 16)
        return moved(snapshot, {0: (100 + 10 * early + late, 100 + 50 * early + 5 * late)})

    observations = watched(change, 60, before=change(healthy(), 0))
    assert (LAG_GROWS, BILLING) in observations.seen
    assert not observations.fading
    assert len(observations.intervals[LAG_GROWS, BILLING]) == 1
