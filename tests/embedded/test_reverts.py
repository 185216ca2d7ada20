"""Tests of reverting changes, and of changes that other clients revert."""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.cli import main as cli
from console.contexts import load
from console.contexts.context import Context
from console.embedded import replicas, spec
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.faults import Delay, Fail, Fault, Meanwhile
from console.embedded.scenarios.seed import add_topic
from console.files import plan_file, wanted, writing
from console.model import acl, changes, parts, secret, snapshot
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission, ScramMechanism
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.plan import edits as plan_edits
from console.plan import reversal, risks
from console.plan.edits import SetConfig
from console.plan.plan import EMPTY, stage
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.plan.staged import Staged
from console.session import applying, reading, triage_polls
from console.session.journal_changes import RevertReport, stage_revert
from console.session.read_again import read_again
from console.session.session import Session, Work
from console.triage.diagnosis import diagnose
from console.triage.observations import begin
from console.wire.schemas import api_key
from tests.support import children, cutting_proxy, model_cluster, patience, worlds
from tests.support.changing import apply_plan
from tests.support.staging import staged
from tests.support.worlds import Kac, commands_on

ORDERS = topic_resource("orders")
RETENTION = "retention.ms"
ALICE = changes.ScramUser("alice", ScramMechanism(1))

cluster = worlds.embedded(spec.ClusterSpec(brokers=1))

client = worlds.client("cluster", lost_answer_timeout=1.0)


def make(cluster: EmbeddedCluster, name: str = "orders", partitions: int = 1) -> None:
    """Create a topic as another client would, after deleting any topic of that name."""
    if name in cluster.state.topics:
        cluster.state.remove_topic(name)
    cluster.state.put_topic(replicas.new_topic(name, replicas.striped([1], partitions, 1), [1]))


def journal() -> Path:
    (path,) = Path(os.environ["HOME"], ".local", "state", "kac", "journal").iterdir()
    return path


def topic_id(cluster: EmbeddedCluster) -> object:
    topic = cluster.state.topics.get("orders")
    return topic.id if topic is not None else None


def session_of(client: AdminClient) -> Session:
    return Session(client, Context("test", "tests", client.settings), "test")


async def change(client: AdminClient, *edits: plan_edits.Edit) -> int:
    session = session_of(client)
    await session.read_cluster()
    await session.read_topics()
    await read_again(session, edits)
    assert len(session.stage(edits).added) == len(edits)
    report = await apply_plan(session)
    assert report.ok, report
    assert report.change is not None
    return report.change


async def revert(client: AdminClient, number: int, *, force: bool = False) -> tuple[RevertReport, ApplyReport]:
    """Stage the revert of a change, given by its number, and apply it. Return both reports."""
    session = session_of(client)
    staged = await stage_revert(session, number)
    return staged, await apply_plan(session, ApplyOptions(force=force))


def reasons(report: ApplyReport) -> str:
    assert not report.sent
    return "; ".join(conflict.why for conflict in report.conflicts)


CREATE = plan_edits.CreateTopic(changes.NewTopic("orders", 1, 1))


async def test_its_own_topic_is_deleted_again(cluster: EmbeddedCluster, client: AdminClient) -> None:
    number = await change(client, CREATE)
    staged, report = await revert(client, number)
    assert not staged.moved
    assert report.ok
    assert topic_id(cluster) is None


