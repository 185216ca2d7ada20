"""Which cluster answers: ids as clusters have them. Pure."""

from __future__ import annotations

from console.model.failure import Failure


def same_cluster(one: str | None, other: str | None) -> bool:
    """Return whether two ids are those of one cluster: a server without an id is the same as no other."""
    return bool(one) and one == other


def not_expected(context: str, wanted: str, found: str | None) -> Failure | None:
    """Return the failure of a context whose addresses lead to another cluster than its own; None if they do not."""
    if same_cluster(wanted, found):
        return None
    message = f"context {context} is for cluster {wanted}, but {_who(found)} answered"
    return Failure("WRONG_CLUSTER", message, "Check bootstrap.servers of the context, or correct its cluster_id.")


def not_the_one_before(before: str | None, found: str | None) -> Failure | None:
    """Return the failure of addresses that lead to another cluster than before; None if they do not.

    Two servers without an id are accepted: nothing can distinguish them, and an apply says so.
    """
    if not (before or found) or same_cluster(before, found):
        return None
    known = f"cluster {before}" if before else "a server without an id, which answered before"
    remedy = (
        "Find out which cluster these addresses lead to. To work on this one, start kac again: what was read and "
        "staged is of the other."
    )
    return Failure("WRONG_CLUSTER", f"{_who(found)} answered at the addresses of {known}", remedy)


def _who(found: str | None) -> str:
    return found or "a server without an id"
