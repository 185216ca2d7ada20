"""What a cluster, a journal or a file says, through every command and in every form: no byte of it acts."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import pytest
import yaml

from console.cli.main import run
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec
from console.embedded.tables import Partition, ScramCredential, ScramKey, Topic
from console.model.codes import ScramMechanism
from console.model.config import broker_resource, topic_resource
from console.model.quota import QuotaEntity
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.support import worlds
from tests.support.hostile_text import FORMULAS, SENT, acted_upon

FORGED = "kac: forged"
"""Stands behind a line feed in `SENT`: no line may begin so."""
STRUCTURE = frozenset(
    {"host", "name", "topic_name", "resource_name", "group_id", "key_type", "entity_type", "cluster_id"}
)
"""Fields without which nothing more would be asked; what is in the cluster itself has them hostile too."""
REWRITTEN = (
    "describe_cluster", "describe_configs", "describe_groups", "consumer_group_describe", "list_groups",
    "describe_acls", "describe_client_quotas", "describe_user_scram_credentials", "describe_quorum",
    "describe_log_dirs", "describe_topic_partitions", "list_offsets", "offset_fetch", "list_partition_reassignments",
    "incremental_alter_configs", "alter_client_quotas", "create_acls", "create_topics", "delete_topics",
    "alter_user_scram_credentials", "create_partitions", "delete_acls",
)  # fmt: skip

NOUNS = (
    ("topics", "--list"),
    ("topics", "--describe"),
    ("topics", "--describe", "--topic", "orders"),
    ("quotas", "--list"),
    ("quotas", "--describe", "--user", "alice"),
    ("acls", "--list"),
    ("brokers", "--list"),
    ("brokers", "--describe", "--broker", "1"),
    ("groups", "--list"),
    ("groups", "--describe", "--group", "g"),
    ("scram", "--list"),
)
CONFIGS = tuple(
    ("configs", "--describe", "--entity-type", *rest)
    for rest in (
        ("topics",),
        ("topics", "--all", "--entity-name", "orders"),
        ("brokers",),
        ("users",),
        ("clients",),
        ("brokers", "--entity-name", "1"),
        ("brokers", "--entity-default"),
    )
)
SCRIPT = (
    "list topics; list brokers; list quotas; list acls; list groups; list users; describe topic orders; "
    "describe broker 1; show topic orders retention.ms; set topic orders max.message.bytes=5; plan; "
    "plan runbook; history"
)
OTHERS = (
    ("run", "-e", SCRIPT), ("run", "-e", SCRIPT, "--output", "json"), ("run", "-e", "list nonsense \x1b[2J\u202e"),
    ("compare", "--brokers"), ("compare", "topic:orders", "topic:audit"), ("due",), ("leftovers",),
    ("leftovers", "--script"), ("moves", "drain", "1"), ("contexts",), ("history", "--journal"),
    ("history", "--journal", "--output", "json"),
    ("history", "--journal", "--output", "csv"), ("snapshot",), ("export",), ("lint", "--all"),
    ("lint", "--output", "junit"), ("lint", "--output", "json"),
)  # fmt: skip


def hostile_state(one: EmbeddedCluster) -> None:
    """Everything that a cluster may hold, set behind its checks."""
    state = one.state
    for name in ("orders", "audit"):
        state.put_topic(Topic(name, uuid5(NAMESPACE_DNS, name), (Partition((1,), (1,), 1),)))
    texts = (SENT, *FORMULAS)
    for number, text in enumerate(texts):
        state.alter_config(topic_resource("orders"), {f"hostile.{number}": text})
        state.alter_config(broker_resource(1), {f"hostile.{number}": text, "advertised.listeners": SENT})
        state.alter_config(topic_resource("orders"), {"leader.replication.throttled.replicas": SENT})
        state.alter_quota(QuotaEntity.of({"user": text, "client-id": text}), {"producer_byte_rate": 1.0})
        state.alter_quota(QuotaEntity.of({"ip": text}), {"connection_creation_rate": 1.0})
        for type_, pattern in (("TOPIC", "LITERAL"), ("GROUP", "PREFIXED")):
            state.add_acl(worlds.acl(f"User:{text}", "READ", type_, text, pattern=pattern, host=text))
        state.put(
            "scram", ScramKey(text, ScramMechanism.parse("SCRAM_SHA_256")), ScramCredential(b"s", 4096, b"k", b"v")
        )


def rewritten(value: Any, *, refused: bool) -> Any:
    """The response with hostile text in every text but those of `STRUCTURE`; refused: with an error everywhere."""
    if isinstance(value, tuple):
        return tuple(rewritten(each, refused=refused) for each in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        was = getattr(value, field.name)
        if field.name == "error_message" or (isinstance(was, str) and field.name not in STRUCTURE):
            changes[field.name] = SENT
        elif field.name == "error_code" and refused:
            changes[field.name] = type(was)(44)  # POLICY_VIOLATION
        elif not isinstance(was, str):
            changes[field.name] = rewritten(was, refused=refused)
    return dataclasses.replace(value, **changes)


@pytest.fixture(scope="module")
def world() -> Iterator[HostileCluster]:
    spec = ClusterSpec(brokers=1, racks={1: SENT}, cluster_id=f"x{SENT}")
    with hostile_cluster(spec) as cluster:
        cluster.embedded.call(hostile_state)
        yield cluster


@pytest.fixture(scope="module")
def journaled() -> Iterator[HostileCluster]:
    """The same with an id under which a journal is kept."""
    # From 4.4 on no text with a slash is the host of an ACL.
    with hostile_cluster(ClusterSpec(brokers=1, versions="4.0", racks={1: SENT})) as cluster:
        cluster.embedded.call(hostile_state)
        yield cluster


@pytest.fixture(params=["what it holds", "every text", "every refusal"])
def cluster(request: pytest.FixtureRequest, world: HostileCluster) -> Iterator[HostileCluster]:
    if request.param != "what it holds":
        for api in REWRITTEN:
            world.rewrite(api, lambda _, honest: rewritten(honest, refused=request.param == "every refusal"))
    yield world
    for api in REWRITTEN:
        world.honest(api)


Kac = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kac(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[[HostileCluster], Kac]:
    """Runs a command line on a cluster and looks at each byte that it writes: its exit code, output, complaints."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def on(cluster: HostileCluster) -> Kac:
        def call(*words: str) -> tuple[int, str, str]:
            connection = ["-b", cluster.bootstrap] if words[0] != "contexts" else []
            try:
                code = run([words[0], *connection, *words[1:]])
            except SystemExit as ended:
                code = int(ended.code or 0)
            sys.stdout.flush()
            sys.stderr.flush()
            out, err = (each.decode("utf-8") for each in capfdbinary.readouterr())
            for text in (out, err):
                assert acted_upon(text) == "", (words, text[:2_000])
                assert not any(line.strip().startswith(FORGED) for line in text.split("\n")), (words, text[:2_000])
            return code, out, err

        return call

    return on


