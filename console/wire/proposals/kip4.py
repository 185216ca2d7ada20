"""CreateTopics, DeleteTopics, ListAcls and AlterAcls v0 in the formats that KIP-4 proposed.

In its enumerations, the proposal numbers only one value: -1 for all resources. The other resource types, the
permissions and the operations here have KIP-140's numbers; the action of deletion has a lower number than that of
addition.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from console.wire.message_bases import Part, Request, Response
from console.wire.proposals.formats import ALTER_ACLS, CREATE_TOPICS, DELETE_TOPICS, LIST_ACLS

NOT_GIVEN = -1
"""The value of num_partitions and of replication_factor in a request that has replica_assignment instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaAssignment(Part):
    """The replicas of one partition; the first is the preferred leader."""

    partition_id: int = field(metadata={"kafka_type": "int32"})
    replicas: tuple[int, ...] = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig(Part):
    """A config key of a topic and its value."""

    config_key: str = field(metadata={"kafka_type": "string"})
    config_value: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest(Part):
    """One topic to create. It has either num_partitions and replication_factor, or replica_assignment."""

    topic: str = field(metadata={"kafka_type": "string"})
    num_partitions: int = field(metadata={"kafka_type": "int32"})
    replication_factor: int = field(metadata={"kafka_type": "int16"})
    replica_assignment: tuple[ReplicaAssignment, ...]
    configs: tuple[TopicConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest(Request, key=CREATE_TOPICS):
    """A request to create topics. timeout: the milliseconds for which the broker waits until they exist; 0 or less for
    no wait.
    """

    create_topic_requests: tuple[CreateTopicRequest, ...]
    timeout: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicErrorCode(Part):
    """The result for one topic: Kafka's error code, 0 without an error."""

    topic: str = field(metadata={"kafka_type": "string"})
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse(Response, key=CREATE_TOPICS):
    """A result for each topic."""

    topic_error_codes: tuple[TopicErrorCode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest(Request, key=DELETE_TOPICS):
    """A request to delete topics. timeout: the milliseconds for which the broker waits until they are gone; 0 or less
    for no wait.
    """

    topics: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    timeout: int = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse(Response, key=DELETE_TOPICS):
    """A result for each topic."""

    topic_error_codes: tuple[TopicErrorCode, ...]


# ListAcls and AlterAcls v0.


class ResourceType(IntEnum):
    """The resource types of ACLs. ALL may be used in filters only."""

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
    """The actions of AlterAcls. A broker applies deletions before additions."""

    DELETE = 0
    ADD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Part):
    """A resource by type and name. resource_name is ignored if resource_type is -1, all resources."""

    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl(Part):
    """An ACL's principal, permission, host and operation, without its resource."""

    acl_principal: str = field(metadata={"kafka_type": "string"})
    acl_permission_type: int = field(metadata={"kafka_type": "int8"})
    acl_host: str = field(metadata={"kafka_type": "string"})
    acl_operation: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsRequest(Request, key=LIST_ACLS):
    """A request for the ACLs of a resource. principal: the only principal whose ACLs are wanted; null for all
    principals.
    """

    principal: str | None = field(metadata={"kafka_type": "string"})
    resource: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAcls(Part):
    """The ACLs of one resource."""

    resource: Resource
    acls: tuple[Acl, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsResponse(Response, key=LIST_ACLS):
    """The ACLs by resource. Unlike in other responses, error_code is the last field."""

    responses: tuple[ResourceAcls, ...]
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AclAction(Part):
    """An ACL, and whether to add or delete it."""

    action: int = field(metadata={"kafka_type": "int8"})
    acl: Acl


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceActions(Part):
    """A resource, and the ACLs to add to it and delete from it."""

    resource: Resource
    actions: tuple[AclAction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterAclsRequest(Request, key=ALTER_ACLS):
    """A request to add and delete ACLs. It may have each resource only once."""

    requests: tuple[ResourceActions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclActionResult(Part):
    """The result of adding or deleting one ACL."""

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
    """The results by resource, one for each action."""

    responses: tuple[ResourceResults, ...]
