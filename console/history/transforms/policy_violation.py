"""`policy_violation`: what violates or violated a policy, from when until when.

Each policy is judged, for each entity and attribute that it is about, at every change of what it depends on: the value,
whether the entity exists, what it inherits, and what it is compared with. Adjacent times of violation are merged. Of a
hidden value only that it is set is judged. Kafka's own default counts only in clusters that were polled: the metadata
log does not have brokers' files. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa

from console.history.entities import CLUSTER, DEFAULT
from console.history.policy_files import Expected, Policy
from console.history.schema import POLICY_VIOLATION
from console.history.transforms.kraft_changes import Entity
from console.history.transforms.rows import rows_of, table_of


class Held(NamedTuple):
    """A value of an attribute: a row of `history` of one entity. value: None if hidden or deleted."""

    attr: str
    value: str | None
    since: int
    until: int | None
    is_deleted: bool


# -- the states of a subject, an attribute of an entity under one policy ----------------------------------------------


class _Event(NamedTuple):
    """delta: by how much a number of the state changes; None: a text of it becomes `value`."""

    ts: int
    what: str
    value: str | None = None
    delta: int | None = None


@dataclass
class _State:
    """live: how many values are set. exists: how many values the entity has. own: the value; default: that of the
    brokers' common default; brokers: that of a broker; other: that of the attribute that it is compared with."""

    live: int = 0
    exists: int = 0
    own: str | None = None
    default: str | None = None
    brokers: str | None = None
    other: str | None = None

    def take(self, event: _Event) -> None:
        """Changes the state."""
        now = event.value if event.delta is None else getattr(self, event.what) + event.delta
        setattr(self, event.what, now)


def _is_broken(policy: Policy, state: _State, looked_at: bool) -> bool:
    is_set = state.live > 0
    if not (state.exists > 0 if policy.counts_missing else is_set):
        return False
    expected = policy.expected
    if expected.is_set is not None and expected.is_set is not is_set:
        return True
    if expected.set_on_one and not is_set:
        return True
    value = _effective_value(policy, state, looked_at)
    return value is not None and _is_against(expected, value, state.other)


def _effective_value(policy: Policy, state: _State, looked_at: bool) -> str | None:
    """The value that counts; None if it is hidden or unknown."""
    if state.live > 0 or not policy.counts_missing:
        return state.own
    inherited = [state.default, state.brokers] if policy.inherits else []
    if looked_at:
        inherited.append(policy.default)
    return next((each for each in inherited if each is not None), None)


def _is_against(expected: Expected, value: str, other: str | None) -> bool:
    number, limit = _number(value), _number(other)
    endless = expected.infinite is not None and number == expected.infinite
    return (
        (expected.at_least is not None and number is not None and not endless and number < expected.at_least)
        or (expected.at_most is not None and number is not None and (endless or number > expected.at_most))
        or (expected.below is not None and number is not None and limit is not None and number >= limit)
        or (bool(expected.one_of) and value not in expected.one_of)
        or (bool(expected.none_of) and value in expected.none_of)
        or (expected.matches is not None and not re.search(expected.matches, value))
        or (expected.matches_not is not None and bool(re.search(expected.matches_not, value)))
    )


def _number(text: str | None) -> float | None:
    try:
        return None if text is None or "_" in text else float(text)
    except ValueError:
        return None


# -- what policies depend on ------------------------------------------------------------------------------------------


