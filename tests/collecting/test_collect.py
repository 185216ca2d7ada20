"""Tests of polls of embedded clusters for a lake: the rows that they store, also for users without rights and if
brokers do not answer. No secret is stored.
"""

import gzip
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from console.admin.settings import ConnectionSettings, SaslSettings
from console.collecting import collect as collecting_collect
from console.contexts import Context
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fault
from console.embedded.scenarios.seed import add_topic, allow, quota, scram_user
from console.embedded.spec import ClusterSpec, SaslSpec
from console.journal import entries as journal_entries
from console.lake.files import this_process
from console.lake.journals import read_journal
from console.lake.lake import Lake
from console.model.changes import ScramUser, Status
from console.model.codes import ScramMechanism
from console.model.config import broker_resource, topic_resource
from console.model.failure import Failure
from console.model.journal_lines import Origin, Request, Who
from console.model.secret import Secret
from console.plan.edits import SetConfig, UpsertScram
from console.plan.staged import Staged
from tests.lake.landed_rows import landed_in
from tests.support import worlds

PLANTED = "planted-password-8842"
LOGINS = SaslSpec(plain={"admin": Secret("admin-secret"), "alice": Secret("alice-secret")})


quiet = worlds.cluster(ClusterSpec(scenario="quiet"), scope="module")


def context(
    cluster: ThreadedCluster, name: str = "one", user: str | None = None, cluster_id: str | None = None
) -> Context:
    addresses = parse_bootstrap(cluster.bootstrap)
    if user is None:
        return Context(name, "a test", ConnectionSettings(addresses), cluster_id=cluster_id)
    sasl = SaslSettings(mechanism="PLAIN", username=user, password=Secret(f"{user}-secret"))
    return Context(name, "a test", ConnectionSettings(addresses, "SASL_PLAINTEXT", sasl), cluster_id=cluster_id)


def nobody(name: str = "gone", **more: Any) -> Context:
    return Context(name, "a test", ConnectionSettings((("127.0.0.1", 1),)), **more)


def of_run(lake: Lake, report: collecting_collect.Report, *kinds: str) -> list[dict[str, Any]]:
    return [row for row in landed_in(lake, report.run_id) if row["kind"] in kinds]


def delete_topic(name: str) -> Any:
    return lambda cluster: cluster.state.remove_topic(name)


def test_a_poll_writes_what_changed_and_that_it_polled(lake: Lake) -> None:
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        said: list[tuple[str, int, int]] = []
        first = collecting_collect.collect(lake, [context(cluster)], lambda *step: said.append(step))
        assert first.complete
        assert first.rows == 1 + sum(row["kind"] != "heartbeat" for row in landed_in(lake))
        assert [(text.partition(":")[0], done, total) for text, done, total in said] == [("one", 1, 1)]
        (one,) = first.clusters
        assert one.changed == one.resources > 40

        second = collecting_collect.collect(lake, [context(cluster)])
        assert Counter(row["kind"] for row in of_run(lake, second, "state", "absent", "heartbeat", "failed")) == {
            "heartbeat": len(collecting_collect.TYPES)
        }

        def change(cluster: EmbeddedCluster) -> None:
            cluster.state.alter_config(topic_resource("checkout.orders"), {"retention.ms": "5"})
            cluster.state.remove_topic("logistics.stock")
            quota(cluster.state, {"user": "bob", "client-id": "loader"}, producer_byte_rate=12.5)

        cluster.call(change)
        third = collecting_collect.collect(lake, [context(cluster)])
        states = of_run(lake, third, "state")
        assert {(row["entity_type"], row["entity_key"]) for row in states} == {
            ("topic", "checkout.orders"),
            ("quota", "user=bob,client-id=loader"),
        }
        assert ("retention.ms", "5", "DYNAMIC_TOPIC_CONFIG") in {(r["attr"], r["value"], r["source"]) for r in states}
        assert [row["entity_key"] for row in of_run(lake, third, "absent")] == ["logistics.stock"]
        assert (third.clusters[0].changed, third.clusters[0].gone) == (2, 1)
        assert cluster.bootstrap.split(",")[0] in {row["value"] for row in landed_in(lake)}


