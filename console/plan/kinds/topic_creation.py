"""Creating a topic.

Staged config edits of a topic that the plan creates are sent in the CreateTopics request, and override configs in the
`CreateTopic` edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from msgspec.structs import replace

from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.changes import (
    CreateTopics,
    NewTopic,
    Target,
)
from console.model.cluster import Partition, Topic
from console.model.codes import BROKER, TOPIC, ConfigType
from console.model.config import ConfigEntry, ConfigSet, Synonym, topic_resource
from console.model.grouping import grouped
from console.model.inheritance import Inheritance, from_broker
from console.model.numbers import long_number
from console.model.parts import Part
from console.model.secret import MaybeSecret, Secret
from console.model.snapshot import Snapshot
from console.plan import rack_risks, record_risks, risk_rules
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, Reversal, Stage
from console.plan.edits import CreateTopic, DeleteTopic, Edit, SetConfig
from console.plan.effective_values import UNKNOWN, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, is_trimmed, option
from console.plan.kinds.topics import TopicKind
from console.plan.predict_configs import without_own
from console.plan.requests import RECORD_LIMIT, Facts, Step, steps_of
from console.plan.topic_risks import POLICY, isr_of_new, keeps_all, retention_zero_of_new, unclean_of_new
from console.plan.values import parse_value

# -- checks before staging ---------------------------------------------------------------------------------------------

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""Matches the names that Kafka's Topic.validate accepts, and also ``.`` and ``..``, which it refuses."""


_MOST_TWINS = 256
"""Maximum number of colliding names that are looked up one by one; a name with more is compared with all topics."""


def twins(name: str) -> list[str] | None:
    """Return the other names that collide with this one in brokers' metrics, where ``.`` and ``_`` are the same
    (Topic.hasCollision); None if there are more than 256 (`_MOST_TWINS`) names, this one included.
    """
    parts = re.split(r"[._]", name)
    if 2 ** (len(parts) - 1) > _MOST_TWINS:
        return None
    marks = product("._", repeat=len(parts) - 1)
    found = ("".join(word for pair in zip(("", *some), parts, strict=True) for word in pair) for some in marks)
    return [each for each in found if each != name]


def _check_name(name: str, draft: plan_staged.Draft) -> None:
    topics = draft.snapshot.topics
    alike = twins(name)
    if alike is None:
        mine = name.replace(".", "_")
        created = (each.edit.new_topic for each in draft.staged)
        alike = [each for each in (*topics, *filter(None, created)) if each != name and each.replace(".", "_") == mine]
    for other in alike:
        is_staged = isinstance(draft.topic_edit(other), CreateTopic)
        if other in topics or is_staged:
            there = f"the plan creates topic {other}" if is_staged else f"topic {other} exists"
            raise plan_staged.Refused(f"{there}, and names may not differ in '.' and '_' alone", "Choose another name.")


def _check_config(key: str, value: MaybeSecret, like: ConfigEntry | None, draft: plan_staged.Draft) -> None:
    if like is None and draft.inheritance.keys(TOPIC):
        raise plan_staged.Refused(f"{key} is no key of a topic", "Check its spelling.")
    if like is not None and like.sensitive and isinstance(value, str):
        raise plan_staged.Refused(f"{key} is sensitive and is never written out", f"Give it as {key}=@FILE.")


def _check_shape(topic: NewTopic) -> None:
    if topic.assignments:
        if topic.partitions != -1 or topic.replication != -1:
            raise plan_staged.Refused(
                "partitions are given twice", "Give the assignment, or partitions and replication."
            )
        if len({len(replicas) for replicas in topic.assignments}) != 1 or not topic.assignments[0]:
            raise plan_staged.Refused("the partitions have different numbers of replicas", "Assign as many to each.")
        if any(len(set(replicas)) != len(replicas) for replicas in topic.assignments):
            raise plan_staged.Refused("a partition names a broker twice", "Name different brokers for each partition.")
    if topic.partitions != -1 and topic.partitions < 1:
        raise plan_staged.Refused("a topic has at least 1 partition", "Leave partitions out for the brokers' default.")
    if topic.replication != -1 and not 1 <= topic.replication <= 32767:
        raise plan_staged.Refused("a topic has at least 1 replica", "Leave replication out for the brokers' default.")
    # A topic is created in one change, so its records can't be split over several requests.
    records = 1 + max(topic.partitions, len(topic.assignments)) + len(topic.configs)
    if records > RECORD_LIMIT:
        raise plan_staged.Refused(
            f"a controller takes at most {RECORD_LIMIT:,} records in one change, this topic has {records:,}",
            "Create it with fewer partitions and grow it afterwards.",
        )


