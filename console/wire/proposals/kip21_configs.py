"""DescribeConfig and AlterConfig as KIP-21 proposed them. The proposal gives them no versions, so version 0 is used."""

from dataclasses import dataclass, field

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals import kip4
from console.wire.proposals.formats import ALTER_CONFIG, DESCRIBE_CONFIG

TOPIC = "topic"
CLIENT = "client"
BROKER = "broker"


ConfigEntry = kip4.TopicConfig
"""A config key and its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Part):
    """A topic, client or broker, identified by its type and name."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigRequest(Request, key=DESCRIBE_CONFIG):
    """A request for the configs of these entities."""

    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedEntity(Entity):
    """An entity and its configs, which are empty after an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})
    config_entries: tuple[ConfigEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigResponse(Response, key=DESCRIBE_CONFIG):
    """A result for each entity."""

    entities: tuple[DescribedEntity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredEntity(Entity):
    """An entity, the config keys to set, and the config keys to reset to their defaults."""

    added_config_entries: tuple[ConfigEntry, ...]
    deleted_configs: tuple[str, ...] = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigRequest(Request, key=ALTER_CONFIG):
    """A request to change the configs of these entities."""

    entities: tuple[AlteredEntity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityErrorCode(Entity):
    """The result of the change of one entity: Kafka's error code, 0 without an error."""

    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigResponse(Response, key=ALTER_CONFIG):
    """A result for each entity."""

    entities: tuple[EntityErrorCode, ...]