def test_where_the_last_state_is_lost_all_is_delivered_again(lake: Lake, quiet: ThreadedCluster) -> None:
    first = collecting_collect.collect(lake, [context(quiet)])
    cluster_id = next(iter(collecting_collect.LastStates(lake).owners()))
    kept = collecting_collect.LastStates(lake).of(cluster_id)
    (file,) = (Path(lake.where) / "collect").glob("*.json.gz")
    whole = file.read_bytes()
    for damaged in (None, b"", b"x" * 99, whole[:-9], gzip.compress(b"[[1]]")):
        file.unlink()
        if damaged is not None:
            file.write_bytes(damaged)
        assert collecting_collect.LastStates(lake).of(cluster_id) == {}
        again = collecting_collect.collect(lake, [context(quiet)])
        assert (again.clusters[0].changed, again.clusters[0].gone) == (first.clusters[0].changed, 0)
        assert collecting_collect.LastStates(lake).of(cluster_id) == kept
    still = collecting_collect.collect(lake, [context(quiet)])
    assert (still.clusters[0].changed, still.clusters[0].gone) == (0, 0)


def one_more_topic(partitions: int, cluster: EmbeddedCluster) -> None:
    add_topic(cluster.state, f"t{partitions}", partitions)


def test_only_the_last_state_is_kept(lake: Lake) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        for partitions in (1, 2, 3):
            cluster.call(partial(one_more_topic, partitions))
            collecting_collect.collect(lake, [context(cluster)])
    assert len(list((Path(lake.where) / "collect").glob("*.json.gz"))) == 1


def test_who_may_see_nothing_makes_nothing_vanish(lake: Lake) -> None:
    spec = ClusterSpec(brokers=1, sasl=LOGINS, super_users=frozenset({"User:admin"}))
    with run_in_thread(spec) as cluster:

        def fill(cluster: EmbeddedCluster) -> None:
            add_topic(cluster.state, "open", 1)
            add_topic(cluster.state, "hidden", 1, configs={"retention.ms": "7"})
            allow(cluster.state, "User:alice", "DESCRIBE", "TOPIC", "open")
            quota(cluster.state, {"user": "alice"}, producer_byte_rate=1.0)
            scram_user(cluster.state, "dave", PLANTED)

        cluster.call(fill)
        cluster_id = cluster.call(lambda cluster: cluster.state.cluster_id)
        as_admin = context(cluster, user="admin", cluster_id=cluster_id)
        as_alice = context(cluster, "as alice", user="alice", cluster_id=cluster_id)
        whole = collecting_collect.collect(lake, [as_admin])
        assert whole.complete
        before = collecting_collect.LastStates(lake).of(cluster_id)
        denied = collecting_collect.collect(lake, [as_alice])
        assert not of_run(lake, denied, "absent")
        assert collecting_collect.LastStates(lake).of(cluster_id) == before
        assert not denied.complete
        failed = {(row["entity_type"], row["entity_key"]): row["value"] for row in of_run(lake, denied, "failed")}
        assert failed["quota", None].startswith("CLUSTER_AUTHORIZATION_FAILED")
        assert failed["topic", "hidden"].startswith("TOPIC_AUTHORIZATION_FAILED")
        assert failed.keys() >= {("acl", None), ("scram", None), ("broker", "1"), ("topic", "open"), ("group", None)}
        assert {row["entity_type"] for row in of_run(lake, denied, "heartbeat")} == {"feature"}
        cluster.call(delete_topic("hidden"))
        again = collecting_collect.collect(lake, [as_alice])
        assert not of_run(lake, again, "absent"), "a topic that alice may not see: nobody tells her that it is gone"
        cluster.call(delete_topic("open"))
        assert not of_run(lake, collecting_collect.collect(lake, [as_admin]), "failed")
        gone = [row["entity_key"] for row in landed_in(lake) if row["kind"] == "absent"]
        assert sorted(gone) == ["hidden", "open"]


def test_a_broker_that_is_down_is_fenced_and_keeps_its_configs(lake: Lake) -> None:
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.alter_config(broker_resource(3), {"log.retention.ms": "9"}))
        up = collecting_collect.collect(lake, [context(cluster)])
        cluster.run(lambda c: c.broker_down(3))
        down = collecting_collect.collect(lake, [context(cluster)])
        cluster_id = str(up.clusters[0].cluster_id)
        state = collecting_collect.LastStates(lake).of(cluster_id)[collecting_collect.Resource("broker", "3")]
        assert collecting_collect.Value(":fenced", "true") in state
        assert collecting_collect.Value("log.retention.ms", "9", "DYNAMIC_BROKER_CONFIG") in state
        assert not of_run(lake, down, "absent")
        assert "broker" not in {row["entity_type"] for row in of_run(lake, down, "heartbeat")}
        assert [row["entity_key"] for row in of_run(lake, down, "failed")] == ["3"]


