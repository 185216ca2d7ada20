"""`kac triage` on a cluster: what it prints, writes and exits with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.handlers.elect_leaders import elect
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import read_batch
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import batch_of
from console.embedded.spec import ClusterSpec
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.parts import Part
from console.plan.edits import RemoveAcl
from console.session import slow_polls
from console.triage.causes import access
from console.triage.symptoms import Subject
from tests.support.paces import poll_often
from tests.support.triage_watch import watching


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        # Two brokers could not make it.
        running.call(lambda c: c.state.put_topic(new_topic("__consumer_offsets", [(1, 2)], [1, 2, 3], internal=True)))
        yield running


def triage(cluster: ThreadedCluster, *arguments: str) -> int:
    return cli.run(["triage", "-b", cluster.bootstrap, "--for", "0s", *arguments])


def test_a_healthy_cluster(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert triage(cluster) == 0
    assert capsys.readouterr().out.startswith("healthy")


def test_a_broker_that_is_down(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster.run(lambda c: c.broker_down(3))
    metrics = tmp_path / "kac.prom"
    assert triage(cluster, "--output", "json", "--prometheus", str(metrics)) == 4
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["v"], verdict["healthy"], verdict["unexplained"]) == (1, False, [])
    (cause,) = verdict["causes"]
    assert (cause["cause"], cause["subject"], cause["certainty"]) == ("broker-down", {"broker": 3}, "certain")
    assert cause["explains"] == {"under-replicated": 6, "broker-gone": 1}
    assert cause["since"] is None
    assert {"fact", "source", "at"} == set(cause["evidence"][0])
    assert 'kac_triage_cause{cause="broker-down",subject="broker 3"' in metrics.read_text()
    assert triage(cluster, "--expect", "broker 3") == 0


def test_a_cluster_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        gone = running.bootstrap
    assert cli.run(["triage", "-b", gone, "--for", "0s"]) == 1
    assert gone.partition(":")[2] in capsys.readouterr().err


@pytest.mark.parametrize("expected", ["topic x", "broker", "broker x", "3"])
def test_what_can_not_be_expected(expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(["triage", "--expect", expected])
    assert ended.value.code == 2
    assert "broker" in capsys.readouterr().err or "whole number" in capsys.readouterr().err


async def test_the_scenario_of_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that hang are certain; one that is two minutes old, which no coordinator knows, is likely; others run."""
    poll_often(monkeypatch, 0.2, Part.LOGS, Part.OPEN_TRANSACTIONS)
    monkeypatch.setattr(slow_polls, "STANDS", 0.2)
    with run_in_thread(ClusterSpec(scenario="transactions")) as cluster:
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(cluster.bootstrap))) as it:
            young = Subject(topic="checkout.orders", partition=5)
            await it.names("transaction-hanging", young)
            verdict = await it.poll()
            certain = {
                each.claim.subject: each.claim.certainty.value
                for each in verdict.causes
                if each.claim.cause == "transaction-hanging"
            }
            assert certain == {
                Subject(topic="checkout.orders", partition=3): "certain",
                young: "likely",
                Subject(topic="logistics.shipments", partition=0): "certain",
            }
            assert not verdict.unexplained


async def test_what_replicas_without_a_leader_may_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last in-sync replica goes: it is the eligible one, and what the other would lose by leading is said. When
    that is made to lead, the election is unclean."""
    poll_often(monkeypatch, 0.2, Part.REPLICA_LOGS)
    place = Subject(topic="orders", partition=0)
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", [(1, 2)], [1, 2, 3])))
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(cluster.bootstrap))) as it:
            await it.poll()
            for broker in (2, 1):
                cluster.run(lambda c, broker=broker: c.broker_down(broker))  # type: ignore[misc]
                await it.names("broker-down", Subject(broker=broker))
            await it.until(lambda _: it.replica_logs("orders", 0) is not None, "what replicas hold")
            logs = it.replica_logs("orders", 0)
            assert logs is not None
            assert (logs.eligible, logs.last_known) == ((1,), (1,))
            cluster.run(lambda c: c.broker_up(2))
            elected = cluster.call(lambda c: elect(c.state, 1, "orders", 0))
            assert not elected.code
            named = await it.names("unclean-election", place)
            assert named.claim.certainty.value == "certain"
            assert "1 could lead it, all down; broker 2 leads now" in named.claim.evidence[0].fact


async def test_a_broker_that_does_not_take_in_what_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers, and with the leader of before; the others are not named."""
    poll_often(monkeypatch, 0.5, Part.VIEWS)

    def decide(running: EmbeddedCluster) -> None:
        running.propagation.stopped(3)  # it is up, and applies nothing more
        before = new_topic("orders", [(1, 2, 3)], [1, 2, 3])
        (partition,) = before.partitions
        decided = partition._replace(leader=2, leader_epoch=partition.leader_epoch + 1)
        running.state.put_topic(replace(running.state.topics["orders"], partitions=(decided,)))

    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", [(1, 2, 3)], [1, 2, 3])))
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(cluster.bootstrap)[:1])) as it:
            assert not (await it.poll_times(3)).causes
            cluster.call(decide)
            named = await it.names("metadata-behind", Subject(broker=3))
            assert "orders/0 is leader epoch 0, while others know epoch 1" in named.claim.evidence[0].fact
            assert [each.claim.subject for each in (await it.poll()).causes] == [Subject(broker=3)]


