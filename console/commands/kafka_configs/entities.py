"""Entities of a command line as resources and quota entities."""

from __future__ import annotations

from console.commands.kafka_configs.options import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    CLIENTS,
    GROUPS,
    IPS,
    TOPICS,
    USERS,
)
from console.commands.kafka_configs.request import ConfigsRequest, is_int
from console.model.codes import ResourceType
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity

RESOURCE_TYPES = {
    TOPICS: ResourceType(2),
    BROKERS: ResourceType(4),
    BROKER_LOGGERS: ResourceType(8),
    CLIENT_METRICS: ResourceType(16),
    GROUPS: ResourceType(32),
}
QUOTA_TYPES = {USERS: USER, CLIENTS: CLIENT_ID, IPS: IP}


def resource_of(request: ConfigsRequest) -> ConfigResource:
    """The resource that is named; ``""`` is the brokers' default."""
    return named_resource(request.type, request.name or "")


def named_resource(type_: str, name: str) -> ConfigResource:
    """An entity of one of `RESOURCE_TYPES`; a broker's number may be written as Java reads it, ``+1`` or ``01``."""
    if type_ in (BROKERS, BROKER_LOGGERS) and is_int(name):
        name = str(int(name))
    return ConfigResource(RESOURCE_TYPES[type_], name)


def entity_of(request: ConfigsRequest) -> QuotaEntity:
    """The quota's entity; ``""`` is the default."""
    pairs = zip(request.types, request.names, strict=True)
    return QuotaEntity.of({QUOTA_TYPES[type_]: name or None for type_, name in pairs})
