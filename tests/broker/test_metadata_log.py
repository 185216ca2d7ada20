"""Tests of the metadata log that kac reads from the controllers of real clusters by network; its rows equal those of
the controllers' files.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from console.admin import errors, settings
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_quorum
from console.admin.link import Link
from console.admin.metadata_log import ControllerLog, LogPart, Snapshot
from console.collecting.controllers import ControllerLogs
from console.contexts.configured import BOOTSTRAP
from console.lake import inputs, kraft, plans, redact
from console.model import changes
from console.model.codes import SET
from console.model.config import broker_resource, topic_resource
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3
from tests.support.metadata_log import read_log
from tests.support.patience import PATIENCE
from tests.support.real_clusters import running

KEY, PLANTED = b"key of the lake", "planted-4711"
KEYSTORE = "listener.name.plaintext.ssl.keystore.password"
_SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "metadata.log.max.snapshot.interval.ms": "2000",
    "metadata.max.idle.interval.ms": "500",  # an internal config: each record may begin a segment
    "metadata.log.segment.ms": "1000",
    "metadata.max.retention.bytes": "1000",
    "metadata.max.retention.ms": "1000",
}


@pytest.fixture(scope="module", params=[KAFKA_4_3, pytest.param(KAFKA_3_9, marks=pytest.mark.long)], ids=["4.3", "3.9"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a real cluster of three brokers that are also controllers, for each release."""
    version: str = request.param
    yield from running(lambda: KafkaCluster(version, brokers=3, properties=_SNAPSHOTS))


client = worlds.client("cluster")


async def test_the_log_is_what_the_files_have_and_a_snapshot_what_came_before(
    cluster: KafkaCluster, client: AdminClient
) -> None:
    await _send(client, changes.CreateTopics((changes.NewTopic("orders", partitions=3, replication=3),)))
    secret = changes.ConfigOp(KEYSTORE, SET, PLANTED)
    await _send(client, changes.AlterConfigs({broker_resource(1): (secret,)}, broker=1))
    await _change(client, 1)
    fetched, following = await client.run(_caught_up, cluster, 0)
    kept = _in_files(cluster, following)
    assert fetched
    assert _told(fetched) == [kept[_place(each)] for each in fetched]
    assert PLANTED not in str(fetched)
    assert any(redact.HIDDEN in each["payload"] and each["value_hmac"] for each in fetched)

    # Controllers delete the first segments once a snapshot contains them.
    began = time.monotonic()
    count = 2
    told: list[str] = []
    while not any("retention.ms" in each for each in told):
        assert time.monotonic() < began + PATIENCE
        count += 1
        await _change(client, count)
        first = await client.run(_read, cluster, 0)
        told = [each["payload"] for each in first if each["record_type"] == "ConfigRecord" and each["in_snapshot"]]
    assert any(redact.HIDDEN in each for each in told)
    assert PLANTED not in str(told)


async def test_a_lake_takes_in_what_the_files_have(
    cluster: KafkaCluster, client: AdminClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BOOTSTRAP, cluster.bootstrap)
    (tmp_path / "key").write_bytes(KEY)
    named = inputs.Controllers(cluster.cluster_id, tuple(map(settings.show_address, cluster.controller_addresses)))
    source = ControllerLogs(plans.Settings("", inputs.Inputs(controllers=(named,)), str(tmp_path / "key")))
    await _change(client, 1)

    def take(start: plans.Offset) -> tuple[list[dict[str, Any]], plans.Offset]:
        end = source.newest(start)
        parts = source.parts(start, end)
        return [row for part in parts for batch in source.read(part) for row in batch.to_pylist()], end

    first, after = await asyncio.to_thread(take, source.initial())
    await _change(client, 2)
    more, end = await asyncio.to_thread(take, after)
    assert first
    assert any(each["entity_key"] == "orders" and "retention.ms" in each["payload"] for each in more)
    kept = _in_files(cluster, end[cluster.cluster_id])
    wanted = [kept[_place(each)] for each in (*first, *more)]
    assert [{name: each[name] for name in of} for each, of in zip((*first, *more), wanted, strict=True)] == wanted


async def test_reading_goes_on_with_the_next_leader(cluster: KafkaCluster, client: AdminClient) -> None:
    _, following = await client.run(_caught_up, cluster, 0)
    quorum = await client.run(describe_quorum)
    leader = quorum.leader_id

    async def read_on(link: Link) -> list[dict[str, Any]]:
        log = ControllerLog(link, cluster.controller_addresses, cluster.cluster_id)
        try:
            part = await log.read(following)
            assert isinstance(part, LogPart)
            await asyncio.to_thread(cluster.kill, leader)
            found: list[dict[str, Any]] = []
            at = following
            began = time.monotonic()
            while not any(each["record_type"] != "NoOpRecord" for each in found):
                assert time.monotonic() < began + PATIENCE
                part = await log.read(at, wait=0.5)
                assert isinstance(part, LogPart)
                found += _rows(_planned(cluster, part, at))
                at = part.next
            return found
        finally:
            await log.close()

    try:
        found = await client.run(read_on)
        # The log contains the fencing of the former leader.
        assert {each["log_offset"] >= following for each in found} == {True}
    finally:
        await asyncio.to_thread(cluster.restart, leader)


