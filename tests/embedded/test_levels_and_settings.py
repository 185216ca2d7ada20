"""Eligible leader replicas take settings away from brokers: the plan says which, the journal keeps them, and a revert
puts them back; what their level does not let be set is refused when it is staged."""

from __future__ import annotations

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.files.wanted import by_levels, wanted_of
from console.files.writing import yaml_text
from console.model.changes import Status
from console.model.config import CLUSTER_DEFAULT, broker_resource
from console.model.parts import Part
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.plan.risks import effects
from console.session.journal_changes import stage_revert
from console.session.reading import read_everything
from console.session.session import Session
from tests.support import worlds
from tests.support.applied import apply_plan
from tests.support.staging import staged

ELR = "eligible.leader.replicas.version"
MIN_ISR = "min.insync.replicas"


cluster = worlds.embedded(
    ClusterSpec(brokers=3, static_configs={MIN_ISR: "1"}),
    lambda running: running.state.set_feature(ELR, 0),
    lambda running: running.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: None}),
    lambda running: running.state.alter_config(broker_resource(2), {MIN_ISR: "2", "log.cleaner.threads": "3"}),
    lambda running: running.state.alter_config(broker_resource(3), {MIN_ISR: "3"}),
)


session = worlds.session("cluster")


async def applied(session: Session) -> ApplyReport:
    done = await apply_plan(session, ApplyOptions())
    assert [outcome.status for result in done.results for outcome in result.outcomes]
    assert done.ok, done
    return done


def min_isr(cluster: EmbeddedCluster) -> dict[str, str]:
    return {each.name: own[MIN_ISR] for each, own in cluster.state.configs.items() if MIN_ISR in own}


async def test_what_a_level_takes_away_is_said_and_put_back(session: Session, cluster: EmbeddedCluster) -> None:
    await staged(session, f"feature set {ELR}=1")
    (lines,) = effects(session.plan.staged, session.snapshot).values()
    assert any("takes away the brokers' own min.insync.replicas (broker 2: 2, broker 3: 3)" in line for line in lines)
    assert any("sets min.insync.replicas as the cluster default" in line for line in lines)
    done = await applied(session)
    assert min_isr(cluster) == {"": "1"}
    assert cluster.state.configs[broker_resource(2)] == {"log.cleaner.threads": "3"}
    assert done.change is not None

    report = await stage_revert(session, done.change)
    assert report.notes == ()
    assert not report.staging.refused
    await applied(session)
    assert cluster.state.features.get(ELR, 0) == 0
    assert min_isr(cluster) == {"2": "2", "3": "3"}


async def test_without_own_values_nothing_is_said(session: Session, cluster: EmbeddedCluster) -> None:
    for broker in (2, 3):
        cluster.state.alter_config(broker_resource(broker), {MIN_ISR: None})
    cluster.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: "2"})
    await staged(session, f"feature set {ELR}=1")
    (lines,) = effects(session.plan.staged, session.snapshot).values()
    assert not any(MIN_ISR in line for line in lines)
    done = await applied(session)
    assert done.change is not None
    assert [each.edit.target.name for each in (await stage_revert(session, done.change)).staging.added] == [ELR]  # type: ignore[union-attr]


async def test_a_broker_that_can_not_be_read_is_a_loss_that_is_typed(
    session: Session, cluster: EmbeddedCluster
) -> None:
    await cluster.broker_down(3)
    await staged(session, f"feature set {ELR}=1")
    refused = await apply_plan(session, ApplyOptions())
    if not refused.risks:  # a broker that is fenced is no more among those that are up
        (lines,) = effects(session.plan.staged, session.snapshot).values()
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
    session: Session, cluster: EmbeddedCluster, text: str, why: str
) -> None:
    await staged(session, f"feature set {ELR}=1")
    (by_plan,) = (await staged(session, text)).refused
    assert why in by_plan.reason
    session.discard()
    cluster.state.set_feature(ELR, 1)
    (now,) = (await staged(session, text)).refused
    assert why in now.reason
    assert not (await staged(session, "set broker <default> min.insync.replicas=2")).refused
    assert not (await staged(session, "set broker 2 log.cleaner.threads=2")).refused
    cluster.state.set_feature(ELR, 0)
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
    session: Session, cluster: EmbeddedCluster, text: str, level: str, why: str
) -> None:
    """In whichever order they are staged, nothing of it is applied in part."""
    cluster.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: "2"})
    assert not (await staged(session, text)).refused
    (refused,) = (await staged(session, level)).refused
    assert why in refused.reason
    assert refused.remedy == "Discard that edit first."
    session.discard()
    await staged(session, level)
    assert len((await staged(session, text)).refused) == 1
    session.discard()
    assert not (await staged(session, f"{level}; set broker <default> min.insync.replicas=1")).refused


async def test_what_needs_a_level_names_it(session: Session, cluster: EmbeddedCluster) -> None:
    cluster.state.set_feature("metadata.version", 29)
    (refused,) = (await staged(session, "set broker 1 cordoned.log.dirs=/data")).refused
    assert "cordoned.log.dirs needs metadata.version 30 (4.3-IV0), and it is 29" in refused.reason
    assert not (await staged(session, "feature set metadata.version=30; set broker 1 cordoned.log.dirs=/data")).refused


async def test_an_export_marks_what_the_level_holds(session: Session, cluster: EmbeddedCluster) -> None:
    await staged(session, f"feature set {ELR}=1")
    assert all(o.status is Status.APPLIED for r in (await applied(session)).results for o in r.outcomes)
    await read_everything(session)
    await session.read_whole(Part.FEATURES)
    text = yaml_text(wanted_of(session.snapshot), "x", notes=by_levels(session.snapshot))
    mark = f"    # while {ELR} is on it can't be taken away, and brokers have none of their own\n"
    assert f'{mark}    min.insync.replicas: "1"\n' in text
