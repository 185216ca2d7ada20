"""RemoveRaftVoter (81), v0: a controller votes no more (KIP-853; RemoveVoterHandler).

Needs ALTER on the cluster.

Differences from Kafka: it is done at once, also where the voters that are left are no majority that follows. Who votes
is not kept in a state file.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded import voters as embedded_voters
from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, Refusal


async def handle(request: Any, context: RequestContext) -> Any:
    """Remove the voter, and return the error."""
    refusal = embedded_voters.refused(request, context, "remove") or _remove(request, context)
    return context.answer(error_code=refusal.code, error_message=refusal.message)


def _remove(request: Any, context: RequestContext) -> Refusal:
    state, node = context.state, int(request.voter_id)
    there = embedded_voters.voters(state)
    if node not in there or request.voter_directory_id != embedded_voters.directory_id(state, node) or there == [node]:
        key = embedded_voters.replica_key(node, request.voter_directory_id)
        message = f"Cannot remove voter {key} from the set of voters {embedded_voters.voter_set(state)}"
        return Refusal(ErrorCode.voter_not_found, message)
    state.no_voters.add(node)
    if state.controllers:
        embedded_voters.elect(state)
    elif state.controller_id == node:
        alive = [each for each in embedded_voters.voters(state) if state.brokers[each].alive]
        state.move_controller(alive[0] if alive else -1)
    return DONE