@dataclass
class OfCluster:
    """What holds for all entities of a cluster.

    first: the time of its first value. looked_at: whether a poll showed its brokers' files. brokers: values of the
    brokers by attribute: those of the common default, and of the first broker that has any.
    """

    first: int
    looked_at: bool = False
    brokers: dict[str, dict[str, list[Held]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def inherited(self, policy: Policy) -> Iterator[_Event]:
        """The values that a policy's entities inherit. A broker inherits from no other."""
        by_broker = self.brokers.get(policy.inherits or "", {})
        for held in by_broker.get(DEFAULT, ()):
            yield _Event(held.since, "default", held.value)
        first = min(by_broker.keys() - {DEFAULT}, default=None)
        if first is not None and policy.entity_type != "broker":
            for held in by_broker[first]:
                yield _Event(held.since, "brokers", held.value)


class Violation(NamedTuple):
    """A row of `policy_violation`."""

    cluster_id: str
    policy_id: str
    entity_key: str
    attr: str
    actual: str | None
    expected: str
    severity: str
    first_seen: int
    last_seen: int | None


class _Judge:
    """A policy with its patterns."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._names, self._clusters = re.compile(policy.names.pattern), re.compile(policy.clusters.pattern)
        self._attrs = re.compile(policy.acl or policy.attrs.pattern)

    @property
    def attr(self) -> str:
        """The attribute of a policy that is about one."""
        return (*self.policy.attrs.exact, "")[0]

    def is_about(self, cluster_id: str, entity: Entity) -> bool:
        """Whether it judges that entity."""
        of_type = self.policy.entity_type == entity[0]
        return of_type and bool(self._names.search(entity[1]) and self._clusters.search(cluster_id))

    def is_about_cluster(self, cluster_id: str) -> bool:
        """Whether it judges anything of that cluster."""
        return self._clusters.search(cluster_id) is not None

    def violations(
        self, cluster_id: str, key: str, rows: Sequence[Held], of: OfCluster, always: bool = False
    ) -> Iterator[Violation]:
        """The violations of an entity. always: it is judged whether it exists or not."""
        policy = self.policy
        events: dict[str, list[_Event]] = defaultdict(list)
        if always:
            events[self.attr].append(_Event(of.first, "exists", delta=1))
        for row in rows:
            if not row.is_deleted:
                if policy.counts_missing and not policy.expected.set_on_one:
                    events[self.attr] += _began_and_ended(row, "exists")
                if self._attrs.search(row.attr):
                    events[row.attr if not policy.expected.set_on_one else self.attr] += _began_and_ended(row, "live")
            if policy.expected.below is not None and row.attr == policy.expected.below:
                events[self.attr].append(_Event(row.since, "other", row.value))
        if policy.inherits and events[self.attr]:
            events[self.attr] += of.inherited(policy)
        shown = f"{policy.entity_type}:{key}"
        words = policy.expected_words or policy.expected.words
        for attr, told in events.items():
            for actual, first, last in self._times(told, of.looked_at):
                yield Violation(cluster_id, policy.id, shown, attr, actual, words, policy.severity, first, last)

    def _times(self, events: list[_Event], looked_at: bool) -> Iterator[tuple[str | None, int, int | None]]:
        """The times without a gap in which it was violated, with the last value."""
        events.sort(key=itemgetter(0))
        state = _State()
        since: int | None = None
        actual: str | None = None
        for ts, at_once in groupby(events, key=itemgetter(0)):
            for event in at_once:
                state.take(event)
            if _is_broken(self.policy, state, looked_at):
                since = ts if since is None else since
                actual = state.own if self.policy.show_actual and state.live > 0 else None
            elif since is not None:
                yield actual, since, ts
                since = None
        if since is not None:
            yield actual, since, None


def _began_and_ended(row: Held, what: str) -> Iterator[_Event]:
    yield _Event(row.since, what, delta=1)
    if what == "live":
        yield _Event(row.since, "own", row.value)
    if row.until is not None:
        yield _Event(row.until, what, delta=-1)


# -- the table -------------------------------------------------------------------------------------------------------


def policy_violation(history: pa.Table, policies: Sequence[Policy]) -> pa.Table:
    """POLICY_VIOLATION's rows. history: all rows of its clusters."""
    judges = [_Judge(policy) for policy in policies]
    entities: dict[str, dict[Entity, list[Held]]] = defaultdict(lambda: defaultdict(list))
    clusters: dict[str, OfCluster] = {}
    names = ("attr", "new_value", "valid_from", "valid_to", "is_deleted", "source")
    inherited = {judge.policy.inherits for judge in judges}
    for cluster_id, type_, key, attr, value, since, until, is_deleted, source in rows_of(
        history, "cluster_id", "entity_type", "entity_key", *names
    ):
        if type_ == CLUSTER:
            continue
        held = Held(attr, value, since, until, is_deleted)
        entities[cluster_id][type_, key].append(held)
        of = clusters.setdefault(cluster_id, OfCluster(since))
        of.first = min(of.first, since)
        if type_ == "broker":
            of.looked_at |= source == "snapshot"
            if attr in inherited:
                of.brokers[attr][key].append(held)
    found = (_of_cluster(each, by_entity, clusters[each], judges) for each, by_entity in entities.items())
    return table_of(POLICY_VIOLATION, chain.from_iterable(found))


def _of_cluster(
    cluster_id: str, by_entity: dict[Entity, list[Held]], of: OfCluster, judges: Iterable[_Judge]
) -> Iterator[Violation]:
    for judge in judges:
        policy = judge.policy
        named = policy.looked_for if judge.is_about_cluster(cluster_id) else ()
        if policy.expected.set_on_one:
            rows = [row for name in named for row in by_entity.get((policy.entity_type, name), ())]
            if named:
                yield from judge.violations(cluster_id, named[0], rows, of, always=True)
            continue
        for entity, rows in by_entity.items():
            if judge.is_about(cluster_id, entity):
                yield from judge.violations(cluster_id, entity[1], rows, of, always=entity[1] in named)
        for name in named:
            if (policy.entity_type, name) not in by_entity:
                yield from judge.violations(cluster_id, name, (), of, always=True)
