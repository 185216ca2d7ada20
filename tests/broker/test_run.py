"""`kac run` and `kac snapshot` as processes, on real brokers of each version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def kac(kafka: KafkaCluster, tmp_path: Path) -> Any:
    """Run the command line against the cluster: (exit code, output, complaints)."""

    def run(*arguments: str, text: str = "") -> tuple[int, str, str]:
        command, *rest = arguments
        home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        return worlds.process(command, "-b", kafka.bootstrap, *rest, text=text, **home)

    return run


def test_a_topics_life(kac: Any, name: str) -> None:
    script = f"create topic {name} partitions=2 replication=1 retention.ms=1d; apply --yes"
    code, out, complaints = kac("run", "-e", script)
    assert (code, complaints) == (0, "")
    assert "applied" in out
    code, out, _ = kac("run", "-e", f"describe topic {name} retention.ms", "--output", "json")
    (line,) = out.splitlines()
    (config,) = json.loads(line)["configs"]
    assert code == 0
    assert (config["value"], config["source"]) == ("86400000", "DYNAMIC_TOPIC_CONFIG")
    assert config["without_override"]["value"] == "604800000"
    code, _, _ = kac("run", "-e", f"grow topic {name} partitions=3; set topic {name} retention.ms=2d; apply --yes")
    assert code == 0
    code, out, _ = kac("run", "-e", f"delete topic {name}; apply --yes; list topics {name}")
    assert code == 0
    assert out.endswith("no topics match\n")


def test_edits_that_are_left_are_told(kac: Any, name: str) -> None:
    code, _, complaints = kac("run", "-e", f"set client {name} producer_byte_rate=1MiB/s")
    assert code == 3
    assert "apply --yes" in complaints
    _, out, _ = kac("run", "-e", f"list quotas client={name}")
    assert out == "no quotas match\n"


def test_nothing_runs_of_a_script_that_is_not_understood(kac: Any, name: str) -> None:
    code, out, complaints = kac("run", "-e", f"set client {name} producer_byte_rate=2048; apply --yes; lsit topics")
    assert code == 2
    assert out == ""
    assert "did you mean 'list'" in complaints
    assert "column" in complaints
    _, out, _ = kac("run", "-e", f"list quotas client={name}")
    assert out == "no quotas match\n"


def test_an_apply_sends_nothing_after_a_statement_that_failed(kac: Any, name: str) -> None:
    script = f"set client {name} producer_byte_rate=2048; set topic {name}-none retention.ms=1d; apply --yes"
    code, _, complaints = kac("run", "-e", script)
    assert code == 1
    assert f"there is no topic '{name}-none'" in complaints
    assert "nothing was sent" in complaints
    _, out, _ = kac("run", "-e", f"list quotas client={name}")
    assert out == "no quotas match\n"


def test_apply_does_not_go_on_without_being_told(kac: Any, name: str) -> None:
    code, _, complaints = kac("run", "-e", f"set client {name} producer_byte_rate=2048; apply")
    assert code == 1
    assert "apply --yes" in complaints


def test_the_brokers_refusal_is_in_their_words_and_the_rest_waits(kac: Any, name: str) -> None:
    kac("run", "-e", f"create topic {name} partitions=1 replication=1; apply --yes")
    script = f"set topic {name} retention.ms=1h; set broker 1 log.dirs=/elsewhere; {{}}"
    code, out, _ = kac("run", "-e", script.format("apply --yes"))
    assert code == 1
    assert "Cannot update these configs dynamically" in out
    assert "nothing was sent" in out
    code, out, _ = kac("run", "-e", script.format("apply --yes --valid-only"))
    assert code == 1
    _, out, _ = kac("run", "-e", f"describe topic {name} retention.ms", "--output", "json")
    assert json.loads(out)["configs"][0]["value"] == "3600000"


def test_a_script_on_standard_input_and_in_a_file(kac: Any, tmp_path: Path) -> None:
    script = "# what is set\nlist quotas\n"
    file = tmp_path / "script"
    file.write_text(script)
    assert kac("run", "-f", "-", text=script)[:2] == kac("run", "-f", str(file))[:2]
    assert kac("run", "-f", str(tmp_path / "none"))[0] == 2


def test_a_secret_in_the_wrong_place_is_not_repeated(kac: Any) -> None:
    code, out, complaints = kac("run", "-e", "scram set bob SCRAM-SHA-256 password=hunter2")
    assert code == 2
    assert "hunter2" not in out + complaints
    assert "password=@FILE" in complaints


def test_the_snapshot_is_the_whole_state(kac: Any, kafka: KafkaCluster, name: str) -> None:
    setup = (
        f"create topic {name} partitions=2 replication=1 retention.ms=1d; "
        f"set user {name} client <default> producer_byte_rate=1MiB/s; "
        f"allow User:{name} READ on topic {name} prefixed; apply --yes --accept first-acl"
    )
    assert kac("run", "-e", setup)[0] == 0
    code, out, complaints = kac("snapshot", "--output", "json")
    assert (code, complaints) == (0, "")
    state = json.loads(out)
    assert state["cluster_id"] == kafka.cluster_id
    assert {broker["id"] for broker in state["brokers"]} == set(kafka.broker_ids)
    assert state["controller_id"] in kafka.broker_ids
    assert state["errors"] == []
    (topic,) = [topic for topic in state["topics"] if topic["name"] == name]
    assert topic["internal"] is False
    assert [partition["partition"] for partition in topic["partitions"]] == [0, 1]
    assert all(set(p) == {"partition", "leader", "replicas", "isr"} for p in topic["partitions"])
    configs = {entry["name"]: entry for entry in state["configs"] if entry["resource_name"] == name}
    retention = configs["retention.ms"]
    assert retention["resource_type"] == "TOPIC"
    assert (retention["value"], retention["source"], retention["is_default"]) == (
        "86400000",
        "DYNAMIC_TOPIC_CONFIG",
        False,
    )
    assert retention["synonyms"][0] == {"name": "retention.ms", "value": "86400000", "source": "DYNAMIC_TOPIC_CONFIG"}
    assert configs["cleanup.policy"]["is_default"] is True
    hidden = [entry for entry in state["configs"] if entry["is_sensitive"]]
    assert hidden
    assert all(entry["value"] is None for entry in hidden)
    quotas = [quota for quota in state["quotas"] if quota["entity"].get("user") == name]
    assert quotas == [{"entity": {"user": name, "client-id": None}, "values": {"producer_byte_rate": 1048576.0}}]
    (acl,) = [acl for acl in state["acls"] if acl["principal"] == f"User:{name}"]
    assert (acl["resource_type"], acl["pattern_type"], acl["operation"], acl["permission"]) == (
        "TOPIC",
        "PREFIXED",
        "READ",
        "ALLOW",
    )
    _, out, _ = kac("snapshot", "--overrides")
    names = {entry["name"] for entry in json.loads(out)["configs"] if entry["resource_name"] == name}
    assert names == {"retention.ms"}


def test_a_read_only_start_changes_nothing(kac: Any, name: str) -> None:
    code, _, complaints = kac("run", "--read-only", "-e", f"set client {name} producer_byte_rate=2048; apply --yes")
    assert code == 1
    assert "READ_ONLY" in complaints
