"""Tests of `kac export`, `diff`, `plan`, `apply` and `compare` on a small cluster."""

import json
from pathlib import Path

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from tests.support.worlds import Kac, commands_on

ORDERS = "checkout.orders"


@pytest.fixture
def exported(kac: Kac, tmp_path: Path) -> Path:
    """Export the state of the cluster, and provide the path of the file."""
    file = tmp_path / "wanted.yaml"
    assert kac("export", "--output", str(file)) == (0, "", "")
    return file


def edited(file: Path, *changes: tuple[str, str]) -> str:
    """Replace texts in the file, and return its path as text. changes: (old text, new text)."""
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text)
    return str(file)


def retention(cluster: ThreadedCluster) -> str | None:
    return cluster.call(lambda one: one.state.configs.get(topic_resource(ORDERS), {}).get("retention.ms"))


def test_what_was_exported_changes_nothing(kac: Kac, exported: Path) -> None:
    assert kac("diff", "-f", str(exported), "--exit-code") == (0, "no changes\n", "")
    assert kac("apply", "-f", str(exported), "--yes") == (0, "no changes\n", "")


def test_an_empty_cluster_becomes_what_was_exported(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=3)) as empty:
        kac = commands_on(empty, capsys)
        code, _, complaints = kac("apply", "-f", str(exported), "--yes")
        assert code == 3
        assert "! throttles-everyone: " in complaints
        assert "write apply --accept throttles-everyone" in complaints
        code, out, _ = kac("apply", "-f", str(exported), "--yes", "--accept", "throttles-everyone")
        assert code == 0
        assert "0 failed" in out
        _, again, _ = kac("export")
        assert again.splitlines()[1:] == exported.read_text().splitlines()[1:]


