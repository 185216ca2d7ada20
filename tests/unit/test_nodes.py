"""Tests that kac calls a node a controller if it knows that the node is one, even if a statement says broker."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.errors import CommandError
from console.language.vocabulary import known_entry, require
from console.model.cluster import Broker, ClusterInfo, Quorum, QuorumReplica
from console.model.codes import BROKER_LOGGER, DEFAULT_CONFIG
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, ConfigSet, broker_resource
from console.model.nodes import controllers
from console.model.snapshot import Snapshot, with_cluster, with_quorum
from console.plan.edits import SetConfig
from console.plan.kinds.registrations import RemoveRegistration
from console.plan.plan import EMPTY, stage

AT = datetime(2026, 1, 1, tzinfo=UTC)


def seen(brokers: list[int], voters: list[int], *, shows_fenced: bool = True) -> Snapshot:
    nodes = tuple(Broker(each, "h", 1) for each in brokers)
    known = with_cluster(Snapshot(), ClusterInfo("id", 1, nodes, shows_fenced=shows_fenced), AT)
    quorum = Quorum(min(voters, default=-1), 1, 1, tuple(QuorumReplica(each, 1, 0, -1, -1, "") for each in voters), ())
    return with_quorum(known, quorum, AT)


@given(st.lists(st.integers(1, 9), unique=True, min_size=1), st.lists(st.integers(1, 9), unique=True))
def test_who_is_both_is_a_broker(brokers: list[int], voters: list[int]) -> None:
    assert controllers(seen(brokers, voters)) == set(voters) - set(brokers)


@pytest.mark.parametrize("resource", [broker_resource(3000), ConfigResource(BROKER_LOGGER, "3000")])
def test_statements_and_plans_say_what_it_is(resource: ConfigResource) -> None:
    known = seen([1, 2], [3000, 3001])
    with pytest.raises(CommandError, match="node 3000 is a controller and no broker"):
        require(known, resource, None)
    (refused,) = stage(EMPTY, [SetConfig(resource, "num.io.threads", "9")], known).refused
    assert refused.reason == "node 3000 is a controller and no broker"
    assert "--bootstrap-controller" in refused.remedy


def test_a_controller_may_be_a_broker_that_is_down_before_kafka_4_and_has_no_registration() -> None:
    """Before Kafka 4, kac stages the unregistration of a node that is a controller, because it may also be a broker
    that is down: the cluster describes neither such brokers nor registrations of controllers.
    """
    known = seen([1, 2], [1, 2, 3], shows_fenced=False)
    with pytest.raises(CommandError, match="node 3 is a controller, and no broker that is up"):
        require(known, broker_resource(3), None)
    (staged,) = stage(EMPTY, [RemoveRegistration(3)], known).added
    assert staged.edit == RemoveRegistration(3)
    (dropped,) = stage(EMPTY, [RemoveRegistration(3000)], seen([1, 2], [3000])).dropped
    assert dropped.reason == "node 3000 is a controller and no broker"
    (dropped,) = stage(EMPTY, [RemoveRegistration(7)], seen([1, 2], [3000])).dropped
    assert dropped.reason == "broker 7 is not registered"


def test_what_nothing_is_known_of_is_no_controller() -> None:
    with pytest.raises(CommandError, match="there is no broker 4000"):
        require(seen([1, 2], [3000]), broker_resource(4000), None)


ASKED = ClusterInfo("id", 3000, (), controllers=(Broker(3000, "h", 1), Broker(3001, "h", 2)))


def test_what_all_controllers_inherit_has_the_keys_of_one() -> None:
    entry = ConfigEntry("max.connections", "9", DEFAULT_CONFIG)
    known = replace(with_cluster(Snapshot(), ASKED, AT), configs={broker_resource(3001): ConfigSet((entry,))})
    assert known_entry(known, CLUSTER_DEFAULT, "max.connections") is entry
    assert known_entry(known, CLUSTER_DEFAULT, "max.connectionz") is None


def test_where_controllers_are_asked_they_are_the_nodes() -> None:
    known = with_cluster(Snapshot(), ASKED, AT)
    require(known, broker_resource(3000), None)
    with pytest.raises(CommandError, match="there is no controller 1") as refused:
        require(known, broker_resource(1), None)
    assert refused.value.hint == "controllers: 3000, 3001"
    assert stage(EMPTY, [SetConfig(broker_resource(3001), "num.io.threads", "9")], known).added
