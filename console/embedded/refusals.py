"""Why a request is refused: Kafka's error code, and its message by release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.context import CloseConnection, RequestContext
from console.embedded.spec import Release, since

DESCRIBE_WITHOUT_AUTHORIZER: Final = "No Authorizer is configured on the broker"
CLUSTER_NAME_ONLY: Final = "The only valid name for the CLUSTER resource is kafka-cluster"
EMPTY_RESOURCE_NAME: Final = "Invalid empty resource name"
UNKNOWN_PATTERN_FILTER: Final = "Unknown patternFilter."
UNKNOWN_ENTRY_FILTER: Final = "Unknown entryFilter."
TOO_MANY_CHANGES: Final = "Unable to perform excessively large batch operation."


@dataclass(frozen=True, slots=True)
class RightsMessages:
    """Messages about ACLs, SCRAM and features that differ between releases, each measured.

    None: no message. refused: missing permission on the cluster. unnamed: an ACL with an unknown number. bad_principal:
    code and message for a principal without a type, None where it is taken. disabled: a change without an authorizer.
    too_many_deleted: code and message; None without a limit. credential_kept: message of a successful change of a
    credential.
    """

    refused: str
    unnamed: str
    bad_principal: tuple[int, str | None] | None
    disabled: str
    too_many_deleted: tuple[int, str | None] | None
    credential_kept: str | None = None


_NO_COLON = (
    "Could not parse principal from `{principal}` "
    "(no colon is present separating the principal type from the principal name)"
)
_RIGHTS_3_7 = RightsMessages(
    refused="{request} is not authorized.",
    unnamed="Invalid {part} UNKNOWN",
    bad_principal=None,
    disabled="No Authorizer is configured.",
    too_many_deleted=(ErrorCode.unknown_server_error, None),
)
_RIGHTS_BY_RELEASE: Mapping[str, RightsMessages] = {
    "2.8": RightsMessages(
        refused="{request} is not authorized.",
        unnamed="Failed to create ACL",
        bad_principal=(ErrorCode.unknown_server_error, None),
        disabled="No Authorizer is configured on the broker.",
        too_many_deleted=None,
        credential_kept="",
    ),
    "3.7": _RIGHTS_3_7,
    "3.9": replace(_RIGHTS_3_7, bad_principal=(ErrorCode.invalid_request, _NO_COLON)),
    "4.1": RightsMessages(
        refused="{request} needs {operation} permission.",
        unnamed="Invalid {part} UNKNOWN",
        bad_principal=(ErrorCode.invalid_request, _NO_COLON),
        disabled="No Authorizer is configured.",
        too_many_deleted=(
            ErrorCode.invalid_request,
            "Cannot remove more than 10000 acls in a single delete operation.",
        ),
    ),
}


def rights_messages(release: Release) -> RightsMessages:
    """Return the messages of a release."""
    return since(_RIGHTS_BY_RELEASE, release.name)


def cluster_refusal_message(context: RequestContext, operation: str) -> str:
    """Return the message for a missing permission on the cluster (AuthHelper.authorizeClusterOperation).

    A real broker prints its objects of the request; the parts with information are kept.
    """
    session = context.session
    host, port = context.cluster.addresses[context.broker_id]
    request = (
        f"Request Request(processor=0, connectionId={host}:{port}-{session.host}:{session.port}-0, "
        f"listenerName=ListenerName({context.listener}), securityProtocol={context.listener}, buffer=null, "
        "envelope=None)"
    )
    return rights_messages(context.cluster.release).refused.format(request=request, operation=operation)


UNSET = 0
"""UNKNOWN. Brokers can't read a request with it, but they read other unknown numbers."""


def close_if_unset(api: str, *numbers: int) -> None:
    """Check that no number is UNKNOWN, on which a broker closes (DescribeAclsRequest.normalizeAndValidate).

    Raises CloseConnection.
    """
    if UNSET in numbers:
        raise CloseConnection(f"{api} with an UNKNOWN element")


CLUSTER_REFUSED: Final = "Cluster authorization failed."


class Refusal(NamedTuple):
    """An error code with its message, None for no message."""

    code: int
    message: str | None = None


DONE = Refusal(0)
"""No error."""
EXPIRED = Refusal(ErrorCode.request_timed_out)


def cluster_refused(context: RequestContext, operation: str) -> Refusal:
    """Return the error for a missing permission on the cluster."""
    return Refusal(ErrorCode.cluster_authorization_failed, cluster_refusal_message(context, operation))


