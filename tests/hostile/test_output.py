"""Tests of hostile text from a cluster, a journal or a file in the output of all commands and front ends: it contains
nothing on which a terminal acts.
"""

import csv
import dataclasses
import io
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import pytest
import yaml
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from console.admin.client import AdminClient
from console.cli.main import run
from console.contexts import Context
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tables import Partition, ScramCredential, ScramKey, Topic
from console.language.completion import complete
from console.language.grammar import parse
from console.model.codes import ScramMechanism
from console.model.config import broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.session.command_history import CommandHistory
from console.session.reading import read_everything
from console.session.session import Session
from console.shell.line import Line
from console.shell.shell import Shell
from console.tui.app import Console
from tests.hostile.cluster import HostileCluster, hostile_cluster
from tests.support import sample_lake, worlds
from tests.support.hostile_text import FORMULAS, SENT, acted_upon
from tests.tui.console_app import Driven

FORGED = "kac: forged"
"""The text after a line feed in `SENT`. No line of an output may begin with it."""
STRUCTURE = frozenset(
    {"host", "name", "topic_name", "resource_name", "group_id", "key_type", "entity_type", "cluster_id"}
)
"""Fields of responses into which tests put no hostile text, because kac's further requests depend on them.
`hostile_state` puts hostile text into the entities themselves.
"""
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
    """Put hostile text into every name and value of an embedded cluster, without the checks that requests pass."""
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
    """Return a response in which all texts, except the fields in `STRUCTURE`, are hostile. refused: whether all error
    codes are set.
    """
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
    """Yield a hostile cluster with a valid cluster id, so that kac keeps a journal for it."""
    # Since 4.4 a host of an ACL can't be a text with a slash.
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
def drawn_kac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Kac:
    """Provide a function that runs a command line of kac, checks each byte of its output, and returns (exit code,
    standard output, standard error).
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*words: str) -> tuple[int, str, str]:
        try:
            code = run(words)
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


@pytest.fixture
def kac(drawn_kac: Kac) -> Callable[[HostileCluster], Kac]:
    """Provide a function that takes a cluster, and returns `drawn_kac` with the options for this cluster."""

    def on(cluster: HostileCluster) -> Kac:
        return lambda command, *words: drawn_kac(
            command, *(["-b", cluster.bootstrap] if command != "contexts" else []), *words
        )

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
    """The machine-readable outputs contain the hostile values. Without this test, the others would also pass if kac
    printed nothing.
    """
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


# -- Front ends that draw: the shell's line, the screen, the clipboard, a refused login, a lake's tables ---------------

OWN = re.compile(r"\x08|\x1b\[[0-9;?]*[A-Za-z]|\x1b[>=]|\r|\x07|\x1b\]2;[^\x07\x1b]*\x07")
"""Matches the control sequences that prompt_toolkit itself writes: colours, cursor, modes. The escaped form of `SENT`
contains none of them.
"""
TYPED = "list quotas 'x\u202ey\u200b\U000e0041'"


@pytest.fixture(scope="module")
def drawn_world() -> Iterator[HostileCluster]:
    with hostile_cluster(ClusterSpec(brokers=1, racks={1: SENT})) as cluster:
        cluster.embedded.call(hostile_state)
        yield cluster


@asynccontextmanager
async def session_on(cluster: HostileCluster) -> AsyncIterator[Session]:
    settings = worlds.settings(cluster)
    with AdminClient(settings) as client:
        yield Session(client, Context(f"here{SENT}", "test", settings), "tests")


async def test_the_shell_draws_nothing_that_acts(
    drawn_world: HostileCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    drawn = io.StringIO()
    output = Vt100_Output(drawn, lambda: Size(rows=24, columns=80), term="xterm", enable_cpr=False)  # type: ignore[arg-type]
    async with session_on(drawn_world) as session:
        with create_pipe_input() as keys:
            shell = Shell(
                session.context,
                lambda _: session,
                Given([session.context]),
                lambda completer, toolbar: Line(
                    completer, toolbar, history=CommandHistory(tmp_path / "commands"), input=keys, output=output
                ),
            )
            # Paste the text, complete it, and recall it from the history.
            keys.send_text(f"\x1b[200~{TYPED}\x1b[201~\r")
            keys.send_text("list quotas\rlist acls\rdescribe topic orders\rlist users\r")
            keys.send_text("quota user \t\t\x15\x1b[A\x1b[A\x15")
            keys.send_text("\x04")
            await shell.run()
    text = drawn.getvalue()
    assert "list quotas 'x" in re.sub(OWN, "", text)
    assert acted_upon(OWN.sub("", text)) == ""
    captured = capsys.readouterr()
    for written in captured:
        assert acted_upon(written) == ""
        assert not any(line.strip().startswith(FORGED) for line in written.split("\n"))
    assert "\\x1b[2J" in captured.out


async def test_what_is_completed_is_visible_and_stands_for_the_name(drawn_world: HostileCluster) -> None:
    async with session_on(drawn_world) as session:
        await read_everything(session)
        names = set()
        for text in ("describe user ", "set user ", "quota user ", "set ip ", "allow ", "set user alice client "):
            for each in complete(text, len(text), session.snapshot):
                assert acted_upon(each.text) == ""
                assert acted_upon(each.display + each.meta + each.help) == ""
                if text == "set user ":
                    (statement,) = parse(f"{text}{each.text} producer_byte_rate=1")
                    names.add(repr(statement))
        assert any(repr(SENT)[1:-1] in name for name in names)


async def test_every_pane_shows_what_it_has_and_nothing_acts(drawn_world: HostileCluster) -> None:
    async with session_on(drawn_world) as session:
        app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.2))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = Driven(app, pilot, None)  # type: ignore[arg-type]  # with a real client
            await screen.shows("orders")
            seen = ""
            for pane in "1234567890":
                await screen.press(pane)
                await screen.settle()
                for keys in (("j",), ("enter",), ("y",), ("escape",), ("question_mark",), ("escape",)):
                    await screen.press(*keys)
                    assert acted_upon(screen.text) == "", (pane, keys, [x for x in screen.lines if acted_upon(x)])
                    assert acted_upon(app.clipboard) == "", (pane, keys)
                    assert not any(line.strip().startswith(FORGED) for line in screen.lines)
                    seen += screen.text
            await screen.command("list quotas")
            await screen.command("describe broker 1")
            assert acted_upon(screen.text) == ""
            seen += screen.text
            assert "\\x1b" in seen


async def test_the_clipboard_is_one_line_of_visible_text(drawn_world: HostileCluster) -> None:
    async with session_on(drawn_world) as session:
        app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.2))
        async with app.run_test(size=(80, 24)):
            app.copy_to_clipboard(f"{SENT}\nsecond\n")
            assert acted_upon(app.clipboard) == ""
            assert app.clipboard.endswith("\nsecond")
            app.view.copied = lambda: SENT  # type: ignore[method-assign]
            await app.screen_keys.do_copy()
            assert acted_upon(app.clipboard) == ""
            assert "\n" not in app.clipboard


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_refused_login_is_told_harmlessly(mechanism: str, tmp_path: Path, drawn_kac: Kac) -> None:
    properties = tmp_path / "client.properties"
    module = "scram.ScramLoginModule" if mechanism != "PLAIN" else "plain.PlainLoginModule"
    properties.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.{module} required username=a password=b;\n"
    )
    properties.chmod(0o600)
    with hostile_cluster(ClusterSpec(brokers=1, sasl=SaslSpec({"x": Secret("y")}, {"x": Secret("y")}))) as cluster:
        cluster.rewrite(
            "sasl_authenticate",
            lambda _, honest: replace(honest, error_code=type(honest.error_code)(58), error_message=SENT),
        )
        for words in (("run", "-e", "list topics"), ("topics", "--list"), ("export",), ("configs", "--describe",
                      "--entity-type", "topics"), ("snapshot",), ("diff", "-f", str(_wanted(tmp_path)))):  # fmt: skip
            code, _, err = drawn_kac(words[0], "-b", cluster.bootstrap, "--command-config", str(properties), *words[1:])
            assert code == 1
            assert "\\x1b[2J" in err, err
        cluster.rewrite(
            "sasl_handshake",
            lambda _, honest: replace(honest, error_code=type(honest.error_code)(33), mechanisms=(SENT,)),
        )
        code, _, err = drawn_kac(
            "run", "-b", cluster.bootstrap, "--command-config", str(properties), "-e", "list topics"
        )
        assert code == 1
        assert "\\x1b[2J" in err, err


def _wanted(folder: Path) -> Path:
    (folder / "wanted.yaml").write_text("version: 1\ntopics:\n  a: {partitions: 1, replication: 1}\n")
    return folder / "wanted.yaml"


def hostile_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows with hostile text in place of all texts except cluster ids, types, states and sources."""
    fixed = {row[place] for row in rows for place in (0, 1)} | {"kraft_log", "snapshot", "journal", "request_log"}
    return [tuple(SENT if isinstance(cell, str) and cell not in fixed else cell for cell in row) for row in rows]


def test_the_rows_of_a_lake_are_harmless(tmp_path: Path, drawn_kac: Kac, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("history", "drift", "usage", "access"):
        honest = getattr(sample_lake, table)
        monkeypatch.setattr(
            sample_lake, table, lambda *a, honest=honest, **k: [*honest(*a, **k), *hostile_rows(honest(*a, **k))]
        )
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    where = getattr(lake, "where", str(tmp_path / "lake"))
    seen = ""
    for command in ("history", "drift", "usage", "denied"):
        for form in ("text", "json", "csv"):
            code, out, err = drawn_kac(command, "--lake", where, "--cluster", "all", "--output", form)
            assert code == 0, err
            seen += out
            if form == "json":
                assert all(json.loads(line) for line in out.splitlines())
            if form == "csv":
                no_formulas(out)
                assert len(list(csv.reader(io.StringIO(out)))) == out.count("\n")
    assert "\\x1b[2J" in seen
    page = tmp_path / "report.html"
    code, _, err = drawn_kac("lake", "report", "--lake", where, "--html", str(page))
    assert code == 0, err
    assert acted_upon(page.read_text(encoding="utf-8").replace("\t", " ")) == ""
