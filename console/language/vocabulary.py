"""Checks of names and keys against a snapshot: the entity of a statement, whether it exists, and its valid keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from console.language.errors import CommandError, did_you_mean
from console.language.quoting import ENTITY_WORDS, quote
from console.language.statements import Entity, Key, Subject
from console.language.tokenizer import Span
from console.model import quota
from console.model.codes import BROKER, DEFAULT_CONFIG, TOPIC, ConfigType, ResourceType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, broker_resource, topic_resource
from console.model.entity_types import Lister
from console.model.nodes import ITS_OWN, controller_named, is_broker, no_such
from console.model.parts import Part
from console.model.snapshot import ReadFailure, Snapshot, config_label
from console.plan.plan import EMPTY, AnyPlan
from console.plan.predict_configs import UNDESCRIBED
from console.present.failures import failure_text
from console.present.text import clean
from console.sensitive import seems_sensitive

# -- the keys of a resource: its own, and those of another one of its kind ---------------------------------------------

_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]+\.((plain|scram-sha-\d+|gssapi|oauthbearer)\.)?(?=.)")


@cache
def _undescribed(type_: ResourceType) -> ConfigSet:
    """Return kac's own list of the keys of a resource type, for a type of which brokers describe only keys that are
    set.
    """
    return ConfigSet(
        tuple(
            ConfigEntry(key.name, key.default, DEFAULT_CONFIG, type=ConfigType.parse(key.type))
            for key in sorted(type_.entity.keys)
        )
    )


def described_sets(snapshot: Snapshot, target: ConfigResource) -> Iterator[ConfigSet]:
    """Yield the sets of config entries that show which keys a resource can have.

    The first set is the resource's own, if it was read. A further set follows if the own set is missing, or may have
    only the keys that are set: that of another resource of the type, or kac's own list of keys. No further set follows
    for types whose resources have different keys, or levels instead of values.
    """
    own = snapshot.configs.get(target)
    if own is not None:
        yield own
        # Continue for the cluster default and a new entity, which list only keys that are set.
        if not target.is_cluster_default and target.type.entity.lister in (Lister.TOPICS, Lister.BROKERS):
            return
    if target.type.entity.own_keys:
        return
    if target.type.entity.has_levels:
        return
    if target.type.entity.keys:
        yield _undescribed(target.type)
        return
    for other in _others(snapshot, target):
        found = snapshot.configs.get(other)
        if found is not None and found is not own and not other.is_cluster_default:
            yield found
            return


def _others(snapshot: Snapshot, target: ConfigResource) -> Iterator[ConfigResource]:
    if target.type == BROKER:
        cluster = snapshot.cluster
        yield from (broker_resource(node.id) for node in cluster.brokers or cluster.controllers)
    elif target.type == TOPIC:
        yield from map(topic_resource, snapshot.topics)
    else:
        yield from (resource for resource in snapshot.configs if resource.type == target.type)


def known_keys(snapshot: Snapshot, target: ConfigResource) -> dict[str, ConfigEntry]:
    """Return key -> an entry that shows its type: the resource's own entry, else one of another resource. Empty if no
    configs of the type were read.
    """
    keys: dict[str, ConfigEntry] = {}
    for entries in described_sets(snapshot, target):
        for entry in entries:
            keys.setdefault(entry.name, entry)
    return keys


def known_entry(snapshot: Snapshot, target: ConfigResource, key: str) -> ConfigEntry | None:
    """Return an entry that describes a key: the resource's own entry, else one of another resource of its type. If
    there is none for ``listener.name.x.KEY``, an entry for ``KEY`` counts. None if no entry was read.
    """
    for name in dict.fromkeys((key, base_key(key))):
        for entries in described_sets(snapshot, target):
            entry = entries.get(name)
            if entry is not None:
                return entry
    return None


def base_key(key: str) -> str:
    """Return a broker's key without the prefixes of its listener and its SASL mechanism."""
    return _LISTENER_PREFIX.sub("", key, count=1)


def is_sensitive(target: ConfigResource, key: str, entry: ConfigEntry | None) -> bool:
    """Return whether the value of a key is secret, according to the broker's description of the key; if there is none,
    according to the key's name. Without a description, a broker's key that kac does not know counts as secret too.

    Brokers do the same: they hide values of keys that they do not know (DescribeConfigs: sensitive = PASSWORD or
    unknown).
    """
    if entry is not None:
        return entry.sensitive
    return seems_sensitive(key) or (target.type == BROKER and key not in UNDESCRIBED)


def quota_keys(entity: quota.QuotaEntity) -> tuple[str, ...]:
    """Return the keys that an entity of this kind can have (QuotaConfig.userAndClientQuotaConfigs, ipConfigs)."""
    return quota.IP_KEYS if entity.has(quota.IP) else quota.CLIENT_KEYS


