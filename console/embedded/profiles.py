"""Profiles of servers that use Kafka's protocol but are not Kafka: the APIs that they have, those that they refuse, and
their different responses.

The data is from public documents. Each server is a record in this module; no other module names one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from console.embedded.spec import Profile, Range
from console.model.foreign_json import json_as

_NOT_AUTHORIZED = 31
"""The error code CLUSTER_AUTHORIZATION_FAILED."""


def without_features(answer: Any) -> Any:
    """Return an ApiVersions response without features, since only Kafka has its metadata.version."""
    if not hasattr(answer, "supported_features"):
        return answer
    return replace(answer, supported_features=(), finalized_features=(), finalized_features_epoch=-1)


def _dead_groups(answer: Any) -> Any:
    """Return a response in which all groups have the state Dead and no members."""
    return replace(answer, groups=tuple(replace(each, group_state="Dead", members=()) for each in answer.groups))


def _bucket(answer: Any) -> Any:
    """Return a DescribeLogDirs response with one more directory, for uploaded data, that has the replicas of the
    first directory. Return it unchanged if the first directory has no replicas.
    """
    first = answer.results[0] if answer.results else None
    if first is None or not first.topics:
        return answer
    return replace(answer, results=(*answer.results, replace(first, log_dir="remote://bucket")))


_APIS: Mapping[str, Mapping[str, Range]] = json_as(
    (files("console.embedded") / "data" / "profiles.json").read_bytes(), dict[str, dict[str, tuple[int, int]]]
)
"""Name of a profile -> kio's name of an API -> (lowest, highest version)."""

PROFILES: Mapping[str, Profile] = {
    # The versions are those of Redpanda's handlers (github.com/redpanda-data/redpanda, src/v/kafka/server/handlers/*.h,
    # listed in handlers.h). Redpanda has no quorum to describe, no elections, and no moves between directories.
    # DescribeLogDirs lists objects in tiered storage as a log directory with the name of the bucket
    # (describe_log_dirs.cc).
    "redpanda": Profile(
        release="3.9",
        apis=_APIS["redpanda"],
        answers={"api_versions": without_features, "describe_log_dirs": _bucket},
    ),
    # The versions are from logs of clients that received ApiVersions
    # (github.com/Azure/azure-event-hubs-for-kafka/issues/209 for keys 24 to 44,
    # github.com/MicrosoftDocs/azure-docs/issues/29970 for Produce and Fetch, and for Metadata up to version 5). Event
    # Hubs lists groups as Dead although they have offsets.
    "event-hubs": Profile(
        release="3.9",
        apis=_APIS["event-hubs"],
        answers={"api_versions": without_features, "describe_groups": _dead_groups},
    ),
    # The versions are the output of kafka-broker-api-versions for a cluster (github.com/tchiotludo/akhq/pull/1113, keys
    # 0 to 25). github.com/segmentio/topicctl/issues/69: the cluster lists moves but does not make them.
    # github.com/provectus/kafka-ui/issues/3331: it has no log directories. Access is decided outside the cluster, so
    # there are no ACLs.
    "msk-serverless": Profile(
        release="3.9",
        apis=_APIS["msk-serverless"],
        answers={"api_versions": without_features},
    ),
    # Confluent Cloud has Kafka's APIs, but refuses the APIs about brokers, which customers do not manage, as if a
    # permission were missing (github.com/kafbat/kafka-ui/issues/1809, and github.com/tchiotludo/akhq/issues/111 for the
    # log directories).
    "confluent-cloud": Profile(
        release="3.9",
        refused=dict.fromkeys(
            (
                "alter_partition_reassignments",
                "alter_replica_log_dirs",
                "alter_user_scram_credentials",
                "describe_log_dirs",
                "describe_quorum",
                "describe_user_scram_credentials",
                "elect_leaders",
                "list_partition_reassignments",
                "update_features",
            ),
            _NOT_AUTHORIZED,
        ),
    ),
}
"""Name as in `kac cluster --profile` -> the profile."""
