"""How fast a client may make and take away partitions (controller_mutation_rate, KIP-599)."""

from __future__ import annotations

from datetime import timedelta

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.topics.refusal import Refusal


class MutationQuota:
    """Counts the changes of one request against its client's quota.

    From the version that knows the error on, changes above the quota are refused; before, they are made, and the client
    is held back for longer (StrictControllerMutationQuota, PermissiveControllerMutationQuota).
    """

    def __init__(self, context: RequestContext, strict_from: int) -> None:
        self._context = context
        self._strict = context.version >= strict_from
        self._wait = 0.0

    def take(self, partitions: int) -> Refusal | None:
        """Count a change of so many partitions; why it can't be made now, if it can't."""
        throttling = self._context.cluster.throttling
        if self._strict:
            wait = throttling.mutations_allowed(self._context)
            if wait > 0:
                self._wait = wait
                return Refusal(ErrorCode.throttling_quota_exceeded)
        counted = throttling.count_mutations(self._context, partitions)
        if not self._strict:
            self._wait = counted
        return None

    def hold_back(self) -> timedelta:
        """Take no more of this client's requests until it is within its quota again; how long that is."""
        session = self._context.session
        session.mute = max(session.mute, self._wait)
        return timedelta(milliseconds=round(self._wait * 1000))
