"""KIP-4: CreateTopics, DeleteTopics, ListAcls, AlterAcls, and Metadata v0 and v1, which Kafka has too."""

from __future__ import annotations

from typing import Any

from kio.schema.metadata.v0.request import MetadataRequest as MetadataRequestV0
from kio.schema.metadata.v0.response import MetadataResponse as MetadataResponseV0
from kio.schema.metadata.v1 import request as metadata_v1_request
from kio.schema.metadata.v1 import response as metadata_v1

from console.wire.proposals import kip4 as kip4_acls
from console.wire.proposals import kip4 as kip4_topics
from tests.wire.proposals_golden import Bytes, Cases

_V1: Any = metadata_v1  # kio's numbers have types of their own
_RESOURCE = kip4_acls.Resource(resource_type=2, resource_name="t")
_ACL = kip4_acls.Acl(acl_principal="User:a", acl_permission_type=3, acl_host="*", acl_operation=3)
_ACL_BYTES: Bytes = [
    ("0006 557365723a61", "acl_principal: User:a"),
    ("03", "acl_permission_type: Allow"),
    ("0001 2a", "acl_host: *"),
    ("03", "acl_operation: Read"),
]
_RESOURCE_BYTES: Bytes = [("02", "resource_type: Topic"), ("0001 74", "resource_name: t")]

CASES: Cases = [
    (
        kip4_topics.CreateTopicsRequest(
            create_topic_requests=(
                kip4_topics.CreateTopicRequest(
                    topic="t",
                    num_partitions=-1,
                    replication_factor=-1,
                    replica_assignment=(kip4_topics.ReplicaAssignment(partition_id=0, replicas=(2, 1)),),
                    configs=(kip4_topics.TopicConfig(config_key="k", config_value="v"),),
                ),
            ),
            timeout=1000,
        ),
        [
            ("00000001", "one topic"),
            ("0001 74", "topic: t"),
            ("ffffffff", "num_partitions: -1"),
            ("ffff", "replication_factor: -1"),
            ("00000001", "one partition assigned"),
            ("00000000", "partition_id: 0"),
            ("00000002 00000002 00000001", "replicas: 2 (preferred), 1"),
            ("00000001", "one config"),
            ("0001 6b", "config_key: k"),
            ("0001 76", "config_value: v"),
            ("000003e8", "timeout: 1000 ms"),
        ],
    ),
    (
        kip4_topics.CreateTopicsResponse(
            topic_error_codes=(
                kip4_topics.TopicErrorCode(topic="t", error_code=0),
                kip4_topics.TopicErrorCode(topic="u", error_code=36),
            )
        ),
        [
            ("00000002", "two topics"),
            ("0001 74 0000", "t: no error"),
            ("0001 75 0024", "u: TOPIC_ALREADY_EXISTS (36)"),
        ],
    ),
    (
        kip4_topics.DeleteTopicsRequest(topics=("t", "é"), timeout=0),
        [("00000002", "two names"), ("0001 74", "t"), ("0002 c3a9", "é in UTF-8"), ("00000000", "timeout: 0")],
    ),
    (
        kip4_topics.DeleteTopicsResponse(topic_error_codes=(kip4_topics.TopicErrorCode(topic="t", error_code=7),)),
        [("00000001", "one topic"), ("0001 74", "t"), ("0007", "REQUEST_TIMED_OUT (7)")],
    ),
    (
        kip4_acls.ListAclsRequest(principal=None, resource=kip4_acls.Resource(resource_type=-1, resource_name="")),
        [("ffff", "principal: null, all"), ("ff", "resource_type: -1, all"), ("0000", "resource_name: empty")],
    ),
    (
        kip4_acls.ListAclsRequest(principal="User:a", resource=_RESOURCE),
        [("0006 557365723a61", "principal: User:a"), *_RESOURCE_BYTES],
    ),
    (
        kip4_acls.ListAclsResponse(responses=(kip4_acls.ResourceAcls(resource=_RESOURCE, acls=(_ACL,)),), error_code=0),
        [
            ("00000001", "one resource"),
            *_RESOURCE_BYTES,
            ("00000001", "one ACL"),
            *_ACL_BYTES,
            ("0000", "error_code, at the very end"),
        ],
    ),
    (
        kip4_acls.AlterAclsRequest(
            requests=(
                kip4_acls.ResourceActions(
                    resource=_RESOURCE,
                    actions=(
                        kip4_acls.AclAction(action=1, acl=_ACL),
                        kip4_acls.AclAction(action=0, acl=_ACL),
                    ),
                ),
            )
        ),
        [
            ("00000001", "one resource"),
            *_RESOURCE_BYTES,
            ("00000002", "two actions"),
            ("01", "action: add"),
            *_ACL_BYTES,
            ("00", "action: delete"),
            *_ACL_BYTES,
        ],
    ),
    (
        kip4_acls.AlterAclsResponse(
            responses=(
                kip4_acls.ResourceResults(
                    resource=_RESOURCE,
                    results=(kip4_acls.AclActionResult(action=1, acl=_ACL, error_code=42),),
                ),
            )
        ),
        [
            ("00000001", "one resource"),
            *_RESOURCE_BYTES,
            ("00000001", "one result"),
            ("01", "action: add"),
            *_ACL_BYTES,
            ("002a", "INVALID_REQUEST (42)"),
        ],
    ),
    (MetadataRequestV0(topics=()), [("00000000", "no names: all topics")]),
    (metadata_v1_request.MetadataRequest(topics=None), [("ffffffff", "null: all topics")]),
    (metadata_v1_request.MetadataRequest(topics=()), [("00000000", "empty: no topics")]),
    (
        _V1.MetadataResponse(
            brokers=(_V1.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None),),
            controller_id=1,
            topics=(
                _V1.MetadataResponseTopic(
                    error_code=0,
                    name="t",
                    is_internal=False,
                    partitions=(
                        _V1.MetadataResponsePartition(
                            error_code=0, partition_index=0, leader_id=1, replica_nodes=(1, 2), isr_nodes=(1,)
                        ),
                    ),
                ),
            ),
        ),
        [
            ("00000001", "one broker"),
            ("00000001", "node_id: 1"),
            ("0001 68", "host: h"),
            ("00002384", "port: 9092"),
            ("ffff", "rack: null"),
            ("00000001", "controllerId: 1"),
            ("00000001", "one topic"),
            ("0000", "topic_error_code: none"),
            ("0001 74", "topic: t"),
            ("00", "is_internal: false"),
            ("00000001", "one partition"),
            ("0000", "partition_error_code: none, though broker 2 is down"),
            ("00000000", "partition_id: 0"),
            ("00000001", "leader: 1"),
            ("00000002 00000001 00000002", "replicas: 1, 2"),
            ("00000001 00000001", "isr: 1"),
        ],
    ),
    (MetadataResponseV0(brokers=(), topics=()), [("00000000", "no brokers"), ("00000000", "no topics")]),
]
