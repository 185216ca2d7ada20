"""Tests of entities that were not read or are hidden: lists, triage, files and the screen never report that there are
none.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from console.admin import cluster as admin_cluster
from console.admin import groups as admin_groups
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded import faults, replicas, spec
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.model import acl, snapshot
from console.model.cluster import Group
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.session.session import Session
from console.tui.app import Console
from tests.support import worlds
from tests.support.examples import examples
from tests.support.older_brokers import like
from tests.tui.console_app import Driven

READ_BY = {
    "topics": "metadata",
    "brokers": "describe_cluster",
    "users": "describe_client_quotas",
    "clients": "describe_client_quotas",
    "ips": "describe_client_quotas",
    "quotas": "describe_client_quotas",
    "acls": "describe_acls",
    "groups": "list_groups",
    "loggers": "describe_configs",
    "client-metrics": "list_config_resources",
    "scram": "describe_user_scram_credentials",
}
"""Kind of entity -> the API that lists it."""
CODES = [*sorted(int(code) for code in ErrorCode if code), 999]

empty = worlds.cluster(spec.ClusterSpec(brokers=2), scope="module")
"""A fixture: a cluster without entities, on which each client may describe everything."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make kac not wait for temporary errors to end, for the test."""
    monkeypatch.setattr(admin_groups, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(admin_cluster, "_SETTLE_SECONDS", 0.0)


def listed(kind: str, cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], form: str) -> tuple[int, str, str]:
    code = cli.run(["run", "-b", cluster.bootstrap, "--output", form, "-e", f"list {kind}"])
    written = capsys.readouterr()
    return code, written.out, written.err


@examples(40, at_length=120, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(sorted(READ_BY)), st.sampled_from(CODES))
def test_every_list_with_every_error(
    empty: ThreadedCluster, capsys: pytest.CaptureFixture[str], kind: str, code: int
) -> None:
    fault = faults.Fault(faults.Fail(code), api=READ_BY[kind])
    empty.call(lambda c: c.faults.add(fault))
    try:
        code_of_text, text, said = listed(kind, empty, capsys, "text")
        code_of_data, data, _ = listed(kind, empty, capsys, "json")
    finally:
        empty.call(lambda c: c.faults.clear())
    assert (code_of_text, code_of_data) == (1, 1)
    assert f"no {kind}" not in text
    assert text.startswith("! ") or "! " in text or said.startswith("kac: ")
    answers = [json.loads(line) for line in data.splitlines()]
    assert all(each["errors"] for each in answers)


