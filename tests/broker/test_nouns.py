"""Tests of kac's commands on real brokers, among them `kac run` and `kac lint`: their effects, --prune, and which
modules they import.
"""

import asyncio
import json
import os
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.cli import main as cli
from console.cli.kafka_configs.command import ConfigsCommand, connection
from console.cli.main import BY_NAME, command_parser
from console.cli.noun_command import NounCommand
from console.cli.opening import client_of, context_of
from tests.support import kafka_jars, loaded_modules, looks, prune_walk, real_clusters, worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.server_properties import properties_of, properties_text
from tests.unit.test_import_hygiene import MEASURES, SCREEN

# -- commands on real brokers: their imports, effects and --prune ------------------------------------------------------

ROOT = Path(__file__).parents[2]

Kac = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kac(plain_cluster: KafkaCluster) -> Kac:
    """Provide a function that runs a command of kac on the cluster, in this process without a terminal, and returns
    (exit code, standard output, standard error).
    """

    def run(command: str, *arguments: str) -> tuple[int, str, str]:
        return in_process(command, "-b", plain_cluster.bootstrap, *arguments)

    return run


def in_process(name: str, *arguments: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    with redirect_stderr(err):  # for messages about contexts
        if name == "configs":
            configs = ConfigsCommand(
                lambda given: context_of(connection(given, Namespace())), client_of, out=out, err=err
            )
            code = configs.run(arguments)
        else:
            command = BY_NAME[name]
            options = command_parser(command).parse_args(arguments)
            made = NounCommand(BY_NAME[name].noun(), options, out=out, err=err)
            code = made.run(lambda: context_of(options), client_of)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def process(plain_cluster: KafkaCluster) -> Kac:
    def run(command: str, *arguments: str, **environ: str) -> tuple[int, str, str]:
        return worlds.process(command, "--bootstrap-server", plain_cluster.bootstrap, *arguments, **environ)

    return run


def data(answer: tuple[int, str, str]) -> Any:
    code, out, complaints = answer
    assert (code, complaints) == (0, "")
    return json.loads(out)


def test_a_topics_life(kac: Kac, name: str) -> None:
    made = kac("topics", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=1d")
    assert made[0] == 0, made
    again = kac("topics", "--create", "--topic", name, "--if-not-exists")
    assert again == (0, "", f"kac: topic {name} exists already: nothing to do\n")
    (row,) = data(kac("topics", "--list", "--topic", name, "--output", "json"))["topics"]
    assert (row["name"], row["partition_count"]) == (name, 2)
    tried = kac("topics", "--alter", "--topic", name, "--partitions", "3", "--config", "retention.ms=x")
    assert tried[0] == 1
    assert "retention.ms" in tried[2]
    change = ("topics", "--alter", "--topic", name, "--partitions", "3", "--config", "retention.ms=2d")
    checked = data(kac(*change, "--validate-only", "--output", "json"))
    assert {outcome["state"] for outcome in checked["outcomes"]} == {"valid"}
    assert len(data(kac("topics", "--describe", "--topic", name, "--output", "json"))["partitions"]) == 2
    assert kac(*change)[0] == 0
    assert len(data(kac("topics", "--describe", "--topic", name, "--output", "json"))["partitions"]) == 3
    code, out, complaints = kac("topics", "--delete", "--topic", name)
    assert (code, out) == (1, "")
    assert "asks first" in complaints
    assert kac("topics", "--delete", "--topic", name, "--yes")[0] == 0
    assert data(kac("topics", "--list", "--topic", name, "--output", "json"))["topics"] == []


def test_quotas_acls_and_credentials(kac: Kac, name: str, tmp_path: Path) -> None:
    entity = ("--user", name, "--client-defaults")
    assert kac("quotas", "--alter", *entity, "--add-config", "producer_byte_rate=1MiB/s")[0] == 0
    (quota,) = data(kac("quotas", "--list", "--user", name, "--output", "json"))["quotas"]
    assert quota["values"]["producer_byte_rate"] == 1_048_576
    assert kac("quotas", "--alter", *entity, "--delete-config", "producer_byte_rate")[0] == 0

    grant = ("--allow-principal", f"User:{name}", "--consumer", "--topic", name, "--group", name)
    assert kac("acls", "--add", *grant, "--accept", "first-acl")[0] == 0
    acls = data(kac("acls", "--list", "--principal", f"User:{name}", "--output", "json"))["acls"]
    assert {(acl["resource_type"], acl["operation"]) for acl in acls} == {
        ("TOPIC", "READ"),
        ("TOPIC", "DESCRIBE"),
        ("GROUP", "READ"),
    }
    assert kac("acls", "--remove", *grant, "--yes")[0] == 0
    assert data(kac("acls", "--list", "--principal", f"User:{name}", "--output", "json"))["acls"] == []

    password = tmp_path / "password"
    password.write_text("hidden\n")
    credential = ("--user", name, "--mechanism", "SCRAM-SHA-256")
    made = kac("scram", "--create", *credential, "--password-file", str(password))
    assert made[0] == 0
    assert "hidden" not in "".join(map(str, made))
    (row,) = data(kac("scram", "--describe", "--user", name, "--output", "json"))["scram"]
    assert (row["mechanism"], row["iterations"]) == ("SCRAM-SHA-256", 4096)
    assert kac("scram", "--delete", *credential, "--yes")[0] == 0
    assert kac("scram", "--create", *credential)[0] == 1  # without a terminal


def test_brokers_and_groups(kac: Kac, plain_cluster: KafkaCluster) -> None:
    brokers = data(kac("brokers", "--list", "--output", "json"))["brokers"]
    assert [broker["id"] for broker in brokers] == list(plain_cluster.broker_ids)
    tried = kac("brokers", "--alter", "--broker", "1", "--add-config", "log.cleaner.threads=2", "--validate-only")
    assert tried[0] == 0
    assert kac("groups", "--list")[0] == 0


def test_configs_as_a_process(kac: Kac, process: Kac, name: str) -> None:
    kac("topics", "--create", "--topic", name, "--partitions", "1")
    entity = ("--topic", name)
    done = process("configs", *entity, "--alter", "--add-config", "retention.ms=3600005")
    assert done == (0, f"Completed updating config for topic {name}.\n", "")
    code, out, _ = process("configs", *entity, "--describe")
    assert (code, out.splitlines()[0]) == (0, f"Dynamic configs for topic {name} are:")
    (found,) = data(kac("configs", *entity, "--alter", "--add-config", "retention.ms=3600006", "--output", "json"))
    (retention,) = [config for config in found["configs"] if config["name"] == "retention.ms"]
    assert (retention["value"], retention["default"]) == ("3600006", False)
    code, out, _ = kac("configs", *entity, "--alter", "--delete-config", "retention.ms", "--output", "table")
    lines = out.splitlines()
    assert lines[0] == f"Completed updating config for topic {name}."
    back = shlex.split(lines[1].removesuffix(" takes it back."))
    assert lines[2:4] == ["", f"CONFIGS FOR TOPIC {name}"]
    assert process(*back[1:])[0] == 0
    _, out, _ = kac("configs", *entity, "--describe")
    assert "  retention.ms=3600006 sensitive=false" in out
    code, out, complaints = kac("configs", *entity, "--alter", "--add-config", "retenton.ms=5")
    assert code == 1
    assert complaints.startswith("Unknown topic config name: retenton.ms\nkac: retenton.ms: did you mean retention.ms?")
    code, _, complaints = kac("configs", *entity, "--alter", "--add-config", "retention.ms=7", "--read-only")
    assert code == 1
    assert "read-only" in complaints


def test_a_guarded_context_is_guarded_here_too(
    plain_cluster: KafkaCluster, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    servers = f'bootstrap.servers = "{plain_cluster.bootstrap}"'
    config.write_text(
        f'[contexts.guarded]\n{servers}\nconfirm = true\n[contexts.other]\n{servers}\ncluster_id = "another"\n'
    )
    monkeypatch.setenv("KAC_CONFIG", str(config))
    run = in_process
    change = ("configs", "-c", "guarded", "--user", name, "--alter", "--add-config", "producer_byte_rate=5000")
    code, out, complaints = run(*change)
    assert (code, out) == (1, "")
    assert "guarded wants its name typed" in complaints
    assert run("configs", "-c", "guarded", "--user", name, "--describe") == (0, "", "")
    assert run(*change, "--force") == (0, f"Completed updating config for user {name}.\n", "")
    quota = ("quotas", "-c", "guarded", "--user", name, "--alter", "--delete-config", "producer_byte_rate")
    assert run(*quota)[0] == 1
    assert run(*quota, "--yes")[0] == 0
    for command in (("configs", "--describe"), ("quotas", "--describe")):
        code, out, complaints = run(command[0], "-c", "other", command[1], "--user", name)
        assert (code, out) == (1, "")
        assert "is for cluster another" in complaints


def test_the_old_command_runs_where_it_is_wanted(process: Kac, tmp_path: Path) -> None:
    old = tmp_path / "kafka-configs.sh"
    old.write_text('#!/bin/sh\necho "old: $*"\nexit 7\n')
    old.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    code, out, _ = process("configs", "--describe", "--topic", "a b", USE_OLD_COMMAND="true", PATH=path)
    assert code == 7
    assert out.endswith(" --describe --topic a b\n")
    code, _, complaints = process("configs", "--describe", USE_OLD_COMMAND="true", PATH=str(tmp_path / "none"))
    assert code == 1
    assert "no kafka-configs on PATH" in complaints


# -- imports of commands on a real cluster: no screen, and no large library that this cluster does not need ------------


def test_run_loads_no_screen(plain_cluster: KafkaCluster) -> None:
    loaded = loaded_modules.loaded_by("run", "-b", plain_cluster.bootstrap, "-e", "describe broker 1")
    assert loaded.code == 0
    assert loaded.any_of(*SCREEN, "yaml", "cryptography") == set()
    assert {name for name in loaded.modules if name.split(".")[0] == "widgets"} <= MEASURES


def test_snapshot_loads_no_screen(plain_cluster: KafkaCluster) -> None:
    loaded = loaded_modules.loaded_by("snapshot", "-b", plain_cluster.bootstrap)
    assert loaded.code == 0
    assert loaded.any_of(*SCREEN, "yaml", "cryptography") == set()
    assert {name for name in loaded.modules if name.split(".")[0] == "widgets"} <= MEASURES


# -- commands that only read create nothing on a new cluster -----------------------------------------------------------


@pytest.fixture(params=real_clusters.by_release([kafka_jars.KAFKA_3_9, kafka_jars.KAFKA_4_3], kafka_jars.KAFKA_4_3))
def fresh(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a broker that no client has used yet."""
    yield from real_clusters.running(lambda: KafkaCluster(request.param, brokers=1))


async def test_all_that_looks_leaves_a_fresh_cluster_as_it_is(fresh: KafkaCluster) -> None:
    with AdminClient(ConnectionSettings(fresh.addresses)) as client:
        assert (await client.run(describe_topics)).topics == {}
        await looks.look_at_everything(fresh.bootstrap)
        assert (await client.run(describe_topics)).topics == {}


# -- `--prune` on real brokers: the same test as on the embedded cluster -----------------------------------------------


def test_what_no_file_has_is_removed_and_nothing_else(
    empty_cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prune_walk.walk(worlds.commands_on(empty_cluster, capsys), tmp_path)


# -- `kac run` and `kac snapshot` as processes, on real brokers of each version ----------------------------------------


@pytest.fixture
def process_of(kafka: KafkaCluster, tmp_path: Path) -> Any:
    """Provide a function that runs a command line of kac on the cluster in a new process, and returns (exit code,
    standard output, standard error).
    """

    def run(*arguments: str, text: str = "") -> tuple[int, str, str]:
        command, *rest = arguments
        home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        return worlds.process(command, "-b", kafka.bootstrap, *rest, text=text, **home)

    return run


def test_a_topics_life_by_run(process_of: Any, name: str) -> None:
    script = f"create topic {name} partitions=2 replication=1 retention.ms=1d; apply --yes"
    code, out, complaints = process_of("run", "-e", script)
    assert (code, complaints) == (0, "")
    assert "applied" in out
    code, out, _ = process_of("run", "-e", f"describe topic {name} retention.ms", "--output", "json")
    (line,) = out.splitlines()
    (config,) = json.loads(line)["configs"]
    assert code == 0
    assert (config["value"], config["source"]) == ("86400000", "DYNAMIC_TOPIC_CONFIG")
    assert config["without_override"]["value"] == "604800000"
    code, _, _ = process_of(
        "run", "-e", f"grow topic {name} partitions=3; set topic {name} retention.ms=2d; apply --yes"
    )
    assert code == 0
    code, out, _ = process_of("run", "-e", f"delete topic {name}; apply --yes; list topics {name}")
    assert code == 0
    assert out.endswith("no topics match\n")


def test_edits_that_are_left_are_told(process_of: Any, name: str) -> None:
    code, _, complaints = process_of("run", "-e", f"set client {name} producer_byte_rate=1MiB/s")
    assert code == 3
    assert "apply --yes" in complaints
    _, out, _ = process_of("run", "-e", f"list quotas client={name}")
    assert out == "no quotas match\n"


def test_nothing_runs_of_a_script_that_is_not_understood(process_of: Any, name: str) -> None:
    code, out, complaints = process_of(
        "run", "-e", f"set client {name} producer_byte_rate=2048; apply --yes; lsit topics"
    )
    assert code == 2
    assert out == ""
    assert "did you mean 'list'" in complaints
    assert "column" in complaints
    _, out, _ = process_of("run", "-e", f"list quotas client={name}")
    assert out == "no quotas match\n"


def test_an_apply_sends_nothing_after_a_statement_that_failed(process_of: Any, name: str) -> None:
    script = f"set client {name} producer_byte_rate=2048; set topic {name}-none retention.ms=1d; apply --yes"
    code, _, complaints = process_of("run", "-e", script)
    assert code == 1
    assert f"there is no topic '{name}-none'" in complaints
    assert "nothing was sent" in complaints
    _, out, _ = process_of("run", "-e", f"list quotas client={name}")
    assert out == "no quotas match\n"


def test_apply_does_not_go_on_without_being_told(process_of: Any, name: str) -> None:
    code, _, complaints = process_of("run", "-e", f"set client {name} producer_byte_rate=2048; apply")
    assert code == 1
    assert "apply --yes" in complaints


def test_the_brokers_refusal_is_in_their_words_and_the_rest_waits(process_of: Any, name: str) -> None:
    process_of("run", "-e", f"create topic {name} partitions=1 replication=1; apply --yes")
    script = f"set topic {name} retention.ms=1h; set broker 1 log.dirs=/elsewhere; {{}}"
    code, out, _ = process_of("run", "-e", script.format("apply --yes"))
    assert code == 1
    assert "Cannot update these configs dynamically" in out
    assert "nothing was sent" in out
    code, out, _ = process_of("run", "-e", script.format("apply --yes --valid-only"))
    assert code == 1
    _, out, _ = process_of("run", "-e", f"describe topic {name} retention.ms", "--output", "json")
    assert json.loads(out)["configs"][0]["value"] == "3600000"


def test_a_script_on_standard_input_and_in_a_file(process_of: Any, tmp_path: Path) -> None:
    script = "# what is set\nlist quotas\n"
    file = tmp_path / "script"
    file.write_text(script)
    assert process_of("run", "-f", "-", text=script)[:2] == process_of("run", "-f", str(file))[:2]
    assert process_of("run", "-f", str(tmp_path / "none"))[0] == 2


def test_a_secret_in_the_wrong_place_is_not_repeated(process_of: Any) -> None:
    code, out, complaints = process_of("run", "-e", "scram set bob SCRAM-SHA-256 password=hunter2")
    assert code == 2
    assert "hunter2" not in out + complaints
    assert "password=@FILE" in complaints


def test_the_snapshot_is_the_whole_state(process_of: Any, kafka: KafkaCluster, name: str) -> None:
    setup = (
        f"create topic {name} partitions=2 replication=1 retention.ms=1d; "
        f"set user {name} client <default> producer_byte_rate=1MiB/s; "
        f"allow User:{name} READ on topic {name} prefixed; apply --yes --accept first-acl"
    )
    assert process_of("run", "-e", setup)[0] == 0
    code, out, complaints = process_of("snapshot", "--output", "json")
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
    _, out, _ = process_of("snapshot", "--overrides")
    names = {entry["name"] for entry in json.loads(out)["configs"] if entry["resource_name"] == name}
    assert names == {"retention.ms"}


def test_a_read_only_start_changes_nothing(process_of: Any, name: str) -> None:
    code, _, complaints = process_of(
        "run", "--read-only", "-e", f"set client {name} producer_byte_rate=2048; apply --yes"
    )
    assert code == 1
    assert "READ_ONLY" in complaints


# -- lint on a real broker: the findings on one with the configs of Kafka's quick start, and their remedies ------------

BAD = {"retention.ms": "1000", "segment.bytes": "4194304", "retention.bytes": "2097152", "flush.messages": "1"}
FOUND = {"retention-tiny", "retention-below-segment", "flush-each-batch"}
QUICK_START = {"auto-create", "log-dir-in-tmp"}
"""The rules of which lint reports a finding on a broker that was set up by Kafka's quick start: clients can create
topics by using any name, and the log directory is one that hosts clear.
"""
FACTOR = "transaction.state.log.replication.factor"
COMPOSE = {
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.min.isr": "1",
    FACTOR: "1",
}
"""The broker configs in the compose file of Confluent Platform's all-in-one setup for KRaft, without listeners and
directories.
"""


async def printed(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str], command: str, *arguments: str) -> str:
    """Run a command of kac, and return its standard output. Raises AssertionError if its exit code is not 0."""
    capsys.readouterr()
    code = await asyncio.to_thread(cli.run, [command, "-b", kafka.bootstrap, *arguments])
    out = capsys.readouterr().out
    assert code == 0, out
    return out


async def lint(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Run `kac lint`, and return its findings. Raises AssertionError unless it skips exactly one rule, the rule for
    tokens.
    """
    found = json.loads(await printed(kafka, capsys, "lint", "--output", "json"))
    # Only connections with a login have tokens.
    assert [each["rules"] for each in found["did_not_look"]] == [["token-expiring"]]
    assert found["not_read"] == []
    return list(found["findings"])


async def test_a_quick_start_has_few_findings_and_remedies_end_those_of_a_topic(
    empty_cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {each["rule"] for each in await lint(empty_cluster, capsys)} <= QUICK_START
    settings = " ".join(f"{key}={value}" for key, value in BAD.items())
    create = f"create topic quick-start partitions=1 replication=1 {settings}; apply --yes"
    await printed(empty_cluster, capsys, "run", "-e", create)
    found = {each["rule"]: each for each in await lint(empty_cluster, capsys)}
    assert found.keys() - QUICK_START == FOUND
    assert {found[rule]["subject"] for rule in FOUND} == {"topic quick-start"}
    statements = dict.fromkeys(statement for rule in sorted(FOUND) for statement in found[rule]["remedy"])
    await printed(empty_cluster, capsys, "run", "-e", "; ".join((*statements, "apply --yes")))
    assert {each["rule"] for each in await lint(empty_cluster, capsys)} <= QUICK_START


@pytest.mark.takes(15)
async def test_a_published_compose_file_has_as_few_findings_until_it_asks_for_more_brokers_than_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    properties = {**COMPOSE, FACTOR: "2"}
    with KafkaCluster(brokers=1, quiet=False, properties=properties) as cluster:
        found = {each["rule"]: each for each in await lint(cluster, capsys)}
        assert found.keys() - QUICK_START == {"coordinator-unavailable"}
        (never,) = (each for each in found.values() if each["rule"] == "coordinator-unavailable")
        assert (never["subject"], never["severity"]) == ("topic __transaction_state", "warning")
        assert never["what"].startswith(f"it can't be made: {FACTOR} is 2, and 1 broker can take replicas")
        file = cluster.directory / "broker-1" / "server.properties"
        file.write_text(properties_text({**properties_of(file), FACTOR: COMPOSE[FACTOR]}))
        await asyncio.to_thread(cluster.stop, 1)
        await asyncio.to_thread(cluster.restart, 1)
        assert {each["rule"] for each in await lint(cluster, capsys)} <= QUICK_START
