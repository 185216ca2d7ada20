"""Decides whether an edit of a config can be staged, and drops edits that would change nothing."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from console.model.broker_keys import listener_base
from console.model.changes import FeatureTarget
from console.model.codes import BROKER, TOPIC, ConfigType
from console.model.config import ConfigEntry, ConfigResource, is_override
from console.model.entity_types import Lister
from console.model.nodes import ITS_OWN, controller_named, is_broker
from console.model.parts import Part
from console.plan import edits
from console.plan import staged as plan_staged
from console.plan.kinds.features import feature_of, forbidden_at
from console.plan.service_configs import BY_TYPE, entry_before
from console.plan.values import LIST, appended, as_compared, own_text, parse_value, parts_of, subtracted

ROOT_LOGGER = "root"
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The levels of LogLevelConfig.VALID_LOG_LEVELS."""


def _check_place(edit: edits.ConfigEdit, draft: plan_staged.Draft) -> None:
    """Raise Refused if the resource can't be edited, or the key is empty."""
    _check_resource(edit.resource, draft)
    if not edit.key:
        raise plan_staged.Refused("the key has no name", "Name the key.")
    if (service := BY_TYPE.get(edit.resource.type)) is not None:
        service.check(edit, draft)


def _check_resource(resource: ConfigResource, draft: plan_staged.Draft) -> None:
    snapshot, type_ = draft.snapshot, resource.type.entity
    if resource.type == TOPIC:
        draft.refuse_deleted(resource.name)
        if draft.creates(resource) is not None:
            return
        if draft.read(Part.TOPICS) and resource.name not in snapshot.topics and resource not in snapshot.configs:
            raise plan_staged.Refused(
                f"there is no topic {resource.name}", "Check the name, refresh, or create it in this plan."
            )
    if not resource.name and not resource.is_default:
        raise plan_staged.Refused("the entity has no name", "Name it; only brokers and schemas have a default.")
    if resource.name and not type_.names.allows(resource.name):
        default = ", or <default>" if type_.has_default else ""
        raise plan_staged.Refused(f"{resource.name} is no {type_.names.what}", f"Give {type_.names.give}{default}.")
    if type_.at_broker and resource.name and not is_broker(snapshot, resource.name):
        if what := controller_named(snapshot, resource.name):
            raise plan_staged.Refused(what, ITS_OWN)
        ids = ", ".join(str(broker.id) for broker in snapshot.cluster.brokers)
        raise plan_staged.Refused(
            f"broker {resource.name} is not among the brokers that are up ({ids})",
            "Its configs go to the broker itself: start it, or use the cluster default.",
        )


def _check_key(edit: edits.ConfigEdit, draft: plan_staged.Draft) -> None:
    """Raise Refused if the resource has no such key, or if brokers refuse the edit at the level that a feature has
    after the plan.
    """
    _check_known(edit.resource, edit.key, draft)
    feature = feature_of(edit)
    level = _level(feature, draft) if feature is not None else None
    forbidden = forbidden_at(edit, level) if level is not None else None
    if forbidden is not None:
        raise plan_staged.Refused(*forbidden)


def _check_known(resource: ConfigResource, key: str, draft: plan_staged.Draft) -> None:
    configs = draft.snapshot.configs.get(resource)
    if (configs is None and draft.creates(resource) is None) or draft.like(resource, key) is not None:
        return
    # Brokers list every key of a topic or group, so a key that is missing there does not exist. For a broker, they omit
    # some dynamic keys that are not set. An empty set of configs proves nothing.
    if resource.type.entity.lister in (Lister.TOPICS, Lister.GROUPS) and (configs is None or len(configs)):
        known = draft.inheritance.keys(resource.type)
        if known:
            raise plan_staged.Refused(f"{key} is no key of {resource.type.entity.one}", _close(key, known))
    if resource.type.entity.lister is Lister.SCHEMAS:
        names = [each.name for each in resource.type.entity.keys]
        if key not in names:
            raise plan_staged.Refused(
                f"{key} is no key of {resource.type.entity.one}", f"There are {', '.join(names)}."
            )
    if resource.type.entity.has_levels and resource.type.entity.at_broker and configs is not None and len(configs):
        known = [entry.name for entry in configs]
        raise plan_staged.Refused(f"broker {resource.name} has no logger {key}", _close(key, known))