# -- requests ----------------------------------------------------------------------------------------------------------


def _creation_steps(staged: Sequence[plan_staged.Staged], facts: Facts) -> list[Step]:
    """Return the CreateTopics requests; each topic's staged configs are in the request that creates it."""
    # The creation comes first in its group, in any order of staging: its configs are added to it.
    ordered = sorted(staged, key=lambda each: each.edit.new_topic is None)
    groups = grouped((each.edit.new_topic or each.edit.on_topic, each) for each in ordered)
    return steps_of(((group, _creation_records(group, facts)) for group in groups.values()), RECORD_LIMIT, _create)


def _creation_records(group: Sequence[plan_staged.Staged], facts: Facts) -> int:
    creation = group[0].edit
    assert isinstance(creation, CreateTopic)
    topic = creation.topic
    partitions = len(topic.assignments) or (topic.partitions if topic.partitions > 0 else facts.default_partitions)
    return 1 + partitions + len(topic.configs) + len(group) - 1


def _create(some: list[plan_staged.Staged]) -> CreateTopics:
    """Return one request for some creations. The staged config edits among `some` override configs in the creation."""
    topics = {s.edit.topic.name: s.edit.topic for s in some if isinstance(s.edit, CreateTopic)}
    configs = {name: dict(topic.configs) for name, topic in topics.items()}
    for staged in some:
        if isinstance(staged.edit, SetConfig):
            configs[staged.edit.resource.name][staged.edit.key] = staged.edit.value
    asked = [topic.timeout_ms for topic in topics.values() if topic.timeout_ms is not None]
    together = tuple(replace(topic, configs=configs[topic.name]) for topic in topics.values())
    # A request has only one timeout: take the longest of its topics.
    return CreateTopics(together, max(asked)) if asked else CreateTopics(together)


# -- the cluster afterwards --------------------------------------------------------------------------------------------

_MOST_PARTITIONS = 10_000
"""Maximum number of partitions that are predicted for a new topic: the controller's limit for one request
(MAX_RECORDS_PER_USER_OP). The limit is needed because a broker's ``num.partitions`` may have any value.
"""


def _with_created(snapshot: Snapshot, edits: Sequence[CreateTopic]) -> Snapshot:
    """Return the snapshot with the new topics. Each has the configs of a topic that sets nothing itself (`_bare`),
    or no configs if these are unknown.
    """
    topics = {**snapshot.topics, **{e.topic.name: Topic(e.topic.name, _partitions(e.topic, snapshot)) for e in edits}}
    bare = _bare(snapshot)
    if bare is None:
        return replace(snapshot, topics=topics)
    # Let all new topics share one object, as topics that were read do: rules check each set once.
    configs = {**snapshot.configs, **{topic_resource(edit.topic.name): bare for edit in edits}}
    return replace(snapshot, topics=topics, configs=configs)


def _bare(snapshot: Snapshot) -> ConfigSet | None:
    """Return the configs of a topic that sets nothing itself; None if neither a topic's nor a broker's configs were
    read.
    """
    sample = next(((r, c) for r, c in snapshot.configs.items() if r.type == TOPIC), None)
    if sample is not None:
        inheritance = Inheritance(snapshot)
        resource, like = sample
        return ConfigSet(tuple(without_own(entry, resource, inheritance) for entry in like))
    broker = next((c for r, c in snapshot.configs.items() if r.type == BROKER and not r.is_cluster_default), None)
    if broker is None:
        return None
    found = ((key, from_broker(key, broker)) for key in sorted(TOPIC_SYNONYMS))
    return ConfigSet(
        tuple(
            ConfigEntry(key, each.value, each.source, synonyms=(Synonym(each.name, each.value, each.source),))
            for key, each in found
            if each.known and each.source is not None
        )
    )


def _partitions(new: NewTopic, snapshot: Snapshot) -> tuple[Partition, ...]:
    if new.assignments:
        return tuple(Partition(number, -1, replicas, ()) for number, replicas in enumerate(new.assignments))
    count = new.partitions if new.partitions > 0 else default_partitions(snapshot)
    return tuple(Partition(number, -1, (), ()) for number in range(count))


def default_partitions(snapshot: Snapshot) -> int:
    """Return the number of partitions that a topic gets if its creation names none: the brokers' ``num.partitions``; 1
    if that was not read.
    """
    entry = Inheritance(snapshot).sample(BROKER, "num.partitions")
    count = long_number(entry.value) if entry is not None else None
    return count if count is not None and 1 <= count <= _MOST_PARTITIONS else 1


# -- kafka-topics ------------------------------------------------------------------------------------------------------


