"""KIP-21's entities: a topic, a broker or a client that there can be."""

from __future__ import annotations

from console.embedded.proposals.kip133_resources import is_registered
from console.embedded.state.tables import View
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, QuotaEntity
from console.wire.proposals import kip21_configs as wire

_DEFAULT = "<default>"


def entity(type_: str, name: str, view: View) -> ConfigResource | QuotaEntity | None:
    """What the pair names; None where type or name is wrong (InvalidEntity)."""
    if type_ == wire.TOPIC and name in view.topics:
        return ConfigResource(TOPIC, name)
    if type_ == wire.BROKER and is_registered(name, view):
        return ConfigResource(BROKER, name)
    if type_ == wire.CLIENT and name:
        return QuotaEntity.of({CLIENT_ID: None if name == _DEFAULT else name})
    return None
