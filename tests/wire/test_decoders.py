"""Tests of kac's own decoders, compared with kio's: partitions, topics, unknown error codes, tagged fields and messages
of newer brokers, and bounds.
"""

import random
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import fields as fields_of
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any, get_type_hints
from uuid import UUID

import kio.schema.describe_configs.v4.response as describe_configs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map
from kio.serial import entity_reader
from kio.static.constants import EntityType

from console.admin.cluster import dir_answers
from console.admin.errors import error_name
from console.admin.topics import topic_listing
from console.model.cluster import Topic
from console.wire import fields, tagged_fields
from console.wire.bounds_check import MalformedFrame, _entity_walk, check_message
from console.wire.frames import decode_body, decode_request, encode_body, encode_payload, open_reader, with_open_codes
from console.wire.metadata_decoder import VERSIONS, decode_topics
from console.wire.newer import NEWER
from console.wire.partition_decoders import DIRS_VERSIONS, OFFSETS_VERSIONS, DirAnswer, decode_log_dirs, decode_offsets
from console.wire.schemas import BY_VERSION, api_key, messages, request_module, response_type, version_range
from tests.support import kafka_jars, kafka_messages, requests_of_kafka
from tests.support import record_newer_messages as recorded
from tests.support.kafka_messages import response, with_fields
from tests.support.requests_of_kafka import request_type
from tests.unit.test_config_decoder import quick
from tests.wire.samples import sample, written

# -- kac's own decoders against kio's: partitions, topics, open codes, tags of newer brokers, bounds -------------------

Said = tuple[int, int, int]

names = st.sampled_from(["t", "orders", "ü☃", "n" * 126, "n" * 127, "n" * 249])
int64 = st.integers(-(2**63), 2**63 - 1)
codes = st.sampled_from([0, 0, 0, 3, 6, -1])
numbers = st.integers(0, 2**31 - 1)
listed_offsets = st.lists(st.tuples(names, st.lists(st.tuples(numbers, codes, int64, int64), max_size=3)), max_size=5)
listed_dirs = st.lists(
    st.tuples(
        codes,
        st.sampled_from(["/data", "/d/2", "remote://b", "p" * 200]),
        st.lists(st.tuples(names, st.lists(st.tuples(numbers, int64, int64, st.booleans()), max_size=3)), max_size=4),
        int64,
        int64,
        st.booleans(),
    ),
    max_size=3,
)


def offsets_body(version: int, topics: list[Any]) -> bytes:
    kio = import_module(f"kio.schema.list_offsets.v{version}.response")
    rows = [(name, [(*partition, partition[0] % 3) for partition in partitions]) for name, partitions in topics]
    return encode_body(kio.ListOffsetsResponse, response(kio, throttle_time=0.007, topics=rows))


def dirs_body(version: int, dirs: list[Any], code: int = 0) -> bytes:
    kio = import_module(f"kio.schema.describe_log_dirs.v{version}.response")
    names = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    results = [dict(zip(names, each, strict=True)) for each in dirs]
    return encode_body(
        kio.DescribeLogDirsResponse, response(kio, throttle_time=0.007, error_code=code, results=results)
    )


def triple(code: int, when: int, offset: int) -> Said:
    return code, when, offset


def own_offsets(version: int, body: bytes) -> dict[tuple[str, int], Said] | None:
    return decode_offsets(version, body, triple)


def kio_offsets(version: int, body: bytes) -> dict[tuple[str, int], Said]:
    response = decode_body(response_type("list_offsets", version), body)
    return {
        (topic.name, each.partition_index): (each.error_code, each.timestamp, each.offset)
        for topic in response.topics
        for each in topic.partitions
    }


def kio_dirs(version: int, body: bytes) -> list[DirAnswer] | None:
    response = decode_body(response_type("describe_log_dirs", version), body)
    return None if getattr(response, "error_code", 0) else dir_answers(response)


@pytest.mark.parametrize("version", OFFSETS_VERSIONS)
@quick
@given(listed_offsets)
def test_offsets_are_as_kio_decodes_them(version: int, topics: list[Any]) -> None:
    body = offsets_body(version, topics)
    found = own_offsets(version, body)
    assert found is not None
    assert list(found.items()) == list(kio_offsets(version, body).items())


