"""The parts of warnings about edits: their names; the facts that they need; and the cluster before and after a plan.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct, field

from console.model.cluster import Group
from console.model.config import ConfigResource, entry_in
from console.model.records import NewestBatches
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicReaders
from console.plan.edits import Edit, Slot
from console.plan.staged import Draft, Staged, Was

ISR_ABOVE_REPLICATION = "isr-above-replication"
UNCLEAN_ELECTION = "unclean-election"
RETENTION_ZERO = "retention-zero"
RETENTION_TINY = "retention-tiny"
RETENTION_IN_SECONDS = "retention-in-seconds"
RETENTION_ABOVE_DISK = "retention-above-disk"
MESSAGE_SIZE_LOWERED = "message-size-lowered"
SYSTEM_TOPIC = "system-topic"
THROTTLES_EVERYONE = "throttles-everyone"
QUOTA_NEAR_ZERO = "quota-near-zero"
NEEDS_RESTART = "needs-restart"
ACL_LOCKS_OUT = "acl-locks-out"
FIRST_ACL = "first-acl"
ACL_MATCHES_NOTHING = "acl-matches-nothing"
TRANSACTION_ABORTED = "transaction-aborted"
UNCLEAN_LOSS = "unclean-loss"
RECORDS_DELETED = "records-deleted"
REPLICAS_REMAIN = "replicas-remain"
FEATURE_IRREVERSIBLE = "feature-irreversible"
ASSIGNED_CONSUMERS = "assigned-consumers"
LOG_DIR_SPACE = "log-dir-space"
NO_SPARE_VOTER = "no-spare-voter"
DEAD_LETTERS_LOST = "dead-letters-lost"
PRUNES_MANY = "prunes-many"
TOPIC_DELETED = "topic-deleted"
MOVE_UNTHROTTLED = "move-unthrottled"
KEYLESS_RECORDS = "keyless-records"
KEYS_SPLIT = "keys-split"
TIMES_REFUSED = "times-refused"
CONNECTIONS_BELOW_USE = "connections-below-use"
SETTINGS_CONTRADICT = "settings-contradict"
OFFSETS_EXPIRE = "offsets-expire"
ONE_RACK = "one-rack"
ONE_REPLICA = "one-replica"
OWN_LOGIN_DELETED = "own-login-deleted"
CONNECTOR_DELETED = "connector-deleted"
CONNECTOR_OFFSETS_CHANGED = "connector-offsets-changed"
READERS_BREAK = "readers-break"
NOTHING_CHECKED = "nothing-checked"
IN_USE = "in-use"
REFERENCE_MISSING = "reference-missing"
NULL_NOT_COMPACTED = "null-not-compacted"
OTHER_SCHEMA = "other-schema"
WRITES_MANY = "writes-many"
READ_AT_ONCE = "read-at-once"
READ_AGAIN = "read-again"
SENT_BEFORE = "sent-before"
NAMES = (
    ISR_ABOVE_REPLICATION,
    UNCLEAN_ELECTION,
    RETENTION_ZERO,
    RETENTION_TINY,
    RETENTION_IN_SECONDS,
    RETENTION_ABOVE_DISK,
    MESSAGE_SIZE_LOWERED,
    KEYLESS_RECORDS,
    TIMES_REFUSED,
    SYSTEM_TOPIC,
    KEYS_SPLIT,
    NULL_NOT_COMPACTED,
    OTHER_SCHEMA,
    WRITES_MANY,
    READ_AT_ONCE,
    READ_AGAIN,
    SENT_BEFORE,
    MOVE_UNTHROTTLED,
    SETTINGS_CONTRADICT,
    ONE_RACK,
    ONE_REPLICA,
    READERS_BREAK,
    NOTHING_CHECKED,
    REFERENCE_MISSING,
    IN_USE,
    THROTTLES_EVERYONE,
    QUOTA_NEAR_ZERO,
    NEEDS_RESTART,
    CONNECTIONS_BELOW_USE,
    OFFSETS_EXPIRE,
    ACL_LOCKS_OUT,
    FIRST_ACL,
    ACL_MATCHES_NOTHING,
    OWN_LOGIN_DELETED,
    TRANSACTION_ABORTED,
    UNCLEAN_LOSS,
    RECORDS_DELETED,
    REPLICAS_REMAIN,
    FEATURE_IRREVERSIBLE,
    ASSIGNED_CONSUMERS,
    LOG_DIR_SPACE,
    NO_SPARE_VOTER,
    DEAD_LETTERS_LOST,
    PRUNES_MANY,
    TOPIC_DELETED,
    CONNECTOR_DELETED,
    CONNECTOR_OFFSETS_CHANGED,
)
"""The names of warnings, by which operators accept them. The warnings of one edit are shown in this order."""

_ITEM = re.compile(rf",(?=(?:{'|'.join(map(re.escape, NAMES))})(?:=|,|$)|,|$)")


def accepted(text: str) -> tuple[str, ...]:
    """Return the warnings that the value of an option accepts, in the form of `Risk.accepted_as`. Commas separate
    several warnings; a comma within a subject does not.
    """
    return tuple(each for each in _ITEM.split(text) if each)


MOST_PRUNED = 10
"""Maximum number of entities that kac removes without a warning because files do not list them."""
READ_TOPICS = 2_000
"""Maximum number of topics whose configs are read to find out whether they inherit a default. If there are more, the
texts say so.
"""
READ_PARTITIONS = 10_000
"""Maximum number of partitions whose sizes are read; topics beyond that count as topics with records."""
READ_GROUPS = 200
"""Maximum number of groups whose offsets are read to find unread records. If there are more, the texts say so."""
READ_BATCHES = 20
"""Maximum number of topics whose newest batches are read."""


class RiskNeeds(Struct, frozen=True):
    """The facts that the warnings about an edit need; empty by default."""

    topics: frozenset[str] = frozenset()
    """The topics to read with their own configs."""
    every_topic: bool = False
    """Whether to read all topics, and the configs of those that may inherit the edited key (at most `READ_TOPICS`)."""
    sizes: bool = False
    """Whether to read the bytes of the topics whose configs are read."""
    acls: bool = False
    """Whether to read all ACLs."""
    brokers: bool = False
    """Whether to read the brokers with their racks; every other need includes this one."""
    a_broker: bool = False
    """Whether to read the configs of one broker."""
    every_broker: bool = False
    """Whether to read the configs of all brokers and of the cluster default."""
    readers_of: frozenset[str] = frozenset()
    """The topics for which to read the groups that read them (at most `READ_GROUPS` groups)."""
    newest_of: frozenset[str] = frozenset()
    """The topics for which to read the age of their newest records."""
    moves: bool = False
    """Whether to read the running reassignments."""
    batches_of: frozenset[str] = frozenset()
    """The topics for which to read their newest batches (at most `READ_BATCHES` topics)."""
    groups: bool = False
    """Whether to read all groups, the first `READ_GROUPS` of them with their members."""

    def __or__(self, other: RiskNeeds) -> RiskNeeds:
        return RiskNeeds(*(getattr(self, name) | getattr(other, name) for name in RiskNeeds.__struct_fields__))


NOTHING = RiskNeeds()


class Risk(NamedTuple):
    """A warning about an edit: its name and its text."""

    slot: Slot
    name: str
    """One of `NAMES`."""
    text: str
    """The effect of the edit, in one line."""
    subject: str = ""
    """The text that the operator has to type to accept the warning; ``""`` if its name is enough."""

    @property
    def accepted_as(self) -> str:
        """The text by which an option accepts the warning: ``NAME``, or ``NAME=SUBJECT``."""
        return f"{self.name}={self.subject}" if self.subject else self.name


class RiskFacts(Struct, frozen=True):
    """Facts about a cluster that are read only for warnings."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    """Topic -> the bytes of all its replicas; topics whose sizes could not be read are missing."""
    principal: str = ""
    """The principal as which brokers authenticate kac (``User:admin``); ``""`` if unknown."""
    readers: Mapping[str, TopicReaders] = field(default_factory=dict)
    """Topic -> the groups that read it, and their offsets."""
    ages: Mapping[str, float] = field(default_factory=dict)
    """Topic -> the seconds since its newest record; topics for which that is unknown are missing."""
    batches: Mapping[str, NewestBatches] = field(default_factory=dict)
    """Topic -> facts from its newest batches; topics whose records were not read are missing."""
    groups: Mapping[str, Group] = field(default_factory=dict)
    """Name -> group, for all groups; a group that was not described has no members."""
    mechanism: str = ""
    """The SASL mechanism with which kac logs in; ``""`` if it does not use SASL."""


class Judged(Struct, frozen=True, dict=True):
    """A plan, and the cluster before and after it, as the rules of warnings get them."""

    before: Snapshot
    """The snapshot before the plan."""
    staged: tuple[Staged, ...]
    """The edits of the plan."""
    facts: RiskFacts
    predict: Callable[[], Snapshot]
    """A function that returns the snapshot after all edits."""

    @cached_property
    def after(self) -> Snapshot:
        """The snapshot after all edits; computed on first use."""
        return self.predict()

    @cached_property
    def draft(self) -> Draft:
        """The plan's edits by slot, on the snapshot before the plan."""
        return Draft(self.staged, self.before)

    @cached_property
    def _was(self) -> Mapping[Slot, Was]:
        return {each.edit.slot: each.was for each in self.staged}

    def was(self, edit: Edit) -> Was:
        """Return the state that the target of a staged edit had at staging."""
        return self._was[edit.slot]

    def own(self, resource: ConfigResource, key: str) -> str | None:
        """Return the effective value of a resource's key before the plan; None if it is unknown."""
        return _value(self.before, resource, key)

    def then(self, resource: ConfigResource, key: str) -> str | None:
        """Return the effective value of a resource's key after the plan; None if it is unknown."""
        return _value(self.after, resource, key)

    def may_hold_data(self, topic: str) -> bool:
        """Return whether a topic may have records: False only if it is known to be empty."""
        return self.facts.sizes.get(topic) != 0


def _value(snapshot: Snapshot, resource: ConfigResource, key: str) -> str | None:
    entry = entry_in(snapshot.configs, resource, key)
    return None if entry is None else entry.value


class RiskRule(NamedTuple):
    """The rule of one warning, for edits of one kind."""

    name: str
    """One of `NAMES`."""
    judge: Callable[[Any, Judged], Iterator[str]]
    """A function that yields a text for each problem of an edit."""
    needs: Callable[[Any], RiskNeeds] = lambda _: NOTHING
    """A function from an edit to the facts that `judge` needs."""
    subject: Callable[[Any, Judged], str] = lambda *_: ""
    """A function from an edit to the text that the operator has to type to accept an irreversible effect; ``""`` if the
    name of the warning is enough.
    """
