"""Tests of groups whose members restart again and again: they are named if they fall behind, jobs and deployments are
not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.symptoms import Subject
from tests.unit.test_triage import healthy, watched


def found(ids: Callable[[int], Sequence[str]], lag: Callable[[int], int], ticks: int = 24) -> list[Claim]:
    """Return the claims that members restart, after `ticks` of 5 s.

    Args:
        ids: tick -> the ids of the members of group billing; the client id is the part before the dash.
        lag: tick -> the lag of the group, for whose topic 100 records are written in a tick.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        members = tuple(
            cluster.GroupMember(each, each.partition("-")[0], "/10.0.0.1", (("orders", n),) if n == 0 else ())
            for n, each in enumerate(ids(tick))
        )
        state = "Stable" if members else "Empty"
        end = 10_000 + 100 * tick
        row = cluster.PartitionLag(
            "orders", 0, end - lag(tick), end, lag(tick), members[0].member_id if members else ""
        )
        group = cluster.Group("billing", state, "consumer", coordinator=1, members=members)
        return replace(snapshot, groups={"billing": group}, lags={"billing": cluster.GroupLag((row,))})

    verdict = diagnose(watched(change, ticks, before=change(healthy(), 0)))
    return [each.claim for each in verdict.causes if each.claim.cause == "members-restart"]


def test_an_only_member_that_restarts_again_and_again_is_named() -> None:
    (claim,) = found(lambda tick: [f"app-{tick // 4}"] if tick < 8 or tick % 4 == 0 else [], lambda tick: 60 * tick)
    assert claim.subject == Subject(group="billing")
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert "its only member app@10.0.0.1 leaves and comes again and again" in claim.title
    assert claim.times >= 3
    assert "look at the log of app@10.0.0.1" in claim.next[0].text
    assert not any(each.command for each in claim.next)


@pytest.mark.parametrize(
    ("ids", "lag"),
    [
        pytest.param(
            lambda tick: [f"job-{tick // 4}"] if tick % 4 == 0 else [],
            lambda tick: 100 * (tick % 4),
            id="a job that catches up each time",
        ),
        pytest.param(
            lambda tick: [f"app{n}-{int(tick > 6 + 3 * n)}" for n in range(3)],
            lambda tick: 60 * tick,
            id="a deployment of three members",
        ),
        pytest.param(
            lambda tick: ["calm-0", *([f"app-{tick // 4}"] if tick % 4 else [])],
            lambda tick: 60 * tick,
            id="another member stays",
        ),
        pytest.param(
            lambda tick: [f"app-{tick // 4}"] if tick < 16 and tick % 4 == 0 else ["app-9"],
            lambda tick: 60 * tick if tick < 16 else 0,
            id="it caught up",
        ),
        pytest.param(
            lambda tick: [f"app-{tick // 3}"] if tick < 15 else ["app-9"],
            lambda tick: 60 * tick,
            id="the last one stays for longer than those before, and is slow",
        ),
    ],
)
def test_members_that_leave_for_another_reason_are_not_named(
    ids: Callable[[int], Sequence[str]], lag: Callable[[int], int]
) -> None:
    assert not found(ids, lag)
