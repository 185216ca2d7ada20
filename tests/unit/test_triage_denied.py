"""Tests of the requests that brokers refuse to this console: a broker that decides about access otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from console.model.cluster import LogDir, ReplicaSizes
from console.model.config import broker_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, with_failures
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.symptoms import Subject
from tests.unit.test_triage import TICK, config, each_of_orders, healthy, named, watched, without_broker

DENIED = Failure("CLUSTER_AUTHORIZATION_FAILED", "denied", "Ask for it.")
BOTH = (Part.LOG_DIRS, Part.CONFIGS)
BROKER_3 = "broker-denies", Subject(broker=3)


def answering() -> Snapshot:
    """Return the healthy cluster; every broker has answered with its directories and its configs."""
    brokers = [each.id for each in healthy().cluster.brokers]
    return replace(
        healthy(),
        log_dirs={each: (LogDir("/data", ReplicaSizes([]), 10**12, 9 * 10**11),) for each in brokers},
        configs={broker_resource(each): config("num.io.threads", "8", 4) for each in brokers},
    )


def verdict_of(
    refused: Mapping[int, Sequence[Part]], failure: Failure = DENIED, *, alone: bool = False, gone: bool = False
) -> Verdict:
    """Return the verdict over brokers that refuse some parts.

    Args:
        refused: broker -> the parts.
        alone: whether broker 3 is alone in the ISRs of what it leads.
        gone: whether broker 3 is fenced.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < 3:
            return snapshot
        for part in BOTH:
            mine = [(f"broker {id_}", failure) for id_, parts in refused.items() if part in parts]
            snapshot = with_failures(snapshot, part, mine)
        if alone:
            snapshot = each_of_orders(snapshot, lambda p: p._replace(isr=(3,)) if p.leader == 3 else p)
        return without_broker(snapshot, [3]) if gone else snapshot

    return diagnose(watched(change, 6, before=answering()))


def claim_of(verdict: Verdict) -> Claim:
    (found,) = (each.claim for each in verdict.causes if each.claim.cause == "broker-denies")
    return found


def test_one_broker_that_refuses_what_the_others_allow() -> None:
    claim = claim_of(verdict := verdict_of({3: BOTH}))
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.CERTAIN)
    assert claim.title == "broker 3 refuses this console what the others allow: it decides about access otherwise"
    assert "super.users" in claim.next[0].text
    assert named(verdict) == {BROKER_3}, "the same refusals are told once"


def test_its_refusals_explain_that_no_broker_follows_it() -> None:
    claim = claim_of(verdict := verdict_of({3: BOTH}, alone=True))
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert ", and no other broker follows " in claim.title
    assert named(verdict) == {BROKER_3}
    assert not verdict.unexplained
    assert claim.since is not None
    assert claim.since == healthy().read_at[Part.TOPICS] + 3 * TICK


@pytest.mark.parametrize(
    ("refused", "failure"),
    [
        ({1: BOTH, 2: BOTH, 3: BOTH}, DENIED),  # the console lacks the right
        ({2: BOTH, 3: BOTH}, DENIED),
        ({3: [Part.LOG_DIRS]}, DENIED),  # one read may have met a change of ACLs half way
        ({3: [Part.CONFIGS]}, DENIED),
        ({3: BOTH}, Failure("REQUEST_TIMED_OUT", "late", "")),
        ({3: BOTH}, Failure("UNSUPPORTED_VERSION", "a managed service", "")),
    ],
)
def test_a_right_that_this_console_lacks_is_no_trouble_of_a_broker(
    refused: Mapping[int, Sequence[Part]], failure: Failure
) -> None:
    verdict = verdict_of(refused, failure)
    assert verdict.is_calm
    assert BROKER_3 not in named(verdict)


def test_a_broker_that_is_away_decides_nothing() -> None:
    assert BROKER_3 not in named(verdict_of({3: BOTH}, gone=True))
