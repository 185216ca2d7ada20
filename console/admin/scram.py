"""SCRAM credentials (KIP-554): listed without their secrets, set and deleted.

The password itself never leaves this process.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.cluster import describe_cluster
from console.admin.delivery import Answer, deliver, refused
from console.admin.errors import AdminError, BrokerError, failure
from console.admin.link import CONTROLLER, Link, until_settled
from console.model.changes import AlterScram, Outcome, ScramUser, Status
from console.model.cluster import ScramCredential, ScramListing
from console.model.codes import ScramMechanism
from console.model.secret import Secret

DESCRIBE = "DESCRIBE"


async def describe_scram(link: Link, users: Sequence[str] | None = None) -> ScramListing:
    """Return the credentials of all SCRAM users, or of those named; a user without any is missing.

    Raises BrokerError if the broker refuses, Unsupported before Kafka 2.7, and other AdminErrors.
    """
    await link.require("describe_user_scram_credentials", 0, "2.7, in KRaft mode 3.5")
    if users is not None and not users:
        return ScramListing({})
    if users is None:
        await _require_describe(link)

    def build(kio: ModuleType) -> Any:
        names = None if users is None else tuple(kio.UserName(name=name) for name in dict.fromkeys(users))
        return kio.DescribeUserScramCredentialsRequest(users=names)

    response = await link.call("describe_user_scram_credentials", build)
    if response.error_code:
        raise BrokerError(failure(response.error_code, response.error_message))
    return scram_listing(response)


async def _require_describe(link: Link) -> None:
    """Raise BrokerError if the principal may not describe the cluster.

    Brokers up to 4.3 never answer a request for all users then (DescribeUserScramCredentialsRequest.getErrorResponse
    fails on the missing names), so it must not be sent.
    """
    operations = (await describe_cluster(link)).operations
    if operations is not None and DESCRIBE not in operations:
        raise BrokerError(failure(ErrorCode.cluster_authorization_failed))


def scram_listing(response: Any) -> ScramListing:
    """Return what a DescribeUserScramCredentials response says, sorted by user and mechanism: each user has an error of
    its own (KIP-554)."""
    refused = (
        each for each in response.results if each.error_code not in (ErrorCode.none, ErrorCode.resource_not_found)
    )
    failures = {each.user: failure(each.error_code, each.error_message) for each in refused}
    return ScramListing(_credentials(response), failures)


def _credentials(response: Any) -> dict[str, tuple[ScramCredential, ...]]:
    return {
        result.user: tuple(
            sorted(ScramCredential(ScramMechanism(info.mechanism), info.iterations) for info in result.credential_infos)
        )
        for result in sorted(response.results, key=lambda result: result.user)
        if not result.error_code
    }


# AlterUserScramCredentials has no validate-only form.

SALT_BYTES = 24
DESCRIBED_WITHIN = 5.0
"""Seconds in which brokers describe a new credential, usually."""
_DIGESTS: Mapping[int, str] = {1: "sha256", 2: "sha512"}


async def alter_scram(link: Link, request: AlterScram, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each credential. Raises AdminError if nothing was sent.

    Brokers accept each user once in a request, so a user's second mechanism is sent in a second one. Brokers describe
    only the iterations, so the outcome of an upsert whose answer was lost may stay unknown.
    """
    await link.require("alter_user_scram_credentials", 0, "2.7, in KRaft mode 3.5", CONTROLLER)
    targets = list(dict.fromkeys((*request.upserts, *request.deletions)))
    outcomes = _refusals(request)
    sound = [user for user in targets if user not in outcomes]
    if validate_only:
        outcomes |= {user: Outcome(user, Status.UNCHECKED) for user in sound}
        return tuple(outcomes[user] for user in targets)
    salted = {
        user: await asyncio.to_thread(salt_password, user.mechanism, *request.upserts[user])
        for user in sound
        if user in request.upserts
    }
    before = await _iterations_before(link, sound, {user: request.upserts[user][0] for user in salted})

    async def send(users: Sequence[ScramUser]) -> Mapping[ScramUser, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.AlterUserScramCredentialsRequest(
                deletions=tuple(
                    kio.ScramCredentialDeletion(name=user.user, mechanism=user.mechanism)
                    for user in users
                    if user not in salted
                ),
                upsertions=tuple(
                    kio.ScramCredentialUpsertion(
                        name=user.user,
                        mechanism=user.mechanism,
                        iterations=request.upserts[user][0],
                        salt=salted[user][0],
                        salted_password=salted[user][1],
                    )
                    for user in users
                    if user in salted
                ),
            )

        response = await link.call("alter_user_scram_credentials", build, to=CONTROLLER, change=True)
        by_name = {result.user: (result.error_code, result.error_message) for result in response.results}
        return {user: by_name[user.user] for user in users if user.user in by_name}

    async def describe_again(users: Sequence[ScramUser]) -> Mapping[ScramUser, Status]:
        now = await _iterations(link, users)
        return {
            user: scram_verdict(request.upserts[user][0] if user in salted else None, before.get(user), now.get(user))
            for user in users
        }

    for users in by_rounds(sound):
        outcomes |= await deliver(link.settings, users, send, describe_again, validate_only=False)
    await _until_described(
        link, {user: request.upserts[user][0] for user in salted if outcomes[user].status is Status.APPLIED}
    )
    return tuple(outcomes[user] for user in targets)


async def _until_described(link: Link, upserted: Mapping[ScramUser, int]) -> None:
    """Wait until brokers describe these credentials. Brokers (3.9, 4.3) lose a credential that is set while the last
    other one of its mechanism is being deleted, so a later deletion must find these."""
    if not upserted:
        return

    def missing(found: Mapping[ScramUser, int]) -> bool:
        return any(found.get(user) != iterations for user, iterations in upserted.items())

    with suppress(AdminError):
        await until_settled(lambda: _iterations(link, list(upserted)), missing, within=DESCRIBED_WITHIN, attempts=20)


def by_rounds(users: Sequence[ScramUser]) -> list[list[ScramUser]]:
    """Return the credentials in the fewest parts in which no user occurs twice."""
    parts: list[list[ScramUser]] = []
    for user in users:
        for part in parts:
            if all(other.user != user.user for other in part):
                part.append(user)
                break
        else:
            parts.append([user])
    return parts


def scram_verdict(wanted: int | None, before: int | None, now: int | None) -> Status:
    """Tell what became of a change. wanted: iterations of an upsert, None for a deletion. before, now: of the
    credential, None if missing."""
    if now != wanted:
        return Status.NOT_APPLIED
    if wanted is None or before != wanted:
        return Status.APPLIED
    return Status.UNKNOWN


def salt_password(mechanism: ScramMechanism, iterations: int, password: Secret) -> tuple[bytes, bytes]:
    """Return a new salt and the salted password (RFC 5802's Hi; like ScramFormatter, of the password's UTF-8)."""
    new = secrets.token_bytes(SALT_BYTES)
    return new, hashlib.pbkdf2_hmac(_DIGESTS[mechanism], password.reveal().encode(), new, iterations)


def _refusals(request: AlterScram) -> dict[ScramUser, Outcome]:
    from console.wire.sasl import MAX_ITERATIONS, MIN_ITERATIONS

    outcomes: dict[ScramUser, Outcome] = {}
    for user, (iterations, password) in request.upserts.items():
        if user.mechanism not in _DIGESTS:
            message = f"no mechanism {user.mechanism}"
            outcomes[user] = refused(user, "UNSUPPORTED_SASL_MECHANISM", message, "Use SCRAM-SHA-256 or SCRAM-SHA-512.")
        elif not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            outcomes[user] = refused(
                user, "UNACCEPTABLE_CREDENTIAL", f"{iterations} iterations", "Give between 4096 and 16384 iterations."
            )
        elif not password.reveal():
            outcomes[user] = refused(user, "UNACCEPTABLE_CREDENTIAL", "the password is empty", "Give a password.")
    for user in (user for place, user in enumerate(request.deletions) if user in request.deletions[:place]):
        outcomes[user] = refused(user, "DUPLICATE", "it is deleted twice", "Keep one of them.")
    for user in request.upserts.keys() & set(request.deletions):
        outcomes[user] = refused(user, "DUPLICATE", "it is both set and deleted", "Keep one of them.")
    return outcomes


async def _iterations_before(
    link: Link, users: Sequence[ScramUser], assumed: dict[ScramUser, int]
) -> dict[ScramUser, int]:
    """Return the iterations of credentials before the change; `assumed` if the principal may alter but not describe, so
    that nothing is concluded from them."""
    try:
        return await _iterations(link, users)
    except BrokerError:
        return assumed


async def _iterations(link: Link, users: Sequence[ScramUser]) -> dict[ScramUser, int]:
    known = await describe_scram(link, [user.user for user in users])
    for why in known.failures.values():  # of who could not be described nothing is concluded
        raise BrokerError(why)
    return {
        ScramUser(name, credential.mechanism): credential.iterations
        for name, credentials in known.users.items()
        for credential in credentials
    }