@dataclass(frozen=True, slots=True)
class TopicMessages:
    """Messages about topics, measured on each release. None: no message."""

    twice: str | None = "Duplicate topic name."
    exists: str = "Topic '{name}' already exists."
    collides: str = "Topic '{name}' collides with existing topic: {other}"
    name_empty: str = "Topic name is invalid: the empty string is not allowed"
    name_dots: str = "Topic name is invalid: '{name}' is not allowed"
    name_long: str = "Topic name is invalid: the length of '{name}' is longer than the max allowed length {most}"
    name_illegal: str = (
        "Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' "
        "and '-'"
    )
    metadata_topic_code: int = ErrorCode.invalid_request
    metadata_topic: str = "Creation of internal topic {name} is prohibited."
    create_refused: str | None = "Authorization failed."
    delete_refused: str | None = "Topic authorization failed."
    no_partitions: str = "Number of partitions was set to an invalid non-positive value."
    no_replication: str = "Replication factor must be larger than 0, or -1 to use the default value."
    too_few_brokers: str = (
        "Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} cannot be "
        "reached because only {brokers} broker(s) are registered or some brokers have all their log directories "
        "cordoned."
    )
    assigned_and_partitions: str = "A manual partition assignment was specified, but numPartitions was not set to -1."
    assigned_and_replication: str = (
        "A manual partition assignment was specified, but replication factor was not set to -1."
    )
    not_consecutive: str = "partitions should be a consecutive 0-based integer sequence"
    partition_twice: str = "Found multiple manual partition assignments for partition {partition}"
    no_replicas: str = "The manual partition assignment includes an empty replica list."
    unknown_broker: str = "The manual partition assignment includes broker {broker}, but no such broker is registered."
    broker_twice: str = "The manual partition assignment includes the broker {broker} more than once."
    uneven: str = (
        "The manual partition assignment includes a partition with {replicas} replica(s), but this is not consistent "
        "with previous partitions, which have {before} replica(s)."
    )
    all_fenced: str = (
        "All brokers specified in the manual partition assignment for partition {partition} are fenced or in "
        "controlled shutdown."
    )
    too_many_partitions: str = "Excessively large number of partitions per request."
    too_many_records: str = "Unable to perform excessively large batch operation."
    unknown_topic: str | None = "This server does not host this topic-partition."
    unknown_id: str | None = "This server does not host this topic ID."
    name_and_id: str | None = "You may not specify both topic name and topic id."
    neither_name_nor_id: str | None = "Neither topic name nor id were specified."
    id_twice: str | None = "Duplicate topic id."
    name_of_given_id: str | None = "The provided topic name maps to an ID that was already supplied."
    grow_twice: str = "Duplicate topic name."
    grow_refused: str | None = None
    grow_unknown: str | None = None
    grow_same: str = "Topic already has {now} partition(s)."
    grow_fewer: str = "The topic {name} currently has {now} partition(s); {wanted} would not be an increase."
    grow_assignments: str = (
        "Attempted to add {more} additional partition(s), but only {given} assignment(s) were specified."
    )
    move_unknown_topic: str = "Unable to find a topic named {name}."
    move_unknown_partition: str = "Unable to find partition {name}:{partition}."
    move_replication: str = "The replication factor is changed from {now} to {wanted}"
    move_none: str | None = None
    move_top: str | None = None
    elect_unknown_topic: str = "No such topic as {name}"
    elect_unknown_partition: str = "No such partition as {name}-{partition}"
    elect_type: str = "Unknown election type {kind}"
    not_needed: str = "Leader election not needed for topic partition."
    preferred_gone: str = "The preferred leader was not available."
    none_eligible: str = "Eligible topic partition leaders are not available."


_TOPICS_4_3 = TopicMessages()
_TOPICS_3_9 = replace(
    _TOPICS_4_3,
    too_few_brokers=(
        "Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} cannot be "
        "reached because only {brokers} broker(s) are registered."
    ),
)
_TOPICS_3_7 = replace(
    _TOPICS_3_9, metadata_topic_code=ErrorCode.topic_authorization_failed, metadata_topic="Authorization failed."
)
_TOPICS_2_8 = replace(
    _TOPICS_4_3,
    twice="Found multiple entries for this topic.",
    collides="Topic '{name}' collides with existing topics: {other}",
    name_empty="Topic name is illegal, it can't be empty",
    name_dots='Topic name cannot be "." or ".."',
    name_long="Topic name is illegal, it can't be longer than {most} characters, topic name: {name}",
    name_illegal=(
        "Topic name \"{name}\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"
    ),
    delete_refused=None,
    no_partitions="Number of partitions must be larger than 0.",
    no_replication="Replication factor must be larger than 0.",
    too_few_brokers="Replication factor: {wanted} larger than available brokers: {brokers}.",
    assigned_and_partitions=(
        "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same "
        "time."
    ),
    assigned_and_replication=(
        "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same "
        "time."
    ),
    unknown_topic=None,
    unknown_id=None,
    name_and_id=None,
    neither_name_nor_id=None,
    grow_twice="Duplicate topic in request.",
    grow_refused="The topic authorization is failed.",
    grow_unknown="The topic '{name}' does not exist.",
    grow_same="Topic already has {now} partitions.",
    grow_fewer="Topic currently has {now} partitions, which is higher than the requested {wanted}.",
    grow_assignments="Increasing the number of partitions by {more} but {given} assignments provided.",
    move_unknown_topic="The partition does not exist.",
    move_unknown_partition="The partition does not exist.",
    move_none="No partition reassignment is in progress.",
    move_top="",
    elect_unknown_topic="The partition does not exist.",
    elect_unknown_partition="The partition does not exist.",
    preferred_gone=(
        "Failed to elect leader for partition {name}-{partition} under strategy "
        "PreferredReplicaPartitionLeaderElectionStrategy"
    ),
    none_eligible=(
        "Failed to elect leader for partition {name}-{partition} under strategy "
        "OfflinePartitionLeaderElectionStrategy(true)"
    ),
)
_TOPICS_BY_RELEASE: Mapping[str, TopicMessages] = {
    "2.8": _TOPICS_2_8,
    "3.7": _TOPICS_3_7,
    "3.9": _TOPICS_3_9,
    "4.3": _TOPICS_4_3,
}


def topic_messages(release: Release) -> TopicMessages:
    """Return the messages of a release."""
    return since(_TOPICS_BY_RELEASE, release.name)
