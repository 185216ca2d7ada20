"""Warnings: their names, and their input: the facts to read, and the cluster before and after. Pure."""

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
TIMES_REFUSED = "times-refused"
CONNECTIONS_BELOW_USE = "connections-below-use"
SETTINGS_CONTRADICT = "settings-contradict"
OFFSETS_EXPIRE = "offsets-expire"
ONE_RACK = "one-rack"
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
    RETENTION_ABOVE_DISK,
    MESSAGE_SIZE_LOWERED,
    KEYLESS_RECORDS,
    TIMES_REFUSED,
    SYSTEM_TOPIC,
    NULL_NOT_COMPACTED,
    OTHER_SCHEMA,
    WRITES_MANY,
    READ_AT_ONCE,
    READ_AGAIN,
    SENT_BEFORE,
    MOVE_UNTHROTTLED,
    SETTINGS_CONTRADICT,
    ONE_RACK,
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
"""The names by which an operator accepts warnings; the warnings of one edit are shown in this order."""

_ITEM = re.compile(rf",(?=(?:{'|'.join(map(re.escape, NAMES))})(?:=|,|$)|,|$)")


def accepted(text: str) -> tuple[str, ...]:
    """Return the warnings that an option accepts, in the form of `Risk.accepted_as`. A subject may contain commas."""
    return tuple(each for each in _ITEM.split(text) if each)


MOST_PRUNED = 10
"""Maximum number of entities that files may remove by omission without a warning."""
READ_TOPICS = 2_000
"""Maximum number of topics whose configs are read to find out whether they inherit a default; above it, the texts say
so."""
READ_PARTITIONS = 10_000
"""Maximum number of partitions whose sizes are read; topics beyond it count as topics with data."""
READ_GROUPS = 200
"""Maximum number of groups whose offsets are read to find unread records; above it, the texts say so."""
READ_BATCHES = 20
"""Maximum number of topics whose newest batches are read."""


class RiskNeeds(Struct, frozen=True):
    """The facts that a warning about an edit needs."""

    topics: frozenset[str] = frozenset()
    """Topics that are read with their own configs."""
    every_topic: bool = False
    """Whether all topics are read, and the configs of those that may inherit (at most `READ_TOPICS`)."""
    sizes: bool = False
    """Whether the bytes of those topics are read."""
    acls: bool = False
    """Whether all ACLs are read."""
    brokers: bool = False
    """Whether the brokers are read, with their racks; they are read with every other fact, too."""
    a_broker: bool = False
    """Whether the configs of one broker are read."""
    every_broker: bool = False
    """Whether the configs of all brokers and of the cluster default are read."""
    readers_of: frozenset[str] = frozenset()
    """Topics whose reading groups are read (at most `READ_GROUPS` groups)."""
    newest_of: frozenset[str] = frozenset()
    """Topics whose newest records' ages are read."""
    moves: bool = False
    """Whether the running reassignments are read."""
    batches_of: frozenset[str] = frozenset()
    """Topics whose newest batches are read (at most `READ_BATCHES` topics)."""
    groups: bool = False
    """Whether all groups are read, the first `READ_GROUPS` with their members."""

    def __or__(self, other: RiskNeeds) -> RiskNeeds:
        return RiskNeeds(*(getattr(self, name) | getattr(other, name) for name in RiskNeeds.__struct_fields__))


NOTHING = RiskNeeds()


class Risk(NamedTuple):
    """A warning about an edit: its name and its text."""

    slot: Slot
    name: str
    """One of `NAMES`."""
    text: str
    """The effect, in a line."""
    subject: str = ""
    """The text to type for accepting it; ``""`` if its name is enough."""

    @property
    def accepted_as(self) -> str:
        """The text that accepts the warning in a script: ``NAME``, or ``NAME=SUBJECT``."""
        return f"{self.name}={self.subject}" if self.subject else self.name


class RiskFacts(Struct, frozen=True):
    """Facts that are read only for warnings."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    """Topic -> the size in bytes of all its replicas; a topic whose size could not be read is missing."""
    principal: str = ""
    """The principal as which brokers authenticate this client (``User:admin``); ``""`` if unknown."""
    readers: Mapping[str, TopicReaders] = field(default_factory=dict)
    """Topic -> its readers."""
    ages: Mapping[str, float] = field(default_factory=dict)
    """Topic -> the seconds since its newest record; a topic without a known record time is missing."""
    batches: Mapping[str, NewestBatches] = field(default_factory=dict)
    """Topic -> its newest batches; a topic whose records were not read is missing."""
    groups: Mapping[str, Group] = field(default_factory=dict)
    """All groups; groups that were not described have no members."""
    mechanism: str = ""
    """The SASL mechanism of this client's login; ``""`` without one."""


class Judged(Struct, frozen=True, dict=True):
    """A plan and the cluster before and after it, for the rules of warnings."""

    before: Snapshot
    """The snapshot before the plan."""
    staged: tuple[Staged, ...]
    """The edits of the plan."""
    facts: RiskFacts
    predict: Callable[[], Snapshot]
    """Returns the cluster after all edits."""

    @cached_property
    def after(self) -> Snapshot:
        """The cluster after all edits."""
        return self.predict()

    @cached_property
    def draft(self) -> Draft:
        """The edits by slot."""
        return Draft(self.staged, self.before)

    @cached_property
    def _was(self) -> Mapping[Slot, Was]:
        return {each.edit.slot: each.was for each in self.staged}

    def was(self, edit: Edit) -> Was:
        """Return the state of an edit's target at staging."""
        return self._was[edit.slot]

    def own(self, resource: ConfigResource, key: str) -> str | None:
        """Return a key's value on a resource before the plan, inherited or not; None if that is unknown."""
        return _value(self.before, resource, key)

    def then(self, resource: ConfigResource, key: str) -> str | None:
        """Return a key's value on a resource after the plan, inherited or not; None if that is unknown."""
        return _value(self.after, resource, key)

    def may_hold_data(self, topic: str) -> bool:
        """Return False only for a topic that is known to be empty."""
        return self.facts.sizes.get(topic) != 0


def _value(snapshot: Snapshot, resource: ConfigResource, key: str) -> str | None:
    entry = entry_in(snapshot.configs, resource, key)
    return None if entry is None else entry.value


class RiskRule(NamedTuple):
    """The rule of one warning about edits of one kind."""

    name: str
    """One of `NAMES`."""
    judge: Callable[[Any, Judged], Iterator[str]]
    """Yields a line for each problem of an edit of that kind."""
    needs: Callable[[Any], RiskNeeds] = lambda _: NOTHING
    """Returns the facts to read for an edit."""
    subject: Callable[[Any, Judged], str] = lambda *_: ""
    """Returns the text to type for accepting an irreversible effect; ``""`` if the name is enough."""
