"""Tests of changes of nodes and logs on an embedded cluster: deleted records, unregistered brokers, feature levels,
voters.
"""

import json
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from console.admin.client import AdminClient
from console.admin.link import CONTROLLER, Link
from console.cli.main import run
from console.contexts.context import Context
from console.embedded import partition_log, record_batch, spec
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.faults import Cut, Fault, Moment
from console.embedded.scenarios.seed import add_topic, allow
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs_of_script
from console.model.changes import Outcome, Status
from console.model.config import topic_resource
from console.plan.reconcile import ApplyOptions
from console.session.reading import read_needs
from console.session.session import Session
from tests.embedded.record_batches import batch
from tests.support import worlds
from tests.support.changing import apply_plan
from tests.support.kafka_messages import with_fields
from tests.support.patience import PATIENCE
from tests.support.staging import staged
from tests.tui.console_app import driven_on

ACCEPTED = frozenset({"records-deleted=orders", "replicas-remain", "feature-irreversible=metadata.version"})
MD = "metadata.version"


def furnish(cluster: EmbeddedCluster) -> None:
    """Add three partitions with ten records each."""
    add_topic(cluster.state, "orders", 3, 2)
    for number in range(3):
        log = cluster.state.logs["orders", number] = partition_log.PartitionLog()
        log.append(record_batch.produced_batch(batch(*[b"x"] * 10)), 0)


cluster = worlds.cluster(spec.ClusterSpec(brokers=4), furnish)

session = worlds.session("cluster", lost_answer_timeout=0.5)


async def outcomes(session: Session, text: str) -> list[Outcome]:
    """Stage a script of edits, apply it with all warnings accepted, and return the outcome of each target."""
    report = await staged(session, text)
    assert report.added, report
    done = await apply_plan(session, ApplyOptions(risks=ACCEPTED))
    assert not done.risks
    return [outcome for result in done.results for outcome in result.outcomes]


def starts(cluster: ThreadedCluster) -> list[int]:
    return cluster.call(lambda each: [each.state.logs["orders", number].start for number in range(3)])


@pytest.mark.parametrize(("moment", "status", "left"), [(Moment.AFTER, Status.APPLIED, 4), (Moment.BEFORE, None, 0)])
async def test_a_lost_answer_is_settled_by_where_the_log_begins(
    session: Session, cluster: ThreadedCluster, moment: Moment, status: Status | None, left: int
) -> None:
    cluster.call(lambda each: each.faults.add(Fault(Cut(moment), "delete_records", times=1)))
    (found,) = await outcomes(session, "delete records topic orders partition 1 before 4")
    assert found.status is (status or Status.UNKNOWN)
    assert starts(cluster) == [0, left, 0]


@pytest.mark.parametrize(
    ("api", "text"),
    [("unregister_broker", "unregister broker 4"), ("update_features", "feature set share.version=0")],
)
@pytest.mark.parametrize(("moment", "status"), [(Moment.AFTER, Status.APPLIED), (Moment.BEFORE, Status.UNKNOWN)])
async def test_a_lost_answer_of_the_controller_is_settled(
    session: Session, cluster: ThreadedCluster, api: str, text: str, moment: Moment, status: Status
) -> None:
    cluster.run(lambda each: each.broker_down(4))

    # The first UpdateFeatures is a check, which gets an answer; the change does not.
    fault = Fault(Cut(moment), api, nth=2 if api == "update_features" else 1)
    cluster.call(lambda each: each.faults.add(fault))
    (found,) = await outcomes(session, text)
    assert found.status is status


async def test_each_leader_gets_its_own_partitions(session: Session, cluster: ThreadedCluster) -> None:
    found = await outcomes(session, "delete records topic orders before latest")
    assert [outcome.status for outcome in found] == [Status.APPLIED] * 3
    assert starts(cluster) == [10, 10, 10]
    assert cluster.call(lambda each: each.counters.total("delete_records")[0]) == 3


async def test_an_empty_cleanup_policy_lets_records_be_deleted(session: Session, cluster: ThreadedCluster) -> None:
    orders = topic_resource("orders")
    cluster.call(lambda each: each.state.alter_config(orders, {"cleanup.policy": ""}))
    (found,) = await outcomes(session, "delete records topic orders partition 1 before 4")
    assert found.status is Status.APPLIED
    assert starts(cluster) == [0, 4, 0]
    cluster.call(lambda each: each.state.alter_config(orders, {"cleanup.policy": "compact"}))
    statements = parse("delete records topic orders partition 2 before 4")
    await read_needs(session, needs_of_script(statements))
    assert session.stage(to_edits(statements[0], session.snapshot)).refused


