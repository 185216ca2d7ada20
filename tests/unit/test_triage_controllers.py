"""Tests of causes when kac is connected to controllers only: stopped nodes, and the node to start first."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from console.model.cluster import Broker, ClusterInfo, Quorum, QuorumReplica
from console.model.codes import STATIC_BROKER_CONFIG, ConfigType
from console.model.config import ConfigEntry, ConfigListing, ConfigSet, broker_resource
from console.model.snapshot import Snapshot, asking_quorum, with_cluster, with_configs, with_quorum
from console.present.triage import healthy_text, polling_text
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import after, begin
from console.triage.symptoms import Poll, Subject

START = datetime(2026, 1, 1, 3, tzinfo=UTC)
TICK = timedelta(seconds=5)
CONTROLLERS = (101, 102, 103)


def ms(at: datetime, ago: float = 0) -> int:
    return int((at.timestamp() - ago) * 1000)


def replica(node: int, at: datetime, ago: float = 0, directory: str = "") -> QuorumReplica:
    lag = int(ago * 2)
    return QuorumReplica(node, 1000 - lag, lag, ms(at, ago), ms(at, ago), directory or f"of-{node}")


def seen(
    at: datetime,
    brokers: dict[int, float],
    *,
    voters: tuple[QuorumReplica, ...] | None = None,
    more: tuple[QuorumReplica, ...] = (),
    controllers: tuple[int, ...] = CONTROLLERS,
    roles: str = "controller",
    leader: int = 101,
) -> Snapshot:
    """Return the snapshot at a time, as controllers describe it.

    brokers: broker id -> seconds since its last fetch. voters: None for the usual voters. more: further observers.
    controllers: ids of the listed controllers.
    """
    nodes = tuple(Broker(each, f"c{each}", 9093) for each in controllers)
    known = with_cluster(Snapshot(), ClusterInfo("id", leader, (), controllers=nodes), at)
    given = voters or tuple(replica(each, at) for each in CONTROLLERS)
    observers = (*(replica(node, at, ago) for node, ago in brokers.items()), *more)
    known = with_quorum(known, Quorum(leader, 7, 1000, given, observers), at)
    entry = ConfigEntry("process.roles", roles, STATIC_BROKER_CONFIG, True, False, ConfigType(7), ())
    sets = {broker_resource(each): ConfigSet((entry,)) for each in controllers}
    return with_configs(known, ConfigListing(sets, {}), at, described_by=None)


def verdict(known: Snapshot, silent: tuple[int, ...] = (), *, refuse: bool = True) -> Verdict:
    refusing = frozenset(silent) if refuse else frozenset()
    observations = begin(Poll(START, known, frozenset(silent), refusing))
    observations = after(observations, Poll(START + TICK, known, frozenset(silent), refusing))
    return diagnose(observations)


def causes(found: Verdict) -> list[tuple[str, Subject]]:
    assert not found.unexplained, found.unexplained
    return [(each.claim.cause, each.claim.subject) for each in found.causes]


def steps(found: Verdict) -> str:
    return "; ".join(each.text for named in found.causes for each in named.claim.next)


def test_no_broker_runs_and_maybe_no_controller() -> None:
    found = verdict(seen(START, {1: 40, 2: 31, 3: 300}))
    assert causes(found) == [("brokers-stopped", Subject())]
    assert steps(found) == "start broker 2 first: it fetched last, so it is in most ISRs; then brokers 1, 3"
    assert "broker 2 fetched last at" in found.causes[0].claim.evidence[0].fact
    assert found.causes[0].claim.since == START - timedelta(seconds=31)
    together = verdict(seen(START, {1: 40, 2: 40.5}))
    assert steps(together) == "start brokers 1, 2, which stopped together"
    known = seen(START, {}, controllers=(101, 102))
    nodes = tuple(Broker(each, f"c{each}", 9093) for each in CONTROLLERS)
    known = replace(known, cluster=replace(known.cluster, controllers=nodes))
    assert ("brokers-stopped", Subject()) in causes(verdict(known, (103,)))
    assert causes(verdict(known)) == []  # 103 may also be a broker: its roles are unknown


def test_brokers_that_stand_still_or_were_not_seen_for_minutes() -> None:
    assert causes(verdict(seen(START, {1: 40, 2: 0.1}))) == [("broker-stopped", Subject(broker=1))]
    found = verdict(seen(START, {}))
    assert causes(found) == [("brokers-stopped", Subject())]
    assert steps(found) == "start the brokers, the one that stopped last first: it is in most ISRs"
    found = verdict(seen(START, {1: 40, 2: 31}))
    assert [each.cause for each in found.ruled_out] == ["quorum-lost"]


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(seen(START, {1: 0.3, 2: 0.4}), id="all well"),
        pytest.param(
            seen(START, {1: 0.3}, more=(replica(104, START, 0.2),), controllers=(*CONTROLLERS, 104)), id="observer"
        ),
        pytest.param(seen(START, {}, roles="broker,controller"), id="each controller is a broker too"),
        pytest.param(seen(START, {1: 0.3}, more=(replica(103, START, 200, "old"),)), id="a voter restarted"),
        pytest.param(
            seen(START, {1: 0.3}, voters=(replica(101, START), replica(102, START)), more=(replica(103, START, 0.1),)),
            id="a removed voter runs on",
        ),
    ],
)
def test_neighbours_are_quiet(known: Snapshot) -> None:
    found = verdict(known)
    assert causes(found) == []
    assert found.is_healthy


def test_a_controller_is_down() -> None:
    found = verdict(
        seen(START, {1: 0.1}, voters=(replica(101, START), replica(102, START), replica(103, START, 30))), (103,)
    )
    assert causes(found) == [("controller-down", Subject(broker=103))]
    assert found.causes[0].claim.title == "controller 103 is down"
    assert "start controller 103 (c103:9093)" in steps(found)
    hangs = verdict(seen(START, {1: 0.1}), (103,), refuse=False)
    assert hangs.causes[0].claim.title == "controller 103 does not answer"


def test_the_quorum_has_lost_its_majority_or_was_never_described() -> None:
    found = verdict(seen(START, {1: 0.1}), (102, 103))
    assert ("quorum-lost", Subject()) in causes(found)
    assert (
        "start 1 of controllers 102 (c102:9093), 103 (c103:9093) before any broker: 2 of 3 voters are needed"
        in steps(found)
    )
    # When the console opens, the controllers have no leader: the step names the nodes to start from the list of
    # controllers.
    nodes = tuple(Broker(each, f"c{each}", 9093) for each in CONTROLLERS)
    known = asking_quorum(Snapshot(), START)
    known = with_cluster(known, ClusterInfo("id", -1, (), controllers=nodes), START + timedelta(seconds=6))
    found = verdict(known, (102, 103))
    assert ("quorum-lost", Subject()) in causes(found)
    assert "2 of 3 controllers are needed, if all of them vote" in steps(found)


@pytest.mark.parametrize(("silent", "lost"), [((102, 103), True), ((101, 102), True), ((103,), False)])
def test_a_leader_that_is_gone_is_still_named(silent: tuple[int, ...], lost: bool) -> None:
    """If a majority of controllers does not answer, the quorum counts as lost although the others name a leader: from
    Kafka 4.0 on they keep naming a leader that is down, and can't elect another one.
    """
    nodes = tuple(Broker(each, f"c{each}", 9093) for each in CONTROLLERS)
    known = asking_quorum(Snapshot(), START)
    known = with_cluster(known, ClusterInfo("id", 103, (), controllers=nodes), START + timedelta(seconds=6))
    found = verdict(known, silent)
    assert (("quorum-lost", Subject()) in causes(found)) == lost
    assert "while other controllers answer" in str(found) or not lost


def test_a_voter_that_was_formatted_again_is_named_with_the_way_back() -> None:
    voters = (replica(101, START), replica(102, START), replica(103, START, 60))
    found = verdict(seen(START, {1: 0.1}, voters=voters, more=(replica(103, START, 0.1, "new"),)))
    assert causes(found) == [("voter-formatted", Subject(broker=103))]
    (step,) = found.causes[0].claim.next
    assert step.command == "remove voter 103 directory=of-103; add voter 103 directory=new"


def test_what_is_well_names_what_was_looked_at() -> None:
    known = seen(START, {1: 0.1})
    assert healthy_text(begin(Poll(START, known))) == "healthy: 3 controllers and the quorum were looked at"
    assert polling_text(known) == "3 controllers; looking at what stands still…"
    assert replace(known, quorum=None).quorum is None
