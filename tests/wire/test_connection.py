"""Tests of connections and frames: servers that misbehave, frames that arrive in pieces of all sizes, headers byte by
byte.
"""

import asyncio
import dataclasses
import ssl
import struct
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.describe_acls.v1.request import DescribeAclsRequest as OldAclsRequest
from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource

from console.wire import bounds_check, frames, sasl
from console.wire.aiokafka_request import THROTTLE_FIRST, AiokafkaRequest, Exchange, RawResponse
from console.wire.connection import (
    MAX_FRAME,
    USUAL_BUFFER,
    ConnectFailed,
    Connection,
    FrameTooLong,
    NotKafka,
    Stage,
    connect,
    too_long,
)
from console.wire.fields import for_version
from console.wire.frames import decode_body
from console.wire.schemas import BY_VERSION, response_type, version_range
from tests.support.certificates import Authority
from tests.support.kafka_messages import with_fields
from tests.support.requests_of_kafka import request_type
from tests.wire import fake_broker as fake
from tests.wire.fake_broker import Conversation, FakeBroker, Received, frame

BROKERS = {1: ("a.example", 9092)}
PLAIN = {"security_protocol": "PLAINTEXT"}


async def opened(broker: fake.FakeBroker, **options: object) -> Connection:
    return await connect(*broker.address, client_id="kac", limit=5, security=PLAIN, **options)  # type: ignore[arg-type]


def metadata(connection: Connection) -> AiokafkaRequest:
    asked = with_fields(topics=[], include_topic_authorized_operations=False)
    return connection.prepare("metadata", connection.version("metadata") or 0, asked)


@asynccontextmanager
async def server(first_bytes: bytes, *, close: bool) -> AsyncIterator[tuple[str, int]]:
    """Run a server that sends these bytes to each client, and then closes the connection if `close` is true, or sends
    nothing more; yield its (host, port).
    """
    done = asyncio.Event()

    async def talk(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first_bytes)
        await writer.drain()
        if not close:
            await done.wait()
        writer.close()

    listening = await asyncio.start_server(talk, fake.LOOPBACK, 0)
    yield listening.sockets[0].getsockname()
    done.set()
    listening.close()


async def test_versions_are_the_highest_that_both_have() -> None:
    versions = {18: (0, 4), 3: (0, 99), 32: (1, 2), 44: (5, 9), 9: (0, 0)}
    async with fake.FakeBroker(fake.answering(b""), versions=versions) as broker:
        connection = await opened(broker)
        assert connection.version("metadata") == 13  # kio's highest
        assert connection.version("describe_configs") == 2  # the broker's highest
        assert connection.version("incremental_alter_configs") is None  # nothing in common: the broker's are newer
        assert connection.version("offset_fetch") is None  # nothing in common: the broker's are older
        assert connection.version("describe_acls") is None  # absent
        await connection.close()


async def test_answers_find_their_requests_when_many_are_under_way() -> None:
    bodies = [fake.metadata_body({node: ("h", 1)}, node) for node in range(20)]
    held: list[fake.Received] = []

    async def hold_until_all_are_there(conversation: fake.Conversation, request: fake.Received) -> None:
        held.append(request)
        if len(held) == len(bodies):
            for waiting, body in zip(held, bodies, strict=True):
                await conversation.answer(waiting, body)

    async with fake.FakeBroker(hold_until_all_are_there) as broker:
        connection = await opened(broker)
        answers = await asyncio.gather(*(connection.send(metadata(connection)) for _ in bodies))
        responses = [decode_body(response_type(raw.api, raw.version), raw.body) for raw in answers]
        assert [response.controller_id for response in responses] == list(range(20))
        assert broker.connections == 1
        await connection.close()


async def test_a_body_that_cant_be_read_leaves_the_connection_as_it_was() -> None:
    async with fake.FakeBroker(fake.answering(b"\xff" * 9), fake.answering(fake.metadata_body(BROKERS, 1))) as broker:
        connection = await opened(broker)
        garbage = await connection.send(metadata(connection))
        assert bytes(garbage.body) == b"\xff" * 9
        assert connection.is_open
        good = await connection.send(metadata(connection))
        assert decode_body(response_type("metadata", good.version), good.body).controller_id == 1
        await connection.close()


