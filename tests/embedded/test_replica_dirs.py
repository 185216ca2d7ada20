"""A replica to another log directory by `kac run`: the warning, the way there, the way back, and what is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.partition_log import PartitionLog
from console.embedded.replica_dirs import copy_of, dir_of
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource
from console.plan.stale_throttles import LOG_DIRS_RATE
from tests.embedded.apply_fronts import Kac, commands_on

DIRS = ("/data1", "/data2")


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Two brokers with two directories; each partition holds a gigabyte, and takes 20 s to copy."""
    with run_in_thread(ClusterSpec(brokers=2, static_configs={"log.dirs": ",".join(DIRS)})) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", ((1, 2), (2, 1)), (1, 2))))
        running.call(lambda c: c.state.logs.update({("orders", n): PartitionLog(older_bytes=10**9) for n in range(2)}))
        yield running


@pytest.fixture
def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> Kac:
    return commands_on(cluster, capsys)


def place(cluster: ThreadedCluster) -> str:
    """Where partition 0 will be on broker 1."""

    def found(c: object) -> str:
        topic = c.state.topics["orders"]  # type: ignore[attr-defined]
        copy = copy_of(c, topic, 0, 1)  # type: ignore[arg-type]
        return copy[0] if copy is not None else dir_of(c, topic, 0, 1)  # type: ignore[arg-type]

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


def test_a_directory_is_drained_by_an_operation(kac: Kac, cluster: ThreadedCluster) -> None:
    """The forecast, the script and Kafka's file say the same; --run brings it there and leaves no throttle."""
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
    assert not cluster.call(lambda c: c.state.configs.get(broker_resource(1), {}))
    assert "no replica has to move" in kac("moves", "drain", "1", "dir", full).out
    back = kac("moves", "back", "1", "--run", "--yes")
    assert back.code == 0, back
    assert place(cluster) == full
    one = kac("moves", "topic", "orders", "partition", "0", "broker", "1", "to", "dir", free, "--run", "--yes")
    assert one.code == 0, one
    assert place(cluster) == free
