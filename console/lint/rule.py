"""A rule of lint as one record, what it finds, and the state that it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from console.lint.acceptance import Acceptance
from console.model import codes, config
from console.model.certificates import Certificate
from console.model.changes import OwnTarget, Target
from console.model.cluster import Broker, ClusterFeatures, NodeFeatures, Topic
from console.model.failure import Failure
from console.model.inheritance import Inheritance
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, settled_topics
from console.plan.edits import Edit

SETTLED = timedelta(minutes=5)
"""The time in which an upgrade ends, and a broker that was added gets replicas."""
AT_WORK = timedelta(seconds=60)
"""The time in which a tool takes throttles away after its moves, or begins with these after the throttles."""
AT_ONCE = timedelta(0)
"""No time at all: the state is never a tool's work in progress."""
NAMED = 3
"""Limit of entities that a line names; the rest is counted."""


_UNREAD = Failure("UNKNOWN", "its versions were not read")


class QuorumTarget(OwnTarget, frozen=True):
    """The quorum of the controllers as a whole."""

    text = "the quorum"
    part = Part.QUORUM


QUORUM = QuorumTarget()


class Found(NamedTuple):
    """A finding of a rule on one entity."""

    subject: Target
    """The entity to mend. The screen opens it by `Navigator.open_target`."""
    what: str
    """The defect, in a line, without the subject's name; names in it are untrusted."""
    key: str = ""
    """The subject's key; empty if it is about the whole subject."""
    edits: tuple[Edit, ...] = ()
    """The edits that mend it; the statements that stage them are its remedy."""
    command: tuple[str, ...] = ()
    """The words of a statement that mends it, if single edits do not: an operation, an election."""
    advice: str = ""
    """Advice for the operator if no statement mends it, or before one does."""
    severity: Severity | None = None
    """The severity now, if it depends on more than the rule; None for that of the rule."""
    since: datetime | None = None
    """The time at which it began, UTC; None if the state does not show it."""
    whose: str = ""
    """The owner of an entity that no pane shows by its name, such as a token."""


class Rule(Struct, frozen=True, kw_only=True):
    """A rule of lint. `find` is pure, and called only if all that it reads was read."""

    name: str
    """The name by which an operator selects, skips and accepts it."""
    severity: Severity
    certainty: Certainty
    """The certainty that a finding is wrong. CERTAIN: no cluster is better with it. LIKELY: hardly any. POSSIBLE: it
    may be meant.
    """
    title: str
    """The problem that it looks for, in a line."""
    why: str
    """The reason why that matters, in a sentence without its full stop."""
    find: Callable[[Seen], Iterable[Found]]
    reads: tuple[Part, ...]
    also: tuple[Part, ...] = ()
    """The parts by which it judges if they were read; it looks without them."""
    configs_of: tuple[codes.ResourceType, ...] = ()
    """The types of resources whose configs it reads."""
    since: str = ""
    """The release of Kafka from which on it can find something; empty: any that kac knows."""
    source: str
    """The source in Kafka: an anchor of its documentation (https://kafka.apache.org/documentation/#…), or a KIP."""
    by_time: bool = False
    """Whether it depends on more than the parts that it reads: on the present time, or on when they were read."""
    stands_after: timedelta | None = None
    """The time after which a finding that began while kac watched is a cause in Now, at least a warning: before that it
    is an operator's work. Zero: it is never work. None: Now only counts it. For rules that are sure."""

    def stands(self, found: Found) -> bool:
        """Return whether a finding is a cause in Now, and not only counted there."""
        return self.stands_after is not None and found.severity is not Severity.INFO


class Seen(Struct, frozen=True, dict=True):
    """The state that rules judge, with values that several of them derive."""

    snapshot: Snapshot
    at: datetime
    """Now, UTC."""
    certificates: tuple[Certificate, ...] | None = None
    """The certificates of the brokers' listeners; None if they were not read."""
    meant: frozenset[config.ConfigPlace] = frozenset()
    """Replication throttles that the context declares to stay."""
    accepted: tuple[Acceptance, ...] = ()
    """Findings that stay, by the context or by files."""
    absent: frozenset[Part] = frozenset()
    """The parts of services that the context does not name: rules look at nothing there."""

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The brokers that the cluster has, those that are down also if brokers list them."""
        return self.snapshot.cluster.brokers

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """The topics by name, with the replicas that they have once the running moves are done."""
        if not self.snapshot.reassignments:
            return dict(self.snapshot.topics)
        return dict(settled_topics(self.snapshot))

    @cached_property
    def features(self) -> ClusterFeatures | None:
        """The levels of features: by the brokers' versions, if these were read later than the features themselves. Both
        come from the same answers, but versions are without those of controllers. None if neither was read."""
        known, at = self.snapshot.features, self.snapshot.read_at
        if Part.VERSIONS not in at or (known is not None and at.get(Part.FEATURES, self.at) >= at[Part.VERSIONS]):
            return known
        versions = self.snapshot.versions
        nodes = [
            NodeFeatures(broker.id, supported=versions[broker.id].supported_features)
            if broker.id in versions
            else NodeFeatures(broker.id, failure=_UNREAD)
            for broker in self.brokers
        ]
        nodes += [node for node in known.nodes if node.controller] if known is not None else []
        finalized: dict[str, int] = {}
        for version in versions.values():
            # A broker learns of a new level a moment after the others.
            for name, level in version.finalized_features.items():
                finalized[name] = max(level, finalized.get(name, 0))
        return ClusterFeatures(finalized, tuple(nodes))

    @cached_property
    def sets(self) -> Sequence[tuple[config.ConfigSet, list[Topic]]]:
        """The different sets of topics' configs, each with the topics that have it: 100,000 topics have a few dozen."""
        found: dict[int, tuple[config.ConfigSet, list[Topic]]] = {}
        for name, topic in self.topics.items():
            configs = self.snapshot.configs.get(config.topic_resource(name))
            if configs is not None:
                found.setdefault(id(configs), (configs, []))[1].append(topic)
        return list(found.values())

    @cached_property
    def largest(self) -> dict[str, int]:
        """The bytes of the largest replica of each topic, by name; topics without a known size are missing."""
        found: dict[str, int] = {}
        replicas = (each.replicas for dirs in self.snapshot.log_dirs.values() for each in dirs)
        for topic, _, size in chain.from_iterable(each.on_disk() for each in replicas):
            if size > found.get(topic, -1):
                found[topic] = size
        return found

    @cached_property
    def min_isr(self) -> dict[str, int]:
        """The effective min.insync.replicas of each topic, by name; topics without a known number are missing."""
        known = ((config.number_in(configs, "min.insync.replicas"), topics) for configs, topics in self.sets)
        return {topic.name: number for number, topics in known if number is not None for topic in topics}

    @cached_property
    def inheritance(self) -> Inheritance:
        """The inherited values of keys in the snapshot."""
        return Inheritance(self.snapshot)

    @cached_property
    def of_brokers(self) -> dict[int, config.ConfigSet]:
        """The configs of each broker that was read, by its id."""
        known = ((each.id, self.snapshot.configs.get(config.broker_resource(each.id))) for each in self.brokers)
        return {broker: configs for broker, configs in known if configs is not None}