async def test_a_topic_of_the_same_name_that_somebody_made_since_is_not_deleted(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    number = await change(client, CREATE)
    make(cluster)
    theirs = topic_id(cluster)
    staged, report = await revert(client, number)
    assert len(staged.moved) == 1, "it is shown when it is staged"
    assert reasons(report) == "topic orders was deleted and created again since"
    assert topic_id(cluster) == theirs
    _, report = await revert(client, number, force=True)
    assert report.sent
    assert topic_id(cluster) is None


async def test_a_topic_that_a_later_change_of_ones_own_made_is_not_deleted(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    first = await change(client, CREATE)
    await change(client, plan_edits.DeleteTopic("orders"))
    third = await change(client, CREATE)
    mine = topic_id(cluster)
    _, report = await revert(client, first)
    assert "created again" in reasons(report)
    assert topic_id(cluster) == mine
    _, report = await revert(client, third)
    assert report.ok
    assert topic_id(cluster) is None


async def test_the_id_is_known_where_the_answer_of_the_creation_was_lost(
    cluster: EmbeddedCluster, own_home: Path
) -> None:
    async with cutting_proxy.CuttingProxy(cluster.addresses[1]) as proxy:
        with AdminClient(ConnectionSettings((proxy.address,), lost_answer_timeout=1.0)) as client:
            proxy.arm(api_key("create_topics"), cutting_proxy.Cut.AFTER, skip=1)
            number = await change(client, CREATE)
            make(cluster)
            assert "created again" in reasons((await revert(client, number))[1])


async def test_where_no_id_is_known_it_says_so_and_asks(cluster: EmbeddedCluster, client: AdminClient) -> None:
    """If the journal lacks a topic's id, as after an earlier version of kac, a revert says that the id is unknown, and
    is applied only if the operator accepts that.
    """
    number = await change(client, CREATE)
    path = journal()
    path.write_text(path.read_text().replace('"topic_id"', '"former"'))
    _, report = await revert(client, number)
    assert "is unknown" in reasons(report)
    assert topic_id(cluster) is not None
    session = session_of(client)
    await stage_revert(session, number)
    seen = (await apply_plan(session)).conflicts
    assert (await apply_plan(session, ApplyOptions(accepted=seen))).ok, "an operator who has seen it may go on"
    assert topic_id(cluster) is None


@pytest.mark.parametrize(
    "edit", [plan_edits.SetConfig(ORDERS, RETENTION, "5000"), plan_edits.UnsetConfig(ORDERS, RETENTION)]
)
async def test_a_config_of_a_topic_that_was_made_again_with_the_same_value(
    cluster: EmbeddedCluster, client: AdminClient, edit: plan_edits.Edit
) -> None:
    make(cluster)
    cluster.state.alter_config(ORDERS, {RETENTION: "1000"})
    number = await change(client, edit)
    own = dict(cluster.state.configs.get(ORDERS, {}))
    make(cluster)
    cluster.state.replace_config(ORDERS, own)
    _, report = await revert(client, number)
    assert reasons(report) == "topic orders was deleted and created again since"
    assert cluster.state.configs.get(ORDERS, {}) == own


async def test_what_is_staged_for_a_topic_is_not_sent_to_another_of_its_name(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    """If a topic is deleted and created again, no staged edit of the former topic is sent: neither a revert nor any
    other edit, nor a plan in a file.
    """
    make(cluster)
    session = session_of(client)
    edit = plan_edits.SetConfig(ORDERS, RETENTION, "5000")
    await session.read_topics()
    await read_again(session, [edit])
    session.stage([edit])
    kept = plan_file.read_plan(plan_file.write_plan(session.plan, "cluster"), "plan.json")
    make(cluster)
    assert "created again" in reasons(await apply_plan(session))
    await session.read_topics()
    await read_again(session, [edit])
    (moved,) = plan_file.moved_since(kept, session.plan, session.snapshot)
    assert "created again" in moved.why


async def test_a_later_change_of_the_same_place_stops_it_though_the_value_is_the_same(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    make(cluster)
    first = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    second = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "6000"))
    await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    _, report = await revert(client, first)
    assert f"change {second}" in reasons(report)
    assert cluster.state.configs[ORDERS] == {RETENTION: "5000"}


async def test_a_later_change_that_was_taken_back_does_not(cluster: EmbeddedCluster, client: AdminClient) -> None:
    make(cluster)
    first = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    second = await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "6000"))
    assert (await revert(client, second))[1].ok
    assert (await revert(client, first))[1].ok
    assert not cluster.state.configs.get(ORDERS)


