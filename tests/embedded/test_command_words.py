"""Tests of words that new users type, and of the options of Kafka's tools."""

import asyncio
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.cli import main as cli
from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.statements import Where
from console.language.verbs.leave import Quit
from tests.support import worlds
from tests.support.children import Child
from tests.support.patience import PATIENCE
from widgets.row_table import TextSearch

# -- Words of newcomers: quit words, a version, a command line without a cluster, JSON of `--watch` --------------------

ROOT = Path(__file__).resolve().parents[2]

cluster = worlds.cluster(ClusterSpec(brokers=2), scope="module")


@pytest.mark.parametrize("where", [Where.BAR, Where.SHELL])
@pytest.mark.parametrize("text", ["q", "quit", "exit", ":q", ":quit", ":exit"])
def test_words_that_leave(text: str, where: Where) -> None:
    assert parse(text, where) == (Quit(),)


def test_they_end_a_script_too_which_has_no_colons() -> None:
    for text in ("q", "quit", "exit"):
        assert parse(text, Where.RUN) == (Quit(),)
    with pytest.raises(ParseError):
        parse(":q", Where.RUN)


@pytest.mark.parametrize("words", [["version"], ["-V"], ["--version"]])
def test_the_version(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words) == 0
    assert capsys.readouterr().out.startswith("kac ")


def test_help_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words, wanted in ((["help"], "usage: kac"), (["help", "topics"], "kac topics")):
        with pytest.raises(SystemExit) as left:
            cli.run(words)
        assert left.value.code == 0
        assert wanted in capsys.readouterr().out


def test_without_a_cluster_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-e", "list topics"]) == 2
    said = capsys.readouterr().err
    for word in ("-b HOST:PORT", "--command-config FILE", "kac demo", "kac contexts", "kac --help"):
        assert word in said


def test_history_of_the_journal_has_a_time(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    script = "create topic timed partitions=1 replication=1; apply --yes"
    assert cli.run(["run", "-b", cluster.bootstrap, "-e", script]) == 0
    capsys.readouterr()

    def shown(*words: str) -> str:
        assert cli.run(["history", "-b", cluster.bootstrap, "--journal", *words]) == 0
        return capsys.readouterr().out

    assert "timed" in shown("--since", "2h")
    assert "timed" not in shown("--until", "2h")
    assert "no changes" in shown("--until", "2h")
    assert cli.run(["history", "-b", cluster.bootstrap, "--journal", "--since", "yesterday-ish"]) == 2
    assert cli.run(["history", "-b", cluster.bootstrap, "--journal", "--key", "x"]) == 2


@pytest.mark.parametrize(
    ("added", "hint"),
    [
        ("retention.ms=7d", "retention.ms takes no unit here: write retention.ms=604800000"),
        ("segment.bytes=64MiB", "segment.bytes takes no unit here: write segment.bytes=67108864"),
        ("retention.ms=soon", "Check the key's name"),
    ],
)
def test_an_amount_with_a_unit_is_named_as_kafka_takes_it(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], added: str, hint: str
) -> None:
    cluster.call(lambda each: each.state.topics.get("units") or add_topic(each.state, "units", 1, 1))
    words = ["configs", "-b", cluster.bootstrap, "--alter", "--topic", "units", "--add-config", added]
    assert cli.run(words) == 1
    assert hint in capsys.readouterr().err


def test_doctor_counts_what_failed_and_what_it_warns_of(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run(["doctor", "-b", cluster.bootstrap])
    first = capsys.readouterr().out.splitlines()[0]
    assert re.fullmatch(r"\d+ checks: \d+ failed, (1 warning|\d+ warnings)", first), first


def test_nothing_due_is_said(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["due", "-b", cluster.bootstrap, "--apply"]) == 0
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "kac: nothing is due\n")


@pytest.mark.parametrize(
    ("query", "hits"), [("/!red", [1]), ("!red", [1]), ("/!/^r", [1]), ("/red/", [0]), ("/\\!", [2])]
)
def test_a_filter_is_taken_with_the_key_that_opens_it(query: str, hits: list[int]) -> None:
    """A filter may be typed with the key that opens the filter, as the documentation writes it: /!red."""
    texts = ["red", "blue", "red!"] if query.startswith("/\\") else ["red", "blue"]
    assert list(TextSearch(texts).hits(query)) == hits


