"""The record of a lint rule, the findings that rules return, and the state that they check."""

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
"""The time within which an upgrade should be finished, and a new broker should get replicas."""
AT_WORK = timedelta(seconds=60)
"""The time within which a tool should remove throttles after its moves, or begin the moves after it set throttles."""
AT_ONCE = timedelta(0)
"""No waiting time, for a state that no tool's unfinished work produces."""
AFTER_ITS_CHANGE = timedelta(hours=1)
"""The time for which the change that made a finding has a row of its own in Now, because the change is a risk
(`changed-lately`). The finding becomes a cause only after this time.
"""
OLD_ONLY = timedelta.max
"""No time: only a finding that was there when kac began to watch becomes a cause by the rule."""
NAMED = 3
"""Maximum number of entities that a line names; for further ones it has only their number."""


_UNREAD = Failure("UNKNOWN", "its versions were not read")


class QuorumTarget(OwnTarget, frozen=True):
    """The controller quorum as a whole, as the subject of a finding."""

    text = "the quorum"
    part = Part.QUORUM


QUORUM = QuorumTarget()


class Found(NamedTuple):
    """A problem that a rule found on one entity."""

    subject: Target
    """The entity that has to be changed. The screen opens it with `Navigator.open_target`."""
    what: str
    """The problem in one line, without the subject's name; names in the text are untrusted."""
    key: str = ""
    """The key of the subject that has the problem; ``""`` if the whole subject has it."""
    edits: tuple[Edit, ...] = ()
    """The edits that correct the problem; the remedy shows the statements that stage them. Empty if no edits do."""
    command: tuple[str, ...] = ()
    """The words of a statement that corrects the problem if edits do not: an operation, or an election. Empty if none
    does.
    """
    advice: str = ""
    """Advice for the operator, if no statement corrects the problem, or to follow before one does; ``""`` for none."""
    severity: Severity | None = None
    """The severity of this finding if it is not always that of the rule; None for the rule's severity."""
    since: datetime | None = None
    """The time at which the problem began, UTC; None if the state does not show it."""
    whose: str = ""
    """The owner of a subject that no pane shows under its name, such as a token; ``""`` for other subjects."""
    hurts: bool = True
    """Whether the defect can be a cause in Now. False if it does no harm yet, or was probably made on purpose."""


class Rule(Struct, frozen=True, kw_only=True):
    """A lint rule. Its function `find` is pure, and is called only if all parts in `needs` were read."""

    name: str
    """The name by which an operator selects, skips and accepts the rule."""
    severity: Severity
    certainty: Certainty
    """How certain it is that a finding is a problem. CERTAIN: no cluster is better with it. LIKELY: hardly any cluster
    is better with it. POSSIBLE: it may be intended.
    """
    title: str
    """The problem that the rule finds, in one line."""
    why: str
    """The reason why the problem matters, as a sentence without its full stop."""
    find: Callable[[Seen], Iterable[Found]]
    needs: tuple[Part | codes.ResourceType, ...]
    """The parts of the snapshot that the rule reads, and the types of resources whose configs it reads."""
    also: tuple[Part, ...] = ()
    """The parts that the rule uses if they were read, but can run without."""
    since: str = ""
    """The first release of Kafka in which the problem can occur; ``""`` for all releases."""
    source: str
    """The source of the rule: an anchor of Kafka's documentation (https://kafka.apache.org/documentation/#…), a KIP, or
    a name in Kafka's source code."""
    by_time: bool = False
    """Whether findings depend on the present time or on the time of a read, besides the parts that the rule reads."""
    stands_after: timedelta | None = None
    """The time after which a finding that began while kac watched becomes a cause in Now, at least a warning; before
    that, an operator may still be working on it. Zero: at once, because the state is never unfinished work. None:
    such a finding never becomes a cause; Now only counts it. A rule has a time only if hardly any operator
    chooses the state that it finds: clusters live with other findings for years.
    """
    is_lasting: bool = False
    """Whether clusters live with such findings for years without harm. A finding that already existed at kac's first
    look is then only a possible cause in Now, with the severity of a warning.
    """

    @property
    def reads(self) -> tuple[Part, ...]:
        """The parts of the snapshot that the rule needs, each once, in the order of `needs`."""
        return tuple(dict.fromkeys(each if isinstance(each, Part) else Part.CONFIGS for each in self.needs))

    @property
    def configs_of(self) -> tuple[codes.ResourceType, ...]:
        """The types of resources whose configs the rule needs."""
        return tuple(each for each in self.needs if not isinstance(each, Part))

    def stands(self, found: Found) -> bool:
        """Return whether a finding can become a cause in the pane *Now*, instead of only being counted there."""
        return self.stands_after is not None and found.hurts and found.severity is not Severity.INFO


