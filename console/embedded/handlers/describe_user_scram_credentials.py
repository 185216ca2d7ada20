"""DescribeUserScramCredentials (50), v0: users with their mechanisms and iterations (KIP-554).

Needs DESCRIBE on the cluster. Neither salts nor keys are reported.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.tables import ScramCredential

_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
_NOT_THERE: Final = "Attempt to describe a user credential that does not exist: {user}"


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the credentials of users. No users are all.

    Without the permission a request for all users is never answered: brokers fail to build that answer.
    """
    schema = context.schema
    if not context.allowed("DESCRIBE"):
        if request.users is None:
            # Never completes: the client's timeout ends the request, as with a real broker.
            await asyncio.get_running_loop().create_future()
        refused = _result(schema, "", ErrorCode.cluster_authorization_failed, None)
        return context.answer(
            error_code=ErrorCode.cluster_authorization_failed,
            error_message=None,
            results=(refused,) * len(request.users),
        )
    credentials: dict[str, dict[int, ScramCredential]] = {}
    for key, credential in context.view.scram.items():
        credentials.setdefault(key.user, {})[key.mechanism] = credential
    asked = Counter(user.name for user in request.users or ()) or Counter(dict.fromkeys(credentials, 1))
    results = (_described(schema, user, times, credentials.get(user, {})) for user, times in asked.items())
    return context.answer(error_code=0, error_message="", results=tuple(results))


def _described(schema: Any, user: str, times: int, known: Mapping[int, ScramCredential]) -> Any:
    if times > 1:
        return _result(schema, user, ErrorCode.duplicate_resource, _TWICE.format(user=user))
    if not known:
        return _result(schema, user, ErrorCode.resource_not_found, _NOT_THERE.format(user=user))
    infos = tuple(
        schema.CredentialInfo(mechanism=mechanism, iterations=known[mechanism].iterations)
        for mechanism in sorted(known)
    )
    return _result(schema, user, 0, "", infos)


def _result(schema: Any, user: str, code: int, message: str | None, infos: tuple[Any, ...] = ()) -> Any:
    return schema.DescribeUserScramCredentialsResult(
        user=user, error_code=code, error_message=message, credential_infos=infos
    )