def _level(feature: str, draft: plan_staged.Draft) -> int | None:
    """Return the level that a feature has after the plan; None if the features were not read."""
    staged = draft.at(edits.Slot(FeatureTarget(feature), ""))
    if staged is not None and isinstance(staged.edit, edits.SetFeature):
        return staged.edit.level
    features = draft.snapshot.features
    return None if features is None else features.finalized.get(feature, 0)


def _close(key: str, known: list[str]) -> str:
    from difflib import get_close_matches  # imported late, only for a refusal

    close = get_close_matches(key, known, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}?" if close else "Look at the configs of the entity for its keys."


def _was(edit: edits.ConfigEdit, draft: plan_staged.Draft) -> plan_staged.Was:
    if draft.creates(edit.resource) is not None:
        return None
    configs = draft.snapshot.configs.get(edit.resource)
    return plan_staged.UNREAD if configs is None else entry_before(configs, edit.resource, edit.key)


def judge_set(edit: edits.SetConfig, draft: plan_staged.Draft) -> plan_staged.Verdict:
    """Return Staged for a new value, Dropped if the resource already has it. Raise Refused if the resource or the key
    can't be edited, the value is invalid, or it is a secret in plain text.
    """
    # The order decides which refusal the operator sees: a key can't be checked on a resource that does not exist.
    _check_place(edit, draft)
    _check_key(edit, draft)
    resource, key, value = edit.resource, edit.key, edit.value
    like = draft.like(resource, key)
    service = BY_TYPE.get(resource.type)
    checks = service.check_value if service is not None else None
    if checks is not None:
        checks(key, value, like)
    if isinstance(value, str):
        if checks is None and _is_sensitive(resource, key, like, draft):
            raise plan_staged.Refused(
                f"{key} is sensitive and is never written out",
                f"Give it as {key}=@FILE, or {key}=? to be asked for it.",
            )
        try:
            value = _parsed(resource, key, like, value)
        except ValueError as error:
            raise plan_staged.Refused(str(error), _value_remedy(like)) from None
        if value != edit.value:
            edit = edits.SetConfig(resource, key, value)
    was = _was(edit, draft)
    if isinstance(was, ConfigEntry) and isinstance(value, str) and _is_own(was, value, resource):
        return plan_staged.Dropped(
            edit, f"{key} is already {plan_staged.shown(own_text(was, resource) or value) or 'empty'}"
        )
    return plan_staged.Staged(edit, was)


def _parsed(resource: ConfigResource, key: str, like: ConfigEntry | None, text: str) -> str:
    if resource.type.entity.has_levels:
        level = text.strip().upper()
        if level not in LOG_LEVELS:
            raise ValueError(f"{text} is no log level; there are {', '.join(LOG_LEVELS)}")
        return level
    legal = next((each.values for each in resource.type.entity.keys if each.name == key), ())
    if legal:
        word = text.strip().upper()
        if word not in legal:
            raise ValueError(f"{plan_staged.shown(text)} is no {key}; there are {', '.join(legal)}")
        return word
    return parse_value(key, like.type if like else ConfigType(0), text)


def _value_remedy(like: ConfigEntry | None) -> str:
    return f"The key's type is {like.type.name}: correct the value." if like and like.type else "Correct the value."


def _is_sensitive(resource: ConfigResource, key: str, like: ConfigEntry | None, draft: plan_staged.Draft) -> bool:
    if like is not None:
        return like.sensitive
    # A key with a listener's prefix is as sensitive as the key without it.
    base = listener_base(key) if resource.type == BROKER else None
    entry = draft.inheritance.sample(BROKER, base) if base else None
    return entry is not None and entry.sensitive


def _is_own(was: ConfigEntry, value: str, resource: ConfigResource) -> bool:
    """Return whether the resource itself already sets this value. False for the location of a key or trust store,
    because a broker reloads the store when the same location is set again. False for a logger, because brokers
    describe a level also for a logger that inherits it, and an inherited level changes with its parent.
    """
    own = own_text(was, resource)
    if own is None or resource.type.entity.has_levels or (resource.type == BROKER and "store." in was.name):
        return False
    return as_compared(was.name, was.type, own) == as_compared(was.name, was.type, value)


