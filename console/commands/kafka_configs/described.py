"""What --describe found, before it is put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.model.config import ConfigEntry, ConfigResource, own_source
from console.model.failure import Failure
from console.model.quota import QuotaEntity, QuotaValues

if TYPE_CHECKING:
    from console.model.cluster import ScramCredential


@dataclass(frozen=True, slots=True)
class ResourceConfigs:
    """All configs of a topic, broker, group, client metrics or a broker's loggers.

    type: as --entity-type has it; name: as it was written, ``""`` for the brokers' default.
    """

    type: str
    name: str
    resource: ConfigResource
    entries: tuple[ConfigEntry, ...]

    @property
    def own(self) -> tuple[ConfigEntry, ...]:
        """The entries that the resource itself sets; of loggers all, which have nothing to inherit."""
        if self.type == "broker-loggers":
            return self.entries
        source = own_source(self.resource)
        return tuple(entry for entry in self.entries if entry.source == source)


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such entity, and it has no configs either."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class QuotaConfigs:
    """An entity's quotas."""

    entity: QuotaEntity
    values: QuotaValues


@dataclass(frozen=True, slots=True)
class ScramConfigs:
    """A user's credentials, as far as brokers tell."""

    user: str
    credentials: tuple[ScramCredential, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """What could not be read, and why. type and name: of a resource, as `ResourceConfigs` has them."""

    what: str
    failure: Failure
    type: str = ""
    name: str = ""


Described = ResourceConfigs | Absent | QuotaConfigs | ScramConfigs | Unread


def singular(type_: str) -> str:
    """As kafka-configs makes it: the last letter goes, so that there is a ``client-metric``."""
    return type_[:-1]