@pytest.mark.parametrize("kept", [1, 3, 4, 8, 12])
async def test_a_frame_cut_off_loses_the_connection_and_all_under_way(kept: int) -> None:
    async def half(conversation: fake.Conversation, request: fake.Received) -> None:
        await conversation.send((struct.pack(">ii", 60, request.correlation_id) + bytes(40))[:kept])
        conversation.writer.close()

    async with fake.FakeBroker(half) as broker:
        connection = await opened(broker)
        requests = [metadata(connection), metadata(connection)]
        results = await asyncio.gather(*map(connection.send, requests), return_exceptions=True)
        assert [type(result).__name__ for result in results] == ["KafkaConnectionError"] * 2
        assert all(request.sent for request in requests)
        assert not connection.is_open
        await connection.close()


async def test_a_frame_in_pieces_is_one_frame() -> None:
    async def crumbs(conversation: fake.Conversation, request: fake.Received) -> None:
        body = fake.metadata_body(BROKERS, 7)
        for byte in struct.pack(">ii", 5 + len(body), request.correlation_id) + b"\x00" + body:
            await conversation.send(bytes([byte]))

    async with fake.FakeBroker(crumbs) as broker:
        connection = await opened(broker)
        raw = await connection.send(metadata(connection))
        assert decode_body(response_type("metadata", raw.version), raw.body).controller_id == 7
        await connection.close()


async def test_an_answer_to_something_else_ends_the_connection() -> None:
    async def out_of_step(conversation: fake.Conversation, request: fake.Received) -> None:
        await conversation.send(struct.pack(">ii", 5, request.correlation_id + 1) + b"\x00")

    async with fake.FakeBroker(out_of_step) as broker:
        connection = await opened(broker)
        with pytest.raises(Exception, match="Correlation ids do not match"):
            await connection.send(metadata(connection))
        assert not connection.is_open
        await connection.close()


async def test_nothing_is_sent_on_a_lost_connection() -> None:
    async with fake.FakeBroker(fake.answering(fake.metadata_body(BROKERS, 1))) as broker:
        connection = await opened(broker)
        await connection.close()
        request = metadata(connection)
        with pytest.raises(Exception, match="No connection to broker"):
            await connection.send(request)
        assert not request.sent


@pytest.mark.parametrize(
    "start",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x03\x00\x02\x02\x50", bytes(8)],
)
async def test_a_server_that_is_no_broker_is_told_at_once(start: bytes) -> None:
    """If a server's first bytes are not a broker's, the client reports it at once, and does not wait for the gigabytes
    that the first four bytes announce as a length.
    """
    async with server(start, close=False) as address:
        with pytest.raises(ConnectFailed) as failed:
            await connect(*address, client_id="kac", limit=20, security=PLAIN)
    assert failed.value.stage is Stage.VERSIONS
    reason = failed.value.__cause__.__cause__  # type: ignore[union-attr]
    assert isinstance(reason, NotKafka)
    assert reason.start == start[:4]


async def test_a_server_that_says_nothing_takes_no_longer_than_the_limit() -> None:
    async with server(b"", close=False) as address:
        with pytest.raises(ConnectFailed) as failed:
            await connect(*address, client_id="kac", limit=0.05, security=PLAIN)
    assert failed.value.stage is Stage.VERSIONS
    assert isinstance(failed.value.__cause__, TimeoutError)


async def test_a_port_that_nobody_listens_on_fails_while_opening() -> None:
    async with server(b"", close=True) as address:
        pass
    with pytest.raises(ConnectFailed) as failed:
        await connect(*address, client_id="kac", limit=5, security=PLAIN)
    assert failed.value.stage is Stage.OPENING
    assert isinstance(failed.value.__cause__, ConnectionRefusedError)


async def test_the_recorder_sees_what_went_over_the_wire() -> None:
    exchanges: list[Exchange] = []
    async with fake.FakeBroker(fake.answering(fake.metadata_body(BROKERS, 1))) as broker:
        connection = await opened(broker, record=exchanges.append)
        raw = await connection.send(metadata(connection))
        (exchange,) = exchanges
        assert (exchange.key, exchange.version) == (fake.METADATA, raw.version)
        assert exchange.request == broker.received[0].frame
        assert exchange.response == struct.pack(">i", broker.received[0].correlation_id) + b"\x00" + bytes(raw.body)
        await connection.close()


async def test_the_textual_form_of_a_request_tells_nothing_of_its_contents() -> None:
    async with fake.FakeBroker(fake.answering(b"")) as broker:
        connection = await opened(broker)
        request = connection.prepare("describe_configs", 4, with_fields(resources=[(2, "tell-no-one", None)]))
        assert f"{request} {request!r}" == "<describe_configs v4> <describe_configs v4>"
        await connection.close()


