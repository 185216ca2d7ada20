"""Servers that speak Kafka's protocol and are not Kafka: which APIs each has, what it refuses, and how it answers
otherwise. As public documents have them; a record for each, and nothing else in the program names one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from console.embedded.spec import Profile, Range
from console.model.foreign_json import json_as

_NOT_AUTHORIZED = 31
"""CLUSTER_AUTHORIZATION_FAILED."""


def without_features(answer: Any) -> Any:
    """Remove the features: they are Kafka's own, no other server has its metadata.version."""
    if not hasattr(answer, "supported_features"):
        return answer
    return replace(answer, supported_features=(), finalized_features=(), finalized_features_epoch=-1)


def _dead_groups(answer: Any) -> Any:
    """Describe groups as Dead and without members, whatever they do."""
    return replace(answer, groups=tuple(replace(each, group_state="Dead", members=()) for each in answer.groups))


def _bucket(answer: Any) -> Any:
    """Add what was uploaded as one more directory of the broker, with replicas of the same topics."""
    first = answer.results[0] if answer.results else None
    if first is None or not first.topics:
        return answer
    return replace(answer, results=(*answer.results, replace(first, log_dir="remote://bucket")))


_APIS: Mapping[str, Mapping[str, Range]] = json_as(
    (files("console.embedded") / "data" / "profiles.json").read_bytes(), dict[str, dict[str, tuple[int, int]]]
)
"""Profile -> kio's names of the APIs that it has, with their lowest and highest versions."""

PROFILES: Mapping[str, Profile] = {
    # The versions are those of its handlers (github.com/redpanda-data/redpanda, src/v/kafka/server/handlers/*.h, whose
    # handlers.h lists them). There is no quorum to describe, no election, no moving between directories. Objects in
    # tiered storage are a log directory by the bucket's name (describe_log_dirs.cc).
    "redpanda": Profile(
        release="3.9",
        apis=_APIS["redpanda"],
        answers={"api_versions": without_features, "describe_log_dirs": _bucket},
    ),
    # A client's log of its ApiVersions (github.com/Azure/azure-event-hubs-for-kafka/issues/209 for keys 24 to 44,
    # github.com/MicrosoftDocs/azure-docs/issues/29970 for Produce and Fetch, Metadata up to version 5). Its groups are
    # listed as Dead though they have offsets.
    "event-hubs": Profile(
        release="3.9",
        apis=_APIS["event-hubs"],
        answers={"api_versions": without_features, "describe_groups": _dead_groups},
    ),
    # kafka-broker-api-versions against a cluster (github.com/tchiotludo/akhq/pull/1113, keys 0 to 25;
    # github.com/segmentio/topicctl/issues/69: moves are listed and not made; github.com/provectus/kafka-ui/issues/3331:
    # no log directories). Access is decided outside of the cluster, so that there are no ACLs.
    "msk-serverless": Profile(
        release="3.9",
        apis=_APIS["msk-serverless"],
        answers={"api_versions": without_features},
    ),
    # It has Kafka's APIs; what concerns brokers is not the customer's, and is refused as a missing right
    # (github.com/kafbat/kafka-ui/issues/1809 and github.com/tchiotludo/akhq/issues/111 for the log directories).
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
"""By the names of `kac cluster --profile`."""