RIGHTS = (
    ("delete records topic orders before 4", "TOPIC_AUTHORIZATION_FAILED", "needs DELETE on topic orders"),
    ("unregister broker 4", "CLUSTER_AUTHORIZATION_FAILED", "needs ALTER on the cluster"),
    ("feature set share.version=0", "CLUSTER_AUTHORIZATION_FAILED", "needs ALTER on the cluster"),
)


def only_describing(cluster: EmbeddedCluster) -> None:
    for operation in ("DESCRIBE", "DESCRIBE_CONFIGS"):
        allow(cluster.state, "User:ANONYMOUS", operation, "CLUSTER", "kafka-cluster")
        allow(cluster.state, "User:ANONYMOUS", operation, "TOPIC", "orders")


restricted = worlds.cluster(
    spec.ClusterSpec(brokers=4, super_users=frozenset()), furnish, only_describing, down=(4,), scope="module"
)
"""A fixture: a cluster on which clients may describe everything and change nothing; broker 4 is down."""


@pytest.mark.parametrize(("text", "name", "right"), RIGHTS, ids=[each[0] for each in RIGHTS])
async def test_a_missing_right_is_named(restricted: ThreadedCluster, text: str, name: str, right: str) -> None:
    settings = worlds.settings(restricted)
    with AdminClient(settings) as client:
        for outcome in await outcomes(Session(client, Context("test", "tests", settings), "test"), text):
            assert outcome.status is Status.FAILED
            assert outcome.failure is not None
            assert outcome.failure.name == name
            assert right in outcome.failure.message
            assert outcome.failure.remedy


async def test_a_broker_that_comes_back_in_between_stays_registered(session: Session, cluster: ThreadedCluster) -> None:
    cluster.run(lambda each: each.broker_down(4))
    statements = parse("unregister broker 4")
    await read_needs(session, needs_of_script(statements))
    assert session.stage(to_edits(statements[0], session.snapshot)).added
    cluster.run(lambda each: each.broker_up(4))
    report = await apply_plan(session, ApplyOptions(risks=ACCEPTED))
    assert [each.staged.edit for each in report.conflicts] == list(to_edits(statements[0], session.snapshot))
    assert not report.sent


async def test_a_broker_that_was_unregistered_registers_again_when_it_starts(
    session: Session, cluster: ThreadedCluster
) -> None:
    cluster.run(lambda each: each.broker_down(4))
    (done,) = await outcomes(session, "unregister broker 4")
    assert done.status is Status.APPLIED
    assert cluster.call(lambda each: sorted(each.state.brokers)) == [1, 2, 3]
    cluster.run(lambda each: each.broker_up(4))
    assert cluster.call(lambda each: each.state.alive()) == (1, 2, 3, 4)


async def test_the_parts_of_the_pane_of_brokers(cluster: ThreadedCluster) -> None:
    cluster.call(lambda each: each.state.set_feature("share.version", 0))
    async with driven_on(cluster) as it:
        await it.press("1", shows="active controller 1")
        assert it.lines[2].split()[:3] == ["Brokers", "Quorum", "Features"]
        await it.press("tab", shows="leader")
        assert it.line("leader").split()[:2] == ["▸leader", "1"]
        assert sum(line.strip("▸ ").startswith("voter ") for line in it.lines) == 3
        await it.press("tab", shows="4 of 4 nodes")
        assert it.line(MD).split() == [MD, "33", "4.4-IV2", "7–33"]
        assert it.line("share.version").split() == ["share.version", "off", "0–2"]
        await it.press("G", "k", "k", "enter", shows="share.version  off")
        await it.shows("1           share groups (KIP-932)")
        await it.press("escape", "e", shows="feature set share.version=")
        await it.type("1", "enter", shows="staged: feature share.version")
        assert "*share.version" in it.line("share.version")
        await it.press("shift+tab", "shift+tab", shows="<default>")
        await it.press("7", "o", shows="4 of 4 nodes")


async def test_a_broker_that_is_down_is_unregistered_from_its_row(cluster: ThreadedCluster) -> None:
    cluster.run(lambda each: each.broker_down(4))
    async with driven_on(cluster) as it:
        await it.press("1", shows="fenced")
        await it.press("g", "j", "x", shows="broker 1 is alive: only one that is down can be unregistered")
        await it.press("G", "x", shows="unregister broker 4")
        await it.press("enter", shows="staged: registration of broker 4")
        await it.press("7", shows="! replicas-remain: ")


