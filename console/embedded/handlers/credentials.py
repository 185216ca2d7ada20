"""SCRAM credentials: description and changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, Refusal, cluster_refused
from console.embedded.sasl import MAX_ITERATIONS, MIN_ITERATIONS, ScramHash, credential_of_salted
from console.embedded.spec import METADATA_VERSION
from console.embedded.tables import ScramCredential, ScramKey

_ASKED_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
_NONE_TO_DESCRIBE: Final = "Attempt to describe a user credential that does not exist: {user}"


async def describe_user_scram_credentials(request: Any, context: RequestContext) -> Any:
    """DescribeUserScramCredentials (50), v0: users with their mechanisms and iterations (KIP-554).

    Return the credentials of the users in the request; null or an empty list means all users. The response has neither
    salts nor keys.

    Needs DESCRIBE on the cluster. Without that right, a request with null users gets no response, because brokers fail
    to build the response.
    """
    if not context.allowed("DESCRIBE"):
        if request.users is None:
            # Never complete, like a real broker: the client's timeout ends the request.
            await asyncio.get_running_loop().create_future()
        code = ErrorCode.cluster_authorization_failed
        return context.answer(error_code=code, results=(_result("", code, None),) * len(request.users))
    credentials: dict[str, dict[int, ScramCredential]] = {}
    for key, credential in context.view.scram.items():
        credentials.setdefault(key.user, {})[key.mechanism] = credential
    asked = Counter(user.name for user in request.users or ()) or Counter(dict.fromkeys(credentials, 1))
    results = (_described(user, times, credentials.get(user, {})) for user, times in asked.items())
    return context.answer(error_message="", results=tuple(results))


def _described(user: str, times: int, known: Mapping[int, ScramCredential]) -> Any:
    if times > 1:
        return _result(user, ErrorCode.duplicate_resource, _ASKED_TWICE.format(user=user))
    if not known:
        return _result(user, ErrorCode.resource_not_found, _NONE_TO_DESCRIBE.format(user=user))
    infos = tuple({"mechanism": mechanism, "iterations": known[mechanism].iterations} for mechanism in sorted(known))
    return _result(user, 0, "", infos)


def _result(user: str, code: int, message: str | None, infos: tuple[Any, ...] = ()) -> Any:
    return {"user": user, "error_code": code, "error_message": message, "credential_infos": infos}


_SCRAM_FROM = 11
"""The first level of metadata.version with which KRaft has SCRAM credentials (3.5-IV2)."""
_TOO_OLD: Final = "The current metadata.version does not support SCRAM"


async def alter_user_scram_credentials(request: Any, context: RequestContext) -> Any:
    """AlterUserScramCredentials (51), v0: sets and deletes SCRAM credentials (KIP-554; ScramControlManager).

    Alter credentials, and return a result for each user: all changes of a user are applied, or none.

    Needs ALTER on the cluster. The client sends the salted password: a broker never gets the password.
    """
    deletions = [ScramKey(item.name, item.mechanism) for item in request.deletions]
    upsertions = [
        Upsertion(ScramKey(item.name, item.mechanism), item.iterations, item.salt, item.salted_password)
        for item in request.upsertions
    ]
    problems = _problems(deletions, upsertions, context)
    for key in deletions:
        if problems[key.user] is None:
            context.state.remove("scram", key)
    for item in upsertions:
        if problems[item.key.user] is None:
            hash_ = ScramHash(item.key.mechanism)
            credential = credential_of_salted(item.salted_password, hash_, item.iterations, item.salt)
            context.state.put("scram", item.key, credential)
    results = ((user, problem or DONE) for user, problem in problems.items())
    return context.answer(
        results=tuple({"user": user, "error_code": code, "error_message": message} for user, (code, message) in results)
    )


def _problems(deletions: list[ScramKey], upsertions: list[Upsertion], context: RequestContext) -> Problems:
    users = [*(key.user for key in deletions), *(item.key.user for item in upsertions)]
    if not context.allowed("ALTER"):
        return dict.fromkeys(users, cluster_refused(context, "ALTER"))
    if context.state.features.get(METADATA_VERSION, 0) < _SCRAM_FROM:
        return dict.fromkeys(users, Refusal(ErrorCode.unsupported_version, _TOO_OLD))
    return user_problems(deletions, upsertions, context.state.scram)


_EMPTY_NAME: Final = "Username must not be empty"
_UNKNOWN_MECHANISM: Final = "Unknown SCRAM mechanism"
_TOO_FEW: Final = "Too few iterations"
_TOO_MANY: Final = "Too many iterations"
_ALTERED_TWICE: Final = "A user credential cannot be altered twice in the same request"
_NONE_TO_DELETE: Final = "Attempt to delete a user credential that does not exist"


@dataclass(frozen=True, slots=True, repr=False)
class Upsertion:
    """A credential to create or replace. Its repr hides the salted password."""

    key: ScramKey
    iterations: int
    salt: bytes
    salted_password: bytes


Problems = Mapping[str, Refusal | None]
"""User in a request -> the refusal of the user's changes; None if they are accepted."""


def user_problems(
    deletions: Sequence[ScramKey], upsertions: Sequence[Upsertion], known: Container[ScramKey]
) -> Problems:
    """Return user -> the refusal of the user's changes, None if they are accepted. A request may have each user only
    once.

    Args:
        known: the existing credentials.
    """
    problems: dict[str, Refusal | None] = {}
    steps: list[tuple[str, Callable[[], Refusal | None]]] = [
        *((key.user, lambda key=key: _deletion(key) or _missing(key, known)) for key in deletions),
        *((item.key.user, lambda item=item: _upsertion(item)) for item in upsertions),
    ]
    for user, check in steps:
        if user not in problems:
            problems[user] = check()
        elif problems[user] is None:
            problems[user] = Refusal(ErrorCode.duplicate_resource, _ALTERED_TWICE)
    for item in upsertions:
        # In Kafka, an empty salted password passes the controller's checks and fails later, without a message.
        if problems[item.key.user] is None and not item.salted_password:
            problems[item.key.user] = Refusal(ErrorCode.unknown_server_error, None)
    return problems


def _deletion(key: ScramKey) -> Refusal | None:
    if not key.user:
        return Refusal(ErrorCode.unacceptable_credential, _EMPTY_NAME)
    if key.mechanism not in frozenset(ScramHash):
        return Refusal(ErrorCode.unsupported_sasl_mechanism, _UNKNOWN_MECHANISM)
    return None


def _missing(key: ScramKey, known: Container[ScramKey]) -> Refusal | None:
    return None if key in known else Refusal(ErrorCode.resource_not_found, _NONE_TO_DELETE)


def _upsertion(item: Upsertion) -> Refusal | None:
    if item.iterations < MIN_ITERATIONS:
        return _deletion(item.key) or Refusal(ErrorCode.unacceptable_credential, _TOO_FEW)
    if item.iterations > MAX_ITERATIONS:
        return _deletion(item.key) or Refusal(ErrorCode.unacceptable_credential, _TOO_MANY)
    return _deletion(item.key)