@pytest.mark.parametrize("iterations", [4096, 8192])
async def test_a_user_that_was_made_again_since_is_not_deleted_unasked(
    cluster: EmbeddedCluster, client: AdminClient, iterations: int
) -> None:
    """If a SCRAM credential was set again since a change created it, the change's revert asks before it deletes the
    credential. It asks even if the iterations are the same, because kac can't see whether the password changed.
    """
    number = await change(client, plan_edits.UpsertScram(ALICE, 4096, secret.Secret("first")))
    theirs = plan_edits.UpsertScram(ALICE, iterations, secret.Secret("second"))
    other = Session(client, Context("other", "tests", client.settings, journal=False), "test")
    await read_again(other, [theirs])
    other.stage([theirs])
    assert (await apply_plan(other)).ok
    before = dict(cluster.state.scram)
    _, report = await revert(client, number)
    assert "can't be seen" in reasons(report)
    assert dict(cluster.state.scram) == before
    _, report = await revert(client, number, force=True)
    assert report.sent
    assert not cluster.state.scram


async def test_the_journal_has_the_ids(cluster: EmbeddedCluster, client: AdminClient) -> None:
    await change(client, CREATE)
    await change(client, plan_edits.SetConfig(ORDERS, RETENTION, "5000"))
    path = journal()
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    created = next(line for line in lines if line["kind"] == "outcome" and line["change"] == 1)
    edited = next(line for line in lines if line["kind"] == "intent" and line["change"] == 2)
    session = session_of(client)
    await session.read_topics()
    known = session.snapshot.topics["orders"].topic_id
    assert known
    assert created["edits"]["0"]["topic_id"] == known
    assert edited["edits"][0]["topic_id"] == known


# -- A change that another client reverts is reported, right after the apply and when it is made again -----------------

KEY, OURS, THEIRS = "retention.ms", "222222222", "111111111"


def _theirs(value: str, with_t: EmbeddedCluster) -> None:
    with_t.state.alter_config(topic_resource("t"), {KEY: value})


with_t = worlds.cluster(spec.ClusterSpec(brokers=1), lambda each: add_topic(each.state, "t", 1, 1))

on_t = worlds.commands("with_t")


def test_what_was_set_back_before_is_counted(with_t: ThreadedCluster, on_t: Kac) -> None:
    apply = partial(on_t, "run", "-e", f"set topic t {KEY}={OURS}; apply --yes")
    told = []
    for _ in range(4):
        with_t.call(partial(_theirs, THEIRS))
        done = apply()
        assert done.code == 0, done
        told.append(done.complaints)
    assert "set back" not in told[0]
    assert f"topic t {KEY}: change 1 made the same, and it was set back since" in told[1]
    assert f"topic t {KEY}: changes 1, 2, 3 made the same, and it was set back 3 times" in told[3]


@pytest.mark.parametrize(
    "between",
    [
        f"set topic t {KEY}=555555555; apply --yes",
        "revert 1; apply --yes",
        "delete topic t; apply --yes --accept topic-deleted=t",
    ],
)
def test_what_we_changed_ourselves_was_not_set_back(with_t: ThreadedCluster, on_t: Kac, between: str) -> None:
    assert on_t("run", "-e", f"set topic t {KEY}={OURS}; apply --yes").code == 0
    assert on_t("run", "-e", between).code == 0
    with_t.call(lambda each: "t" in each.state.topics or add_topic(each.state, "t", 1, 1))
    with_t.call(partial(_theirs, THEIRS))
    done = on_t("run", "-e", f"set topic t {KEY}={OURS}; apply --yes")
    assert done.code == 0, done
    assert "set back" not in done.complaints


