"""What the check of a message's bounds accepts, and what it refuses."""

from __future__ import annotations

import struct
import time

import pytest
from kio.schema.index import api_key_map
from kio.static.constants import EntityType

from console.wire.bounds_check import MalformedFrame, _entity_walk, check_message
from console.wire.frames import decode_request
from console.wire.schemas import BY_VERSION, request_module
from tests.support.requests_of_kafka import request_type
from tests.wire.samples import sample, written

REQUESTS = [
    (api, version)
    for api in api_key_map.values()
    for version, kinds in BY_VERSION[api].items()
    if EntityType.request in kinds
]


@pytest.mark.parametrize("api", sorted({api for api, _ in REQUESTS}))
def test_whole_requests_pass_to_their_last_byte(api: str) -> None:
    for name, version in REQUESTS:
        if name == api:
            request = request_type(api, version)
            data = written(request, sample(request, 1))
            check_message(request, data + b"what follows")
            assert _entity_walk(request).walk(data, 0, None) == len(data)
            for cut in range(len(data)):
                with pytest.raises(MalformedFrame):
                    check_message(request, data[:cut])


@pytest.mark.parametrize("count", [2, 1000, 2**31 - 1, -1, -7])
def test_an_array_that_can_not_be_is_refused_before_room_is_made_for_it(count: int) -> None:
    request = request_type("create_topics", 2)
    with pytest.raises(MalformedFrame, match="topics"):
        decode_request(request, struct.pack(">i", count) + bytes(1))


def test_counts_within_counts_are_refused_too() -> None:
    """A billion elements in each of three arrays, one in the other, in the flexible format."""
    request = request_type("alter_partition_reassignments", 0)
    billions = b"\xff\xff\xff\xff\x0f"
    with pytest.raises(MalformedFrame):
        decode_request(request, bytes(4) + b"\x02" + b"\x02a" + billions)


def test_null_is_taken_where_it_may_be() -> None:
    decoded = decode_request(request_type("metadata", 1), struct.pack(">i", -1))
    assert decoded.topics is None


def test_it_is_quick() -> None:
    """12,000 keys of 4,000 topics take less than their decoding by far; in a time that a slow machine keeps too."""
    module = request_module("incremental_alter_configs", 1)
    keys = tuple(
        module.AlterableConfig(name=f"some.key.{number}", config_operation=0, value="1000") for number in range(3)
    )
    request = module.IncrementalAlterConfigsRequest(
        resources=tuple(
            module.AlterConfigsResource(resource_type=2, resource_name=f"topic-{number:06}", configs=keys)
            for number in range(4000)
        ),
        validate_only=False,
    )
    data = written(type(request), request)
    began = time.thread_time()
    check_message(type(request), data)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize(("size", "good"), [(32767, True), (32768, False)])
def test_no_text_in_a_request_is_longer_than_a_broker_takes(size: int, good: bool) -> None:
    kio = request_module("metadata", 12)
    topic = kio.MetadataRequestTopic(topic_id=None, name="t" * size)
    request = kio.MetadataRequest(topics=(topic,), include_topic_authorized_operations=False)
    data = written(kio.MetadataRequest, request)
    if good:
        check_message(kio.MetadataRequest, data)
    else:
        with pytest.raises(MalformedFrame, match="a text of more than 32767 bytes"):
            check_message(kio.MetadataRequest, data)


def test_what_is_no_text_may_be_long() -> None:
    kio = request_module("sasl_authenticate", 2)
    data = written(kio.SaslAuthenticateRequest, kio.SaslAuthenticateRequest(auth_bytes=b"x" * 100_000))
    check_message(kio.SaslAuthenticateRequest, data)