@pytest.mark.parametrize("version", DIRS_VERSIONS)
@quick
@given(listed_dirs)
def test_directories_are_as_kio_decodes_them(version: int, dirs: list[Any]) -> None:
    body = dirs_body(version, dirs)
    assert decode_log_dirs(version, body) == kio_dirs(version, body)


def test_a_name_is_that_of_other_answers() -> None:
    first, second = (own_offsets(11, offsets_body(11, [("some-topic", [(0, 0, 1, 2)])])) or {} for _ in range(2))
    assert next(iter(first))[0] is next(iter(second))[0]
    (described,) = decode_log_dirs(5, dirs_body(5, [(0, "/d", [("some-topic", [(0, 1, 2, False)])], 3, 4, True)])) or []
    assert described.replicas[0][0] is next(iter(first))[0]


def test_what_is_seldom_is_left_to_kio() -> None:
    offsets = offsets_body(11, [("t", [(0, 0, 1, 2)])])
    dirs = dirs_body(5, [(0, "/d", [("t", [(0, 1, 2, False)])], 3, 4, False)])
    assert own_offsets(11, offsets) == {("t", 0): (0, 1, 2)}
    assert decode_log_dirs(5, dirs) is not None
    assert own_offsets(5, offsets) is None
    assert own_offsets(12, offsets) is None
    assert decode_log_dirs(1, dirs) is None
    assert decode_log_dirs(6, dirs) is None
    assert decode_log_dirs(5, dirs_body(5, [], code=31)) is None
    tagged = b"\x01\x63\x02ab"
    for decode, version, body in ((own_offsets, 11, offsets), (decode_log_dirs, 5, dirs)):
        ask: Callable[[int, bytes], object] = decode  # type: ignore[assignment]
        assert ask(version, body[:-1] + tagged) is None
        assert ask(version, body + b"\x00") is None
    assert own_offsets(11, offsets_body(11, [("", [(0, 0, 1, 2)])])) is None
    assert kio_offsets(11, offsets_body(11, [("", [(0, 0, 1, 2)])])) == {("", 0): (0, 1, 2)}


@pytest.mark.parametrize(
    ("api", "version"),
    [*(("list_offsets", each) for each in OFFSETS_VERSIONS), *(("describe_log_dirs", each) for each in DIRS_VERSIONS)],
)
def test_no_garbage_is_taken_for_an_answer(api: str, version: int) -> None:
    """If bytes of a response are cut off or changed, kac's decoder leaves the response to kio or reads the same as kio.
    It reads none that kio refuses.
    """
    if api == "list_offsets":
        body = offsets_body(version, [(f"t{n}", [(0, 0, 5, 7), (1, 3, -1, -1)]) for n in range(2)])
        own, kio = own_offsets, kio_offsets
    else:
        topics = [(f"t{n}", [(0, 5, 0, False), (1, 3, 1, True)]) for n in range(2)]
        body = dirs_body(version, [(0, "/data", topics, 10, 5, True), (56, "/bad", [], -1, -1, False)])
        own, kio = decode_log_dirs, kio_dirs  # type: ignore[assignment]
    for end in range(len(body)):
        assert own(version, body[:end]) is None
    for place in range(len(body)):
        for value in (0, 1, 2, 0x7F, 0x80, 0xFF):
            spoiled = body[:place] + bytes((value,)) + body[place + 1 :]
            found = own(version, spoiled)
            if found is not None:
                assert found == kio(version, spoiled), (place, value)


@pytest.mark.parametrize("version", [11])
@quick
@given(st.binary(max_size=80))
def test_bytes_without_sense_are_never_read_otherwise_than_by_kio(version: int, garbage: bytes) -> None:
    for own, kio, which in ((own_offsets, kio_offsets, version), (decode_log_dirs, kio_dirs, 5)):
        found = own(which, garbage)  # type: ignore[operator]
        try:
            other = kio(which, garbage)  # type: ignore[operator]
        except MalformedFrame:
            assert found is None
        else:
            assert found is None or found == other


# -- Topics of Metadata responses: kac's own decoder returns the same as kio's, or leaves the response to kio ----------


def kio(version: int) -> Any:
    return import_module(f"kio.schema.metadata.v{version}.response")