async def test_a_retired_connection_waits_for_what_it_still_carries() -> None:
    release = asyncio.Event()

    async def late(conversation: fake.Conversation, request: fake.Received) -> None:
        await release.wait()
        await conversation.answer(request, fake.metadata_body(BROKERS, 3))

    async with fake.FakeBroker(late) as broker:
        connection = await opened(broker)
        answer = asyncio.ensure_future(connection.send(metadata(connection)))
        await broker.arrived(1)
        closing = asyncio.create_task(connection.close_when_idle(longest=20))
        release.set()
        raw = await answer
        assert decode_body(response_type("metadata", raw.version), raw.body).controller_id == 3
        await closing
        assert not connection.is_open


@given(st.floats(min_value=0.001, max_value=1e9))
def test_a_session_is_renewed_in_time(lifetime: float) -> None:
    """kac renews a session at a time between 15 and 5 % of its lifetime before its end; a short session two seconds
    before its end, and a very short one halfway.
    """
    left = lifetime - sasl.renewed_after(lifetime)
    assert left >= min(2.0, 0.5 * lifetime) * 0.999
    assert left >= 0.0499 * lifetime
    assert left <= max(0.1501 * lifetime, min(2.0, 0.5 * lifetime))


# -- Responses on an open connection: frames of all sizes, in pieces of all sizes, and buffers no larger than the data -

SIZES = (0, 1, 100, USUAL_BUFFER - 9, USUAL_BUFFER - 8, USUAL_BUFFER, 5 * USUAL_BUFFER + 3, 3_000_000, 7, 200_000, 1)
"""Sizes of response bodies in bytes: about the size of the buffer, larger ones, for which the buffer grows several
times, and small ones after them.
"""


def metadata_of(connection: Connection) -> AiokafkaRequest:
    asked = with_fields(topics=[], include_topic_authorized_operations=False)
    return connection.prepare("metadata", 12, asked)


class Stream:
    """A reply of the fake broker: it waits for all requests, and then sends all responses as one stream, cut into
    pieces at random places.
    """

    def __init__(self, bodies: list[bytes], rng: Random) -> None:
        self._bodies = bodies
        self._rng = rng
        self._requests: list[Received] = []

    async def reply(self, conversation: Conversation, request: Received) -> None:
        self._requests.append(request)
        if len(self._requests) < len(self._bodies):
            return
        pairs = zip(self._requests, self._bodies, strict=True)
        stream = b"".join(frame(each.correlation_id, body) for each, body in pairs)
        cuts = sorted(self._rng.randrange(len(stream)) for _ in range(self._rng.choice((0, 3, 40))))
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            await conversation.send(stream[start:end])


