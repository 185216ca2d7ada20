"""Refusals of requests: error codes with the messages that Kafka has in each release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode
from msgspec import Struct

from console.embedded.context import CloseConnection, RequestContext
from console.embedded.spec import Release, since

DESCRIBE_WITHOUT_AUTHORIZER: Final = "No Authorizer is configured on the broker"
CHANGE_WITHOUT_AUTHORIZER: Final = "No Authorizer is configured."
CLUSTER_NAME_ONLY: Final = "The only valid name for the CLUSTER resource is kafka-cluster"
EMPTY_RESOURCE_NAME: Final = "Invalid empty resource name"
UNKNOWN_PATTERN_FILTER: Final = "Unknown patternFilter."
UNKNOWN_ENTRY_FILTER: Final = "Unknown entryFilter."
TOO_MANY_CHANGES: Final = "Unable to perform excessively large batch operation."


class RightsMessages(Struct, frozen=True):
    """The messages about ACLs and rights that differ between releases, as measured on real brokers."""

    refused: str
    """The message if the principal lacks a right to the cluster."""
    too_many_deleted: tuple[int, str | None]
    """The error code and the message, None without one, if a request would delete too many ACLs."""


_RIGHTS_BY_RELEASE: Mapping[str, RightsMessages] = {
    "3.9": RightsMessages(
        refused="{request} is not authorized.",
        too_many_deleted=(ErrorCode.unknown_server_error, None),
    ),
    "4.4": RightsMessages(
        refused="{request} needs {operation} permission.",
        too_many_deleted=(
            ErrorCode.invalid_request,
            "Cannot remove more than 10000 acls in a single delete operation.",
        ),
    ),
}


def rights_messages(release: Release) -> RightsMessages:
    """Return the messages about missing rights in a release."""
    return since(_RIGHTS_BY_RELEASE, release.name)


def cluster_refusal_message(context: RequestContext, operation: str) -> str:
    """Return the message that the principal lacks the right to an operation on the cluster
    (AuthHelper.authorizeClusterOperation).

    A real broker's message also prints Java objects of the request; this one has only the parts with information.
    """
    session = context.session
    host, port = context.cluster.address_of(context.broker_id)
    request = (
        f"Request Request(processor=0, connectionId={host}:{port}-{session.host}:{session.port}-0, "
        f"listenerName=ListenerName({context.listener}), securityProtocol={context.listener}, buffer=null, "
        "envelope=None)"
    )
    return rights_messages(context.cluster.release).refused.format(request=request, operation=operation)


UNSET = 0
"""The number UNKNOWN of an enumeration. Brokers can't read requests with it, although they can read undefined numbers.
"""


def close_if_unset(api: str, *numbers: int) -> None:
    """Raise CloseConnection if any of the numbers is UNKNOWN, since a broker then closes the connection
    (DescribeAclsRequest.normalizeAndValidate).
    """
    if UNSET in numbers:
        raise CloseConnection(f"{api} with an UNKNOWN element")


CLUSTER_REFUSED: Final = "Cluster authorization failed."


class Refusal(NamedTuple):
    """An error code with its message. The message is None if Kafka sends none."""

    code: int
    message: str | None = None


DONE = Refusal(0)
"""The result of a success."""
EXPIRED = Refusal(ErrorCode.request_timed_out)


def cluster_refused(context: RequestContext, operation: str) -> Refusal:
    """Return the refusal because the principal lacks the right to an operation on the cluster."""
    return Refusal(ErrorCode.cluster_authorization_failed, cluster_refusal_message(context, operation))
