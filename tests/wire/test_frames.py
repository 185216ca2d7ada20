"""Frames: headers and payloads, byte by byte."""

from __future__ import annotations

import dataclasses
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.describe_acls.v1.request import DescribeAclsRequest as OldAclsRequest
from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource

from console.wire import frames
from console.wire.aiokafka_request import THROTTLE_FIRST, RawResponse
from console.wire.bounds_check import MalformedFrame
from console.wire.fields import for_version
from console.wire.schemas import BY_VERSION, response_type, version_range
from tests.support.requests_of_kafka import request_type

FLEXIBLE = DescribeConfigsRequest(resources=(), include_synonyms=True, include_documentation=False)
NOT_FLEXIBLE = for_version(
    OldAclsRequest,
    resource_type_filter=2,
    resource_name_filter=None,
    pattern_type_filter=3,
    principal_filter="User:ü",
    host_filter=None,
    operation=1,
    permission_type=1,
)

ids = st.integers(0, 2**31 - 1)
names = st.text(max_size=300).filter(lambda name: len(name.encode(errors="ignore")) < 2**15)


@given(ids, names)
def test_a_flexible_request_header_is_version_2(correlation_id: int, client_id: str) -> None:
    """RequestHeader.json: the client id keeps the old string format even here; then no tagged fields."""
    name = client_id.encode()
    wanted = struct.pack(">hhih", 32, 4, correlation_id, len(name)) + name + b"\x00"
    assert frames.encode_header(FLEXIBLE, correlation_id, client_id) == wanted


@given(ids, names)
def test_any_other_request_header_is_version_1(correlation_id: int, client_id: str) -> None:
    name = client_id.encode()
    assert frames.encode_header(NOT_FLEXIBLE, correlation_id, client_id) == (
        struct.pack(">hhih", 29, 1, correlation_id, len(name)) + name
    )


def test_a_flexible_payload_by_hand() -> None:
    topic = DescribeConfigsResource(resource_type=2, resource_name="tö", configuration_keys=("a",))
    payload = DescribeConfigsRequest(resources=(topic,), include_synonyms=True, include_documentation=False)
    resources = b"\x02" + b"\x02" + b"\x04t\xc3\xb6" + b"\x02\x02a" + b"\x00"
    assert frames.encode_payload(payload) == resources + b"\x01" + b"\x00" + b"\x00"


def test_a_payload_of_the_old_format_by_hand() -> None:
    assert frames.encode_payload(NOT_FLEXIBLE) == b"\x02\xff\xff\x03\x00\x07User:\xc3\xbc\xff\xff\x01\x01"


@given(ids, st.binary(max_size=50))
def test_a_response_is_split_behind_its_header(correlation_id: int, body: bytes) -> None:
    old = struct.pack(">i", correlation_id)
    assert frames.split_response(response_type("describe_acls", 1), old + body) == (correlation_id, body)
    assert frames.split_response(response_type("describe_acls", 2), old + b"\x00" + body) == (correlation_id, body)


@given(ids, st.binary(max_size=200), st.binary(max_size=50))
def test_tagged_fields_in_a_response_header_are_passed_over(correlation_id: int, tag: bytes, body: bytes) -> None:
    size = bytes([len(tag)]) if len(tag) < 128 else bytes([len(tag) & 0x7F | 0x80, len(tag) >> 7])
    header = struct.pack(">i", correlation_id) + b"\x01" + b"\x05" + size + tag
    assert frames.split_response(response_type("metadata", 12), header + body) == (correlation_id, body)


@given(st.binary(max_size=3))
def test_less_than_a_header_is_malformed(frame: bytes) -> None:
    with pytest.raises(MalformedFrame):
        frames.split_response(response_type("metadata", 12), frame)


def test_the_answer_to_apiversions_has_the_old_header_always() -> None:
    """KIP-511: a client can't know yet what the broker speaks."""
    assert frames.split_response(response_type("api_versions", 4), b"\x00\x00\x00\x09body") == (9, b"body")


@pytest.mark.parametrize("name", ["\udcff", "a\ud800b"])
def test_text_that_is_not_unicode_is_not_sent(name: str) -> None:
    topic = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
    with pytest.raises(frames.Unencodable, match="DescribeConfigsRequest v4"):
        frames.encode_payload(
            DescribeConfigsRequest(resources=(topic,), include_synonyms=True, include_documentation=False)
        )


def test_a_number_out_of_range_is_not_sent() -> None:
    topic = DescribeConfigsResource(resource_type=300, resource_name="t", configuration_keys=None)
    with pytest.raises(frames.Unencodable):
        frames.encode_payload(
            DescribeConfigsRequest(resources=(topic,), include_synonyms=True, include_documentation=False)
        )


def test_a_field_that_a_version_lacks_is_left_out() -> None:
    oldest = for_version(
        request_type("describe_configs", 1), resources=(), include_synonyms=True, include_documentation=1
    )
    assert frames.encode_payload(oldest) == b"\x00\x00\x00\x00\x01"


def test_versions_are_those_that_kio_has() -> None:
    assert version_range("describe_configs") == (1, 4)
    assert version_range("metadata") == (0, 13)
    with pytest.raises(KeyError):
        version_range("no_such_api")


def test_an_answer_that_tells_of_more_than_it_has_is_refused_before_room_is_made_for_it() -> None:
    throttle, brokers = b"\0\0\0\0", b"\xff\xff\xff\xff\x0f"  # 2³² - 2 of them: 32 GiB of pointers
    with pytest.raises(MalformedFrame, match="brokers has 4294967294 elements in 20 bytes"):
        frames.decode_body(response_type("metadata", 9), throttle + brokers + bytes(20))


def test_the_response_header_follows_from_the_request_for_every_message_of_kafka() -> None:
    for api, versions in BY_VERSION.items():
        for version in versions:
            try:
                request, response = request_type(api, version), response_type(api, version)
            except KeyError:  # data that is no request
                continue
            flexible = frames.has_flexible_response_header(api, request)
            assert flexible is response.__header_schema__.__flexible__, (api, version)


# -- who is throttled --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", sorted(THROTTLE_FIRST))
def test_an_answer_says_first_for_how_long_its_client_is_throttled(api: str) -> None:
    """As Kafka's own schemas have it, in every version; before, or in another place, it is not known."""
    lowest, highest = version_range(api)
    for version in range(lowest, highest + 1):
        fields = [each.name for each in dataclasses.fields(response_type(api, version))]
        assert (fields[0] == "throttle_time") is (version >= THROTTLE_FIRST[api]), version
    assert RawResponse(api, highest, b"\0\0\0\1").throttle_ms == 1
    assert not RawResponse(api, highest, b"\0\0\0\0\1").throttle_ms
    assert not RawResponse(api, highest, b"\xff\xff\xff\xff").throttle_ms
    assert not RawResponse(api, highest, b"").throttle_ms
    assert not RawResponse(api, THROTTLE_FIRST[api] - 1, b"\0\0\0\1").throttle_ms
    assert not RawResponse("api_versions", 3, b"\0\0\0\1").throttle_ms
