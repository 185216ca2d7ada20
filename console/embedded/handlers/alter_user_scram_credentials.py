"""AlterUserScramCredentials: set and take out users' passwords (KIP-554)."""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.embedded.handlers.update_features import METADATA_VERSION
from console.embedded.rights.messages import messages_of, refusal
from console.embedded.rights.scram_changes import (
    Problem,
    Problems,
    Upsertion,
    kraft_problems,
    zookeeper_problems,
)
from console.embedded.sasl.credentials import ScramHash, credential_of_salted
from console.embedded.state.values import ScramKey

_SCRAM_FROM = 11
"""The metadata.version that brought SCRAM to KRaft (3.5-IV2)."""
_TOO_OLD: Final = "The current metadata.version does not support SCRAM"


async def handle(request: Any, context: RequestContext) -> Any:
    """v0. A result for each user, all its credentials or none. Needs ALTER on the cluster."""
    deletions = [ScramKey(item.name, item.mechanism) for item in request.deletions]
    upsertions = [
        Upsertion(ScramKey(item.name, item.mechanism), item.iterations, item.salt, item.salted_password)
        for item in request.upsertions
    ]
    problems = _problems(deletions, upsertions, context)
    for key in deletions:
        if problems[key.user] is None:
            context.state.remove_scram(key)
    for item in upsertions:
        if problems[item.key.user] is None:
            hash_ = ScramHash(item.key.mechanism)
            credential = credential_of_salted(item.salted_password, hash_, item.iterations, item.salt)
            context.state.put_scram(item.key, credential)
    kept = messages_of(context.cluster.release).credential_kept
    schema = context.schema
    return schema.AlterUserScramCredentialsResponse(
        throttle_time=NO_TIME,
        results=tuple(
            schema.AlterUserScramCredentialsResult(
                user=user,
                error_code=problem.code if problem else 0,
                error_message=problem.message if problem else kept,
            )
            for user, problem in problems.items()
        ),
    )


def _problems(deletions: list[ScramKey], upsertions: list[Upsertion], context: RequestContext) -> Problems:
    users = [*(key.user for key in deletions), *(item.key.user for item in upsertions)]
    if not context.allowed("ALTER"):
        message = refusal(context, "ALTER") if context.cluster.release.kraft else None
        return dict.fromkeys(users, Problem(ErrorCode.cluster_authorization_failed, message))
    if not context.cluster.release.kraft:
        return zookeeper_problems(deletions, upsertions, context.state.scram)
    if context.state.features.get(METADATA_VERSION, 0) < _SCRAM_FROM:
        return dict.fromkeys(users, Problem(ErrorCode.unsupported_version, _TOO_OLD))
    return kraft_problems(deletions, upsertions, context.state.scram)
