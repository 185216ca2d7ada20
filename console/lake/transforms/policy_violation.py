"""Rows of `policy_violation`: violations of policies, present and former, each with its time span.

kac judges each policy, for each of its entities and attributes, whenever something changes that the judgement depends
on: the value, whether the entity exists, the inherited value, and the value to compare with. Adjacent times of
violation become one. Of a hidden value, kac only judges whether it is set. Required and forbidden lists are compared as
sets if brokers treat them as sets. Kafka's own default is considered only in clusters that were polled, because the
metadata log does not contain the values in brokers' files. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa

from console.lake.entities import CLUSTER, DEFAULT
from console.lake.policy_files import Expected, Policy
from console.lake.schema import POLICY_VIOLATION
from console.lake.transforms.rows import Row, rows_of, table_of
from console.model.unordered import differ


class Held(NamedTuple):
    """A value of an attribute: a row of `history` of one entity. It holds from `since` to `until`, in microseconds
    since 1970; `until` is None for the present value.
    """

    attr: str
    value: str | None
    """The value; None if hidden or deleted."""
    since: int
    until: int | None
    is_deleted: bool


# -- the states of a subject, an attribute of an entity under one policy ----------------------------------------------


_Event = tuple[int, str, str | int | None]
"""A change of a subject's state: the time, the name of the field of `_State`, and the difference to a number or the new
text.
"""


@dataclass
class _State:
    """The state of one attribute of an entity, with all facts that its judgement depends on, at a time. A text is None
    if the value is not set or hidden.
    """

    live: int = 0
    """The number of set values of the attribute; above 0 if it is set."""
    exists: int = 0
    """The number of set values of the entity in all attributes, plus one if the policy always judges the entity; the
    entity counts as existing if it is above 0.
    """
    own: str | None = None
    """The entity's own value of the attribute."""
    default: str | None = None
    """The value that the entity inherits from the brokers' common default."""
    brokers: str | None = None
    """The value that the entity inherits from a broker, in effect if there is no common default."""
    other: str | None = None
    """The value of the attribute that must be higher (`Expected.below`)."""

    def take(self, what: str, change: str | int | None) -> None:
        """Apply an event to the state."""
        setattr(self, what, getattr(self, what) + change if isinstance(change, int) else change)


def _is_broken(policy: Policy, attr: str, state: _State, saw_files: bool) -> bool:
    is_set = state.live > 0
    if not (state.exists > 0 if policy.counts_missing else is_set):
        return False
    expected = policy.expected
    if (expected.is_set is not None and expected.is_set is not is_set) or (expected.set_on_one and not is_set):
        return True
    # Determine the effective value; it is None if hidden or unknown.
    held = (state.own,) if is_set else (state.default, state.brokers, policy.default if saw_files else None)
    value = next((each for each in held if each is not None), None)
    return value is not None and _is_against(expected, attr, value, state.other)


def _is_against(expected: Expected, attr: str, value: str, other: str | None) -> bool:
    number, limit = _number(value), _number(other)
    endless = expected.infinite is not None and number == expected.infinite
    return (
        (expected.at_least is not None and number is not None and not endless and number < expected.at_least)
        or (expected.at_most is not None and number is not None and (endless or number > expected.at_most))
        or (expected.below is not None and number is not None and limit is not None and number >= limit)
        or (bool(expected.one_of) and all(differ(attr, value, each) for each in expected.one_of))
        or any(not differ(attr, value, each) for each in expected.none_of)
        or (expected.matches is not None and not re.search(expected.matches, value))
        or (expected.matches_not is not None and bool(re.search(expected.matches_not, value)))
    )


def _number(text: str | None) -> float | None:
    try:
        return None if text is None or "_" in text else float(text)
    except ValueError:
        return None


# -- dependencies of policies ------------------------------------------------------------------------------------------