def _create_commands(_target: Target, lines: Sequence[DiffLine]) -> Iterator[Command]:
    for line in lines:
        if isinstance(line.edit, CreateTopic):
            yield Command((*_creation_words(line.edit.topic), *_config_words(lines)))


def _creation_words(topic: NewTopic) -> list[str]:
    words = ["kafka-topics", "--create", *option("--topic", topic.name)]
    if topic.assignments:
        return [*words, "--replica-assignment", ",".join(":".join(map(str, each)) for each in topic.assignments)]
    words += ["--partitions", str(topic.partitions)] if topic.partitions > 0 else []
    words += ["--replication-factor", str(topic.replication)] if topic.replication > 0 else []
    return words


def _config_words(lines: Sequence[DiffLine]) -> list[str]:
    return [word for line in lines if line.key for word in ("--config", f"{line.key}={line.new.value}")]


def _fits_creation(line: DiffLine) -> bool:
    """Return whether kafka-topics --config can set the config of a line: the tool splits the text at every ``=`` and
    trims it.
    """
    value = line.new.value
    return isinstance(value, str) and value != "" and "=" not in value and is_trimmed(value)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

CREATIONS = Batch(
    stage=Stage.TOPICS, steps=_creation_steps, predict=_with_created, commands=_create_commands, carries=_fits_creation
)


class _CreateTopicKind(TopicKind):
    edit = CreateTopic
    verb = "create"
    batch = CREATIONS
    is_loss = False
    risks = (
        risk_rules.RiskRule(risk_rules.ISR_ABOVE_REPLICATION, isr_of_new),
        risk_rules.RiskRule(risk_rules.UNCLEAN_ELECTION, unclean_of_new),
        risk_rules.RiskRule(risk_rules.RETENTION_ZERO, retention_zero_of_new),
        risk_rules.RiskRule(risk_rules.TIMES_REFUSED, record_risks.short_times_of_new),
        risk_rules.RiskRule(risk_rules.ONE_RACK, rack_risks.creation, rack_risks.creation_needs),
    )

    def judge(self, edit: CreateTopic, draft: plan_staged.Draft) -> plan_staged.Verdict:
        topic, name = edit.topic, edit.topic.name
        staged = draft.topic_edit(name)
        # A plan deletes topics last, so the new topic would collide with the old one.
        if isinstance(staged, DeleteTopic):
            raise plan_staged.Refused(f"the plan deletes topic {name}", "Apply the deletion first, then create it.")
        if name in draft.snapshot.topics:
            raise plan_staged.Refused(f"topic {name} exists already", "Set its configs, or choose another name.")
        if not _LEGAL.fullmatch(name) or name in (".", ".."):
            raise plan_staged.Refused(
                f"'{name}' can't be a topic's name", "Use 1 to 249 of letters, digits, '.', '_' and '-'."
            )
        _check_name(name, draft)
        _check_shape(topic)
        configs: dict[str, str | Secret] = {}
        for key, value in topic.configs.items():
            like = draft.like(topic_resource(name), key)
            _check_config(key, value, like, draft)
            try:
                type_ = like.type if like else ConfigType(0)
                configs[key] = parse_value(key, type_, value) if isinstance(value, str) else value
            except ValueError as error:
                raise plan_staged.Refused(str(error), "Correct the value.") from None
        if configs != topic.configs:
            edit = CreateTopic(replace(topic, configs=configs))
        return plan_staged.Staged(edit, None if draft.read(Part.TOPICS) else plan_staged.UNREAD)

    def wanted(self, _edit: object, now: Topic | None) -> bool:
        return now is not None

    def after(self, edit: CreateTopic, _there: object, _inheritance: object) -> EffectiveValue:
        count = len(edit.topic.assignments) or edit.topic.partitions
        return EffectiveValue(count) if count > 0 else UNKNOWN

    def phrase(self, _edit: object, line: DiffLine, _old: object, new: str) -> str:
        return f"create with {new} partitions" if line.new.value is not None else "create"

    def implies(self, edit: CreateTopic) -> tuple[Edit, ...]:
        resource = topic_resource(edit.topic.name)
        return tuple(SetConfig(resource, key, value) for key, value in edit.topic.configs.items())

    def effects(self, edit: CreateTopic, _seen: object) -> tuple[str, ...]:
        policy = edit.topic.configs.get(POLICY)
        text = keeps_all(policy) if isinstance(policy, str) else ""
        return (text,) if text else ()

    def reversal(self, edit: CreateTopic, _was: object, _overrides: object) -> Reversal:
        loss = "what was written to the topic since is deleted with it"
        return Reversal((DeleteTopic(edit.topic.name),), plan_staged.UNREAD, loss)


KINDS = (_CreateTopicKind(),)
