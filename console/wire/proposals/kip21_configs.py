"""DescribeConfig and AlterConfig as KIP-21 has them. The proposal has no versions, so they are 0."""

from dataclasses import dataclass, field

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals.formats import ALTER_CONFIG, DESCRIBE_CONFIG

TOPIC = "topic"
CLIENT = "client"
BROKER = "broker"
ENTITY_TYPES = (TOPIC, CLIENT, BROKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry(Part):
    """A key and its value."""

    config_key: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Part):
    """A topic, a client or a broker, by name."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigRequest(Request, key=DESCRIBE_CONFIG):
    """Which entities to describe."""

    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedEntity(Part):
    """An entity's configs; empty after an error."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str = field(metadata={"kafka_type": "string"})
    error_code: int = field(metadata={"kafka_type": "int16"})
    config_entries: tuple[ConfigEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigResponse(Response, key=DESCRIBE_CONFIG):
    """A result for each entity."""

    entities: tuple[DescribedEntity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredEntity(Part):
    """Keys to set, and keys to reset to their defaults."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str = field(metadata={"kafka_type": "string"})
    added_config_entries: tuple[ConfigEntry, ...]
    deleted_configs: tuple[str, ...] = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigRequest(Request, key=ALTER_CONFIG):
    """Which entities to alter."""

    entities: tuple[AlteredEntity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityErrorCode(Part):
    """The result of one entity's change."""

    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str = field(metadata={"kafka_type": "string"})
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigResponse(Response, key=ALTER_CONFIG):
    """A result for each entity."""

    entities: tuple[EntityErrorCode, ...]
