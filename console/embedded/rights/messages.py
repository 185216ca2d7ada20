"""What brokers say of ACLs and SCRAM credentials, by release; read off real brokers of 2.8.2, 3.9.1 and 4.3.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.versions.release import Release

DESCRIBE_WITHOUT_AUTHORIZER: Final = "No Authorizer is configured on the broker"
CLUSTER_NAME_ONLY: Final = "The only valid name for the CLUSTER resource is kafka-cluster"
EMPTY_RESOURCE_NAME: Final = "Invalid empty resource name"
UNKNOWN_PATTERN_FILTER: Final = "Unknown patternFilter."
UNKNOWN_ENTRY_FILTER: Final = "Unknown entryFilter."
TOO_MANY_CHANGES: Final = "Unable to perform excessively large batch operation."


@dataclass(frozen=True, slots=True)
class RightsMessages:
    """What differs between releases. None: no message.

    refused: of an operation on the cluster. unnamed: of an ACL with a number that has no name. bad_principal: code and
    message of a principal without a type. disabled: of a change where there is no authorizer. too_many_deleted: code
    and message, None where there is no such limit. credential_kept: where a credential was altered.
    """

    refused: str
    unnamed: str
    bad_principal: tuple[int, str | None]
    disabled: str
    too_many_deleted: tuple[int, str | None] | None
    credential_kept: str | None = None


_NO_COLON = (
    "Could not parse principal from `{principal}` "
    "(no colon is present separating the principal type from the principal name)"
)
_BY_RELEASE: Mapping[str, RightsMessages] = {
    "2.8": RightsMessages(
        refused="{request} is not authorized.",
        unnamed="Failed to create ACL",
        bad_principal=(ErrorCode.unknown_server_error, None),
        disabled="No Authorizer is configured on the broker.",
        too_many_deleted=None,
        credential_kept="",
    ),
    "3.9": RightsMessages(
        refused="{request} is not authorized.",
        unnamed="Invalid {part} UNKNOWN",
        bad_principal=(ErrorCode.invalid_request, _NO_COLON),
        disabled="No Authorizer is configured.",
        too_many_deleted=(ErrorCode.unknown_server_error, None),
    ),
    "4.3": RightsMessages(
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


def messages_of(release: Release) -> RightsMessages:
    """The messages of a release."""
    return _BY_RELEASE[release.name]


def refusal(context: RequestContext, operation: str) -> str:
    """What a broker says where the principal lacks a right on the cluster (AuthHelper.authorizeClusterOperation).

    A real one prints its objects of the request; the parts that tell something are kept.
    """
    session = context.session
    host, port = context.cluster.addresses[context.broker_id]
    request = (
        f"Request Request(processor=0, connectionId={host}:{port}-{session.host}:{session.port}-0, "
        f"listenerName=ListenerName({context.listener}), securityProtocol={context.listener}, buffer=null, "
        "envelope=None)"
    )
    return messages_of(context.cluster.release).refused.format(request=request, operation=operation)
