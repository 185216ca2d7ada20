"""Tests of moves of replicas to another log directory: the warning, the move, the revert and the list of copies, on the
embedded cluster and on real brokers of three releases.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.cluster import describe_log_dirs
from console.admin.link import until_settled
from console.embedded import replica_dirs, spec
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.partition_log import PartitionLog
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs
from console.language.statements import EditStatement
from console.model import changes, codes, config, snapshot
from console.operations.goals import DrainDir
from console.operations.operation import Progress, State
from console.plan.edits import MoveReplicaDir
from console.plan.reconcile import ApplyReport
from console.plan.stale_throttles import LOG_DIRS_RATE
from console.session import operating
from console.session.reading import read_needs
from console.session.session import Session
from tests.support import changing, kafka_cluster, real_clusters, worlds, zookeeper_cluster
from tests.support.kafka_jars import KAFKA_2_8, KAFKA_3_9, KAFKA_4_3
from tests.support.worlds import Kac

DIRS = ("/data1", "/data2")

cluster = worlds.cluster(
    spec.ClusterSpec(brokers=2, static_configs={"log.dirs": ",".join(DIRS)}),
    worlds.topic("orders", ((1, 2), (2, 1)), brokers=(1, 2)),
    lambda c: c.state.logs.update({("orders", n): PartitionLog(older_bytes=10**9) for n in range(2)}),
)
"""Provide an embedded cluster of two brokers with two log directories each. Each partition has a gigabyte, and its copy
takes 20 seconds.
"""

kac = worlds.commands()


def place(cluster: ThreadedCluster) -> str:
    """Return the log directory of partition orders/0 on broker 1. While a copy to another directory runs, return that
    directory.
    """

    def found(c: object) -> str:
        topic = c.state.topics["orders"]  # type: ignore[attr-defined]
        copy = replica_dirs.copy_of(c, topic, 0, 1)  # type: ignore[arg-type]
        return copy[0] if copy is not None else replica_dirs.dir_of(c, topic, 0, 1)  # type: ignore[arg-type]

    return cluster.call(found)


def test_there_and_back_with_the_copy_listed_meanwhile(kac: Kac, cluster: ThreadedCluster) -> None:
    before = place(cluster)
    there = next(each for each in DIRS if each != before)
    done = kac("run", "-e", f"move topic orders partition 0 broker 1 to dir {there}; apply --yes")
    assert done.code == 0, done
    assert place(cluster) == there
    listed = json.loads(kac("moves", "--output", "json").out.splitlines()[-1])["dir_copies"]
    assert [(each["broker"], each["from"], each["to"]) for each in listed] == [(1, before, there)]
    assert "copied between directories" in kac("moves").out
    again = kac("run", "-e", f"move topic orders partition 0 broker 1 to dir {there}; plan")
    assert "it is copied there already" in again.out
    back = kac("run", "-e", "revert 1; apply --yes")
    assert back.code == 0, back
    assert place(cluster) == before


def test_what_has_no_room_is_accepted_by_name(kac: Kac, cluster: ThreadedCluster) -> None:
    cluster.call(lambda c: c.state.logs.update({("orders", 0): PartitionLog(older_bytes=2**50)}))
    there = next(each for each in DIRS if each != place(cluster))
    statement = f"move topic orders partition 0 broker 1 to dir {there}"
    refused = kac("run", "-e", f"{statement}; apply --yes")
    assert refused.code != 0
    assert "log-dir-space" in str(refused)
    assert place(cluster) != there
    assert kac("run", "-e", f"{statement}; apply --yes --accept log-dir-space").code == 0
    assert place(cluster) == there


def test_a_directory_is_drained_by_a_command(kac: Kac, cluster: ThreadedCluster) -> None:
    """For a drain of a log directory, the forecast, the script and the file for Kafka's tool have the same moves. With
    --run kac makes these moves and leaves no throttle.
    """
    full, free = place(cluster), next(each for each in DIRS if each != place(cluster))
    said = kac("moves", "drain", "1", "dir", full, "--throttle", "500MB/s")
    assert said.code == 0, said
    assert "2 replicas, ≈ 1.86 GiB to copy; at least 4 s at the throttle" in said.out
    assert "2 → 0" in said.out
    tables = [json.loads(line) for line in kac("moves", "drain", "1", "dir", full, "--output", "json").out.splitlines()]
    wanted = [(each["partition"], each["broker"], each["from"], each["to"]) for each in tables[0]["dir_moves"]]
    assert sorted(wanted) == [(0, 1, full, free), (1, 1, full, free)]
    assert {each["directory"]: each["replicas"] for each in tables[1]["dirs"]} == {full: [2, 0], free: [0, 2]}
    file = json.loads(kac("moves", "drain", "1", "dir", full, "--output", "kafka").out)
    assert {each["partition"]: each["log_dirs"] for each in file["partitions"]} == {0: [free, "any"], 1: ["any", free]}
    script = kac("moves", "drain", "1", "dir", full, "--throttle", "500MB/s", "--script").out.splitlines()
    assert script[0] == f"set broker 1 {LOG_DIRS_RATE}=500000000 for 2h"
    assert sorted(script[1:]) == [f"move topic orders partition {n} broker 1 to dir {free}" for n in (0, 1)]
    cluster.call(lambda c: c.state.logs.update({("orders", n): PartitionLog(older_bytes=10**7) for n in range(2)}))
    ran = kac("moves", "drain", "1", "dir", full, "--throttle", "500MB/s", "--run", "--yes")
    assert ran.code == 0, ran
    assert f"operation 1 (drain 1 dir {full}) is done" in ran.complaints
    assert place(cluster) == free
    assert not cluster.call(lambda c: c.state.configs.get(config.broker_resource(1), {}))
    assert "no replica has to move" in kac("moves", "drain", "1", "dir", full).out
    back = kac("moves", "back", "1", "--run", "--yes")
    assert back.code == 0, back
    assert place(cluster) == full
    one = kac("moves", "topic", "orders", "partition", "0", "broker", "1", "to", "dir", free, "--run", "--yes")
    assert one.code == 0, one
    assert place(cluster) == free


# -- on real brokers --------------------------------------------------------------------------------------------------


TOPIC = "orders"

RECORD = b"x" * 50_000


class TwoDirs(NamedTuple):
    """A cluster in which broker 1 has two log directories. release: the Kafka release; "" for the embedded cluster."""

    bootstrap: str
    release: str
    dirs: tuple[str, str]


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param(KAFKA_4_3, marks=pytest.mark.broker),
        *(pytest.param(each, marks=(pytest.mark.broker, pytest.mark.long)) for each in (KAFKA_3_9, KAFKA_2_8)),
    ],
)
def two_dirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoDirs]:
    folder = tmp_path_factory.mktemp("disks")
    dirs = (str(folder / "one"), str(folder / "two"))
    if request.param == "embedded":
        with run_in_thread(spec.ClusterSpec(brokers=1, static_configs={"log.dirs": ",".join(dirs)})) as embedded:
            yield TwoDirs(embedded.bootstrap, "", dirs)
        return
    own = {"log.dirs": ",".join(dirs)}
    for cluster in real_clusters.running(lambda: _one_broker(request.param, own)):
        yield TwoDirs(cluster.bootstrap, request.param, dirs)


def _one_broker(release: str, properties: dict[str, str]) -> kafka_cluster.KafkaCluster:
    if release == KAFKA_2_8:
        return zookeeper_cluster.ZooKeeperCluster(brokers=1, properties=properties)
    return kafka_cluster.KafkaCluster(release, brokers=1, controllers=1, properties=properties)


@asynccontextmanager
async def session_on(where: TwoDirs) -> AsyncIterator[Session]:
    with worlds.session_on(where, "run") as session:
        yield session


async def with_records(session: Session, where: TwoDirs, topic: str, records: int = 20) -> None:
    made = changes.NewTopic(topic, assignments=((1,), (1,)))
    assert all(each.ok for each in await session.client.run(send, changes.CreateTopics((made,)), validate_only=False))
    producer = AIOKafkaProducer(bootstrap_servers=where.bootstrap, acks="all")
    await producer.start()
    try:
        for _ in range(records):
            await producer.send_and_wait(topic, RECORD, partition=0)
    finally:
        await producer.stop()


async def places(session: Session, topic: str) -> dict[tuple[int, bool], str]:
    """Return (partition, whether it is a running copy) -> log directory, for the replicas of a topic on broker 1."""
    listing = await session.client.run(describe_log_dirs, [1])
    return {
        (each.partition, each.is_future): log_dir.path
        for log_dir in listing.dirs[1]
        for each in log_dir.replicas
        if each.topic == topic
    }


async def await_places(session: Session, topic: str, wanted: dict[tuple[int, bool], str]) -> None:
    """Wait until the replicas of a topic on broker 1 are in the wanted directories. Fails after 60 seconds. wanted:
    (partition, whether it is a running copy) -> log directory.
    """
    assert await until_settled(lambda: places(session, topic), lambda now: now != wanted, within=60, attempts=600) == (
        wanted
    )


async def carried_out(session: Session, text: str) -> ApplyReport:
    (statement,) = parse(text)
    assert isinstance(statement, EditStatement)
    await read_needs(session, needs(statement))
    session.stage(to_edits(statement, session.snapshot))
    return await changing.apply_plan(session)


async def test_a_replica_goes_to_the_other_directory_and_back(two_dirs: TwoDirs) -> None:
    topic = f"{TOPIC}-there"
    async with session_on(two_dirs) as session:
        await with_records(session, two_dirs, topic)
        before = await places(session, topic)
        there = next(each for each in two_dirs.dirs if each != before[0, False])
        report = await carried_out(session, f"move topic {topic} partition 0 broker 1 to dir {there}")
        assert [each.status for result in report.results for each in result.outcomes] == [changes.Status.APPLIED]
        await await_places(session, topic, {**before, (0, False): there})
        await carried_out(session, f"move topic {topic} partition 0 broker 1 to dir {before[0, False]}")
        await await_places(session, topic, before)


async def test_what_a_broker_refuses_says_why(two_dirs: TwoDirs) -> None:
    """If a broker refuses to move a replica to another directory, the failure has a message, although the broker's
    answer has none. kac's own checks usually refuse such a move earlier.
    """
    topic = f"{TOPIC}-refused"
    async with session_on(two_dirs) as session:
        await with_records(session, two_dirs, topic)

        async def sent(number: int, path: str) -> str:
            target = changes.ReplicaTarget(topic, number, 1)
            change = changes.AlterReplicaDirs(1, {target: path})
            (outcome,) = await session.client.run(send, change, validate_only=False)
            assert outcome.failure is not None
            return f"{outcome.failure.name}: {outcome.failure.message}"

        assert await sent(0, "/nowhere") == "LOG_DIR_NOT_FOUND: the broker has no such log directory"
        assert await sent(7, two_dirs.dirs[0]) == "UNKNOWN_TOPIC_OR_PARTITION: the broker knows no such partition"


async def test_a_cordoned_directory_takes_none(two_dirs: TwoDirs) -> None:
    if two_dirs.release not in ("", KAFKA_4_3):
        pytest.skip("directories are cordoned from Kafka 4.3 on")
    topic = f"{TOPIC}-cordoned"
    async with session_on(two_dirs) as session:
        await with_records(session, two_dirs, topic)
        before = await places(session, topic)
        there = next(each for each in two_dirs.dirs if each != before[0, False])
        change = changes.AlterConfigs(
            {config.broker_resource(1): (changes.ConfigOp("cordoned.log.dirs", codes.SET, there),)}, broker=1
        )
        assert all(each.ok for each in await session.client.run(send, change, validate_only=False))
        await read_needs(session, needs(parse(f"move topic {topic} partition 0 broker 1 to dir {there}")[0]))
        report = session.stage([MoveReplicaDir(topic, 0, 1, there)])
        assert [each.reason for each in report.refused] == [f"{there} is cordoned: it takes no new replicas"]
        target = changes.ReplicaTarget(topic, 0, 1)
        (outcome,) = await session.client.run(send, changes.AlterReplicaDirs(1, {target: there}), validate_only=False)
        assert outcome.status is changes.Status.FAILED, outcome
        change = changes.AlterConfigs(
            {config.broker_resource(1): (changes.ConfigOp("cordoned.log.dirs", codes.DELETE, None),)}, broker=1
        )
        assert all(each.ok for each in await session.client.run(send, change, validate_only=False))


@pytest.mark.takes(30)
async def test_a_directory_is_drained_by_an_operation(two_dirs: TwoDirs) -> None:
    """An operation moves all replicas to the other log directory, with a throttle that it removes at the end. If its
    revert is cancelled, the replicas stay in their directories.
    """
    topic = f"{TOPIC}-drained"
    megabytes = 10  # brokers copy one replica at a time, and for ten seconds before the throttle takes effect (KIP-73)
    full, free = two_dirs.dirs
    async with session_on(two_dirs) as session:
        await with_records(session, two_dirs, topic, 20 * megabytes)
        for number in (0, 1):
            await carried_out(session, f"move topic {topic} partition {number} broker 1 to dir {full}")
        await await_places(session, topic, {(0, False): full, (1, False): full})

        async def rates() -> list[str | None]:
            await session.read_configs([config.broker_resource(1)])
            entry = session.snapshot.configs[config.broker_resource(1)].get(LOG_DIRS_RATE)
            return [entry.value] if entry is not None and config.is_override(entry, config.broker_resource(1)) else []

        seen: list[list[str | None]] = []
        far: list[Progress] = []

        async def check(seconds: float) -> None:
            seen.append(await rates())
            await asyncio.sleep(seconds)

        number = await operating.begin(session, DrainDir(1, full), 400_000)
        done = await operating.work_on(session, number, pace=operating.Pace(sleep=check), on_progress=far.append)
        assert done.state is State.DONE, done
        assert seen[0] == ["400000"]
        assert await rates() == []
        assert any(0 < each.copied < each.copied + each.left for each in far), [
            (each.copied, each.left) for each in far
        ]
        assert await places(session, topic) == {(0, False): free, (1, False): free}
        listing = await session.client.run(describe_log_dirs, [1])
        assert [len(each.replicas) for each in listing.dirs[1] if each.path == full] == [0]

        number = await operating.begin(session, await operating.way_back(await session.journal(), number), 100_000)
        copying: list[int] = []

        async def cancel(seconds: float) -> None:
            await read_needs(session, operating.NEEDS)
            copying.append(len(snapshot.dir_copies(session.snapshot.log_dirs)))
            await operating.ask_of(session, number, cancel=True)
            await asyncio.sleep(seconds)

        over = await operating.work_on(session, number, pace=operating.Pace(sleep=cancel))
        assert over.state is State.CANCELLED
        assert copying[0] > 0
        assert (await places(session, topic))[0, False] == free
        assert await rates() == []
