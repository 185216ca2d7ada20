"""Tests of UpdateFeatures and of broker registrations, with requests that do not change the cluster."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from console.embedded.spec import RELEASE_NAMES
from tests.contract.target import ADMIN, Target
from tests.contract.verbs import Error, error
from tests.support.kafka_messages import with_fields

UPGRADE, SAFE, UNSAFE = 1, 2, 3
Wanted = Sequence[tuple[str, int, int]]
EVERY = frozenset(RELEASE_NAMES)
MODERN = EVERY - {"3.9"}
"""The releases that have features other than metadata.version. They refuse the whole request if one feature in it
fails.
"""
ELR = "eligible.leader.replicas.version"


def update(target: Target, wanted: Wanted, version: int = 1, **to: Any) -> tuple[Error, list[Error]]:
    """Send UpdateFeatures in its validate-only form. Return the error of the answer, and that of each feature."""
    answer = target.ask("update_features", version, with_fields(feature_updates=wanted, validate_only=True), **to)
    return error(answer), [error(each) for each in answer.get("results", ())]


@pytest.fixture
def led_alike(target: Target) -> Iterator[None]:
    """During the test, give the embedded cluster the same active controller as the real cluster, because some refusals
    name its id.
    """
    if target.real is None:
        yield
        return

    told = target.real.ask("describe_quorum", 0, with_fields(topics=[("__cluster_metadata", [0])]), 1, ADMIN)
    leader: int = told["topics"][0]["partitions"][0]["leader_id"]
    before: int = target.thread.call(lambda cluster: cluster.state.controller_id)
    target.thread.call(lambda cluster: cluster.state.move_controller(leader))
    yield
    target.thread.call(lambda cluster: cluster.state.move_controller(before))


@pytest.mark.parametrize(
    ("wanted", "fine"),
    [
        ([("metadata.version", 20, SAFE)], {"3.9"}),
        ([("metadata.version", 20, UPGRADE)], set()),
        ([("metadata.version", 20, UNSAFE)], {"3.9"}),
        ([("metadata.version", 16, SAFE)], set()),
        ([("metadata.version", 16, UNSAFE)], set()),
        ([("metadata.version", 29, SAFE)], set()),
        ([("metadata.version", 22, SAFE)], set()),
        ([("metadata.version", 0, SAFE)], set()),
        ([("metadata.version", 31, UPGRADE)], set()),
        ([("kraft.version", 1, UPGRADE)], EVERY),
        ([("kraft.version", 0, SAFE)], EVERY),
        ([("group.version", 0, SAFE)], EVERY),
        ([("transaction.version", 1, SAFE)], MODERN),
        ([("transaction.version", 1, UNSAFE)], MODERN),
        ([("transaction.version", 3, UPGRADE)], set()),
        ([(ELR, 0, SAFE), ("share.version", 0, SAFE)], EVERY - {"4.0"}),
        ([(ELR, 0, SAFE), ("nope", 2, UPGRADE)], set()),
        ([(ELR, 0, SAFE), ("group.version", 0, UPGRADE)], {"3.9"}),
    ],
    ids=lambda wanted: ",".join(map(str, wanted[0])) if isinstance(wanted, list) else "",
)
@pytest.mark.usefixtures("led_alike")
def test_levels_of_features(target: Target, wanted: Wanted, fine: frozenset[str]) -> None:
    for version in (1, 2) if target.is_since("4.0") else (1,):
        top, each = update(target, wanted, version)
        is_fine = top[0] == "NONE" and all(code == "NONE" for code, _ in each)
        assert is_fine == (target.release in fine), (top, each)


def _changed(target: Target, api: str, **given: Any) -> Error:
    """Send AddRaftVoter or RemoveRaftVoter, which change nothing in a static quorum, and return the error."""
    asked = {"cluster_id": None, "voter_id": 9, "voter_directory_id": UUID(int=5), "timeout": 1} | given
    return error(target.ask(api, 0, with_fields(**asked, listeners=[("CONTROLLER", "127.0.0.1", 9)])))


@pytest.mark.parametrize("api", ["add_raft_voter", "remove_raft_voter"])
def test_a_static_quorum_has_no_voters_to_change(target: Target, api: str) -> None:
    assert _changed(target, api)[0] == "UNSUPPORTED_VERSION"
    assert _changed(target, api, voter_id=1)[0] == "UNSUPPORTED_VERSION"
    assert _changed(target, api, voter_directory_id=None)[0] == "INVALID_REQUEST"


def test_a_broker_that_is_not_registered_can_not_be_unregistered(target: Target) -> None:
    answer = target.ask("unregister_broker", 0, with_fields(broker_id=77))
    assert answer["error_code"] == "BROKER_ID_NOT_REGISTERED"
