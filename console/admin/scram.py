"""SCRAM credentials (KIP-554): listing them without secrets, setting and deleting them.

The password itself never leaves this process: only the salted password is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.cluster import describe_cluster
from console.admin.delivery import Answer, Sender, Senders, refused
from console.admin.errors import AdminError, BrokerError, check, failure
from console.admin.link import Link, until_settled
from console.model.changes import AlterScram, Outcome, ScramUser, Status
from console.model.cluster import ScramCredential, ScramListing
from console.model.codes import ScramMechanism
from console.model.secret import Secret
from console.wire.fields import Fields

DESCRIBE = "DESCRIBE"


async def describe_scram(link: Link, users: Sequence[str] | None = None) -> ScramListing:
    """Return the SCRAM credentials of all users, or of the named ones. Users without credentials are missing.

    Raises BrokerError if the broker refuses, Unsupported before Kafka 2.7, and other AdminErrors.
    """
    await link.require("describe_user_scram_credentials", 0, "2.7, in KRaft mode 3.5")
    if users is not None and not users:
        return ScramListing({})
    if users is None:
        await _require_describe(link)
    names = None if users is None else [{"name": name} for name in dict.fromkeys(users)]
    response = await link.call("describe_user_scram_credentials", {"users": names})
    check(response)
    return scram_listing(response)


async def _require_describe(link: Link) -> None:
    """Raise BrokerError if the principal has no Describe right on the cluster.

    Without that right, brokers up to 4.3 never answer a request for all users
    (DescribeUserScramCredentialsRequest.getErrorResponse fails on the missing names), so it must not be sent.
    """
    operations = (await describe_cluster(link)).operations
    if operations is not None and DESCRIBE not in operations:
        raise BrokerError(failure(ErrorCode.cluster_authorization_failed))


def scram_listing(response: Any) -> ScramListing:
    """Convert a DescribeUserScramCredentials response to the model, sorted by user and mechanism. A user may have its
    own error (KIP-554).
    """
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
"""Seconds within which brokers usually return a new credential."""
_DIGESTS: Mapping[int, str] = {1: "sha256", 2: "sha512"}


class _Alteration(Sender[AlterScram, ScramUser]):
    """Sets and deletes credentials. Brokers accept each user only once in a request, so the second mechanism of a
    user is sent in a second request. Brokers return only the number of iterations of a credential, so if the
    response to a change is lost, the outcome may stay unknown.
    """

    needs = "2.7, in KRaft mode 3.5"
    _salted: dict[ScramUser, tuple[bytes, bytes]]
    _before: Mapping[ScramUser, int]

    def targets(self) -> tuple[ScramUser, ...]:
        return (*self.request.upserts, *self.request.deletions)

    async def refused(self) -> dict[ScramUser, Outcome]:
        return _refusals(self.request)

    async def prepare(self, targets: Sequence[ScramUser]) -> dict[ScramUser, Outcome]:
        upserts = self.request.upserts
        self._salted = {
            user: await asyncio.to_thread(salt_password, user.mechanism, *upserts[user])
            for user in targets
            if user in upserts
        }
        assumed = {user: upserts[user][0] for user in self._salted}
        self._before = await _iterations_before(self.link, targets, assumed)
        return {}

    async def deliver(self, targets: Sequence[ScramUser]) -> dict[ScramUser, Outcome]:
        outcomes: dict[ScramUser, Outcome] = {}
        for users in by_rounds(targets):
            outcomes |= await super().deliver(users)
        done = (user for user in self._salted if outcomes[user].status is Status.APPLIED)
        await _until_described(self.link, {user: self.request.upserts[user][0] for user in done})
        return outcomes

    def fields(self, targets: Sequence[ScramUser]) -> Fields:
        made: dict[str, list[Fields]] = {"deletions": [], "upsertions": []}
        for user in targets:
            named = {"name": user.user, "mechanism": user.mechanism}
            if user in self._salted:
                salt, salted = self._salted[user]
                iterations = self.request.upserts[user][0]
                made["upsertions"].append({**named, "iterations": iterations, "salt": salt, "salted_password": salted})
            else:
                made["deletions"].append(named)
        return made

    def answers(self, response: Any, targets: Sequence[ScramUser]) -> dict[ScramUser, Answer]:
        by_name = {result.user: (result.error_code, result.error_message) for result in response.results}
        return {user: by_name[user.user] for user in targets if user.user in by_name}

    async def describe_again(self, targets: Sequence[ScramUser]) -> dict[ScramUser, Status]:
        now = await _iterations(self.link, targets)
        wanted = {user: self.request.upserts[user][0] for user in self._salted}
        return {user: scram_verdict(wanted.get(user), self._before.get(user), now.get(user)) for user in targets}


SENDERS: Senders = {AlterScram: _Alteration}


async def _until_described(link: Link, upserted: Mapping[ScramUser, int]) -> None:
    """Wait until brokers return these credentials, at most `DESCRIBED_WITHIN` seconds; return earlier if a read fails.
    A deletion may follow only then: brokers (3.9, 4.3) lose a credential that is set while the only other credential
    of its mechanism is being deleted.
    """
    if not upserted:
        return

    def missing(found: Mapping[ScramUser, int]) -> bool:
        return any(found.get(user) != iterations for user, iterations in upserted.items())

    with suppress(AdminError):
        await until_settled(lambda: _iterations(link, list(upserted)), missing, within=DESCRIBED_WITHIN, attempts=20)


def by_rounds(users: Sequence[ScramUser]) -> list[list[ScramUser]]:
    """Divide credentials into the fewest batches in which each user occurs once."""
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
    """Return the status of a change: NOT_APPLIED if the credential is not as requested; UNKNOWN if it had the requested
    number of iterations already before the change; otherwise APPLIED.

    Args:
        wanted: the number of iterations to set; None for a deletion.
        before: the number of iterations before the change; None if there was no credential.
        now: the present number of iterations; None if there is no credential.
    """
    if now != wanted:
        return Status.NOT_APPLIED
    if wanted is None or before != wanted:
        return Status.APPLIED
    return Status.UNKNOWN


def salt_password(mechanism: ScramMechanism, iterations: int, password: Secret) -> tuple[bytes, bytes]:
    """Return a new random salt, and the password salted with it (RFC 5802's Hi, on the password's UTF-8 as in
    ScramFormatter).
    """
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
    """Return credential -> its number of iterations before the change. Return `assumed` if the principal may alter
    but not describe credentials: a lost outcome can't be looked up afterwards either, so the numbers don't
    matter.
    """
    try:
        return await _iterations(link, users)
    except BrokerError:
        return assumed


async def _iterations(link: Link, users: Sequence[ScramUser]) -> dict[ScramUser, int]:
    known = await describe_scram(link, [user.user for user in users])
    for why in known.failures.values():  # a user that could not be described allows no conclusion
        raise BrokerError(why)
    return {
        ScramUser(name, credential.mechanism): credential.iterations
        for name, credentials in known.users.items()
        for credential in credentials
    }
