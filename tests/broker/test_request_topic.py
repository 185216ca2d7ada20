"""Request logs that are shipped into a topic: `kac lake follow` takes in each line once, whenever it is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from aiokafka.admin import NewTopic as AIOKafkaNewTopic
from aiokafka.helpers import create_ssl_context  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.history.schema import ALTER_REQUEST, QUARANTINE, REQUEST_1S
from console.history.store import Lake
from console.model.changes import CreateTopics, DeleteTopics, NewTopic
from tests.broker.test_lake_follow import until
from tests.history.lake_rows import rows_of
from tests.history.request_lines import alter_configs, produce
from tests.support.kafka_cluster import KafkaCluster

WAVE = 40
"""Lines between two kills."""
AT = datetime(2026, 11, 21, 10, 59, 30, 123000)

Line = tuple[bytes | None, bytes]
"""A record's key and value."""


def wave(number: int) -> list[Line]:
    """Lines of two brokers, some in the same second, around the end of an hour; a change; and what can't be read."""
    at = AT + timedelta(seconds=number % 60)
    made = [produce(100, at=at + timedelta(milliseconds=place), principal="User:p") for place in range(WAVE - 4)]
    lines = [(str(1 + place % 2).encode(), each.line.encode()) for place, each in enumerate(made)]
    change = alter_configs([("retention.ms", 0, "1")], resource=(2, f"t-{number}"), at=at, correlation_id=number)
    wrapped = json.dumps({"@timestamp": "x", "message": change.line.rstrip("\n")}).encode()
    return [
        *lines,
        (b"1", wrapped),
        (b"1", b"[2026-11-21 10:00:00,000] DEBUG Completed request:{torn (kafka.request.logger) %d\n" % number),
        (None, b"no key %d" % number),
        (b"2", b"another logger's line"),
    ]


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.timeout(3600)
async def test_every_line_is_taken_in_once(plain_cluster: KafkaCluster, tmp_path: Path, name: str, kills: int) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    with AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses)) as client:
        await client.run(send, CreateTopics((NewTopic(name, 2, 1),)), validate_only=False)
        try:
            for number in range(kills + 1):
                process = await follow(lake, "-b", plain_cluster.bootstrap, "--request-topic", name)
                known = set(folders(lake))
                await ship(AIOKafkaProducer(bootstrap_servers=plain_cluster.bootstrap), name, wave(number))
                if number == kills:
                    await until(lambda: taken(lake) == (kills + 1) * (WAVE - 3))
                elif number % 2:  # while it writes
                    await until(lambda known=known: bool(set(folders(lake)) - known))  # type: ignore[misc]
                else:
                    await until(lambda number=number: taken(lake) > number * (WAVE - 3))  # type: ignore[misc]
                process.send_signal(signal.SIGINT if number == kills else signal.SIGKILL)
                assert await process.wait() == (0 if number == kills else -signal.SIGKILL)
        finally:
            await client.run(send, DeleteTopics((name,)), validate_only=False)
    waves = kills + 1
    assert taken(lake) == waves * (WAVE - 3)
    entities = [row[ALTER_REQUEST.names.index("entity_key")] for row in rows_of(lake, ALTER_REQUEST.name)]
    assert sorted(entities) == sorted(f"t-{number}" for number in range(waves))
    reasons = [row[QUARANTINE.names.index("reason")] for row in rows_of(lake, QUARANTINE.name)]
    assert len(reasons) == 2 * waves
    assert sum(reason == "the record's key is not the id of a broker" for reason in reasons) == waves
    names = REQUEST_1S.key
    keys = [tuple(row[REQUEST_1S.names.index(each)] for each in names) for row in rows_of(lake, REQUEST_1S.name)]
    assert len(set(keys)) == len(keys)
    assert {key[REQUEST_1S.key.index("broker_id")] for key in keys} == {1, 2}


async def test_it_is_read_as_the_context_says(secure_cluster: KafkaCluster, tmp_path: Path, name: str) -> None:
    """SASL and TLS, as for everything else; and without the right to read there is one line that says so."""
    lake = Lake.create(str(tmp_path / "lake"))
    admin = ("-b", secure_cluster.bootstrap, "--command-config", str(secure_cluster.client_properties()))
    client = AIOKafkaAdminClient(**login(secure_cluster))
    await client.start()
    try:
        await client.create_topics([AIOKafkaNewTopic(name, 1, 1)])
        await ship(AIOKafkaProducer(**login(secure_cluster)), name, wave(0))
        process = await follow(lake, *admin, "--request-topic", name)
        await until(lambda: taken(lake) == WAVE - 3)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
        alice = ("-b", secure_cluster.bootstrap, "--command-config", str(secure_cluster.client_properties("alice")))
        refused = await follow(lake, *alice, "--request-topic", name, "--cluster-id", "x")
        assert refused.stderr is not None
        line = (await refused.stderr.readline()).decode()
        assert name in line
        assert "AUTHORIZATION" in line
        refused.send_signal(signal.SIGINT)
        assert await refused.wait() == 0
    finally:
        await client.delete_topics([name])
        await client.close()


async def follow(lake: Lake, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "console",
        *("lake", "follow", "--lake", lake.where, *words),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )


def login(cluster: KafkaCluster) -> dict[str, Any]:
    return {
        "bootstrap_servers": cluster.bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "admin",
        "sasl_plain_password": cluster.users["admin"],
        "ssl_context": create_ssl_context(cafile=str(cluster.authority.pem)),
    }


async def ship(producer: AIOKafkaProducer, topic: str, lines: Sequence[Line]) -> None:
    await producer.start()
    try:
        for key, value in lines:
            await producer.send(topic, value, key=key)
        await producer.flush()
    finally:
        await producer.stop()


def taken(lake: Lake) -> int:
    """Requests that were counted, and changes."""
    place = REQUEST_1S.names.index("requests")
    return sum(row[place] for row in rows_of(lake, REQUEST_1S.name, without=()))


def folders(lake: Lake) -> list[str]:
    """What runs have begun to write of the sums."""
    return [path.name for path in Path(lake.where, "data", REQUEST_1S.name).glob("v=*")]
