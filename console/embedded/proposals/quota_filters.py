"""Which quota entities a filter finds (ClientQuotasImage.describe)."""

from __future__ import annotations

from console.model.quota import CLIENT_ID, IP, USER, Match, QuotaEntity, QuotaFilter

_TYPES = frozenset({USER, CLIENT_ID, IP})
_MATCHES = frozenset(Match)


class BadFilter(ValueError):
    """A filter that is refused. code: Kafka's error code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


INVALID_REQUEST, UNSUPPORTED_VERSION = 42, 35


def check(wanted: QuotaFilter) -> None:
    """Raises BadFilter for what no cluster answers."""
    types = [component.type for component in wanted.components]
    for component in wanted.components:
        if not component.type:
            raise BadFilter(INVALID_REQUEST, "Invalid empty entity type.")
        if types.count(component.type) > 1:
            raise BadFilter(
                INVALID_REQUEST, f"Entity type {component.type} cannot appear more than once in the filter."
            )
        if component.match not in _MATCHES or (component.match == Match.EXACT) != (component.name is not None):
            raise BadFilter(INVALID_REQUEST, f"Unexpected match for entity type {component.type}")
        if component.type not in _TYPES:
            raise BadFilter(UNSUPPORTED_VERSION, f"Unsupported entity type {component.type}")
    if IP in types and len(types) > 1:
        raise BadFilter(
            INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used with user or "
            "clientId filter component.",
        )


def finds(wanted: QuotaFilter, entity: QuotaEntity) -> bool:
    """Whether the entity has all of the filter's components and, where strict, no others.

    Strict and without components it finds none.
    """
    if wanted.strict and (len(entity.parts) != len(wanted.components) or not wanted.components):
        return False
    return all(
        entity.has(c.type)
        and (c.match == Match.ANY_NAME or entity.name_of(c.type) == (c.name if c.match == Match.EXACT else None))
        for c in wanted.components
    )
