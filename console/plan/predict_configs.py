"""Predicts the configs that brokers will describe after config edits: overrides, and the values that other resources
inherit from them.

Not predicted are the level that a logger or its children inherit, and values that are hidden or were never read. If a
key inherits a value that was not read, its entry has no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from console.model import broker_keys, codes, config
from console.model.inheritance import Inheritance, from_broker
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, SetConfig, UnsetConfig
from console.plan.values import LONG, canonical, result_of

Configs = Mapping[config.ConfigResource, config.ConfigSet]
Edits = Mapping[config.ConfigResource, list[ConfigEdit]]
_Own = dict[str, config.Synonym | None]

UNDESCRIBED = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
"""Keys of Kafka's QuotaConfig that limit rates. A broker describes one of them only if it is set."""


def predict_configs(snapshot: Snapshot, edits: Edits) -> Configs:
    """Return the configs that brokers will describe after these edits. A resource that was not read stays unread.

    Args:
        edits: resource -> its edits, in the order of their effect.

    Returns:
        All configs of the snapshot. Unchanged sets are the same objects. Topics that share a set and are not edited
        still share one afterwards, so that rules check each set once.
    """
    before = Inheritance(snapshot)
    configs = dict(snapshot.configs)
    # Predict the cluster default first: every broker inherits from it.
    default = _own_after(config.CLUSTER_DEFAULT, edits, snapshot, before)
    changed: dict[int | None, dict[codes.ConfigSource, _Own]] = {None: {codes.DYNAMIC_DEFAULT_BROKER_CONFIG: default}}
    for resource, each in snapshot.configs.items():
        if resource.is_cluster_default:
            configs[resource] = _cluster_default(each, default, before)
        elif resource.type == codes.BROKER:
            own = _own_after(resource, edits, snapshot, before)
            layers = {codes.DYNAMIC_BROKER_CONFIG: own, codes.DYNAMIC_DEFAULT_BROKER_CONFIG: default}
            changed[int(resource.name)] = layers
            configs[resource] = _broker(each, layers, before)
    inherited = changed.get(snapshot.configs_from) or changed[None]
    if any(inherited.values()):
        _inherit(configs, inherited, snapshot.configs_from)
    after = Inheritance(replace(snapshot, configs=configs))
    for resource, mine in edits.items():
        # Predict other resources last: a removed override uses the new inherited value.
        if resource.type != codes.BROKER and resource in configs:
            configs[resource] = _edited(resource, configs[resource], mine, before, after)
    return configs


def _own_after(resource: config.ConfigResource, edits: Edits, snapshot: Snapshot, before: Inheritance) -> _Own:
    """Return key -> the override that a broker or the cluster default has after its edits, for the edited keys; None
    for a key whose override is deleted. An override that brokers hide has no value.
    """
    configs = snapshot.configs.get(resource)
    after: _Own = {}
    for edit in edits.get(resource, ()):
        entry = configs.get(edit.key) if configs is not None else None
        hidden = _template(edit.key, entry, before).sensitive
        value = None if hidden else result_of(edit, entry, before)
        gone = isinstance(edit, UnsetConfig)
        after[edit.key] = None if gone else config.Synonym(edit.key, value, config.own_source(resource))
    return after


def _template(key: str, entry: config.ConfigEntry | None, inheritance: Inheritance) -> config.ConfigEntry:
    """Return an entry with the type and flags that a broker describes for this key. entry: the known entry; None if
    unknown.
    """
    found = entry or inheritance.sample(codes.BROKER, key)
    if found is not None:
        return found
    if key in UNDESCRIBED:
        return config.ConfigEntry(key, None, codes.DEFAULT_CONFIG, type=LONG)
    base = broker_keys.listener_base(key)
    like = inheritance.sample(codes.BROKER, base) if base is not None else None
    if like is not None:
        return replace(like, name=key, read_only=False)
    unknown = inheritance.read(codes.BROKER)  # brokers treat a key that they do not know as a secret
    return config.ConfigEntry(key, None, codes.DEFAULT_CONFIG, read_only=unknown, sensitive=unknown)


def _cluster_default(configs: config.ConfigSet, default: _Own, before: Inheritance) -> config.ConfigSet:
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


def _broker(
    configs: config.ConfigSet, changed: Mapping[codes.ConfigSource, _Own], before: Inheritance
) -> config.ConfigSet:
    names = {name for own in changed.values() for name in own}
    if not names:
        return configs
    layers = _changed_layers(broker_keys.layers_of(configs), changed)
    touched = set(broker_keys.names_touched(names))
    # A listener's key without its own value inherits from the key without the listener's prefix.
    touched.update(
        e.name for e in configs if e.name.startswith("listener.") and broker_keys.listener_base(e.name) in names
    )
    entries = {entry.name: entry for entry in configs}
    for key in touched:
        old = entries.get(key)
        synonyms = broker_keys.chain(layers, key)
        if old is not None and old.synonyms == synonyms:
            continue
        template = _template(key, old, before)
        if synonyms:
            entries[key] = _with(template, synonyms)
        elif old is not None and (
            template.type == 0 or key in UNDESCRIBED or broker_keys.listener_base(key) is not None
        ):
            del entries[key]  # such a key is listed only while it is set
        elif old is not None:
            entries[key] = replace(old, value=None, source=codes.DEFAULT_CONFIG, synonyms=())
    return _set(entries)


