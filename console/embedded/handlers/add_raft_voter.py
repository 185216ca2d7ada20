"""AddRaftVoter (80), v0-1: a controller votes from then on (KIP-853; AddVoterHandler).

Needs ALTER on the cluster.

Version notes:
- v1: whether the answer waits until the new voters have committed it; here it always has.

Differences from Kafka: only a node that is known can be added, a controller or, where the brokers are the controllers,
a broker that was removed before; and at once. Where it listens is not asked, and who votes is not kept in a state file.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, Refusal
from console.embedded.voters import candidates, directory_id, refused, replica_key, voter_set


async def handle(request: Any, context: RequestContext) -> Any:
    """Add the voter, and return the error."""
    refusal = refused(request, context, "add") or _add(request, context)
    return context.answer(error_code=refusal.code, error_message=refusal.message)


def _add(request: Any, context: RequestContext) -> Refusal:
    state, node = context.state, int(request.voter_id)
    key, nodes = replica_key(node, request.voter_directory_id), candidates(state)
    if node in nodes and node not in state.no_voters:
        return Refusal(
            ErrorCode.duplicate_voter,
            f"The voter id for {key} is already part of the set of voters {voter_set(state)}.",
        )
    known = nodes.get(node)
    if known is None or not known.alive or request.voter_directory_id != directory_id(state, node):
        return Refusal(ErrorCode.request_timed_out, f"New voter {key} is not ready to receive requests")
    state.no_voters.discard(node)
    return DONE