@pytest.mark.parametrize("kind", sorted(set(READ_BY) - {"brokers", "loggers"}))
def test_what_is_empty_is_said_to_be(kind: str, empty: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = listed(kind, empty, capsys, "text")
    assert (code, text) == (0, f"no {kind}\n")


def test_a_cluster_without_topics_is_healthy(empty: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["triage", "-b", empty.bootstrap, "--for", "0s"]) == 0
    assert capsys.readouterr().out.startswith("healthy")


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
def test_a_metadata_answer_without_a_broker_is_none(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(like(release, brokers=2)) as cluster:
        cluster.call(lambda c: c.state.put_topic(replicas.new_topic("orders", replicas.striped([1, 2], 2, 2), [1, 2])))
        cluster.call(lambda c: c.faults.add(faults.Fault(faults.Fail(-1), api="metadata")))
        assert cli.run(["triage", "-b", cluster.bootstrap, "--for", "0s", "--output", "json"]) == 1
        written = capsys.readouterr()
        if written.out:
            verdict = json.loads(written.out)
            assert verdict["healthy"] is False
            assert "topics" in " ".join(each["what"] for each in verdict["unknowable"])
        else:
            assert "UNKNOWN_SERVER_ERROR" in written.err or "NO_BROKERS" in written.err


def put(name: str, cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(replicas.new_topic(name, replicas.striped([1, 2], 2, 2), [1, 2]))


CLUSTER_DESCRIBE = worlds.acl("User:ANONYMOUS", "DESCRIBE", "CLUSTER", "kafka-cluster")


@pytest.fixture(params=["nothing", "the cluster"])
def hidden(request: pytest.FixtureRequest) -> Iterator[tuple[ThreadedCluster, bool]]:
    """Provide a cluster with topics that ANONYMOUS may not describe, in turn with and without the right of ANONYMOUS
    to describe the cluster. Return (cluster, whether it has this right).
    """
    with run_in_thread(spec.ClusterSpec(brokers=2, super_users=frozenset())) as running:
        for name in ("orders", "payments"):
            running.call(partial(put, name))
        if request.param == "the cluster":
            running.call(lambda c: c.state.add_acl(CLUSTER_DESCRIBE))
        yield running, request.param == "the cluster"


def kac(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(list(arguments))
    written = capsys.readouterr()
    return code, written.out, written.err


def test_topics_that_are_not_shown_are_unknown(
    hidden: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, sees_disks = hidden
    at = ("-b", cluster.bootstrap)
    why = "none is visible to User:ANONYMOUS; brokers leave out those it may not DESCRIBE"
    why += "; log directories hold 2" if sees_disks else ""

    code, out, _ = kac(capsys, "triage", *at, "--for", "0s")
    first = out.splitlines()[0]
    assert (code, first.startswith("unknown: "), "topics" in first) == (1, True, True)
    assert why in out
    assert "healthy" not in out
    code, out, _ = kac(capsys, "triage", *at, "--for", "0s", "--output", "json")
    assert (code, json.loads(out)["healthy"]) == (1, False)

    code, out, _ = kac(capsys, "topics", *at, "--list")
    assert code == 1
    assert why in out
    assert "no topics" not in out

    file = tmp_path / "wanted.yaml"
    code, _, err = kac(capsys, "export", *at, "--output", str(file))
    assert code == 1
    assert why in err
    assert "# unknown topics: they could not be read" in file.read_text()

    code, out, err = kac(capsys, "snapshot", *at)
    assert code == 1
    assert why in " ".join(str(each) for each in json.loads(out)["errors"])

    groups: dict[str, Any] = json.loads(kac(capsys, "groups", *at, "--list", "--output", "json")[1])
    assert bool(groups["errors"]) is not sees_disks


@pytest.mark.parametrize(
    "words",
    [("groups", "--list"), ("groups", "--describe", "--all-groups"), ("groups", "--delete", "--all-groups", "--yes")],
)
def test_groups_that_are_not_shown_are_unknown(
    hidden: tuple[ThreadedCluster, bool], capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    cluster, sees_groups = hidden
    code, out, err = kac(capsys, words[0], "-b", cluster.bootstrap, *words[1:])
    assert (code == 0) is sees_groups
    assert ("none is visible to User:ANONYMOUS" in out + err) is not sees_groups


DESCRIBES = acl.Acl(AclResourceType(2), "*", PatternType(3), "User:ANONYMOUS", "*", AclOperation(8), Permission(3))


async def test_what_is_no_longer_shown_was_not_deleted() -> None:
    """If the principal may no longer describe a topic, which brokers then leave out of the list, kac keeps the topic,
    with a failure. Once the principal may describe it again, kac removes it if it was deleted.
    """
    with run_in_thread(spec.ClusterSpec(brokers=2, super_users=frozenset())) as running:
        for name in ("orders", "payments", "refunds"):
            running.call(partial(put, name))
        of_orders = DESCRIBES._replace(resource_name="orders")
        running.call(lambda c: c.state.add_acl(CLUSTER_DESCRIBE))
        running.call(lambda c: c.state.add_acl(DESCRIBES))
        settings_ = ConnectionSettings(parse_bootstrap(running.bootstrap))
        with AdminClient(settings_) as client:
            session = Session(client, Context("hidden", "test", settings_))
            await session.read_topics()
            assert set(session.snapshot.topics) == {"orders", "payments", "refunds"}
            running.call(lambda c: c.state.remove("acls", DESCRIBES))
            running.call(lambda c: c.state.add_acl(of_orders))
            running.call(lambda c: c.state.remove_topic("refunds"))
            await session.read_topics()
            known = session.snapshot
            why = {each.entity: each.failure.name for each in known.failures if each.part == "topics"}
            assert set(known.topics) == {"orders", "payments", "refunds"}
            assert why == dict.fromkeys(("payments", "refunds"), "TOPIC_AUTHORIZATION_FAILED")
            running.call(lambda c: c.state.remove("acls", of_orders))
            await session.read_topics()
            assert set(session.snapshot.topics) == {"orders", "payments", "refunds"}
            running.call(lambda c: c.state.add_acl(DESCRIBES))
            await session.read_topics()
            assert set(session.snapshot.topics) == {"orders", "payments"}
            assert not [each for each in session.snapshot.failures if each.part == "topics"]


async def test_groups_that_are_no_longer_shown_were_not_deleted() -> None:
    with run_in_thread(spec.ClusterSpec(brokers=2, super_users=frozenset())) as running:
        settings_ = ConnectionSettings(parse_bootstrap(running.bootstrap))
        with AdminClient(settings_) as client:
            session = Session(client, Context("hidden", "test", settings_))
            group = Group("billing", "Empty", "consumer", coordinator=1)
            at = datetime.now(UTC)
            session._learn(snapshot.with_groups(session.snapshot, {"billing": group}, whole=True, at=at))
            await session.read_groups()
            assert set(session.snapshot.groups) == {"billing"}
            (why,) = (each.failure.name for each in session.snapshot.failures if each.part == "groups")
            assert why == "NOT_VISIBLE"


def test_a_topic_that_goes_away_while_it_is_listed_is_no_secret(
    empty: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = replicas.new_topic("short-lived", replicas.striped([1, 2], 1, 1), [1, 2])
    empty.call(lambda c: c.state.put_topic(topic))
    gone = faults.Fault(faults.Meanwhile(lambda state: state.remove_topic("short-lived")), api="metadata", times=1)
    empty.call(lambda c: c.faults.add(gone))
    try:
        code, out, _ = kac(capsys, "topics", "-b", empty.bootstrap, "--list")
    finally:
        empty.call(lambda c: c.faults.clear())
    assert (code, out) == (0, "no topics\n")


def test_what_was_not_answered_was_not_looked_at() -> None:
    from console.model import snapshot as refresh
    from console.model.cluster import Broker, ClusterInfo, Topic, TopicListing
    from console.model.failure import Failure
    from console.model.snapshot import Snapshot
    from console.present.triage import healthy_text
    from console.triage.observations import begin
    from console.triage.symptoms import Poll

    at = datetime(2026, 1, 1, tzinfo=UTC)
    known = refresh.with_cluster(Snapshot(), ClusterInfo("id", 1, (Broker(1, "h", 1, None),)), at)
    known = refresh.with_topics(known, TopicListing({"t": Topic("t", ())}), whole=True, at=at)
    lacks = Failure("UNSUPPORTED", "this server does not have it", "")
    for part in ("quorum", "log_dirs", "reassignments"):
        known = refresh.with_failures(known, part, [("", lacks)])
    text = healthy_text(begin(Poll(at, known)))
    first, *rest = text.splitlines()
    assert first == "healthy: 1 broker, 1 topic, 0 groups and configs were looked at"
    assert [line.partition(":")[0] for line in rest] == ["unknown quorum", "unknown disks", "unknown moves"]


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_screen_offers_nothing_for_what_is_not_shown(
    hidden: tuple[ThreadedCluster, bool], size: tuple[int, int]
) -> None:
    settings_ = ConnectionSettings(parse_bootstrap(hidden[0].bootstrap))
    with AdminClient(settings_) as client:
        app = Console(Session(client, Context("hidden", "test", settings_)), ConsoleSettings(start_pane="now"))
        async with app.run_test(size=size) as pilot:
            it = Driven(app, pilot, client)
            await it.shows("topics unknown")
            assert "no trouble" not in it.text
            assert "healthy" not in it.text
            await it.press("2", shows="none is visible to User:ANONYMOUS")
            assert "`n` makes one" not in it.text
            assert "0 topics" not in it.text
            await it.press("5", shows="CLUSTER_AUTHORIZATION_FAILED" if not hidden[1] else "DESCRIBE   *")
            assert "no ACLs" not in it.text
