"""KIP-4's own formats: CreateTopics, DeleteTopics, ListAcls and AlterAcls v0.

The proposal gives numbers to none of its enumerations but for -1, all resources. The resource types, permissions and
operations that it knows have the numbers that KIP-140 gives them; of the actions, deleting comes first.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

from kio.static.primitive import i16

from console.wire.proposals.formats import ALTER_ACLS, CREATE_TOPICS, DELETE_TOPICS, LIST_ACLS, Part, Request, Response

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


# ListAcls and AlterAcls v0.


class ResourceType(IntEnum):
    """What an ACL is about; ALL in filters only."""

    ALL = -1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4


class PermissionType(IntEnum):
    """Whether an ACL allows or denies."""

    DENY = 2
    ALLOW = 3


class Operation(IntEnum):
    """What an ACL lets do."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9


class Action(IntEnum):
    """What AlterAcls does with an ACL. Deletions are done first."""

    DELETE = 0
    ADD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Part):
    """resource_name is not looked at where resource_type is -1."""

    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl(Part):
    """Who may, or may not, do what from where."""

    acl_principal: str = field(metadata={"kafka_type": "string"})
    acl_permission_type: int = field(metadata={"kafka_type": "int8"})
    acl_host: str = field(metadata={"kafka_type": "string"})
    acl_operation: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsRequest(Request):
    """principal: null for those of all principals."""

    __api_key__: ClassVar[i16] = i16(LIST_ACLS)
    principal: str | None = field(metadata={"kafka_type": "string"})
    resource: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAcls(Part):
    """The ACLs of one resource."""

    resource: Resource
    acls: tuple[Acl, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsResponse(Response):
    """The error comes last."""

    __api_key__: ClassVar[i16] = i16(LIST_ACLS)
    responses: tuple[ResourceAcls, ...]
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AclAction(Part):
    """Add or delete one ACL."""

    action: int = field(metadata={"kafka_type": "int8"})
    acl: Acl


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceActions(Part):
    """What to do at one resource."""

    resource: Resource
    actions: tuple[AclAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterAclsRequest(Request):
    """Each resource may appear once."""

    __api_key__: ClassVar[i16] = i16(ALTER_ACLS)
    requests: tuple[ResourceActions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclActionResult(Part):
    """What became of one action."""

    action: int = field(metadata={"kafka_type": "int8"})
    acl: Acl
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResults(Part):
    """What became of the actions at one resource."""

    resource: Resource
    results: tuple[AclActionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterAclsResponse(Response):
    """A result for each action."""

    __api_key__: ClassVar[i16] = i16(ALTER_ACLS)
    responses: tuple[ResourceResults, ...]