def test_changes_are_told_planned_and_applied(
    kac: Kac, exported: Path, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    file = edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d"), ("83886080", "100MB/s"))
    code, out, _ = kac("diff", "-f", file, "--exit-code")
    assert code == 3
    assert "259200000" in out
    assert "100 MB/s" in out
    plan = tmp_path / "plan.json"
    assert kac("plan", "-f", file, "--out", str(plan))[0] == 0
    assert retention(cluster) == "604800000"
    assert kac("apply", "-f", str(plan), "--yes")[0] == 0
    assert retention(cluster) == "259200000"


def test_a_plan_is_refused_once_the_cluster_has_moved_on(
    kac: Kac, exported: Path, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    plan = str(tmp_path / "plan.json")
    file = edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d"))
    assert kac("plan", "-f", file, "--out", plan)[0] == 0
    cluster.call(lambda one: one.state.alter_config(topic_resource(ORDERS), {"retention.ms": "5"}))
    code, out, complaints = kac("apply", "-f", plan, "--yes")
    assert code == 1
    assert "604800000 (7 d, topic)  5 (topic)  259200000 (3 d, topic)" in " ".join(out.split(" "))
    assert "nothing was sent" in complaints
    assert retention(cluster) == "5"
    assert kac("apply", "-f", plan, "--yes", "--force")[0] == 0
    assert retention(cluster) == "259200000"


def test_a_plan_is_for_its_cluster(
    kac: Kac, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / "plan.json")
    kac("plan", "-f", edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d")), "--out", plan)
    with run_in_thread(ClusterSpec(brokers=3, scenario="quiet")) as other:
        code, _, complaints = commands_on(other, capsys)("apply", "-f", plan, "--yes")
    assert code == 1
    assert "the plan was made for cluster" in complaints


def test_nothing_is_sent_while_something_can_not_be(kac: Kac, exported: Path, cluster: ThreadedCluster) -> None:
    file = edited(
        exported, ("partitions: 12", "partitions: 2"), ('retention.ms: "604800000"', "retention.ms: 3d"),
        ("cleanup.policy:", "cleanup.polici:"),
    )  # fmt: skip
    code, _, complaints = kac("apply", "-f", file, "--yes")
    assert code == 1
    assert f"{file}:" in complaints
    assert "partitions can't be taken away" in complaints
    assert "Did you mean cleanup.policy?" in complaints
    assert retention(cluster) == "604800000"


def test_only_what_is_named_is_removed(kac: Kac, exported: Path, cluster: ThreadedCluster) -> None:
    lines = exported.read_text().splitlines()
    start = lines.index("  checkout.refunds:")
    exported.write_text("\n".join(lines[:start] + lines[start + 4 :]) + "\n")
    assert kac("diff", "-f", str(exported)) == (0, "no changes\n", "")
    code, out, _ = kac("diff", "-f", str(exported), "--prune", "topics=checkout.*", "--exit-code")
    assert code == 3
    assert "topic checkout.refunds" in out
    assert len([line for line in out.splitlines() if line.startswith("topic ")]) == 1
    assert "! topic-deleted: topic checkout.refunds" in out
    assert kac("diff", "-f", str(exported), "--prune", "topics=identity.*") == (0, "no changes\n", "")
    assert kac("diff", "-f", str(exported), "--prune", "everything")[0] == 2


def test_a_secret_is_told_of_and_never_told(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    resource, key = broker_resource(1), "listener.name.x.ssl.keystore.password"
    cluster.call(lambda one: one.state.alter_config(resource, {key: "hunter2"}))
    _, out, _ = kac("export")
    assert "hunter2" not in out
    assert f"{key}: {{secret: set}}" in out
    file = tmp_path / "wanted.yaml"
    file.write_text(out)
    assert kac("diff", "-f", str(file)) == (0, "no changes\n", "")
    cluster.call(lambda one: one.state.alter_config(resource, {key: None}))
    code, _, complaints = kac("diff", "-f", str(file))
    assert code == 1
    assert "set it by hand" in complaints


def test_brokers_are_compared_and_one_that_is_down_is_not_said_to_be_alike(kac: Kac, cluster: ThreadedCluster) -> None:
    cluster.call(lambda one: one.state.alter_config(broker_resource(3), {"log.cleaner.threads": "4"}))
    cluster.call(lambda one: one.state.alter_config(CLUSTER_DEFAULT, {"log.cleaner.threads": "2"}))
    _, out, _ = kac("compare", "--brokers", "--output", "json")
    rows = {row["key"]: row for row in json.loads(out)["differences"]}
    assert rows["log.cleaner.threads"] == {
        "key": "log.cleaner.threads", "values": {"1": "2", "2": "2", "3": "4"}, "odd": [3]
    }  # fmt: skip
    cluster.run(lambda c: c.broker_down(3))
    assert kac("compare", "--brokers") == (1, "those that were read are alike\n", "kac: broker 3 could not be read\n")


def test_entities_and_files_are_compared(kac: Kac, exported: Path, tmp_path: Path) -> None:
    _, out, _ = kac("compare", f"topic:{ORDERS}", "topic:checkout.payments")
    assert "cleanup.policy  delete (default)" in " ".join(out.split(" "))
    other = tmp_path / "other.yaml"
    other.write_text(exported.read_text())
    assert kac("compare", str(exported), str(other)) == (0, "they are alike\n", "")
    edited(other, ('retention.ms: "604800000"', "retention.ms: 3d"))
    code, out, _ = kac("compare", str(exported), str(other), "--exit-code")
    assert code == 3
    assert len(out.splitlines()) == 2


def test_with_valid_only_what_moved_since_the_plan_was_made_is_left_out_and_named(
    kac: Kac, exported: Path, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    plan = str(tmp_path / "plan.json")
    file = edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d"), ("83886080", "100MB/s"))
    assert kac("plan", "-f", file, "--out", plan)[0] == 0
    cluster.call(lambda one: one.state.alter_config(topic_resource(ORDERS), {"retention.ms": "5"}))
    code, out, complaints = kac("apply", "-f", plan, "--yes", "--valid-only")
    assert code == 1
    assert f"left out, changed since the plan was made: topic {ORDERS}: retention.ms" in complaints
    assert "1 request, 1 entity ok, 0 failed" in out
    assert retention(cluster) == "5"
    exports = kac("export")[1]
    assert ("# 100 MB/s" in exports, "83886080" in exports) == (True, False)


def test_a_plan_in_json_is_json_also_where_the_cluster_has_moved_on(
    kac: Kac, exported: Path, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    plan = str(tmp_path / "plan.json")
    assert kac("plan", "-f", edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d")), "--out", plan)[0] == 0
    cluster.call(lambda one: one.state.alter_config(topic_resource(ORDERS), {"retention.ms": "5"}))
    _, out, _ = kac("apply", "-f", plan, "--yes", "--output", "json")
    assert [list(json.loads(line)) for line in out.splitlines()] == [["moved", "errors"]]


SCRAM_USER = {"user": "alice", "mechanism": "SCRAM_SHA_256"}


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "set-config", "resource": ["BROKER", "1"], "key": "ssl.keystore.password", "value": None},
        {"op": "append-config", "resource": ["BROKER", "1"], "key": "ssl.keystore.password", "value": None},
        {"op": "upsert-scram", "user": SCRAM_USER, "iterations": 4096, "password": None},
        {"op": "set-config", "resource": ["BROKER", "1"], "key": "ssl.keystore.password"},
        {"op": "create-topic", "topic": {"name": "t", "partitions": 1, "replication": 1, "configs": {"k": None}}},
    ],
)
@pytest.mark.parametrize("options", [(), ("--valid-only", "--force")])
def test_a_kept_plan_never_sets_an_empty_secret(
    kac: Kac, cluster: ThreadedCluster, tmp_path: Path, edit: dict[str, object], options: tuple[str, ...]
) -> None:
    plan = tmp_path / "plan.json"
    id_ = cluster.call(lambda one: one.state.cluster_id)
    head = {"format": "kac plan", "version": 1, "cluster_id": id_, "made": "2026-01-01T00:00:00+00:00"}
    plan.write_text(json.dumps({**head, "edits": [{"edit": edit, "was": None}]}))
    before = kac("snapshot")
    code, out, complaints = kac("apply", "-f", str(plan), "--yes", *options)
    assert (code, out) == (2, "")
    assert str(plan) in complaints
    assert kac("snapshot") == before


def test_a_secret_that_no_file_holds_is_named_and_the_rest_goes_on(
    kac: Kac, exported: Path, cluster: ThreadedCluster
) -> None:
    key = "listener.name.x.ssl.keystore.password"
    file = edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d"))
    text = exported.read_text()
    exported.write_text(text.replace("brokers:\n", f'brokers:\n  "2":\n    {key}: {{secret: set}}\n', 1))
    code, out, complaints = kac("apply", "-f", file, "--yes")
    assert code == 1
    assert f"{key} is secret and not set; set it by hand, as {key}=?" in complaints
    assert "nothing was sent" not in complaints
    assert "1 request, 1 entity ok, 0 failed" in out
    assert retention(cluster) == "259200000"


def test_a_secret_that_a_file_holds_all_the_same_is_shown_and_kept_nowhere(
    kac: Kac, exported: Path, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    key = "listener.name.x.ssl.keystore.password"
    text = exported.read_text()
    exported.write_text(text.replace("brokers:\n", f'brokers:\n  "2":\n    {key}: hunter2\n    my.token: hunter3\n', 1))
    for words in (("diff",), ("diff", "--output", "json"), ("plan", "--out", str(tmp_path / "p"))):
        _, out, err = kac(words[0], "-f", str(exported), *words[1:])
        assert key in out
        assert "hunter" not in out + err
    assert not (tmp_path / "p").exists()
    _, out, err = kac("apply", "-f", str(exported), "--yes", "--valid-only", "--accept", "needs-restart")
    assert "hunter" not in out + err
    for file in (tmp_path / "state").rglob("*"):
        assert not file.is_file() or "hunter" not in file.read_text()
    found = cluster.call(lambda one: dict(one.state.configs.get(broker_resource(2), {})))
    assert found[key] == "hunter2"


def test_a_device_is_written_into_and_a_link_stays_one(kac: Kac, exported: Path, tmp_path: Path) -> None:
    before = Path("/dev/null").stat()
    assert kac("export", "--output", "/dev/null") == (0, "", "")
    assert Path("/dev/null").stat().st_rdev == before.st_rdev
    (tmp_path / "link").symlink_to(exported)
    assert kac("export", "--output", str(tmp_path / "link")) == (0, "", "")
    assert (tmp_path / "link").is_symlink()
    assert kac("export", "--output", str(tmp_path)) == (1, "", f"kac: can't write {tmp_path}: Is a directory\n")


RISKY = "version: 1\ntopics:\n  risky: {partitions: 1, replication: 1, configs: {min.insync.replicas: '2'}}\n"
RISK = "isr-above-replication"


def test_a_warning_is_said_once(kac: Kac, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kac apply` prints each warning only once: in the question or the message, if kac asks about the warning or
    stops because of it, and otherwise with the plan.
    """
    file = tmp_path / "risky.yaml"
    file.write_text(RISKY)

    def said(*words: str) -> tuple[int, int, int]:
        code, out, complaints = kac("apply", "-f", str(file), *words)
        return code, out.count(f"! {RISK}: "), complaints.count(f"! {RISK}: ")

    assert said() == (1, 1, 0)
    assert said("--yes") == (3, 0, 1)
    monkeypatch.setattr("console.session.terminal_front.Terminal.answers", True)

    async def line(*_: object) -> str:
        return "no"

    monkeypatch.setattr("console.session.terminal_front.Terminal.line", line)
    assert said() == (1, 0, 1)
    monkeypatch.undo()
    assert said("--yes", "--accept", RISK) == (0, 1, 0)


def test_a_plan_says_why_brokers_refuse_it(kac: Kac, tmp_path: Path) -> None:
    """If brokers refuse several lines of a plan for the same reason, kac prints the reason once."""
    file = tmp_path / "bad.yaml"
    file.write_text("version: 1\ntopics:\n  bad: {partitions: 1, configs: {segment.bytes: '5', retention.ms: 7d}}\n")
    code, out, _ = kac("plan", "-f", str(file))
    assert code == 1
    (why,) = (line for line in out.splitlines() if line.startswith("! failed: "))
    assert why.startswith("! failed: topic bad: INVALID_CONFIG: ")
    assert "segment.bytes" in why


def test_what_can_not_be_is_not_called_unchanged(kac: Kac, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("version: 1\ntopics:\n  'no name': {}\n")
    code, out, complaints = kac("diff", "-f", str(file))
    assert (code, out) == (1, "no other changes\n")
    assert "can't be a topic's name" in complaints


def test_a_plan_with_an_edit_of_another_form_says_so(kac: Kac, exported: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    file = edited(exported, ('retention.ms: "604800000"', "retention.ms: 3d"))
    assert kac("plan", "-f", file, "--out", str(plan))[0] == 0
    for old, new in (('"set-config"', '"nuke"'), ('"key"', '"kee"')):
        bad = tmp_path / "bad.json"
        bad.write_text(plan.read_text().replace(old, new))
        code, _, complaints = kac("apply", "-f", str(bad), "--yes")
        assert code == 2
        assert "the plan can't be read: an edit in it is not as kac writes one; make it again" in complaints


@pytest.mark.parametrize(
    ("assigned", "said"),
    [
        ([(1, 2), (2, 3)], "it has 2 replicas; kac moves replication mixed 3"),
        ([(1, 2, 3), (2,)], "its partitions have 1,3 replicas; kac moves replication mixed 3"),
    ],
)
def test_another_replication_is_the_command_that_moves_replicas(
    assigned: list[tuple[int, ...]], said: str, kac: Kac, cluster: ThreadedCluster, tmp_path: Path
) -> None:
    cluster.call(lambda one: one.state.put_topic(new_topic("mixed", assigned, (1, 2, 3))))
    file = tmp_path / "wanted.yaml"
    file.write_text("version: 1\ntopics:\n  mixed: {replication: 3}\n")
    _, out, err = kac("diff", "-f", str(file))
    assert said in out + err


def test_replication_minus_one_is_the_brokers_default(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    file = tmp_path / "wanted.yaml"
    file.write_text(
        "version: 1\ntopics:\n  made: {partitions: -1, replication: -1}\n  checkout.orders: {replication: -1}\n"
    )
    code, out, err = kac("apply", "-f", str(file), "--yes")
    assert code == 0, out + err
    made = cluster.call(lambda one: one.state.topics["made"].partitions)
    assert len(made) == len(made[0].replicas) == 1
    file.write_text("version: 1\ntopics:\n  made: {replication: -2}\n")
    code, out, err = kac("diff", "-f", str(file))
    assert code == 2
    assert "-2" in out + err


def test_what_is_shown_of_a_topic_to_delete_was_read(kac: Kac, exported: Path) -> None:
    lines = exported.read_text().splitlines()
    start = lines.index("  checkout.refunds:")
    exported.write_text("\n".join(lines[:start] + lines[start + 4 :]) + "\n")
    for command in ("diff", "plan"):
        _, out, _ = kac(command, "-f", str(exported), "--prune", "topics=checkout.*")
        (warning,) = (line for line in out.splitlines() if line.startswith("! topic-deleted: "))
        assert "GiB go for good" in warning
        assert "not read" not in warning