def test_a_watched_verdict_is_an_object_a_line(cluster: ThreadedCluster) -> None:
    command = [sys.executable, "-m", "console", "triage", "-b", cluster.bootstrap, "--watch", "--output", "json"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Child(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not json.loads(process.stdout.readline())["healthy"]:  # a busy machine may answer late at first
            pass
        cluster.run(lambda each: each.broker_killed(2))
        while True:
            data = json.loads(process.stdout.readline())
            if data.get("causes"):
                break
        assert data["healthy"] is False
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


# -- The usual options of Kafka's tools on an embedded cluster: output, questions, refusals, reverts -------------------

Kac = Callable[..., tuple[int, str, str]]

consumed_cluster = worlds.cluster(
    ClusterSpec(brokers=2),
    worlds.topic("orders", 2, brokers=(1, 2)),
    after=lambda consumed_cluster: asyncio.run(consume(consumed_cluster.bootstrap)),
)
"""A fixture: a cluster with two brokers, a topic with two partitions and ten records in the first one, and a group
whose committed offset there is 3.
"""


async def consume(bootstrap: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(10):
            await producer.send_and_wait("orders", b"x", partition=0)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id="billing", enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition("orders", 0)])
    await consumer.commit({TopicPartition("orders", 0): 3})
    await consumer.stop()


kac = worlds.commands("consumed_cluster")


def offsets(kac: Kac) -> dict[str, str]:
    """Return partition -> the group's committed offset, from the export of a dry run."""
    code, out, err = kac("groups", "--reset-offsets", "--group=billing", "--all-topics", "--to-current", "--export")
    assert code == 0 or "there is no group 'billing'" in err or "group 'billing' has no offsets" in err
    return {row[1]: row[2] for row in csv.reader(io.StringIO(out)) if row}


def test_a_dry_run_shows_both_offsets_and_changes_nothing(kac: Kac) -> None:
    reset = ("--reset-offsets", "--group", "billing", "--topic", "orders", "--to-latest")
    code, out, err = kac("groups", *reset, "--output", "json")
    assert (code, err) == (0, "kac: nothing was changed: --execute does it\n")
    rows = [(row["entity"], row["old"]["value"], row["new"]["value"]) for row in json.loads(out)["plan"]]
    assert rows == [("group billing orders/0", 3, 10), ("group billing orders/1", None, 0)]
    code, out, err = kac("groups", *reset, "--dry-run")
    assert (code, err) == (0, "")
    assert "up to 7 records are never read" in out
    assert "assigned-consumers" in out
    assert offsets(kac) == {"0": "3"}


def test_a_reset_is_in_the_journal_and_taken_back(kac: Kac) -> None:
    reset = ("--reset-offsets", "--group", "billing", "--topic", "orders:0", "--shift-by", "-2", "--execute")
    code, out, _ = kac("groups", *reset, "--validate-only")
    assert code == 0
    assert offsets(kac) == {"0": "3"}
    code, _, err = kac("groups", *reset)
    assert code == 3
    assert "write --accept assigned-consumers" in err
    code, out, _ = kac("groups", *reset, "--accept", "assigned-consumers")
    assert code == 0
    assert "applied" in out
    assert offsets(kac) == {"0": "1"}
    code, out, err = kac("run", "-e", "revert 1; apply --yes --accept assigned-consumers")
    assert code == 0, out + err
    assert offsets(kac) == {"0": "3"}


def test_a_context_that_is_read_only_refuses(kac: Kac) -> None:
    code, _, err = kac(
        "groups", "--read-only", "--reset-offsets", "--group=billing", "--all-topics", "--to-latest", "--execute"
    )
    assert code == 1
    assert "read-only" in err
    assert offsets(kac) == {"0": "3"}


DELETIONS = (("--delete",), ("--delete-offsets", "--topic", "orders"), ("--delete", "--topic", "orders"))


@pytest.mark.parametrize("action", DELETIONS)
def test_deletions_ask_first(kac: Kac, action: tuple[str, ...]) -> None:
    code, _, err = kac("groups", *action, "--group", "billing")
    assert code == 1
    assert "--yes" in err
    assert offsets(kac) == {"0": "3"}
    accept = ("--accept", "assigned-consumers") if "--topic" in action else ()
    code, out, err = kac("groups", *action, "--group", "billing", "--yes", *accept)
    assert code == 0, out + err
    assert offsets(kac) == {}


def test_a_group_with_a_name_of_ours(kac: Kac) -> None:
    code, out, _ = kac("groups", "--describe", "--all-groups", "--output", "json")
    assert code == 0
    assert json.loads(out)["errors"] == []
    assert '"billing"' in out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (("topics", "--list", "--election-type=preferred"), 2, "two commands"),
        (("topics", "--all-topic-partitions"), 2, "--list takes no --all-topic-partitions"),
        (("topics", "--list", "--partition=3"), 2, "--list takes no --partition"),
        (("topics", "--election-type=preferred", "--topic=a", "--partition=0", "--config=a=b"), 2, "takes no --config"),
        (("groups", "--list", "--group=a"), 2, "--list takes no --group"),
        (("groups", "--list", "--topic=a"), 2, "--list takes no --topic"),
        (("groups", "--describe", "--group=a", "--topic=t"), 2, "--describe takes no --topic"),
        (("groups", "--delete-offsets", "--group=a", "--topic=t", "--all-groups"), 2, "takes no --all-groups"),
        (("groups", "--delete", "--group=a", "--execute"), 2, "--delete takes no --execute"),
        (("groups", "--list", "--state=Stabel"), 2, "there is no state 'Stabel'"),
        (("share-groups", "--delete", "--group=a", "--topic=t"), 2, "--delete takes no --topic"),
        (("streams-groups", "--delete", "--group=a", "--input-topic=t"), 2, "--delete takes no --input-topic"),
        (("share-groups", "--delete", "--group=billing", "--yes"), 2, "'billing' is no share group"),
        (("streams-groups", "--reset-offsets", "--group=billing", "--all-input-topics", "--to-latest"), 2, "streams"),
        (("brokers", "--list", "--id", "3"), 2, "--list takes no --id"),
        (("transactions", "list", "--topic=a"), 2, "list takes no --topic"),
        (("features", "describe", "--feature=a=1"), 2, "describe takes no --feature"),
        (("features", "disable", "--feature=a", "--release-version=4.3"), 2, "disable takes no --release-version"),
        (("features", "upgrade", "--feature", "metadata.version=7"), 2, "write downgrade"),
        (("features", "describe", "--node-id", "77"), 2, "there is no node 77"),
        (("transactions", "find-hanging", "--topic", "nosuch"), 1, "nosuch"),
        (("transactions", "abort", "--topic=orders", "--partition=0", "--start-offset=4"), 1, "no open transaction"),
    ],
    ids=str,
)
def test_what_does_not_go_together(kac: Kac, line: tuple[str, ...], code: int, said: str) -> None:
    found, _, err = kac(*line)
    assert found == code
    assert said in err


