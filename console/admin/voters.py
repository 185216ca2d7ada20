"""Voters of the quorum: one is added or removed (KIP-853)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.admin.cluster import describe_quorum
from console.admin.delivery import Answer, deliver
from console.admin.errors import NotSendable
from console.admin.link import CONTROLLER, Link
from console.admin.topics import ANSWER_SECONDS
from console.model.changes import AddVoter, Outcome, RemoveVoter, Status, VoterTarget
from console.model.failure import Failure
from console.model.identity import uuid_of
from console.wire.schemas import for_version

_NEEDED = "3.9"


async def add_voter(link: Link, request: AddVoter, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return the outcome for the voter; a check is UNCHECKED. The leader answers once the new voter has caught up and
    the new voters have committed it.

    Raises Unsupported before Kafka 3.9, and AdminError if nothing was sent.
    """
    await link.require("add_raft_voter", 0, _NEEDED, CONTROLLER)
    directory = _uuid(request.directory_id)

    def build(kio: ModuleType) -> Any:
        listener = kio.Listener(name=request.listener, host=request.host, port=request.port)
        return for_version(
            kio.AddRaftVoterRequest,
            cluster_id=link.routes.cluster_id,
            timeout=timedelta(milliseconds=request.timeout_ms),
            voter_id=request.voter_id,
            voter_directory_id=directory,
            listeners=(listener,),
            ack_when_committed=True,
        )

    target = VoterTarget(request.voter_id, request.directory_id)
    limit = max(link.settings.request_timeout, request.timeout_ms / 1000 + ANSWER_SECONDS)
    return await _changed(link, "add_raft_voter", build, target, limit, validate_only=validate_only, wanted=True)


async def remove_voter(link: Link, request: RemoveVoter, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return the outcome for the voter; a check is UNCHECKED. The leader answers once the voters that are left have
    committed it.

    Raises Unsupported before Kafka 3.9, and AdminError if nothing was sent.
    """
    await link.require("remove_raft_voter", 0, _NEEDED, CONTROLLER)
    directory = _uuid(request.directory_id)

    def build(kio: ModuleType) -> Any:
        return kio.RemoveRaftVoterRequest(
            cluster_id=link.routes.cluster_id, voter_id=request.voter_id, voter_directory_id=directory
        )

    target = VoterTarget(request.voter_id, request.directory_id)
    limit = link.settings.request_timeout
    return await _changed(link, "remove_raft_voter", build, target, limit, validate_only=validate_only, wanted=False)


async def _changed(
    link: Link, api: str, build: Any, target: VoterTarget, limit: float, *, validate_only: bool, wanted: bool
) -> tuple[Outcome, ...]:
    if validate_only:
        return (Outcome(target, Status.UNCHECKED),)

    async def send(_targets: Sequence[VoterTarget]) -> Mapping[VoterTarget, Answer]:
        response = await link.call(api, build, to=CONTROLLER, change=True, timeout=limit)
        if response.error_code == ErrorCode.cluster_authorization_failed:
            return {target: (response.error_code, "changing the voters needs ALTER on the cluster")}
        return {target: (response.error_code, response.error_message)}

    async def describe_again(_targets: Sequence[VoterTarget]) -> Mapping[VoterTarget, Status]:
        quorum = await describe_quorum(link)
        there = any(VoterTarget(each.id, each.directory_id) == target for each in quorum.voters)
        return {target: Status.APPLIED if there is wanted else Status.NOT_APPLIED}

    outcomes = await deliver(link.settings, [target], send, describe_again, validate_only=False)
    return tuple(outcomes.values())


def _uuid(directory_id: str) -> UUID:
    """Return the id of a directory. Raises NotSendable."""
    try:
        return uuid_of(directory_id)
    except ValueError:
        problem = Failure(
            "NOT_SENDABLE", f"{directory_id!r} is no directory id", "Nothing was sent; correct the value."
        )
        raise NotSendable(problem) from None
