"""Read which config values belong to running moves and operations, and are therefore no part of a wanted state."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from console.model.config import ConfigPlace
from console.plan.stale_throttles import owned_by_moves
from console.plan.values import own_text

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.snapshot import Snapshot
    from console.session.operating import Operations


async def read_owned(
    snapshot: Snapshot, context: Context, operations: Callable[[], Awaitable[Operations]]
) -> Mapping[ConfigPlace, str]:
    """Return config place -> a line that names the owner, for each value that belongs to a running move or to an open
    operation in this host's journal. Values that the context declares as intended are left out.

    Args:
        snapshot: a snapshot with everything read (`reading.read_everything`).
        operations: function that returns the operations in the journal.

    Raises:
        Refused, AdminError: the journal can't be read.
    """
    from console.session.former_changes import any_journal

    owned = dict[ConfigPlace, str]()
    if context.journal and any_journal(os.environ):
        # An operation sets its throttles before its moves begin, and removes them after the moves.
        for operation in (await operations()).open:
            owned |= dict.fromkeys(operation.owned().places(), f"belongs to operation {operation.number}")
    configs = snapshot.configs
    owned = {
        (resource, key): why
        for (resource, key), why in owned.items()
        if resource in configs and own_text(configs[resource].get(key), resource) is not None
    }
    owned |= owned_by_moves(snapshot)
    return {place: why for place, why in owned.items() if place not in context.throttles}