@dataclass
class OfCluster:
    """The facts that all entities of a cluster share."""

    first: int
    """The time of the cluster's first value."""
    saw_files: bool = False
    """Whether a poll has shown values from the brokers' files."""
    brokers: dict[str, dict[str, list[Held]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    """Attribute that policies inherit -> broker id, or `DEFAULT` for the common default -> the values."""

    def inherited(self, policy: Policy) -> Iterator[_Event]:
        """Yield the values that entities inherit for a policy, as events: those of the brokers' common default and, for
        entities other than brokers, those of the first broker that has any.
        """
        by_broker = self.brokers.get(policy.inherits or "", {})
        for held in by_broker.get(DEFAULT, ()):
            yield held.since, "default", held.value
        first = min(by_broker.keys() - {DEFAULT}, default=None)
        if first is not None and policy.entity_type != "broker":
            for held in by_broker[first]:
                yield held.since, "brokers", held.value


class _Judge:
    """A policy with its compiled patterns."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._names, self._clusters = re.compile(policy.names.pattern), re.compile(policy.clusters.pattern)
        self._attrs = re.compile(policy.acl or policy.attrs.pattern)
        self._attr = (*policy.attrs.exact, "")[0]  # used if the policy has a single attribute

    def of_cluster(self, cluster_id: str, by_key: Mapping[str, Sequence[Held]], of: OfCluster) -> Iterator[Row]:
        """Yield the violations by all entities of the policy's type in a cluster, as rows of `policy_violation`.

        Args:
            by_key: entity key -> the values of the entity.
        """
        named = self.policy.always_judged
        if not self._clusters.search(cluster_id):
            return
        if self.policy.expected.set_on_one:
            if named:
                of_all = [row for name in named for row in by_key.get(name, ())]
                yield from self._violations(cluster_id, named[0], of_all, of, always=True)
            return
        for key, rows in {**dict.fromkeys(named, ()), **by_key}.items():
            if self._names.search(key):
                yield from self._violations(cluster_id, key, rows, of, always=key in named)

    def _violations(
        self, cluster_id: str, key: str, rows: Sequence[Held], of: OfCluster, *, always: bool
    ) -> Iterator[Row]:
        """Yield the violations by an entity. always: whether the policy also judges an entity that does not exist."""
        policy = self.policy
        events: dict[str, list[_Event]] = defaultdict(list)
        if always:
            events[self._attr].append((of.first, "exists", 1))
        for row in rows:
            if not row.is_deleted:
                if policy.counts_missing and not policy.expected.set_on_one:
                    events[self._attr] += _began_and_ended(row, "exists")
                if self._attrs.search(row.attr):
                    events[row.attr if not policy.expected.set_on_one else self._attr] += _began_and_ended(row, "live")
            if policy.expected.below is not None and row.attr == policy.expected.below:
                events[self._attr].append((row.since, "other", row.value))
        if policy.inherits and events[self._attr]:
            events[self._attr] += of.inherited(policy)
        shown = f"{policy.entity_type}:{key}"
        words = policy.expected_words or policy.expected.words
        for attr, told in events.items():
            for actual, first, last in self._times(attr, told, of.saw_files):
                yield cluster_id, policy.id, shown, attr, actual, words, policy.severity, first, last

    def _times(self, attr: str, events: list[_Event], saw_files: bool) -> Iterator[tuple[str | None, int, int | None]]:
        """Yield (value, begin, end) of each uninterrupted time of violation; end is None while it lasts. The value is
        the last one in that time; None if it is inherited, hidden or missing, or if the policy does not show values.
        """
        events.sort(key=itemgetter(0))
        state = _State()
        since: int | None = None
        actual: str | None = None
        for ts, at_once in groupby(events, key=itemgetter(0)):
            for _, what, change in at_once:
                state.take(what, change)
            if _is_broken(self.policy, attr, state, saw_files):
                since = ts if since is None else since
                actual = state.own if self.policy.show_actual and state.live > 0 else None
            elif since is not None:
                yield actual, since, ts
                since = None
        if since is not None:
            yield actual, since, None


def _began_and_ended(row: Held, what: str) -> Iterator[_Event]:
    yield row.since, what, 1
    if what == "live":
        yield row.since, "own", row.value
    if row.until is not None:
        yield row.until, what, -1


# -- the table -------------------------------------------------------------------------------------------------------


def policy_violation(history: pa.Table, policies: Sequence[Policy]) -> pa.Table:
    """Return the rows of POLICY_VIOLATION. history: all rows of the clusters to judge."""
    judges = [_Judge(policy) for policy in policies]
    entities: dict[tuple[str, str], dict[str, list[Held]]] = defaultdict(lambda: defaultdict(list))
    clusters: dict[str, OfCluster] = {}
    names = ("attr", "new_value", "valid_from", "valid_to", "is_deleted", "source")
    inherited = {judge.policy.inherits for judge in judges}
    for cluster_id, type_, key, attr, value, since, until, is_deleted, source in rows_of(
        history, "cluster_id", "entity_type", "entity_key", *names
    ):
        if type_ == CLUSTER:
            continue
        held = Held(attr, value, since, until, is_deleted)
        entities[cluster_id, type_][key].append(held)
        of = clusters.setdefault(cluster_id, OfCluster(since))
        of.first = min(of.first, since)
        if type_ == "broker":
            of.saw_files |= source == "snapshot"
            if attr in inherited:
                of.brokers[attr][key].append(held)
    found = (
        row
        for cluster_id, of in clusters.items()
        for judge in judges
        for row in judge.of_cluster(cluster_id, entities[cluster_id, judge.policy.entity_type], of)
    )
    return table_of(POLICY_VIOLATION, found)
