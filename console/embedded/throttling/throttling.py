"""Who is held back, and for how long (ClientQuotaManager, ClientRequestQuotaManager, KIP-124, KIP-219)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from console.embedded.throttling.rates import SPAN, WINDOW, Rate
from console.embedded.throttling.tokens import TokenBucket
from console.model.quota import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Effective,
    effective,
)

if TYPE_CHECKING:
    from console.embedded.context import RequestContext

MAX_KEPT = 10_000
"""Rates of clients that are remembered: clients choose their ids."""
_MAX_CACHED = 1_000
_PERCENT = 100.0
_EXEMPT = frozenset({"sasl_handshake", "sasl_authenticate"})


class _Sharers(NamedTuple):
    """Whose requests count together: one broker's, under one quota key."""

    broker: int
    key: str
    user: str | None
    client: str | None


class Throttling:
    """What clients did under their quotas, broker by broker."""

    def __init__(self) -> None:
        self._rates: dict[_Sharers, Rate] = {}
        self._buckets: dict[_Sharers, TokenBucket] = {}
        self._limits: dict[tuple[str, str, str], Effective | None] = {}
        self._limits_of = -1

    def limit(self, context: RequestContext, key: str) -> Effective | None:
        """The quota that the client is under, as the broker that was asked knows it; None for none."""
        view = context.view
        if view.offset != self._limits_of or len(self._limits) > _MAX_CACHED:
            self._limits.clear()
            self._limits_of = view.offset
        wanted = (_user(context), context.client_id, key)
        if wanted not in self._limits:
            self._limits[wanted] = effective(view.quotas, *wanted)
        return self._limits[wanted]

    def charge(self, context: RequestContext, api: str, size: int, payload: Any, ran: float) -> tuple[Any, float]:
        """Count a request and its answer. size: the request's bytes; ran: seconds of work.

        The answer as it is to be sent, and the seconds that the client is to be held back.
        """
        if not context.principal or api in _EXEMPT:
            return payload, 0.0
        # A client is never held back for its requests' time for longer than a window.
        wait = min(self._record(context, REQUEST_PERCENTAGE, ran * _PERCENT), WINDOW)
        if api == "produce":
            wait = max(wait, self._record(context, PRODUCER_BYTE_RATE, size))
        elif api == "fetch":
            carried = sum(len(part.records or b"") for topic in payload.responses for part in topic.partitions)
            wait = max(wait, self._record(context, CONSUMER_BYTE_RATE, carried))
            if wait:  # the answer says so and is empty; what it would have carried does not count
                self._record(context, CONSUMER_BYTE_RATE, -carried)
                payload = replace(payload, responses=())
        return payload, wait

    def most_to_fetch(self, context: RequestContext) -> int | None:
        """Bytes that a client may have at once, so that it gets anything at all; None for any number."""
        found = self.limit(context, CONSUMER_BYTE_RATE)
        return None if found is None else int(found.value * SPAN)

    def mutations_allowed(self, context: RequestContext) -> float:
        """Seconds to wait before more changes of partitions are taken (THROTTLING_QUOTA_EXCEEDED); 0 for none."""
        bucket = self._bucket(context)
        return 0.0 if bucket is None else bucket.wait()

    def count_mutations(self, context: RequestContext, partitions: int) -> float:
        """Count changes of so many partitions; the seconds that the client is to be held back."""
        bucket = self._bucket(context)
        if bucket is None:
            return 0.0
        bucket.take(partitions)
        return bucket.wait()

    def _bucket(self, context: RequestContext) -> TokenBucket | None:
        found, now = self.limit(context, CONTROLLER_MUTATION_RATE), context.clock.time()
        if found is None:
            return None
        # One controller takes the changes of all brokers.
        sharers = _sharers(context, found)._replace(broker=0)
        bucket = self._buckets.setdefault(sharers, TokenBucket(found.value, now))
        bucket.fill(found.value, now)
        return bucket

    def _record(self, context: RequestContext, key: str, amount: float) -> float:
        found = self.limit(context, key)
        if found is None:
            return 0.0
        now = context.clock.time()
        rate = self._rates.setdefault(_sharers(context, found), Rate())
        rate.record(amount, now)
        if len(self._rates) > MAX_KEPT:
            self._forget()
        return rate.wait(found.value, now)

    def _forget(self) -> None:
        """Those that did something last are kept."""
        newest = sorted(self._rates.items(), key=lambda entry: entry[1].last)
        self._rates = dict(newest[len(newest) // 2 :])


def _user(context: RequestContext) -> str:
    return context.principal.partition(":")[2]


def _sharers(context: RequestContext, found: Effective) -> _Sharers:
    user, client = _user(context), context.client_id
    return _Sharers(
        context.broker_id,
        found.key,
        None if found.shared == "client-id" else user,
        None if found.shared == "user" else client,
    )