def test_leaders(kac: Kac, consumed_cluster: ThreadedCluster) -> None:
    code, _, err = kac("topics", "--election-type", "preferred", "--topic", "orders", "--partition", "0")
    assert code == 0
    assert "leads already" in err
    code, out, _ = kac("topics", "--election-type", "unclean", "--all-topic-partitions")
    assert (code, "every partition has a leader" in out) == (0, True)


def test_records_need_their_topic_typed(kac: Kac, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "offset": 4}]}))
    delete = ("topics", "--offset-json-file", str(file), "--yes")
    code, _, err = kac(*delete)
    assert code == 3
    assert "--accept records-deleted=orders" in err
    assert kac(*delete, "--accept", "records-deleted")[0] == 3
    assert kac(*delete, "--accept", "records-deleted=orders")[0] == 0
    code, _, err = kac(*delete)
    assert (code, "begins at offset 4 already" in err) == (0, True)


def test_reads_of_brokers_and_features(kac: Kac) -> None:
    code, out, _ = kac("brokers", "cluster-id", "--output", "json")
    assert code == 0
    assert json.loads(out)["cluster_id"]
    code, out, _ = kac("brokers", "list-endpoints", "--output", "json")
    assert [row["id"] for row in json.loads(out)["brokers"]] == [1, 2]
    code, out, _ = kac("features", "describe", "--output", "json")
    assert code == 0
    (metadata,) = [row for row in json.loads(out)["features"] if row["name"] == "metadata.version"]
    assert metadata["release"]
    assert set(metadata["nodes"]) == {"1", "2"}
    code, out, _ = kac("features", "describe", "--node-id", "2", "--output", "json")
    assert {node for row in json.loads(out)["features"] for node in row["nodes"]} == {"2"}


