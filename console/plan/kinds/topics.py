"""Topics: deleting one, and adding partitions to one. `topic_creation` creates topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from console.model.changes import (
    CreatePartitions,
    DeleteTopics,
    NewTopic,
    Status,
    Target,
)
from console.model.cluster import Partition, Topic
from console.model.config import topic_resource
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.model.system_topics import is_kafkas_own, system_topic
from console.plan import edit_kind, topic_risks
from console.plan import staged as plan_staged
from console.plan.edits import CreateTopic, DeleteTopic, GrowTopic, TopicEdit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, option
from console.plan.requests import RECORD_LIMIT, Facts, Step, steps_of, together
from console.plan.risk_rules import KEYS_SPLIT, SYSTEM_TOPIC, TOPIC_DELETED, RiskRule

# -- checks before staging ---------------------------------------------------------------------------------------------


def _grown(edit: GrowTopic, was: Topic) -> plan_staged.Verdict:
    now = len(was.partitions)
    if edit.partitions == now:
        return plan_staged.Dropped(edit, f"topic {edit.name} has {now} partitions already")
    if edit.partitions < now:
        raise plan_staged.Refused(
            f"topic {edit.name} has {now} partitions and can't have fewer", "Create another topic and copy to it."
        )
    if edit.partitions - now > RECORD_LIMIT:
        raise plan_staged.Refused(
            f"a controller takes at most {RECORD_LIMIT:,} new partitions in one change",
            f"Grow to {now + RECORD_LIMIT} first.",
        )
    return plan_staged.Staged(edit, was)


# -- the present state -------------------------------------------------------------------------------------------------


def _is_another(was: Topic, now: Topic) -> bool:
    """Return whether the topic was deleted and created again under the same name; False if either id is unknown."""
    return was.topic_id is not None and now.topic_id is not None and was.topic_id != now.topic_id


# -- entities in files -------------------------------------------------------------------------------------------------


class KeptTopic(Struct, frozen=True):
    """The form of a topic in plan files and journals, with the facts that edits need."""

    name: str
    id: str | None
    replicas: tuple[tuple[int, ...], ...]
    """For each partition, by its number, the ids of the brokers of its replicas."""


# -- requests ----------------------------------------------------------------------------------------------------------


def _growth_steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    return steps_of((([each], _new_partitions(each)) for each in staged), RECORD_LIMIT, _grow)


def _new_partitions(staged: plan_staged.Staged) -> int:
    assert isinstance(staged.edit, GrowTopic)
    was = len(staged.was.partitions) if isinstance(staged.was, Topic) else 0
    return staged.edit.partitions - was


def _grow(some: list[plan_staged.Staged]) -> CreatePartitions:
    return CreatePartitions(
        {s.edit.name: s.edit.partitions for s in some if isinstance(s.edit, GrowTopic)},
        {s.was.name: len(s.was.partitions) for s in some if isinstance(s.was, Topic)},
    )


def _names(edits: Iterable[Any]) -> Iterator[str]:
    return (edit.name for edit in edits)


# -- the cluster afterwards --------------------------------------------------------------------------------------------


def _with_grown(snapshot: Snapshot, edits: Sequence[GrowTopic]) -> Snapshot:
    topics = dict(snapshot.topics)
    for edit in edits:
        old = topics.get(edit.name)
        if old is not None:
            more = tuple(Partition(number, -1, (), ()) for number in range(len(old.partitions), edit.partitions))
            topics[edit.name] = replace(old, partitions=old.partitions + more)
    return replace(snapshot, topics=topics)


def _without_deleted(snapshot: Snapshot, edits: Sequence[DeleteTopic]) -> Snapshot:
    names = frozenset(_names(edits))
    gone = {topic_resource(name) for name in names}
    topics = {name: topic for name, topic in snapshot.topics.items() if name not in names}
    configs = snapshot.configs
    if gone & configs.keys():
        configs = {resource: each for resource, each in configs.items() if resource not in gone}
    return replace(snapshot, topics=topics, configs=configs)


# -- kafka-topics ------------------------------------------------------------------------------------------------------


def _grow_command(edit: GrowTopic, _line: DiffLine) -> Command:
    return Command(("kafka-topics", "--alter", *_topic(edit.name), "--partitions", str(edit.partitions)))


def _topic(name: str) -> tuple[str, ...]:
    """Return the option of kafka-topics that names a topic, escaped because the tool reads the name as a regular
    expression.
    """
    return option("--topic", re.sub(r"([^\w-])", r"\\\1", name, flags=re.ASCII))


# -- the kinds of edits ------------------------------------------------------------------------------------------------

GROWTH = edit_kind.Batch(
    stage=edit_kind.Stage.TOPICS, steps=_growth_steps, predict=_with_grown, commands=edit_kind.each_line(_grow_command)
)
DELETIONS = edit_kind.Batch(
    stage=edit_kind.Stage.TOPICS_GONE,
    steps=together(lambda some: DeleteTopics(tuple(_names(each.edit for each in some)))),
    predict=_without_deleted,
    commands=edit_kind.each_line(lambda edit, _: Command(("kafka-topics", "--delete", *_topic(edit.name)))),
)


class TopicKind(edit_kind.EditKind):
    """The base class of the kinds of edits of topics."""

    state = KeptTopic

    def kept(self, was: Topic) -> KeptTopic:
        """Return the topic in the form that files store."""
        return KeptTopic(was.name, was.topic_id, tuple(each.replicas for each in was.partitions))

    def state_of(self, kept: KeptTopic) -> Topic:
        """Return the topic for its form in files; its partitions have no leaders."""
        partitions = tuple(Partition(number, -1, replicas, ()) for number, replicas in enumerate(kept.replicas))
        return Topic(kept.name, partitions, topic_id=kept.id)

    def current(self, edit: TopicEdit, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the topic; None if it does not exist, UNREAD if topics were not read."""
        return seen.found(seen.snapshot.topics.get(edit.target.name), Part.TOPICS)

    def moved(self, _edit: object, was: Topic | None, now: Topic | None) -> bool:
        """Return whether the topic was created, deleted or recreated, or the number of its partitions changed;
        nothing else is compared.
        """
        if was is None or now is None:
            return was is not now
        return len(was.partitions) != len(now.partitions) or _is_another(was, now)

    def before(self, _edit: object, there: Topic | None, _inheritance: object) -> EffectiveValue:
        """Return the number of the topic's partitions."""
        return NOTHING if there is None else EffectiveValue(len(there.partitions))


