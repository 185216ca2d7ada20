"""A failure as Kafka's tools print it: the name of the Java exception, and its text (Errors)."""

from __future__ import annotations

from console.cli.kafka_tools.aligned import safe
from console.model.failure import Failure

_PACKAGE = "org.apache.kafka.common.errors"
_TEXTS = {
    "NON_EMPTY_GROUP": "The group is not empty.",
    "GROUP_ID_NOT_FOUND": "The group id does not exist.",
    "GROUP_AUTHORIZATION_FAILED": "Group authorization failed.",
    "GROUP_SUBSCRIBED_TO_TOPIC": (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    "TOPIC_AUTHORIZATION_FAILED": "Topic authorization failed.",
    "UNKNOWN_TOPIC_OR_PARTITION": "This server does not host this topic-partition.",
    "OFFSET_OUT_OF_RANGE": "The requested offset is not within the range of offsets maintained by the server.",
    "POLICY_VIOLATION": "Request parameters do not satisfy the configured policy.",
    "PREFERRED_LEADER_NOT_AVAILABLE": "The preferred leader was not available.",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": "Eligible topic partition leaders are not available.",
    "ELECTION_NOT_NEEDED": "Leader election not needed for topic partition.",
    "CLUSTER_AUTHORIZATION_FAILED": "Cluster authorization failed.",
    "BROKER_ID_NOT_REGISTERED": "The given broker ID was not registered.",
}


def error_text(name: str) -> str:
    """Return Kafka's own text for an error, or its name."""
    return _TEXTS.get(name, name)


def exception(failure: Failure, *, own_text: bool = False) -> str:
    """Return ``org.apache.kafka.common.errors.NAME: text``; an error without a known exception by its own name.

    Args:
        own_text: the broker's message in place of Kafka's general text, where it sent one.
    """
    if failure.name not in _TEXTS:
        return safe(f"{failure.name}: {failure.message}" if failure.message else failure.name)
    text = safe(failure.message) if own_text and failure.message else _TEXTS[failure.name]
    return f"{_PACKAGE}.{_class_of(failure.name)}: {text}"


def _class_of(name: str) -> str:
    """Return the Java exception of an error: ``GROUP_ID_NOT_FOUND`` is a GroupIdNotFoundException."""
    if name == "NON_EMPTY_GROUP":
        return "GroupNotEmptyException"
    return "".join(word.capitalize() for word in name.removesuffix("_FAILED").split("_")) + "Exception"
