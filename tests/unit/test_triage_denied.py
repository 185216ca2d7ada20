"""Tests of requests that brokers refuse to the console: triage names a broker that authorizes differently from the
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from console.model.cluster import LogDir, Reassignment, ReplicaSizes, TopicListing
from console.model.config import broker_resource
from console.model.failure import Failure
from console.model.metadata_views import Views, views_after
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, with_failures
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts
from console.triage.symptoms import Subject
from tests.unit.test_triage import START, TICK, config, each_of_orders, healthy, named, watched, without_broker

DENIED = Failure("CLUSTER_AUTHORIZATION_FAILED", "denied", "Ask for it.")
BOTH = (Part.LOG_DIRS, Part.CONFIGS)
BROKER_3 = "broker-denies", Subject(broker=3)


def answering(count: int = 3) -> Snapshot:
    """Return the snapshot of a healthy cluster of `count` brokers, each of which has answered with its log directories
    and its configs.
    """
    brokers = [each.id for each in healthy(count).cluster.brokers]
    return replace(
        healthy(count),
        log_dirs={each: (LogDir("/data", ReplicaSizes([]), 10**12, 9 * 10**11),) for each in brokers},
        configs={broker_resource(each): config("num.io.threads", "8", 4) for each in brokers},
    )


def verdict_of(
    refused: Mapping[int, Sequence[Part]], failure: Failure = DENIED, *, alone: bool = False, gone: bool = False
) -> Verdict:
    """Return the verdict on a cluster whose brokers refuse some parts.

    Args:
        refused: broker -> the parts that it refuses.
        failure: the failure with which they refuse.
        alone: whether broker 3 is alone in the ISRs of the partitions that it leads.
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


def refused_by(snapshot: Snapshot, *brokers: int) -> Snapshot:
    for part in BOTH:
        snapshot = with_failures(snapshot, part, [(f"broker {each}", DENIED) for each in brokers])
    return snapshot


@pytest.mark.parametrize("ticks", [8, 12, 40])
def test_a_broker_that_waits_in_a_rolling_restart_decides_as_the_others_did(ticks: int) -> None:
    """During a rolling restart that gives the console its right, the broker that still refuses and is restarted last is
    not named as different: brokers 1 and 2 were restarted.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick in (3, 4):
            return without_broker(refused_by(snapshot, 1, 2, 3), [1])
        if tick < 8:
            return refused_by(snapshot, 2, 3) if tick > 4 else refused_by(snapshot, 1, 2, 3)
        return without_broker(refused_by(snapshot, 3), [2]) if tick == 8 else refused_by(snapshot, 3)

    verdict = diagnose(watched(change, ticks, before=refused_by(answering(), 1, 2, 3)))
    assert BROKER_3 not in named(verdict)
    assert any(cause == "access-denied" for cause, _ in named(verdict))


def test_a_broker_that_came_back_with_other_lines_is_named() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick in (3, 4):
            return without_broker(snapshot, [3])
        return refused_by(snapshot, 3) if tick > 4 else snapshot

    assert BROKER_3 in named(diagnose(watched(change, 20, before=answering())))


def test_replicas_that_a_move_adds_are_no_followers_that_it_refuses() -> None:
    """If partitions that broker 3 leads get a second replica by a reassignment, triage does not say that no other
    broker follows broker 3.
    """

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        moved = each_of_orders(
            refused_by(snapshot, 3), lambda p: p._replace(replicas=(3, 1), isr=(3,)) if p.leader == 3 else p
        )
        mine = [each.number for each in moved.topics["orders"].partitions if each.leader == 3]
        return replace(moved, reassignments=tuple(Reassignment("orders", each, (3, 1), (1,), ()) for each in mine))

    claim = claim_of(diagnose(watched(change, 6, before=change(answering(), 0))))
    assert claim.severity is Severity.WARNING
    assert "no other broker follows" not in claim.title


def test_a_broker_that_lacks_the_newest_metadata_may_not_know_the_acl() -> None:
    topic = healthy().topics["orders"]
    newer, old = (
        replace(topic, partitions=tuple(each._replace(leader_epoch=epoch) for each in topic.partitions))
        for epoch in (9, 5)
    )

    def facts(tick: int) -> Facts:
        views = Views()
        for each in range(tick + 1):
            for broker in (1, 2, 3):
                seen = TopicListing({"orders": old if broker == 3 else newer})
                views = views_after(views, broker, [newer], seen, (START + each * TICK).timestamp())
        return Facts(views=views)

    verdict = diagnose(
        watched(lambda s, tick: refused_by(s, 3) if tick >= 3 else s, 8, before=answering(), facts=facts)
    )
    assert BROKER_3 not in named(verdict)
    assert ("metadata-behind", Subject(broker=3)) in named(verdict)


def test_two_of_five_do_not_answer_alone() -> None:
    claims = diagnose(watched(lambda s, tick: refused_by(s, 2, 3) if tick >= 3 else s, 6, before=answering(5))).causes
    facts = [each.fact for found in claims if found.claim.cause == "broker-denies" for each in found.claim.evidence]
    assert sum("more of the brokers answer the same requests" in each for each in facts) == 2
    assert not any("alone" in each for each in facts)
