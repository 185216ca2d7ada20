"""Why something is not done to a topic or a partition: Kafka's error and its message."""

from __future__ import annotations

from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.rights.messages import refusal


class Refusal(NamedTuple):
    """An error with its message; None where Kafka sends none."""

    code: int
    message: str | None = None


DONE = Refusal(0)
"""No refusal."""
EXPIRED = Refusal(ErrorCode.request_timed_out)


def cluster_refused(context: RequestContext, operation: str) -> Refusal:
    """Of an operation on the cluster that the principal has no right to."""
    return Refusal(ErrorCode.cluster_authorization_failed, refusal(context, operation))