def test_a_part_of_a_description(kac: Kac) -> None:
    def shown(*words: str) -> set[str]:
        code, out, _ = kac("groups", "--describe", "--group", "billing", "--output", "json", *words)
        assert code == 0
        return {name for name, value in json.loads(out).items() if isinstance(value, list)} - {"errors"}

    assert shown() == {"members", "partitions", "configs"}
    assert shown("--members") == {"members"}
    assert shown("--offsets") == {"partitions"}
    assert shown("--members", "--offsets") == {"members", "partitions"}
    assert shown("--state") == set()
    code, out, _ = kac("groups", "--describe", "--group", "billing", "--state")
    assert (code, "Empty" in out) == (0, True)


def test_a_transaction_that_is_not_there(kac: Kac) -> None:
    code, out, _ = kac("transactions", "describe", "--transactional-id", "no")
    assert (code, "could not be found" in out or "TRANSACTIONAL_ID_NOT_FOUND" in out) == (1, True), out
    code, out, _ = kac("transactions", "list", "--output", "json")
    assert (code, json.loads(out)["transactions"]) == (0, [])
    code, out, _ = kac("transactions", "find-hanging", "--topic", "orders", "--output", "json")
    assert (code, json.loads(out)["transactions"]) == (0, [])
    where = ("--topic", "orders", "--partition", "0")
    code, out, _ = kac("transactions", "describe-producers", *where, "--output", "json")
    assert (code, json.loads(out)["errors"]) == (0, [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("groups", "--describe", "--group=a", "--verbose"), "--output json has the epochs and assignments"),
        (("share-groups", "--list", "--timeout", "500"), "kac has limits of its own"),
        (("brokers", "list-endpoints", "--include-fenced-brokers"), "are always listed"),
        (("transactions", "find-hanging", "--topic=a", "--max-transaction-timeout=5"), "transaction.max.timeout.ms"),
        (("transactions", "abort", "--producer-epoch", "5"), "sends the epochs that the leader knows"),
        (("groups", "--list", "--output", "kafka"), "table"),
    ],
    ids=str,
)
def test_what_kac_has_in_another_place_is_named(
    capsys: pytest.CaptureFixture[str], line: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.run(line)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_levels_of_releases_need_no_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """kac prints the feature levels of a release without a cluster; if no release is given, it prints the levels of
    the newest release that kac knows. Kafka 4.4's own classes give the same levels.
    """
    assert cli.run(["features", "version-mapping", "--output", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["features"]
    assert {row["feature"]: row["level"] for row in rows} == {
        "metadata.version": 33,
        "kraft.version": 1,
        "transaction.version": 2,
        "group.version": 1,
        "eligible.leader.replicas.version": 1,
        "share.version": 2,
        "streams.version": 1,
    }
    assert rows[0]["release"] == "4.4-IV2"
    assert cli.run(["features", "version-mapping", "--release-version", "4.0"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["metadata.version", "25", "4.0-IV3"]
    assert cli.run(["features", "feature-dependencies", "--feature", "nosuch=1"]) == 2


@pytest.mark.parametrize("how", ["--dry-run", "--execute"])
@pytest.mark.parametrize("to", ["--to-earliest", "--to-current"])
def test_a_group_that_committed_nothing_is_refused_as_by_the_language(kac: Kac, to: str, how: str) -> None:
    code, out, err = kac("groups", "--reset-offsets", "--group=biling", "--all-topics", to, how)
    assert code != 0
    assert "there is no group 'biling'" in out + err
    code, _, err = kac("run", "-e", "reset group biling to earliest")
    assert code == 1
    assert "there is no group 'biling'" in err


@pytest.mark.parametrize("of", ["broker 1", "broker <default>"])
def test_a_rate_that_is_not_set_is_a_key(kac: Kac, of: str) -> None:
    code, out, _ = kac("run", "-e", f"describe {of} follower.replication.throttled.rate")
    assert code == 0
    assert "not set: no limit" in out
    assert f"set {of} follower.replication.throttled.rate=VALUE" in out
    code, _, err = kac("run", "-e", f"describe {of} follower.replication.throttled.rates")
    assert code == 1
    assert "has no config" in err
