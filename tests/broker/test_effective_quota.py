"""Tests of kac's computation of the quota that applies to a client, against real brokers: which clients they throttle,
with limits on all eight levels of precedence.

Each limit is either far below or far above what the client sends. So the broker's throttling shows which limit it used.
"""

import contextlib
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.model.changes import AlterQuotas, CreateTopics, DeleteTopics, NewTopic
from console.model.quota import USER_LEVELS, QuotaEntity, effective, levels
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.slow

KEY = "producer_byte_rate"
LOW, HIGH = 2_000.0, 1e9
"""Two quotas in bytes per second. In the ten seconds of a broker's window, one `BIG` exceeds the low one, and all
records together stay below the high one.
"""
BIG, SMALL = b"x" * 100_000, b"x"
TOPIC = "quota-levels"
NOBODY = "ANONYMOUS"
USERS = (NOBODY, "admin", "alice")
Parts = Mapping[str, str | None]
Limits = Sequence[tuple[Parts, float]]
Pair = tuple[str, str]


class Clients:
    """Producers for pairs of user and client id, and the limits that tests set for them."""

    def __init__(self, cluster: KafkaCluster, admin: AdminClient) -> None:
        self._cluster = cluster
        self._admin = admin
        self._set: list[Parts] = []
        self._sentinels = 0

    def set(self, limits: Limits) -> None:
        ops: dict[QuotaEntity, dict[str, float | None]] = {
            QuotaEntity.of(dict(each)): {KEY: None} for each in self._set
        }
        ops |= {QuotaEntity.of(dict(parts)): {KEY: value} for parts, value in limits}
        self._set = [parts for parts, _ in limits]
        if ops:
            self._send(AlterQuotas(ops))

    def refusal(self, parts: Parts) -> str:
        """Return the message with which the broker refuses a limit for this entity."""
        wanted = AlterQuotas({QuotaEntity.of(dict(parts)): {KEY: LOW}})
        (outcome,) = self._admin.submit(changes.send, wanted, validate_only=False).result(PATIENCE)
        assert outcome.failure is not None
        return outcome.failure.message

    def _send(self, request: Any) -> None:
        for outcome in self._admin.submit(changes.send, request, validate_only=False).result(PATIENCE):
            assert outcome.ok, outcome

    def make_topic(self) -> None:
        self._send(CreateTopics((NewTopic(TOPIC, 1, 1),)))

    def close(self) -> None:
        """Delete all limits and the topic."""
        self.set([])
        self._send(DeleteTopics((TOPIC,)))

    async def limited(self, limits: Limits) -> None:
        """Set these limits, and wait until the broker uses them: until it throttles an additional client whose limit
        is set in the same request. Raises AssertionError after `PATIENCE` seconds.
        """
        self._sentinels += 1
        pair = (NOBODY, f"sentinel-{self._sentinels}")
        self.set([*limits, ({"user": pair[0], "client-id": pair[1]}, LOW)])
        deadline = time.monotonic() + PATIENCE
        async with self.producer(pair) as producer:
            while not await self.throttled(producer, pair, BIG):
                assert time.monotonic() < deadline, "the limits do not count after 30 s"

    @contextlib.asynccontextmanager
    async def producer(self, pair: Pair) -> AsyncIterator[AIOKafkaProducer]:
        user, client = pair
        settings: dict[str, Any] = {"bootstrap_servers": self._cluster.bootstrap}
        if user != NOBODY:
            settings = {
                "bootstrap_servers": ",".join(f"{host}:{port}" for host, port in self._cluster.login_addresses),
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": user,
                "sasl_plain_password": self._cluster.users[user],
            }
        producer = AIOKafkaProducer(client_id=client, acks=1, linger_ms=0, max_request_size=1 << 20, **settings)
        await producer.start()
        try:
            yield producer
        finally:
            await producer.stop()

    async def throttled(self, producer: AIOKafkaProducer, pair: Pair, value: bytes) -> bool:
        """Send a record with this value; return whether the broker throttles the client for it, by its request log."""
        mark = self._cluster.request_log.mark()
        await producer.send_and_wait(TOPIC, value)
        (logged,) = self._cluster.request_log.wait_for(1, "PRODUCE", since=mark, client_id=pair[1])
        assert logged.principal == f"User:{pair[0]}"
        return bool(logged.response["throttleTimeMs"])

    async def sends(self, pair: Pair, value: bytes = BIG) -> bool:
        async with self.producer(pair) as producer:
            return await self.throttled(producer, pair, value)


