"""Members of groups over time: an instance id that changes hands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.symptoms import Subject
from tests.unit.test_triage import moved, watched

TICKS = 20


def causes(member_id: Callable[[int], str], instance: str | None = "app-0", *, lags: bool = False) -> list[Claim]:
    """The causes of a group whose only member has these ids at each tick."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = moved(snapshot, {0: (100 + tick, 100 + (50 if lags else 1) * tick)})
        who = cluster.GroupMember(member_id(tick), "app", "/10.0.0.7", (("orders", 0),), instance)
        return replace(changed, groups={"billing": replace(changed.groups["billing"], members=(who,))})

    return [each.claim for each in diagnose(watched(change, TICKS)).causes]


@pytest.mark.parametrize("lags", [False, True])
def test_an_instance_id_that_changes_hands_again_and_again_is_named_once(*, lags: bool) -> None:
    (claim,) = causes(lambda tick: f"app-0-{tick // 3}", lags=lags)
    assert (claim.cause, claim.subject) == ("instance-contested", Subject(group="billing"))
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert "instance id app-0" in claim.title
    assert "10.0.0.7" in claim.evidence[0].fact
    assert not any(each.edits or each.command for each in claim.next)


@pytest.mark.parametrize(
    ("member_id", "instance"),
    [
        (lambda _tick: "app-0-1", "app-0"),
        (lambda tick: f"app-0-{tick // 10}", "app-0"),  # a restart
        (lambda tick: f"app-{tick}", None),  # no static member: a new id at each start
    ],
    ids=["stays", "restarts", "dynamic"],
)
def test_a_member_that_starts_again_now_and_then_is_no_trouble(
    member_id: Callable[[int], str], instance: str | None
) -> None:
    assert "instance-contested" not in {each.cause for each in causes(member_id, instance)}
