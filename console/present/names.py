"""Names on the screen: sources, entities, flags."""

from __future__ import annotations

from collections.abc import Sequence

from console.model import changes, codes
from console.model.acl import Acl, acl_text, resource_text
from console.model.config import ConfigResource
from console.model.entity_types import BY_NUMBER
from console.model.numbers import first_few
from console.model.numbers import plural as plural
from console.model.quota import CLIENT_ID, QuotaEntity
from console.present.text import clean

DEFAULT = "<default>"
HIDDEN = "······"
"""Text in place of a value that a broker does not return, or that must not be shown."""
NOTHING = "–"

_SOURCE_WORDS: dict[int, str] = {
    **{each.own_source: each.word for each in BY_NUMBER.values()},
    codes.DYNAMIC_DEFAULT_BROKER_CONFIG: f"cluster {DEFAULT}",
    codes.DYNAMIC_DEFAULT_SCHEMA_CONFIG: f"schema {DEFAULT}",
    codes.STATIC_BROKER_CONFIG: "static broker",
    codes.DEFAULT_CONFIG: "default",
}


def resource_word(type_: codes.ResourceType) -> str:
    """Return kac's word for a resource type, such as ``topic``; Kafka's name if kac has no word for it."""
    return type_.entity.word


def source(code: codes.ConfigSource, broker: int | None = None) -> str:
    """Return the source of a config value as text, such as ``default``.

    Args:
        broker: id of the broker whose dynamic config the source is; None to leave the id out.
    """
    if code == codes.DYNAMIC_BROKER_CONFIG and broker is not None:
        return f"broker {broker}"
    return _SOURCE_WORDS.get(code, code.name)


def named(name: str | None) -> str:
    """Return a name of a quota entity as text: ``<default>`` for None, which stands for the default; an entity that
    is really called ``<default>`` is quoted.
    """
    if name is None:
        return DEFAULT
    return f"'{name}'" if name == DEFAULT else clean(name)


def spoken(name: str) -> str:
    """Return a name for a line of text; ``''`` for the empty name, as in commands."""
    return clean(name) or "''"


def resource(target: ConfigResource) -> str:
    """Return a resource as ``topic orders``, ``broker 2``, ``broker <default>``."""
    return f"{resource_word(target.type)} {DEFAULT if target.is_default else spoken(target.name)}"


def quota_entity(entity: QuotaEntity) -> str:
    """Return a quota entity as ``user alice client <default>``."""
    return " ".join(
        f"{'client' if part.type == CLIENT_ID else clean(part.type)} {named(part.name)}" for part in entity.parts
    )


def acl(binding: Acl) -> str:
    """Return an ACL as ``allow User:alice READ on topic orders prefixed from 10.0.0.1``."""
    return clean(acl_text(binding))


def acl_resource(type_: codes.AclResourceType, name: str) -> str:
    """Return the resource of an ACL as ``topic orders``, ``transactional-id pay``, ``cluster``."""
    return clean(resource_text(type_, name))


def target(what: changes.Target) -> str:
    """Return the target of an edit or an outcome as text: an entity, a partition or another thing that an edit
    changes.
    """
    match what:
        case ConfigResource():
            return resource(what)
        case QuotaEntity():
            return quota_entity(what)
        case Acl():
            return acl(what)
        case changes.PartitionTarget():
            return f"leader of {partition(what.topic, what.number)}"
        case _:
            return clean(what.title)


def partition(topic: str, number: int) -> str:
    """Return a partition as ``orders/3``."""
    return f"{clean(topic)}/{number}"


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first `most` names, and the number of the others: ``a, b, c and 9 more``."""
    return first_few(names, most)