def test_every_command_and_every_form_is_harmless(
    cluster: HostileCluster, kac: Callable[[HostileCluster], Kac]
) -> None:
    call = kac(cluster)
    for words in (*NOUNS, *CONFIGS):
        data = None
        for form in (*(["kafka"] if words in CONFIGS else []), "table", "json", "yaml", "csv"):
            _, out, _ = call(*words, "--output", form)
            if form == "json" and out:
                data = json.loads(out)
            elif form == "yaml" and out:
                assert yaml.safe_load(out) == data
            elif form == "csv":
                no_formulas(out)
    for words in OTHERS:
        _, out, _ = call(*words)
        if words[-1] == "json":
            assert all(json.loads(line) for line in out.splitlines())


def no_formulas(text: str) -> None:
    for cell in (cell for row in csv.reader(io.StringIO(text)) for cell in row):
        if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
            float(cell)


def test_what_is_shown_is_all_there(world: HostileCluster, kac: Callable[[HostileCluster], Kac]) -> None:
    """A test that would see nothing at all would find nothing hostile: the values do come through the machine forms."""
    call = kac(world)
    _, out, _ = call("quotas", "--list", "--output", "json")
    users = {row["entity"].get("user") for row in json.loads(out)["quotas"]}
    assert {SENT, *FORMULAS} <= users
    _, out, _ = call("acls", "--list", "--output", "yaml")
    assert f"User:{SENT}" in {row["principal"] for row in yaml.safe_load(out)["acls"]}
    for words in (("quotas", "--list"), ("acls", "--list"), ("brokers", "--list"), ("scram", "--list"), ("export",)):
        assert "\\x1b[2J" in call(*words)[1], words