# -- whether named entities exist, as far as the snapshot shows --------------------------------------------------------

_CANDIDATES = 2_000
"""Maximum number of names with which a wrong name is compared for a hint: 100,000 comparisons would take seconds."""


def require(snapshot: Snapshot, target: ConfigResource, span: Span | None, plan: AnyPlan = EMPTY) -> None:
    """Raise CommandError if the target is a topic or broker that does not exist. A topic that the plan creates counts
    as existing. span: the place for the error; None for no place.
    """
    if target.type == TOPIC:
        require_topic(snapshot, target.name, span, plan)
    elif target.type.entity.at_broker and target.name and not is_broker(snapshot, target.name):
        if what := controller_named(snapshot, target.name):
            raise CommandError(what, ITS_OWN, span)
        raise CommandError(*no_such(snapshot, target.name), span)


def require_topic(snapshot: Snapshot, name: str, span: Span | None, plan: AnyPlan = EMPTY) -> None:
    """Raise CommandError if the topic does not exist or could not be described. A topic that the plan creates counts as
    existing. span: the place for the error; None for no place.
    """
    if name in snapshot.topics or plan.creates_topic(name):
        return
    for failed in snapshot.failures:
        if failed.part == Part.TOPICS and failed.entity in ("", name):
            raise CommandError(f"topic '{clean(name, 80)}': {failure_text(failed.failure)}", "", span)
    raise CommandError(
        f"there is no topic '{clean(name, 80)}'",
        lambda: near(name, snapshot.topics) or "list topics shows what there is",
        span,
    )


def near(name: str, names: Iterable[str]) -> str:
    """Return a hint with the most similar of many names; ``""`` if none is similar."""
    alike = (known for known in names if known[:1] == name[:1] and abs(len(known) - len(name)) <= 4)
    candidates = [known for known, _ in zip(alike, range(_CANDIDATES), strict=False)]
    return did_you_mean(name, candidates, cutoff=0.75)


def config_problems(snapshot: Snapshot, target: ConfigResource) -> tuple[ReadFailure, ...]:
    """Return the errors of reads of a resource's configs."""
    return tuple(f for f in snapshot.failures if f.part == Part.CONFIGS and f.entity in ("", config_label(target)))


def problems(snapshot: Snapshot, *parts: str) -> tuple[ReadFailure, ...]:
    """Return the errors of reads of these parts of a snapshot."""
    return tuple(failed for failed in snapshot.failures if failed.part in parts)


def subject_of(
    entity: Entity | None, selected: Subject | None, span: Span, keys: tuple[Key, ...] = ()
) -> tuple[Subject, Span]:
    """Return the entity of a statement, and its place in the script. Raises CommandError: the statement names no entity
    and no entity is selected.

    Args:
        entity: the entity that the statement names; None for the selected one.
        selected: the selected entity; None if no entity is selected.
        span: the place of the statement, if there is no better place.
        keys: the keys of the statement: if the first one, unquoted, resembles the word of an entity type, the hint
            names that word.
    """
    if entity is not None:
        return entity.subject, entity.span
    if selected is not None:
        return selected, span
    first = keys[0] if keys else None
    hint = did_you_mean(first.name, ENTITY_WORDS) if first is not None and not first.quoted else ""
    raise CommandError(
        "no entity is named, and none is selected",
        hint or "name one: topic NAME, broker ID, user NAME, …",
        first.span if first is not None else span,
    )


def check_key(entity: quota.QuotaEntity, key: Key, own: quota.QuotaValues = {}) -> None:  # noqa: B006  # never changed
    """Raise CommandError for a key that entities of this kind can't have, unless the entity has it already. own: the
    entity's quotas.
    """
    legal = quota_keys(entity)
    if key.name in legal or key.name in own:
        return
    # Make no guess if the key is a quota of another kind of entity (an IP's instead of a client's, or the reverse): it
    # is not a typo.
    guess = did_you_mean(key.name, legal) if key.name not in quota.QUOTA_KEYS else ""
    hint = guess or f"quotas of {_kind(entity)}: {', '.join(legal)}"
    user = entity.as_dict().get(quota.USER)
    if user is not None and re.search(r"scram|passw|secret|mechanism", key.name, re.IGNORECASE):
        hint = f"a password is set by: scram set {quote(user)} SCRAM-SHA-512 password=?"
    raise CommandError(f"{_kind(entity)} has no quota '{key.name}'", hint, key.span)


def _kind(entity: quota.QuotaEntity) -> str:
    return "an ip" if entity.has(quota.IP) else "a user or client"
