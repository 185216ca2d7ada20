"""Errors and messages that real brokers gave in the tests' situations, by release. They are kept apart from the
embedded cluster's own tables, so that both can be compared.

A release without an entry for a situation gave the same answer as the newest earlier release with an entry.
"""

from collections.abc import Mapping

from console.embedded.spec import since
from tests.contract.target import Target

Error = tuple[str, str | None]

_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

MESSAGES: Mapping[str, Mapping[str, Mapping[str, str | None]]] = {
    "3.9": {
        "INVALID_REQUEST": {
            "unknown type": _MALFORMED,
            "described on a wrong broker": "Unexpected broker id, expected 1 or empty string, but received {name}",
            "described logger of a wrong broker": "Unexpected broker id, expected 1 but received {name}",
            "broker is no number": "Broker id must be an integer, but it is: {name}",
            "logger without a broker": "Broker id must not be empty",
            "bad broker value": "{what}",
            "null values": "Null value not supported for : {keys}",
            "key twice": "Error due to duplicate config keys",
            "resource twice": "Each resource must appear at most once.",
            "altered topic has no name": "Default topic resources are not allowed.",
            "altered type is unknown": "Unknown resource type {kind}",
            "not dynamic": "Cannot update these configs dynamically: Set({keys})",
            "only per listener": (
                "These security configs can be dynamically updated only per-listener using the listener prefix: "
                "HashSet({keys})"
            ),
            "only per broker": (
                "Cannot update these configs at default cluster level, broker id must be specified: Set({keys})"
            ),
            "altered on a wrong broker": "Unexpected broker id, expected 1, but received {name}",
            "root logger": "Removing the log level of the root logger is not allowed",
            "logger lists": "{OP} operation is not allowed for the BROKER_LOGGER resource",
            "altered logger of a wrong broker": "Unexpected node id. Expected 1, but received 1",
            "altered broker is no number": "Node id must be an integer, but it is: {name}",
            "legacy null": "Null value not supported for : {keys}",
            "legacy logger": "Unknown resource type 8",
            "empty entity": "Invalid empty client quota entity",
            "unhandled entity": "Unhandled client quota entity type: {kind}",
            "empty name": "Empty {kind} not supported",
            "ip with user": "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
            "no ip": "{name} is not a valid IP or resolvable host.",
            "unknown quota": "Invalid configuration key {key}",
            "fraction": "{key} cannot be a fractional value.",
            "too large": "Proposed value for {key} is too large for {a} {type}.",
            "zero": "Quota {key} must be greater than 0",
            "negative": "Quota {key} must be greater than 0",
            "entity twice": "Ignoring duplicate entity ClientQuotaEntity(entries={{user={name}}})",
            "filter without type": "Invalid empty entity type.",
            "filter type twice": "Entity type {kind} cannot appear more than once in the filter.",
            "filter match": "Unknown match type {match}",
            "filter exactly null": "Request specified MATCH_TYPE_EXACT, but set match string to null.",
            "filter ip with user": (
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            ),
            "acl cluster name": "The only valid name for the CLUSTER resource is kafka-cluster",
            "acl empty name": "Invalid empty resource name",
            "acl principal": (
                "Could not parse principal from `{principal}` (no colon is present separating the principal type "
                "from the principal name)"
            ),
            "acl unknown": "Invalid {field} UNKNOWN",
            "acl filter pattern": "Unknown patternFilter.",
            "acl filter entry": "Unknown entryFilter.",
            "metadata topic": "Creation of internal topic __cluster_metadata is prohibited.",
            "topic created twice": "Duplicate topic name.",
            "counts and assignment": (
                "A manual partition assignment was specified, but replication factor was not set to -1."
            ),
            "deleted by both": "You may not specify both topic name and topic id.",
            "deleted twice": "Duplicate topic name.",
        },
        "INVALID_TOPIC_EXCEPTION": {
            "illegal topic name": (
                "Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, "
                "'.', '_' and '-'"
            ),
            "empty topic name": "Topic name is invalid: the empty string is not allowed",
            "dots for a topic name": "Topic name is invalid: '{name}' is not allowed",
            "long topic name": (
                "Topic name is invalid: the length of '{name}' is longer than the max allowed length 249"
            ),
            "names collide": "Topic '{name}' collides with existing topic: {other}",
        },
        "INVALID_CONFIG": {
            "unknown topic config": "Unknown topic config name: {key}",
            "bad topic value": "{what}",
            "values that contradict": (
                "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
            ),
            "tiered storage": (
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
                "storage."
            ),
            "topic key is no list": "Can't {OP} to key {key} because its type is not LIST.",
            "unknown key is no list": "Can't {OP} to key {key} because its type is not LIST.",
            "broker key is no list": "Config value {op} is not allowed for config key: {key}",
            "log level": (
                "Cannot set the log level of {key} to {value} as it is not a supported log level. Valid log levels "
                "are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
            ),
            "logger is missing": "Logger {key} does not exist!",
            "null in new topic": "Null value not supported for topic configs: {key}",
        },
        "UNKNOWN_SERVER_ERROR": {
            "unknown broker key is no list": None,
            "unknown operation": None,
            "appended too much": None,
            "acl refused whole": None,
        },
        "UNKNOWN_TOPIC_OR_PARTITION": {
            "altered topic is missing": "The topic '{name}' does not exist.",
            "deleted is missing": "This server does not host this topic-partition.",
        },
        "UNSUPPORTED_VERSION": {
            "filter type": "Unsupported entity type {kind}",
        },
        "TOPIC_ALREADY_EXISTS": {
            "topic exists": "Topic '{name}' already exists.",
        },
        "INVALID_PARTITIONS": {
            "no partitions": "Number of partitions was set to an invalid non-positive value.",
        },
        "INVALID_REPLICATION_FACTOR": {
            "no replicas": "Replication factor must be larger than 0, or -1 to use the default value.",
            "too many replicas": (
                "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached "
                "because only {brokers} broker(s) are registered."
            ),
        },
        "INVALID_REPLICA_ASSIGNMENT": {
            "assigned unknown broker": (
                "The manual partition assignment includes broker {broker}, but no such broker is registered."
            ),
            "assigned one twice": "The manual partition assignment includes the broker 1 more than once.",
            "assigned nobody": "The manual partition assignment includes an empty replica list.",
            "assigned a negative number": "partitions should be a consecutive 0-based integer sequence",
            "assigned with a gap": "partitions should be a consecutive 0-based integer sequence",
        },
        "NOT_CONTROLLER": {
            "not the controller": "{text}",
        },
        "UNKNOWN_TOPIC_ID": {
            "deleted id is missing": "This server does not host this topic ID.",
        },
    },
    "4.4": {
        "INVALID_CONFIG": {
            "unknown broker key is no list": "Unknown config name: {key}",
            "appended too much": (
                "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."
            ),
        },
        "INVALID_REQUEST": {
            "not dynamic": "Cannot update these configs dynamically: [{keys}]",
            "only per listener": (
                "These security configs can be dynamically updated only per-listener using the listener prefix: "
                "[{keys}]"
            ),
            "only per broker": (
                "Cannot update these configs at default cluster level, broker id must be specified: [{keys}]"
            ),
            "altered logger of a wrong broker": "Unexpected node id. Expected 1, but received {name}",
            "not finite": "Quota {key} must be a finite number",
        },
        "INVALID_REPLICATION_FACTOR": {
            "too many replicas": (
                "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached "
                "because only {brokers} broker(s) are registered or some brokers have all their log directories "
                "cordoned."
            ),
        },
    },
}
"""First release with the answer -> error -> situation -> message."""


def told(target: Target, situation: str, **parts: object) -> Error:
    """Return the error and message of brokers of the target's release in a situation.

    Args:
        situation: a key of `MESSAGES`.
        parts: values for the placeholders of the message.

    Raises LookupError if the situation was not measured on the release.
    """
    answers = {
        release: (name, texts[situation])
        for release, errors in MESSAGES.items()
        for name, texts in errors.items()
        if situation in texts
    }
    try:
        name, text = since(answers, target.release)
    except ValueError as error:
        raise LookupError(f"{situation}: not measured on {target.release}") from error
    return name, None if text is None else text.format(**parts)