async def test_records_are_deleted_from_the_row_of_a_partition(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster) as it:
        await it.shows("orders")
        await it.press("enter", "tab", shows="Leader")
        await it.press("j", "D", shows="delete records topic orders partition 1 before")
        await it.type("4", "enter", shows="staged: records of orders/1")
        await it.press("7", shows="delete the records before offset 4 (they begin at 0)")
        await it.shows("! records-deleted: up to 4 records of orders are deleted")
        await it.press("o", shows="Leader")
        await it.press("7", shows="! records-deleted")
        await it.press("A", shows="name:")
        await it.type("orders", "enter")
        await it.until(lambda: starts(cluster) == [0, 4, 0])


# -- Changes of an embedded cluster's voters by statements, the screen and reverts -------------------------------------

quorum = worlds.cluster(spec.ClusterSpec(brokers=4, scenario="quiet"))


def on_quorum(capsys: pytest.CaptureFixture[str], quorum: ThreadedCluster, script: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(["run", "-b", quorum.bootstrap, "-e", script]) == code, capsys.readouterr()
    return "".join(capsys.readouterr())


def roles(capsys: pytest.CaptureFixture[str], quorum: ThreadedCluster) -> dict[int, str]:
    capsys.readouterr()
    assert run(["run", "-b", quorum.bootstrap, "-e", "list quorum", "--output", "json"]) == 0
    return {row["node"]: row["role"] for row in json.loads(capsys.readouterr().out)["quorum"]}


def test_a_static_quorum_is_refused(quorum: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the quorum is static (kraft.version 0)" in on_quorum(capsys, quorum, "remove voter 2; plan", 1)
    assert "2 is a voter already" in on_quorum(capsys, quorum, "add voter 2")
    assert "the quorum is static" in on_quorum(capsys, quorum, "add voter 7", 1)


def test_a_change_for_another_cluster_is_refused(quorum: ThreadedCluster) -> None:
    """A change of voters with another cluster's id is refused with the same error as by Kafka 3.9.1 and 4.4."""

    async def changed(link: Link) -> tuple[int, str | None]:
        build = with_fields(cluster_id="another", voter_id=1, voter_directory_id=UUID(int=5))
        answer = await link.call("remove_raft_voter", build, to=CONTROLLER, change=True)
        return answer.error_code, answer.error_message

    with AdminClient(worlds.settings(quorum)) as client:
        code, message = client.submit(changed).result(PATIENCE)
    assert code == ErrorCode.inconsistent_cluster_id
    assert message is not None
    assert message.startswith('The given id "another" doesn\'t match the cluster id "')


def test_voters_leave_and_come_back(quorum: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    on_quorum(capsys, quorum, "feature set kraft.version=1; apply --yes --accept feature-irreversible=kraft.version")
    assert set(roles(capsys, quorum).values()) == {"leader", "voter"}
    shown = on_quorum(capsys, quorum, "remove voter 4; plan", 3)
    assert "voters 1, 2, 3 afterwards: 2 of 3 are needed, all follow, one more may fail" in shown
    on_quorum(capsys, quorum, "remove voter 4; apply --yes")
    assert roles(capsys, quorum)[4] == "observer"
    # The warning must be accepted if no other voter may fail afterwards.
    assert "no-spare-voter" in on_quorum(capsys, quorum, "remove voter 3; apply --yes", 3)
    assert "where controller 4 listens is unknown to brokers" in on_quorum(capsys, quorum, "add voter 4", 1)
    on_quorum(capsys, quorum, "add voter 4 at=CONTROLLER://127.0.0.1:9; apply --yes")
    assert "observer" not in roles(capsys, quorum).values()
    on_quorum(capsys, quorum, "revert 3; plan; apply --yes")
    assert roles(capsys, quorum)[4] == "observer"


def test_a_leader_that_leaves_hands_over(quorum: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    quorum.call(lambda one: one.state.set_feature("kraft.version", 1))
    (leader,) = (node for node, role in roles(capsys, quorum).items() if role == "leader")
    shown = on_quorum(capsys, quorum, f"remove voter {leader}; plan; apply --yes")
    assert f"{leader} leads: another voter is elected once it has left" in shown
    after = roles(capsys, quorum)
    assert after[leader] == "observer"
    assert list(after.values()).count("leader") == 1
