"""Tests of messages that exist only in proposals (KIPs): their format, byte by byte, and that each message reads back
equal.
"""

from dataclasses import fields, is_dataclass
from io import BytesIO
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map
from kio.schema.metadata.v0 import request as metadata_v0_request
from kio.schema.metadata.v0 import response as metadata_v0
from kio.schema.metadata.v1 import request as metadata_v1_request
from kio.schema.metadata.v1 import response as metadata_v1
from kio.serial import entity_reader, entity_writer

from console.wire.frames import encode_header, with_open_codes
from console.wire.proposals import batched_describes, kip4, kip21_configs, kip133_configs, kip248_quotas, table
from console.wire.proposals import formats as api_keys
from tests.support.examples import examples
from tests.support.kafka_messages import entity

# -- The proposals' formats, byte by byte after the KIPs' texts: no other program implements them ----------------------
# Each line has bytes and their meaning. STRING: int16 length and UTF-8; NULLABLE_STRING: length -1 for null; arrays:
# int32 count; a compact string or array (KIP-482): its length plus one as a varint, 0 for null; a flexible structure
# ends with the count of its tagged fields.

Bytes = list[tuple[str, str]]
"""(hexadecimal digits of some bytes, their meaning) pairs, which together are a message."""


def made(kind: Any, **given: Any) -> Any:
    return entity(kind, given)


_ACL_BYTES: Bytes = [
    ("0006 557365723a61", "acl_principal: User:a"),
    ("03", "acl_permission_type: Allow"),
    ("0001 2a", "acl_host: *"),
    ("03", "acl_operation: Read"),
]
_RESOURCE_BYTES: Bytes = [("02", "resource_type: Topic"), ("0001 74", "resource_name: t")]
_KEY_AND_VALUE: Bytes = [("0001 6b 0001 76", "k, v")]
_LISTED = [(0, 2, "t", [("k", "v", True, False, True)])]
_LISTED_CONFIG: Bytes = [
    ("0000", "error_code of the request"),
    ("00000001", "one entity"),
    ("0000", "its error_code"),
    ("02 0001 74", "Topic t"),
    ("00000001", "one config"),
    *_KEY_AND_VALUE,
    ("01", "read_only"),
    ("00", "is_default"),
    ("01", "is_sensitive"),
]
_ENTITY: Bytes = [("00000001", "one entity"), ("0005 746f706963", "EntityType: topic"), ("0001 74", "EntityName: t")]
_PAIR: Bytes = [
    ("05 0001 61", "quota_config_resource: User a"),
    ("06 0009 3c64656661756c743e", "child_quota_config_resource: Client <default>"),
]

