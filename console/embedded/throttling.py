"""Quotas: the clients' rates, measured as Kafka measures them, and the throttle times of clients that exceed their
quotas.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from console.embedded.clock import Clock
from console.embedded.state import View
from console.model import quota as model_quota

WINDOWS = 11
WINDOW = 1.0
"""Length of a window in seconds."""
SPAN = (WINDOWS - 1) * WINDOW
"""Minimum seconds that a measurement covers."""


class Rate:
    """A rate per second, measured over the last eleven windows of one second
    (org.apache.kafka.common.metrics.stats.Rate). Times are seconds since 1970.
    """

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque()
        """Start and sum of each window, the newest last."""

    def record(self, amount: float, now: float) -> None:
        """Add an amount that was counted at the time `now`. A negative amount takes back an earlier one."""
        if not self._windows or now - self._windows[-1][0] >= WINDOW:
            self._windows.append([now, 0.0])
        self._windows[-1][1] += amount
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._windows and now - self._windows[0][0] >= WINDOWS * WINDOW:
            self._windows.popleft()

    def measure(self, now: float) -> float:
        """Return the rate per second at the time `now`."""
        self._forget(now)
        return sum(amount for _, amount in self._windows) / self._elapsed(now)

    def _elapsed(self, now: float) -> float:
        """Return the seconds since the beginning of the oldest window, at least those of ten windows
        (Rate.windowSize).
        """
        passed = now - self._windows[0][0] if self._windows else 0.0
        full = passed // WINDOW
        return passed + max(SPAN - full * WINDOW, 0.0)

    def wait(self, limit: float, now: float) -> float:
        """Return the seconds until the rate has decreased to the limit, if nothing is added (QuotaUtils.throttleTime);
        0 if it is not above the limit.

        A limit of 0, which Kafka 2.8 accepts, is reached when all windows are empty.
        """
        rate = self.measure(now)
        if limit <= 0:
            return WINDOWS * WINDOW if rate > 0 else 0.0
        return (rate - limit) / limit * self._elapsed(now) if rate > limit else 0.0

    @property
    def last(self) -> float:
        """The beginning of the newest window, in seconds since 1970; 0 if nothing was recorded."""
        return self._windows[-1][0] if self._windows else 0.0


class TokenBucket:
    """A bucket of tokens, one for each permitted partition change. The quota is the number of tokens that are added
    per second, and the bucket holds at most those of eleven seconds
    (org.apache.kafka.common.metrics.stats.TokenBucket, KIP-599). One change may take more tokens than there are.
    """

    def __init__(self, quota: float, now: float) -> None:
        self._quota = quota
        self._tokens = self._most
        self._at = now

    @property
    def _most(self) -> float:
        return self._quota * WINDOWS * WINDOW

    def fill(self, quota: float, now: float) -> float:
        """Add the tokens since the last call, at a quota in tokens per second, which may have changed. Return the
        number of tokens. now: seconds since 1970.
        """
        self._quota = quota
        self._tokens = min(self._most, self._tokens + quota * (now - self._at))
        self._at = now
        return self._tokens

    def take(self, amount: float) -> None:
        """Remove tokens; their number may become negative."""
        self._tokens = min(self._most, self._tokens - amount)

    def wait(self) -> float:
        """Return the seconds until the number of tokens is not negative any more: 0 if it is not negative; eleven for a
        quota of 0, which Kafka 2.8 accepts.
        """
        if self._tokens >= 0:
            return 0.0
        return -self._tokens / self._quota if self._quota > 0 else WINDOWS * WINDOW


T = TypeVar("T")


class Timed(Generic[T]):
    """An awaitable that runs a coroutine and measures the time in which the coroutine itself runs, without its waits.
    seconds: that time so far.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        step: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            begun = perf_counter()
            try:
                waits_for = step()
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.seconds += perf_counter() - begun
            try:
                given = yield waits_for
            except BaseException as error:  # noqa: BLE001 - an exception thrown in is the coroutine's
                step = partial(self._coroutine.throw, error)
            else:
                step = partial(self._coroutine.send, given)


MAX_KEPT = 10_000
"""Maximum number of rates that are kept. A limit is needed because clients choose their ids."""
_MAX_CACHED = 1_000
_PERCENT = 100.0
_EXEMPT = frozenset({"sasl_handshake", "sasl_authenticate"})


class Requester(NamedTuple):
    """The client that sent a request, and the view of the cluster's state that the receiving broker has."""

    broker_id: int
    principal: str
    """The client's principal, ``User:name``."""
    client_id: str
    view: View
    clock: Clock


class _Sharers(NamedTuple):
    """The clients that share one rate or bucket: those of one broker with the same quota."""

    broker: int
    key: str
    user: str | None
    client: str | None


