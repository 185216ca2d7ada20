"""SCRAM users (KIP-554): which credentials there are, never what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from console.admin.cluster import describe_cluster
from console.admin.error_codes import failure
from console.admin.errors import BrokerError
from console.admin.link import Link
from console.model.cluster import ScramCredential
from console.model.codes import ScramMechanism

CLUSTER_AUTHORIZATION_FAILED = 31
RESOURCE_NOT_FOUND = 91
DESCRIBE = "DESCRIBE"


async def describe_scram(link: Link, users: Sequence[str] | None = None) -> dict[str, tuple[ScramCredential, ...]]:
    """The credentials of all SCRAM users, or of those named; a user without any is missing.

    Raises BrokerError where the broker refuses, Unsupported before Kafka 2.7, and other AdminErrors.
    """
    await link.require("describe_user_scram_credentials", 0, "2.7, in KRaft mode 3.5")
    if users is not None and not users:
        return {}
    if users is None:
        await _require_describe(link)

    def ask(kio: ModuleType) -> Any:
        names = None if users is None else tuple(kio.UserName(name=name) for name in dict.fromkeys(users))
        return kio.DescribeUserScramCredentialsRequest(users=names)

    response = await link.call("describe_user_scram_credentials", ask)
    if response.error_code:
        raise BrokerError(failure(response.error_code, response.error_message))
    for result in response.results:
        if result.error_code not in (0, RESOURCE_NOT_FOUND):
            raise BrokerError(failure(result.error_code, f"user {result.user}: {result.error_message or ''}"))
    return credentials(response)


async def _require_describe(link: Link) -> None:
    """Raises BrokerError where the principal may not describe the cluster.

    Brokers up to 4.3 never answer a request for all users then (DescribeUserScramCredentialsRequest.getErrorResponse
    fails on the missing names), so it must not be sent.
    """
    operations = (await describe_cluster(link)).operations
    if operations is not None and DESCRIBE not in operations:
        raise BrokerError(failure(CLUSTER_AUTHORIZATION_FAILED))


def credentials(response: Any) -> dict[str, tuple[ScramCredential, ...]]:
    """From a DescribeUserScramCredentials response, sorted by user and mechanism."""
    return {
        result.user: tuple(
            sorted(ScramCredential(ScramMechanism(info.mechanism), info.iterations) for info in result.credential_infos)
        )
        for result in sorted(response.results, key=lambda result: result.user)
        if not result.error_code
    }