_CASES: list[tuple[Any, Bytes]] = [
    # KIP-4: CreateTopics, DeleteTopics, ListAcls, AlterAcls, and Metadata v0 and v1, which Kafka has too.
    (
        made(
            kip4.CreateTopicsRequest, create_topic_requests=[("t", -1, -1, [(0, [2, 1])], [("k", "v")])], timeout=1000
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
        made(kip4.CreateTopicsResponse, topic_error_codes=[("t", 0), ("u", 36)]),
        [
            ("00000002", "two topics"),
            ("0001 74 0000", "t: no error"),
            ("0001 75 0024", "u: TOPIC_ALREADY_EXISTS (36)"),
        ],
    ),
    (
        made(kip4.DeleteTopicsRequest, topics=["t", "é"], timeout=0),
        [("00000002", "two names"), ("0001 74", "t"), ("0002 c3a9", "é in UTF-8"), ("00000000", "timeout: 0")],
    ),
    (
        made(kip4.DeleteTopicsResponse, topic_error_codes=[("t", 7)]),
        [("00000001", "one topic"), ("0001 74", "t"), ("0007", "REQUEST_TIMED_OUT (7)")],
    ),
    (
        made(kip4.ListAclsRequest, principal=None, resource=(-1, "")),
        [("ffff", "principal: null, all"), ("ff", "resource_type: -1, all"), ("0000", "resource_name: empty")],
    ),
    (
        made(kip4.ListAclsRequest, principal="User:a", resource=(2, "t")),
        [("0006 557365723a61", "principal: User:a"), *_RESOURCE_BYTES],
    ),
    (
        made(kip4.ListAclsResponse, responses=[((2, "t"), [("User:a", 3, "*", 3)])], error_code=0),
        [
            ("00000001", "one resource"),
            *_RESOURCE_BYTES,
            ("00000001", "one ACL"),
            *_ACL_BYTES,
            ("0000", "error_code, at the very end"),
        ],
    ),
    (
        made(kip4.AlterAclsRequest, requests=[((2, "t"), [(1, ("User:a", 3, "*", 3)), (0, ("User:a", 3, "*", 3))])]),
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
        made(kip4.AlterAclsResponse, responses=[((2, "t"), [(1, ("User:a", 3, "*", 3), 42)])]),
        [
            ("00000001", "one resource"),
            *_RESOURCE_BYTES,
            ("00000001", "one result"),
            ("01", "action: add"),
            *_ACL_BYTES,
            ("002a", "INVALID_REQUEST (42)"),
        ],
    ),
    (made(metadata_v0_request.MetadataRequest, topics=[]), [("00000000", "no names: all topics")]),
    (made(metadata_v1_request.MetadataRequest, topics=None), [("ffffffff", "null: all topics")]),
    (made(metadata_v1_request.MetadataRequest, topics=[]), [("00000000", "empty: no topics")]),
    (
        made(
            metadata_v1.MetadataResponse,
            brokers=[(1, "h", 9092, None)],
            controller_id=1,
            topics=[(0, "t", False, [(0, 0, 1, [1, 2], [1])])],
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
    (
        made(metadata_v0.MetadataResponse, brokers=[], topics=[]),
        [("00000000", "no brokers"), ("00000000", "no topics")],
    ),
    # KIP-21: DescribeConfig and AlterConfig.
    (
        made(kip21_configs.DescribeConfigRequest, entities=[("topic", "t")]),
        _ENTITY,
    ),
    (
        made(kip21_configs.DescribeConfigResponse, entities=[("client", "c", 0, [("k", "v")])]),
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
        made(kip21_configs.AlterConfigRequest, entities=[("topic", "t", [("k", "v")], ["x", "y"])]),
        [
            *_ENTITY,
            ("00000001", "one AddedConfigEntry"),
            ("0001 6b 0001 76", "k, v"),
            ("00000002", "two of DeletedConfig"),
            ("0001 78 0001 79", "x, y"),
        ],
    ),
    (
        made(kip21_configs.AlterConfigResponse, entities=[("topic", "t", 10000)]),
        [*_ENTITY, ("2710", "InvalidEntityConfig, 10000 here")],
    ),
    # KIP-133: ListConfigs and AlterConfigs.
    (
        made(kip133_configs.ListConfigsRequest, resources=[(5, "1")]),
        [("00000001", "one resource"), ("05", "resource_type: Broker"), ("0001 31", "resource_name: 1")],
    ),
    (
        made(kip133_configs.ListConfigsRequestV1, resources=[(2, "t", None), (7, "u", ["k"])]),
        [
            ("00000002", "two resources"),
            ("02 0001 74", "Topic t"),
            ("ffffffff", "config_names: null, all"),
            ("07 0001 75", "User u"),
            ("00000001 0001 6b", "config_names: k"),
        ],
    ),
    (
        made(kip133_configs.ListConfigsResponse, error_code=0, entities=_LISTED),
        _LISTED_CONFIG,
    ),
    (
        made(kip133_configs.ListConfigsResponseV1, error_code=0, entities=_LISTED),
        _LISTED_CONFIG,
    ),
    (
        made(kip133_configs.AlterConfigsRequest, resources=[(6, "c", [("k", "v")])], validate_only=True),
        [
            ("00000001", "one resource"),
            ("06 0001 63", "Client c"),
            ("00000001", "one config"),
            ("0001 6b 0001 76", "k, v"),
            ("01", "validate_only, at the very end"),
        ],
    ),
    (
        made(kip133_configs.AlterConfigsResponse, responses=[(2, "t", 44, "no")]),
        [
            ("00000001", "one resource"),
            ("02 0001 74", "Topic t"),
            ("002c", "POLICY_VIOLATION (44)"),
            ("0002 6e6f", "error_message: no"),
        ],
    ),
    # KIP-248: ListQuotas, DescribeQuotas, AlterQuotas.
    (
        made(kip248_quotas.ListQuotasRequest, quota_config_resource=(6, None)),
        [("06", "type: Client"), ("ffff", "name: null, all clients")],
    ),
    (
        made(
            kip248_quotas.ListQuotasResponse,
            throttle_time_ms=5,
            error_code=31,
            error_message="no",
            quota_config_entity_names=[],
        ),
        [
            ("00000005", "throttle_time_ms: 5"),
            ("001f", "CLUSTER_AUTHORIZATION_FAILED (31)"),
            ("0002 6e6f", "error_message: no"),
            ("00000000", "no names"),
        ],
    ),
    (
        made(
            kip248_quotas.DescribeQuotasRequest,
            resources=[((5, "a"), (0, None), None), ((5, "a"), (6, "<default>"), ["k"])],
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
        made(
            kip248_quotas.DescribeQuotasResponse,
            throttle_time_ms=0,
            resources=[((5, "a"), (6, "<default>"), [(0, None, [("k", "1", False, True, False)])])],
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
        made(
            kip248_quotas.AlterQuotasRequest, validate_only=True, resources=[((5, "a"), (6, "<default>"), [("k", "1")])]
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
        made(
            kip248_quotas.AlterQuotasResponse,
            throttle_time_ms=0,
            resources=[((5, "a"), (6, "<default>"), [(42, "no", "k")])],
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
    # The batched describes: DescribeAcls v4, DescribeClientQuotas v2.
    (
        made(batched_describes.DescribeAclsRequest, filters=[(2, None, 3, "User:a", None, 1, 1)]),
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
        made(
            batched_describes.DescribeAclsResponse,
            throttle_time_ms=0,
            filter_results=[(0, None, [(2, "t", 3, [("User:a", "*", 3, 3)])]), (42, "no", [])],
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
        made(batched_describes.DescribeClientQuotasRequest, strict=True, filters=[([("user", 0, "a")],), ([],)]),
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
        made(
            batched_describes.DescribeClientQuotasResponse,
            throttle_time_ms=0,
            filter_results=[(0, None, [([("user", None)], [("k", 1.0)])]), (42, "no", None)],
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
    assert {kind for m in table.PROPOSED.values() for kind in (m.request, m.response)} <= covered


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (
            kip4.DeleteTopicsRequest(topics=(), timeout=0),
            [("2711", "key 10001"), ("0000", "v0"), ("00000007", "correlation id"), ("0001 63", "client id c")],
        ),
        (
            batched_describes.DescribeClientQuotasRequest(strict=False, filters=()),
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


# -- Every message of the proposals reads back equal from its bytes, and all bytes are read ----------------------------

_INTEGERS = {"int8": 8, "int16": 16, "int32": 32}
_MESSAGES = [
    pytest.param(entity, id=f"{m.api}-v{m.version}-{entity.__name__}")
    for m in table.PROPOSED.values()
    for entity in (m.request, m.response)
]


def _primitive(kind: str) -> st.SearchStrategy[Any]:
    if kind in _INTEGERS:
        bits = _INTEGERS[kind] - 1
        return st.integers(-(1 << bits), (1 << bits) - 1)
    if kind == "string":
        return st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
    return {"bool": st.booleans(), "float64": st.floats(allow_nan=False)}[kind]


def _values(type_: Any, kind: str | None) -> st.SearchStrategy[Any]:
    if get_origin(type_) is UnionType:
        (inner,) = (part for part in get_args(type_) if part is not type(None))
        return st.none() | _values(inner, kind)
    if get_origin(type_) is tuple:
        return st.lists(_values(get_args(type_)[0], kind), max_size=3).map(tuple)
    if is_dataclass(type_):
        return st.builds(type_, **{f.name: _values(f.type, f.metadata.get("kafka_type")) for f in fields(type_)})
    assert kind is not None
    return _primitive(kind)


@pytest.mark.parametrize("entity", _MESSAGES)
@given(data=st.data())
@examples(15, at_length=40, deadline=None)
def test_what_is_written_is_read(entity: type[Any], data: st.DataObject) -> None:
    message = data.draw(_values(entity, None))
    buffer = BytesIO()
    entity_writer(entity)(buffer, message)
    encoded = buffer.getvalue()
    assert entity_reader(entity)(encoded, 0) == (message, len(encoded))


def test_the_keys_are_beyond_kafkas_but_for_the_versions_that_extend_kafkas_apis() -> None:
    assert max(api_key_map) < api_keys.LOWEST
    extended = {(29, 4), (48, 2)}
    assert extended <= set(table.PROPOSED)
    assert all(
        api_keys.LOWEST <= key <= api_keys.HIGHEST for key, version in table.PROPOSED if (key, version) not in extended
    )


def test_only_the_batched_describes_are_flexible() -> None:
    assert {m.key for m in table.PROPOSED.values() if m.request.__flexible__ or m.response.__flexible__} == {29, 48}
    for m in table.PROPOSED.values():
        flexible = m.key in {29, 48}
        assert m.request.__header_schema__.__version__ == (2 if flexible else 1)
        assert m.response.__header_schema__.__version__ == (1 if flexible else 0)
