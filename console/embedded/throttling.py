"""Quotas in effect: rates measured as Kafka measures them, and throttle times of clients above their quota."""

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
"""The shortest time that a measurement covers, in seconds."""


class Rate:
    """An amount per second over eleven windows of one second (org.apache.kafka.common.metrics.stats.Rate)."""

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque()
        """Start and sum of each window, the newest last."""

    def record(self, amount: float, now: float) -> None:
        """Record an amount. A negative amount reverts an earlier one."""
        if not self._windows or now - self._windows[-1][0] >= WINDOW:
            self._windows.append([now, 0.0])
        self._windows[-1][1] += amount
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._windows and now - self._windows[0][0] >= WINDOWS * WINDOW:
            self._windows.popleft()

    def measure(self, now: float) -> float:
        """Return the amount per second."""
        self._forget(now)
        return sum(amount for _, amount in self._windows) / self._elapsed(now)

    def _elapsed(self, now: float) -> float:
        """Return the seconds since the oldest window began, at least ten full windows (Rate.windowSize)."""
        passed = now - self._windows[0][0] if self._windows else 0.0
        full = passed // WINDOW
        return passed + max(SPAN - full * WINDOW, 0.0)

    def wait(self, limit: float, now: float) -> float:
        """Return the seconds until the rate is at the limit without further amounts (QuotaUtils.throttleTime).

        A limit of 0, which 2.8 accepts, is reached when all windows are empty.
        """
        rate = self.measure(now)
        if limit <= 0:
            return WINDOWS * WINDOW if rate > 0 else 0.0
        return (rate - limit) / limit * self._elapsed(now) if rate > limit else 0.0

    @property
    def last(self) -> float:
        """The start of the newest window, Unix seconds; 0 without a window."""
        return self._windows[-1][0] if self._windows else 0.0


class TokenBucket:
    """Tokens that the quota refills, limited to eleven seconds' worth
    (org.apache.kafka.common.metrics.stats.TokenBucket, KIP-599). One change may take more tokens than are left."""

    def __init__(self, quota: float, now: float) -> None:
        self._quota = quota
        self._tokens = self._most
        self._at = now

    @property
    def _most(self) -> float:
        return self._quota * WINDOWS * WINDOW

    def fill(self, quota: float, now: float) -> float:
        """Refill at a quota, which may have changed, and return the number of tokens."""
        self._quota = quota
        self._tokens = min(self._most, self._tokens + quota * (now - self._at))
        self._at = now
        return self._tokens

    def take(self, amount: float) -> None:
        """Take tokens, even more than are left."""
        self._tokens = min(self._most, self._tokens - amount)

    def wait(self) -> float:
        """Return the seconds until the number of tokens is no longer negative; eleven windows for a quota of 0, which
        2.8 accepts."""
        if self._tokens >= 0:
            return 0.0
        return -self._tokens / self._quota if self._quota > 0 else WINDOWS * WINDOW


T = TypeVar("T")


class Timed(Generic[T]):
    """An awaitable that runs a coroutine, and measures its run time without its waits. seconds: the run time so far."""

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
"""Maximum number of stored rates, as clients choose their ids."""
_MAX_CACHED = 1_000
_PERCENT = 100.0
_EXEMPT = frozenset({"sasl_handshake", "sasl_authenticate"})


class Requester(NamedTuple):
    """The sender of a request, and the view of the broker that received it."""

    broker_id: int
    principal: str
    """The client's principal, ``User:name``."""
    client_id: str
    view: View
    clock: Clock


class _Sharers(NamedTuple):
    """Clients that share a rate or bucket: on one broker, under one quota key."""

    broker: int
    key: str
    user: str | None
    client: str | None


class Throttling:
    """The clients' use of their quotas, by broker (ClientQuotaManager, ClientRequestQuotaManager; KIP-124, KIP-219)."""

    def __init__(self) -> None:
        self._rates: dict[_Sharers, Rate] = {}
        self._buckets: dict[_Sharers, TokenBucket] = {}
        self._limits: dict[tuple[str, str, str], model_quota.Effective | None] = {}
        self._limits_of = -1

    def limit(self, requester: Requester, key: str) -> model_quota.Effective | None:
        """Return the client's quota, as the receiving broker knows it; None for no quota."""
        view = requester.view
        if view.offset != self._limits_of or len(self._limits) > _MAX_CACHED:
            self._limits.clear()
            self._limits_of = view.offset
        wanted = (_user(requester), requester.client_id, key)
        if wanted not in self._limits:
            self._limits[wanted] = model_quota.effective(view.quotas, *wanted)
        return self._limits[wanted]

    def charge(self, requester: Requester, api: str, size: int, payload: Any, ran: float) -> tuple[Any, float]:
        """Count a request and its response against the client's quotas.

        Args:
            size: size of the request, bytes.
            payload: the response; a Fetch response above the quota loses its records.
            ran: run time without waits, seconds.

        Returns:
            The response to send, and the seconds to throttle the client.
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
        """Return the maximum number of bytes of a Fetch that the quota ever allows; None for no limit."""
        found = self.limit(requester, model_quota.CONSUMER_BYTE_RATE)
        return None if found is None else int(found.value * SPAN)

    def mutations_allowed(self, requester: Requester) -> float:
        """Return the seconds until the controller accepts further partition changes (THROTTLING_QUOTA_EXCEEDED); 0 if
        it accepts them now."""
        bucket = self._bucket(requester)
        return 0.0 if bucket is None else bucket.wait()

    def count_mutations(self, requester: Requester, partitions: int) -> float:
        """Count partition changes, and return the seconds to throttle the client; 0 without a quota."""
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
        """Drop the half of the rates with the oldest use."""
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
