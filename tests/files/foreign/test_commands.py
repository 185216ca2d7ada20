"""Tests of `kac diff`, `plan`, `apply` and `export --as strimzi` with other tools' files."""

import json
import re
from pathlib import Path

import pytest

from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.faults import FailFor, Fault
from console.embedded.replicas import new_topic
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from tests.files.foreign.test_kafka_listings import ACLS
from tests.files.foreign.test_strimzi import TOPIC, USER
from tests.files.foreign.test_topicctl import TOPIC as TOPICCTL
from tests.support.worlds import Kac

ORDERS = "checkout.orders"


def written(folder: Path, text: str) -> str:
    file = folder / "theirs.yaml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("text", [f"{TOPIC}---\n{USER}", TOPICCTL, ACLS], ids=["strimzi", "topicctl", "acls"])
def test_a_file_is_compared_planned_and_applied(kac: Kac, tmp_path: Path, text: str) -> None:
    """diff, plan and apply accept files of other tools as they do kac's own; after the apply, a diff is empty."""
    file, plan = written(tmp_path, text), str(tmp_path / "plan.json")
    told = kac("diff", "-f", file, "--exit-code")
    assert told.code == 3, told.complaints
    assert kac("plan", "-f", file, "--out", plan).code == 0
    done = kac("apply", "-f", plan, "--yes", "--accept", "deny-acl")
    assert done.code == 0, done.complaints
    again = kac("diff", "-f", file, "--exit-code")
    assert (again.code, again.out) == (0, "no changes\n")