@pytest.fixture(scope="module", params=["PLAINTEXT", "SSL"])
def security(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Provide the keyword arguments of `connect` for a security protocol, and as ``server`` the TLS context of the
    broker.
    """
    if request.param == "PLAINTEXT":
        return {"security_protocol": "PLAINTEXT", "server": None}
    folder: Path = tmp_path_factory.mktemp("authority")
    authority = Authority(folder)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(str(authority.issue("broker", "127.0.0.1").pem))
    client = ssl.create_default_context(cafile=str(authority.pem))
    return {"security_protocol": "SSL", "ssl_context": client, "server": server}


@pytest.mark.parametrize("seed", range(6))
async def test_frames_of_all_sizes_in_pieces_of_all_sizes(seed: int, security: dict[str, object]) -> None:
    rng = Random(seed)
    bodies = [rng.randbytes(size) for size in rng.sample(SIZES, len(SIZES))]
    own = {name: value for name, value in security.items() if name != "server"}
    server = security["server"]
    assert server is None or isinstance(server, ssl.SSLContext)
    async with FakeBroker(Stream(bodies, rng).reply, tls=server) as broker:
        connection = await connect(*broker.address, client_id="kac", limit=20, security=own)
        answers = await asyncio.gather(*(connection.send(metadata_of(connection)) for _ in bodies))
        assert [answer.body for answer in answers] == bodies
        await connection.close()


async def test_what_is_announced_is_not_claimed() -> None:
    """If a broker announces a frame of a hundred megabytes, sends a thousand bytes and closes the connection, the
    client has not reserved memory for the announced length.
    """

    async def promise(conversation: Conversation, request: Received) -> None:
        await conversation.send(struct.pack(">ii", MAX_FRAME, request.correlation_id) + bytes(1000))
        conversation.writer.close()

    async with FakeBroker(promise) as broker:
        connection = await connect(*broker.address, client_id="kac", limit=20, security=PLAIN)
        request = metadata_of(connection)
        tracemalloc.start()
        try:
            with pytest.raises(Exception, match="closed"):
                await connection.send(request)
            assert tracemalloc.get_traced_memory()[1] < 20 * USUAL_BUFFER
        finally:
            tracemalloc.stop()
        await connection.close()


@pytest.mark.parametrize(
    ("prefix", "reason"), [(MAX_FRAME + 1, FrameTooLong), (2**31 - 1, FrameTooLong), (3, NotKafka), (-1, NotKafka)]
)
async def test_an_impossible_length_after_a_good_frame(prefix: int, reason: type[Exception]) -> None:
    async def good_then_bad(conversation: Conversation, request: Received) -> None:
        await conversation.send(frame(request.correlation_id, b"good") + struct.pack(">i", prefix) + bytes(100))

    async with FakeBroker(good_then_bad) as broker:
        connection = await connect(*broker.address, client_id="kac", limit=20, security=PLAIN)
        first, second = (asyncio.ensure_future(connection.send(metadata_of(connection))) for _ in range(2))
        assert (await first).body == b"good"
        with pytest.raises(Exception, match="closed") as lost:
            await second
        assert isinstance(lost.value.__cause__, reason)
        assert (too_long(lost.value) is not None) is (reason is FrameTooLong)
        assert not connection.is_open
        await connection.close()


async def test_a_frame_that_no_request_waits_for_closes_the_connection() -> None:
    async def twice(conversation: Conversation, request: Received) -> None:
        await conversation.send(2 * frame(request.correlation_id, b"good"))

    async with FakeBroker(twice) as broker:
        connection = await connect(*broker.address, client_id="kac", limit=20, security=PLAIN)
        assert (await connection.send(metadata_of(connection))).body == b"good"
        assert not connection.is_open
        await connection.close()


async def test_a_large_answer_that_is_no_longer_waited_for_leaves_the_next_one_whole() -> None:
    release = asyncio.Event()
    large = Random(1).randbytes(2_000_000)

    async def halves(conversation: Conversation, request: Received) -> None:
        whole = frame(request.correlation_id, large)
        await conversation.send(whole[: len(whole) // 2])
        await release.wait()
        await conversation.send(whole[len(whole) // 2 :])

    async def small(conversation: Conversation, request: Received) -> None:
        await conversation.answer(request, b"small")

    async with FakeBroker(halves, small) as broker:
        connection = await connect(*broker.address, client_id="kac", limit=20, security=PLAIN)
        given_up = asyncio.ensure_future(connection.send(metadata_of(connection)))
        await broker.arrived(1)
        given_up.cancel()
        await asyncio.wait({given_up})
        assert connection.is_idle
        second = asyncio.ensure_future(connection.send(metadata_of(connection)))
        release.set()
        assert (await second).body == b"small"
        await connection.close()


# -- Frames: headers and payloads, byte by byte ------------------------------------------------------------------------

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
    """A flexible request header still has the client id in the old string format, and ends with an empty section of
    tagged fields (RequestHeader.json).
    """
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
    with pytest.raises(bounds_check.MalformedFrame):
        frames.split_response(response_type("metadata", 12), frame)


def test_the_answer_to_apiversions_has_the_old_header_always() -> None:
    """The response to ApiVersions always has the old header, because the client does not know yet which versions the
    broker has (KIP-511).
    """
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
    throttle, brokers = b"\0\0\0\0", b"\xff\xff\xff\xff\x0f"  # 2³² - 2 brokers: 32 GiB of pointers
    with pytest.raises(bounds_check.MalformedFrame, match="brokers has 4294967294 elements in 20 bytes"):
        frames.decode_body(response_type("metadata", 9), throttle + brokers + bytes(20))


def test_the_response_header_follows_from_the_request_for_every_message_of_kafka() -> None:
    for api, versions in BY_VERSION.items():
        for version in versions:
            try:
                request, response = request_type(api, version), response_type(api, version)
            except KeyError:  # a record, not a request
                continue
            flexible = frames.has_flexible_response_header(api, request)
            assert flexible is response.__header_schema__.__flexible__, (api, version)


# -- throttled clients -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", sorted(THROTTLE_FIRST))
def test_an_answer_says_first_for_how_long_its_client_is_throttled(api: str) -> None:
    """From the version in `THROTTLE_FIRST` on, the throttle time is the first field of an API's response in Kafka's
    schemas, and kac reads it from there. For older versions kac does not know it.
    """
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