def partition(version: int, number: int, nodes: int = 3, error: int = 0, leader: int = 1) -> Any:
    replicas = tuple(range(1, nodes + 1))
    return fields.for_version(
        kio(version).MetadataResponsePartition,
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=number % 3,
        replica_nodes=replicas,
        isr_nodes=replicas[: nodes - number % 2],
        offline_replicas=replicas[nodes - number % 2 :],
    )


def topic(version: int, name: str, *partitions: Any, error: int = 0, id_: int = 7, internal: bool = False) -> Any:
    return fields.for_version(
        kio(version).MetadataResponseTopic,
        error_code=error,
        name=name,
        topic_id=UUID(int=id_) if id_ else None,
        is_internal=internal,
        partitions=partitions,
        topic_authorized_operations=-(2**31),
    )


def topics_response(version: int, *topics: Any, brokers: int = 2) -> bytes:
    nodes = [(n, f"b{n}", 9092, None if n % 2 else f"rack-{n}") for n in range(1, brokers + 1)]
    made = kafka_messages.response(
        kio(version),
        throttle_time=0.3,
        brokers=nodes,
        cluster_id="cluster",
        controller_id=1,
        topics=topics,
        cluster_authorized_operations=0,
        error_code=0,
    )
    return encode_body(type(made), made)


