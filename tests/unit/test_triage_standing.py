"""What stands wrong in the whole cluster is a cause by itself, unless it is work under way, or accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from console.lint.acceptance import Acceptance
from console.lint.rule import SETTLED
from console.model import cluster
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import SetFeature
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import after, begin
from console.triage.standing import STANDING
from console.triage.symptoms import Poll, Subject
from console.tui.panes.now import evidence_of
from tests.unit.test_triage import START, healthy, named

TICK = timedelta(seconds=30)
NAMES = {rule.name for rule in STANDING}
OLD, NOW = 26, 30
"""Levels of metadata.version: 4.1-IV1, and 4.3-IV0."""


def versions(snapshot: Snapshot, most: Sequence[int], level: int, **others: int) -> Snapshot:
    """The snapshot with what brokers 1 and so on support, and with finalized levels."""
    finalized = {"metadata.version": level, **{name.replace("_", "."): value for name, value in others.items()}}
    found = {
        id_: cluster.BrokerVersion("", {}, {"metadata.version": (7, each), "group.version": (0, 1)}, finalized)
        for id_, each in enumerate(most, 1)
    }
    return replace(snapshot, versions=found, read_at={**snapshot.read_at, Part.VERSIONS: START})


def holding(snapshot: Snapshot, *brokers: int, partitions: int = 30) -> Snapshot:
    """The snapshot with a topic that has its replicas on these brokers."""
    turned = [(*brokers[n % len(brokers) :], *brokers[: n % len(brokers)]) for n in range(partitions)]
    made = tuple(cluster.Partition(n, each[0], each, each) for n, each in enumerate(turned))
    return replace(snapshot, topics={"orders": cluster.Topic("orders", made, topic_id="id")})


def seen(*snapshots: Snapshot, accepted: Iterable[Acceptance] = (), times: int = 1) -> Verdict:
    """The verdict over polls 30 s apart, the last one repeated."""
    polls = [
        Poll(START + number * TICK, each, accepted=tuple(accepted))
        for number, each in enumerate([*snapshots, *snapshots[-1:] * (times - 1)])
    ]
    observations = begin(polls[0])
    for each in polls[1:]:
        observations = after(observations, each)
    return diagnose(observations)


def standing(verdict: Verdict) -> set[tuple[str, Subject]]:
    return {each for each in named(verdict) if each[0] in NAMES}


LONG = 1 + SETTLED // TICK
METADATA = Subject(entity="feature metadata.version")


def test_an_upgrade_whose_level_was_never_raised_is_a_cause_with_its_step() -> None:
    verdict = seen(versions(healthy(), [NOW] * 3, OLD, group_version=1))
    assert standing(verdict) == {("metadata-version-behind", METADATA)}
    claim = verdict.causes[0].claim
    assert claim.severity.value == "warning"
    assert "all brokers support 30" in claim.title
    assert claim.next[0].edits == (SetFeature("metadata.version", NOW),)
    assert [each.source for each in claim.evidence][1] == "upgrade"
    assert not verdict.is_calm


def test_a_feature_that_was_left_out_is_a_cause() -> None:
    verdict = seen(versions(healthy(), [NOW] * 3, NOW))
    assert standing(verdict) == {("feature-behind", Subject(entity="feature group.version"))}
    place, row = evidence_of("feature-behind", verdict.causes[0].claim.subject)
    assert (place.view, row) == ("features", "group.version")


def test_an_upgrade_that_goes_on_or_ended_a_moment_ago_is_no_cause() -> None:
    before, half = versions(healthy(), [OLD] * 3, OLD, group_version=1), versions(healthy(), [NOW, OLD, OLD], OLD)
    after_it = versions(healthy(), [NOW] * 3, OLD, group_version=1)
    assert standing(seen(half)) == set()
    assert standing(seen(before, half, after_it)) == set()
    assert standing(seen(before, half, after_it, times=LONG)) == {("metadata-version-behind", METADATA)}


def test_levels_are_not_judged_while_a_brokers_versions_are_unknown_and_the_row_stays() -> None:
    assert standing(seen(versions(healthy(), [NOW] * 2, OLD))) == set()
    assert standing(seen(healthy())) == set()
    known = versions(healthy(), [NOW] * 3, OLD, group_version=1)
    without = versions(healthy(), [NOW] * 2, OLD, group_version=1)
    assert standing(seen(known, without)) == {("metadata-version-behind", METADATA)}


def test_a_broker_that_got_nothing_is_a_cause_but_not_one_that_is_new_or_was_drained() -> None:
    empty, full = holding(healthy(), 1, 2), holding(healthy(), 1, 2, 3)
    row = {("broker-empty", Subject(broker=3))}
    assert standing(seen(empty)) == row
    assert standing(seen(full)) == set()
    assert standing(seen(full, empty, times=LONG)) == set()  # somebody moved them away
    two = replace(empty, cluster=replace(empty.cluster, brokers=empty.cluster.brokers[:2]))
    assert standing(seen(two, empty)) == set()
    assert standing(seen(two, empty, times=LONG)) == row


def test_a_broker_that_is_being_drained_or_closed_to_replicas_or_one_of_few_partitions_is_no_cause() -> None:
    full, empty = holding(healthy(), 1, 2, 3), holding(healthy(), 1, 2)
    moves = tuple(cluster.Reassignment("orders", n, (1, 2, 3), (), (3,)) for n in range(30))
    assert standing(seen(replace(full, reassignments=moves))) == set()
    closed = cluster.LogDir("/data", cluster.ReplicaSizes(), 1_000, 900, cordoned=True)
    assert standing(seen(replace(empty, log_dirs={**empty.log_dirs, 3: (closed,)}))) == set()
    assert standing(seen(holding(healthy(), 1, 2, partitions=9))) == set()


def test_topics_that_a_mirror_copies_into_themselves_are_one_cause() -> None:
    topics = holding(healthy(), 1, 2, 3).topics
    names = ["news", "eu.news", "eu.eu.news", "eu.eu.eu.news", "eu.orders", "eu.eu.orders"]
    made = {name: replace(topics["orders"], name=name) for name in names}
    verdict = seen(replace(healthy(), topics={**topics, **made}))
    assert standing(verdict) == {("mirror-loop", Subject(topic="news"))}
    assert "1 topic more" in verdict.causes[0].claim.title
    # Names alone, without the same number of partitions, are chance.
    other = replace(made["eu.news"], partitions=made["eu.news"].partitions[:1])
    assert standing(seen(replace(healthy(), topics={**topics, "news": made["news"], "eu.news": other}))) == set()


def test_what_the_context_accepts_is_no_cause() -> None:
    accepted = [Acceptance("metadata-version-behind", "feature *", "the old brokers may come back")]
    assert standing(seen(versions(healthy(), [NOW] * 3, OLD, group_version=1), accepted=accepted)) == set()


def test_another_cause_on_the_same_topic_hides_it() -> None:
    topics = holding(healthy(), 1, 2, 3).topics
    made = {name: replace(topics["orders"], name=name) for name in ("news", "eu.news", "eu.eu.news")}
    gone = made["news"].partitions[0]._replace(leader=-1, isr=())
    made["news"] = replace(made["news"], partitions=(gone, *made["news"].partitions[1:]))
    verdict = seen(replace(healthy(), topics={**topics, **made}))
    assert standing(verdict) == set()
    assert any(each.claim.subject.topic == "news" for each in verdict.causes)