def _changed_layers(layers: broker_keys.Layers, changed: Mapping[codes.ConfigSource, _Own]) -> broker_keys.Layers:
    def after(name: str) -> Iterable[config.Synonym]:
        for synonym in layers(name):
            if name not in changed.get(synonym.source, {}):
                yield synonym
        for own in changed.values():
            new = own.get(name)
            if new is not None:
                yield new

    return after


def _with(entry: config.ConfigEntry, synonyms: tuple[config.Synonym, ...]) -> config.ConfigEntry:
    """Return the entry with these synonyms, and the value and source of the first, which has the highest precedence."""
    first = synonyms[0]
    value = None if entry.sensitive or first.value is None else canonical(entry.type, first.value)
    return replace(entry, value=value, source=first.source, synonyms=synonyms)


def _inherit(
    configs: dict[config.ConfigResource, config.ConfigSet],
    changed: Mapping[codes.ConfigSource, _Own],
    broker: int | None,
) -> None:
    """Update the values that topics and groups inherit in `configs`, as the broker that described them will show them.

    Args:
        changed: source -> the changed overrides at that source.
        broker: the broker that described the topics; None if unknown.
    """
    on_broker = configs.get(config.broker_resource(broker)) if broker is not None else None
    names = {name for own in changed.values() for name in own}
    touched = broker_keys.names_touched(names)
    topic_keys = {
        key for key, theirs in broker_keys.TOPIC_SYNONYMS.items() if touched.intersection(t.name for t in theirs)
    }
    group_keys = {name.removeprefix("group.") for name in names if name.startswith("group.")}
    seen: dict[int, config.ConfigSet] = {}
    for resource, each in configs.items():
        keys = topic_keys if resource.type == codes.TOPIC else group_keys if resource.type == codes.GROUP else None
        if not keys:
            continue
        # Thousands of topics without overrides share one object: compute it once, and let them share the result, too.
        if id(each) not in seen:
            entries = {e.name: e for e in each}
            for key in keys & entries.keys():
                entries[key] = _inheriting(entries[key], resource, changed, on_broker)
            seen[id(each)] = _set(entries)
        configs[resource] = seen[id(each)]


def _inheriting(
    entry: config.ConfigEntry,
    resource: config.ConfigResource,
    changed: Mapping[codes.ConfigSource, _Own],
    on_broker: config.ConfigSet | None,
) -> config.ConfigEntry:
    key = broker_keys.broker_key_of(resource.type, entry.name)
    assert key is not None
    own = config.own_source(resource)
    mine = tuple(synonym for synonym in entry.synonyms if synonym.source == own)
    theirs = entry.synonyms[len(mine) :]
    if on_broker is not None:
        layers = broker_keys.layers_of(on_broker)  # `on_broker` includes the changes
    else:
        layers = _changed_layers(lambda name: (s for s in theirs if s.name == name), changed)
    rest = broker_keys.chain(layers, key)
    # Return the same object, so that callers see by identity that the entry is unchanged.
    if rest == theirs and (rest or mine):
        return entry
    if mine:
        return replace(entry, synonyms=mine + rest)
    if rest:
        return _with(entry, rest)
    value = from_broker(entry.name, on_broker).value if on_broker is not None else None
    return replace(entry, value=value, source=codes.DEFAULT_CONFIG, synonyms=())


def _edited(
    resource: config.ConfigResource,
    configs: config.ConfigSet,
    edits: list[ConfigEdit],
    before: Inheritance,
    after: Inheritance,
) -> config.ConfigSet:
    """Return the configs of a resource that is no broker, after its own edits.

    Args:
        before, after: the inherited values before and after all edits.
    """
    entries = {entry.name: entry for entry in configs}
    own = config.own_source(resource)
    for edit in edits:
        old = entries.get(edit.key) or after.sample(resource.type, edit.key)
        if isinstance(edit, UnsetConfig):
            if old is not None:
                entries[edit.key] = without_own(old, resource, after)
                # Workers describe a key without a value only if the connector's class defines the key.
                if resource.type.entity.own_keys and not entries[edit.key].synonyms:
                    del entries[edit.key]
            continue
        raw = result_of(edit, old, before)
        hides = isinstance(edit, SetConfig) and isinstance(edit.value, Secret)
        template = old or config.ConfigEntry(edit.key, None, own, sensitive=hides, type=codes.ConfigType(0))
        value = None if raw is None else canonical(template.type, raw)
        if resource.type.entity.has_levels:
            entries[edit.key] = replace(template, value=value)
            continue
        rest = tuple(synonym for synonym in template.synonyms if synonym.source != own)
        mine = config.Synonym(edit.key, value, own)
        entries[edit.key] = replace(template, value=value, source=own, synonyms=(mine, *rest))
    return _set(entries)


def without_own(
    entry: config.ConfigEntry, resource: config.ConfigResource, inheritance: Inheritance
) -> config.ConfigEntry:
    """Return the entry as it is after the resource's override is deleted; without a value for a logger, whose inherited
    level is not predicted.
    """
    if resource.type.entity.has_levels:
        return replace(entry, value=None)
    own = config.own_source(resource)
    rest = tuple(synonym for synonym in entry.synonyms if synonym.source != own)
    if rest:
        return _with(entry, rest)
    if entry.source != own:
        return entry
    value = inheritance.without_override(resource, entry.name).value
    return replace(entry, value=value, source=codes.DEFAULT_CONFIG, synonyms=())


def _set(entries: Mapping[str, config.ConfigEntry]) -> config.ConfigSet:
    return config.ConfigSet(tuple(entries[name] for name in sorted(entries)))
