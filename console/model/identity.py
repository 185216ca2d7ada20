"""Ids of clusters: checks that a response comes from the expected cluster; and the text form of Kafka's UUIDs. Pure."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple
from uuid import UUID

from console.model.failure import WRONG_CLUSTER, Failure


class Node(NamedTuple):
    """The node that a client wants to reach (KIP-1242): the cluster's id and the node's id."""

    cluster_id: str
    id: int


def same_cluster(one: str | None, other: str | None) -> bool:
    """Return whether two ids are equal and both known. None, the id of a server without one, equals nothing."""
    return bool(one) and one == other


def not_expected(context: str, wanted: str, cluster_id: str | None) -> Failure | None:
    """Return a failure if the addresses of a context lead to another cluster than the context names; None if they lead
    to the named one.

    Args:
        context: the name of the context.
        wanted: the id that the context names.
        cluster_id: the id in the response; None if the server has no id.
    """
    if same_cluster(wanted, cluster_id):
        return None
    message = f"context {context} is for cluster {wanted}, but {_who(cluster_id)} answered"
    return Failure(WRONG_CLUSTER, message, "Check bootstrap.servers of the context, or correct its cluster_id.")


def not_the_one_before(before: str | None, cluster_id: str | None) -> Failure | None:
    """Return a failure if addresses lead to another cluster than before; None if they lead to the same one.

    If neither the server before nor the present one has an id, the result is None too, since they can't be
    distinguished; an apply reports that case.

    Args:
        before: the id of the cluster before; None if its server has no id.
        cluster_id: the id in the response; None if the server has no id.
    """
    if not (before or cluster_id) or same_cluster(before, cluster_id):
        return None
    known = f"cluster {before}" if before else "a server without an id, which answered before"
    remedy = (
        "Find out which cluster these addresses lead to. To work on this one, start kac again: what was read and "
        "staged is of the other."
    )
    return Failure(WRONG_CLUSTER, f"{_who(cluster_id)} answered at the addresses of {known}", remedy)


def _who(cluster_id: str | None) -> str:
    return cluster_id or "a server without an id"


def uuid_text(uuid: UUID) -> str:
    """Return the id of a topic or a log directory as Kafka's own tools print it (org.apache.kafka.common.Uuid): 22
    characters of URL-safe base64."""
    return urlsafe_b64encode(uuid.bytes)[:22].decode()


def uuid_of(text: str) -> UUID:
    """Parse an id as `uuid_text` returns it. Raises ValueError for a text that is not 16 bytes in base64."""
    return UUID(bytes=urlsafe_b64decode(text + "=="))
