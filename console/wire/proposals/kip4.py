"""KIP-4's own formats: CreateTopics, DeleteTopics, ListAcls and AlterAcls v0.

The proposal assigns only one number in its enumerations, -1 for all resources. Here, resource types, permissions and
operations have KIP-140's numbers; among the actions, deletion is first.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals.formats import ALTER_ACLS, CREATE_TOPICS, DELETE_TOPICS, LIST_ACLS

NOT_GIVEN = -1
"""The value of num_partitions and replication_factor if replica_assignment is present."""


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
    """One topic: with num_partitions and replication_factor, or with replica_assignment; never with both."""

    topic: str = field(metadata={"kafka_type": "string"})
    num_partitions: int = field(metadata={"kafka_type": "int32"})
    replication_factor: int = field(metadata={"kafka_type": "int16"})
    replica_assignment: tuple[ReplicaAssignment, ...]
    configs: tuple[TopicConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest(Request, key=CREATE_TOPICS):
    """Creates topics. timeout: milliseconds to wait for them; 0 or less: no wait."""

    create_topic_requests: tuple[CreateTopicRequest, ...]
    timeout: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicErrorCode(Part):
    """The result of one topic."""

    topic: str = field(metadata={"kafka_type": "string"})
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse(Response, key=CREATE_TOPICS):
    """A result for each topic."""

    topic_error_codes: tuple[TopicErrorCode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest(Request, key=DELETE_TOPICS):
    """Deletes topics. timeout: milliseconds to wait until they are gone; 0 or less: no wait."""

    topics: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    timeout: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse(Response, key=DELETE_TOPICS):
    """A result for each topic."""

    topic_error_codes: tuple[TopicErrorCode, ...]


# ListAcls and AlterAcls v0.


class ResourceType(IntEnum):
    """Resource types of ACLs. ALL is for filters only."""

    ALL = -1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4


class PermissionType(IntEnum):
    """Whether an ACL allows or denies."""

    DENY = 2
    ALLOW = 3


class Operation(IntEnum):
    """The operation of an ACL."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9


class Action(IntEnum):
    """The actions of AlterAcls. Deletions come first."""

    DELETE = 0
    ADD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Part):
    """A resource. resource_name is ignored if resource_type is -1."""

    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl(Part):
    """An ACL without its resource."""

    acl_principal: str = field(metadata={"kafka_type": "string"})
    acl_permission_type: int = field(metadata={"kafka_type": "int8"})
    acl_host: str = field(metadata={"kafka_type": "string"})
    acl_operation: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsRequest(Request, key=LIST_ACLS):
    """Lists ACLs. principal: null for all principals."""

    principal: str | None = field(metadata={"kafka_type": "string"})
    resource: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAcls(Part):
    """The ACLs of one resource."""

    resource: Resource
    acls: tuple[Acl, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsResponse(Response, key=LIST_ACLS):
    """The ACLs by resource. The error is the last field."""

    responses: tuple[ResourceAcls, ...]
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AclAction(Part):
    """The addition or deletion of one ACL."""

    action: int = field(metadata={"kafka_type": "int8"})
    acl: Acl


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceActions(Part):
    """The actions on one resource."""

    resource: Resource
    actions: tuple[AclAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterAclsRequest(Request, key=ALTER_ACLS):
    """Alters ACLs. Each resource may appear once."""

    requests: tuple[ResourceActions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclActionResult(Part):
    """The result of one action."""

    action: int = field(metadata={"kafka_type": "int8"})
    acl: Acl
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResults(Part):
    """The results of the actions on one resource."""

    resource: Resource
    results: tuple[AclActionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterAclsResponse(Response, key=ALTER_ACLS):
    """A result for each action."""

    responses: tuple[ResourceResults, ...]