def by_kio(version: int, body: bytes) -> dict[str, Topic]:
    return dict(topic_listing(decode_body(response_type("metadata", version), body)).topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_are_as_kio_decodes_them(version: int) -> None:
    chance = random.Random(version)
    topics = [
        topic(
            version,
            "t" * chance.choice((1, 126, 127, 249)) + f"ü{number}",
            *(
                partition(
                    version,
                    place,
                    chance.choice((1, 3, 5)),
                    chance.choice((0, 0, 0, ErrorCode.leader_not_available)),
                    chance.choice((-1, 1, 2, 70_000)),
                )
                for place in chance.sample(range(200), chance.choice((0, 1, 1, 2, 130)))
            ),
            id_=chance.choice((0, 1, chance.getrandbits(128))),
            internal=chance.random() < 0.2,
        )
        for number in range(60)
    ]
    body = topics_response(version, *topics)
    found = decode_topics(version, body, error_name)
    assert found is not None
    assert list(found.items()) == list(by_kio(version, body).items())
    assert len(found) == 60
    assert decode_topics(version, topics_response(version), error_name) == {}


_LISTS = (
    (),
    (partition(13, 0),),
    (partition(13, 0), partition(13, 1)),
    (partition(13, 0, leader=2), partition(13, 1)),
    (partition(13, 1), partition(13, 0)),
    (partition(13, 0, 5), partition(13, 1)),
)
"""Lists of partitions in a response. Some begin with the same partitions, and some have the same length."""


@given(st.lists(st.sampled_from(_LISTS), max_size=40))
def test_lists_of_partitions_that_stand_again_are_the_same(lists: list[tuple[Any, ...]]) -> None:
    body = topics_response(13, *(topic(13, f"t{number}", *each) for number, each in enumerate(lists)))
    assert decode_topics(13, body, error_name) == by_kio(13, body)


def test_equal_parts_are_one_object() -> None:
    body = topics_response(13, *(topic(13, f"t{n}", partition(13, 0), partition(13, 1)) for n in range(9)))
    found = list((decode_topics(13, body, error_name) or {}).values())
    assert len({id(each.partitions) for each in found}) == 1
    first, second = found[0].partitions
    assert first.replicas is first.isr is second.replicas
    again = list((decode_topics(13, body, error_name) or {}).values())
    assert all(one.name is other.name for one, other in zip(found, again, strict=True))


def test_what_is_seldom_in_topics_is_left_to_kio() -> None:
    good = topic(13, "good", partition(13, 0))
    bodies = {
        "a topic that may not be described": topics_response(
            13, good, topic(13, "other", error=ErrorCode.topic_authorization_failed)
        ),
        "no brokers": topics_response(13, good, brokers=0),
        "an error of the whole answer": topics_response(13, good)[:-3] + b"\x00\x2a\x00",
        "a tagged field of a newer broker": topics_response(13, good)[:-1] + b"\x01\x63\x02ab",
        "bytes behind the end": topics_response(13, good) + b"\x00",
    }
    assert decode_topics(13, topics_response(13, good), error_name) == by_kio(13, topics_response(13, good))
    for why, body in bodies.items():
        assert decode_topics(13, body, error_name) is None, why
    assert decode_topics(8, topics_response(8, topic(8, "old", partition(8, 0))), error_name) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_no_garbage_is_taken_for_topics(version: int) -> None:
    """If bytes of a Metadata response are cut off or changed, kac's decoder of topics leaves the response to kio or
    reads the same as kio.
    """
    body = topics_response(
        version, *(topic(version, f"t{n}", partition(version, 0), partition(version, 1)) for n in range(3))
    )
    for end in range(len(body)):
        assert decode_topics(version, body[:end], error_name) is None
    for place in range(len(body)):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            spoiled = body[:place] + bytes((value,)) + body[place + 1 :]
            found = decode_topics(version, spoiled, error_name)
            assert found is None or found == by_kio(version, spoiled), (place, value)


# -- Every response that kio has, read with its error codes open -------------------------------------------------------

NEWER_THAN_KIO = 9999
OPEN_VERSIONS = {
    api: [version for version, kinds in versions.items() if EntityType.response in kinds]
    for api, versions in BY_VERSION.items()
}
APIS = [api for api, versions in OPEN_VERSIONS.items() if versions]


@pytest.mark.parametrize("api", APIS)
def test_an_error_code_that_kio_does_not_know_loses_nothing(api: str) -> None:
    for version in OPEN_VERSIONS[api]:
        opened = with_open_codes(response_type(api, version))
        told = sample(opened, NEWER_THAN_KIO)
        data = written(opened, told)
        assert open_reader(response_type(api, version))(data, 0) == (told, len(data))


@pytest.mark.parametrize("api", APIS)
def test_a_known_error_code_reads_as_kio_reads_it(api: str) -> None:
    code = ErrorCode.not_controller
    for version in OPEN_VERSIONS[api]:
        kio = response_type(api, version)
        data = written(kio, sample(kio, code))
        theirs, size = entity_reader(kio)(data, 0)
        ours, our_size = open_reader(kio)(data, 0)
        assert our_size == size == len(data)
        assert in_milliseconds(ours) == in_milliseconds(theirs).replace(repr(code), str(int(code)))


def in_milliseconds(entity: object) -> str:
    """Return a message as text, in which the datetime of 1,000 ms is written as the number 1000. kac's readers with
    open codes return it so if a time can't be null.
    """
    return repr(entity).replace("datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)", "1000")


def test_a_time_that_is_none_is_read() -> None:
    """kac reads the start time -1, which brokers send for a transactional id without a transaction. kio itself raises
    an error for it.
    """
    kio = response_type("describe_transactions", 0)
    opened = with_open_codes(kio)
    told = sample(opened, 0)
    (state,) = told.transaction_states
    data = written(opened, replace(told, transaction_states=(replace(state, transaction_start_time=-1),)))
    with pytest.raises(Exception, match="negative timestamp"):
        entity_reader(kio)(data, 0)
    assert decode_body(kio, data).transaction_states[0].transaction_start_time == -1


def test_kio_itself_refuses_it() -> None:
    """kio itself raises an error for an unknown error code. When this test fails, because kio keeps such codes,
    console.wire.frames is no longer needed.
    """
    kio = response_type("describe_configs", 4)
    data = written(with_open_codes(kio), sample(with_open_codes(kio), NEWER_THAN_KIO))
    with pytest.raises(ValueError, match="9999 is not a valid ErrorCode"):
        entity_reader(kio)(data, 0)
    assert decode_body(kio, data).results[0].error_code == NEWER_THAN_KIO


def test_a_part_without_error_codes_stays_kios_class() -> None:
    assert with_open_codes(describe_configs.DescribeConfigsSynonym) is describe_configs.DescribeConfigsSynonym
    assert with_open_codes(describe_configs.DescribeConfigsResult) is not describe_configs.DescribeConfigsResult


def test_an_open_response_is_still_kios() -> None:
    kio = response_type("metadata", 12)
    assert isinstance(decode_body(kio, written(kio, sample(kio, 0))), kio)


@pytest.mark.parametrize("kept", [0, 1, 5, 11])
def test_a_body_cut_short_is_malformed(kept: int) -> None:
    kio = response_type("describe_configs", 4)
    with pytest.raises(MalformedFrame, match="DescribeConfigsResponse v4"):
        decode_body(kio, written(kio, sample(kio, 0))[:kept])


# -- Unknown tagged fields of newer brokers are skipped (KIP-482), at every depth of every response --------------------

TAG_VERSIONS = {
    api: [version for version, kinds in versions.items() if EntityType.response in kinds]
    for api, versions in BY_VERSION.items()
}
TAG_APIS = [api for api, versions in TAG_VERSIONS.items() if versions]
UNKNOWN_TAG = b"\x63\x02\xff\xff"  # tag 99, two bytes


@pytest.mark.parametrize("api", TAG_APIS)
def test_a_message_of_known_fields_is_kept_as_it_is(api: str) -> None:
    for version in TAG_VERSIONS[api]:
        entity = with_open_codes(response_type(api, version))
        data = written(entity, sample(entity, 9999))
        assert tagged_fields.without_unknown_tags(entity, data + b"what follows") == (data, len(data))


def test_an_unknown_field_at_every_depth_loses_nothing() -> None:
    """If a response has unknown tagged fields at every depth, kac reads all its other fields. The test encodes a
    DescribeConfigs v4 response with such fields in a topic, a key and a synonym.
    """
    tag = b"\x01" + UNKNOWN_TAG
    synonym = b"\x02s" + b"\x021" + b"\x05" + tag
    key = b"\x02k" + b"\x021" + b"\x00" + b"\x05" + b"\x00" + b"\x02" + synonym + b"\x03" + b"\x00" + tag
    topic = struct.pack(">h", 9999) + b"\x00" + b"\x02" + b"\x02t" + b"\x02" + key + tag
    body = struct.pack(">i", 7) + b"\x02" + topic + tag
    response = decode_body(response_type("describe_configs", 4), body)
    (result,) = response.results
    (config,) = result.configs
    assert (result.error_code, result.resource_name) == (9999, "t")
    assert (config.name, config.value, config.config_source, config.config_type) == ("k", "1", 5, 3)
    assert (config.synonyms[0].name, config.synonyms[0].value, config.synonyms[0].source) == ("s", "1", 5)


def test_a_known_tagged_field_stays_beside_an_unknown_one() -> None:
    """kac reads a known tagged field next to an unknown one. In an ApiVersions v3 response without APIs, tag 1 is the
    epoch of the finalized features, and tag 99 is unknown.
    """
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0)
    tags = b"\x02" + b"\x01\x08" + struct.pack(">q", 42) + UNKNOWN_TAG
    assert decode_body(response_type("api_versions", 3), body + tags).finalized_features_epoch == 42


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_tagged_field_cut_short_is_malformed(cut: int) -> None:
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0) + b"\x01" + UNKNOWN_TAG
    with pytest.raises(MalformedFrame):
        decode_body(response_type("api_versions", 3), body[:-cut])


