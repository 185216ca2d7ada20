"""Tests of the offsets of tiered logs that a broker's version can return; kac requests them only for tiered topics. On
a real broker with Kafka's LocalTieredStorage, kac shows the same offsets as kafka-get-offsets.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.link import until_settled
from console.admin.partitions import log_ranges, tiered_offsets
from console.embedded.brokers import EmbeddedCluster
from console.embedded.faults import FailSome, Fault
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.cluster import TieredOffsets
from console.model.config import topic_resource
from console.model.parts import Part
from console.model.records import First, FromOffset
from console.session.slow_polls import SlowPolls
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import KafkaCommands
from tests.support.kafka_jars import KAFKA_3_9, RELEASES, jars, tiered_storage
from tests.support.patience import PATIENCE
from tests.support.real_clusters import lent, or_skip, running
from tests.support.searching import query, read_records

COLD, WARM = ("cold", 0), ("cold", 1)


def seed(cluster: EmbeddedCluster) -> None:
    """Create the tiered topic cold and the topic plain. The first 1,000 records of cold/0 are in remote storage; those
    from offset 800 on are on disk.
    """
    for name in ("cold", "plain"):
        cluster.state.put_topic(new_topic(name, striped([1], 2, 1), [1]))
    cluster.state.alter_config(topic_resource("cold"), {"remote.storage.enable": "true"})
    log = cluster.state.logs[COLD] = PartitionLog()
    log.end, log.tiered_to, log.local_start = 1_500, 999, 800


@pytest.fixture(params=["4.4", "4.0", "3.9"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=request.param)) as made:
        seed(made)
        yield made


async def test_offsets_by_what_the_broker_knows(cluster: EmbeddedCluster) -> None:
    with worlds.session_on(cluster, "run") as session:
        found, failures = await session.client.run(tiered_offsets, [COLD, WARM])
        pending = (1_000, -1) if cluster.release.name == "4.4" else (None, None)
        assert found == {COLD: TieredOffsets(800, 999, pending[0]), WARM: TieredOffsets(0, -1, pending[1])}
        assert failures == []
        await session.read_topics()
        await session.read_tiered("plain")
        await session.read_tiered("nosuch")
        assert session.snapshot.tiered == {}
        await session.read_tiered("cold")
        before = session.snapshot
        await session.read_tiered("cold")
        assert before.tiered == found
        assert session.snapshot is before, "nothing new is no new snapshot"
        cluster.state.alter_config(topic_resource("cold"), {"remote.storage.enable": "false"})
        await session.read_configs([topic_resource("cold")])
        await session.read_tiered("cold")
        assert session.snapshot.tiered == {}


async def test_triage_forgets_what_is_not_tiered_and_bears_one_failed_read(cluster: EmbeddedCluster) -> None:
    """After one failed read triage keeps the former offsets of tiered logs; after two in a row it has none. It also
    drops them when the topic is no longer tiered.
    """
    with worlds.session_on(cluster, "run") as session:
        read = SlowPolls(session).reads[Part.TIERED]
        await session.read_topics()
        await session.read_configs([topic_resource("cold"), topic_resource("plain")])
        await read()
        found = session.snapshot.tiered
        assert [*found] == [COLD, WARM]
        cluster.faults.add(Fault(FailSome(29, names=frozenset({"cold"})), "list_offsets"))
        await read()
        assert session.snapshot.tiered == found
        await read()
        assert session.snapshot.tiered == {}, "they are unknown by now"
        cluster.faults.clear()
        await read()
        assert session.snapshot.tiered == found
        cluster.state.alter_config(topic_resource("cold"), {"remote.storage.enable": "false"})
        await session.read_configs([topic_resource("cold")])
        await read()
        assert session.snapshot.tiered == {}


# -- on real brokers --------------------------------------------------------------------------------------------------


OFFSETS = "org.apache.kafka.tools.GetOffsetShell"


@pytest.fixture(
    scope="module",
    params=["4.4", pytest.param("4.3", marks=pytest.mark.long), pytest.param("3.9", marks=pytest.mark.long)],
)
def tiered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Provide a real cluster of one broker, which copies closed segments into a folder as its remote storage."""
    version = RELEASES[request.param]
    with or_skip():
        classes = _storage_classes(version, tmp_path_factory.mktemp("classes"))
    properties = _properties(classes, tmp_path_factory.mktemp("remote"))
    yield from running(lambda: KafkaCluster(version, brokers=1, properties=properties))


