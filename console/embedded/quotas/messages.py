"""What brokers say of quotas, by release; read off real brokers of 2.8.2, 3.9.1 and 4.3.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from console.embedded.versions.release import Release

EMPTY_ENTITY: Final = "Invalid empty client quota entity"
UNKNOWN_TYPE: Final = "Unhandled client quota entity type: {type}"
EMPTY_NAME: Final = "Empty {type} not supported"
NO_HOST: Final = "{name} is not a valid IP or resolvable host."
UNKNOWN_KEY: Final = "Invalid configuration key {key}"
NOT_POSITIVE: Final = "Quota {key} must be greater than 0"
TOO_LARGE: Final = "Proposed value for {key} is too large for {article} {type}."
FRACTION: Final = "{key} cannot be a fractional value."
NOT_OF_TYPE: Final = "Configuration {key} must be a {type} value"
TWICE: Final = "Ignoring duplicate entity ClientQuotaEntity(entries={{{entity}}})"
TOO_MANY_CHANGES: Final = "Request parameters do not satisfy the configured policy."


@dataclass(frozen=True, slots=True)
class QuotaMessages:
    """What differs between releases, of entities and of filters."""

    mixed_entity: str
    mixed_filter: str
    empty_type: str
    repeated_type: str
    unknown_type: str


_KRAFT = QuotaMessages(
    mixed_entity="Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
    mixed_filter="Invalid entity filter component combination. IP filter component should not be used with user or "
    "clientId filter component.",
    empty_type="Invalid empty entity type.",
    repeated_type="Entity type {type} cannot appear more than once in the filter.",
    unknown_type="Unsupported entity type {type}",
)
_BY_RELEASE: Mapping[str, QuotaMessages] = {
    "2.8": QuotaMessages(
        mixed_entity="Invalid quota entity combination, IP entity should not be used with user/client ID entity.",
        mixed_filter="Invalid entity filter component combination, IP filter component should not be used with user "
        "or clientId filter component.",
        empty_type="Unexpected empty filter component entity type",
        repeated_type="Duplicate {short} filter component entity type",
        unknown_type="Custom entity type '{type}' not supported",
    ),
    "3.9": _KRAFT,
    "4.3": _KRAFT,
}


def messages_of(release: Release) -> QuotaMessages:
    """The messages of a release."""
    return _BY_RELEASE[release.name]