def test_what_a_form_does_not_say_stays(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    """The apply of a topicctl file keeps the configs that it does not name. That of a Strimzi resource deletes them,
    because its config is complete.
    """
    cluster.call(lambda one: one.state.alter_config(topic_resource(ORDERS), {"segment.ms": "600000"}))
    theirs = TOPICCTL.replace("name: orders", f"name: {ORDERS}").replace("partitions: 9", "partitions: 12")
    assert kac("apply", "-f", written(tmp_path, theirs), "--yes").code == 0
    configs = cluster.call(lambda one: dict(one.state.configs[topic_resource(ORDERS)]))
    assert configs["segment.ms"] == "600000"
    assert configs["retention.ms"] == "21600000"
    strimzi = TOPIC.replace("shop.Orders", ORDERS).replace("partitions: 6", "partitions: 12")
    told = kac("diff", "-f", written(tmp_path, strimzi)).out
    assert re.search(r"segment\.ms +unset +600000", told), told


def test_what_operators_leave_alone_is_not_pruned(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    """--prune does not delete a topic, or the quotas and ACLs of a user, that the files mark as not managed at
    present.
    """
    entity = QuotaEntity.of({"user": "CN=billing"})
    cluster.call(lambda one: one.state.alter_quota(entity, {"producer_byte_rate": 5.0}))
    added = kac(
        "run", "-e", "allow User:CN=billing READ on topic x; apply --yes --accept acl-matches-nothing,first-acl"
    )
    assert added.code == 0, added.complaints
    prune = ("--prune", f"topics={ORDERS}", "--prune", "quotas=user CN=billing", "--prune", "acls=User:CN=billing")
    theirs = f"{TOPIC.replace('shop.Orders', ORDERS)}---\n{USER}"
    paused = theirs.replace("  labels:", '  annotations: {strimzi.io/pause-reconciliation: "true"}\n  labels:')
    told = kac("diff", "-f", written(tmp_path, paused), *prune, "--exit-code")
    assert (told.code, told.out) == (0, "no changes\n"), told
    of_others = f"{paused.replace('billing', 'another').replace(ORDERS, 'another')}---\n{theirs}"
    other = written(tmp_path, of_others.replace("billing", "taken").replace(ORDERS, "taken"))
    told = kac("diff", "-f", other, *prune, "--exit-code")
    assert told.code == 3
    assert told.out.count("  delete  ") == 1, told.out
    assert told.out.count("remove") == 1, told.out
    assert told.out.count("unset") == 1, told.out


def test_the_cluster_is_that_of_the_label(
    cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "config.toml"
    own.write_text(f'[contexts.west]\n"bootstrap.servers" = "{cluster.bootstrap}"\n')
    own.chmod(0o600)
    monkeypatch.setenv("KAC_CONFIG", str(own))
    file = written(tmp_path, TOPIC)

    def run(*words: str) -> tuple[int, str]:
        code = cli.run(list(words))
        return code, capsys.readouterr().err

    code, said = run("diff", "-f", file, "--exit-code")
    assert code == 3, said
    assert "note: the files are for cluster west: the context with this name is taken" in said
    assert run("diff", "-c", "west", "-f", file) == (0, "")
    code, said = run("diff", "-b", cluster.bootstrap, "-f", file)
    assert (code, said) == (0, "kac: note: the files are for cluster west; the one that you named is taken\n")
    code, said = run("diff", "-f", written(tmp_path, TOPIC.replace("west", "east")))
    assert code == 2
    assert "east" in said.splitlines()[-1]


def test_what_was_exported_changes_nothing(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    """A diff of the cluster with its own export as Strimzi's resources is empty, and the export names what these
    resources can't contain.
    """
    cluster.call(lambda one: one.state.put_topic(new_topic("Odd_Name", ((1, 2),), (1, 2, 3))))
    file = str(tmp_path / "strimzi.yaml")
    done = kac("export", "--as", "strimzi", "--label", "west", "--output", file)
    assert done.code == 0
    assert "note: left out: configs of brokers" in done.complaints
    text = Path(file).read_text()
    assert text.count("kind: KafkaTopic") == len(
        [name for name, topic in cluster.call(lambda one: dict(one.state.topics)).items() if not name.startswith("__")]
    )
    assert re.search(r"name: odd-name-[0-9a-f]{8}\n", text)
    assert 'topicName: "Odd_Name"' in text
    again = kac("diff", "-f", file, "--exit-code")
    assert (again.code, again.out) == (0, "no changes\n"), again
    assert "can't be a label" in kac("export", "--as", "strimzi").complaints


def test_configs_that_can_not_be_read_are_not_written_as_none(kac: Kac, cluster: ThreadedCluster) -> None:
    """If kac can't read a topic's configs, it does not export the topic with an empty config: an operator would delete
    all its overrides.
    """
    fault = Fault(FailFor(29, frozenset({ORDERS})), api="describe_configs")
    cluster.call(lambda one: one.faults.add(fault))
    done = kac("export", "--as", "strimzi")
    assert done.code == 1
    (orders,) = (each for each in done.out.split("---\n") if f"name: {ORDERS}\n" in each)
    assert 'strimzi.io/managed: "false"' in orders
    assert "config:" not in orders
    assert f"# left out: configs of topic {ORDERS}: they are not known: strimzi.io/managed: false\n" in done.out
    assert done.out.count("  config:") > 0


PLACES = ((1, 2), (3, 1), (2, 3))


def replicas(cluster: ThreadedCluster) -> list[tuple[int, ...]]:
    async def settled(embedded: EmbeddedCluster) -> list[tuple[int, ...]]:
        await embedded.settled()
        return [each.replicas for each in embedded.state.topics["moved"].partitions]

    return cluster.run(settled)


@pytest.fixture
def reassignment(cluster: ThreadedCluster, tmp_path: Path) -> str:
    cluster.call(lambda one: one.state.put_topic(new_topic("moved", PLACES, (1, 2, 3))))
    parts = [
        {"topic": "moved", "partition": 0, "replicas": [3, 2]},
        {"topic": "moved", "partition": 1, "replicas": [3]},
    ]
    file = tmp_path / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": parts}))
    return str(file)


def test_a_reassignment_is_an_operation(kac: Kac, cluster: ThreadedCluster, reassignment: str) -> None:
    told = kac("plan", "-f", reassignment, "--throttle", "50MB/s", "--exit-code")
    assert told.code == 3, told.complaints
    assert "2 partitions" in told.out
    assert f"to move them: kac apply -f {reassignment}" in told.out
    assert replicas(cluster) == list(PLACES)
    refused = kac("apply", "-f", reassignment)
    assert (refused.code, replicas(cluster)) == (1, list(PLACES))
    assert "write --yes" in refused.complaints
    done = kac("apply", "-f", reassignment, "--yes", "--throttle", "50MB/s")
    assert done.code == 0, done.complaints
    assert "(reassign 2 partitions of moved) is done" in done.complaints
    assert replicas(cluster) == [(3, 2), (3,), (2, 3)]
    assert kac("diff", "-f", reassignment, "--exit-code").code == 0
    assert json.loads(kac("leftovers", "--output", "json").out.splitlines()[-1])["leftovers"] == []


def test_a_reassignment_goes_alone(kac: Kac, reassignment: str, tmp_path: Path) -> None:
    beside = kac("plan", "-f", reassignment, "-f", written(tmp_path, TOPIC))
    assert beside.code == 2
    assert "a reassignment is an operation of its own; give its file alone" in beside.complaints
    kept = kac("plan", "-f", reassignment, "--out", str(tmp_path / "plan"))
    assert (kept.code, (tmp_path / "plan").exists()) == (2, False)
    assert "neither --prune nor --out" in kept.complaints
    other = kac("diff", "-f", written(tmp_path, TOPIC), "--throttle", "1MB/s")
    assert (other.code, other.complaints) == (2, "kac: --throttle goes with a file of kafka-reassign-partitions\n")
    compared = kac("compare", reassignment, reassignment)
    assert compared.code == 2
    unknown = written(tmp_path, '{"version": 1, "partitions": [{"topic": "moved", "partition": 7, "replicas": [1]}]}')
    said = kac("apply", "-f", unknown, "--yes")
    assert (said.code, "there is no partition moved/7" in said.complaints) == (1, True)


def test_a_group_of_quotas_is_one_entity(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    """A listing of kafka-configs has all quotas of an entity, so the apply deletes those that it does not name."""
    of = QuotaEntity.of({"user": "lister"})
    line = "Quota configs for user-principal 'lister' are consumer_byte_rate=2048.0"
    both = f"{line}, producer_byte_rate=1.048576E7\n"
    assert kac("apply", "-f", written(tmp_path, both), "--yes").code == 0
    assert kac("apply", "-f", written(tmp_path, f"{line}\n"), "--yes").code == 0
    left = cluster.call(lambda one: dict(one.state.quotas[of]))
    assert left == {"consumer_byte_rate": 2048.0}
