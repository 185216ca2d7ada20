"""What brokers say of topics, by release: seen on real brokers of 4.3.0, 3.9.1 and 2.8.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from console.embedded.versions.release import Release


@dataclass(frozen=True, slots=True)
class TopicMessages:
    """Templates; None where the release sends no message."""

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


_4_3 = TopicMessages()
_3_9 = replace(
    _4_3,
    too_few_brokers=(
        "Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} cannot be "
        "reached because only {brokers} broker(s) are registered."
    ),
)
_2_8 = replace(
    _4_3,
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
BY_RELEASE: Mapping[str, TopicMessages] = {"4.3": _4_3, "3.9": _3_9, "2.8": _2_8}


def topic_messages(release: Release) -> TopicMessages:
    """The words of a release."""
    return BY_RELEASE[release.name]
