"""CreateTopics and DeleteTopics v0 as KIP-4 has them."""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.static.primitive import i16

from console.wire.proposals.api_keys import CREATE_TOPICS, DELETE_TOPICS
from console.wire.proposals.entity import Part, Request, Response

NOT_GIVEN = -1
"""As num_partitions and replication_factor: replica_assignment says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaAssignment(Part):
    """The replicas of one partition; the first is the preferred leader."""

    partition_id: int = field(metadata={"kafka_type": "int32"})
    replicas: tuple[int, ...] = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig(Part):
    """One override."""

    config_key: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest(Part):
    """One topic: with num_partitions and replication_factor, or with replica_assignment, never with both."""

    topic: str = field(metadata={"kafka_type": "string"})
    num_partitions: int = field(metadata={"kafka_type": "int32"})
    replication_factor: int = field(metadata={"kafka_type": "int16"})
    replica_assignment: tuple[ReplicaAssignment, ...]
    configs: tuple[TopicConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest(Request):
    """timeout: milliseconds to wait for the topics, 0 or less for not waiting."""

    __api_key__: ClassVar[i16] = i16(CREATE_TOPICS)
    create_topic_requests: tuple[CreateTopicRequest, ...]
    timeout: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicErrorCode(Part):
    """What became of one topic."""

    topic: str = field(metadata={"kafka_type": "string"})
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse(Response):
    """A result for each topic."""

    __api_key__: ClassVar[i16] = i16(CREATE_TOPICS)
    topic_error_codes: tuple[TopicErrorCode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest(Request):
    """timeout: milliseconds to wait until the topics are gone, 0 or less for not waiting."""

    __api_key__: ClassVar[i16] = i16(DELETE_TOPICS)
    topics: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    timeout: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse(Response):
    """A result for each topic."""

    __api_key__: ClassVar[i16] = i16(DELETE_TOPICS)
    topic_error_codes: tuple[TopicErrorCode, ...]
