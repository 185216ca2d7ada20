"""The values that statements share as text that reads back as them."""

from __future__ import annotations

from console.language.quoting import (
    DEFAULT_NAME,
    can_stand_bare,
    quote,
    quote_beside_equals,
    quote_pattern,
    quoted,
)
from console.language.statements import Assign, Entity, FieldFilter, FromFile, Key, Name, SecretSource, Subject
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID
from console.present.names import resource_word


def joined(*words: str) -> str:
    """Return the words that are not empty, with spaces between them."""
    return " ".join(word for word in words if word)


def subject_text(subject: Subject) -> str:
    """Return an entity in the language."""
    if isinstance(subject, ConfigResource):
        name = DEFAULT_NAME if subject.is_cluster_default else quote(subject.name)
        return f"{resource_word(subject.type)} {name}"
    words = []
    for part in subject.parts:
        words.append("client" if part.type == CLIENT_ID else part.type)
        words.append(DEFAULT_NAME if part.name is None else quote(part.name))
    return " ".join(words)


def entity_text(entity: Entity | None) -> str:
    """Return the entity of a statement, ``""`` where none is named."""
    return subject_text(entity.subject) if entity else ""


def key_text(key: Key) -> str:
    """Return a key; quotes are kept, since a quoted key is meant literally."""
    return key.name if not key.quoted and can_stand_bare(key.name) else quoted(key.name)


def name_text(name: Name) -> str:
    """Return a name."""
    return DEFAULT_NAME if name.text is None else quote(name.text)


def assign_text(assign: Assign) -> str:
    """Return a ``KEY=VALUE``."""
    if isinstance(assign.value, str):
        return f"{key_text(assign.key)}={quote(assign.value) if assign.value else ''}"
    return f"{key_text(assign.key)}={secret_text(assign.value)}"


def secret_text(source: SecretSource) -> str:
    """Return where a secret comes from."""
    return f"@{quote(source.path)}" if isinstance(source, FromFile) else "?"


def field_text(field: FieldFilter) -> str:
    """Return a filter of a column."""
    return f"{quote_beside_equals(field.key)}{field.operator}{pattern_text(field.pattern)}"


def pattern_text(pattern: str | None) -> str:
    """Return a glob."""
    return DEFAULT_NAME if pattern is None else quote_pattern(pattern)


def partition_text(number: int | None) -> str:
    """Return ``partition N``, ``""`` for None."""
    return "" if number is None else f"partition {number}"


def in_group(group: Name, topic: Name | None = None, partition: int | None = None) -> str:
    """Return ``group NAME [topic NAME [partition N]]``."""
    of_topic = f"topic {name_text(topic)}" if topic is not None else ""
    return joined("group", name_text(group), of_topic, partition_text(partition))
