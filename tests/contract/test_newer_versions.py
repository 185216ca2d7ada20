"""Tests of API versions of Kafka 4.4 that kio lacks and console.wire.newer adds, on embedded and real brokers."""

from typing import Any

import pytest

from tests.contract.client import Client
from tests.contract.target import ADMIN, Server, Target
from tests.contract.test_newer_groups import MOVES, ask, describe
from tests.support.kafka_messages import with_fields

NOBODY, NO_NODE = None, -1
OTHERS = "x" * 22


def node_meant(server: Server, cluster: str | None, node: int, software: str = "contract") -> Any:
    """Send ApiVersions v5, which names the cluster and node that the client means. Return the error code, and whether
    the answer lists APIs.
    """

    asked = with_fields(client_software_name=software, client_software_version="1", cluster_id=cluster, node_id=node)
    answer = server.ask("api_versions", 5, asked, 1, ADMIN)
    return answer["error_code"], bool(answer["api_keys"])


def own_cluster(server: Server) -> str:
    """Ask broker 1 for the id of its cluster, and return it; plain answers do not contain it."""
    client = Client(server.addresses[1], (ADMIN, server.users[ADMIN]))
    try:
        asked = with_fields(topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False)
        return str(client.ask("metadata", 12, asked).cluster_id)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("cluster", "node", "code"),
    [
        (NOBODY, NO_NODE, "NONE"),
        (OTHERS, 1, "REBOOTSTRAP_REQUIRED"),
        ("", 1, "REBOOTSTRAP_REQUIRED"),
        (OTHERS, NO_NODE, "INVALID_REQUEST"),
        (NOBODY, 1, "INVALID_REQUEST"),
        (NOBODY, 2, "INVALID_REQUEST"),
        (NOBODY, -2, "INVALID_REQUEST"),
    ],
)
def test_a_node_that_is_not_meant(target: Target, cluster: str | None, node: int, code: str) -> None:
    if target.has("api_versions", 5):
        for server in target.servers:
            assert node_meant(server, cluster, node) == (code, code == "NONE")


def test_the_software_is_looked_at_first(target: Target) -> None:
    if target.has("api_versions", 5):
        for server in target.servers:
            assert node_meant(server, OTHERS, 1, software="no name!") == ("INVALID_REQUEST", False)


@pytest.mark.live
def test_the_node_that_is_meant(target: Target) -> None:
    """A broker answers ApiVersions v5 with REBOOTSTRAP_REQUIRED if the request names another node. The request contains
    the cluster's id, so it differs in each run and can't be recorded.
    """
    if target.has("api_versions", 5):
        for server in target.servers:
            own = own_cluster(server)
            told = [node_meant(server, own, node) for node in (1, 2, -7)]
            assert told == [("NONE", True), *[("REBOOTSTRAP_REQUIRED", False)] * 2]


def deleted(server: Server, group: str) -> Any:
    """Send DeleteGroups to the group's coordinator, and return its answer."""

    while True:
        (result,) = ask(server, "delete_groups", 3, group, groups_names=[group])["results"]
        if result["error_code"] not in MOVES:
            return result


def test_a_group_that_can_not_be_deleted(target: Target, name: str) -> None:
    if not target.has("delete_groups", 3):
        return
    told = [deleted(server, name) for server in target.servers]
    assert told == [{"group_id": name, "error_code": "GROUP_ID_NOT_FOUND", "error_message": None}] * len(told)


def test_a_streams_group_that_is_not_there(target: Target, name: str) -> None:
    if not target.has("streams_group_describe", 1):
        return
    told = [describe(server, "streams_group_describe", 1, name)["groups"] for server in target.servers]
    assert told == [told[0]] * len(told)
    assert (told[0][0]["error_code"], told[0][0]["assignor_name"]) == ("GROUP_ID_NOT_FOUND", None)
