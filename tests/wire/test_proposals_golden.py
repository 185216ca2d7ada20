"""The proposals' formats byte by byte, written from their texts: no stranger speaks them.

Each line is bytes and what they are. STRING: int16 length and UTF-8; NULLABLE_STRING: length -1 for null; arrays: int32
count; a compact string or array (KIP-482): one more than its length as a varint, 0 for null; a flexible structure ends
with the count of its tagged fields.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from kio.schema.metadata.v0.request import MetadataRequest as MetadataRequestV0
from kio.schema.metadata.v0.response import MetadataResponse as MetadataResponseV0
from kio.schema.metadata.v1 import request as metadata_v1_request
from kio.schema.metadata.v1 import response as metadata_v1
from kio.serial import entity_reader, entity_writer

from console.wire.frames import encode_header
from console.wire.open_codes import with_open_codes
from console.wire.proposals import (
    PROPOSED,
    batched_acls,
    batched_quotas,
    kip4_acls,
    kip4_topics,
    kip21_configs,
    kip133_configs,
    kip248_quotas,
)

Bytes = list[tuple[str, str]]

_RESOURCE = kip4_acls.Resource(resource_type=2, resource_name="t")
_ACL = kip4_acls.Acl(acl_principal="User:a", acl_permission_type=3, acl_host="*", acl_operation=3)
_ACL_BYTES: Bytes = [
    ("0006 557365723a61", "acl_principal: User:a"),
    ("03", "acl_permission_type: Allow"),
    ("0001 2a", "acl_host: *"),
    ("03", "acl_operation: Read"),
]
_RESOURCE_BYTES: Bytes = [("02", "resource_type: Topic"), ("0001 74", "resource_name: t")]

_KIP_4: list[tuple[Any, Bytes]] = [
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
        metadata_v1.MetadataResponse(
            brokers=(metadata_v1.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None),),
            controller_id=1,
            topics=(
                metadata_v1.MetadataResponseTopic(
                    error_code=0,
                    name="t",
                    is_internal=False,
                    partitions=(
                        metadata_v1.MetadataResponsePartition(
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

_KIP_21: list[tuple[Any, Bytes]] = [
    (
        kip21_configs.DescribeConfigRequest(entities=(kip21_configs.Entity(entity_type="topic", entity_name="t"),)),
        [("00000001", "one entity"), ("0005 746f706963", "EntityType: topic"), ("0001 74", "EntityName: t")],
    ),
    (
        kip21_configs.DescribeConfigResponse(
            entities=(
                kip21_configs.DescribedEntity(
                    entity_type="client",
                    entity_name="c",
                    error_code=0,
                    config_entries=(kip21_configs.ConfigEntry(config_key="k", config_value="v"),),
                ),
            )
        ),
        [
            ("00000001", "one entity"),
            ("0006 636c69656e74", "EntityType: client"),
            ("0001 63", "EntityName: c"),
            ("0000", "ErrorCode"),
            ("00000001", "one ConfigEntry"),
            ("0001 6b 0001 76", "k, v"),
        ],
    ),
    (
        kip21_configs.AlterConfigRequest(
            entities=(
                kip21_configs.AlteredEntity(
                    entity_type="topic",
                    entity_name="t",
                    added_config_entries=(kip21_configs.ConfigEntry(config_key="k", config_value="v"),),
                    deleted_configs=("x", "y"),
                ),
            )
        ),
        [
            ("00000001", "one entity"),
            ("0005 746f706963", "EntityType: topic"),
            ("0001 74", "EntityName: t"),
            ("00000001", "one AddedConfigEntry"),
            ("0001 6b 0001 76", "k, v"),
            ("00000002", "two of DeletedConfig"),
            ("0001 78 0001 79", "x, y"),
        ],
    ),
    (
        kip21_configs.AlterConfigResponse(
            entities=(kip21_configs.EntityErrorCode(entity_type="topic", entity_name="t", error_code=10_000),)
        ),
        [
            ("00000001", "one entity"),
            ("0005 746f706963", "EntityType: topic"),
            ("0001 74", "EntityName: t"),
            ("2710", "InvalidEntityConfig, 10000 here"),
        ],
    ),
]

_KIP_133: list[tuple[Any, Bytes]] = [
    (
        kip133_configs.ListConfigsRequest(resources=(kip133_configs.Resource(resource_type=5, resource_name="1"),)),
        [("00000001", "one resource"), ("05", "resource_type: Broker"), ("0001 31", "resource_name: 1")],
    ),
    (
        kip133_configs.ListConfigsRequestV1(
            resources=(
                kip133_configs.NamedConfigs(resource_type=2, resource_name="t", config_names=None),
                kip133_configs.NamedConfigs(resource_type=7, resource_name="u", config_names=("k",)),
            )
        ),
        [
            ("00000002", "two resources"),
            ("02 0001 74", "Topic t"),
            ("ffffffff", "config_names: null, all"),
            ("07 0001 75", "User u"),
            ("00000001 0001 6b", "config_names: k"),
        ],
    ),
    *(
        (
            response(
                error_code=0,
                entities=(
                    kip133_configs.ResourceConfigs(
                        error_code=0,
                        resource_type=2,
                        resource_name="t",
                        configs=(
                            kip133_configs.Config(
                                config_name="k", config_value="v", read_only=True, is_default=False, is_sensitive=True
                            ),
                        ),
                    ),
                ),
            ),
            [
                ("0000", "error_code of the request"),
                ("00000001", "one entity"),
                ("0000", "its error_code"),
                ("02 0001 74", "Topic t"),
                ("00000001", "one config"),
                ("0001 6b 0001 76", "k, v"),
                ("01", "read_only"),
                ("00", "is_default"),
                ("01", "is_sensitive"),
            ],
        )
        for response in (kip133_configs.ListConfigsResponse, kip133_configs.ListConfigsResponseV1)
    ),
    (
        kip133_configs.AlterConfigsRequest(
            resources=(
                kip133_configs.AlteredResource(
                    resource_type=6,
                    resource_name="c",
                    configs=(kip133_configs.AlteredConfig(config_name="k", config_value="v"),),
                ),
            ),
            validate_only=True,
        ),
        [
            ("00000001", "one resource"),
            ("06 0001 63", "Client c"),
            ("00000001", "one config"),
            ("0001 6b 0001 76", "k, v"),
            ("01", "validate_only, at the very end"),
        ],
    ),
    (
        kip133_configs.AlterConfigsResponse(
            responses=(
                kip133_configs.ResourceError(resource_type=2, resource_name="t", error_code=44, error_message="no"),
            )
        ),
        [
            ("00000001", "one resource"),
            ("02 0001 74", "Topic t"),
            ("002c", "POLICY_VIOLATION (44)"),
            ("0002 6e6f", "error_message: no"),
        ],
    ),
]

_USER = kip248_quotas.QuotaConfigResource(type=5, name="a")
_CHILD = kip248_quotas.QuotaConfigResource(type=6, name="<default>")
_NO_CHILD = kip248_quotas.QuotaConfigResource(type=0, name=None)
_PAIR: Bytes = [
    ("05 0001 61", "quota_config_resource: User a"),
    ("06 0009 3c64656661756c743e", "child_quota_config_resource: Client <default>"),
]

_KIP_248: list[tuple[Any, Bytes]] = [
    (
        kip248_quotas.ListQuotasRequest(quota_config_resource=kip248_quotas.QuotaConfigResource(type=6, name=None)),
        [("06", "type: Client"), ("ffff", "name: null, all clients")],
    ),
    (
        kip248_quotas.ListQuotasResponse(
            throttle_time_ms=5, error_code=31, error_message="no", quota_config_entity_names=()
        ),
        [
            ("00000005", "throttle_time_ms: 5"),
            ("001f", "CLUSTER_AUTHORIZATION_FAILED (31)"),
            ("0002 6e6f", "error_message: no"),
            ("00000000", "no names"),
        ],
    ),
    (
        kip248_quotas.DescribeQuotasRequest(
            resources=(
                kip248_quotas.WantedQuotas(
                    quota_config_resource=_USER, child_quota_config_resource=_NO_CHILD, config_names=None
                ),
                kip248_quotas.WantedQuotas(
                    quota_config_resource=_USER, child_quota_config_resource=_CHILD, config_names=("k",)
                ),
            )
        ),
        [
            ("00000002", "two resources"),
            ("05 0001 61", "User a"),
            ("00 ffff", "no child: Unknown, null"),
            ("ffffffff", "config_name: null, all"),
            *_PAIR,
            ("00000001 0001 6b", "config_name: k"),
        ],
    ),
    (
        kip248_quotas.DescribeQuotasResponse(
            throttle_time_ms=0,
            resources=(
                kip248_quotas.DescribedQuotas(
                    quota_config_resource=_USER,
                    child_quota_config_resource=_CHILD,
                    configs=(
                        kip248_quotas.DescribedConfig(
                            error_code=0,
                            error_message=None,
                            config_entries=(
                                kip248_quotas.ConfigEntry(
                                    config_name="k",
                                    config_value="1",
                                    read_only=False,
                                    is_default=True,
                                    is_sensitive=False,
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        [
            ("00000000", "throttle_time_ms"),
            ("00000001", "one resource"),
            *_PAIR,
            ("00000001", "one config"),
            ("0000 ffff", "no error, no message"),
            ("00000001", "one config_entry"),
            ("0001 6b 0001 31", "k, 1"),
            ("00 01 00", "read_only, is_default, is_sensitive"),
        ],
    ),
    (
        kip248_quotas.AlterQuotasRequest(
            validate_only=True,
            resources=(
                kip248_quotas.AlteredQuotas(
                    quota_config_resource=_USER,
                    child_quota_config_resource=_CHILD,
                    configs=(kip248_quotas.QuotaConfig(config_name="k", config_value="1"),),
                ),
            ),
        ),
        [
            ("01", "validate_only, first"),
            ("00000001", "one resource"),
            *_PAIR,
            ("00000001", "one config"),
            ("0001 6b 0001 31", "k, 1"),
        ],
    ),
    (
        kip248_quotas.AlterQuotasResponse(
            throttle_time_ms=0,
            resources=(
                kip248_quotas.AlteredQuotasResult(
                    quota_config_resource=_USER,
                    child_quota_config_resource=_CHILD,
                    configs=(kip248_quotas.QuotaResult(error_code=42, error_message="no", config_name="k"),),
                ),
            ),
        ),
        [
            ("00000000", "throttle_time_ms"),
            ("00000001", "one resource"),
            *_PAIR,
            ("00000001", "one config"),
            ("002a", "INVALID_REQUEST (42)"),
            ("0002 6e6f", "error_message: no"),
            ("0001 6b", "config_name, behind its error"),
        ],
    ),
]

_BATCHED: list[tuple[Any, Bytes]] = [
    (
        batched_acls.DescribeAclsRequest(
            filters=(
                batched_acls.DescribeAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter=None,
                    pattern_type_filter=3,
                    principal_filter="User:a",
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                ),
            )
        ),
        [
            ("01 00 01", "existing fields: ResourceTypeFilter any, name null, PatternTypeFilter any"),
            ("00 00", "existing fields: principal and host null"),
            ("01 01", "existing fields: Operation any, PermissionType any"),
            ("02", "one filter"),
            ("02", "ResourceTypeFilter: topic"),
            ("00", "ResourceNameFilter: null"),
            ("03", "PatternTypeFilter: literal"),
            ("07 557365723a61", "PrincipalFilter: User:a"),
            ("00", "HostFilter: null"),
            ("01 01", "Operation any, PermissionType any"),
            ("00", "no tagged fields in the filter"),
            ("00", "no tagged fields in the request"),
        ],
    ),
    (
        batched_acls.DescribeAclsResponse(
            throttle_time_ms=0,
            filter_results=(
                batched_acls.DescribeAclsFilterResult(
                    error_code=0,
                    error_message=None,
                    resources=(
                        batched_acls.DescribeAclsResource(
                            resource_type=2,
                            resource_name="t",
                            pattern_type=3,
                            acls=(
                                batched_acls.AclDescription(
                                    principal="User:a", host="*", operation=3, permission_type=3
                                ),
                            ),
                        ),
                    ),
                ),
                batched_acls.DescribeAclsFilterResult(error_code=42, error_message="no", resources=()),
            ),
        ),
        [
            ("00000000", "ThrottleTimeMs"),
            ("03", "two results"),
            ("0000 00", "no error, message null"),
            ("02", "one resource"),
            ("02 02 74 03", "topic t, literal"),
            ("02", "one ACL"),
            ("07 557365723a61", "Principal: User:a"),
            ("02 2a", "Host: *"),
            ("03 03", "Operation read, PermissionType allow"),
            ("00 00 00", "no tagged fields in ACL, resource, result"),
            ("002a 03 6e6f", "INVALID_REQUEST (42), no"),
            ("01", "no resources"),
            ("00", "no tagged fields in the result"),
            ("00", "no tagged fields in the response"),
        ],
    ),
    (
        batched_quotas.DescribeClientQuotasRequest(
            strict=True,
            filters=(
                batched_quotas.DescribeClientQuotasFilter(
                    components=(batched_quotas.ComponentData(entity_type="user", match_type=0, match="a"),)
                ),
                batched_quotas.DescribeClientQuotasFilter(components=()),
            ),
        ),
        [
            ("01", "Strict, for all filters"),
            ("03", "two filters"),
            ("02", "one component"),
            ("05 75736572", "EntityType: user"),
            ("00", "MatchType: exact"),
            ("02 61", "Match: a"),
            ("00 00", "no tagged fields in component and filter"),
            ("01 00", "no components, no tagged fields in the filter"),
            ("00", "no tagged fields in the request"),
        ],
    ),
    (
        batched_quotas.DescribeClientQuotasResponse(
            throttle_time_ms=0,
            filter_results=(
                batched_quotas.DescribeClientQuotasFilterResult(
                    error_code=0,
                    error_message=None,
                    entries=(
                        batched_quotas.EntryData(
                            entity=(batched_quotas.EntityData(entity_type="user", entity_name=None),),
                            values=(batched_quotas.ValueData(key="k", value=1.0),),
                        ),
                    ),
                ),
                batched_quotas.DescribeClientQuotasFilterResult(error_code=42, error_message="no", entries=None),
            ),
        ),
        [
            ("00000000", "ThrottleTimeMs"),
            ("03", "two results"),
            ("0000 00", "no error, message null"),
            ("02", "one entry"),
            ("02", "one component"),
            ("05 75736572 00", "user, name null: the default"),
            ("00", "no tagged fields in the component"),
            ("02", "one value"),
            ("02 6b", "Key: k"),
            ("3ff0000000000000", "Value: 1.0 as IEEE 754"),
            ("00 00 00", "no tagged fields in value, entry, result"),
            ("002a 03 6e6f", "INVALID_REQUEST (42), no"),
            ("00", "Entries: null"),
            ("00", "no tagged fields in the result"),
            ("00", "no tagged fields in the response"),
        ],
    ),
]

_CASES = [*_KIP_4, *_KIP_21, *_KIP_133, *_KIP_248, *_BATCHED]


@pytest.mark.parametrize(("message", "golden"), _CASES, ids=[type(message).__qualname__ for message, _ in _CASES])
def test_bytes(message: Any, golden: Bytes) -> None:
    expected = bytes.fromhex(" ".join(part for part, _ in golden))
    kind = with_open_codes(type(message))
    buffer = BytesIO()
    entity_writer(kind)(buffer, message)
    assert buffer.getvalue().hex(" ") == expected.hex(" ")
    read, size = entity_reader(kind)(expected, 0)
    assert size == len(expected)
    assert repr(read) == repr(message)


def test_every_message_has_its_bytes() -> None:
    covered = {type(message) for message, _ in _CASES}
    assert {kind for m in PROPOSED.values() for kind in (m.request, m.response)} <= covered


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (
            kip4_topics.DeleteTopicsRequest(topics=(), timeout=0),
            [("2711", "key 10001"), ("0000", "v0"), ("00000007", "correlation id"), ("0001 63", "client id c")],
        ),
        (
            batched_quotas.DescribeClientQuotasRequest(strict=False, filters=()),
            [
                ("0030", "key 48"),
                ("0002", "v2"),
                ("00000007", "correlation id"),
                ("0001 63", "client id c, never compact"),
                ("00", "no tagged fields: header v2"),
            ],
        ),
    ],
)
def test_headers(message: Any, header: Bytes) -> None:
    assert encode_header(message, 7, "c") == bytes.fromhex(" ".join(part for part, _ in header))
