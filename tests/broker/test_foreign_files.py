"""Tests of files from other tools, with brokers of 4.4 and 3.9: listings of kafka-acls and kafka-configs, and JSON for
kafka-reassign-partitions, which also verifies the reassignment. An export as Strimzi's resources, also with unusual
names, has no difference from the cluster.
"""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.model.changes import CreateTopics, DeleteTopics, NewTopic
from tests.support import changing, kafka_cluster, kafka_jars, real_clusters, worlds
from tests.support.kafka_commands import ACLS, CONFIGS, KafkaCommands

pytestmark = pytest.mark.slow

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
OLD_ACLS = "kafka.admin.AclCommand"
"""The main class of kafka-acls before 4.0."""
USER = "CN=foreign files, OU=test"
APPLY = "apply --yes --accept first-acl,acl-matches-nothing,acl-locks-out"
Said = tuple[int, str, str]


@pytest.fixture(params=["kafka44", "kafka39"])
def kafka(request: pytest.FixtureRequest) -> kafka_cluster.KafkaCluster:
    cluster: kafka_cluster.KafkaCluster = request.getfixturevalue(request.param)
    return cluster


commands = real_clusters.lent(KafkaCommands)
"""Provide Kafka's own tools of 4.3, all in one process. Those of 4.4.0 are not published."""


@pytest.fixture
def tool(kafka: kafka_cluster.KafkaCluster, commands: KafkaCommands) -> Callable[..., str]:
    """Provide a function that runs one of Kafka's tools and returns its output. For brokers of 3.9 it runs the tool of
    3.9.
    """

    def call(name: str, *words: str) -> str:
        words = ("--bootstrap-server", kafka.bootstrap, *words)
        if kafka.version == kafka_jars.KAFKA_3_9:
            done = kafka.run_tool(OLD_ACLS if name == ACLS else name, *words)
            assert done.returncode == 0, done.stderr
            return done.stdout
        ran = commands.run(name, words)
        assert ran.code == 0, ran.err
        return ran.out

    return call


kac = worlds.commands("kafka")


@pytest.fixture
async def topic(kafka: kafka_cluster.KafkaCluster, name: str) -> AsyncIterator[str]:
    async with worlds.linked(worlds.settings(kafka)) as link:
        assert await changing.applied(link, CreateTopics((NewTopic(name, 3, 1),)))
        yield name
        assert await changing.applied(link, DeleteTopics((name,)))


def test_acls(topic: str, tool: Callable[..., str], kac: Callable[..., Said], tmp_path: Path) -> None:
    """kac finds no difference between a listing of kafka-acls and the cluster. After ACLs were deleted, kac creates
    them again from the listing, and the tool then lists the same ACLs.
    """
    bindings = (
        f"allow 'User:{USER}' READ,ALTER_CONFIGS on topic {topic}",
        f"deny 'User:b`o)b' ALL on topic {topic} from 10.0.0.9",
        f"allow User:* DESCRIBE on topic {topic} prefixed",
    )

    def listing() -> str:
        kinds = ((), ("--resource-pattern-type", "prefixed"))
        return "".join(tool(ACLS, "--list", "--topic", topic, *kind) for kind in kinds)

    done = kac("run", "-e", "; ".join((*bindings, APPLY)))
    assert done[0] == 0, done
    try:
        file, before = tmp_path / "acls.txt", listing()
        assert before.count("principal=") == 4, before
        file.write_text(before)
        assert kac("diff", "-f", str(file), "--exit-code") == (0, "no changes\n", "")
        assert kac("run", "-e", f"revoke allow 'User:{USER}' READ on topic {topic}; {APPLY}")[0] == 0
        code, out, err = kac("apply", "-f", str(file), "--yes", "--accept", APPLY.split()[-1])
        assert (code, "1 entity ok, 0 failed" in out) == (0, True), (out, err)
        assert sorted(listing().splitlines()) == sorted(before.splitlines())
        file.write_text(tool(ACLS, "--list", "--principal", f"User:{USER}", "--topic", topic))
        assert file.read_text().count("principal=") == 2
        assert kac("diff", "-f", str(file), "--exit-code") == (0, "no changes\n", "")
    finally:
        kac("run", "-e", "; ".join((*(f"revoke {each}" for each in bindings), APPLY)))


def test_configs(topic: str, tool: Callable[..., str], kac: Callable[..., Said], tmp_path: Path) -> None:
    """kac finds no difference between the cluster and kafka-configs' listings of topics, brokers, the brokers' default
    and quotas, also of listings with --all.
    """
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    of_user = ("--entity-type", "users", "--entity-name", topic)
    settings = {
        f"topic {topic}": "retention.ms=864000000 cleanup.policy=compact,delete",
        "broker <default>": "background.threads=11",
        "broker 1": "log.cleaner.threads=2",
        f"user {topic}": "producer_byte_rate=20000000 request_percentage=12.5",
        f"user {topic} client <default>": "consumer_byte_rate=1024",
    }

    def listing() -> str:
        of_pair = (*of_user, "--entity-type", "clients", "--entity-default")
        kinds = (of_topic, ("--entity-type", "brokers"), of_user, of_pair)
        return "".join(tool(CONFIGS, "--describe", *kind) for kind in kinds)

    done = kac("run", "-e", "; ".join((*(f"set {on} {values}" for on, values in settings.items()), "apply --yes")))
    assert done[0] == 0, done
    try:
        file, whole = tmp_path / "configs.txt", tmp_path / "all.txt"
        file.write_text(before := listing())
        whole.write_text(tool(CONFIGS, "--describe", "--all", *of_topic))
        assert before.count("_rate=") == 2, before
        assert whole.read_text().count("\n") > 20
        for each in (file, whole):
            assert kac("diff", "-f", str(each), "--exit-code") == (0, "no changes\n", ""), each.read_text()
        moved = (
            f"set topic {topic} segment.ms=600000; unset topic {topic} retention.ms; unset broker 1 log.cleaner.threads"
        )
        done = kac("run", "-e", f"{moved}; set user {topic} producer_byte_rate=5000; apply --yes")
        assert done[0] == 0, done
        assert kac("diff", "-f", str(file), "--exit-code")[0] == 3
        done = kac("apply", "-f", str(file), "--yes")
        assert done[0] == 0, done
        assert sorted(listing().splitlines()) == sorted(before.splitlines())
    finally:
        keys = {on: " ".join(each.split("=")[0] for each in values.split()) for on, values in settings.items()}
        kac("run", "-e", "; ".join((*(f"unset {on} {these}" for on, these in keys.items()), "apply --yes")))


