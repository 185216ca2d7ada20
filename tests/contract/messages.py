"""What real brokers of each release say: measured, and written down here apart from the embedded cluster's own tables.

A situation has answers by the first imitated release that gives them.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.embedded.spec import since
from tests.contract.target import Target

Error = tuple[str, str | None]

_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

MESSAGES: Mapping[str, Mapping[str, Error]] = {
    # DescribeConfigs
    "unknown type": {"3.9": ("INVALID_REQUEST", _MALFORMED)},
    "described on a wrong broker": {
        "3.9": ("INVALID_REQUEST", "Unexpected broker id, expected 1 or empty string, but received {name}")
    },
    "described logger of a wrong broker": {
        "3.9": ("INVALID_REQUEST", "Unexpected broker id, expected 1 but received {name}")
    },
    "broker is no number": {"3.9": ("INVALID_REQUEST", "Broker id must be an integer, but it is: {name}")},
    "logger without a broker": {"3.9": ("INVALID_REQUEST", "Broker id must not be empty")},
    "illegal topic name": {
        "3.9": (
            "INVALID_TOPIC_EXCEPTION",
            "Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'",
        )
    },
    "empty topic name": {"3.9": ("INVALID_TOPIC_EXCEPTION", "Topic name is invalid: the empty string is not allowed")},
    "dots for a topic name": {"3.9": ("INVALID_TOPIC_EXCEPTION", "Topic name is invalid: '{name}' is not allowed")},
    "long topic name": {
        "3.9": (
            "INVALID_TOPIC_EXCEPTION",
            "Topic name is invalid: the length of '{name}' is longer than the max allowed length 249",
        )
    },
    # IncrementalAlterConfigs
    "unknown topic config": {"3.9": ("INVALID_CONFIG", "Unknown topic config name: {key}")},
    "bad topic value": {"3.9": ("INVALID_CONFIG", "{what}")},
    "bad broker value": {"3.9": ("INVALID_REQUEST", "{what}")},
    "values that contradict": {
        "3.9": (
            "INVALID_CONFIG",
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        )
    },
    "tiered storage": {
        "3.9": (
            "INVALID_CONFIG",
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )
    },
    "topic key is no list": {"3.9": ("INVALID_CONFIG", "Can't {OP} to key {key} because its type is not LIST.")},
    "unknown key is no list": {"3.9": ("INVALID_CONFIG", "Can't {OP} to key {key} because its type is not LIST.")},
    "broker key is no list": {"3.9": ("INVALID_CONFIG", "Config value {op} is not allowed for config key: {key}")},
    "unknown broker key is no list": {
        "3.9": ("UNKNOWN_SERVER_ERROR", None),
        "4.4": ("INVALID_CONFIG", "Unknown config name: {key}"),
    },
    "null values": {"3.9": ("INVALID_REQUEST", "Null value not supported for : {keys}")},
    "key twice": {"3.9": ("INVALID_REQUEST", "Error due to duplicate config keys")},
    "resource twice": {"3.9": ("INVALID_REQUEST", "Each resource must appear at most once.")},
    "unknown operation": {"3.9": ("UNKNOWN_SERVER_ERROR", None)},
    "appended too much": {
        "3.9": ("UNKNOWN_SERVER_ERROR", None),
        "4.4": (
            "INVALID_CONFIG",
            "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.",
        ),
    },
    "altered topic is missing": {"3.9": ("UNKNOWN_TOPIC_OR_PARTITION", "The topic '{name}' does not exist.")},
    "altered topic has no name": {"3.9": ("INVALID_REQUEST", "Default topic resources are not allowed.")},
    "altered type is unknown": {"3.9": ("INVALID_REQUEST", "Unknown resource type {kind}")},
    "not dynamic": {
        "3.9": ("INVALID_REQUEST", "Cannot update these configs dynamically: Set({keys})"),
        "4.4": ("INVALID_REQUEST", "Cannot update these configs dynamically: [{keys}]"),
    },
    "only per listener": {
        "3.9": (
            "INVALID_REQUEST",
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            "HashSet({keys})",
        ),
        "4.4": (
            "INVALID_REQUEST",
            "These security configs can be dynamically updated only per-listener using the listener prefix: [{keys}]",
        ),
    },
    "only per broker": {
        "3.9": (
            "INVALID_REQUEST",
            "Cannot update these configs at default cluster level, broker id must be specified: Set({keys})",
        ),
        "4.4": (
            "INVALID_REQUEST",
            "Cannot update these configs at default cluster level, broker id must be specified: [{keys}]",
        ),
    },
    "altered on a wrong broker": {"3.9": ("INVALID_REQUEST", "Unexpected broker id, expected 1, but received {name}")},
    # loggers
    "log level": {
        "3.9": (
            "INVALID_CONFIG",
            "Cannot set the log level of {key} to {value} as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        )
    },
    "logger is missing": {"3.9": ("INVALID_CONFIG", "Logger {key} does not exist!")},
    "root logger": {"3.9": ("INVALID_REQUEST", "Removing the log level of the root logger is not allowed")},
    "logger lists": {"3.9": ("INVALID_REQUEST", "{OP} operation is not allowed for the BROKER_LOGGER resource")},
    "altered logger of a wrong broker": {
        "3.9": ("INVALID_REQUEST", "Unexpected node id. Expected 1, but received 1"),
        "4.4": ("INVALID_REQUEST", "Unexpected node id. Expected 1, but received {name}"),
    },
    "altered broker is no number": {"3.9": ("INVALID_REQUEST", "Node id must be an integer, but it is: {name}")},
    # AlterConfigs
    "legacy null": {"3.9": ("INVALID_REQUEST", "Null value not supported for : {keys}")},
    "legacy logger": {"3.9": ("INVALID_REQUEST", "Unknown resource type 8")},
    # quotas
    "empty entity": {"3.9": ("INVALID_REQUEST", "Invalid empty client quota entity")},
    "unhandled entity": {"3.9": ("INVALID_REQUEST", "Unhandled client quota entity type: {kind}")},
    "empty name": {"3.9": ("INVALID_REQUEST", "Empty {kind} not supported")},
    "ip with user": {
        "3.9": (
            "INVALID_REQUEST",
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        )
    },
    "no ip": {"3.9": ("INVALID_REQUEST", "{name} is not a valid IP or resolvable host.")},
    "unknown quota": {"3.9": ("INVALID_REQUEST", "Invalid configuration key {key}")},
    "fraction": {"3.9": ("INVALID_REQUEST", "{key} cannot be a fractional value.")},
    "not finite": {"4.4": ("INVALID_REQUEST", "Quota {key} must be a finite number")},
    "too large": {"3.9": ("INVALID_REQUEST", "Proposed value for {key} is too large for {a} {type}.")},
    "zero": {"3.9": ("INVALID_REQUEST", "Quota {key} must be greater than 0")},
    "negative": {"3.9": ("INVALID_REQUEST", "Quota {key} must be greater than 0")},
    "entity twice": {
        "3.9": ("INVALID_REQUEST", "Ignoring duplicate entity ClientQuotaEntity(entries={{user={name}}})")
    },
    "filter without type": {"3.9": ("INVALID_REQUEST", "Invalid empty entity type.")},
    "filter type twice": {"3.9": ("INVALID_REQUEST", "Entity type {kind} cannot appear more than once in the filter.")},
    "filter match": {"3.9": ("INVALID_REQUEST", "Unknown match type {match}")},
    "filter exactly null": {
        "3.9": ("INVALID_REQUEST", "Request specified MATCH_TYPE_EXACT, but set match string to null.")
    },
    "filter ip with user": {
        "3.9": (
            "INVALID_REQUEST",
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component.",
        )
    },
    "filter type": {"3.9": ("UNSUPPORTED_VERSION", "Unsupported entity type {kind}")},
    # ACLs
    "acl refused whole": {"3.9": ("UNKNOWN_SERVER_ERROR", None)},
    "acl cluster name": {"3.9": ("INVALID_REQUEST", "The only valid name for the CLUSTER resource is kafka-cluster")},
    "acl empty name": {"3.9": ("INVALID_REQUEST", "Invalid empty resource name")},
    "acl principal": {
        "3.9": (
            "INVALID_REQUEST",
            "Could not parse principal from `{principal}` "
            "(no colon is present separating the principal type from the principal name)",
        )
    },
    "acl unknown": {"3.9": ("INVALID_REQUEST", "Invalid {field} UNKNOWN")},
    "acl filter pattern": {"3.9": ("INVALID_REQUEST", "Unknown patternFilter.")},
    "acl filter entry": {"3.9": ("INVALID_REQUEST", "Unknown entryFilter.")},
    # topics
    "topic exists": {"3.9": ("TOPIC_ALREADY_EXISTS", "Topic '{name}' already exists.")},
    "no partitions": {"3.9": ("INVALID_PARTITIONS", "Number of partitions was set to an invalid non-positive value.")},
    "no replicas": {
        "3.9": (
            "INVALID_REPLICATION_FACTOR",
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    },
    "too many replicas": {
        "3.9": (
            "INVALID_REPLICATION_FACTOR",
            "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached because "
            "only {brokers} broker(s) are registered.",
        ),
        "4.4": (
            "INVALID_REPLICATION_FACTOR",
            "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached because "
            "only {brokers} broker(s) are registered or some brokers have all their log directories cordoned.",
        ),
    },
    "names collide": {"3.9": ("INVALID_TOPIC_EXCEPTION", "Topic '{name}' collides with existing topic: {other}")},
    "metadata topic": {"3.9": ("INVALID_REQUEST", "Creation of internal topic __cluster_metadata is prohibited.")},
    "topic created twice": {"3.9": ("INVALID_REQUEST", "Duplicate topic name.")},
    "null in new topic": {"3.9": ("INVALID_CONFIG", "Null value not supported for topic configs: {key}")},
    "counts and assignment": {
        "3.9": (
            "INVALID_REQUEST",
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    },
    "assigned unknown broker": {
        "3.9": (
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes broker {broker}, but no such broker is registered.",
        )
    },
    "assigned one twice": {
        "3.9": (
            "INVALID_REPLICA_ASSIGNMENT",
            "The manual partition assignment includes the broker 1 more than once.",
        )
    },
    "assigned nobody": {
        "3.9": ("INVALID_REPLICA_ASSIGNMENT", "The manual partition assignment includes an empty replica list.")
    },
    "assigned a negative number": {
        "3.9": ("INVALID_REPLICA_ASSIGNMENT", "partitions should be a consecutive 0-based integer sequence")
    },
    "assigned with a gap": {
        "3.9": ("INVALID_REPLICA_ASSIGNMENT", "partitions should be a consecutive 0-based integer sequence")
    },
    "not the controller": {"3.9": ("NOT_CONTROLLER", "{text}")},
    "deleted is missing": {"3.9": ("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.")},
    "deleted id is missing": {"3.9": ("UNKNOWN_TOPIC_ID", "This server does not host this topic ID.")},
    "deleted by both": {"3.9": ("INVALID_REQUEST", "You may not specify both topic name and topic id.")},
    "deleted twice": {"3.9": ("INVALID_REQUEST", "Duplicate topic name.")},
}


def told(target: Target, situation: str, **parts: object) -> Error:
    """What brokers of the target's release say in a situation; parts fill the text's places."""
    try:
        name, text = since(MESSAGES[situation], target.release)
    except ValueError as error:
        raise LookupError(f"{situation}: not measured on {target.release}") from error
    return name, None if text is None else text.format(**parts)