@pytest.mark.parametrize(("factor", "code"), [("3", 4), ("1", 0)])
def test_a_broker_that_can_not_make_the_topic_of_offsets(
    factor: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A single one, with Kafka's default or with a file for one broker."""
    spec = ClusterSpec(brokers=1, static_configs={"offsets.topic.replication.factor": factor})
    with run_in_thread(spec) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1], 3, 1), [1])))
        assert triage(running) == code
        assert ("no group can work" in capsys.readouterr().out) is (code == 4)


@pytest.mark.parametrize("kind", ["TRANSACTIONAL_ID", "TOPIC"])
def test_a_broker_that_can_not_make_the_topic_of_transactions(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no trouble before an ACL lets somebody begin one."""
    factors = {f"{each}.replication.factor": "3" for each in ("transaction.state.log", "share.coordinator.state.topic")}
    spec = ClusterSpec(brokers=1, static_configs={"offsets.topic.replication.factor": "1", **factors})
    allowed = Acl(
        AclResourceType.parse(kind),
        "pay",
        PatternType.parse("PREFIXED"),
        "User:pay",
        "*",
        AclOperation.parse("WRITE"),
        Permission.parse("ALLOW"),
    )
    with run_in_thread(spec) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1], 3, 1), [1])))
        running.call(lambda c: c.state.add_acl(allowed))
        assert triage(running) == (4 if kind == "TRANSACTIONAL_ID" else 0)
        assert ("no transaction can begin" in capsys.readouterr().out) is (kind == "TRANSACTIONAL_ID")


async def test_a_right_that_was_taken_is_named_where_writing_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """ACLs and logs are read from the cluster; the fix takes the ACL away again."""
    poll_often(monkeypatch, 0.3, Part.LOGS, Part.ACLS)
    monkeypatch.setattr(access, "QUIET", 2.0)
    denied = Acl(
        AclResourceType.parse("TOPIC"),
        "orders",
        PatternType.parse("LITERAL"),
        "User:writer",
        "*",
        AclOperation.parse("WRITE"),
        Permission.parse("DENY"),
    )

    def write(running: EmbeddedCluster) -> None:
        log = running.state.logs.setdefault(("orders", 0), PartitionLog())
        log.append(read_batch(batch_of([b"one"], int(running.clock.time() * 1000), b"k"), 0), 0)

    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 1, 3), [1, 2, 3])))
        running.call(lambda c: c.state.put_topic(new_topic("__consumer_offsets", [(1, 2)], [1, 2, 3], internal=True)))
        async with watching(ConnectionSettings(bootstrap=parse_bootstrap(running.bootstrap))) as it:

            def grows() -> bool:
                running.call(write)
                known = it.facts.logs.logs.get(("orders", 0))
                return known is not None and known.grew_at is not None and it.observations is not None

            await it.until(lambda _: grows() and "acls" in it.observations.last.snapshot.read_at, "a log that grows")  # type: ignore[union-attr]
            running.call(lambda c: c.state.add_acl(denied))
            named = await it.names("access-changed", Subject(topic="orders"))
            assert named.claim.title == "DENY WRITE for User:writer on topic orders was added, and " + (
                "nothing is written to orders since"
            )
            assert named.claim.next[0].edits == (RemoveAcl(denied),)
