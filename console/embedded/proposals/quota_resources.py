"""KIP-248's resources as entities: a user, a client, or a user with a client as its child."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.quota import CLIENT_ID, USER, QuotaEntity
from console.wire.proposals.kip248_quotas import DEFAULT_NAME, QuotaConfigResource, ResourceType

_PARTS = {ResourceType.USER: USER, ResourceType.CLIENT: CLIENT_ID}


def entity_of(parent: QuotaConfigResource, child: QuotaConfigResource) -> QuotaEntity:
    """The entity that a pair names. Raises ValueError, with what is wrong, for one that names none."""
    if child.type == ResourceType.UNKNOWN and child.name is None:
        resources = [parent]
    elif (parent.type, child.type) == (ResourceType.USER, ResourceType.CLIENT):
        resources = [parent, child]
    else:
        raise ValueError("Only a user can be a parent, and only a client its child")
    return QuotaEntity.of(dict(_part(resource) for resource in resources))


def _part(resource: QuotaConfigResource) -> tuple[str, str | None]:
    part = _PARTS.get(resource.type)  # type: ignore[call-overload]
    if part is None:
        raise ValueError(f"Resource type {resource.type} has no quotas")
    if not resource.name:
        raise ValueError(f"A {part} must be named, the default one as {DEFAULT_NAME}")
    return part, None if resource.name == DEFAULT_NAME else resource.name


def names(resource: QuotaConfigResource, entities: Iterable[QuotaEntity]) -> tuple[str, ...]:
    """All of a type, or the children of a named one: a user's clients. A client has no children.

    A user is there as soon as one of its clients has quotas. Raises ValueError for a type without quotas.
    """
    type_ = _PARTS.get(resource.type)  # type: ignore[call-overload]
    if type_ is None:
        raise ValueError(f"Resource type {resource.type} has no quotas")
    found: set[str | None] = set()
    if resource.name is None:
        found.update(e.name_of(type_) for e in entities if e.has(type_) and (type_ == USER or not e.has(USER)))
    elif type_ == USER:
        _, user = _part(resource)
        found.update(
            e.name_of(CLIENT_ID) for e in entities if e.has(USER) and e.has(CLIENT_ID) and e.name_of(USER) == user
        )
    return tuple(sorted(DEFAULT_NAME if name is None else name for name in found))
