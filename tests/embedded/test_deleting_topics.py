"""Topics are deleted, grown and emptied with the same warnings on every front end."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.main import run
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import produced_batch
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from tests.embedded.record_batches import batch
from tests.support import worlds
from tests.tui.console_app import driven_on

TMP = [f"tmp-{number}" for number in range(5)]


def furnish(cluster: EmbeddedCluster) -> None:
    """A topic with records, an empty one, five with records, and topics of other machinery."""
    for name in ("orders", "empty", *TMP, "_schemas", "__remote_log_metadata"):
        add_topic(cluster.state, name, 1, 1)
        # Of a log that begins at offset 0 the embedded cluster makes up the bytes.
        log = cluster.state.logs[name, 0] = PartitionLog(start=7)
        if name != "empty":
            log.append(produced_batch(batch(*[b"x"] * 10)), 0)


cluster = worlds.cluster(ClusterSpec(brokers=1), furnish)


def topics(cluster: ThreadedCluster) -> set[str]:
    return cluster.call(lambda each: set(each.state.topics))


def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], command: str, *words: str) -> tuple[int, str]:
    code = run([command, "-b", cluster.bootstrap, *words])
    out, err = capsys.readouterr()
    return code, " ".join((out + err).split())


WAYS = {
    "run": lambda name, accept: ("run", "-e", f"delete topic {name}; apply --yes {accept}"),
    "topics": lambda name, accept: ("topics", "--delete", "--topic", name, "--yes", *accept.split()),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_topic_with_records_is_deleted_by_its_name(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    for name in ("orders", "_schemas", "__remote_log_metadata"):
        code, said = kac(cluster, capsys, *WAYS[way](name, ""))
        assert code == 3
        assert f"write {'apply ' if way == 'run' else ''}--accept topic-deleted={name}" in said
        assert ("schema registry" in said) == (name == "_schemas")
        assert name in topics(cluster)
    code, said = kac(cluster, capsys, *WAYS[way]("orders", "--accept topic-deleted=orders"))
    assert (code, "takes it back" in said) == (0, False)
    assert "brings back a part: the records are gone" in said
    assert kac(cluster, capsys, *WAYS[way]("empty", ""))[0] == 0
    assert not {"orders", "empty"} & topics(cluster)


def test_a_pattern_is_one_plan_with_one_number(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--delete", "--topic", "tmp-*", "--yes")
    code, said = kac(cluster, capsys, "topics", *words, "--accept", "topic-deleted=4")
    assert code == 3
    assert "--accept topic-deleted=4,topic-deleted=5" in said
    assert kac(cluster, capsys, "topics", *words, "--accept", "topic-deleted=5")[0] == 0
    assert not set(TMP) & topics(cluster)
    _, said = kac(cluster, capsys, "run", "-e", "delete topic *")
    assert "__remote_log_metadata" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-e", "grow topic __remote_log_metadata partitions=60; apply --yes"),
        ("topics", "--alter", "--topic", "__remote_log_metadata", "--partitions", "60", "--yes"),
        ("apply", "-f", "FILE", "--yes"),
        ("run", "-e", "delete records topic __remote_log_metadata before latest; apply --yes"),
    ],
)
def test_kafkas_own_topics_are_not_grown_nor_emptied(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "wanted.yaml"
    file.write_text("version: 1\ntopics:\n  __remote_log_metadata:\n    partitions: 60\n")
    _, said = kac(cluster, capsys, words[0], *(str(file) if word == "FILE" else word for word in words[1:]))
    assert "remote storage" in said or "delete none of them" in said
    assert cluster.call(lambda each: len(each.state.topics["__remote_log_metadata"].partitions)) == 1


def test_files_never_prune_them(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "wanted.yaml"
    file.write_text("version: 1\ntopics:\n  orders: {}\n")
    code, said = kac(cluster, capsys, "apply", "-f", str(file), "--prune", "topics=_*", "--yes")
    assert code != 0
    assert "topic-deleted=_schemas" in said
    assert "topic __remote_log_metadata" not in said


def test_an_option_that_would_do_nothing_is_refused(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kac(cluster, capsys, "topics", "--delete", "--topic", "empty", "--partitions", "3", "--yes") == (
        2,
        "kac: --delete takes no --partitions",
    )
    assert kac(cluster, capsys, "acls", "--list", "--allow-host", "10.0.0.1")[0] == 2
    assert kac(cluster, capsys, "quotas", "--list", "--delete-config", "producer_byte_rate")[0] == 2
    assert "empty" in topics(cluster)
    for operation in ("READ", "WRITE"):
        words = ("--allow-principal", f"User:{operation}", "--operation", operation, "--topic", "orders", "--yes")
        assert kac(cluster, capsys, "acls", "--add", *words, "--accept", "first-acl")[0] == 0
    said = kac(cluster, capsys, "acls", "--list", "--operation", "WRITE")[1]
    assert "User:WRITE" in said
    assert "User:READ" not in said


def test_names_that_collide_are_refused_when_they_are_staged(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = kac(cluster, capsys, "run", "-e", "create topic a.b partitions=1; create topic a_b partitions=1")
    assert "the plan creates topic a.b, and names may not differ in '.' and '_' alone" in said
    cluster.call(lambda each: add_topic(each.state, "x_y.z", 1, 1))
    said = kac(cluster, capsys, "run", "-e", "create topic x.y_z partitions=1")[1]
    assert "topic x_y.z exists, and names may not differ" in said


async def test_marked_topics_are_deleted_by_their_number(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster) as it:
        await it.press("2", shows="tmp-4")
        await it.press("slash")
        await it.type("tmp-", "enter", "asterisk", "D", shows="staged: 5")
        await it.press("7", "A", shows="Type 5, the subject of topic-deleted")
        await it.type("5", "enter", shows="applied: 5 entities in 1 request")
    assert not set(TMP) & topics(cluster)