def test_a_reassignment(
    kafka: kafka_cluster.KafkaCluster, topic: str, tool: Callable[..., str], kac: Callable[..., Said], tmp_path: Path
) -> None:
    """kac carries out the reassignment that --generate proposes; then --verify finds that it is complete and no
    throttle is left.
    """
    asked = tmp_path / "topics.json"
    asked.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    last = str(max(kafka.broker_ids))
    printed = tool(REASSIGN, "--generate", "--topics-to-move-json-file", str(asked), "--broker-list", last)
    file = tmp_path / "moves.json"
    file.write_text(printed)
    code, _, err = kac("plan", "-f", str(file))
    assert (code, "this is what --generate prints" in err) == (2, True)
    file.write_text(printed.strip().splitlines()[-1])
    before = printed.splitlines()[1]
    wanted = {each["partition"]: each["replicas"] for each in json.loads(file.read_text())["partitions"]}
    there = {each["partition"]: each["replicas"] for each in json.loads(before)["partitions"]}
    code, out, err = kac("plan", "-f", str(file), "--output", "json")
    assert code == 0, err
    planned = {each["partition"]: each["to"] for each in json.loads(out.splitlines()[0])["moves"]}
    assert planned == {number: each for number, each in wanted.items() if each != there[number]}
    code, out, err = kac("apply", "-f", str(file), "--yes", "--throttle", "50MB/s")
    assert code == 0, (out, err)
    verified = tool(REASSIGN, "--verify", "--reassignment-json-file", str(file), "--preserve-throttles")
    assert verified.count("is completed") == 3, verified
    assert "throttled" not in tool(CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", topic)
    back = tmp_path / "back.json"
    back.write_text(before)
    assert kac("apply", "-f", str(back), "--yes")[0] == 0
    assert kac("diff", "-f", str(back), "--exit-code")[0] == 0


def test_strimzis_resources(topic: str, kac: Callable[..., Said], tmp_path: Path) -> None:
    """kac finds no difference between its own export as Strimzi's resources and the cluster. It names the users whose
    password is not in the export, and those whose names are not allowed in Strimzi.
    """
    name, secret = topic.lower().replace("_", "-"), tmp_path / "password"
    secret.write_text("not-a-secret-of-anyone")
    settings = (
        f"set topic {topic} retention.ms=5d cleanup.policy=compact,delete",
        f"create topic {topic}_Odd.Name partitions=2 replication=1",
        f"set user {name} producer_byte_rate=1000000 controller_mutation_rate=2.5",
        f"allow User:{name} READ,DESCRIBE on topic {topic} prefixed",
        f"deny 'User:CN={name}.x' ALL on transactional-id {topic} from 10.0.0.9",
        f'set user "{topic} O\'Brien" consumer_byte_rate=2048',
        f"scram set {name} SCRAM-SHA-512 password=@{secret}",
    )
    done = kac("run", "-e", "; ".join((*settings, APPLY)))
    assert done[0] == 0, done
    try:
        file = tmp_path / "strimzi.yaml"
        code, _, err = kac("export", "--as", "strimzi", "--label", "west", "--output", str(file))
        assert code == 0, err
        text = file.read_text()
        assert f'name: {name}\n  labels:\n    strimzi.io/cluster: "west"\nspec:\n' in text
        assert text.count("apiVersion: kafka.strimzi.io/v1\n") == text.count("apiVersion: ")
        assert f"# user {name} gets a new password, unless there is a Secret {name} " in text
        assert f"note: left out: user {topic} O'Brien: Kubernetes does not accept its name" in err
        code, out, err = kac("diff", "-f", str(file), "--exit-code")
        assert (code, out) == (0, "no changes\n"), (out, err)
        assert (
            kac("run", "-e", f"unset topic {topic} retention.ms; unset user {name} producer_byte_rate; {APPLY}")[0] == 0
        )
        code, out, err = kac("apply", "-f", str(file), "--yes", "--accept", APPLY.split()[-1])
        assert (code, "2 entities ok, 0 failed" in out) == (0, True), (out, err)
        assert kac("diff", "-f", str(file), "--exit-code")[0] == 0
    finally:
        undone = (
            f"delete topic {topic}_Odd.Name",
            f"unset user {name} producer_byte_rate controller_mutation_rate",
            f'unset user "{topic} O\'Brien" consumer_byte_rate',
            f"revoke allow User:{name} READ,DESCRIBE on topic {topic} prefixed",
            f"revoke deny 'User:CN={name}.x' ALL on transactional-id {topic} from 10.0.0.9",
            f"scram delete {name} SCRAM-SHA-512",
        )
        undoing = kac("run", "-e", "; ".join((*undone, APPLY)))
    assert undoing[0] == 0, undoing
