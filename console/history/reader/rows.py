"""Rows that are read from a lake, as values. Times are UTC. Texts come from clusters: untrusted."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from console.history.entities import CLUSTER, POLL_SOURCES, UNOBSERVED
from console.history.schema import Table


class Change(NamedTuple):
    """A value of an attribute, the one before, and who set it: a row of `history`, see there."""

    cluster_id: str
    entity_type: str
    entity_key: str
    attr: str
    old_value: str | None
    new_value: str | None
    valid_from: datetime
    valid_to: datetime | None
    is_current: bool
    is_deleted: bool
    principal: str | None
    attribution: str
    source: str

    @property
    def is_gap(self) -> bool:
        """Whether it is a time in which the cluster was not polled, and no change."""
        return self.entity_type == CLUSTER and self.attr == UNOBSERVED

    def is_first_seen(self, first_poll: datetime | None) -> bool:
        """Whether it was shown by the cluster's first poll, and is no change: it was so before, since an unknown
        time."""
        is_new = self.old_value is None and not self.is_deleted and not self.is_gap
        return is_new and self.source in POLL_SOURCES and self.valid_from == first_poll

    @property
    def place(self) -> Place:
        """Its place in a timeline."""
        return Place(self.valid_from, self.cluster_id, self.entity_type, self.entity_key, self.attr)


class Place(NamedTuple):
    """A place in a timeline, which is ordered from late to early, and by names at one time."""

    valid_from: datetime
    cluster_id: str
    entity_type: str
    entity_key: str
    attr: str


class Drifted(NamedTuple):
    """A value that differs from its peers: a row of `drift`, see there."""

    cluster_id: str
    scope: str
    entity_key: str
    attr: str
    majority_value: str | None
    this_value: str | None
    peers: int
    differing: int
    since: datetime | None
    severity: str

    @property
    def entity(self) -> tuple[str, str]:
        """Type and key of the entity that differs."""
        type_, _, key = self.entity_key.partition(":")
        return type_, key


class Pair(NamedTuple):
    """A user and a client id that share a quota; see `quota_usage`."""

    scope_user: str | None
    scope_client: str | None
    quota_key: str


class Usage(NamedTuple):
    """The usage of a pair in a window, on the broker where it is highest: limits apply to each broker.

    quota_value, level, suggested_value and reason are of that broker's last minute. rate_max, rate_avg: bytes/s or %.
    throttle_ms: of all brokers. series: the highest rate over ten seconds in each minute, the highest of all brokers.
    """

    cluster_id: str
    pair: Pair
    broker_id: int
    quota_value: float | None
    level: int | None
    rate_max: float
    rate_avg: float
    utilisation: float | None
    throttle_ms: int
    throttled_requests: int
    headroom: float | None
    suggested_value: float | None
    reason: str
    series: tuple[tuple[datetime, float], ...]


class Minute(NamedTuple):
    """A minute of a pair on a broker: a row of `quota_usage`, see there."""

    minute: datetime
    broker_id: int
    quota_value: float | None
    level: int | None
    rate_avg: float
    rate_max_10s: float
    throttle_ms: int


class Violation(NamedTuple):
    """A violation of a policy, now or before: a row of `policy_violation`, see there."""

    cluster_id: str
    policy_id: str
    entity_key: str
    attr: str
    actual: str | None
    expected: str
    severity: str
    first_seen: datetime
    last_seen: datetime | None


class Gap(NamedTuple):
    """Time in which a cluster was not polled. until: empty while it lasts."""

    since: datetime
    until: datetime | None


class Freshness(NamedTuple):
    """How fresh a table is for a cluster.

    as_of: the newest observation that the table is made from; empty if there is none. built: when its files were
    written. rows: their number.
    """

    table: Table
    as_of: datetime | None
    built: datetime | None
    rows: int
