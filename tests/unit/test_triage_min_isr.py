"""Tests of a min ISR that can't be met: its severity, and when it is named together with missing brokers."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from console.model.cluster import BrokerVersion
from console.model.config import topic_resource
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts
from console.triage.symptoms import Subject
from tests.unit import test_triage as triage


def written(until: int, tick: int) -> Facts:
    """Return facts at a tick: the log of orders/3 grows at each tick up to `until`."""
    return triage.kept_logs(lambda each: {("orders", 3): 100 + 7 * min(each, until)})(tick)


def wanting(snapshot: Snapshot, number: int, topics: Iterable[str] = ("orders",)) -> Snapshot:
    """Return the snapshot in which these topics have min.insync.replicas `number`; topics that do not exist are copied
    from orders.
    """
    first = snapshot.topics["orders"]
    made = {name: replace(first, name=name) for name in topics}
    configs = {
        topic_resource(name): triage.config("min.insync.replicas", str(number), triage.TOPIC_CONFIG) for name in topics
    }
    return replace(snapshot, topics={**snapshot.topics, **made}, configs=configs)


def min_isr_of(verdict: Verdict) -> list[Claim]:
    return triage.claims_of(verdict, "min-isr-impossible")


@pytest.mark.parametrize(
    ("until", "severity"),
    [
        (3, Severity.CRITICAL),  # the writes stopped with the change
        (12, Severity.HIGH),  # writes with acks=1 continue
        (0, Severity.HIGH),  # the topic was not written to before either
        (10, Severity.HIGH),  # the writes stopped a while later, or are about to continue
    ],
)
def test_it_is_critical_where_writes_are_seen_to_stop(until: int, severity: Severity) -> None:
    observations = triage.watched(
        lambda s, t: wanting(s, 5) if t >= 4 else s, ticks=12, facts=lambda tick: written(until, tick)
    )
    (claim,) = min_isr_of(diagnose(observations))
    assert claim.severity is severity
    assert any("no new record since" in each.fact for each in claim.evidence) is (severity is Severity.CRITICAL)


def test_every_replica_wanted_and_one_away_is_said_beside_it() -> None:
    """If topics require all replicas and one broker is down, triage names that in one row for all topics, in addition
    to the broker.
    """
    names = [f"t{n}" for n in range(40)]
    verdict = diagnose(triage.watched(lambda s, _: triage.without_broker(wanting(s, 3, names), [2])))
    assert {each.claim.cause for each in verdict.causes} == {"broker-down", "min-isr-impossible"}
    (claim,) = min_isr_of(verdict)
    assert (claim.severity, claim.subject) == (Severity.HIGH, Subject(key="min.insync.replicas"))
    assert claim.title.startswith("t0 and 39 more topics: ")
    assert not verdict.unexplained


def test_one_topic_is_named_itself_and_a_min_isr_with_room_is_none() -> None:
    (claim,) = min_isr_of(diagnose(triage.watched(lambda s, _: triage.without_broker(wanting(s, 3), [2]))))
    assert claim.subject == Subject(topic="orders")
    assert "orders has 3 replicas and min.insync.replicas=3" in claim.evidence[0].fact
    # Two of three replicas have to be in sync, and two brokers are down: the brokers are the cause.
    assert min_isr_of(diagnose(triage.watched(lambda s, _: triage.without_broker(wanting(s, 2), [2, 3])))) == []

    # If the only replica is down, the cause is a partition without a leader.
    def single(snapshot: Snapshot, _tick: int) -> Snapshot:
        return triage.without_broker(wanting(of_one_replica(snapshot), 1), [2])

    assert min_isr_of(diagnose(triage.watched(single, before=triage.healthy()))) == []


def of_one_replica(snapshot: Snapshot) -> Snapshot:
    topic = snapshot.topics["orders"]
    alone = tuple(each._replace(replicas=each.replicas[:1], isr=each.replicas[:1]) for each in topic.partitions)
    return replace(snapshot, topics={"orders": replace(topic, partitions=alone)})


@pytest.mark.parametrize(("release", "is_trouble"), [("3.6", True), ("2.8", True), ("3.7", False), ("≥ 4.0", False)])
def test_newer_brokers_take_any_number_for_one_of_a_single_replica(release: str, *, is_trouble: bool) -> None:
    """Topics with one replica and min.insync.replicas=2 are a trouble before Kafka 3.7 only: since then the leader
    alone is enough for them.
    """
    versions = {1: BrokerVersion(release, {}), 2: BrokerVersion("4.3", {})}
    verdict = diagnose(triage.watched(lambda s, _: replace(wanting(of_one_replica(s), 2), versions=versions)))
    assert [claim.title.endswith("refuse each acks=all write") for claim in min_isr_of(verdict)] == [True] * is_trouble


def test_an_announced_restart_is_none() -> None:
    observations = triage.watched(lambda s, _: triage.without_broker(wanting(s, 3), [2]))
    assert diagnose(observations, [Subject(broker=2)]).is_healthy


def test_what_passes_is_what_brokers_let_pass() -> None:
    """kac's rule for accepted writes equals the brokers': while all replicas are in sync they accept writes, even if
    min.insync.replicas is larger, and with one replica less no write.
    """
    (whole,) = min_isr_of(diagnose(triage.watched(lambda s, _: wanting(s, 9))))
    assert "as soon as one is not in sync" in whole.title
    (broken,) = min_isr_of(diagnose(triage.watched(lambda s, _: triage.without_broker(wanting(s, 9), [3]))))
    assert broken.title.endswith("no acks=all write passes")
    assert {whole.severity, broken.severity} == {Severity.HIGH}


@pytest.mark.parametrize(
    ("replicas", "wanted", "command"),
    [
        (3, 4, "set topic orders min.insync.replicas=2"),
        (2, 3, "set topic orders min.insync.replicas=2"),
    ],
)
def test_no_step_lets_one_of_several_replicas_acknowledge_records(replicas: int, wanted: int, command: str) -> None:
    known = triage.each_of_orders(
        triage.healthy(), lambda p: p._replace(replicas=p.replicas[:replicas], isr=p.replicas[:replicas])
    )
    (claim,) = min_isr_of(diagnose(triage.watched(lambda s, _: wanting(s, wanted), before=known)))
    assert claim.next[0].command == command


def test_with_two_replicas_and_one_away_the_step_is_the_broker() -> None:
    known = triage.each_of_orders(triage.healthy(), lambda p: p._replace(replicas=p.replicas[:2], isr=p.replicas[:2]))
    verdict = diagnose(triage.watched(lambda s, _: triage.without_broker(wanting(s, 2), [2]), before=known))
    (claim,) = min_isr_of(verdict)
    assert claim.next[0].command == ""
    assert claim.next[0].text.startswith("bring the broker back, or raise the number of replicas of orders")
