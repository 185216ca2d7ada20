"""Tests of what kac derives from the quorum's description: whether a replica follows, is late, or may be a broker."""

from datetime import UTC, datetime

import pytest

from console.admin.cluster import with_observers_endpoints
from console.model import quorum as model_quorum
from console.model.cluster import Broker, ClusterInfo, Quorum, QuorumReplica, VoterEndpoint
from console.model.snapshot import Snapshot, with_cluster, with_quorum
from console.present.quorum import quorum_rows

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = 1_800_000_000_000


def replica(node: int, ago: int = 0, directory: str = "", lag: int = 0) -> QuorumReplica:
    """Return a replica that last fetched, and was caught up, `ago` milliseconds ago."""
    return QuorumReplica(node, 100 - lag, lag, NOW - ago, NOW - ago, directory or f"of-{node}")


def quorum(*voters: QuorumReplica, observers: tuple[QuorumReplica, ...] = (), leader: int = 101) -> Quorum:
    endpoints = tuple(VoterEndpoint(each.id, "CONTROLLER", f"c{each.id}", 9093) for each in voters)
    return Quorum(leader, 7, 100, voters, observers, endpoints)


def seen(found: Quorum, brokers: tuple[int, ...] = (), controllers: tuple[int, ...] = ()) -> Snapshot:
    named = [tuple(Broker(each, f"h{each}", 9092) for each in ids) for ids in (brokers, controllers)]
    info = ClusterInfo("id", found.leader_id, named[0], shows_fenced=True, controllers=named[1])
    return with_quorum(with_cluster(Snapshot(), info, AT), found, AT)


def test_who_follows_is_judged_by_the_leaders_clock() -> None:
    stale, slow = replica(102, 12_000, lag=3), QuorumReplica(103, 90, 10, NOW, NOW - 60_000, "of-103")
    found = quorum(replica(101), stale, slow)
    assert [model_quorum.fetches(found, each) for each in found.voters] == [True, False, True]
    assert [model_quorum.follows(found, each) for each in found.voters] == [True, False, False]
    # Version 0 of the response has no times: only replicas with all records are known to follow.
    old = quorum(QuorumReplica(101, 100, 0), QuorumReplica(102, 100, 0), QuorumReplica(103, 90, 10))
    assert [model_quorum.follows(old, each) for each in old.voters] == [True, True, False]


@pytest.mark.parametrize(("voters", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority(voters: int, needed: int) -> None:
    assert model_quorum.majority(voters) == needed


def test_a_voter_that_was_formatted_again_and_one_that_was_only_restarted() -> None:
    again = replica(103, directory="new-103")
    found = quorum(replica(101), replica(102), replica(103, 30_000, lag=60), observers=(again, replica(1)))
    assert model_quorum.formatted_again(found, found.voters[2]) == again
    assert model_quorum.formatted_again(found, found.voters[1]) is None
    notes = {(row.replica.id, row.replica.directory_id): row.note for row in quorum_rows(seen(found, (1,), (101, 103)))}
    assert notes[103, "of-103"] == "formatted again: it runs with directory new-103"
    assert notes[103, "new-103"] == "voter 103, formatted again"
    assert notes[102, "of-102"] == notes[1, "of-1"] == ""
    found = quorum(replica(101), replica(102), replica(103), observers=(replica(103, 90_000, "old-103"),))
    assert model_quorum.formatted_again(found, found.voters[2]) is None
    assert [row.note for row in quorum_rows(seen(found, (1,)))] == ["", "", "", "a former directory of 103"]


def test_which_observers_may_vote_and_where_their_endpoints_come_from() -> None:
    found = quorum(replica(101), observers=(replica(1), replica(2), replica(104)))
    for known in (seen(found, brokers=(1, 2)), seen(found, controllers=(101, 104))):
        assert [each.id for each in model_quorum.observing_controllers(known)] == [104]
        assert [each.id for each in model_quorum.observing_brokers(known)] == [1, 2]
        assert quorum_rows(known)[-1].note == "a controller: may be added as a voter"
    # Before Kafka 4.0 brokers that are down are not listed, so an observer that is not listed may be a broker.
    old = with_cluster(seen(found), ClusterInfo("id", 101, (Broker(1, "h", 1),)), AT)
    assert model_quorum.observing_controllers(old) == ()
    found = quorum(replica(101), observers=(replica(1), replica(104)))
    whole = with_observers_endpoints(found, {101: ("elsewhere", 1), 104: ("c104", 9094)})
    assert whole.endpoints == (*found.endpoints, VoterEndpoint(104, "CONTROLLER", "c104", 9094))
    assert with_observers_endpoints(quorum(replica(101)), {101: ("x", 1)}) == quorum(replica(101))