@pytest.mark.parametrize("shown", [(THEIRS, OURS), (THEIRS, THEIRS)])
def test_a_value_that_is_as_before_right_after_is_looked_at_again(
    shown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(applying, "SPREADS_WITHIN", 0.1)
    known = {
        value: model_cluster.ModelCluster(topics={"t": 1}, configs={topic_resource("t"): {KEY: value}}).describe()
        for value in (OURS, THEIRS)
    }
    (staged,) = stage(EMPTY, [SetConfig(topic_resource("t"), KEY, OURS)], known[THEIRS]).added

    async def looked(_again: Iterable[Staged]) -> snapshot.Snapshot:
        return known[shown[-1]]

    found = asyncio.run(applying._set_back(Work(), lambda *_: None, [staged], looked, known[shown[0]]))
    assert [each.staged for each in found] == ([staged] if shown[-1] == THEIRS else [])


# -- Eligible leader replicas remove configs of brokers ----------------------------------------------------------------

ELR = "eligible.leader.replicas.version"
MIN_ISR = "min.insync.replicas"

levelled = worlds.embedded(
    spec.ClusterSpec(brokers=3, static_configs={MIN_ISR: "1"}),
    lambda running: running.state.set_feature(ELR, 0),
    lambda running: running.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: None}),
    lambda running: running.state.alter_config(broker_resource(2), {MIN_ISR: "2", "log.cleaner.threads": "3"}),
    lambda running: running.state.alter_config(broker_resource(3), {MIN_ISR: "3"}),
)

session = worlds.session("levelled")


async def applied(session: Session) -> ApplyReport:
    done = await apply_plan(session, ApplyOptions())
    assert [outcome.status for result in done.results for outcome in result.outcomes]
    assert done.ok, done
    return done


def min_isr(levelled: EmbeddedCluster) -> dict[str, str]:
    return {each.name: own[MIN_ISR] for each, own in levelled.state.configs.items() if MIN_ISR in own}


async def test_what_a_level_takes_away_is_said_and_put_back(session: Session, levelled: EmbeddedCluster) -> None:
    await staged(session, f"feature set {ELR}=1")
    (lines,) = risks.effects(session.plan.staged, session.snapshot).values()
    assert any("takes away the brokers' own min.insync.replicas (broker 2: 2, broker 3: 3)" in line for line in lines)
    assert any("sets min.insync.replicas as the cluster default" in line for line in lines)
    done = await applied(session)
    assert min_isr(levelled) == {"": "1"}
    assert levelled.state.configs[broker_resource(2)] == {"log.cleaner.threads": "3"}
    assert done.change is not None

    report = await stage_revert(session, done.change)
    assert report.notes == ()
    assert not report.staging.refused
    await applied(session)
    assert levelled.state.features.get(ELR, 0) == 0
    assert min_isr(levelled) == {"2": "2", "3": "3"}


async def test_without_own_values_nothing_is_said(session: Session, levelled: EmbeddedCluster) -> None:
    for broker in (2, 3):
        levelled.state.alter_config(broker_resource(broker), {MIN_ISR: None})
    levelled.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: "2"})
    await staged(session, f"feature set {ELR}=1")
    (lines,) = risks.effects(session.plan.staged, session.snapshot).values()
    assert not any(MIN_ISR in line for line in lines)
    done = await applied(session)
    assert done.change is not None
    assert [each.edit.target.name for each in (await stage_revert(session, done.change)).staging.added] == [ELR]  # type: ignore[union-attr]


async def test_a_broker_that_can_not_be_read_is_a_loss_that_is_typed(
    session: Session, levelled: EmbeddedCluster
) -> None:
    await levelled.broker_down(3)
    await staged(session, f"feature set {ELR}=1")
    refused = await apply_plan(session, ApplyOptions())
    if not refused.risks:  # a fenced broker no longer counts as running
        (lines,) = risks.effects(session.plan.staged, session.snapshot).values()
        assert any("broker 2: 2" in line for line in lines)
        return
    (risk,) = refused.risks
    assert risk.accepted_as == f"feature-irreversible={ELR}"
    assert "of brokers 3" in risk.text
    assert not refused.sent


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("set broker 2 min.insync.replicas=1", "brokers have no min.insync.replicas of their own while"),
        ("unset broker 2 min.insync.replicas", "brokers have no min.insync.replicas of their own while"),
        ("unset broker <default> min.insync.replicas", "the cluster's min.insync.replicas can't be taken away while"),
    ],
)
async def test_what_the_level_forbids_is_refused_when_it_is_staged(
    session: Session, levelled: EmbeddedCluster, text: str, why: str
) -> None:
    await staged(session, f"feature set {ELR}=1")
    (by_plan,) = (await staged(session, text)).refused
    assert why in by_plan.reason
    session.discard()
    levelled.state.set_feature(ELR, 1)
    (now,) = (await staged(session, text)).refused
    assert why in now.reason
    assert not (await staged(session, "set broker <default> min.insync.replicas=2")).refused
    assert not (await staged(session, "set broker 2 log.cleaner.threads=2")).refused
    levelled.state.set_feature(ELR, 0)
    session.discard()
    assert not (await staged(session, "set broker 2 min.insync.replicas=1")).refused


