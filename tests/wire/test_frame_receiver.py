"""How an open connection receives: frames of all sizes, in pieces of all sizes, in a buffer that claims nothing."""

from __future__ import annotations

import asyncio
import ssl
import struct
import tracemalloc
from pathlib import Path
from random import Random

import pytest

from console.wire.aiokafka_request import AiokafkaRequest
from console.wire.connection import (
    MAX_FRAME,
    USUAL_BUFFER,
    Connection,
    FrameTooLong,
    NotKafka,
    connect,
    too_long,
)
from tests.support.certificates import Authority
from tests.support.kafka_messages import with_fields
from tests.wire.fake_broker import Conversation, FakeBroker, Received, frame

SIZES = (0, 1, 100, USUAL_BUFFER - 9, USUAL_BUFFER - 8, USUAL_BUFFER, 5 * USUAL_BUFFER + 3, 3_000_000, 7, 200_000, 1)
"""Of bodies: about that of the buffer, and of frames that make it grow more than once, and small ones after them."""


PLAIN = {"security_protocol": "PLAINTEXT"}


def metadata(connection: Connection) -> AiokafkaRequest:
    asked = with_fields(topics=[], include_topic_authorized_operations=False)
    return connection.prepare("metadata", 12, asked)


class Stream:
    """Waits for as many requests as there are bodies, and sends all answers as one stream, cut at random places."""

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
    """What `connect` takes, and under ``server`` what the broker does."""
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
        answers = await asyncio.gather(*(connection.send(metadata(connection)) for _ in bodies))
        assert [answer.body for answer in answers] == bodies
        await connection.close()


async def test_what_is_announced_is_not_claimed() -> None:
    """A hundred megabytes are announced, a thousand bytes are sent, and the connection ends."""

    async def promise(conversation: Conversation, request: Received) -> None:
        await conversation.send(struct.pack(">ii", MAX_FRAME, request.correlation_id) + bytes(1000))
        conversation.writer.close()

    async with FakeBroker(promise) as broker:
        connection = await connect(*broker.address, client_id="kac", limit=20, security=PLAIN)
        request = metadata(connection)
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
        first, second = (asyncio.ensure_future(connection.send(metadata(connection))) for _ in range(2))
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
        assert (await connection.send(metadata(connection))).body == b"good"
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
        given_up = asyncio.ensure_future(connection.send(metadata(connection)))
        await broker.arrived(1)
        given_up.cancel()
        await asyncio.wait({given_up})
        assert connection.is_idle
        second = asyncio.ensure_future(connection.send(metadata(connection)))
        release.set()
        assert (await second).body == b"small"
        await connection.close()
