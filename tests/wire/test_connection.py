"""One connection against servers that misbehave."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.wire.aiokafka_request import AiokafkaRequest, Exchange
from console.wire.connection import ConnectFailed, Connection, NotKafka, Stage, connect
from console.wire.frames import decode_body
from console.wire.sasl import renewed_after
from console.wire.schemas import response_type
from tests.support.kafka_messages import with_fields
from tests.wire import fake_broker as fake

BROKERS = {1: ("a.example", 9092)}
PLAIN = {"security_protocol": "PLAINTEXT"}


async def opened(broker: fake.FakeBroker, **options: object) -> Connection:
    return await connect(*broker.address, client_id="kac", limit=5, security=PLAIN, **options)  # type: ignore[arg-type]


def metadata(connection: Connection) -> AiokafkaRequest:
    asked = with_fields(topics=[], include_topic_authorized_operations=False)
    return connection.prepare("metadata", connection.version("metadata") or 0, asked)


@asynccontextmanager
async def server(first_bytes: bytes, *, close: bool) -> AsyncIterator[tuple[str, int]]:
    """A server that says this to whoever connects, and then nothing, or good-bye."""
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
        assert connection.version("incremental_alter_configs") is None  # nothing in common: newer
        assert connection.version("offset_fetch") is None  # nothing in common: older
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
    """Not after waiting for the gigabytes that its first four bytes announce."""
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
        request = connection.prepare(
            "describe_configs",
            4,
            lambda kio: kio.DescribeConfigsRequest(
                resources=(
                    kio.DescribeConfigsResource(resource_type=2, resource_name="tell-no-one", configuration_keys=None),
                )
            ),
        )
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
    """With two seconds left, or half of a short one; a long one not earlier than with a seventh left."""
    left = lifetime - renewed_after(lifetime)
    assert left >= min(2.0, 0.5 * lifetime) * 0.999
    assert left >= 0.0499 * lifetime
    assert left <= max(0.1501 * lifetime, min(2.0, 0.5 * lifetime))
