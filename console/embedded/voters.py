"""Who votes in the quorum: all brokers while it is static; later those that were not taken out (KIP-853)."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import CLUSTER_REFUSED, Refusal
from console.embedded.state import ClusterState
from console.model.identity import uuid_text
from console.model.quorum import KRAFT_VERSION

_DIRECTORIES = UUID("2f3b6f0e-6a0f-4d4e-9a6f-7c2b1d5e8a90")


def is_dynamic(state: ClusterState) -> bool:
    """Return whether voters can be added and removed."""
    return state.features.get(KRAFT_VERSION, 0) > 0


def directory_id(state: ClusterState, broker_id: int) -> UUID | None:
    """Return the directory of a broker's metadata log, as the quorum knows it: not at all while it is static."""
    return uuid5(_DIRECTORIES, f"{state.cluster_id}/{broker_id}") if is_dynamic(state) else None


def voters(state: ClusterState) -> list[int]:
    """Return the ids of the brokers that vote, sorted."""
    return sorted(state.brokers.keys() - state.no_voters)


def replica_key(node: int, directory: UUID) -> str:
    """Return a voter as Kafka writes it into messages."""
    return f"ReplicaKey(id={node}, directoryId={uuid_text(directory)})"


def voter_set(state: ClusterState) -> str:
    """Return all voters as Kafka writes them into messages."""
    found = (replica_key(each, directory) for each in voters(state) if (directory := directory_id(state, each)))
    return f"[{', '.join(found)}]"


def refused(request: Any, context: RequestContext, doing: str) -> Refusal | None:
    """Return why no voter may be changed so, None where one may be.

    Args:
        request: an AddRaftVoter, or a RemoveRaftVoter.
        doing: ``add`` or ``remove``.
    """
    state = context.state
    if not context.allowed("ALTER"):
        # Controllers refuse it themselves, without the name of the right.
        return Refusal(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)
    if request.cluster_id is not None and request.cluster_id != state.cluster_id:
        message = f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{state.cluster_id}"'
        return Refusal(ErrorCode.inconsistent_cluster_id, message)
    if request.voter_directory_id is None:
        message = f"{doing.capitalize()} voter request didn't include a valid voter"
        return Refusal(ErrorCode.invalid_request, message)
    if not is_dynamic(state):
        gerund = "adding" if doing == "add" else "removing"
        message = f"Cluster doesn't support {gerund} voter because the {KRAFT_VERSION} feature is 0"
        return Refusal(ErrorCode.unsupported_version, message)
    return None
