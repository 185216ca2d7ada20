"""Tests of the link to brokers that misbehave: it reconnects, retries reads, routes requests, and sends a change only
once.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from console.admin import errors
from console.admin.link import ANY, CONTROLLER, Link, broker
from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.secret import Secret
from tests.support.kafka_messages import with_fields
from tests.support.patience import PATIENCE
from tests.wire import fake_broker as fake

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
ONE = {1: ("a.example", 9092)}
GOOD = fake.answering(fake.metadata_body(ONE, 1))


ask = with_fields(topics=[], include_topic_authorized_operations=False)
create = with_fields(topics=[], timeout=0)


@asynccontextmanager
async def linked(*addresses: tuple[str, int], **settings: Any) -> AsyncIterator[Link]:
    defaults: dict[str, Any] = {"request_timeout": 20.0, "connect_timeout": 20.0}
    link = Link(ConnectionSettings(bootstrap=addresses, **(defaults | settings)))
    try:
        yield link
    finally:
        await link.close()


async def lost(link: Link, alive: fake.FakeBroker) -> None:
    """Cut every connection, and wait until the link has noticed."""
    connection = await link.routes.connections.any_of(())
    alive.drop_clients()
    while connection.is_open:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def nobody() -> tuple[str, int]:
    """Return an address that refuses connections."""
    server = await asyncio.start_server(lambda _reader, _writer: None, fake.LOOPBACK, 0)
    address: tuple[str, int] = server.sockets[0].getsockname()
    server.close()
    return address


# --- connecting


async def test_one_dead_address_does_not_matter_and_an_unknown_host_is_named() -> None:
    async with fake.FakeBroker(GOOD) as alive, linked(await nobody(), alive.address) as link:
        assert (await link.call("metadata", ask)).controller_id == 1
    async with linked(("no-such-host.invalid", 9092)) as link:
        with pytest.raises(errors.Unreachable, match=r"no-such-host\.invalid:9092: the host name is not known"):
            await link.call("metadata", ask)


async def test_an_address_that_hangs_does_not_cost_its_timeout() -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    hanging = await asyncio.start_server(mute, fake.LOOPBACK, 0)
    address = hanging.sockets[0].getsockname()
    settings = {"connect_timeout": 2 * PATIENCE, "request_timeout": 2 * PATIENCE}
    async with (
        hanging,
        fake.FakeBroker(GOOD) as alive,
        asyncio.timeout(PATIENCE),
        linked(address, alive.address, **settings) as link,
    ):
        assert (await link.call("metadata", ask)).controller_id == 1


async def test_when_no_address_answers_one_line_names_them_all() -> None:
    addresses = [await nobody(), await nobody()]
    async with linked(*addresses) as link:
        with pytest.raises(errors.Unreachable) as failed:
            await link.call("metadata", ask)
    told = failed.value.failure
    assert all(f"{host}:{port}" in told.message for host, port in addresses)
    assert "refused" in told.message
    assert "\n" not in told.message
    assert told.remedy.count("broker is up") == 1


async def test_a_first_connection_that_fails_is_not_tried_for_long() -> None:
    async with linked(await nobody(), request_timeout=2 * PATIENCE) as link, asyncio.timeout(PATIENCE):
        with pytest.raises(errors.Unreachable):
            await link.call("metadata", ask)


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x50", errors.TlsFailed, "looks like a TLS listener"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", errors.NotKafkaBroker, "answers with HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", errors.NotKafkaBroker, "answers with SSH-"),
        (b"\x1b[2J\xff", errors.NotKafkaBroker, r"answers with \\x1b\[2J"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x01zz", errors.NotKafkaBroker, "can't be read"),
        (b"", errors.ClosedAtOnce, "closed the connection without an answer: a TLS listener, or not Kafka"),
    ],
)
async def test_what_is_no_plaintext_kafka_listener_is_told(
    start: bytes, error: type[errors.AdminError], message: str
) -> None:
    async def talk(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        writer.close()

    server = await asyncio.start_server(talk, fake.LOOPBACK, 0)
    address = server.sockets[0].getsockname()
    async with server, linked(address) as link:
        with pytest.raises(error, match=message) as failed:
            await link.call("metadata", ask)
    assert f"{address[0]}:{address[1]}" in failed.value.failure.message
    assert failed.value.failure.remedy


async def test_callers_at_the_same_time_share_one_connection_and_one_refresh() -> None:
    async with fake.FakeBroker(GOOD) as alive, linked(alive.address) as link:
        await asyncio.gather(*(link.call("metadata", ask) for _ in range(8)))
        assert alive.connections == 1
        assert len(alive.received) == 8
    async with fake.FakeBroker(GOOD) as alive, linked(alive.address) as link:
        await asyncio.gather(*(link.refresh() for _ in range(5)))
        assert len(alive.received) == 1


async def test_a_lost_connection_is_opened_again_when_needed() -> None:
    async with fake.FakeBroker(GOOD, fake.cut, GOOD) as alive, linked(alive.address) as link:
        await link.call("metadata", ask)
        assert (await link.call("metadata", ask)).controller_id == 1
        assert alive.connections == 2


async def test_after_a_loss_another_broker_answers() -> None:
    async with fake.FakeBroker(GOOD) as second:
        brokers = fake.answering(fake.metadata_body({2: second.address}, 2))
        async with fake.FakeBroker(brokers, fake.cut) as first, linked(first.address) as link:
            await link.nodes()
            first.stop_listening()
            assert (await link.call("metadata", ask)).controller_id == 1
            assert len(second.received) == 1


# --- reads and changes


async def test_a_read_is_tried_again_and_not_for_ever() -> None:
    async with (
        fake.FakeBroker(GOOD, fake.cut, fake.cut, GOOD) as alive,
        linked(alive.address) as link,
    ):
        await link.call("metadata", ask)
        assert (await link.call("metadata", ask)).controller_id == 1
        assert len(alive.received) == 4
    async with fake.FakeBroker(GOOD, fake.cut) as alive, linked(alive.address) as link:
        await link.call("metadata", ask)
        with pytest.raises(errors.Disconnected, match=f"{alive.address[0]}:{alive.address[1]} was lost"):
            await link.call("metadata", ask)
        assert len(alive.received) == 1 + 5


async def test_a_read_without_an_answer_times_out_and_its_connection_is_left() -> None:
    async with fake.FakeBroker(fake.silence, GOOD) as alive, linked(alive.address) as link:
        with pytest.raises(errors.RequestTimedOut, match="did not answer metadata in time"):
            await link.call("metadata", ask, timeout=0.05)
        assert (await link.call("metadata", ask)).controller_id == 1
        assert alive.connections == 2


@pytest.mark.parametrize("lost", [fake.cut, fake.silence])
async def test_a_change_is_sent_once_and_its_outcome_is_unknown(lost: fake.Reply) -> None:
    async with fake.FakeBroker(GOOD, lost) as alive, linked(alive.address) as link:
        await link.call("metadata", ask)
        with pytest.raises(errors.OutcomeUnknown):
            await link.call("create_topics", create, change=True, timeout=0.2)
        assert [request.key for request in alive.received] == [fake.METADATA, fake.CREATE_TOPICS]


async def test_a_change_on_a_connection_found_lost_before_sending_is_sent_on_a_new_one() -> None:
    async with (
        fake.FakeBroker(GOOD, fake.answering(fake.create_topics_body(0))) as alive,
        linked(alive.address) as link,
    ):
        await link.call("metadata", ask)
        await lost(link, alive)
        response = await link.call("create_topics", create, change=True)
        assert response.topics[0].error_code == 0
        assert [request.key for request in alive.received].count(fake.CREATE_TOPICS) == 1


async def test_a_change_goes_to_another_broker_where_connecting_fails() -> None:
    async with (
        fake.FakeBroker(fake.answering(fake.create_topics_body(0))) as alive,
        linked(await nobody(), alive.address) as link,
    ):
        assert (await link.call("create_topics", create, change=True)).topics[0].name == "t0"


async def test_cancelling_a_read_leaves_the_connection_in_step() -> None:
    release = asyncio.Event()

    async def late(conversation: fake.Conversation, request: fake.Received) -> None:
        await release.wait()
        await conversation.answer(request, fake.metadata_body(ONE, 7))

    async with fake.FakeBroker(late, GOOD) as alive, linked(alive.address) as link:
        reading = asyncio.create_task(link.call("metadata", ask))
        await alive.arrived(1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        release.set()
        assert (await link.call("metadata", ask)).controller_id == 1
        assert alive.connections == 1


# --- answers


async def test_an_answer_that_cant_be_read_is_told_and_the_connection_goes_on() -> None:
    async with fake.FakeBroker(fake.answering(b"\xff\xff"), GOOD) as alive, linked(alive.address) as link:
        with pytest.raises(errors.BadAnswer, match="the answer to metadata can't be read"):
            await link.call("metadata", ask)
        await link.call("metadata", ask)
        assert alive.connections == 1


async def test_an_api_that_the_broker_lacks_is_a_missing_capability() -> None:
    async with fake.FakeBroker(GOOD) as alive, linked(alive.address) as link:
        with pytest.raises(errors.Unsupported, match="this server does not have describe_user_scram_credentials"):
            await link.call("describe_user_scram_credentials", lambda kio: kio.DescribeUserScramCredentialsRequest())
        assert await link.version("describe_user_scram_credentials") is None
        assert await link.version("metadata") == 13
        assert await link.require("describe_configs", 4, "2.8") == 4
        with pytest.raises(errors.Unsupported, match="has describe_configs up to version 4"):
            await link.require("describe_configs", 5, "9.9")


async def test_what_cant_be_encoded_is_told_and_nothing_is_sent() -> None:
    odd = with_fields(resources=[(2, "\udcff", None)])
    async with fake.FakeBroker(GOOD) as alive, linked(alive.address) as link:
        with pytest.raises(errors.NotSendable, match="surrogates not allowed"):
            await link.call("describe_configs", odd, change=True)
        assert alive.received == []


async def test_a_listener_that_turns_unauthenticated_clients_away_is_told() -> None:
    """If a listener answers ApiVersions and closes the connection at the next request, the error says that it seems to
    require SASL.
    """
    async with fake.FakeBroker(fake.cut) as alive, linked(alive.address) as link:
        with pytest.raises(errors.AuthenticationFailed, match="seems to want SASL") as failed:
            await link.call("metadata", ask)
        assert "security.protocol=SASL_" in failed.value.failure.remedy
        assert len(alive.received) == 2


async def test_refused_credentials_are_not_tried_again_and_again() -> None:
    """Credentials that a broker refused are not sent again: a console refreshes every few seconds, and repeated
    refusals would lock the account.
    """

    async def handshake(conversation: fake.Conversation, request: fake.Received) -> None:
        await conversation.send(struct.pack(">iihih", 4 + 2 + 4 + 2 + 5, request.correlation_id, 0, 1, 5) + b"PLAIN")

    async def refuse(conversation: fake.Conversation, request: fake.Received) -> None:
        body = struct.pack(">hh", 58, 4) + b"no!!" + struct.pack(">i", 0)
        await conversation.send(struct.pack(">ii", 4 + len(body), request.correlation_id) + body)

    sasl = SaslSettings("PLAIN", "alice", Secret("wrong"))
    versions = fake.KRAFT | {SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 0)}
    async with (
        fake.FakeBroker(handshake, refuse, versions=versions) as alive,
        linked(alive.address, security_protocol="SASL_PLAINTEXT", sasl=sasl) as link,
    ):
        for _ in range(3):
            with pytest.raises(errors.AuthenticationFailed, match="refused the PLAIN credentials: no!!"):
                await link.call("metadata", ask)
        assert [request.key for request in alive.received] == [SASL_HANDSHAKE, SASL_AUTHENTICATE]


# --- routes


async def test_a_broker_is_reached_at_its_advertised_address_over_one_connection() -> None:
    async with fake.FakeBroker(GOOD) as second:
        brokers = fake.answering(fake.metadata_body({2: second.address}, 2))
        async with fake.FakeBroker(brokers) as first, linked(first.address) as link:
            await asyncio.gather(*(link.call("metadata", ask, to=broker(2)) for _ in range(4)))
            assert (len(first.received), len(second.received)) == (1, 4)
            assert (first.connections, second.connections) == (1, 1)


async def test_the_connection_in_hand_serves_its_broker_and_any() -> None:
    async with fake.FakeBroker(GOOD) as alive, linked(alive.address) as link:
        alive.replies = [fake.answering(fake.metadata_body({1: alive.address}, 1))]
        await link.call("metadata", ask, to=broker(1))
        assert alive.connections == 1
    async with fake.FakeBroker(GOOD) as alive, linked(alive.address) as link:
        await link.call("metadata", ask, to=ANY)
        assert alive.connections == 1


async def test_an_unknown_broker_names_those_that_are_there() -> None:
    async with (
        fake.FakeBroker(fake.answering(fake.metadata_body({1: ("a", 1), 5: ("b", 1)}, 1))) as alive,
        linked(alive.address) as link,
    ):
        with pytest.raises(errors.UnknownBroker, match="no broker 7 is alive: there are 1, 5"):
            await link.call("metadata", ask, to=broker(7))
        assert len(alive.received) == 1


async def test_a_broker_that_moved_is_found_at_its_new_address() -> None:
    async with fake.FakeBroker(GOOD) as moved, fake.FakeBroker() as seed, linked(seed.address) as link:
        seed.replies = [
            fake.answering(fake.metadata_body({2: await nobody()}, 2)),
            fake.answering(fake.metadata_body({2: moved.address}, 2)),
        ]
        assert (await link.call("metadata", ask, to=broker(2))).controller_id == 1
        assert len(moved.received) == 1


async def test_a_broker_at_an_address_that_cant_be_reached_is_named_with_its_listeners() -> None:
    dead = await nobody()
    async with (
        fake.FakeBroker(fake.answering(fake.metadata_body({2: dead}, 2))) as seed,
        linked(seed.address) as link,
    ):
        with pytest.raises(errors.Unreachable, match=f"broker 2 at {dead[0]}:{dead[1]}") as failed:
            await link.call("metadata", ask, to=broker(2))
        assert "advertised.listeners" in failed.value.failure.remedy


async def test_in_kraft_any_broker_takes_what_is_for_the_controller() -> None:
    async with (
        fake.FakeBroker(fake.answering(fake.create_topics_body(0)), versions=fake.KRAFT) as alive,
        linked(alive.address) as link,
    ):
        await link.call("create_topics", create, to=CONTROLLER, change=True)
        assert [request.key for request in alive.received] == [fake.CREATE_TOPICS]


async def test_with_zookeeper_the_controller_is_asked_and_followed_when_it_moves() -> None:
    refused, done = fake.answering(fake.create_topics_body(41, 41)), fake.answering(fake.create_topics_body(0, 36))
    async with (
        fake.FakeBroker(refused, versions=fake.ZOOKEEPER) as old,
        fake.FakeBroker(done, versions=fake.ZOOKEEPER) as new,
    ):
        nodes = {1: old.address, 2: new.address}
        replies = [fake.answering(fake.metadata_body(nodes, 1)), fake.answering(fake.metadata_body(nodes, 2))]
        async with (
            fake.FakeBroker(*replies, versions=fake.ZOOKEEPER) as seed,
            linked(seed.address) as link,
        ):
            response = await link.call("create_topics", create, to=CONTROLLER, change=True)
            assert [topic.error_code for topic in response.topics] == [0, 36]
            assert (len(seed.received), len(old.received), len(new.received)) == (2, 1, 1)


async def test_a_change_that_some_refuse_is_not_sent_again() -> None:
    """If a broker has applied a part of a change and refused another, kac does not send the change again."""
    async with (
        fake.FakeBroker(fake.answering(fake.create_topics_body(0, 41))) as alive,
        linked(alive.address) as link,
    ):
        response = await link.call("create_topics", create, to=CONTROLLER, change=True)
        assert [topic.error_code for topic in response.topics] == [0, 41]
        assert len(alive.received) == 1


async def test_no_controller_at_all_is_told() -> None:
    async with (
        fake.FakeBroker(fake.answering(fake.metadata_body(ONE, -1)), versions=fake.ZOOKEEPER) as seed,
        linked(seed.address) as link,
    ):
        with pytest.raises(errors.UnknownBroker, match="no controller"):
            await link.call("create_topics", create, to=CONTROLLER, change=True)
