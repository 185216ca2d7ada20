"""What the brokers will describe once config edits are applied: own values, and what others inherit from them.

Not predicted: what a logger falls back to and what its children inherit; a value hidden or never read. Where a key
falls back to something that was not read, its entry has no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from console.model.broker_keys import (
    TOPIC_SYNONYMS,
    Layers,
    broker_key_of,
    chain,
    layers_of,
    listener_base,
    names_touched,
)
from console.model.codes import (
    BROKER,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    GROUP,
    TOPIC,
    ConfigSource,
    ConfigType,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    Synonym,
    broker_resource,
    own_source,
)
from console.model.inheritance import Inheritance, from_broker
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, UnsetConfig
from console.plan.values import LONG, canonical, result_of

Configs = Mapping[ConfigResource, ConfigSet]
Edits = Mapping[ConfigResource, list[ConfigEdit]]
_Own = dict[str, Synonym | None]

UNDESCRIBED = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
"""QuotaConfig's rates: a broker lists them only where they are set."""


def predict_configs(snapshot: Snapshot, edits: Edits) -> Configs:
    """Return the configs as brokers will describe them after these edits. A resource that was not read stays unread.

    Args:
        edits: by resource, each list in the order in which it takes effect.

    Returns:
        All configs of the snapshot. Sets that nothing changes are the same objects, and topics that share a set still
            share one if none of them is edited itself, so that rules judge each set once.
    """
    before = Inheritance(snapshot)
    configs = dict(snapshot.configs)
    # The cluster default comes first: every broker inherits from it.
    default = _own_after(CLUSTER_DEFAULT, edits, snapshot, before)
    changed: dict[int | None, dict[ConfigSource, _Own]] = {None: {DYNAMIC_DEFAULT_BROKER_CONFIG: default}}
    for resource, each in snapshot.configs.items():
        if resource.is_cluster_default:
            configs[resource] = _cluster_default(each, default, before)
        elif resource.type == BROKER:
            own = _own_after(resource, edits, snapshot, before)
            layers = {DYNAMIC_BROKER_CONFIG: own, DYNAMIC_DEFAULT_BROKER_CONFIG: default}
            changed[int(resource.name)] = layers
            configs[resource] = _broker(each, layers, before)
    inherited = changed.get(snapshot.configs_from) or changed[None]
    if any(inherited.values()):
        _inherit(configs, inherited, snapshot.configs_from)
    after = Inheritance(replace(snapshot, configs=configs))
    for resource, mine in edits.items():
        # Own values come after inheritance was updated: an unset falls back to what is inherited then.
        if resource.type != BROKER and resource in configs:
            configs[resource] = _edited(resource, configs[resource], mine, before, after)
    return configs


def _own_after(resource: ConfigResource, edits: Edits, snapshot: Snapshot, before: Inheritance) -> _Own:
    """Return the broker's own value of each key that the edits change; None where it is deleted."""
    configs = snapshot.configs.get(resource)
    after: _Own = {}
    for edit in edits.get(resource, ()):
        entry = configs.get(edit.key) if configs is not None else None
        hidden = _template(edit.key, entry, before).sensitive
        value = None if hidden else result_of(edit, entry, before)
        gone = isinstance(edit, UnsetConfig)
        after[edit.key] = None if gone else Synonym(edit.key, value, own_source(resource))
    return after


def _template(key: str, entry: ConfigEntry | None, inheritance: Inheritance) -> ConfigEntry:
    """Return an entry with the type and flags that a broker gives this key."""
    found = entry or inheritance.sample(BROKER, key)
    if found is not None:
        return found
    if key in UNDESCRIBED:
        return ConfigEntry(key, None, DEFAULT_CONFIG, type=LONG)
    base = listener_base(key)
    like = inheritance.sample(BROKER, base) if base is not None else None
    if like is not None:
        return replace(like, name=key, read_only=False)
    unknown = inheritance.read(BROKER)  # a key that the brokers do not know is taken for a secret by them
    return ConfigEntry(key, None, DEFAULT_CONFIG, read_only=unknown, sensitive=unknown)


def _cluster_default(configs: ConfigSet, default: _Own, before: Inheritance) -> ConfigSet:
    entries = {entry.name: entry for entry in configs}
    for key, own in default.items():
        if own is None:
            entries.pop(key, None)
        else:
            template = _template(key, entries.get(key), before)
            entries[key] = replace(
                template, value=own.value, source=own.source, synonyms=(own,), documentation=template.documentation
            )
    return _set(entries)


def _broker(configs: ConfigSet, changed: Mapping[ConfigSource, _Own], before: Inheritance) -> ConfigSet:
    names = {name for own in changed.values() for name in own}
    if not names:
        return configs
    layers = _changed_layers(layers_of(configs), changed)
    touched = set(names_touched(names))
    # A listener's key without a value of its own falls back to the key without the prefix.
    touched.update(e.name for e in configs if e.name.startswith("listener.") and listener_base(e.name) in names)
    entries = {entry.name: entry for entry in configs}
    for key in touched:
        old = entries.get(key)
        synonyms = chain(layers, key)
        if old is not None and old.synonyms == synonyms:
            continue
        template = _template(key, old, before)
        if synonyms:
            entries[key] = _with(template, synonyms)
        elif old is not None and (template.type == 0 or key in UNDESCRIBED or listener_base(key) is not None):
            del entries[key]  # listed only while it is set
        elif old is not None:
            entries[key] = replace(old, value=None, source=DEFAULT_CONFIG, synonyms=())
    return _set(entries)


