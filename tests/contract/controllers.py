"""Requests to a controller that is not a broker, and the functions that remove from its answers what differs between
clusters.

tests/scenarios/test_controllers.py sends these requests to real controllers and to embedded ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from tests.contract.answers import plain
from tests.contract.client import Build, Client, NoAnswer
from tests.support.kafka_messages import with_fields

NOT_SERVED = frozenset({1, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82, 94})
"""Keys of the APIs that real controllers serve and embedded ones do not: those between controllers and brokers, and the
reads of the metadata log.
"""
TOO_NEW = {18: 4}
"""API key -> the newest version that the embedded controllers serve."""
METADATA = "__cluster_metadata"
BROKER, LOGGER, TOPIC = 4, 8, 2
NOBODY, NO_DIRECTORY = 77, UUID(int=5)
KEYS = ("node.id", "process.roles", "controller.listener.names")
_SECONDS = 5


def requests(own: int, other: int) -> Iterator[tuple[str, int, Build]]:
    """Yield (API, version, function that builds the payload) of requests that every controller answers. None of them
    changes the cluster.

    Args:
        own: the id of the controller that gets the requests.
        other: the id of another controller.
    """
    for kind in (1, 2, 3):
        yield (
            "describe_cluster",
            2,
            with_fields(include_cluster_authorized_operations=True, endpoint_type=kind, include_fenced_brokers=False),
        )
    yield "describe_quorum", 2, with_fields(topics=[(METADATA, [0])])
    yield "describe_quorum", 2, with_fields(topics=[("another", [0])])
    for name in (str(own), str(other), "1"):
        yield "describe_configs", 4, _described((BROKER, name, KEYS))
        yield "incremental_alter_configs", 1, _altered(BROKER, name, "max.connections", "77")
        yield "incremental_alter_configs", 1, _altered(LOGGER, name, "kafka.server.ControllerServer", "DEBUG")
    yield "describe_configs", 4, _described((TOPIC, "missing", None))


def _described(resource: tuple[int, str, Sequence[str] | None]) -> Build:
    return with_fields(resources=[resource], include_synonyms=True, include_documentation=False)


def _altered(type_: int, name: str, key: str, value: str) -> Build:
    return with_fields(resources=[(type_, name, [(key, 0, value)])], validate_only=True)


def changes() -> Iterator[tuple[str, int, Build]]:
    """Yield (API, version, function that builds the payload) of requests that only the active controller answers. They
    change nothing: the controller refuses them, or only validates them.
    """
    rights = {"include_topic_authorized_operations": False, "include_cluster_authorized_operations": False}
    yield "create_topics", 7, _created("a b")
    yield "delete_topics", 5, with_fields(topic_names=["missing"], timeout=_SECONDS)
    yield "create_partitions", 3, _grown("missing")
    yield (
        "remove_raft_voter",
        0,
        with_fields(cluster_id="another", voter_id=NOBODY, voter_directory_id=NO_DIRECTORY),
    )
    yield "update_features", 1, with_fields(timeout=_SECONDS, feature_updates=[])
    yield "unregister_broker", 0, with_fields(broker_id=NOBODY)
    yield "list_partition_reassignments", 0, with_fields(topics=None)
    yield "alter_user_scram_credentials", 0, with_fields(deletions=[("nobody", 1)], upsertions=[])
    yield "metadata", 12, with_fields(topics=None, allow_auto_topic_creation=False, **rights)


def _created(*names: str) -> Build:
    topics = [(name, 1, 1, [], []) for name in names]
    return with_fields(topics=topics, timeout=_SECONDS, validate_only=True)


def _grown(*names: str) -> Build:
    topics = [(name, 3, None) for name in names]
    return with_fields(topics=topics, timeout=_SECONDS, validate_only=True)


def refused_changes() -> Iterator[tuple[str, int, Build]]:
    """Yield (API, version, function that builds the payload) of requests that would change the cluster. Send them only
    to controllers that are not active, which refuse them.
    """
    rate = [("producer_byte_rate", 1.0, False)]
    limits = [([("user", "a")], rate), ([("user", None), ("client-id", None)], rate)]
    yield "alter_client_quotas", 1, with_fields(entries=limits, validate_only=False)
    replaced = [
        (type_, name, [("retention.ms", "7")]) for type_, name in ((TOPIC, "a"), (TOPIC, "missing"), (BROKER, "1"))
    ]
    yield "alter_configs", 2, with_fields(resources=replaced, validate_only=False)
    yield "alter_partition_reassignments", 1, with_fields(topics=[("a", [(0, [2]), (1, [2])])])
    upserted = ("a", 1, 4096, b"salt", bytes(32))
    yield "alter_user_scram_credentials", 0, with_fields(deletions=[("b", 2)], upsertions=[upserted])
    yield "create_acls", 3, with_fields(creations=[(TOPIC, name, 3, "User:a", "*", 3, 3) for name in ("a", "b")])
    no_owner = {"owner_principal_type": None, "owner_principal_name": None}
    yield "create_delegation_token", 3, with_fields(**no_owner, renewers=[], max_lifetime=_SECONDS)
    yield "create_partitions", 3, _grown("a", "b")
    yield "create_topics", 7, _created("a", "a", "__cluster_metadata", "b")
    yield "create_topics", 5, _created("a")
    yield "delete_acls", 3, with_fields(filters=[(TOPIC, "nothing", 3, None, None, 1, 1)] * 2)
    yield "delete_topics", 6, with_fields(topics=[("a", None), (None, NO_DIRECTORY)], timeout=_SECONDS)
    yield "elect_leaders", 2, with_fields(election_type=0, topic_partitions=[("a", [0, 1])], timeout=_SECONDS)
    yield "elect_leaders", 2, with_fields(election_type=0, topic_partitions=None)
    yield "expire_delegation_token", 2, with_fields(hmac=b"1", expiry_time_period=-_SECONDS)
    yield "renew_delegation_token", 2, with_fields(hmac=b"1", renew_period=_SECONDS)
    for version in (1, 2):
        leveled = [("metadata.version", 1, 1)]
        yield "update_features", version, with_fields(timeout=_SECONDS, feature_updates=leveled, validate_only=False)
    yield "list_partition_reassignments", 0, with_fields(topics=[])
    voter = {"voter_id": NOBODY, "voter_directory_id": NO_DIRECTORY}
    listeners = [("CONTROLLER", "localhost", 9093)]
    yield "add_raft_voter", 0, with_fields(cluster_id=None, timeout=_SECONDS, **voter, listeners=listeners)


def served(address: tuple[str, int]) -> dict[int, tuple[int, int]]:
    """Return API key -> (lowest, highest version) in a controller's ApiVersions, without the APIs and versions that
    embedded controllers do not serve.
    """
    client = Client(address)
    answer = client.ask("api_versions", 3, with_fields(client_software_name="contract", client_software_version="1"))
    client.close()
    return {
        each.api_key: (each.min_version, min(each.max_version, TOO_NEW.get(each.api_key, each.max_version)))
        for each in answer.api_keys
        if each.api_key not in NOT_SERVED
    }


def answered(address: tuple[str, int], api: str, version: int, build: Build) -> Any:
    """Return a controller's answer as plain values, without the offsets and epochs of the quorum; ``no answer`` if it
    closes the connection.
    """
    client = Client(address)
    try:
        return _common(plain(client.ask(api, version, build)))
    except NoAnswer:
        return "no answer"
    finally:
        client.close()


def _common(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_common(each) for each in answer]
    if not isinstance(answer, Mapping):
        return answer
    if "leader_epoch" in answer and answer["error_code"] == "NONE":
        keys = ("leader_id", "current_voters", "observers")
        return {key: _ids(answer[key]) for key in keys}
    return {key: _common(value) for key, value in answer.items()}


def _ids(value: Any) -> Any:
    return sorted(each["replica_id"] for each in value) if isinstance(value, list) else value