@pytest.mark.parametrize(
    ("text", "level", "why"),
    [
        (
            "set broker 2 min.insync.replicas=1",
            f"feature set {ELR}=1",
            "the plan edits min.insync.replicas of broker 2, and brokers have no min.insync.replicas of their own",
        ),
        (
            "unset broker <default> min.insync.replicas",
            f"feature set {ELR}=1",
            "the plan edits min.insync.replicas of broker <default>, and the cluster's min.insync.replicas can't be",
        ),
    ],
)
async def test_a_level_that_forbids_what_is_staged_is_refused(
    session: Session, levelled: EmbeddedCluster, text: str, level: str, why: str
) -> None:
    """If a feature level and another staged edit exclude each other, the one that is staged second is refused as a
    whole.
    """
    levelled.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: "2"})
    assert not (await staged(session, text)).refused
    (refused,) = (await staged(session, level)).refused
    assert why in refused.reason
    assert refused.remedy == "Discard that edit first."
    session.discard()
    await staged(session, level)
    assert len((await staged(session, text)).refused) == 1
    session.discard()
    assert not (await staged(session, f"{level}; set broker <default> min.insync.replicas=1")).refused


async def test_what_needs_a_level_names_it(session: Session, levelled: EmbeddedCluster) -> None:
    levelled.state.set_feature("metadata.version", 29)
    (refused,) = (await staged(session, "set broker 1 cordoned.log.dirs=/data")).refused
    assert "cordoned.log.dirs needs metadata.version 30 (4.3-IV0), and it is 29" in refused.reason
    assert not (await staged(session, "feature set metadata.version=30; set broker 1 cordoned.log.dirs=/data")).refused


async def test_an_export_marks_what_the_level_holds(session: Session, levelled: EmbeddedCluster) -> None:
    await staged(session, f"feature set {ELR}=1")
    assert all(o.status is changes.Status.APPLIED for r in (await applied(session)).results for o in r.outcomes)
    await reading.read_everything(session)
    await session.read_whole(parts.Part.FEATURES)
    text = writing.yaml_text(wanted.wanted_of(session.snapshot), "x", notes=wanted.by_levels(session.snapshot))
    mark = f"    # while {ELR} is on it can't be taken away, and brokers have none of their own\n"
    assert f'{mark}    min.insync.replicas: "1"\n' in text


# -- commands and the journal ------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]

with_orders = worlds.cluster(spec.ClusterSpec(brokers=1), worlds.topic("orders", 1, 1, brokers=[1]), scope="module")


