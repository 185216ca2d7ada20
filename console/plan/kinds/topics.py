"""What may be staged on topics: creation, deletion, growth."""

from __future__ import annotations

import re

from msgspec.structs import replace

from console.model.cluster import Topic
from console.model.codes import ConfigType
from console.model.config import ConfigEntry, topic_resource
from console.model.secret import Secret
from console.plan.edits import CreateTopic, DeleteTopic, GrowTopic, TopicEdit
from console.plan.requests import RECORD_LIMIT
from console.plan.staged import UNREAD, Draft, Dropped, Refused, Staged, Verdict
from console.plan.values import parse_value

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""Topic.validate; ``.`` and ``..`` are refused besides."""


def judge(edit: TopicEdit, draft: Draft) -> Verdict:
    """Whether an edit of a topic itself is staged, is a no-op, or can't be."""
    match edit:
        case CreateTopic():
            return _create(edit, draft)
        case DeleteTopic():
            return _delete(edit, draft)
        case GrowTopic():
            return _grow(edit, draft)


def _create(edit: CreateTopic, draft: Draft) -> Verdict:
    topic, name = edit.topic, edit.topic.name
    staged = draft.topic_edit(name)
    if isinstance(staged, DeleteTopic):
        return Refused(edit, f"the plan deletes topic {name}", "Apply the deletion first, then create it.")
    if name in draft.snapshot.topics:
        return Refused(edit, f"topic {name} exists already", "Set its configs, or choose another name.")
    if not _LEGAL.fullmatch(name) or name in (".", ".."):
        return Refused(edit, f"'{name}' can't be a topic's name", "Use 1 to 249 of letters, digits, '.', '_' and '-'.")
    refused = _shape(edit)
    if refused is not None:
        return refused
    configs: dict[str, str | Secret] = {}
    for key, value in topic.configs.items():
        like = draft.like(topic_resource(name), key)
        refused = _config(edit, key, like, draft)
        if refused is not None:
            return refused
        try:
            type_ = like.type if like else ConfigType(0)
            configs[key] = parse_value(key, type_, value) if isinstance(value, str) else value
        except ValueError as error:
            return Refused(edit, str(error), "Correct the value.")
    if configs != topic.configs:
        edit = CreateTopic(replace(topic, configs=configs))
    return Staged(edit, None if draft.read("topics") else UNREAD)


def _config(edit: CreateTopic, key: str, like: ConfigEntry | None, draft: Draft) -> Refused | None:
    if like is not None:
        if like.sensitive and isinstance(edit.topic.configs[key], str):
            return Refused(edit, f"{key} is sensitive and is never written out", f"Give it as {key}=@FILE.")
        return None
    known = draft.inheritance.keys(topic_resource(edit.topic.name).type)
    return Refused(edit, f"{key} is no key of a topic", "Check its spelling.") if known else None


def _shape(edit: CreateTopic) -> Refused | None:
    topic = edit.topic
    if topic.assignments:
        if topic.partitions != -1 or topic.replication != -1:
            return Refused(edit, "partitions are given twice", "Give the assignment, or partitions and replication.")
        if len({len(replicas) for replicas in topic.assignments}) != 1 or not topic.assignments[0]:
            return Refused(edit, "the partitions have different numbers of replicas", "Assign as many to each.")
        if any(len(set(replicas)) != len(replicas) for replicas in topic.assignments):
            return Refused(edit, "a partition names a broker twice", "Name different brokers for each partition.")
    if topic.partitions != -1 and topic.partitions < 1:
        return Refused(edit, "a topic has at least 1 partition", "Leave partitions out for the brokers' default.")
    if topic.replication != -1 and not 1 <= topic.replication <= 32767:
        return Refused(edit, "a topic has at least 1 replica", "Leave replication out for the brokers' default.")
    records = 1 + max(topic.partitions, len(topic.assignments)) + len(topic.configs)
    if records > RECORD_LIMIT:
        return Refused(
            edit,
            f"a controller takes at most {RECORD_LIMIT:,} records in one change, this topic has {records:,}",
            "Create it with fewer partitions and grow it afterwards.",
        )
    return None


def _delete(edit: DeleteTopic, draft: Draft) -> Verdict:
    name = edit.name
    staged = draft.topic_edit(name)
    if isinstance(staged, CreateTopic):
        return Refused(edit, f"the plan creates topic {name}", "Discard the creation instead.")
    keys = draft.config_keys(name)
    if isinstance(staged, GrowTopic) or keys:
        what = ", ".join(keys[:3]) + (", …" if len(keys) > 3 else "") if keys else "partitions"
        return Refused(edit, f"the plan changes topic {name} ({what})", f"Discard the edits of topic {name} first.")
    was = draft.snapshot.topics.get(name)
    if was is None and draft.read("topics"):
        return Dropped(edit, f"there is no topic {name}")
    return Staged(edit, was if was is not None else UNREAD)


def _grow(edit: GrowTopic, draft: Draft) -> Verdict:
    name = edit.name
    staged = draft.topic_edit(name)
    if isinstance(staged, CreateTopic):
        return Refused(edit, f"the plan creates topic {name}", "Create it with that many partitions.")
    if isinstance(staged, DeleteTopic):
        return Refused(edit, f"the plan deletes topic {name}", "Discard the deletion, or this edit.")
    was = draft.snapshot.topics.get(name)
    if was is None:
        if draft.read("topics"):
            return Refused(edit, f"there is no topic {name}", "Check the name, or refresh.")
        return Staged(edit, UNREAD)
    return _grown(edit, was)


def _grown(edit: GrowTopic, was: Topic) -> Verdict:
    now = len(was.partitions)
    if edit.partitions == now:
        return Dropped(edit, f"topic {edit.name} has {now} partitions already")
    if edit.partitions < now:
        return Refused(
            edit, f"topic {edit.name} has {now} partitions and can't have fewer", "Create another topic and copy to it."
        )
    if edit.partitions - now > RECORD_LIMIT:
        return Refused(
            edit,
            f"a controller takes at most {RECORD_LIMIT:,} new partitions in one change",
            f"Grow to {now + RECORD_LIMIT} first.",
        )
    return Staged(edit, was)
