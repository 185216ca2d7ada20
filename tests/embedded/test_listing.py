"""`list` as scripts read it: the lag of groups in every form, and what a filter that can match nothing says."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.embedded.spec import ClusterSpec
from tests.support import worlds

Kac = Callable[..., tuple[int, str, str]]


cluster = worlds.cluster(
    ClusterSpec(brokers=1),
    worlds.topic("orders", 2, brokers=[1]),
    after=lambda cluster: asyncio.run(consume(cluster.bootstrap, {"behind": 3, "caught-up": 10})),
    scope="module",
)
"""A group 7 records behind, and one that has read everything."""


async def consume(bootstrap: str, committed: dict[str, int]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(10):
            await producer.send_and_wait("orders", b"x", partition=0)
    for group, offset in committed.items():
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        try:
            consumer.assign([TopicPartition("orders", 0)])
            await consumer.commit({TopicPartition("orders", 0): offset})
        finally:
            await consumer.stop()


kac = worlds.commands()


def test_groups_are_listed_with_their_lag(kac: Kac) -> None:
    lags = {"behind": 7, "caught-up": 0}
    code, out, _ = kac("run", "-e", "list groups", "--output", "json")
    (answer,) = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {row["name"]: row["lag"] for row in answer["groups"]} == lags
    _, out, _ = kac("groups", "--list", "--output", "csv")
    assert {row["name"]: int(row["lag"]) for row in csv.DictReader(io.StringIO(out))} == lags
    _, out, _ = kac("groups", "--list")
    title, *rows = [line.split() for line in out.splitlines()]
    assert [row[title.index("Lag") - len(title)] for row in rows[:2]] == ["7", "0"]
    assert "records" in out
    _, out, _ = kac("run", "-e", "list groups lag>0")
    assert "behind" in out
    assert "caught-up" not in out


@pytest.mark.parametrize("filters", ["under_replicated=>0", "'under_replicated=>0'", "partitions=x", "nope=1"])
def test_a_filter_that_can_match_nothing_is_an_error(kac: Kac, filters: str) -> None:
    code, out, complaints = kac("run", "-e", f"list topics {filters}")
    assert code in (1, 2)
    assert "match" not in out
    assert complaints.startswith("kac: line 1, column 13: ")