def rule(**facts: Any) -> Callable[[Callable[[Seen], Iterable[Found]]], Rule]:
    """Return a decorator that makes a rule of the function which finds its problems. facts: the other fields of the
    rule.
    """
    return lambda find: Rule(find=find, **facts)


def rules_in(names: Mapping[str, object]) -> tuple[Rule, ...]:
    """Return the rules among the values of a module's namespace, in its order. names: name -> value."""
    return tuple(each for each in names.values() if isinstance(each, Rule))


class Seen(Struct, frozen=True, dict=True):
    """The state of a cluster that rules check, with values derived from it that several rules use."""

    snapshot: Snapshot
    at: datetime
    """The present time, UTC."""
    certificates: tuple[Certificate, ...] | None = None
    """The certificates of the brokers' listeners; None if they were not read."""
    meant: frozenset[config.ConfigPlace] = frozenset()
    """(resource, key) of replication throttles that the context declares as permanent."""
    accepted: tuple[Acceptance, ...] = ()
    """The acceptances of findings, from the context and from files."""
    absent: frozenset[Part] = frozenset()
    """The parts that belong to services which the context does not name; rules that need them find nothing."""

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The brokers of the cluster, including those that are down if the cluster lists them."""
        return self.snapshot.cluster.brokers

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """The topics by name, with the replicas that they have once the running moves are done."""
        if not self.snapshot.reassignments:
            return dict(self.snapshot.topics)
        return dict(settled_topics(self.snapshot))

    @cached_property
    def features(self) -> ClusterFeatures | None:
        """The levels of features: from the brokers' versions, if these were read later than the features. Both come
        from the same responses, but the versions do not include controllers. None if neither was read.
        """
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
        """The distinct sets of topics' configs, each with the topics that have it. 100,000 topics have a few dozen
        sets.
        """
        found: dict[int, tuple[config.ConfigSet, list[Topic]]] = {}
        for name, topic in self.topics.items():
            configs = self.snapshot.configs.get(config.topic_resource(name))
            if configs is not None:
                found.setdefault(id(configs), (configs, []))[1].append(topic)
        return list(found.values())

    @cached_property
    def largest(self) -> dict[str, int]:
        """Topic -> the bytes of its largest replica; topics whose size is unknown are missing."""
        found: dict[str, int] = {}
        replicas = (each.replicas for dirs in self.snapshot.log_dirs.values() for each in dirs)
        for topic, _, size in chain.from_iterable(each.on_disk() for each in replicas):
            if size > found.get(topic, -1):
                found[topic] = size
        return found

    @cached_property
    def min_isr(self) -> dict[str, int]:
        """Topic -> its effective min.insync.replicas; topics for which it is unknown are missing."""
        known = ((config.number_in(configs, "min.insync.replicas"), topics) for configs, topics in self.sets)
        return {topic.name: number for number, topics in known if number is not None for topic in topics}

    @cached_property
    def inheritance(self) -> Inheritance:
        """Looks up the values that keys inherit in the snapshot."""
        return Inheritance(self.snapshot)

    @cached_property
    def of_brokers(self) -> dict[int, config.ConfigSet]:
        """Broker -> its configs; brokers whose configs were not read are missing."""
        known = ((each.id, self.snapshot.configs.get(config.broker_resource(each.id))) for each in self.brokers)
        return {broker: configs for broker, configs in known if configs is not None}
