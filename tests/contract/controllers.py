"""What is asked of a controller that is no broker, and what of its answers two clusters can have in common.

The requests go to real controllers in tests/broker/test_controllers.py, with embedded ones beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

from console.wire.schemas import for_version
from tests.contract.answers import plain
from tests.contract.client import Build, Client, NoAnswer

NOT_SERVED = frozenset({1, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82, 94})
"""API keys: what controllers and brokers say to each other, and the metadata log itself."""
TOO_NEW = {18: 4}
"""API key -> the newest version that is served here."""
METADATA = "__cluster_metadata"
BROKER, LOGGER, TOPIC = 4, 8, 2
NOBODY, NO_DIRECTORY = 77, UUID(int=5)
_SECONDS = timedelta(seconds=5)


def requests(own: int, other: int) -> Iterator[tuple[str, int, Build]]:
    """Yield API, version and request of what any controller is asked. They change nothing. own: its id."""
    for kind in (1, 2, 3):
        yield "describe_cluster", 2, lambda m, kind=kind: _cluster(m, kind)
    yield "describe_quorum", 2, lambda m: _quorum(m, METADATA)
    yield "describe_quorum", 2, lambda m: _quorum(m, "another")
    for name in (str(own), str(other), "1"):
        yield "describe_configs", 4, lambda m, name=name: _described(m, (BROKER, name))
        yield "incremental_alter_configs", 1, lambda m, name=name: _altered(m, BROKER, name, "max.connections", "77")
        level = "kafka.server.ControllerServer", "DEBUG"
        yield "incremental_alter_configs", 1, lambda m, name=name, level=level: _altered(m, LOGGER, name, *level)
    yield "describe_configs", 4, lambda m: _described(m, (TOPIC, "missing"))


def changes() -> Iterator[tuple[str, int, Build]]:
    """Yield the same of what only the active one does. They change nothing: each is refused, or checked alone."""
    yield "create_topics", 7, _created
    yield "delete_topics", 5, lambda m: m.DeleteTopicsRequest(topic_names=("missing",), timeout=_SECONDS)
    yield "create_partitions", 3, _grown
    yield "remove_raft_voter", 0, _removed
    yield "update_features", 1, lambda m: m.UpdateFeaturesRequest(timeout=_SECONDS, feature_updates=())
    yield "unregister_broker", 0, lambda m: m.UnregisterBrokerRequest(broker_id=NOBODY)
    yield "list_partition_reassignments", 0, lambda m: m.ListPartitionReassignmentsRequest(topics=None)
    yield "alter_user_scram_credentials", 0, _without_scram
    yield "metadata", 12, _metadata


def _cluster(m: ModuleType, kind: int) -> Any:
    fields = {"include_cluster_authorized_operations": True, "endpoint_type": kind, "include_fenced_brokers": False}
    return for_version(m.DescribeClusterRequest, **fields)


def _quorum(m: ModuleType, topic: str) -> Any:
    return m.DescribeQuorumRequest(
        topics=(m.TopicData(topic_name=topic, partitions=(m.PartitionData(partition_index=0),)),)
    )


def _described(m: ModuleType, resource: tuple[int, str]) -> Any:
    keys = ("node.id", "process.roles", "controller.listener.names")
    asked = m.DescribeConfigsResource(
        resource_type=resource[0], resource_name=resource[1], configuration_keys=keys if resource[0] == BROKER else None
    )
    return m.DescribeConfigsRequest(resources=(asked,), include_synonyms=True, include_documentation=False)


def _altered(m: ModuleType, type_: int, name: str, key: str, value: str) -> Any:
    config = m.AlterableConfig(name=key, config_operation=0, value=value)
    resource = m.AlterConfigsResource(resource_type=type_, resource_name=name, configs=(config,))
    return m.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True)


def _created(m: ModuleType) -> Any:
    topic = m.CreatableTopic(name="a b", num_partitions=1, replication_factor=1, assignments=(), configs=())
    return m.CreateTopicsRequest(topics=(topic,), timeout=_SECONDS, validate_only=True)


def _grown(m: ModuleType) -> Any:
    topic = m.CreatePartitionsTopic(name="missing", count=3, assignments=None)
    return m.CreatePartitionsRequest(topics=(topic,), timeout=_SECONDS, validate_only=True)


def _removed(m: ModuleType) -> Any:
    return m.RemoveRaftVoterRequest(cluster_id="another", voter_id=NOBODY, voter_directory_id=NO_DIRECTORY)


def _metadata(m: ModuleType) -> Any:
    rights = {"include_topic_authorized_operations": False, "include_cluster_authorized_operations": False}
    return for_version(m.MetadataRequest, topics=None, allow_auto_topic_creation=False, **rights)


def _without_scram(m: ModuleType) -> Any:
    return m.AlterUserScramCredentialsRequest(
        deletions=(m.ScramCredentialDeletion(name="nobody", mechanism=1),), upsertions=()
    )


def served(address: tuple[str, int]) -> dict[int, tuple[int, int]]:
    """Return API key -> versions of a controller's ApiVersions, but for what is not served here."""
    client = Client(address)
    answer = client.ask("api_versions", 3, _versions)
    client.close()
    return {
        each.api_key: (each.min_version, min(each.max_version, TOO_NEW.get(each.api_key, each.max_version)))
        for each in answer.api_keys
        if each.api_key not in NOT_SERVED
    }


def _versions(m: ModuleType) -> Any:
    return m.ApiVersionsRequest(client_software_name="contract", client_software_version="1")


def answered(address: tuple[str, int], api: str, version: int, build: Build) -> Any:
    """Return the plain answer of a controller, or ``no answer``: without what is the quorum's at one time."""
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