def test_an_export_reads_back_as_the_same_and_is_applied(
    journaled: HostileCluster, kac: Callable[[HostileCluster], Kac], tmp_path: Path
) -> None:
    call = kac(journaled)
    file = tmp_path / "wanted.yaml"
    assert call("export", "--output", str(file))[1] == ""
    text = file.read_text(encoding="utf-8")
    assert acted_upon(text) == ""
    assert f"User:{SENT}" in {acl["allow"] for acl in yaml.safe_load(text)["acls"]}
    assert SENT in {quota.get("user") for quota in yaml.safe_load(text)["quotas"]}
    code, out, err = call("diff", "-f", str(file), "--exit-code")
    assert (code, out) == (0, "no changes\n"), err
    file.write_text(
        text.replace("producer_byte_rate: 1\n", "producer_byte_rate: 2\n").replace("[READ]", "[READ, WRITE]")
    )
    assert call("diff", "-f", str(file), "--exit-code")[0] == 3
    assert call("plan", "-f", str(file), "--out", str(tmp_path / "plan"), "--exit-code")[0] == 3
    assert acted_upon((tmp_path / "plan").read_text()) == ""
    code, _, err = call("apply", "-f", str(tmp_path / "plan"), "--yes", "--accept", "acl-matches-nothing")
    assert code == 0, err
    for form in ("text", "json", "csv"):
        assert call("history", "--journal", "--output", form)[0] == 0
    for journal in (tmp_path / "state").rglob("*.jsonl"):
        assert acted_upon(journal.read_text()) == ""
    assert call("run", "-e", "revert 1; plan; apply --yes")[0] == 0


def test_a_journal_of_another_host_is_harmless(
    journaled: HostileCluster, kac: Callable[[HostileCluster], Kac], tmp_path: Path
) -> None:
    call = kac(journaled)
    code, _, err = call("run", "-e", "set user alice producer_byte_rate=7000000; apply --yes")
    assert code == 0, err
    (journal,) = (tmp_path / "state").rglob("*.jsonl")

    def worse(data: Any, key: str = "") -> Any:
        if isinstance(data, dict):
            return {name: worse(value, name) for name, value in data.items()}
        if isinstance(data, list):
            return [worse(value) for value in data]
        free = (
            "principal",
            "os_user",
            "sudo_user",
            "ssh_client",
            "host",
            "context",
            "door",
            "message",
            "error",
            "why",
            "user",
        )
        return SENT + "\ud800" if isinstance(data, str) and key in free else data

    lines = [json.dumps(worse(json.loads(line))) for line in journal.read_text().splitlines()]
    journal.write_text(
        "".join(f"{line}\n" for line in [*lines, '{"not": "a record \\u001b[2J\\u202e"}', "\x1b[2J\u202e"])
    )
    for form in ("text", "json", "csv"):
        _, out, err = call("history", "--journal", "--output", form)
        assert out, err
    call("run", "-e", "history; revert 1; plan")
    call("due")


def test_a_file_of_hostile_names_is_complained_of_harmlessly(
    world: HostileCluster, kac: Callable[[HostileCluster], Kac], tmp_path: Path
) -> None:
    call = kac(world)
    file = tmp_path / "a\x1b[2J\u202e.yaml"
    named = '"a\\e[2J\\u202e\\nkac: forged"'
    for text in (
        f"version: 1\n{named}: 1\n",
        f"version: 1\ntopics:\n  {named}: {{partitions: x}}\n",
        f"version: 1\nquotas:\n- user: {named}\n  limits: {{{named}: {named}}}\n",
        "{\x1b: ]\u202e",
        "a: *\x1b",
    ):
        file.write_text(text)
        code, _, err = call("diff", "-f", str(file))
        assert (code, bool(err)) == (2, True), text
    call("run", "-e", "set topic 'a\x1b[2J\u202e' retention.ms=1d")
    call("run", "-f", "/none/\x1b[2J\u202e")
    for words in (
        ("run", "\x1b[2J\u202e"),
        ("topics", "--\x1b[2J"),
        ("diff", "--\x9b2J\u202e", "-f", "x"),
        ("\x1b[2J",),
    ):
        assert call(*words)[0] == 2
    call("lake", "status", "--lake", "/none/\x1b[2J\u202e")
