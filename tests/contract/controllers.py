"""What is asked of a controller that is no broker, and what of its answers two clusters can have in common.

The requests go to real controllers in tests/scenarios/test_controllers.py, with embedded ones beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

from console.wire.fields import for_version
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
    yield "create_topics", 7, lambda m: _created(m, "a b")
    yield "delete_topics", 5, lambda m: m.DeleteTopicsRequest(topic_names=("missing",), timeout=_SECONDS)
    yield "create_partitions", 3, lambda m: _grown(m, "missing")
    yield "remove_raft_voter", 0, _removed
    yield "update_features", 1, lambda m: m.UpdateFeaturesRequest(timeout=_SECONDS, feature_updates=())
    yield "unregister_broker", 0, lambda m: m.UnregisterBrokerRequest(broker_id=NOBODY)
    yield "list_partition_reassignments", 0, lambda m: m.ListPartitionReassignmentsRequest(topics=None)
    yield "alter_user_scram_credentials", 0, _without_scram
    yield "metadata", 12, _metadata


def refused_changes() -> Iterator[tuple[str, int, Build]]:
    """Yield the same of changes that would be made: for a controller that is not the active one, which makes none."""
    yield "alter_client_quotas", 1, _limited
    yield "alter_configs", 2, _replaced
    yield "alter_partition_reassignments", 1, _moved
    yield "alter_user_scram_credentials", 0, _with_scram
    yield "create_acls", 3, _allowed
    yield "create_delegation_token", 3, _token
    yield "create_partitions", 3, lambda m: _grown(m, "a", "b")
    yield "create_topics", 7, lambda m: _created(m, "a", "a", "__cluster_metadata", "b")
    yield "create_topics", 5, lambda m: _created(m, "a")
    yield "delete_acls", 3, _denied
    yield "delete_topics", 6, _deleted
    yield "elect_leaders", 2, _elected
    yield "elect_leaders", 2, lambda m: m.ElectLeadersRequest(election_type=0, topic_partitions=None)
    yield (
        "expire_delegation_token",
        2,
        lambda m: m.ExpireDelegationTokenRequest(hmac=b"1", expiry_time_period=-_SECONDS),
    )
    yield "renew_delegation_token", 2, lambda m: m.RenewDelegationTokenRequest(hmac=b"1", renew_period=_SECONDS)
    for version in (1, 2):
        yield "update_features", version, _leveled
    yield "list_partition_reassignments", 0, lambda m: m.ListPartitionReassignmentsRequest(topics=())
    yield "add_raft_voter", 0, _added


def _limited(m: ModuleType) -> Any:
    entries = [
        m.EntryData(
            entity=tuple(m.EntityData(entity_type=type_, entity_name=name) for type_ in types),
            ops=(m.OpData(key="producer_byte_rate", value=1.0, remove=False),),
        )
        for types, name in ((("user",), "a"), (("user", "client-id"), None))
    ]
    return m.AlterClientQuotasRequest(entries=tuple(entries), validate_only=False)


def _replaced(m: ModuleType) -> Any:
    resources = [
        m.AlterConfigsResource(
            resource_type=type_, resource_name=name, configs=(m.AlterableConfig(name="retention.ms", value="7"),)
        )
        for type_, name in ((TOPIC, "a"), (TOPIC, "missing"), (BROKER, "1"))
    ]
    return m.AlterConfigsRequest(resources=tuple(resources), validate_only=False)


def _moved(m: ModuleType) -> Any:
    partitions = tuple(m.ReassignablePartition(partition_index=each, replicas=(2,)) for each in (0, 1))
    return for_version(
        m.AlterPartitionReassignmentsRequest, topics=(m.ReassignableTopic(name="a", partitions=partitions),)
    )


def _with_scram(m: ModuleType) -> Any:
    upserted = m.ScramCredentialUpsertion(
        name="a", mechanism=1, iterations=4096, salt=b"salt", salted_password=bytes(32)
    )
    deleted = m.ScramCredentialDeletion(name="b", mechanism=2)
    return m.AlterUserScramCredentialsRequest(deletions=(deleted,), upsertions=(upserted,))


def _allowed(m: ModuleType) -> Any:
    acls = [
        m.AclCreation(
            resource_type=TOPIC,
            resource_name=name,
            resource_pattern_type=3,
            principal="User:a",
            host="*",
            operation=3,
            permission_type=3,
        )
        for name in ("a", "b")
    ]
    return m.CreateAclsRequest(creations=tuple(acls))


def _denied(m: ModuleType) -> Any:
    asked = m.DeleteAclsFilter(
        resource_type_filter=TOPIC,
        resource_name_filter="nothing",
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    return m.DeleteAclsRequest(filters=(asked, asked))


def _token(m: ModuleType) -> Any:
    return m.CreateDelegationTokenRequest(
        owner_principal_type=None, owner_principal_name=None, renewers=(), max_lifetime=_SECONDS
    )


def _deleted(m: ModuleType) -> Any:
    states = (m.DeleteTopicState(name="a", topic_id=None), m.DeleteTopicState(name=None, topic_id=NO_DIRECTORY))
    return m.DeleteTopicsRequest(topics=states, timeout=_SECONDS)


def _elected(m: ModuleType) -> Any:
    return m.ElectLeadersRequest(
        election_type=0, topic_partitions=(m.TopicPartitions(topic="a", partitions=(0, 1)),), timeout=_SECONDS
    )


def _leveled(m: ModuleType) -> Any:
    updated = m.FeatureUpdateKey(feature="metadata.version", max_version_level=1, upgrade_type=1)
    return m.UpdateFeaturesRequest(timeout=_SECONDS, feature_updates=(updated,), validate_only=False)


def _added(m: ModuleType) -> Any:
    listener = m.Listener(name="CONTROLLER", host="localhost", port=9093)
    return m.AddRaftVoterRequest(
        cluster_id=None,
        timeout=_SECONDS,
        voter_id=NOBODY,
        voter_directory_id=NO_DIRECTORY,
        listeners=(listener,),
    )


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


def _created(m: ModuleType, *names: str) -> Any:
    topics = [
        m.CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
        for name in names
    ]
    return m.CreateTopicsRequest(topics=tuple(topics), timeout=_SECONDS, validate_only=True)


def _grown(m: ModuleType, *names: str) -> Any:
    topics = [m.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in names]
    return m.CreatePartitionsRequest(topics=tuple(topics), timeout=_SECONDS, validate_only=True)


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