def _changed_layers(layers: Layers, changed: Mapping[ConfigSource, _Own]) -> Layers:
    def after(name: str) -> Iterable[Synonym]:
        for synonym in layers(name):
            if name not in changed.get(synonym.source, {}):
                yield synonym
        for own in changed.values():
            new = own.get(name)
            if new is not None:
                yield new

    return after


def _with(entry: ConfigEntry, synonyms: tuple[Synonym, ...]) -> ConfigEntry:
    """Return the entry with the value and source of its strongest synonym, which comes first."""
    first = synonyms[0]
    value = None if entry.sensitive or first.value is None else canonical(entry.type, first.value)
    return replace(entry, value=value, source=first.source, synonyms=synonyms)


def _inherit(
    configs: dict[ConfigResource, ConfigSet], changed: Mapping[ConfigSource, _Own], broker: int | None
) -> None:
    """Update what topics and groups inherit, as the broker that described them will show it."""
    on_broker = configs.get(broker_resource(broker)) if broker is not None else None
    names = {name for own in changed.values() for name in own}
    touched = names_touched(names)
    topic_keys = {key for key, theirs in TOPIC_SYNONYMS.items() if touched.intersection(t.name for t in theirs)}
    group_keys = {name.removeprefix("group.") for name in names if name.startswith("group.")}
    seen: dict[int, ConfigSet] = {}
    for resource, each in configs.items():
        keys = topic_keys if resource.type == TOPIC else group_keys if resource.type == GROUP else None
        if not keys:
            continue
        # Topics without own values share one set by the thousand: it is computed once, and they share it afterwards.
        if id(each) not in seen:
            entries = {e.name: e for e in each}
            for key in keys & entries.keys():
                entries[key] = _inheriting(entries[key], resource, changed, on_broker)
            seen[id(each)] = _set(entries)
        configs[resource] = seen[id(each)]


def _inheriting(
    entry: ConfigEntry, resource: ConfigResource, changed: Mapping[ConfigSource, _Own], on_broker: ConfigSet | None
) -> ConfigEntry:
    key = broker_key_of(resource.type, entry.name)
    assert key is not None
    own = own_source(resource)
    mine = tuple(synonym for synonym in entry.synonyms if synonym.source == own)
    theirs = entry.synonyms[len(mine) :]
    if on_broker is not None:
        layers = layers_of(on_broker)  # already with the changes
    else:
        layers = _changed_layers(lambda name: (s for s in theirs if s.name == name), changed)
    rest = chain(layers, key)
    # The same object, so that callers see by identity that nothing changed.
    if rest == theirs and (rest or mine):
        return entry
    if mine:
        return replace(entry, synonyms=mine + rest)
    if rest:
        return _with(entry, rest)
    value = from_broker(entry.name, on_broker).value if on_broker is not None else None
    return replace(entry, value=value, source=DEFAULT_CONFIG, synonyms=())


def _edited(
    resource: ConfigResource, configs: ConfigSet, edits: list[ConfigEdit], before: Inheritance, after: Inheritance
) -> ConfigSet:
    """Return the configs of a resource that is no broker after its own edits."""
    entries = {entry.name: entry for entry in configs}
    own = own_source(resource)
    for edit in edits:
        old = entries.get(edit.key) or after.sample(resource.type, edit.key)
        if isinstance(edit, UnsetConfig):
            if old is not None:
                entries[edit.key] = without_own(old, resource, after)
            continue
        raw = result_of(edit, old, before)
        template = old or ConfigEntry(edit.key, None, own, type=ConfigType(0))
        value = None if raw is None else canonical(template.type, raw)
        if resource.type.entity.has_levels:
            entries[edit.key] = replace(template, value=value)
            continue
        rest = tuple(synonym for synonym in template.synonyms if synonym.source != own)
        mine = Synonym(edit.key, value, own)
        entries[edit.key] = replace(template, value=value, source=own, synonyms=(mine, *rest))
    return _set(entries)


def without_own(entry: ConfigEntry, resource: ConfigResource, inheritance: Inheritance) -> ConfigEntry:
    """Return the entry once the resource's own value is deleted."""
    if resource.type.entity.has_levels:
        return replace(entry, value=None)
    own = own_source(resource)
    rest = tuple(synonym for synonym in entry.synonyms if synonym.source != own)
    if rest:
        return _with(entry, rest)
    if entry.source != own:
        return entry
    value = inheritance.without_override(resource, entry.name).value
    return replace(entry, value=value, source=DEFAULT_CONFIG, synonyms=())


def _set(entries: Mapping[str, ConfigEntry]) -> ConfigSet:
    return ConfigSet(tuple(entries[name] for name in sorted(entries)))
