"""Voters of the KRaft quorum: adding and removing them (KIP-853)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar, TypeVar
from uuid import UUID

from console.admin.cluster import describe_quorum
from console.admin.delivery import Sender, Senders, applied_if
from console.admin.errors import NotSendable
from console.model.changes import AddVoter, Outcome, RemoveVoter, Status, VoterTarget
from console.model.identity import uuid_of
from console.wire.fields import Fields

V = TypeVar("V", bound=AddVoter | RemoveVoter)


class _OfVoter(Sender[V, VoterTarget]):
    needs = "3.9"
    right = "changing the voters needs ALTER on the cluster"
    joins: ClassVar[bool]

    directory: UUID | None

    def targets(self) -> tuple[VoterTarget]:
        return (VoterTarget(self.request.voter_id, self.request.directory_id),)

    async def refused(self) -> dict[VoterTarget, Outcome]:
        self.directory = _uuid(self.request.directory_id)
        return {}

    def fields(self, _targets: Sequence[VoterTarget]) -> Fields:
        voter = {"voter_id": self.request.voter_id, "voter_directory_id": self.directory}
        return {"cluster_id": self.link.routes.cluster_id, **voter}

    async def describe_again(self, targets: Sequence[VoterTarget]) -> dict[VoterTarget, Status]:
        quorum = await describe_quorum(self.link)
        voters = {VoterTarget(each.id, each.directory_id) for each in quorum.voters}
        return {target: applied_if((target in voters) is self.joins) for target in targets}


class _Joining(_OfVoter[AddVoter]):
    """Adds a voter. The leader answers once the new voter has caught up and the new voters have committed the
    change.
    """

    joins = True

    def fields(self, targets: Sequence[VoterTarget]) -> Fields:
        request = self.request
        return {
            **super().fields(targets),
            "timeout": timedelta(milliseconds=request.timeout_ms),
            "listeners": [{"name": request.listener, "host": request.host, "port": request.port}],
            "ack_when_committed": True,
        }


class _Leaving(_OfVoter[RemoveVoter]):
    """Removes a voter. The leader answers once the remaining voters have committed the change."""

    joins = False


SENDERS: Senders = {AddVoter: _Joining, RemoveVoter: _Leaving}


def _uuid(directory_id: str) -> UUID:
    """Convert a directory id to a UUID. Raises NotSendable if it is invalid."""
    try:
        return uuid_of(directory_id)
    except ValueError:
        message = f"{directory_id!r} is no directory id"
        raise NotSendable.of(message, "Nothing was sent; correct the value.") from None
