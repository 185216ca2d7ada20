"""A rule of lint as one record, what it finds, and the state that it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct

from console.lint.acceptance import Acceptance
from console.model import codes, config
from console.model.certificates import Certificate
from console.model.changes import OwnTarget, Target
from console.model.cluster import Broker, ClusterFeatures, NodeFeatures, Topic
from console.model.failure import Failure
from console.model.feature_levels import newest_levels
from console.model.inheritance import Inheritance
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, settled_topics
from console.plan.edits import Edit

SETTLED = timedelta(minutes=5)
"""The time after which an upgrade should be finished, and a new broker should have replicas."""
AT_WORK = timedelta(seconds=60)
"""The time in which a tool should remove throttles after its moves, or begin the moves after the throttles."""
AT_ONCE = timedelta(0)
"""No waiting time: the state is never the unfinished work of a tool."""
NAMED = 3
"""Maximum number of entities that a line names; the rest are counted."""


_UNREAD = Failure("UNKNOWN", "its versions were not read")


class QuorumTarget(OwnTarget, frozen=True):
    """The quorum of the controllers as a whole."""

    text = "the quorum"
    part = Part.QUORUM


QUORUM = QuorumTarget()


class Found(NamedTuple):
    """A finding of a rule on one entity."""

    subject: Target
    """The entity to mend. The screen opens it with `Navigator.open_target`."""
    what: str
    """The defect in a line, without the subject's name; names in the text are untrusted."""
    key: str = ""
    """The key of the subject; empty if the finding is about the whole subject."""
    edits: tuple[Edit, ...] = ()
    """The edits that mend the defect; the statements that stage them are the remedy."""
    command: tuple[str, ...] = ()
    """The words of a statement that mends the defect if single edits do not: an operation, or an election."""
    advice: str = ""
    """Advice for the operator if no statement mends the defect, or before one does."""
    severity: Severity | None = None
    """The severity of this finding if it depends on more than the rule; None for the rule's severity."""
    since: datetime | None = None
    """The time at which the defect began, UTC; None if the state does not show it."""
    whose: str = ""
    """The owner of an entity that no pane shows by its name, such as a token."""


class Rule(Struct, frozen=True, kw_only=True):
    """A rule of lint. `find` is pure, and called only if all that it reads was read."""

    name: str
    """The name with which an operator selects, skips and accepts the rule."""
    severity: Severity
    certainty: Certainty
    """How certain it is that a finding is a defect. CERTAIN: no cluster is better with it. LIKELY: hardly any cluster
    is better with it. POSSIBLE: it may be intended."""
    title: str
    """The problem that the rule looks for, in a line."""
    why: str
    """The reason why the problem matters, in a sentence without its full stop."""
    find: Callable[[Seen], Iterable[Found]]
    needs: tuple[Part | codes.ResourceType, ...]
    """The parts of the snapshot that the rule reads, and the types of resources whose configs it reads."""
    also: tuple[Part, ...] = ()
    """The parts that the rule also uses if they were read; it looks without them, too."""
    since: str = ""
    """The first release of Kafka in which the rule can find something; empty for all releases that kac knows."""
    source: str
    """The source of the rule: an anchor of Kafka's documentation (https://kafka.apache.org/documentation/#…), a KIP, or
    a name in Kafka's source code."""
    by_time: bool = False
    """Whether findings depend on more than the parts that the rule reads: on the present time, or on the time of a
    read."""
    stands_after: timedelta | None = None
    """The time after which a finding that began while kac watched becomes a cause in Now, at least a warning; before
    that, an operator may still be working on it. Zero: at once, as the state is never unfinished work. None: Now only
    counts such findings. Only for rules that are certain."""

    @property
    def reads(self) -> tuple[Part, ...]:
        """The parts that the rule reads, in their order."""
        return tuple(dict.fromkeys(each if isinstance(each, Part) else Part.CONFIGS for each in self.needs))

    @property
    def configs_of(self) -> tuple[codes.ResourceType, ...]:
        """The types of resources whose configs the rule reads."""
        return tuple(each for each in self.needs if not isinstance(each, Part))

    def stands(self, found: Found) -> bool:
        """Return whether a finding is a cause in Now, and not only counted there."""
        return self.stands_after is not None and found.severity is not Severity.INFO


def rule(**facts: Any) -> Callable[[Callable[[Seen], Iterable[Found]]], Rule]:
    """Make a rule of the function that finds its defects. facts: the rule's other fields."""
    return lambda find: Rule(find=find, **facts)


def rules_in(names: Mapping[str, object]) -> tuple[Rule, ...]:
    """Return the rules among a module's names, in the module's order."""
    return tuple(each for each in names.values() if isinstance(each, Rule))


class Seen(Struct, frozen=True, dict=True):
    """The state that rules judge, with values that several of them derive."""

    snapshot: Snapshot
    at: datetime
    """The present time, UTC."""
    certificates: tuple[Certificate, ...] | None = None
    """The certificates of the brokers' listeners; None if they were not read."""
    meant: frozenset[config.ConfigPlace] = frozenset()
    """Replication throttles that are to stay, as the context declares."""
    accepted: tuple[Acceptance, ...] = ()
    """Findings that the context or the files accept."""
    absent: frozenset[Part] = frozenset()
    """The parts of services that the context does not name; rules that read them find nothing."""

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
        return ClusterFeatures(newest_levels(versions.values()), tuple(nodes))

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
