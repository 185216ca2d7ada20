"""Tests of the replication between brokers that are up: brokers that do not follow one another, and the reasons."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from console.model.acl import Acl
from console.model.cluster import Partition, ScramCredential
from console.model.codes import STATIC_BROKER_CONFIG, ScramMechanism
from console.model.config import broker_resource
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import AddAcl
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.symptoms import Subject
from tests.support import samples
from tests.unit import test_triage_restarts
from tests.unit.test_triage import PARTS, START, TICK, config, each_of_orders, healthy, named, watched
from tests.unit.test_triage_restarts import Watch

CLUSTER = "replication-broken", Subject()


def leader_only(each: Partition) -> Partition:
    return each._replace(isr=(each.leader,))


def test_brokers_that_do_not_follow_one_another_are_one_row() -> None:
    verdict = diagnose(watched(lambda s, tick: each_of_orders(s, leader_only) if tick >= 3 else s))
    assert named(verdict) == {CLUSTER}
    assert not verdict.unexplained
    (claim,) = (each.claim for each in verdict.causes)
    assert claim.title == "brokers 1, 2, 3 do not follow one another: 6 partitions have only the leader in sync"
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert claim.since == START + 3 * TICK
    assert "CLUSTER_ACTION" in claim.next[-1].text


@pytest.mark.parametrize("followed", [0, 3])
def test_a_follower_in_sync_where_another_is_not_is_no_trouble_of_all(followed: int) -> None:
    """A replica of the partition follows, so that brokers still reach one another."""

    def isr(each: Partition) -> Partition:
        return each._replace(isr=each.replicas[:2]) if each.number == followed else leader_only(each)

    assert CLUSTER not in named(diagnose(watched(lambda s, _: each_of_orders(s, isr))))


def test_one_broker_that_is_cut_off_both_ways_is_no_trouble_of_all() -> None:
    """With two replicas, each partition that broker 3 has a replica of lacks one."""

    def two(each: Partition) -> Partition:
        replicas = each.replicas[:2]
        return each._replace(replicas=replicas, isr=(each.leader,) if 3 in replicas else replicas)

    verdict = diagnose(watched(lambda s, tick: each_of_orders(s, two) if tick >= 3 else s))
    assert CLUSTER not in named(verdict)
    assert any(cause == "replication-broken" for cause, _ in named(verdict))


def test_followers_that_are_away_are_not_expected() -> None:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        brokers = tuple(replace(each, fenced=each.id != 1) for each in snapshot.cluster.brokers)
        alone = each_of_orders(snapshot, lambda each: each._replace(leader=1, isr=(1,)))
        return replace(alone, cluster=replace(snapshot.cluster, brokers=brokers))

    assert CLUSTER not in named(diagnose(watched(change)))


def of_cluster(operation: str) -> Acl:
    """Return the right of brokers' user on the cluster."""
    return samples.acl("User:broker", "kafka-cluster", operation, on="CLUSTER")


@pytest.mark.parametrize(
    ("acl", "lost_at", "is_named"),
    [
        (of_cluster("CLUSTER_ACTION"), 3, True),
        (of_cluster("ALL"), 3, True),
        (of_cluster("DESCRIBE"), 3, False),
        (of_cluster("CLUSTER_ACTION"), 8, False),  # after they left
        (samples.acl("User:shop", "orders", "WRITE"), 3, False),
    ],
)
def test_a_right_that_brokers_lost_is_the_reason(acl: Acl, lost_at: int, *, is_named: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        acls = () if tick >= lost_at else (acl,)
        at = START + tick * TICK
        known = replace(snapshot, acls=acls, read_at={**snapshot.read_at, Part.ACLS: at})
        return each_of_orders(known, leader_only) if tick >= 5 else known

    causes = diagnose(watched(change, 10, before=change(healthy(), 0))).causes
    (claim,) = (each.claim for each in causes if each.claim.cause == CLUSTER[0])
    assert ("was removed" in claim.title) is is_named, claim.title
    assert (claim.next[0].edits == (AddAcl(acl),)) is is_named


def of_broker_3(watch: Watch) -> Claim:
    (found,) = (each.claim for each in watch.verdicts[-1].causes if each.claim.subject == Subject(broker=3))
    return found


SCRAM = "sasl.mechanism.inter.broker.protocol"


@pytest.mark.parametrize(
    ("mechanism", "deleted_before", "is_named"),
    [("SCRAM-SHA-512", True, True), ("PLAIN", True, False), ("SCRAM-SHA-512", False, False)],
)
def test_a_scram_user_of_brokers_that_was_deleted_before_a_restart(
    mechanism: str, *, deleted_before: bool, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_triage_restarts, "PARTS", (*PARTS, Part.SCRAM))
    file = {SCRAM: mechanism, "inter.broker.listener.name": "INSIDE"}
    configs = {broker_resource(each): samples.config_set(file, STATIC_BROKER_CONFIG) for each in (1, 2, 3)}
    user = {"broker": (ScramCredential(ScramMechanism(1), 4096),)}
    base = replace(healthy(), configs=configs, scram=user)
    watch = Watch(base)
    for is_now in (deleted_before, True):
        watch.base = replace(base, scram={} if is_now else user)
        watch.poll(10, fenced=3 if is_now == deleted_before else 0)
        watch.poll(1)
    watch.poll(70, behind=3)
    claim = of_broker_3(watch)
    assert claim.cause == "replication-broken"
    assert ("SCRAM user broker was deleted" in claim.title) is is_named, claim.title


@pytest.mark.parametrize(
    ("key", "is_named"), [("security.inter.broker.protocol", True), ("num.io.threads", False), ("super.users", True)]
)
def test_a_line_of_the_file_with_which_a_broker_came_back(key: str, *, is_named: bool) -> None:
    watch = Watch(replace(healthy(), configs={broker_resource(3): config(key, "a", STATIC_BROKER_CONFIG)}))
    watch.poll(10, fenced=3)
    watch.base = replace(watch.base, configs={broker_resource(3): config(key, "b", STATIC_BROKER_CONFIG)})
    watch.poll(2)
    watch.poll(70, behind=3)
    claim = of_broker_3(watch)
    assert claim.cause == "replication-broken"
    assert claim.title.endswith(f"; broker 3 came back with another {key}") is is_named, claim.title
    assert claim.next[0].text.startswith(f"compare {key} in server.properties of broker 3") is is_named
