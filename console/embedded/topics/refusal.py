"""Why something is not done to a topic or a partition: Kafka's error and its message."""

from __future__ import annotations

from typing import NamedTuple

from console.embedded.context import RequestContext
from console.embedded.rights.messages import refusal

UNKNOWN_SERVER_ERROR = -1
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
REQUEST_TIMED_OUT = 7
INVALID_TOPIC = 17
TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_REPLICATION_FACTOR = 38
INVALID_REPLICA_ASSIGNMENT = 39
INVALID_CONFIG = 40
INVALID_REQUEST = 42
POLICY_VIOLATION = 44
REASSIGNMENT_IN_PROGRESS = 60
TOPIC_DELETION_DISABLED = 73
PREFERRED_LEADER_NOT_AVAILABLE = 80
ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
ELECTION_NOT_NEEDED = 84
NO_REASSIGNMENT_IN_PROGRESS = 85
THROTTLING_QUOTA_EXCEEDED = 89
UNKNOWN_TOPIC_ID = 100


class Refusal(NamedTuple):
    """An error with its message; None where Kafka sends none."""

    code: int
    message: str | None = None


DONE = Refusal(0)
"""No refusal."""
EXPIRED = Refusal(REQUEST_TIMED_OUT)


def cluster_refused(context: RequestContext, operation: str) -> Refusal:
    """Of an operation on the cluster that the principal has no right to."""
    return Refusal(CLUSTER_AUTHORIZATION_FAILED, refusal(context, operation))