def test_one_that_does_not_answer_holds_up_nobody(lake: Lake, quiet: ThreadedCluster) -> None:
    slow = Fault(Delay(60.0), api="describe_client_quotas")
    with run_in_thread(ClusterSpec(brokers=1), [slow]) as waiting:
        contexts = [
            nobody(),
            context(waiting, "slow"),
            context(quiet, "one"),
            context(quiet, "the same"),
            nobody("known", cluster_id="its-id"),
            Context("another", "a test", context(quiet).settings, cluster_id="not-this-one"),
        ]
        report = collecting_collect.collect(lake, contexts, timeout=3.0)
    said = {each.context: each for each in report.clusters}
    assert list(said) == [each.name for each in contexts]
    names = {name: each.failure.name if each.failure else None for name, each in said.items()}
    assert names == {
        "gone": "UNREACHABLE",
        "slow": "TIMED_OUT",
        "one": None,
        "the same": None,
        "known": "UNREACHABLE",
        "another": "WRONG_CLUSTER",
    }
    assert said["one"].cluster_id == said["the same"].cluster_id
    rows = landed_in(lake)
    assert {row["cluster_id"] for row in rows} == {said["one"].cluster_id, "its-id", "not-this-one"}
    (failed,) = [row for row in rows if row["cluster_id"] == "its-id"]
    assert (failed["kind"], failed["entity_type"], failed["entity_key"]) == ("failed", "cluster", "known")
    assert sum(row["kind"] == "heartbeat" for row in rows) == len(collecting_collect.TYPES), (
        "one look for two contexts of a cluster"
    )
    assert "gone: UNREACHABLE" in str(report.message)


def test_a_part_that_is_not_answered_leaves_the_others(lake: Lake) -> None:
    slow = Fault(Delay(60.0), api="describe_acls")
    with run_in_thread(ClusterSpec(brokers=1, scenario="quiet"), [slow]) as cluster:
        whole = context(cluster)
        report = collecting_collect.collect(
            lake, [replace(whole, settings=replace(whole.settings, request_timeout=2.0))]
        )
    assert report.clusters[0].failure is None
    (refused,) = report.clusters[0].refused
    assert refused.startswith("acls: TIMED_OUT")
    beats = {row["entity_type"] for row in of_run(lake, report, "heartbeat")}
    assert beats == set(collecting_collect.TYPES) - {"acl"}


def test_a_cluster_that_was_polled_is_known_when_it_does_not_answer(lake: Lake) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        first = collecting_collect.collect(lake, [context(cluster)])
    lost = collecting_collect.collect(lake, [nobody("one")])
    (row,) = of_run(lake, lost, "failed")
    assert row["cluster_id"] == first.clusters[0].cluster_id
    assert (lost.rows, lost.complete) == (1, False)


def test_nothing_is_written_where_nobody_answered(lake: Lake) -> None:
    report = collecting_collect.collect(lake, [nobody()])
    assert (report.run_id, report.rows, report.complete) == ("", 0, False)
    assert "gone: UNREACHABLE" in str(report.message)
    assert not (Path(lake.where) / "landing").exists()


def test_it_goes_on_until_it_is_stopped_and_keeps_polls_while_another_writes(lake: Lake) -> None:
    reports: list[collecting_collect.Report] = []
    stop = threading.Event()
    with run_in_thread(ClusterSpec(brokers=1)) as cluster, ExitStack() as stack:
        stack.enter_context(lake.files.lock(lake.path("collect/lock"), this_process("another", "collect")))

        def told(report: collecting_collect.Report) -> None:
            reports.append(report)
            if len(reports) == 2:
                stack.close()
            if len(reports) == 3:
                stop.set()

        collecting_collect.keep_collecting(lake, lambda: [context(cluster)], 0.01, told, stop)
    assert [bool(report.run_id) for report in reports] == [False, False, True]
    assert "`collect` of" in str(reports[0].clusters[0].failure)
    polls = {row["observed_ts"] for row in landed_in(lake) if row["kind"] == "heartbeat"}
    assert len(polls) == 3
    assert sum(row["attr"] == ":endpoints" for row in landed_in(lake)) == 1