class Throttling:
    """The rates of clients with quotas, by broker (ClientQuotaManager, ClientRequestQuotaManager; KIP-124, KIP-219)."""

    def __init__(self) -> None:
        self._rates: dict[_Sharers, Rate] = {}
        self._buckets: dict[_Sharers, TokenBucket] = {}
        self._limits: dict[tuple[str, str, str], model_quota.Effective | None] = {}
        self._limits_of = -1

    def limit(self, requester: Requester, key: str) -> model_quota.Effective | None:
        """Return the value of the client's quota for a quota key, by the receiving broker's view; None if it has no
        quota.
        """
        view = requester.view
        if view.offset != self._limits_of or len(self._limits) > _MAX_CACHED:
            self._limits.clear()
            self._limits_of = view.offset
        wanted = (_user(requester), requester.client_id, key)
        if wanted not in self._limits:
            self._limits[wanted] = model_quota.effective(view.quotas, *wanted)
        return self._limits[wanted]

    def charge(self, requester: Requester, api: str, size: int, payload: Any, ran: float) -> tuple[Any, float]:
        """Count a request and its response for the client's quotas.

        Args:
            size: the size of the request in bytes.
            payload: the response. If a Fetch response exceeds the quota, its records are removed.
            ran: the seconds in which the handler ran, without its waits.

        Returns:
            The response to send, and the seconds for which to throttle the client.
        """
        # Before authentication there is no user, and therefore no quota.
        if not requester.principal or api in _EXEMPT:
            return payload, 0.0
        # The request quota never throttles a client for more than one window.
        wait = min(self._record(requester, model_quota.REQUEST_PERCENTAGE, ran * _PERCENT), WINDOW)
        if api == "produce":
            wait = max(wait, self._record(requester, model_quota.PRODUCER_BYTE_RATE, size))
        elif api == "fetch":
            carried = sum(len(part.records or b"") for topic in payload.responses for part in topic.partitions)
            wait = max(wait, self._record(requester, model_quota.CONSUMER_BYTE_RATE, carried))
            if wait:  # send an empty response with the throttle time
                # Like Kafka, measure before sending: a throttled client gets no records, so these must not count again
                # for its next request.
                self._record(requester, model_quota.CONSUMER_BYTE_RATE, -carried)
                payload = replace(payload, responses=())
        return payload, wait

    def most_to_fetch(self, requester: Requester) -> int | None:
        """Return the maximum size in bytes of a Fetch response that the client's quota permits at all; None for no
        limit.
        """
        found = self.limit(requester, model_quota.CONSUMER_BYTE_RATE)
        return None if found is None else int(found.value * SPAN)

    def mutations_allowed(self, requester: Requester) -> float:
        """Return the seconds until the controller accepts further partition changes of the client
        (THROTTLING_QUOTA_EXCEEDED); 0 if it accepts them now.
        """
        bucket = self._bucket(requester)
        return 0.0 if bucket is None else bucket.wait()

    def count_mutations(self, requester: Requester, partitions: int) -> float:
        """Count partition changes of the client, and return the seconds for which to throttle it; 0 if it does not
        exceed a quota.
        """
        bucket = self._bucket(requester)
        if bucket is None:
            return 0.0
        bucket.take(partitions)
        return bucket.wait()

    def _bucket(self, requester: Requester) -> TokenBucket | None:
        found, now = self.limit(requester, model_quota.CONTROLLER_MUTATION_RATE), requester.clock.time()
        if found is None:
            return None
        # The controller counts the changes from all brokers together.
        sharers = _sharers(requester, found)._replace(broker=0)
        bucket = self._buckets.setdefault(sharers, TokenBucket(found.value, now))
        bucket.fill(found.value, now)
        return bucket

    def _record(self, requester: Requester, key: str, amount: float) -> float:
        found = self.limit(requester, key)
        if found is None:
            return 0.0
        now = requester.clock.time()
        rate = self._rates.setdefault(_sharers(requester, found), Rate())
        rate.record(amount, now)
        if len(self._rates) > MAX_KEPT:
            self._forget()
        return rate.wait(found.value, now)

    def _forget(self) -> None:
        """Drop the half of the rates that have not been used for the longest time."""
        newest = sorted(self._rates.items(), key=lambda entry: entry[1].last)
        self._rates = dict(newest[len(newest) // 2 :])


def _user(requester: Requester) -> str:
    return requester.principal.partition(":")[2]


def _sharers(requester: Requester, found: model_quota.Effective) -> _Sharers:
    user, client = _user(requester), requester.client_id
    return _Sharers(
        requester.broker_id,
        found.key,
        None if found.shared == "client-id" else user,
        None if found.shared == "user" else client,
    )