def _storage_classes(version: str, folder: Path) -> str:
    """Return the Java class path of LocalTieredStorage for a Kafka version. Kafka 4.4.0 was published without its test
    classes, so the storage of 4.3 runs in it, with the one class that the clients of 4.4 no longer have.
    """
    if version != RELEASES["4.4"]:
        return str(tiered_storage(version))
    former, missing = RELEASES["4.3"], folder / "former.jar"
    with ZipFile(jars(former) / f"kafka-clients-{former}.jar") as there, ZipFile(missing, "w") as made:
        for name in there.namelist():
            if name.startswith("org/apache/kafka/common/utils/LogContext"):
                made.writestr(name, there.read(name))
    return os.pathsep.join(map(str, (tiered_storage(former), missing)))


def _properties(classes: str, remote: Path) -> dict[str, str]:
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": classes,
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.manager.task.interval.ms": "200",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "200",
        "rsm.config.dir": str(remote),
        "log.retention.check.interval.ms": "200",
        "log.initial.task.delay.ms": "200",
    }


commands = lent(KafkaCommands)


def kafka_offsets(cluster: KafkaCluster, commands: KafkaCommands, topic: str, time: str) -> dict[int, int]:
    """Return partition -> the offset that kafka-get-offsets prints for a time. A partition that has no such offset has
    -1 or no entry.
    """
    ran = commands.run(OFFSETS, ["--bootstrap-server", cluster.bootstrap, "--topic", topic, "--time", time])
    assert ran.code == 0, ran.err
    rows = [line.split(":") for line in ran.out.splitlines()]
    return {int(number): int(offset or -1) for _, number, offset in rows}


@pytest.mark.broker
@pytest.mark.slow
async def test_what_is_on_disk_and_what_in_remote_storage(
    tiered: KafkaCluster, commands: KafkaCommands, name: str
) -> None:
    """kac shows the same first, local and remote offsets as kafka-get-offsets, for a partition with segments that were
    copied and then deleted from disk, and for one without such segments.
    """
    async with worlds.linked(worlds.settings(tiered)) as link:
        places = [(name, 0), (name, 1)]
        await make_topic(
            link, name, partitions=2, remote_storage_enable="true", segment_bytes="1048576", local_retention_bytes="1"
        )
        await make_topic(link, f"{name}-plain")
        producer = AIOKafkaProducer(bootstrap_servers=tiered.bootstrap)
        await producer.start()
        for _ in range(12):
            await producer.send_and_wait(name, bytes(500_000), partition=0)
        await producer.stop()
        # Each segment has two records: all segments but the last are copied, and then deleted from disk.
        found, _ = await until_settled(
            lambda: tiered_offsets(link, places),
            lambda answer: answer[0][name, 0].local_from < 10,
            within=PATIENCE,
            attempts=1_000,
        )
        logs, _ = await log_ranges(link, places)
        searched = await read_records(link, query(name, start=First(), count=100))
        newest = await read_records(link, query(name, 0, FromOffset(10)))
    assert f"{name}: 10 offsets of 1 partition are in remote storage, which brokers read slowly" in searched.notes
    assert len(searched.records) == 12
    assert newest.notes == ()
    asked = ["earliest-local", "latest-tiered", "earliest-pending-upload"]
    if tiered.version == KAFKA_3_9:  # since 4.2 brokers tell the first offset that is not copied yet (KIP-1023)
        asked.pop()
    told = [await asyncio.to_thread(kafka_offsets, tiered, commands, name, time) for time in asked]
    assert found == {(name, number): TieredOffsets(*(offsets.get(number, -1) for offsets in told)) for number in (0, 1)}
    assert logs[name, 0] == (0, 12)
    wanted = {(name, 0): (10, 9, 10), (name, 1): (0, -1, -1)}
    assert found == {place: TieredOffsets(*offsets[: len(asked)]) for place, offsets in wanted.items()}
    shown = describe(tiered, name)
    told_of = [tuple(None if offset == -1 else offset for offset in offsets) for offsets in found.values()]
    assert [(row["local_from"], row["tiered_to"], row.get("pending_from")) for row in shown] == told_of
    assert "local_from" not in describe(tiered, f"{name}-plain")[0]


def describe(cluster: KafkaCluster, topic: str) -> list[dict[str, int]]:
    """Return the partitions in the JSON that `describe topic` prints."""
    command = [sys.executable, "-m", "console", "run", "-b", cluster.bootstrap, "--output", "json"]
    done = subprocess.run(
        [*command, "-e", f"describe topic {topic}"], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    partitions: list[dict[str, int]] = json.loads(done.stdout)["partitions"]
    return partitions