def everything_in(folder: Path) -> str:
    """Return the contents of all files of a lake, decompressed, as one text."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            parts.append((gzip.decompress(data) if path.suffix == ".gz" else data).decode("latin-1"))
    return "\n".join(parts)


def journal_lines() -> Iterator[bytes]:
    """Yield three lines of a journal: a change that sets secrets, a broker's answer that contains one of them, and a
    line that ends in the middle of a secret.
    """
    edits = (
        SetConfig(broker_resource(1), "ssl.keystore.password", Secret(PLANTED)),
        SetConfig(broker_resource(1), "plugin.of.ours", PLANTED),
        UpsertScram(ScramUser("dave", ScramMechanism.parse("SCRAM-SHA-256")), 4096, Secret(PLANTED)),
    )
    entries = tuple(journal_entries.Entry(Staged(edit, None)) for edit in edits)
    places = tuple(range(len(edits)))
    at = datetime.now(UTC)
    line = journal_entries.intent_line(
        1,
        journal_entries.Intent(
            at, "prod", Who("alice", "bob"), Origin("h", "run", 1), entries, (Request("X", 1, places),)
        ),
    )
    said = journal_entries.Ended(Status.FAILED, Failure("INVALID_CONFIG", f"Invalid value {PLANTED} for configuration"))
    yield line
    yield journal_entries.note_line(journal_entries.Answered(1, 0, at, dict.fromkeys(places, said)))
    yield line[: line.index(PLANTED.encode()) + len(PLANTED)]


def test_no_secret_is_in_the_lake(lake: Lake, tmp_path: Path) -> None:
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="{PLANTED}";'
    configs = {"listener.name.internal.plain.sasl.jaas.config": jaas, "my.plugin.token": PLANTED}
    with run_in_thread(ClusterSpec(brokers=1, static_configs=configs)) as cluster:

        def plant(cluster: EmbeddedCluster) -> None:
            cluster.state.alter_config(broker_resource(1), {"ssl.keystore.password": PLANTED})
            scram_user(cluster.state, "dave", PLANTED)

        cluster.call(plant)
        assert collecting_collect.collect(lake, [context(cluster)]).complete
    journal = tmp_path / "some-cluster.jsonl"
    journal.write_bytes(b"".join(journal_lines()))
    told = read_journal(journal, 1).to_pylist()
    assert [row["attr"] for row in told if row["quarantined"] is None] == [
        "ssl.keystore.password",
        "plugin.of.ours",
        "SCRAM-SHA-256",
    ]
    assert [row["quarantined"]["source"] for row in told if row["quarantined"]] == ["journal"]
    assert PLANTED not in repr(told)
    rows = landed_in(lake)
    hidden = {row["attr"] for row in rows if row["is_sensitive"]}
    assert hidden >= {"ssl.keystore.password", "my.plugin.token", "listener.name.internal.plain.sasl.jaas.config"}
    assert not [row for row in rows if row["is_sensitive"] and row["value"] is not None]
    found = everything_in(Path(lake.where))
    assert "ssl.keystore.password" in found
    assert "SCRAM-SHA-256" in found
    assert PLANTED not in found


def test_a_quiet_fleet_delivers_one_file_a_round_and_says_little(lake: Lake, quiet: ThreadedCluster) -> None:
    with ExitStack() as others:
        fleet = [quiet, *(others.enter_context(run_in_thread(ClusterSpec(brokers=1))) for _ in range(3))]
        contexts = [context(cluster, f"c{number}") for number, cluster in enumerate(fleet)]
        reports = []
        for _ in range(10):
            reports.append(collecting_collect.collect(lake, contexts))
            assert reports[-1].complete
    files = sorted((Path(lake.where) / "landing" / "polls").iterdir())
    assert [path.name for path in files] == [f"{report.run_id}.json.gz" for report in reports]
    assert all(path.stat().st_size < 1000 for path in files[1:])
    beats = [row for row in landed_in(lake) if row["kind"] == "heartbeat"]
    assert len(beats) == 10 * 4 * len(collecting_collect.TYPES)
    assert {row["kind"] for report in reports[1:] for row in landed_in(lake, report.run_id)} == {"heartbeat"}