class _GrowTopicKind(TopicKind):
    edit = GrowTopic
    verb = "grow"
    words = "grow from {old} to {new} partitions"
    batch = GROWTH
    risks = (
        RiskRule(SYSTEM_TOPIC, topic_risks.system_growth, topic_risks.system_growth_needs, lambda edit, _: edit.name),
        RiskRule(KEYS_SPLIT, topic_risks.keys_split, topic_risks.keys_split_needs),
    )
    no_way_back = "partitions can't be taken away again"
    left = plan_staged.UNREAD

    def judge(self, edit: GrowTopic, draft: plan_staged.Draft) -> plan_staged.Verdict:
        name = edit.name
        draft.refuse_created(name, "Create it with that many partitions.")
        draft.refuse_deleted(name)
        if is_kafkas_own(name) and (own := system_topic(name)) is not None:
            raise plan_staged.Refused(
                f"{name} belongs to {own.owner}: with more partitions {own.grown}", "Leave its partitions as they are."
            )
        was = draft.topic(name)
        return plan_staged.Staged(edit, plan_staged.UNREAD) if was is None else _grown(edit, was)

    def wanted(self, edit: GrowTopic, now: Topic | None) -> bool:
        return now is not None and len(now.partitions) >= edit.partitions

    def after(self, edit: GrowTopic, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.partitions)

    def effects(self, _edit: object, _seen: object) -> tuple[str, ...]:
        return ("keys may go to other partitions than before",)


class _DeleteTopicKind(edit_kind.Removal, TopicKind):
    edit = DeleteTopic
    verb = "delete"
    words = "delete, with all its records"
    batch = DELETIONS
    risks = (RiskRule(TOPIC_DELETED, topic_risks.deleted, topic_risks.deleted_needs, topic_risks.deleted_subject),)

    def judge(self, edit: DeleteTopic, draft: plan_staged.Draft) -> plan_staged.Verdict:
        name = edit.name
        draft.refuse_created(name, "Discard the creation instead.")
        keys = draft.config_keys(topic_resource(name))
        # A plan that edits and deletes the same topic probably confuses two names.
        if isinstance(draft.topic_edit(name), GrowTopic) or keys:
            what = ", ".join(keys[:3]) + (", …" if len(keys) > 3 else "") if keys else "partitions"
            raise plan_staged.Refused(
                f"the plan changes topic {name} ({what})", f"Discard the edits of topic {name} first."
            )
        was = draft.snapshot.topics.get(name)
        if was is None and draft.read(Part.TOPICS):
            return plan_staged.Dropped(edit, f"there is no topic {name}")
        return plan_staged.Staged(edit, was if was is not None else plan_staged.UNREAD)

    def touches(self, edit: DeleteTopic) -> tuple[Target, ...]:
        """Return the topic and its config resource, which is deleted with it."""
        return edit.target, topic_resource(edit.name)

    def settled(self, _edit: object, was: plan_staged.Was, now: plan_staged.Was, changed: bool) -> Status | None:
        if not isinstance(now, Topic):
            return None
        # The topic exists again: only a new id proves that the former topic was deleted.
        made_again = isinstance(was, Topic) and was.topic_id != now.topic_id
        return Status.APPLIED if changed and made_again else Status.NOT_APPLIED

    def recorded(self, edit: DeleteTopic, snapshot: Snapshot) -> Mapping[str, str]:
        """Return key -> value of the topic's overrides, without those that brokers hide."""
        resource = topic_resource(edit.name)
        configs = snapshot.configs.get(resource)
        entries = configs.overrides(resource) if configs is not None else ()
        return {entry.name: entry.value for entry in entries if entry.value is not None}

    def reversal(self, edit: DeleteTopic, was: Topic | None, overrides: Mapping[str, str]) -> edit_kind.Reversal:
        if was is None or not was.partitions:
            return edit_kind.Reversal((), None, "the topic's records are gone, and how it was made is not known")
        again = NewTopic(edit.name, len(was.partitions), was.replication, configs=overrides)
        return edit_kind.Reversal((CreateTopic(again),), None, "the records are gone: the topic comes back empty")

    def doubt(self, _edit: object, change: int, same_topic: bool) -> str:
        if same_topic:
            return ""
        return f"whether this is the topic that change {change} created is unknown: no id of it is known"


KINDS = (_GrowTopicKind(), _DeleteTopicKind())
