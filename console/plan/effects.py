"""Who else an edit changes: entities that inherit or shadow a default, clients whose limit moves, the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.codes import BROKER
from console.model.config import ConfigResource, ConfigSet, broker_resource, is_override, topic_resource
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity, level_of, levels
from console.model.snapshot import Snapshot
from console.plan.amounts import quota
from console.plan.edits import ConfigEdit, Edit, GrowTopic, QuotaEdit, SetQuota, Slot
from console.plan.kinds.quotas import StrongerQuotas
from console.plan.staged import Staged

MOST = 100_000
"""Quota entities that are looked at; with more the words are \"at least\"."""

_TOPIC_KEYS: Mapping[str, str] = {
    broker_key.name: topic_key for topic_key, keys in TOPIC_SYNONYMS.items() for broker_key in keys
}


def effects(staged: Iterable[Staged], snapshot: Snapshot) -> dict[Slot, tuple[str, ...]]:
    """Slot -> lines; edits that concern nobody else are left out."""
    stronger: dict[str, StrongerQuotas] = {}
    found = {each.edit.slot: _lines(each.edit, snapshot, stronger) for each in staged}
    return {slot: lines for slot, lines in found.items() if lines}


def _lines(edit: Edit, snapshot: Snapshot, stronger: dict[str, StrongerQuotas]) -> tuple[str, ...]:
    if isinstance(edit, ConfigEdit) and edit.resource.type == BROKER:
        return _of_broker_key(edit.resource, edit.key, snapshot)
    if isinstance(edit, QuotaEdit):
        if edit.key not in stronger:
            known = islice(snapshot.quotas.items(), MOST)
            stronger[edit.key] = StrongerQuotas(entity for entity, values in known if edit.key in values)
        return _of_quota(edit, snapshot, stronger[edit.key].count(edit.entity))
    if isinstance(edit, GrowTopic):
        return ("keys may go to other partitions than before",)
    return ()


# -- defaults ----------------------------------------------------------------------------------------------------------


def _of_broker_key(resource: ConfigResource, key: str, snapshot: Snapshot) -> tuple[str, ...]:
    lines = []
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    read = {broker: configs for broker in brokers if (configs := snapshot.configs.get(broker)) is not None}
    if resource.is_cluster_default and read:
        shadowing = sum(_sets_itself(configs, broker, key) for broker, configs in read.items())
        lines.append(_inherit("brokers", "broker", len(read) - shadowing, shadowing, len(read) < len(brokers)))
    topic_key = _TOPIC_KEYS.get(key)
    if topic_key is not None:
        lines += _of_topics(topic_key, snapshot)
    return tuple(lines)


def _sets_itself(configs: ConfigSet, resource: ConfigResource, key: str) -> bool:
    entry = configs.get(key)
    return entry is not None and is_override(entry, resource)


def _of_topics(key: str, snapshot: Snapshot) -> list[str]:
    """Equal sets are one object, so each is looked at once."""
    known: dict[int, bool] = {}
    shadow = read = 0
    for name in snapshot.topics:
        resource = topic_resource(name)
        configs = snapshot.configs.get(resource)
        if configs is None:
            continue
        read += 1
        if id(configs) not in known:
            known[id(configs)] = _sets_itself(configs, resource, key)
        shadow += known[id(configs)]
    if not read:
        return []
    return [_inherit("topics", "topic", read - shadow, shadow, read < len(snapshot.topics))]


def _inherit(many: str, one: str, inheriting: int, shadowing: int, partly: bool) -> str:
    least = "at least " if partly else ""
    word = one if inheriting == 1 else many
    verb = "inherits it" if inheriting == 1 else "inherit it"
    return f"{least}{inheriting:,} {word} {verb}, {least}{shadowing:,} {'shadows' if shadowing == 1 else 'shadow'} it"


# -- quotas ------------------------------------------------------------------------------------------------------------


def _of_quota(edit: QuotaEdit, snapshot: Snapshot, stronger: int) -> tuple[str, ...]:
    """stronger: how many entities that may share a client have the key at a stronger level."""
    lines = []
    brokers = len(snapshot.cluster.brokers)
    if isinstance(edit, SetQuota) and brokers > 1 and edit.key.endswith("byte_rate"):
        lines.append(f"on each of {brokers} brokers: up to {quota(edit.key, edit.value * brokers)} in all")
    if stronger:
        least = "at least " if len(snapshot.quotas) > MOST else ""
        noun = "entity has a stronger limit" if stronger == 1 else "entities have a stronger limit"
        lines.append(f"{least}{stronger:,} {noun} and {'does' if stronger == 1 else 'do'} not move")
    if not isinstance(edit, SetQuota):
        lines.append(_falls_to(edit.entity, edit.key, snapshot))
    return tuple(lines)


def _falls_to(entity: QuotaEntity, key: str, snapshot: Snapshot) -> str:
    """What counts once the limit is gone."""
    names = {part.type: part.name for part in entity}
    if IP in names:
        return "the default of addresses counts then, if there is one"
    user, client = names.get(USER) or "\0", names.get(CLIENT_ID) or "\0"
    weaker = [each for each in levels(user, client) if level_of(each) > level_of(entity)]
    for each in weaker:
        value = snapshot.quotas.get(each, {}).get(key)
        if value is not None:
            return f"{_words(each)} counts then: {quota(key, value)}"
    return "nothing limits it then"


def _words(entity: QuotaEntity) -> str:
    return " ".join(f"{part.type} {'<default>' if part.name is None else part.name}" for part in entity)