async def test_what_serves_no_metadata_log_is_said(cluster: KafkaCluster, client: AdminClient) -> None:
    async def read(link: Link, addresses: Sequence[settings.Address], cluster_id: str, start: int = 0) -> None:
        log = ControllerLog(link, addresses, cluster_id)
        try:
            await log.read(start, within=5)
        finally:
            await log.close()

    for addresses, cluster_id, name in (
        (cluster.addresses, cluster.cluster_id, "NOT_A_CONTROLLER"),
        (cluster.controller_addresses, "another", "INCONSISTENT_CLUSTER_ID"),
    ):
        with pytest.raises(errors.AdminError) as refused:
            await client.run(read, addresses, cluster_id)
        assert refused.value.failure.name == name
    with pytest.raises(errors.AdminError) as ahead:
        await client.run(read, cluster.controller_addresses, cluster.cluster_id, 1 << 40)
    assert ahead.value.failure.name == "LOG_DIVERGES"


async def _send(client: AdminClient, change: changes.ChangeRequest) -> None:
    for outcome in await client.run(send, change, validate_only=False):
        assert outcome.status is changes.Status.APPLIED, outcome


async def _change(client: AdminClient, count: int) -> None:
    ops = (changes.ConfigOp("retention.ms", SET, str(600_000 + count)),)
    await _send(client, changes.AlterConfigs({topic_resource("orders"): ops}))


async def _read(link: Link, cluster: KafkaCluster, start: int) -> list[dict[str, Any]]:
    """Return the rows of one batch of the metadata log, from the offset `start`."""
    found, _ = await _one(ControllerLog(link, cluster.controller_addresses, cluster.cluster_id), cluster, start)
    return found


async def _caught_up(link: Link, cluster: KafkaCluster, start: int) -> tuple[list[dict[str, Any]], int]:
    """Read the metadata log from the offset `start` up to the high watermark; return its rows, and the offset after
    them.
    """
    log = ControllerLog(link, cluster.controller_addresses, cluster.cluster_id)
    found: list[dict[str, Any]] = []
    while True:
        more, following = await _one(log, cluster, start, close=False)
        found += more
        if following == start:
            await log.close()
            return found, following
        start = following


async def _one(
    log: ControllerLog, cluster: KafkaCluster, start: int, *, close: bool = True
) -> tuple[list[dict[str, Any]], int]:
    try:
        part = await log.read(start)
    finally:
        if close:
            await log.close()
    plan = _planned(cluster, part, start)
    return _rows(plan), plan.next_offset


def _planned(cluster: KafkaCluster, part: LogPart | Snapshot, start: int) -> kraft.LogPlan:
    is_snapshot = isinstance(part, Snapshot)
    end = part.end if isinstance(part, Snapshot) else part.next
    return kraft.plan_fetched(part.data, "here", cluster.cluster_id, start, end, is_snapshot=is_snapshot)


def _rows(plan: kraft.LogPlan) -> list[dict[str, Any]]:
    assert plan.troubles == ()
    batches = list(kraft.read_splits(plan.splits, KEY, lambda trouble: pytest.fail(str(trouble))))
    return [row for batch in batches for row in batch.to_pylist()]


def _place(row: dict[str, Any]) -> tuple[bool, int, int]:
    return row["in_snapshot"], row["log_offset"], row["record_index"]


def _told(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without the name of their file; rows of snapshots also without their time, because each
    controller makes its own snapshots.
    """
    without = ({"file"}, {"file", "record_ts"})
    return [{name: row[name] for name in row if name not in without[row["in_snapshot"]]} for row in found]


def _in_files(cluster: KafkaCluster, end: int) -> dict[tuple[bool, int, int], dict[str, Any]]:
    """Return (whether it is in a snapshot, offset, index) -> row, from the files of all controllers, for offsets below
    `end`.
    """
    folders = [str(each) for each in cluster.directory.glob("broker-*/data-*/__cluster_metadata-0")]
    _, batches = read_log(folders, KEY, lambda trouble: pytest.fail(str(trouble)), end_offset=end)
    found = [row for batch in batches for row in batch.to_pylist()]
    return dict(zip(map(_place, found), _told(found), strict=True))
