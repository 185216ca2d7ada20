"""A resource's own value of a key: what it is, and what an edit makes of it."""

from __future__ import annotations

from console.model.config import ConfigEntry, ConfigResource, is_override, own_source
from console.model.inheritance import Inheritance
from console.plan.edits import AppendConfig, ConfigEdit, SetConfig, UnsetConfig


def own_text(entry: ConfigEntry | None, resource: ConfigResource) -> str | None:
    """The resource's own value of a key as it is stored where that is told, None where it has none or it is hidden."""
    if entry is None or not is_override(entry, resource):
        return None
    own = own_source(resource)
    return next((synonym.value for synonym in entry.synonyms if synonym.source == own), entry.value)


def result_of(edit: ConfigEdit, entry: ConfigEntry | None, inheritance: Inheritance) -> str | None:
    """The own value after an edit; None where there is none any more, or it is a secret.

    A list without an own value starts from Kafka's default for the key, not from what the resource inherits
    (ConfigurationControlManager.getParts).
    """
    if isinstance(edit, UnsetConfig):
        return None
    if isinstance(edit, SetConfig):
        return edit.value if isinstance(edit.value, str) else None
    own = own_text(entry, edit.resource)
    base = own if own is not None else inheritance.default(edit.resource, edit.key)
    return append(base, edit.value) if isinstance(edit, AppendConfig) else subtract(base, edit.value)


def append(base: str | None, items: str) -> str:
    """What APPEND makes of a list: items that are there stay as they are."""
    parts = parts_of(base)
    for item in items.split(","):
        if item not in parts:
            parts.append(item)
    return ",".join(parts)


def subtract(base: str | None, items: str) -> str:
    """What SUBTRACT makes of a list: the first of each item is gone, what is not there is passed over."""
    parts = parts_of(base)
    for item in items.split(","):
        if item in parts:
            parts.remove(item)
    return ",".join(parts)


def parts_of(value: str | None) -> list[str]:
    """The items of a list as a controller parts them."""
    return [part for part in (value or "").split(",") if part]