@pytest.fixture
def on_orders(with_orders: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> Kac:
    with_orders.call(lambda c: c.state.replace_config(ORDERS, {}))
    return commands_on(with_orders, capsys)


def own(with_orders: ThreadedCluster) -> dict[str, str]:
    return with_orders.call(lambda c: dict(c.state.configs.get(ORDERS, {})))


def test_a_change_its_history_and_its_revert(on_orders: Kac, with_orders: ThreadedCluster) -> None:
    done = on_orders("run", "-e", "set topic orders retention.ms=1d; apply --yes")
    assert done.code == 0
    assert "change 1: revert 1 takes it back" in done.out
    (row,) = json.loads(on_orders("run", "-e", "history topic orders", "--output", "json").out)["history"]
    assert (row["change"], row["state"], row["door"]) == (1, "applied", "run")
    assert row["was"]["source"] == "DEFAULT_CONFIG"
    assert "orders" in on_orders("history", "orders").out
    assert "no changes" in on_orders("history", "payments").out
    assert on_orders("run", "-e", "revert 1; apply --yes").code == 0
    assert own(with_orders) == {}
    assert "taken back by 2" in on_orders("history").out
    refused = on_orders("run", "-e", "revert 9")
    assert refused.code == 1
    assert "its changes are 1 to 2" in refused.complaints
    assert on_orders("run", "-e", "revert x").code == 1


def test_a_revert_that_does_nothing_is_no_success(on_orders: Kac, with_orders: ThreadedCluster) -> None:
    """A revert without an effect fails, and kac offers no revert of a change that was not applied."""
    gone = Fault(Fail(7), api="incremental_alter_configs", nth=2, times=1)
    with_orders.call(lambda c: c.faults.add(gone))
    failed = on_orders("run", "-e", "set topic orders retention.ms=1d; apply --yes")
    with_orders.call(lambda c: c.faults.clear())
    assert failed.code == 1
    assert "takes it back" not in failed.out
    assert "change 1: outcome unknown" in failed.out
    assert "kac history --settle 1" in failed.out
    refused = on_orders("run", "-e", "revert 1")
    assert refused.code == 1
    assert "its outcome is unknown" in refused.out
    assert on_orders("history", "--settle", "1", "not-applied", "--why", "the broker said so").code == 0
    refused = on_orders("run", "-e", "revert 1; apply --yes")
    assert refused.code == 1
    assert "nothing to take back, it is not applied" in refused.out
    assert on_orders("run", "-e", "set topic orders retention.ms=1d; apply --yes").code == 0
    with_orders.call(lambda c: c.state.replace_config(ORDERS, {}))
    nothing = on_orders("run", "-e", "revert 2; apply --yes")
    assert nothing.code == 1
    assert "not needed: topic orders retention.ms" in nothing.out


def test_what_was_set_for_a_time(on_orders: Kac, with_orders: ThreadedCluster) -> None:
    assert "nothing was set for a time" in on_orders("due").out
    assert on_orders("run", "-e", "set topic orders retention.ms=1d for 1ms; apply --yes").code == 0
    told = on_orders("run", "-e", "show topic orders")
    assert told.code == 0
    assert "topic orders retention.ms of change 1 is to be taken back" in told.complaints
    (row,) = json.loads(on_orders("due", "--output", "json").out)["due"]
    assert row["state"] == "due"
    assert on_orders("due", "--apply").code == 0
    assert own(with_orders) == {}
    assert on_orders("run", "-e", "show topic orders").complaints == ""
    assert on_orders("run", "-e", "set topic orders retention.ms=1d for 1ms; apply --yes").code == 0
    with_orders.call(lambda c: c.state.alter_config(ORDERS, {"retention.ms": "7"}))
    stopped = on_orders("due", "--apply")
    assert stopped.code == 1
    assert "7 (topic)" in stopped.out
    assert own(with_orders) == {"retention.ms": "7"}
    assert on_orders("due", "--forget", "3").code == 0
    assert "nothing was set for a time" in on_orders("due").out


def test_somebody_else(on_orders: Kac, with_orders: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another client changes the key between a script's read and its apply, kac shows the other client's value
    and sends nothing. With --force it overwrites this value.
    """
    stage, values = Session.stage, iter(("4711", "4712"))

    def staged_and_changed(self: Session, *arguments: object) -> object:
        report = stage(self, *arguments)  # type: ignore[arg-type]
        with_orders.call(lambda c: c.state.alter_config(ORDERS, {"retention.ms": next(values)}))
        return report

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Session, "stage", staged_and_changed)
        stopped = on_orders("run", "-e", "set topic orders retention.ms=1d; apply --yes")
        assert stopped.code == 1
        assert "4711 (≈ 4.71 s, topic)" in stopped.out
        assert "nothing was sent" in stopped.out
        assert own(with_orders) == {"retention.ms": "4711"}
        forced = on_orders("run", "-e", "set topic orders retention.ms=2d; apply --yes --force")
    assert forced.code == 0
    assert "overwritten by this apply:" in forced.out
    assert "4712 (≈ 4.71 s, topic)" in forced.out
    assert own(with_orders) == {"retention.ms": "172800000"}


def test_a_journal_that_can_not_be_written_keeps_a_change_back(on_orders: Kac, with_orders: ThreadedCluster) -> None:
    assert on_orders("run", "-e", "set topic orders retention.ms=1d; apply --yes").code == 0
    # Change the journal as if the process of the change had ended, and its last line had been cut off.
    whole = journal().read_bytes().replace(f'"pid":{os.getpid()},'.encode(), b'"pid":4194305,')
    journal().write_bytes(whole[:-9])
    change = ("run", "-e", "set topic orders retention.ms=2d; apply --yes")
    refused = on_orders(*change)
    assert refused.code == 1
    assert "JOURNAL_CUT" in refused.complaints
    assert "kac history --mend" in refused.complaints
    assert own(with_orders) == {"retention.ms": "86400000"}
    loud = on_orders("run", "--no-journal", *change[1:])
    assert loud.code == 0
    assert "not written into the journal" in loud.complaints
    assert own(with_orders) == {"retention.ms": "172800000"}
    assert "the truncated record is closed" in on_orders("history", "--mend").complaints
    settled = on_orders("run", "-e", "set topic orders retention.ms=3d; apply --yes")
    assert settled.code == 0
    assert "outcome unknown: change 1" in settled.complaints, "another value is there: nobody can tell"
    assert own(with_orders) == {"retention.ms": "259200000"}


def test_leftovers_as_a_script(on_orders: Kac, with_orders: ThreadedCluster) -> None:
    key = "leader.replication.throttled.replicas"
    with_orders.call(lambda c: c.state.alter_config(ORDERS, {key: "0:1"}))
    script = on_orders("leftovers", "--script").out
    assert f"unset topic orders {key}" in script.splitlines()
    assert on_orders("run", "-e", f"{script}\napply --yes").code == 0
    assert own(with_orders) == {}
    assert "no throttle is left over" in on_orders("leftovers").out


def test_leftovers_of_this_journal_and_those_that_are_meant(
    on_orders: Kac, with_orders: ThreadedCluster, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, other = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
    assert on_orders("run", "-e", f"set topic orders {key}=0:1; apply --yes").code == 0
    with_orders.call(lambda c: c.state.alter_config(ORDERS, {other: "0:2"}))
    found = json.loads(on_orders("leftovers", "--output", "json").out.splitlines()[-1])["leftovers"]
    number = {each["key"]: each["change"] for each in found}
    assert number[other] is None
    assert isinstance(number[key], int)
    assert f"change {number[key]} of this journal" in on_orders("leftovers").out
    with_orders.call(lambda c: c.state.alter_config(ORDERS, {key: "1:1"}))
    (again,) = [
        each for each in json.loads(on_orders("leftovers", "--output", "json").out)["leftovers"] if each["key"] == key
    ]
    assert again["change"] is None, "another client set it to something else since"

    config = own_home / ".config" / "kac" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[contexts.c]\n"bootstrap.servers" = "{with_orders.bootstrap}"\nthrottles = ["topic orders {key}"]\n'
    )
    capsys.readouterr()
    assert cli.run(["leftovers", "-c", "c", "--script"]) == 0
    assert capsys.readouterr().out == f"unset topic orders {other}\n", "what is meant is not told"


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ('["broker <default> leader.replication.throttled.rate"]', True),
        ('["broker 3 follower.replication.throttled.rate", "topic a leader.replication.throttled.replicas"]', True),
        ('"broker 1 leader.replication.throttled.rate"', False),
        ('["broker one leader.replication.throttled.rate"]', False),
        ('["topic orders retention.ms"]', False),
        ("[1]", False),
    ],
)
def test_throttles_that_are_meant_are_declared(tmp_path: Path, text: str, fine: bool) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[contexts.c]\n"bootstrap.servers" = "b"\nthrottles = {text}\n')
    found = load({"KAC_CONFIG": str(file)}, tmp_path)
    assert bool(found.contexts) is fine
    assert fine or f"{file}:3: throttles is as" in found.broken[0].problem


def test_ctrl_c_waits_for_a_change_in_flight(with_orders: ThreadedCluster, tmp_path: Path, own_home: Path) -> None:
    """If Ctrl-C comes while a broker handles a change, kac waits for the outcome and writes it into the journal."""
    running = threading.Event()
    with_orders.call(lambda c: c.state.replace_config(ORDERS, {}))
    fault = Fault(Delay(2.0), api="incremental_alter_configs", nth=2, times=1)
    notice = Fault(Meanwhile(lambda _state: running.set()), api="incremental_alter_configs", nth=2, times=1)
    with_orders.call(lambda c: (c.faults.add(notice), c.faults.add(fault)))
    script = "set topic orders retention.ms=1d; apply --yes; set topic orders retention.ms=2d; apply --yes"
    command = [sys.executable, "-m", "console", "run", "-b", with_orders.bootstrap, "-e", script]
    with (tmp_path / "out").open("w") as out:
        process = children.Child(command, stdout=out, stderr=out, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert running.wait(patience.PATIENCE)
        process.send_signal(signal.SIGINT)
        assert process.wait(patience.PATIENCE) == cli.INTERRUPTED
    with_orders.call(lambda c: c.faults.clear())
    assert own(with_orders) == {"retention.ms": "86400000"}
    kinds = [json.loads(line)["kind"] for line in journal().read_text().splitlines()]
    assert kinds == ["intent", "sending", "outcome"]


async def test_who_may_change_and_not_look_changes_and_is_told(own_home: Path) -> None:
    """If the user may change but not describe a config, kac applies the edit, but says before that the earlier value
    was not read, and does not stage a revert afterwards.
    """
    users = {"alice": secret.Secret("alice-secret")}
    async with EmbeddedCluster(spec.ClusterSpec(brokers=1, sasl=spec.SaslSpec(plain=users))) as running:
        state = running.state
        state.put_topic(replicas.new_topic("orders", replicas.striped([1], 1, 1), [1]))
        state.alter_config(ORDERS, {"retention.ms": "1000"})
        rights = (("DESCRIBE", "ALLOW"), ("ALTER_CONFIGS", "ALLOW"), ("DESCRIBE_CONFIGS", "DENY"))
        for operation, permission in rights:
            what = (AclResourceType(2), "orders", PatternType(3), "User:alice", "*", AclOperation.parse(operation))
            state.add_acl(acl.Acl(*what, Permission.parse(permission)))
        sasl = SaslSettings(mechanism="PLAIN", username="alice", password=users["alice"])
        with worlds.session_on(
            ConnectionSettings(tuple(running.addresses.values()), "SASL_PLAINTEXT", sasl), "console"
        ) as session:
            edit = SetConfig(ORDERS, "retention.ms", "3600000")
            await read_again(session, [edit])
            (staged,) = session.stage([edit]).added
            assert reversal.losses([staged]) == ((staged, "what was there before was not read"),)
            report = await apply_plan(session)
            assert report.ok, report
            assert state.configs[ORDERS] == {"retention.ms": "3600000"}
            assert report.change is not None
            back = await stage_revert(session, report.change)
            assert not session.plan
            assert "was not read" in back.notes[0]


async def test_triage_holds_what_is_meant(with_orders: ThreadedCluster) -> None:
    place = (ORDERS, "leader.replication.throttled.replicas")
    settings = worlds.settings(with_orders)
    with_orders.call(lambda c: c.state.replace_config(ORDERS, {place[1]: "0:1"}))

    async def told(context: Context) -> bool:
        with AdminClient(settings) as client:
            async with triage_polls.Poller(Session(client, context, "test")) as poller:
                verdict = diagnose(begin(await poller.poll(whole=True)))
                return any(each.claim.cause == "replication-throttled" for each in verdict.causes)

    assert await told(Context("test", "tests", settings))
    assert not await told(Context("test", "tests", settings, throttles=frozenset({place})))
