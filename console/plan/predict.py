"""The cluster as it will be once a plan is applied, as far as what was read tells.

Not predicted: where the partitions of a new or grown topic are placed and who leads them (unless assigned), which
default a new topic takes where no broker was read, and what predict_configs.py names.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from console.model.acl import Acl
from console.model.changes import NewTopic
from console.model.cluster import Partition, ScramCredential, Topic
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource, ConfigSet, topic_resource
from console.model.inheritance import Inheritance
from console.model.numbers import long_number
from console.model.quota import QuotaEntity, QuotaValues
from console.model.snapshot import Snapshot
from console.plan.edits import (
    AddAcl,
    ConfigEdit,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    GrowTopic,
    RemoveAcl,
    SetConfig,
    SetQuota,
    UnsetQuota,
    UpsertScram,
)
from console.plan.plan import Plan
from console.plan.predict_configs import predict_configs, without_own

_MOST_PARTITIONS = 10_000
"""A controller creates no more in one request (MAX_RECORDS_PER_USER_OP); a broker's config may claim any number."""


def predict(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot after every edit of the plan; parts that no edit touches are the same objects."""
    created = {s.edit.topic.name: s.edit.topic for s in plan.staged if isinstance(s.edit, CreateTopic)}
    edits: dict[ConfigResource, list[ConfigEdit]] = {}
    for name, topic in created.items():
        edits[topic_resource(name)] = [SetConfig(topic_resource(name), k, v) for k, v in topic.configs.items()]
    for staged in plan.staged:
        if isinstance(staged.edit, ConfigEdit):
            edits.setdefault(staged.edit.resource, []).append(staged.edit)
    configs = snapshot.configs
    if edits:
        configs = predict_configs(_with_new(snapshot, created), edits)
    deleted = {topic_resource(s.edit.name) for s in plan.staged if isinstance(s.edit, DeleteTopic)}
    if deleted & configs.keys():
        configs = {resource: each for resource, each in configs.items() if resource not in deleted}
    return replace(
        snapshot,
        topics=_topics(snapshot, plan),
        configs=configs,
        quotas=_quotas(snapshot.quotas, plan),
        acls=_acls(snapshot.acls, plan),
        scram=_scram(snapshot.scram, plan),
    )


def _with_new(snapshot: Snapshot, created: Mapping[str, NewTopic]) -> Snapshot:
    """With an empty set of overrides for each new topic, where another topic tells what that looks like."""
    if not created:
        return snapshot
    found = next(((r, c) for r, c in snapshot.configs.items() if r.type == TOPIC), None)
    if found is None:
        return snapshot
    inheritance = Inheritance(snapshot)
    resource, like = found
    bare = ConfigSet(tuple(without_own(entry, resource, inheritance) for entry in like))
    return replace(snapshot, configs={**snapshot.configs, **{topic_resource(name): bare for name in created}})


def _topics(snapshot: Snapshot, plan: Plan) -> Mapping[str, Topic]:
    topics = dict(snapshot.topics)
    changed = False
    for staged in plan.staged:
        match staged.edit:
            case CreateTopic(topic=new):
                topics[new.name] = Topic(new.name, _partitions(new, snapshot))
            case DeleteTopic(name=name):
                topics.pop(name, None)
            case GrowTopic(name=name, partitions=count) if name in topics:
                old = topics[name]
                more = tuple(Partition(number, -1, (), ()) for number in range(len(old.partitions), count))
                topics[name] = replace(old, partitions=old.partitions + more)
            case _:
                continue
        changed = True
    return topics if changed else snapshot.topics


def _partitions(new: NewTopic, snapshot: Snapshot) -> tuple[Partition, ...]:
    if new.assignments:
        return tuple(Partition(number, -1, replicas, ()) for number, replicas in enumerate(new.assignments))
    count = new.partitions if new.partitions > 0 else default_partitions(snapshot)
    return tuple(Partition(number, -1, (), ()) for number in range(count))


def default_partitions(snapshot: Snapshot) -> int:
    """How many partitions a topic gets without a count of its own: the brokers' ``num.partitions``, 1 if unread."""
    entry = Inheritance(snapshot).sample(BROKER, "num.partitions")
    count = long_number(entry.value) if entry is not None else None
    return count if count is not None and 1 <= count <= _MOST_PARTITIONS else 1


def _quotas(quotas: Mapping[QuotaEntity, QuotaValues], plan: Plan) -> Mapping[QuotaEntity, QuotaValues]:
    edits = [s.edit for s in plan.staged if isinstance(s.edit, SetQuota | UnsetQuota)]
    if not edits:
        return quotas
    after: dict[QuotaEntity, QuotaValues] = dict(quotas)
    for edit in edits:
        values = {key: value for key, value in after.get(edit.entity, {}).items() if key != edit.key}
        if isinstance(edit, SetQuota):
            values[edit.key] = edit.value
        if values:
            after[edit.entity] = values
        else:
            after.pop(edit.entity, None)
    return after


def _acls(acls: tuple[Acl, ...], plan: Plan) -> tuple[Acl, ...]:
    added = {s.edit.acl for s in plan.staged if isinstance(s.edit, AddAcl)}
    removed = {s.edit.acl for s in plan.staged if isinstance(s.edit, RemoveAcl)}
    return tuple(sorted((added | set(acls)) - removed)) if added or removed else acls


def _scram(scram: Mapping[str, tuple[ScramCredential, ...]], plan: Plan) -> Mapping[str, tuple[ScramCredential, ...]]:
    edits = [s.edit for s in plan.staged if isinstance(s.edit, UpsertScram | DeleteScram)]
    if not edits:
        return scram
    after = dict(scram)
    for edit in edits:
        user, mechanism = edit.user.user, edit.user.mechanism
        credentials = [c for c in after.get(user, ()) if c.mechanism != mechanism]
        if isinstance(edit, UpsertScram):
            credentials.append(ScramCredential(mechanism, edit.iterations))
        if credentials:
            after[user] = tuple(sorted(credentials))
        else:
            after.pop(user, None)
    return after