def test_a_size_without_end_is_malformed() -> None:
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0) + b"\x01" + b"\x63" + b"\xff" * 6
    with pytest.raises(MalformedFrame):
        decode_body(response_type("api_versions", 3), body)


# -- The check of a message's bounds: accepted and refused messages ----------------------------------------------------

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
    """The decoder refuses a count of billions of elements in an array inside another array, in the flexible format."""
    request = request_type("alter_partition_reassignments", 0)
    billions = b"\xff\xff\xff\xff\x0f"
    with pytest.raises(MalformedFrame):
        decode_request(request, bytes(4) + b"\x02" + b"\x02a" + billions)


def test_null_is_taken_where_it_may_be() -> None:
    decoded = decode_request(request_type("metadata", 1), struct.pack(">i", -1))
    assert decoded.topics is None


def test_it_is_quick() -> None:
    """The check of the bounds of a message with 12,000 keys of 4,000 topics takes less than half a second of CPU
    time.
    """
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


# -- Messages of a newer Kafka than kio's (console.wire.newer), against its own definitions and its brokers ------------

KIO_HAS = [("api_versions", 3), ("api_versions", 4), ("delete_groups", 1), ("delete_groups", 2),
           ("streams_group_describe", 0), ("describe_cluster", 2), ("list_groups", 5)]  # fmt: skip
"""(API, version) pairs that both kio and kac's own definitions have: with and without tagged fields, structures and
numbers.
"""


@pytest.fixture(scope="module")
def apis() -> dict[int, recorded.Api]:
    try:
        return recorded.definitions(kafka_jars.RELEASES[kafka_jars.NEWEST])
    except kafka_jars.BrokersUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.broker