def judge_unset(edit: edits.UnsetConfig, draft: plan_staged.Draft) -> plan_staged.Verdict:
    """Return Staged for the removal of an override, Dropped if there is none. Raise Refused if the resource or the key
    can't be edited, for a logger whose level can't be removed, and for a config in the staged creation of its topic.
    """
    resource, key = edit.resource, edit.key
    _check_place(edit, draft)
    if resource.type.entity.has_levels and not resource.type.entity.at_broker:
        raise plan_staged.Refused("Connect takes no logger's level away", "Set it to another level.")
    if resource.type.entity.has_levels and key == ROOT_LOGGER:
        raise plan_staged.Refused("the root logger always has a level", "Set it to another level.")
    _check_key(edit, draft)
    creation = draft.creates(resource)
    if creation is not None:
        if key in creation.topic.configs:
            raise plan_staged.Refused(
                f"the plan creates topic {resource.name} with {key}", "Set another value, or stage its creation again."
            )
        return plan_staged.Dropped(edit, f"{key} is not set")
    was = _was(edit, draft)
    if not resource.type.entity.has_levels and (
        was is None or (isinstance(was, ConfigEntry) and not is_override(was, resource))
    ):
        return plan_staged.Dropped(edit, f"{key} is not set here")
    return plan_staged.Staged(edit, was)


def judge_append(edit: edits.AppendConfig, draft: plan_staged.Draft) -> plan_staged.Verdict:
    """Return Staged for items to append to a list, Dropped if the resource's own list has all of them. Raise Refused in
    the cases that `_judge_items` names.
    """
    return _judge_items(edit, draft, appended, "append", "already")


def judge_subtract(edit: edits.SubtractConfig, draft: plan_staged.Draft) -> plan_staged.Verdict:
    """Return Staged for items to remove from a list, Dropped if the resource's own list has none of them. Raise Refused
    in the cases that `_judge_items` names.
    """
    return _judge_items(edit, draft, subtracted, "subtract", "not")


def _judge_items(
    edit: edits.AppendConfig | edits.SubtractConfig,
    draft: plan_staged.Draft,
    change: Callable[[str | None, str], str],
    verb: str,
    there: str,
) -> plan_staged.Verdict:
    """Return Staged or Dropped for an edit of a list's items. If an edit of the same kind is staged for the key, the
    result has its items too. Raise Refused if the resource or the key can't be edited, the key is no list, no items are
    given, another kind of edit of the key is staged, or the plan creates the topic.

    Args:
        change: a function from a list and items to the list with the items added or removed.
        verb: ``append`` or ``subtract``, for messages.
        there: ``already`` or ``not``: the relation of items without effect to the list, for the message.
    """
    resource, key = edit.resource, edit.key
    _check_place(edit, draft)
    if resource.type.entity.has_levels:
        raise plan_staged.Refused(f"a logger has one level: {key} is no list", "Set the level.")
    _check_key(edit, draft)
    like = draft.like(resource, key)
    if like is not None and like.type not in (ConfigType(0), LIST):
        raise plan_staged.Refused(f"{key} is no list but {like.type.name}", f"Set {key} instead.")
    if draft.creates(resource) is not None:
        raise plan_staged.Refused(f"the plan creates topic {resource.name}: no list is there yet", f"Set all of {key}.")
    items = [item for item in dict.fromkeys(part.strip() for part in edit.value.split(",")) if item]
    if not items:
        raise plan_staged.Refused(f"there is nothing to {verb}", "Name the items, parted by commas.")
    existing = draft.at(edit.slot)
    if existing is not None:
        if not isinstance(existing.edit, type(edit)):
            raise plan_staged.Refused(
                f"{key} is staged to be changed otherwise",
                f"Set {key} to the whole list, or discard what is staged first.",
            )
        # A slot holds one edit: a second append extends the first.
        items = list(dict.fromkeys([*existing.edit.value.split(","), *items]))
    edit = structs.replace(edit, value=",".join(items))
    was = _was(edit, draft)
    own = own_text(was, resource) if isinstance(was, ConfigEntry) else None
    # Only an override proves that nothing changes: an append makes an inherited list an override.
    if own is not None and change(own, edit.value) == ",".join(parts_of(own)):
        return plan_staged.Dropped(edit, f"{', '.join(items)}: {there} in {key}")
    return plan_staged.Staged(edit, was)
