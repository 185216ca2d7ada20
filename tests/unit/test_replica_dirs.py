"""Tests of moves between the log directories of a broker: which edits are staged, refused or give a warning."""

import json
from datetime import UTC, datetime

import pytest

from console.answers.operations import dir_copies_table
from console.model import cluster
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan.diff import diff
from console.plan.edits import MoveReplicaDir
from console.plan.kafka_tools import Command
from console.plan.kinds.registry import kind_of
from console.plan.kinds.replica_dirs import DIRECTORIES
from console.plan.plan import EMPTY, stage
from console.plan.risks import risks
from console.plan.staged import Draft

TOPIC = "orders"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FULL = Failure("KAFKA_STORAGE_ERROR", "the disk is gone", "")


def log_dir(path: str, *replicas: cluster.ReplicaSize, usable: int = 10_000, **more: object) -> cluster.LogDir:
    return cluster.LogDir(path, cluster.ReplicaSizes(replicas), 20_000, usable, **more)  # type: ignore[arg-type]


def held(number: int, size: int = 6_000, *, future: bool = False) -> cluster.ReplicaSize:
    return cluster.ReplicaSize(TOPIC, number, size, 7 if future else 0, future)


def known(*dirs: cluster.LogDir) -> Snapshot:
    partitions = tuple(cluster.Partition(number, 3, (3, 1), (3, 1)) for number in range(3))
    read = dict.fromkeys(("topics", "log_dirs", "cluster"), NOW)
    return Snapshot(topics={TOPIC: cluster.Topic(TOPIC, partitions)}, log_dirs={3: dirs}, read_at=read)


TWO = known(log_dir("/a", held(0), held(1)), log_dir("/b", held(2)))


@pytest.mark.parametrize(
    ("snapshot", "edit", "why"),
    [
        (TWO, MoveReplicaDir(TOPIC, 0, 3, "/c"), "broker 3 has no log directory /c"),
        (TWO, MoveReplicaDir(TOPIC, 0, 1, "/b"), "the log directories of broker 1 are unknown"),
        (TWO, MoveReplicaDir(TOPIC, 9, 3, "/b"), "broker 3 has no replica of orders/9"),
        (known(log_dir("/a", held(0)), log_dir("/b", failure=FULL)), MoveReplicaDir(TOPIC, 0, 3, "/b"), "offline"),
        (known(log_dir("/a", held(0)), log_dir("/b", cordoned=True)), MoveReplicaDir(TOPIC, 0, 3, "/b"), "cordoned"),
    ],
)
def test_what_can_not_be_done_is_refused(snapshot: Snapshot, edit: MoveReplicaDir, why: str) -> None:
    (refused,) = stage(EMPTY, [edit], snapshot).refused
    assert why in refused.reason
    assert refused.remedy


@pytest.mark.parametrize(
    ("path", "copied_to", "is_staged"), [("/a", "", False), ("/b", "/b", False), ("/a", "/b", True), ("/b", "", True)]
)
def test_what_is_there_or_on_its_way_is_dropped(path: str, copied_to: str, is_staged: bool) -> None:
    """A move to the replica's present directory is dropped, unless the replica is being copied to another directory:
    then it is staged and ends the copy.
    """
    copies = [held(0, 10, future=True)] if copied_to else []
    snapshot = known(log_dir("/a", held(0)), log_dir("/b", *copies))
    report = stage(EMPTY, [MoveReplicaDir(TOPIC, 0, 3, path)], snapshot)
    assert bool(report.plan.staged) is is_staged


def test_all_that_goes_into_a_directory_counts_together() -> None:
    """If each of two replicas fits into a directory, but not both, staging both moves gives a warning for each."""
    one = stage(EMPTY, [MoveReplicaDir(TOPIC, 0, 3, "/b")], TWO).plan
    assert [each.name for each in risks(one.staged, TWO)] == []
    both = stage(one, [MoveReplicaDir(TOPIC, 1, 3, "/b")], TWO).plan
    assert [each.name for each in risks(both.staged, TWO)] == ["log-dir-space"] * 2


def test_a_copy_that_begins_is_not_in_the_way_of_the_next_poll() -> None:
    """While a move's copy runs, and after it, the edit counts as applied, and a poll gives no conflict."""
    edit = MoveReplicaDir(TOPIC, 0, 3, "/b")
    kind = kind_of(edit)
    then = DIRECTORIES.predict(TWO, [edit])
    seen = kind.current(edit, Draft((), then))
    assert seen == cluster.ReplicaDir("/a", "/b", (3, 1))
    assert kind.wanted(edit, seen) is True
    done = cluster.ReplicaDir("/b", "", (3, 1))
    assert kind.wanted(edit, done) is True
    assert not kind.moved(edit, seen, done)
    was = kind.current(edit, Draft((), TWO))
    back = kind.reversal(edit, was, {})
    assert back.edits == (MoveReplicaDir(TOPIC, 0, 3, "/a"),)
    assert not kind.moved(edit, back.left, seen)


def test_kafkas_tool_gets_the_directory_of_one_replica() -> None:
    plan = stage(EMPTY, [MoveReplicaDir(TOPIC, 0, 3, "/b")], TWO).plan
    lines = [line for group in diff(plan, TWO) for line in group.lines]
    assert DIRECTORIES.all_commands is not None
    (command,) = DIRECTORIES.all_commands(lines)
    assert isinstance(command, Command)
    (partition,) = json.loads(command.stdin)["partitions"]
    assert partition == {"topic": TOPIC, "partition": 0, "replicas": [3, 1], "log_dirs": ["/b", "any"]}


def test_copies_under_way_are_listed() -> None:
    snapshot = known(log_dir("/a", held(0), held(1)), log_dir("/b", held(0, 1_500, future=True)))
    (row,) = dir_copies_table(snapshot).rows
    assert row.data == {
        "topic": TOPIC,
        "partition": 0,
        "broker": 3,
        "from": "/a",
        "to": "/b",
        "copied": 1_500,
        "of": 6_000,
        "behind": 7,
        "operation": None,
    }