@pytest.mark.slow
def test_what_is_kept_is_what_the_jar_says() -> None:
    kept = {path.name: path.read_text() for path in recorded.FOLDER.glob("*.py")}
    assert kept == recorded.texts(), "run: python -m tests.support.record_newer_messages"


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize(("api", "version"), KIO_HAS)
def test_they_are_declared_as_kio_declares_its_own(
    apis: dict[int, recorded.Api], api: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    exec(recorded.module_text(apis[api_key(api)], version, whole=True), vars(made))
    found = messages(api_key(api), version)
    assert found is not None
    for theirs in (found.request, found.response):
        assert shape(getattr(made, theirs.__name__)) == shape(theirs)


def shape(entity: Any, *, is_part: bool = False) -> Any:
    """Return all attributes of a message class that kio's reader and writer use, as a tuple; two classes with equal
    tuples have the same format. is_part: whether it is a structure inside a message, which has no API key and
    header.
    """
    types = get_type_hints(entity, include_extras=True)
    own = {
        each.name: (each.metadata, each.default if "tag" in each.metadata else None, nested(types[each.name]))
        for each in fields_of(entity)
    }
    message = () if is_part else (entity.__api_key__, entity.__header_schema__)
    return (entity.__name__, entity.__version__, entity.__flexible__, *message, entity.__type__, own)


def nested(type_: Any) -> Any:
    if hasattr(type_, "__dataclass_fields__"):
        return shape(type_, is_part=True)
    return [nested(part) for part in type_.__args__] if hasattr(type_, "__args__") else type_


def test_a_version_that_is_refused_by_name_is_known_after_kios() -> None:
    assert {api: max(versions) for api, versions in NEWER.items()} == {api: version_range(api)[1] for api in NEWER}
    assert requests_of_kafka.readable_versions(api_key("api_versions")) == (0, 5)


# Requests to a broker of 4.4.0, and its responses.

ASKED = [
    (
        "api_versions", 5, "046b6163023117" + "78" * 22 + "0000000100",
        with_fields(client_software_name="kac", client_software_version="1", cluster_id="x" * 22, node_id=1),
    ),
    (
        "delete_groups", 3, "03086e6f74686572650a672d73747265616d7300",
        with_fields(groups_names=["nothere", "g-streams"]),
    ),
    (
        "streams_group_describe", 1, "020a672d73747265616d73010100",
        with_fields(group_ids=["g-streams"], include_authorized_operations=True, include_topology_description=True),
    ),
]  # fmt: skip
REFUSED = "0081010000000000"
NOT_DELETED = "00000000030a672d73747265616d7300100000086e6f74686572650045000000"
STREAMS = (
    "00000000020000000a672d73747265616d730a41737369676e696e6700000002000000010100000001020230020374310101"
    "01000002174141414141414141414141414141414141414141414100000001000009636f6e74726163740b2f3132372e302e"
    "302e31000000010270ff0101010101010001010100000000000d48ff0107737469636b790000"
)


@pytest.mark.parametrize(("api", "version", "body", "build"), ASKED)
def test_a_request_is_what_brokers_take(api: str, version: int, body: str, build: Any) -> None:
    assert encode_payload(build(request_module(api, version))).hex() == body


@pytest.mark.parametrize(
    ("api", "version", "body"),
    [("api_versions", 5, REFUSED), ("delete_groups", 3, NOT_DELETED), ("streams_group_describe", 1, STREAMS)],
)
def test_an_answer_is_read_as_brokers_write_it(api: str, version: int, body: str) -> None:
    response = response_type(api, version)
    assert encode_body(response, decode_body(response, bytes.fromhex(body))).hex() == body


def test_what_they_say() -> None:
    refused = decode_body(response_type("api_versions", 5), bytes.fromhex(REFUSED))
    assert (refused.error_code, refused.api_keys) == (129, ())
    results = decode_body(response_type("delete_groups", 3), bytes.fromhex(NOT_DELETED)).results
    assert [(each.group_id, each.error_code, each.error_message) for each in results] == [
        ("g-streams", 16, None),
        ("nothere", 69, None),
    ]
    (group,) = decode_body(response_type("streams_group_describe", 1), bytes.fromhex(STREAMS)).groups
    assert (group.group_state, group.assignor_name, group.topology_description_status) == ("Assigning", "sticky", 1)