@pytest.fixture
def clients(kafka: KafkaCluster) -> Any:
    admin = AdminClient(ConnectionSettings(kafka.addresses))
    admin.start()
    with contextlib.closing(admin):
        made = Clients(kafka, admin)
        made.make_topic()
        with contextlib.closing(made):
            yield made


def known(limits: Limits) -> dict[QuotaEntity, dict[str, float]]:
    return {QuotaEntity.of(parts): {KEY: value} for parts, value in limits}


def against_each_other(winner: int, pair: Pair, value: float) -> Limits:
    """Return a limit on one level for a pair of user and client id, and the opposite limit on all levels of lower
    precedence.

    winner: the level, 1 (the highest) to 8. value: its limit, `LOW` or `HIGH`.
    """
    user, client = pair
    parts: tuple[Parts, ...] = (
        {"user": user, "client-id": client},
        {"user": user, "client-id": None},
        {"user": user},
        {"user": None, "client-id": client},
        {"user": None, "client-id": None},
        {"user": None},
        {"client-id": client},
        {"client-id": None},
    )
    assert tuple(QuotaEntity.of(each) for each in parts) == levels(user, client)
    other = HIGH if value == LOW else LOW
    return [(parts[winner - 1], value), *((each, other) for each in parts[winner:])]


async def test_a_broker_throttles_where_the_resolver_says(clients: Clients) -> None:
    # Each level decides once with the low limit and once with the high one.
    for winner in range(1, 9):
        user = USERS[winner % 3]
        for value in (LOW, HIGH):
            pair = (user, f"level-{winner}-{value:.0f}")
            limits = against_each_other(winner, pair, value)
            await clients.limited(limits)
            found = effective(known(limits), *pair, KEY)
            assert found is not None
            assert (found.level, found.value) == (winner, value)
            assert await clients.sends(pair) == (value == LOW), (winner, value)


async def test_a_client_without_an_id_falls_under_the_users_own_limits_alone(clients: Clients) -> None:
    for empty in ({"client-id": ""}, {"user": "alice", "client-id": ""}, {"user": None, "client-id": ""}):
        assert clients.refusal(empty) == "Empty client-id not supported"
    throttled = set()
    for level in range(1, 9):
        user = USERS[level % 3]
        against = against_each_other(level, (user, ""), LOW)
        for limits in (against[:1], against):
            there = [each for each in limits if each[0].get("client-id") != ""]
            await clients.limited(there)
            found = effective(known(there), user, "", KEY)
            assert await clients.sends((user, "")) == (found is not None and found.value == LOW), there
            throttled |= {found.level} if found is not None and found.value == LOW else set()
    assert throttled == set(USER_LEVELS)


async def test_a_broker_agrees_on_random_limits(clients: Clients) -> None:
    chosen = random.Random(2)
    seen = set()
    for turn in range(4):
        names = (f"a-{turn}", f"b,{turn} %*+=ü")
        entities: list[Parts] = [
            {kind: name for kind, name in (("user", user), ("client-id", client)) if name != ""}
            for user in (*USERS, None, "")
            for client in (*names, None, "")
            if (user, client) != ("", "")
        ]
        limits = [(parts, chosen.choice([LOW, HIGH])) for parts in chosen.sample(entities, 3 + turn * 3)]
        await clients.limited(limits)
        for pair in [(user, client) for user in USERS for client in (*names, "")]:
            found = effective(known(limits), *pair, KEY)
            assert await clients.sends(pair) == (found is not None and found.value == LOW), (pair, limits)
            seen.add((found and found.level, pair[1] == ""))
    assert len(seen) > 6


async def test_a_limit_is_shared_as_its_level_says(clients: Clients) -> None:
    await clients.limited(
        [
            ({"user": "alice"}, LOW),
            ({"user": "alice", "client-id": "own"}, LOW),
            ({"client-id": "shared"}, LOW),
        ]
    )
    async with contextlib.AsyncExitStack() as stack:
        pairs = [
            ("alice", "first"),
            ("alice", "second"),
            ("alice", "own"),
            ("admin", "shared"),
            (NOBODY, "shared"),
            (NOBODY, "other"),
        ]
        made = {pair: await stack.enter_async_context(clients.producer(pair)) for pair in pairs}

        async def throttled(pair: Pair, value: bytes) -> bool:
            return await clients.throttled(made[pair], pair, value)

        # A user's clients share the user's limit, except the client that has its own.
        assert await throttled(("alice", "first"), BIG)
        assert await throttled(("alice", "second"), SMALL)
        assert not await throttled(("alice", "own"), SMALL)
        # Users share the limit of a client id.
        assert await throttled(("admin", "shared"), BIG)
        assert await throttled((NOBODY, "shared"), SMALL)
        assert not await throttled((NOBODY, "other"), SMALL)
