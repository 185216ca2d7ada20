"""KIP-133's resources: topics and brokers have configs, clients and users have quotas."""

from __future__ import annotations

from console.embedded.state.tables import View
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, USER, QuotaEntity
from console.wire.proposals.kip133_configs import ResourceType

QUOTA_PARTS = {int(ResourceType.CLIENT): CLIENT_ID, int(ResourceType.USER): USER}
_CONFIG_TYPES = {int(ResourceType.TOPIC): TOPIC, int(ResourceType.BROKER): BROKER}
_DEFAULT = "<default>"


def config_resource(type_: int, name: str) -> ConfigResource | None:
    """The resource with configs; None for a type that has none."""
    known = _CONFIG_TYPES.get(type_)
    return None if known is None else ConfigResource(known, name)


def is_registered(broker: str, view: View) -> bool:
    """Whether there is a broker of this id."""
    return broker.isdecimal() and str(int(broker)) == broker and int(broker) in view.brokers


def quota_entity(type_: int, name: str) -> QuotaEntity:
    """The client or user; KeyError for another type."""
    return QuotaEntity.of({QUOTA_PARTS[type_]: None if name == _DEFAULT else name})
